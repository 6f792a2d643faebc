//! The writer: moves blocks from memory to the disk. There is one for a log; it is stepped by a thread, or by a
//! simulator.

use crate::error::Poisoned;
use crate::faults;
use crate::files::LogFile;
use crate::format::{BLOCK_HEADER_BYTES, BlockHeader, Kind, Records, body_crc};
use crate::log::Log;
use crate::place::{Index, Place};
use crate::settings::Mode;
use crate::state::{Filling, Health, Taken};
use env::disk::CACHE_PAGE;
use env::planted;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// Moves blocks from memory to the disk.
#[derive(Debug)]
pub struct Writer {
    log: Arc<Log>,
    /// Random, of this opening of the log.
    run: u64,
    /// Checksum in the header of the last block written.
    previous: u32,
    /// End of the last block written.
    end: Place,
    /// Everything before it is synced.
    mark: Place,
    /// Last record written.
    written: Index,
    /// Files with writes that no sync was begun for, in order.
    dirty: Vec<Arc<LogFile>>,
    /// A sync was begun and its outcome is not known.
    is_syncing: bool,
    /// Blocks that were written and are not safe, in order.
    unsafe_blocks: VecDeque<Block>,
    /// Blocks that are safe, in order, for the one that asks for their records.
    safe_blocks: VecDeque<Block>,
    last_sync_ms: u64,
    /// There are blocks that no mark on the disk covers.
    unmarked: bool,
}

/// A block on its way to the disk.
#[derive(Debug)]
pub struct Block(Taken);

impl Block {
    /// Index of the last record in it.
    pub fn last(&self) -> Index {
        Index(self.0.filled.next().0 - 1)
    }

    /// Its records, in order.
    pub(crate) fn records(&self) -> impl Iterator<Item = (Index, Kind, &[u8])> {
        let Filling { bytes, first, records } = &self.0.filled;
        let mut body = Records::new(&bytes[BLOCK_HEADER_BYTES..]);
        // Behind the last one a written block has zeros, up to the end of its page at most.
        (0..u64::from(*records)).map_while(move |at| {
            let (kind, payload) = body.next()?;
            Some((first.plus(at), kind, payload))
        })
    }
}

/// Bytes written of a block that takes `stride` at a place of a file with `file_bytes`. If it is the first in its last page, zeros
/// follow it up to the page's end, so that the page need not be read first where the system has no copy of it. The next block is
/// written over them.
fn written_bytes(place: Place, stride: usize, file_bytes: u32) -> usize {
    let begin = place.offset as usize;
    let end = begin + stride;
    let is_first_in_page = begin.next_multiple_of(CACHE_PAGE) < end;
    if !is_first_in_page {
        return stride;
    }
    assert!(end <= file_bytes as usize, "a block ends within its file");
    end.next_multiple_of(CACHE_PAGE).min(file_bytes as usize) - begin
}

/// A sync of what was written before it was begun. Any thread may run it while the writer goes on.
#[derive(Debug)]
pub struct SyncJob {
    files: Vec<Arc<LogFile>>,
    /// Everything before it is synced afterwards.
    end: Place,
    written: Index,
}

impl SyncJob {
    /// Waits for the disk.
    pub fn run(self) -> SyncDone {
        let sync = |file: &Arc<LogFile>| match planted::is(faults::LOG_NOT_SYNCED) {
            true => Ok(()),
            false => file.file.sync_data(),
        };
        let outcome = self.files.iter().try_for_each(sync);
        SyncDone { job: self, outcome }
    }
}

/// A sync that was run.
#[derive(Debug)]
pub struct SyncDone {
    job: SyncJob,
    outcome: io::Result<()>,
}

/// What [`Writer::begin_step`] did.
#[derive(Debug)]
pub enum Write {
    /// There was nothing to do.
    Idle {
        /// When there will be, though nothing is appended: milliseconds of the clock that steps are given.
        due_ms: Option<u64>,
    },
    /// Something was written. No sync is due, or one is in progress.
    Done,
    /// This sync is due. The one that runs it reports to [`Writer::end_step`].
    Sync(SyncJob),
}

/// What [`Writer::step`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Something is safe or synced that was not before.
    Moved,
    /// There was nothing to do.
    Idle {
        /// When there will be, though nothing is appended: milliseconds of the clock that steps are given.
        due_ms: Option<u64>,
    },
}

impl Writer {
    /// `end` is where the next block goes; everything before it is synced.
    pub(crate) fn new(log: Arc<Log>, run: u64, previous: u32, end: Place, unmarked: bool) -> Writer {
        let written = log.synced();
        Writer {
            log,
            run,
            previous,
            end,
            mark: end,
            written,
            dirty: Vec::new(),
            is_syncing: false,
            unsafe_blocks: VecDeque::new(),
            safe_blocks: VecDeque::new(),
            last_sync_ms: 0,
            unmarked,
        }
    }

    /// Takes what was appended so far. The next block fills from here on.
    pub fn take(&mut self) -> Option<Block> {
        let (taken, moved_on) = {
            let mut state = self.log.lock();
            let file = state.current.number();
            let taken = state.take()?;
            let moved_on = state.current.number() != file;
            (taken, moved_on)
        };
        if moved_on {
            self.log.wake_files();
        }
        Some(Block(taken))
    }

    /// Writes a block at its place. Blocks are written in the order in which they were taken.
    ///
    /// # Errors
    /// The log is poisoned.
    pub fn write(&mut self, block: &mut Block) -> Result<(), Poisoned> {
        let Taken { filled, file, place } = &mut block.0;
        assert!(self.end <= *place, "blocks are written in the order in which they were taken");
        assert!(place.file == file.number(), "a place names the file that it is in");
        assert!(filled.first == self.written.plus(1), "no record is left out between two blocks");
        assert!(self.mark <= self.end, "a mark covers only what was written");
        let body = &filled.bytes[BLOCK_HEADER_BYTES..];
        assert!(u32::try_from(body.len()).is_ok(), "the length of a block has 32 bits");
        let header = BlockHeader {
            place: *place,
            mark: self.mark,
            first: filled.first,
            run: self.run,
            body_bytes: body.len() as u32,
            records: filled.records,
            body_crc: body_crc(file.seed, body),
            previous: self.previous,
        };
        let (bytes, crc) = header.encode(file.seed);
        filled.bytes[..BLOCK_HEADER_BYTES].copy_from_slice(&bytes);
        filled.bytes.resize(written_bytes(*place, header.stride(), file.header.bytes), 0);
        assert!(filled.bytes.len() >= header.stride(), "a block is written whole");
        assert!(
            place.offset as usize + filled.bytes.len() <= file.header.bytes as usize,
            "the zeros behind a block end within its file"
        );
        file.file
            .write_at(&filled.bytes, u64::from(place.offset))
            .map_err(|error| self.log.poison(&error))?;
        self.unmarked = true;
        self.previous = crc;
        self.end = Place { file: place.file, offset: place.offset + header.stride() as u32 };
        self.written = Index(header.next().0 - 1);
        assert!(self.end.offset <= file.header.bytes, "a block ends within its file");
        if self.dirty.last().is_none_or(|last| last.number() != file.number()) {
            self.dirty.push(file.clone());
        }
        Ok(())
    }

    /// Makes all that was written durable.
    ///
    /// # Errors
    /// The log is poisoned. Nothing is retried: after a failed sync the system may hold as clean what it never wrote.
    pub fn sync(&mut self) -> Result<(), Poisoned> {
        // After a failure nothing is left to sync, and still nothing is known to be.
        if let Some(poisoned) = self.log.poisoned() {
            return Err(poisoned);
        }
        assert!(!self.is_syncing, "one sync at a time");
        let job = self.begin_sync();
        self.end_sync(job.run())
    }

    /// Was a sync handed out whose end was not reported?
    pub fn is_syncing(&self) -> bool {
        self.is_syncing
    }

    /// A sync of all that was written and of which none was begun.
    fn begin_sync(&mut self) -> SyncJob {
        assert!(
            self.dirty.last().is_none_or(|last| last.number() == self.end.file),
            "the last file that was written is synced with the others"
        );
        assert!(self.dirty.is_sorted_by_key(|file| file.number()), "files are written one after the other");
        SyncJob { files: std::mem::take(&mut self.dirty), end: self.end, written: self.written }
    }

    fn end_sync(&mut self, done: SyncDone) -> Result<(), Poisoned> {
        let SyncDone { job: SyncJob { mut files, end, written }, outcome } = done;
        outcome.map_err(|error| self.log.poison(&error))?;
        assert!(self.mark <= end && written <= self.written, "what was synced was written before");
        assert!(end <= self.end, "nothing is marked that was not written");
        self.mark = end;
        self.log.set_synced(written);
        if self.dirty.is_empty() {
            // The buffer is used again.
            files.clear();
            self.dirty = files;
        }
        Ok(())
    }

    /// Reports a block's records as safe, in the order in which blocks were taken, and gives its buffer back. Whether it
    /// was synced before is for the mode to say.
    pub fn settle(&mut self, block: Block) {
        self.report(&block);
        self.give_back(block);
    }

    /// Reports a block's records as safe: see [`Writer::settle`].
    fn report(&self, block: &Block) {
        let last = block.last();
        assert!(last <= self.written, "a block is written before it is reported");
        assert!(
            self.log.settings.mode != Mode::Always || last <= self.log.synced(),
            "a block is synced before it is reported"
        );
        self.log.set_safe(last);
    }

    /// The buffer of a block is used again.
    fn give_back(&mut self, block: Block) {
        self.log.lock().free = block.0.filled.bytes;
    }

    /// Reports written blocks as safe, up to a record.
    fn report_up_to(&mut self, last: Index) {
        while self.unsafe_blocks.front().is_some_and(|block| block.last() <= last)
            && let Some(block) = self.unsafe_blocks.pop_front()
        {
            self.report(&block);
            self.safe_blocks.push_back(block);
        }
    }

    /// The records that became safe since the last call, in order.
    pub fn take_safe(&mut self, each: &mut dyn FnMut(Index, Kind, &[u8])) {
        while let Some(block) = self.safe_blocks.pop_front() {
            let mut read = 0;
            for (index, kind, payload) in block.records() {
                each(index, kind, payload);
                read += 1;
            }
            assert!(read == block.0.filled.records, "all that was appended to a block is read of it");
            self.give_back(block);
        }
    }

    /// Does what is due at `now_ms`: writes what was appended and syncs as the mode says.
    ///
    /// # Errors
    /// The log is poisoned.
    pub fn step(&mut self, now_ms: u64) -> Result<Step, Poisoned> {
        let step = match self.begin_step(now_ms)? {
            Write::Idle { due_ms } => return Ok(Step::Idle { due_ms }),
            Write::Done => Step::Moved,
            Write::Sync(job) => self.end_step(job.run()).map(|()| Step::Moved)?,
        };
        self.take_safe(&mut |_, _, _| ());
        Ok(step)
    }

    /// The first half of a step: writes what was appended. If a sync is due then, it is handed out, and until
    /// [`Writer::end_step`] was informed of its end no other is.
    ///
    /// # Errors
    /// The log is poisoned.
    pub fn begin_step(&mut self, now_ms: u64) -> Result<Write, Poisoned> {
        if let Some(poisoned) = self.log.poisoned() {
            return Err(poisoned);
        }
        let block = self.take();
        let has_written = block.is_some();
        if let Some(mut block) = block {
            self.write(&mut block)?;
            assert!(
                self.unsafe_blocks.back().is_none_or(|before| before.last() < block.last()),
                "blocks wait for their sync in the order of their records"
            );
            self.unsafe_blocks.push_back(block);
            if planted::is(faults::ANSWERED_BEFORE_SYNC) {
                self.log.set_synced(self.written);
                self.report_up_to(self.written);
                return Ok(Write::Done);
            }
        }
        if !self.is_syncing && !self.dirty.is_empty() && self.sync_is_due(now_ms) {
            (self.is_syncing, self.last_sync_ms) = (true, now_ms);
            return Ok(Write::Sync(self.begin_sync()));
        }
        if self.log.settings.mode != Mode::Always {
            self.report_up_to(self.written);
        }
        Ok(if has_written { Write::Done } else { Write::Idle { due_ms: self.due_ms() } })
    }

    /// The second half of a step: the sync that was handed out has ended.
    ///
    /// # Errors
    /// The log is poisoned: the sync failed. Nothing is retried: after a failed sync the system may hold as clean what it
    /// never wrote.
    pub fn end_step(&mut self, done: SyncDone) -> Result<(), Poisoned> {
        assert!(std::mem::take(&mut self.is_syncing), "a sync was handed out");
        self.end_sync(done)?;
        let safe = if self.log.settings.mode == Mode::Always { self.log.synced() } else { self.written };
        self.report_up_to(safe);
        Ok(())
    }

    fn sync_is_due(&self, now_ms: u64) -> bool {
        match self.log.settings.mode {
            Mode::Always => true,
            Mode::Interval { ms } => now_ms.saturating_sub(self.last_sync_ms) >= ms,
            Mode::None => false,
        }
    }

    fn due_ms(&self) -> Option<u64> {
        match self.log.settings.mode {
            Mode::Interval { ms } if !self.dirty.is_empty() => Some(self.last_sync_ms.saturating_add(ms)),
            _ => None,
        }
    }

    /// Writes and syncs everything, then a mark that says so: what happens to the last block later is seen as damage, not
    /// taken for a write that was cut short. Nothing can be appended afterwards.
    ///
    /// # Errors
    /// The log is poisoned.
    pub fn close(mut self) -> Result<(), Poisoned> {
        {
            let mut state = self.log.lock();
            if let Health::Poisoned(poisoned) = &state.health {
                return Err(poisoned.clone());
            }
            state.health = Health::Closed;
        }
        while let Some(mut block) = self.take() {
            self.write(&mut block)?;
            self.sync()?;
            self.settle(block);
        }
        self.sync()?;
        let closing = if self.unmarked { self.log.lock().take_empty() } else { None };
        if let Some(taken) = closing {
            self.write(&mut Block(taken))?;
            self.sync()?;
        }
        Ok(())
    }

    /// Writes and syncs a block without records, the first of a log that begins after a snapshot: a log without any block is
    /// then one whose files were taken away.
    pub(crate) fn write_first(&mut self) -> Result<(), Poisoned> {
        let Some(taken) = self.log.lock().take_empty() else { return Ok(()) };
        self.write(&mut Block(taken))?;
        self.sync()
    }

    /// The log that it writes.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_written_up_to_the_end_of_a_page_or_of_its_file() {
        let written = |offset, stride, file| written_bytes(Place { file: 1, offset }, stride, file);
        assert_eq!(written(0, 512, 64 << 10), CACHE_PAGE);
        assert_eq!(written(512, 512, 64 << 10), 512, "the page was written before");
        assert_eq!(written(512, CACHE_PAGE - 512, 64 << 10), CACHE_PAGE - 512);
        assert_eq!(written(CACHE_PAGE as u32, CACHE_PAGE, 64 << 10), CACHE_PAGE);
        assert_eq!(written(1024, 2 * CACHE_PAGE, 64 << 10), 3 * CACHE_PAGE - 1024);
        // Files of other sizes end where they end.
        assert_eq!(written(8192, 512, 8192 + 1024), 1024);
        assert_eq!(written(8192, 1024, 8192 + 1024), 1024);
    }
}
