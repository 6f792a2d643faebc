//! The way of an update in a directory that is logged: a session hands its updates over, they are made durable, then
//! applied in log order by the [`crate::Applier`], and only then the session learns what became of them.

mod command;
mod forwarded;
mod remote;

pub use self::command::Command;
use self::command::is;
pub(crate) use self::command::{adds, messages};
use self::remote::Remote;
pub use self::remote::{Forwarded, Front, Outcome, Replacement, Returns, What};
use crate::access::Reader;
use crate::audit::Origin;
use crate::barrier::Barrier;
use crate::identity::Identity;
use crate::indexing::IndexChange;
use crate::marks::Marks;
use crate::outcome;
use crate::prepared_writes::PreparedWrites;
use crate::session::Mixed;
use crate::settings::{Record, SettingsChange};
use crate::throttle::{Permit, Throttle};
use crate::wakes::{Wakes, Waking};
use env::net::PeerAddress;
use model::ResultCode;
use proto::outline::Outline;
use proto::{result::encode_result, tag};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// Bytes of updates that one session submits at a time.
pub const UPDATES_BYTES_SOFT_MAX: usize = 256 << 10;

/// Bytes of a buffer of updates that is used again, and of one of their prepared writes. Longer ones are freed.
const BUFFER_BYTES_KEPT: usize = 128 << 10;
const PREPARED_BYTES_KEPT: usize = 3 * BUFFER_BYTES_KEPT;
/// Bytes of a buffer of answers, and ids, that are used again.
const ANSWERS_BYTES_KEPT: usize = 64 << 10;
const IDS_KEPT: usize = 4 << 10;
/// Submissions that a thread keeps.
const BUFFERS_KEPT: usize = 32;

/// Updates of one session that go to the log together, with the memory for what becomes of them. It goes from the session to the committer
/// and back by its address, and is used again: so it costs no allocation.
///
/// ```text
/// buffers of a thread -> batch of a session -> committer -> reply of the session -> buffers of the thread
/// ```
#[derive(Debug, Default)]
pub(crate) struct Submission {
    /// Whole LDAPMessages with update operations, regular in outline.
    pub(crate) messages: Vec<u8>,
    /// How many of them are adds.
    pub(crate) adds: usize,
    /// One for each of them: what becomes of them, as far as it could be known when they came.
    pub(crate) prepared_writes: PreparedWrites,
    /// What must be true when they are applied ([`crate::parcel::Condition`]), encoded.
    pub(crate) conditions: Vec<u8>,
    /// As whom entries are read that their answers bring.
    /// None, if no answer brings an entry.
    pub(crate) reader: Option<Reader>,
    /// The change of settings that they are: then they are one modify of `cn=config`.
    pub(crate) settings: Option<Box<SettingsChange>>,
    /// Bytes of memory that they take when they are applied, as a transaction whose prepared writes do not tell it.
    pub(crate) bytes_together: u64,
    /// They are one modify of the subschema.
    pub(crate) is_schema: bool,
    /// Where reads stand between them.
    marks: Marks,
    /// For the entries that they add.
    ids: Vec<u32>,
    /// DN of the client that they are of; its rights were decided when they came.
    actor: Vec<u8>,
    /// Where they came from.
    origin: Origin,
    /// The answers to them, once they are applied.
    answers: Vec<u8>,
    /// Where these go.
    reply: Option<Arc<Reply>>,
    /// The same, if another server took them from its client.
    remote: Option<Box<Remote>>,
    /// Message id of the request that ends the transaction which they are; it alone is answered.
    end: Option<i32>,
    /// Their part of what may be on its way.
    permit: Option<Permit>,
}

impl Submission {
    /// Makes it empty; its buffers keep their memory. Marks of reads have gone to the session with the answers.
    fn clear(&mut self) {
        let is_answered = self.reply.is_none() && self.remote.is_none() && self.permit.is_none();
        assert!(is_answered, "only what was answered is used again");
        self.messages.clear();
        self.prepared_writes.clear();
        self.ids.clear();
        self.conditions.clear();
        self.answers.clear();
        (self.adds, self.settings, self.end, self.reader, self.bytes_together) = (0, None, None, None, 0);
        self.is_schema = false;
    }

    /// Gives back what has grown long, before it waits for its session: there may be thousands whose clients take their time.
    fn release_long(&mut self) {
        if self.messages.capacity() > BUFFER_BYTES_KEPT
            || self.prepared_writes.capacity() > PREPARED_BYTES_KEPT
        {
            (self.messages, self.prepared_writes) = Default::default();
        }
    }
}

/// Whose updates they are.
#[derive(Clone, Copy)]
pub(crate) struct Sender<'s> {
    /// As whom they are applied.
    pub(crate) identity: &'s Identity,
    /// Where the client is.
    pub(crate) client: Option<PeerAddress>,
    /// The load balancer that it came by.
    pub(crate) via: Option<PeerAddress>,
    /// Number of its connection in the access log, or 0.
    pub(crate) connection: u64,
}

/// What comes with updates that were logged, and is no part of what the log says.
/// The log has messages alone, for a replay has neither: a prepared write holds addresses of this process, and the reads behind
/// updates belong to sessions that are gone.
pub(crate) struct Along<'w> {
    /// One for each of them.
    pub(crate) prepared_writes: &'w mut PreparedWrites,
    pub(crate) marks: &'w mut Marks,
    pub(crate) reader: Option<&'w Reader>,
    pub(crate) origin: &'w Origin,
}

/// Empty submissions for all sessions of a thread: a session that waits for nothing has none.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "a submission moves to the committer and back by its address")]
pub(crate) struct Buffers(Vec<Box<Submission>>);

impl Buffers {
    /// An empty submission: one that came back if there is one, else a new one.
    #[inline]
    pub(crate) fn take(&mut self) -> Box<Submission> {
        let submission = self.0.pop().unwrap_or_default();
        assert!(
            submission.messages.is_empty() && submission.prepared_writes.len() == 0,
            "submissions are kept empty"
        );
        submission
    }

    /// Takes a submission back, unless there are enough or this one has grown long.
    pub(crate) fn put(&mut self, mut submission: Box<Submission>) {
        submission.clear();
        submission.release_long();
        let is_kept = submission.messages.capacity() > 0
            && submission.answers.capacity() <= ANSWERS_BYTES_KEPT
            && submission.ids.capacity() <= IDS_KEPT;
        if is_kept && self.0.len() < BUFFERS_KEPT {
            self.0.push(submission);
        }
    }
}

/// Where a session's updates go. What it took is applied in the order in which it was taken.
pub trait Journal: Send + Sync {
    /// Takes updates. Must not block; [`Updates::refuse`] answers what cannot be taken.
    fn submit(&self, updates: Updates);

    /// Times of accounts wait ([`crate::Dsa::account_times`]): it takes them from there when it can. Must not block.
    fn times_wait(&self);

    /// Asks where the log ends: what a session waits for before it reads. `None` where this server has all that was ever
    /// acknowledged, as a server by itself. Must not block; asked only where sessions wait for barriers
    /// ([`crate::Dsa::await_barriers`]).
    fn barrier(&self) -> Option<Arc<Barrier>> {
        None
    }

    /// Has this server all that was ever acknowledged, by a lease that ends after this time of the process' monotonic clock? The clock is
    /// looked at after the request has come.
    fn holds_lease(&self, _now_ns: u64) -> bool {
        false
    }

    /// Is it likely that what is submitted now stands in the log within milliseconds? Not where this server has not heard of a majority for a
    /// while, or where other updates wait for a leader. The time is that of the process' monotonic clock.
    fn is_prompt(&self, _now_ns: u64) -> bool {
        true
    }

    /// Does this server make the changes that come from no client? Of several the one that leads.
    fn leads(&self) -> bool {
        true
    }

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
    /// Where other servers have the directory too: the last time of the monotonic clock, in milliseconds, of which it is known that all is
    /// applied here that was acknowledged anywhere before it.
    pub current_ms: Option<u64>,
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
    /// Of a replica: sessions that wait for a barrier.
    pub barriers: u64,
    /// Of a replica: submissions that wait for a leader, and those that were sent to it and have no outcome yet.
    pub updates_waiting: u64,
    /// See `updates_waiting`.
    pub updates_sent: u64,
}

/// A submission on its way through the log. Dropped without an answer, it counts as refused: the session must never wait for ever.
#[derive(Debug)]
pub struct Updates(Option<Box<Submission>>);

/// Where a session gets its answers.
#[derive(Debug, Default)]
pub(crate) struct Reply(Mutex<Slot>);

#[derive(Debug, Default)]
struct Slot {
    /// What was answered, until the session takes it.
    answered: Option<Box<Submission>>,
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
        let Some(mut submission) = slot.answered.take() else {
            slot.waker = Some(cx.waker().clone());
            slot.wakes.get_or_insert_with(|| Arc::clone(wakes));
            return Poll::Pending;
        };
        // The committer may fill the slot again only after the session has submitted again.
        drop(slot);
        match submission.marks.is_empty() {
            true => out.extend_from_slice(&submission.answers),
            false => mixed.answered(&mut submission.answers, std::mem::take(&mut submission.marks)),
        }
        buffers.put(submission);
        Poll::Ready(())
    }

    /// The answers, when they are there; nobody is woken for them.
    pub(crate) fn take(&self) -> Option<Vec<u8>> {
        self.slot().answered.take().map(|submission| submission.answers)
    }

    /// Hands a submission back to its session with its answers.
    fn answer(&self, mut submission: Box<Submission>, waking: &mut Waking) {
        submission.release_long();
        let mut slot = self.slot();
        assert!(slot.answered.is_none(), "a session has one submission on its way at a time");
        slot.answered = Some(submission);
        let waiting = slot.waker.take().zip(slot.wakes.clone());
        drop(slot);
        if let Some((waker, wakes)) = waiting {
            waking.push(waker, &wakes);
        }
    }
}

impl Updates {
    /// Updates of a client, with the marks of the reads between them.
    #[inline]
    pub(crate) fn new(
        mut submission: Box<Submission>,
        marks: Marks,
        sender: Sender<'_>,
        reply: Arc<Reply>,
    ) -> Updates {
        debug_assert_eq!(adds(&submission.messages), submission.adds, "they are counted");
        assert!(
            !(submission.settings.is_some() || submission.is_schema) || marks.due() == usize::MAX,
            "no reads stand between settings or definitions"
        );
        assert!(submission.marks.is_empty() && submission.answers.is_empty(), "nothing of it was answered");
        submission.marks = marks;
        let Sender { identity, client, via, connection } = sender;
        submission.actor.clear();
        submission.actor.extend_from_slice(&identity.dn);
        // Into memory that is there. Who asked is mostly the one who is recorded as the actor.
        let origin = &mut submission.origin;
        (origin.peer, origin.via, origin.connection) = (client, via, connection);
        submission.origin.who.clear();
        if let Some((who, _)) = identity.real.as_deref() {
            submission.origin.who.extend_from_slice(who);
        }
        submission.reply = Some(reply);
        Updates(Some(submission))
    }

    #[inline]
    fn submission(&self) -> &Submission {
        self.0.as_deref().expect("they are looked at until they are answered")
    }

    #[inline]
    fn submission_mut(&mut self) -> &mut Submission {
        self.0.as_deref_mut().expect("they are looked at until they are answered")
    }

    /// Are they a change of the schema?
    pub fn is_schema(&self) -> bool {
        self.submission().is_schema
    }

    /// Their messages.
    pub fn messages(&self) -> &[u8] {
        &self.submission().messages
    }

    /// The settings that are to hold, if that is what they are about.
    pub fn settings(&self) -> Option<&Record> {
        self.submission().settings.as_deref().map(SettingsChange::record)
    }

    /// The change of settings, if that is what they are.
    pub(crate) fn settings_change(&mut self) -> Option<&mut SettingsChange> {
        self.submission_mut().settings.as_deref_mut()
    }

    /// What is to become of indexes when those settings hold.
    pub(crate) fn indexes(&self) -> &[IndexChange] {
        self.submission().settings.as_deref().map_or(&[], SettingsChange::indexes)
    }

    /// The updates of a transaction, which happen all or not at all; the request with this id ends it. No reads wait with them: reads wait
    /// with a batch, and an end is never part of one.
    pub(crate) fn of_transaction(
        mut submission: Box<Submission>,
        sender: Sender<'_>,
        reply: Arc<Reply>,
        end: i32,
    ) -> Updates {
        submission.end = Some(end);
        Updates::new(submission, Marks::default(), sender, reply)
    }

    /// Where they came from.
    pub(crate) fn origin(&self) -> &Origin {
        &self.submission().origin
    }

    /// Counts their bytes, those of their prepared writes and those of the reads that wait for them, until they are answered.
    pub(crate) fn admit(&mut self, throttle: &Arc<Throttle>, waiting: usize) {
        let submission = self.submission_mut();
        assert!(submission.permit.is_none(), "updates are counted once on their way to the log");
        let bytes = submission.messages.capacity() + submission.prepared_writes.capacity() + waiting;
        submission.permit = Some(throttle.admit(bytes as u64));
    }

    /// Message id of the request that ends the transaction which they are, if they are one.
    pub(crate) fn end(&self) -> Option<i32> {
        self.submission().end
    }

    /// The command that they are in the log, given at a time.
    pub fn command(&self, wall_ms: u64) -> Command<'_> {
        let Submission { messages, ids, actor, end, .. } = self.submission();
        Command { wall_ms, actor, ids: Cow::Borrowed(ids), messages, is_transaction: end.is_some() }
    }

    /// The command, with the prepared writes and the marks, which change while it is applied.
    pub(crate) fn command_along(&mut self, wall_ms: u64) -> (Command<'_>, &[u8], Along<'_>) {
        let Submission {
            messages, ids, actor, origin, end, prepared_writes, marks, conditions, reader, ..
        } = self.submission_mut();
        let command =
            Command { wall_ms, actor, ids: Cow::Borrowed(ids), messages, is_transaction: end.is_some() };
        (command, conditions, Along { prepared_writes, marks, reader: reader.as_ref(), origin })
    }

    /// What must be true when they are applied ([`crate::parcel::Condition`]), encoded.
    pub fn conditions(&self) -> &[u8] {
        &self.submission().conditions
    }

    /// Ids for the entries that they add: to be filled with [`Updates::adds`] of them before the command is made.
    pub fn ids(&mut self) -> &mut Vec<u32> {
        &mut self.submission_mut().ids
    }

    /// Bytes of their messages.
    pub fn bytes(&self) -> usize {
        self.submission().messages.len()
    }

    /// Number of updates.
    pub fn count(&self) -> usize {
        messages(&self.submission().messages).count()
    }

    /// Number of entries that they may add.
    pub fn adds(&self) -> usize {
        self.submission().adds
    }

    /// Bytes by which they make the directory larger, at most, but for indexes by substrings. Those of a transaction are all
    /// written before what they replace can be cleaned away, so its prepared writes count.
    pub fn bytes_needed(&self) -> u64 {
        let Submission { messages, prepared_writes, end, remote, bytes_together, .. } = self.submission();
        let together = match (end, remote) {
            (None, _) => 0,
            (Some(_), None) => prepared_writes.bytes() as u64,
            (Some(_), Some(_)) => *bytes_together,
        };
        2 * messages.len() as u64 + together
    }

    /// An empty buffer for the answers.
    pub fn answers_buffer(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.submission_mut().answers)
    }

    /// Are all of them deletes?
    pub fn are_deletes(&self) -> bool {
        messages(&self.submission().messages).all(|message| is(message, tag::DELETE))
    }

    /// May one of them make an entry with a combination of attributes that no other has? Deletes and prepared writes do not.
    pub fn may_need_shapes(&self) -> bool {
        self.submission().prepared_writes.ready().iter().flatten().count() < self.count()
            && !self.are_deletes()
    }

    /// Tells the session what became of them. It is woken with others.
    pub fn answer(mut self, answers: Vec<u8>, waking: &mut Waking) {
        self.give(answers, true, waking);
    }

    /// Tells the session that another server refused them, with these answers.
    pub fn answer_refused(mut self, answers: Vec<u8>, waking: &mut Waking) {
        self.submission_mut().marks.refuse(&answers);
        self.give(answers, false, waking);
    }

    /// Tells the session that its change of settings holds.
    pub fn succeed(mut self, waking: &mut Waking) {
        let mut answers = self.answers_buffer();
        for outline in messages(&self.submission().messages).filter_map(Outline::of) {
            outcome::succeed(&mut answers, outline.id, tag::MODIFY_RESPONSE);
        }
        self.give(answers, true, waking);
    }

    fn give(&mut self, answers: Vec<u8>, is_applied: bool, waking: &mut Waking) {
        // From here on a drop answers nothing.
        let mut submission = self.0.take().expect("they are answered once");
        if let Some(remote) = submission.remote.take() {
            // Whether they are applied says to the other server that it need not look for them in the log.
            let outcome = if is_applied { Outcome::Applied(answers) } else { Outcome::Refused(answers) };
            return remote.put(outcome);
        }
        let reply = submission.reply.take().expect("it was set when they were submitted");
        // Before the session is woken, which looks whether there is room for its next updates.
        submission.permit = None;
        assert!(submission.answers.is_empty(), "they were not answered before");
        submission.answers = answers;
        reply.answer(submission, waking);
    }

    /// Answers each of them with a code and a text.
    pub fn refuse(mut self, code: ResultCode, text: &str) {
        self.refuse_all(code, text);
    }

    /// Answers each update that it still has with this refusal.
    fn refuse_all(&mut self, code: ResultCode, text: &str) {
        let mut answers = Vec::new();
        let Submission { messages, marks, end, .. } = self.submission_mut();
        if let Some(end) = *end {
            encode_result(&mut answers, end, tag::EXTENDED_RESPONSE, code, b"", text, &[]);
            return self.give(answers, false, &mut Waking::default());
        }
        for message in self::messages(messages) {
            if let Some(outline) = Outline::of(message)
                && let Some(response) = tag::response_to(outline.op_tag)
            {
                encode_result(&mut answers, outline.id, response, code, b"", text, &[]);
            }
        }
        // Answered like updates that were applied, with the reads between them: these see the directory without any of the updates.
        marks.refuse(&answers);
        self.give(answers, false, &mut Waking::default());
    }
}

impl Drop for Updates {
    fn drop(&mut self) {
        if self.0.is_some() {
            self.refuse_all(ResultCode::Unavailable, OUTCOME_UNKNOWN);
        }
    }
}

/// What is said of updates that may or may not survive.
pub const OUTCOME_UNKNOWN: &str = "the log failed while this was being written: the outcome is unknown";

#[cfg(test)]
mod tests {
    use super::command::FIXED;
    use super::*;
    use proto::Request;

    fn updates(reply: &Arc<Reply>) -> Updates {
        let mut messages = Vec::new();
        for id in 1..=3 {
            Request::Delete(b"cn=a").encode(&mut messages, id, &[]);
        }
        let submission = Submission { messages, ..Submission::default() };
        let identity = &Identity::anonymous();
        let sender = Sender { identity, client: None, via: None, connection: 0 };
        Updates::new(Box::new(submission), Marks::default(), sender, Arc::clone(reply))
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
