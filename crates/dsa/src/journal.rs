//! The way of an update in a directory that is logged: a session hands its updates over, they are made durable, then
//! applied in log order by the [`crate::Applier`], and only then the session learns what became of them.

use crate::indexing::IndexChange;
use crate::marks::Marks;
use crate::outcome;
use crate::prepared_writes::PreparedWrites;
use crate::session::Mixed;
use crate::settings::{Record, SettingsChange};
use crate::throttle::{Permit, Throttle};
use crate::wakes::{Wakes, Waking};
use model::ResultCode;
use proto::outline::Outline;
use proto::{frame, message::Frame, result::encode_result, tag};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// Bytes of updates that one session submits at a time.
pub const UPDATES_BYTES_SOFT_MAX: usize = 256 << 10;

/// Bytes of a buffer of updates that is used again, and of one of their prepared writes. Longer ones are freed.
const BUFFER_BYTES_KEPT: usize = 128 << 10;
const PREPARED_BYTES_KEPT: usize = 3 * BUFFER_BYTES_KEPT;
/// Bytes of the buffer that a session keeps for answers.
const ANSWERS_BYTES_KEPT: usize = 4 << 10;
/// Pairs of buffers that a thread keeps.
const BUFFERS_KEPT: usize = 32;

/// Empty buffers for updates and their prepared writes, of all sessions of a thread: a session that waits for nothing has none.
#[derive(Debug, Default)]
pub(crate) struct Buffers(Vec<(Vec<u8>, PreparedWrites)>);

impl Buffers {
    /// A pair of empty buffers.
    pub(crate) fn take(&mut self) -> (Vec<u8>, PreparedWrites) {
        let (messages, prepared_writes) = self.0.pop().unwrap_or_default();
        assert!(messages.is_empty() && prepared_writes.len() == 0, "buffers are kept empty");
        (messages, prepared_writes)
    }

    /// Takes buffers back, unless there are enough or these have grown long.
    pub(crate) fn put(&mut self, mut messages: Vec<u8>, mut prepared_writes: PreparedWrites) {
        let is_kept =
            messages.capacity() <= BUFFER_BYTES_KEPT && prepared_writes.capacity() <= PREPARED_BYTES_KEPT;
        if is_kept && messages.capacity() > 0 && self.0.len() < BUFFERS_KEPT {
            messages.clear();
            prepared_writes.clear();
            self.0.push((messages, prepared_writes));
        }
    }
}

/// Where a session's updates go. What it took is applied in the order in which it was taken.
pub trait Journal: Send + Sync {
    /// Takes updates. Must not block; [`Updates::refuse`] answers what cannot be taken.
    fn submit(&self, updates: Updates);

    /// How it fares.
    fn metrics(&self) -> Metrics;
}

/// What a journal tells of itself. Positions are numbers of records, from 1 on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// The sync mode, as it is configured.
    pub mode: String,
    /// Last record that is durable as the sync mode promises.
    pub safe: u64,
    /// Last record that is synced to the disk.
    pub synced: u64,
    /// Last record that was applied.
    pub applied: u64,
    /// Bytes that a start would have to read of it.
    pub log_bytes: u64,
    /// Last record in the last snapshot.
    pub snapshot: u64,
    /// Unix time in milliseconds at which it was made; 0 without one, or if that was before the start.
    pub snapshot_ms: u64,
    /// Whether files of the log are archived, or why they are not released.
    pub archive: String,
    /// Last record that was archived since the start.
    pub archived: u64,
    /// Bytes of memory from which on adds are refused.
    pub memory_bytes_max: u64,
}

/// Neighbouring updates of one session, on their way through the log. Dropped without an answer, they count as refused:
/// the session must never wait for ever.
#[derive(Debug)]
pub struct Updates {
    /// Whole LDAPMessages with update operations, regular in outline.
    messages: Vec<u8>,
    adds: usize,
    /// What becomes of them, as far as it could be known when they came.
    prepared_writes: PreparedWrites,
    /// Where reads stand between them.
    marks: Marks,
    /// For the entries that they add.
    ids: Vec<u32>,
    /// DN of the client whose they are, with the rights that were decided when they came.
    actor: Vec<u8>,
    reply: Arc<Reply>,
    /// Message id of the request that ends the transaction which they are; it alone is answered.
    end: Option<i32>,
    answered: bool,
    /// The change of settings that they are: then they are one modify of `cn=config`.
    settings: Option<Box<SettingsChange>>,
    /// Their part of what may be on its way.
    permit: Option<Permit>,
}

/// Where a session gets its answers.
#[derive(Debug, Default)]
pub(crate) struct Reply(Mutex<Slot>);

#[derive(Debug, Default)]
struct Slot {
    answers: Option<Vec<u8>>,
    /// The buffers of the updates that were answered, until the answers are taken.
    buffer: Vec<u8>,
    prepared_writes: PreparedWrites,
    marks: Marks,
    /// An empty buffer for the next answers.
    spare: Vec<u8>,
    waker: Option<Waker>,
    /// Of the session's thread, once it waited.
    wakes: Option<Arc<Wakes>>,
}

impl Reply {
    fn slot(&self) -> std::sync::MutexGuard<'_, Slot> {
        // A slot is whole after every statement, so one who panicked left nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends the answers to `out`, when they are there; if reads stand between the updates `mixed` takes them. The
    /// buffers of the updates go to `buffers`.
    pub(crate) fn poll(
        &self,
        cx: &mut Context<'_>,
        wakes: &Arc<Wakes>,
        (mixed, buffers): (&mut Mixed, &mut Buffers),
        out: &mut Vec<u8>,
    ) -> Poll<()> {
        let mut slot = self.slot();
        match slot.answers.take() {
            Some(mut answers) if slot.marks.is_empty() => {
                out.extend_from_slice(&answers);
                answers.clear();
                if answers.capacity() <= ANSWERS_BYTES_KEPT {
                    slot.spare = answers;
                }
                buffers.put(std::mem::take(&mut slot.buffer), std::mem::take(&mut slot.prepared_writes));
                Poll::Ready(())
            }
            Some(answers) => {
                let marks = std::mem::take(&mut slot.marks);
                slot.spare = mixed.answered(answers, marks);
                buffers.put(std::mem::take(&mut slot.buffer), std::mem::take(&mut slot.prepared_writes));
                Poll::Ready(())
            }
            None => {
                slot.waker = Some(cx.waker().clone());
                slot.wakes.get_or_insert_with(|| Arc::clone(wakes));
                Poll::Pending
            }
        }
    }

    fn answer(
        &self,
        answers: Vec<u8>,
        (buffer, prepared_writes, marks): (Vec<u8>, PreparedWrites, Marks),
        waking: &mut Waking,
    ) {
        let mut slot = self.slot();
        assert!(slot.answers.is_none(), "a session has one submission on its way at a time");
        slot.answers = Some(answers);
        slot.marks = marks;
        if buffer.capacity() <= BUFFER_BYTES_KEPT && prepared_writes.capacity() <= PREPARED_BYTES_KEPT {
            (slot.buffer, slot.prepared_writes) = (buffer, prepared_writes);
        }
        let waiting = slot.waker.take().zip(slot.wakes.clone());
        drop(slot);
        if let Some((waker, wakes)) = waiting {
            waking.push(waker, &wakes);
        }
    }
}

impl Updates {
    /// Of the messages, `adds` add entries; where there are `settings` they are one change of settings. Made in one go: it is long, and
    /// each move of it is a copy.
    #[inline]
    pub(crate) fn new(
        messages: Vec<u8>,
        adds: usize,
        prepared_writes: PreparedWrites,
        marks: Marks,
        settings: Option<Box<SettingsChange>>,
        actor: Vec<u8>,
        reply: Arc<Reply>,
    ) -> Updates {
        debug_assert_eq!(self::adds(&messages), adds, "they are counted");
        assert!(settings.is_none() || marks.due() == usize::MAX, "no reads stand between settings");
        Updates {
            messages,
            adds,
            prepared_writes,
            marks,
            ids: Vec::new(),
            actor,
            reply,
            end: None,
            answered: false,
            settings,
            permit: None,
        }
    }

    /// The settings that are to hold, if that is what they are about.
    pub fn settings(&self) -> Option<&Record> {
        self.settings.as_deref().map(SettingsChange::record)
    }

    /// What is to become of indexes when those settings hold.
    pub(crate) fn indexes(&self) -> &[IndexChange] {
        self.settings.as_deref().map_or(&[], SettingsChange::indexes)
    }

    /// The updates of a transaction, which happen all or not at all; the request with this id ends it.
    pub(crate) fn of_transaction(
        messages: Vec<u8>,
        adds: usize,
        prepared_writes: PreparedWrites,
        actor: Vec<u8>,
        reply: Arc<Reply>,
        end: i32,
    ) -> Updates {
        let mut updates = Updates::new(messages, adds, prepared_writes, Marks::default(), None, actor, reply);
        updates.end = Some(end);
        updates
    }

    /// Counts their bytes, those of their prepared writes and those of the reads that wait for them, until they are answered.
    pub(crate) fn admit(&mut self, throttle: &Arc<Throttle>, waiting: usize) {
        assert!(self.permit.is_none(), "updates are counted once on their way to the log");
        let bytes = self.messages.capacity() + self.prepared_writes.capacity() + waiting;
        self.permit = Some(throttle.admit(bytes as u64));
    }

    /// Message id of the request that ends the transaction which they are, if they are one.
    pub(crate) fn end(&self) -> Option<i32> {
        self.end
    }

    /// The prepared writes, to be put back with the other buffers.
    pub(crate) fn prepared_writes(&mut self) -> &mut PreparedWrites {
        &mut self.prepared_writes
    }

    /// Where reads stand between them, to be put back too.
    pub(crate) fn marks(&mut self) -> &mut Marks {
        &mut self.marks
    }

    /// The command that they are in the log, given at a time.
    pub fn command(&self, wall_ms: u64) -> Command<'_> {
        let ids = Cow::Borrowed(&self.ids[..]);
        let is_transaction = self.end.is_some();
        Command { wall_ms, actor: &self.actor, ids, messages: &self.messages, is_transaction }
    }

    /// Ids for the entries that they add: to be filled with [`Updates::adds`] of them before the command is made.
    pub fn ids(&mut self) -> &mut Vec<u32> {
        &mut self.ids
    }

    /// Bytes of their messages.
    pub fn bytes(&self) -> usize {
        self.messages.len()
    }

    /// Number of updates.
    pub fn count(&self) -> usize {
        messages(&self.messages).count()
    }

    /// Number of entries that they may add.
    pub fn adds(&self) -> usize {
        self.adds
    }

    /// Bytes by which they make the directory larger, at most, but for indexes by substrings. Those of a transaction are all
    /// written before what they replace can be cleaned away, so its prepared writes count.
    pub fn bytes_needed(&self) -> u64 {
        let together = if self.end.is_some() { self.prepared_writes.bytes() } else { 0 };
        (2 * self.messages.len() + together) as u64
    }

    /// An empty buffer for the answers.
    pub fn answers_buffer(&self) -> Vec<u8> {
        std::mem::take(&mut self.reply.slot().spare)
    }

    /// Are all of them deletes?
    pub fn are_deletes(&self) -> bool {
        messages(&self.messages).all(|message| is(message, tag::DELETE))
    }

    /// May one of them make an entry with a combination of attributes that no other has? Deletes and prepared writes do not.
    pub fn may_need_shapes(&self) -> bool {
        self.prepared_writes.ready().iter().flatten().count() < self.count() && !self.are_deletes()
    }

    /// Tells the session what became of them. It is woken with others.
    pub fn answer(&mut self, answers: Vec<u8>, waking: &mut Waking) {
        self.answered = true;
        self.give(answers, waking);
    }

    /// Tells the session that its change of settings holds.
    pub fn succeed(&mut self, waking: &mut Waking) {
        let mut answers = self.answers_buffer();
        for outline in messages(&self.messages).filter_map(Outline::of) {
            outcome::succeed(&mut answers, outline.id, tag::MODIFY_RESPONSE);
        }
        self.answer(answers, waking);
    }

    fn give(&mut self, answers: Vec<u8>, waking: &mut Waking) {
        // Before the session is woken, which looks whether there is room for its next updates.
        self.permit = None;
        let (messages, prepared_writes) =
            (std::mem::take(&mut self.messages), std::mem::take(&mut self.prepared_writes));
        self.reply.answer(answers, (messages, prepared_writes, std::mem::take(&mut self.marks)), waking);
    }

    /// Answers each of them with a code and a text.
    pub fn refuse(mut self, code: ResultCode, text: &str) {
        self.refuse_all(code, text);
    }

    fn refuse_all(&mut self, code: ResultCode, text: &str) {
        self.answered = true;
        let mut answers = Vec::new();
        if let Some(end) = self.end {
            encode_result(&mut answers, end, tag::EXTENDED_RESPONSE, code, b"", text, &[]);
            return self.give(answers, &mut Waking::default());
        }
        // Answered like updates that were applied, with the reads between them: these see the directory without any of the updates.
        let sequence = self.marks.refuse();
        for (at, message) in messages(&self.messages).enumerate() {
            if self.marks.due() == at {
                self.marks.note(sequence, answers.len());
            }
            if let Some(outline) = Outline::of(message)
                && let Some(response) = tag::response_to(outline.op_tag)
            {
                encode_result(&mut answers, outline.id, response, code, b"", text, &[]);
            }
        }
        if self.marks.due() != usize::MAX {
            self.marks.note(sequence, answers.len());
        }
        self.give(answers, &mut Waking::default());
    }
}

impl Drop for Updates {
    fn drop(&mut self) {
        if !self.answered {
            self.refuse_all(ResultCode::Unavailable, OUTCOME_UNKNOWN);
        }
    }
}

/// What is said of updates that may or may not survive.
pub const OUTCOME_UNKNOWN: &str = "the log failed while this was being written: the outcome is unknown";

/// A record of the log: updates of one identity. Applied on the same directory, it always has the same outcome: its
/// CSNs follow from the time in it and from those before, and new entries take their ids from it.
///
/// ```text
/// u64 time | u32 length of the actor's DN | u32 number of ids | the DN | u32 each id | LDAPMessages
/// ```
///
/// Numbers are little-endian, the time is in milliseconds since 1970. There are as many ids as adds. If the messages are a
/// transaction, the uppermost bit of the length of the DN is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command<'a> {
    /// When it was given, in milliseconds since 1970.
    pub wall_ms: u64,
    /// DN of who gave it.
    pub actor: &'a [u8],
    /// Ids for the entries that it may add.
    pub ids: Cow<'a, [u32]>,
    /// Whole LDAPMessages.
    pub messages: &'a [u8],
    /// Do they happen all or not at all?
    pub is_transaction: bool,
}

const FIXED: usize = 16;
const TRANSACTION: u32 = 1 << 31;

impl<'a> Command<'a> {
    /// Reads a record.
    ///
    /// # Errors
    /// A text that says what is wrong with it.
    pub fn decode(record: &'a [u8]) -> Result<Command<'a>, String> {
        let number = |at: usize| {
            let bytes = record.get(at..at + 4).and_then(|bytes| bytes.first_chunk());
            bytes.map(|bytes| u32::from_le_bytes(*bytes)).ok_or("a command is shorter than its fixed part")
        };
        let wall_ms = u64::from(number(0)?) | u64::from(number(4)?) << 32;
        let (name, ids) = (number(8)?, number(12)? as usize);
        let (is_transaction, name) = (name & TRANSACTION != 0, (name & !TRANSACTION) as usize);
        let rest = &record[FIXED..];
        let (actor, rest) = rest.split_at_checked(name).ok_or("a command ends within its actor's name")?;
        let (ids, messages) = rest.split_at_checked(ids * 4).ok_or("a command ends within its ids")?;
        if self::messages(messages).map(<[u8]>::len).sum::<usize>() != messages.len() {
            return Err("a command does not end with a whole message".to_owned());
        }
        let ids: Cow<'_, [u32]> =
            ids.chunks_exact(4).map(|id| u32::from_le_bytes(id.try_into().expect("four bytes"))).collect();
        if ids.len() != adds(messages) {
            return Err("a command has not as many ids as adds".to_owned());
        }
        Ok(Command { wall_ms, actor, ids, messages, is_transaction })
    }

    /// Appends the record.
    pub fn encode(&self, out: &mut Vec<u8>) {
        assert!(
            self.actor.len() < TRANSACTION as usize,
            "the uppermost bit of the length says something else"
        );
        out.extend_from_slice(&self.wall_ms.to_le_bytes());
        let kind = if self.is_transaction { TRANSACTION } else { 0 };
        out.extend_from_slice(&(self.actor.len() as u32 | kind).to_le_bytes());
        out.extend_from_slice(&(self.ids.len() as u32).to_le_bytes());
        out.extend_from_slice(self.actor);
        self.ids.iter().for_each(|id| out.extend_from_slice(&id.to_le_bytes()));
        out.extend_from_slice(self.messages);
    }
}

fn is(message: &[u8], op_tag: u8) -> bool {
    Outline::of(message).is_some_and(|outline| outline.op_tag == op_tag)
}

pub(crate) fn adds(bytes: &[u8]) -> usize {
    messages(bytes).filter(|message| is(message, tag::ADD)).count()
}

/// The whole messages at the front of `bytes`.
pub(crate) fn messages(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || match frame(bytes) {
        Ok(Frame::Complete { len }) => {
            let (message, rest) = bytes.split_at(len);
            bytes = rest;
            Some(message)
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::Request;

    fn updates(reply: &Arc<Reply>) -> Updates {
        let mut messages = Vec::new();
        for id in 1..=3 {
            Request::Delete(b"cn=a").encode(&mut messages, id, &[]);
        }
        let (prepared_writes, marks) = Default::default();
        Updates::new(messages, 0, prepared_writes, marks, None, Vec::new(), Arc::clone(reply))
    }

    fn poll(reply: &Reply, out: &mut Vec<u8>) -> Poll<()> {
        let (mut mixed, mut buffers) = (Mixed::default(), Buffers::default());
        reply.poll(&mut Context::from_waker(Waker::noop()), &Arc::default(), (&mut mixed, &mut buffers), out)
    }

    #[test]
    fn a_command_comes_back_from_the_log() {
        let reply = Arc::default();
        let updates = updates(&reply);
        let mut record = Vec::new();
        updates.command(77 << 40).encode(&mut record);
        let command = Command::decode(&record).unwrap();
        assert_eq!(command, updates.command(77 << 40));
        assert_eq!((updates.count(), messages(command.messages).count()), (3, 3));
        for len in 0..record.len() - 1 {
            // Cut between messages it is a command too; the log's checksum tells of that.
            let whole = Command::decode(&record[..len]).is_ok();
            assert_eq!(whole, len >= FIXED && (len - FIXED).is_multiple_of(command.messages.len() / 3));
        }
        let with_an_id = Command { ids: Cow::Borrowed(&[9]), ..command };
        let mut other = Vec::new();
        with_an_id.encode(&mut other);
        assert!(Command::decode(&other).unwrap_err().contains("as many ids as adds"));
    }

    #[test]
    fn nobody_waits_for_ever() {
        let reply = Arc::default();
        let updates = updates(&reply);
        let mut answers = Vec::new();
        assert!(poll(&reply, &mut answers).is_pending());
        drop(updates);
        assert!(poll(&reply, &mut answers).is_ready());
        assert_eq!(messages(&answers).count(), 3);
    }
}
