//! What a replica writes into its write-ahead log, and what waits until it is on the disk: acknowledgements and votes.

use crate::control::Extent;
use crate::faults;
use crate::record::{HardState, Record};
use env::planted;
use raft::eraftpb::{Entry, Message};
use std::collections::VecDeque;
use std::sync::Arc;
use wal::{Index, Log, Poisoned, Refused, SyncDone, Write, Writer};

/// Steps of the core that wait for the disk: with heartbeats, minutes of a disk that takes nothing.
const WAITING_MAX: usize = 4096;

/// Bytes that a record takes in the files besides its payload, at most.
pub(crate) const RECORD_BYTES: usize = 16;
/// Bytes that a block takes there besides its records, at most: its head, and the rest of a sector.
const BLOCK_BYTES: usize = 1024;
/// Bytes of the files that only hard states, and the entries with which terms begin, may take: a vote cannot be put off. An eighth of a file, if
/// that is less.
const RESERVE_BYTES: usize = 64 << 10;

/// What happens when records are on the disk.
struct Waiting {
    /// The last of these records.
    last: Index,
    /// Number of what the core handed out with them.
    number: u64,
    /// How far the disk goes then.
    extent: Extent,
    messages: Vec<Message>,
}

/// See the module.
pub(crate) struct Persist {
    writer: Writer,
    /// In order; for want of room in the block that fills, or in the files.
    unwritten: VecDeque<Record>,
    unwritten_bytes: usize,
    /// The last record that was given to the log or stands in `unwritten`.
    last: Index,
    waiting: VecDeque<Waiting>,
    /// How far the disk goes.
    synced: Extent,
    /// Bytes of the files that are kept for hard states.
    reserve: usize,
    /// A commit index, which nobody waits for: it is written with the next records.
    late: Option<HardState>,
}

impl Persist {
    /// Goes on behind what `writer` has found, which goes as far as `synced`.
    pub(crate) fn new(writer: Writer, synced: Extent) -> Persist {
        let last = writer.log().synced();
        let reserve = RESERVE_BYTES.min(writer.log().file_bytes() as usize / 8);
        Persist {
            writer,
            unwritten: VecDeque::new(),
            unwritten_bytes: 0,
            last,
            waiting: VecDeque::new(),
            synced,
            reserve,
            late: None,
        }
    }

    pub(crate) fn log(&self) -> &Arc<Log> {
        self.writer.log()
    }

    /// How far the disk goes: the term and the last entry of what [`Persist::take_synced`] said last.
    pub(crate) fn synced(&self) -> Extent {
        self.synced
    }

    /// Does so much wait for the disk that no more may come?
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() > WAITING_MAX
    }

    /// Bytes that records may take in the files, besides all that waits; `besides` are on their way here.
    pub(crate) fn room(&self, besides: usize) -> usize {
        let waits = self.unwritten_bytes + self.unwritten.len() * RECORD_BYTES;
        self.writer.log().room().saturating_sub(waits + besides + BLOCK_BYTES)
    }

    /// Bytes of the files that are kept for hard states and the entries with which terms begin.
    pub(crate) fn reserve(&self) -> usize {
        self.reserve
    }

    /// Is there room for an entry with so many bytes, besides those that are on their way here, so that there is a place for votes then?
    ///
    /// # Errors
    /// `NoSpace` if the disk has none for another file, and `Full` if there will be one.
    pub(crate) fn must_have_room(&self, bytes: usize, besides: usize) -> Result<(), Refused> {
        let log = self.writer.log();
        if let Some(poisoned) = log.poisoned() {
            return Err(Refused::Poisoned(poisoned));
        }
        if self.room(besides) > bytes + RECORD_BYTES + self.reserve {
            return Ok(());
        }
        Err(log.no_space().map_or(Refused::Full, Refused::NoSpace))
    }

    /// An entry is to be written behind all other records; returns the number of its record.
    pub(crate) fn push_entry(&mut self, entry: Entry) -> Index {
        self.push_back(Record::Entry(entry));
        self.last
    }

    /// A hard state is to be written behind all other records.
    pub(crate) fn push_hard_state(&mut self, state: HardState) {
        if planted::is(faults::HARD_STATE_IN_LATER_BLOCK) {
            return self.push_late(state);
        }
        self.late = None;
        self.push_back(Record::HardState(state));
    }

    fn push_back(&mut self, record: Record) {
        self.last = self.last.plus(1);
        self.unwritten_bytes += record.bytes();
        self.unwritten.push_back(record);
    }

    /// A hard state of which only the commit index is new.
    pub(crate) fn push_late(&mut self, state: HardState) {
        self.late = Some(state);
    }

    /// When all that was pushed is on the disk, which goes as far as `extent` then, the core gets `number`, and these messages go.
    pub(crate) fn wait(&mut self, number: u64, extent: Extent, messages: Vec<Message>) {
        if !self.unwritten.is_empty() {
            // A commit index that was known before these records counts with them: the last one of an earlier set of members must not be
            // forgotten when a later one relies on it.
            self.push_what_is_late();
        }
        self.waiting.push_back(Waiting { last: self.last, number, extent, messages });
    }

    fn push_what_is_late(&mut self) {
        if let Some(late) = self.late.take() {
            self.push_back(Record::HardState(late));
        }
    }

    /// Gives the log what it has room for.
    fn append(&mut self) {
        if !self.unwritten.is_empty() {
            self.push_what_is_late();
        }
        let log = Arc::clone(self.writer.log());
        while let Some(record) = self.unwritten.front() {
            match log.append(record.kind(), |out| record.encode(out)) {
                Ok(_) => {}
                // Room comes with the next step or the next file; what has failed the step says.
                Err(Refused::Full | Refused::NoSpace(_) | Refused::Poisoned(_) | Refused::Closed) => return,
                Err(refused @ (Refused::TooLong | Refused::NotLeader)) => {
                    panic!("a replica proposes no entry that another cannot write: {refused}")
                }
            }
            self.unwritten_bytes -= record.bytes();
            self.unwritten.pop_front();
        }
        assert!(self.unwritten_bytes == 0, "the bytes of records add up");
    }

    /// The first half of a step: see [`wal::ShardLog::write`].
    pub(crate) fn begin_step(&mut self, now_ms: u64) -> Result<Write, Poisoned> {
        self.append();
        let written = self.writer.begin_step(now_ms)?;
        self.reuse_buffers();
        Ok(written)
    }

    /// The second half: see [`wal::ShardLog::sync_done`].
    pub(crate) fn end_step(&mut self, done: SyncDone) -> Result<(), Poisoned> {
        self.writer.end_step(done)?;
        self.reuse_buffers();
        Ok(())
    }

    /// The log's own answers are for nobody: the core says what is committed.
    fn reuse_buffers(&mut self) {
        self.writer.take_safe(&mut |_, _, _| ());
    }

    /// What has waited for records that are on the disk by now: the last number for the core, and the messages.
    pub(crate) fn take_synced(&mut self) -> (Option<u64>, Vec<Message>) {
        let synced = self.writer.log().synced();
        let (mut number, mut messages) = (None, Vec::new());
        while self.waiting.front().is_some_and(|waiting| waiting.last <= synced)
            && let Some(waiting) = self.waiting.pop_front()
        {
            (number, self.synced) = (Some(waiting.number), waiting.extent);
            messages.extend(waiting.messages);
        }
        (number, messages)
    }

    /// Is a sync in progress?
    pub(crate) fn is_syncing(&self) -> bool {
        self.writer.is_syncing()
    }

    /// Makes all that has room durable, and ends it.
    pub(crate) fn close(mut self) -> Result<(), Poisoned> {
        self.push_what_is_late();
        self.append();
        self.writer.close()
    }
}
