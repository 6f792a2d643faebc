//! The way of updates to the directory: logged, made durable, applied, answered, in that order and one group at a time.
//! All that came in while one group was on its way is the next one.
//!
//! A [`Committer`] does nothing by itself, so that a simulator can take every step; [`Thread`] runs one.

mod pace;
mod queue;
mod snapshotter;
mod status;
mod thread;

pub use queue::Queue;
pub use status::Status;
pub use thread::Thread;

use dsa::journal::{OUTCOME_UNKNOWN, Updates};
use dsa::{Applier, ApplyError, Dsa};
use env::planted::{self, Fault};
use model::ResultCode;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use store::{Checkpoint, Reader};
use wal::{Index, Kind, Log, Poisoned, Refused, Step, Writer};

/// Where memory is short, this share of what is allowed is kept for changes that are no adds, and so many bytes.
const RESERVE_SHARE: u64 = 8;
const RESERVE_BYTES: u64 = 16 << 20;
/// Bytes of log after which a snapshot is made: as many as the entries have, which is what it writes at most, but no less and
/// no more than this.
const SNAPSHOT_AFTER_MIN: u64 = 256 << 20;
const SNAPSHOT_AFTER_MAX: u64 = 1 << 30;

/// Bytes of memory from which on only deletes are taken, if adds are up to `memory_bytes_max`.
pub fn memory_bytes_end(memory_bytes_max: u64) -> u64 {
    memory_bytes_max.saturating_add(memory_bytes_max / RESERVE_SHARE + RESERVE_BYTES)
}

/// Why nothing can be written any more.
#[derive(Clone, Debug)]
pub enum Failed {
    /// The log failed.
    Log(Poisoned),
    /// The log does not take what must be in it.
    Refused(Refused),
    /// What was logged could not be carried out.
    Apply(Index, ApplyError),
    /// A fault of this program: its own thread tells more.
    Panicked,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failed::Log(poisoned) => poisoned.fmt(f),
            Failed::Refused(refused) => refused.fmt(f),
            Failed::Apply(index, error) => write!(f, "record {index} of the log: {error}"),
            Failed::Panicked => f.write_str("the thread that writes the log panicked"),
        }
    }
}

impl std::error::Error for Failed {}

/// Updates in the log that are not carried out yet.
struct Logged {
    index: Index,
    wall_ms: u64,
    updates: Updates,
}

/// The one who writes a logged directory.
pub struct Committer {
    dsa: Arc<Dsa>,
    applier: Applier,
    log: Arc<Log>,
    writer: Writer,
    queue: Arc<Queue>,
    logged: VecDeque<Logged>,
    /// Index of the last record that was applied.
    applied: Index,
    /// Not in the log yet, for want of room in the block that fills.
    coming: VecDeque<Updates>,
    limits: Limits,
    /// Bytes of log that the last checkpoint does not cover.
    bytes_since_checkpoint: u64,
    /// When the last checkpoint was taken, and when the last step was: of the clock that steps are told.
    checkpoint_ms: Option<u64>,
    now_ms: u64,
}

/// What a committer keeps to.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of memory from which on no adds are taken.
    pub memory_bytes_max: u64,
    /// Bytes of log after which a snapshot is made, if not as many as the entries have.
    pub snapshot_after: Option<u64>,
    /// Milliseconds after which a snapshot is made, if something was written since the last.
    pub snapshot_interval_ms: Option<u64>,
}

/// A checkpoint of the directory, and the last record of the log that it holds.
pub type Taken = (Checkpoint, Index);

impl Committer {
    /// The writer of `dsa`, which holds everything that is in the log.
    pub fn new(
        dsa: Arc<Dsa>,
        applier: Applier,
        writer: Writer,
        queue: Arc<Queue>,
        limits: Limits,
    ) -> Committer {
        let log = Arc::clone(writer.log());
        let applied = log.safe();
        let (logged, coming) = (VecDeque::new(), VecDeque::new());
        let bytes_since_checkpoint = log.live_bytes();
        queue.status().begin(&log, limits.memory_bytes_max);
        queue.status().on_applied(applied);
        Committer {
            dsa,
            applier,
            log,
            writer,
            queue,
            logged,
            applied,
            coming,
            limits,
            bytes_since_checkpoint,
            checkpoint_ms: None,
            now_ms: 0,
        }
    }

    /// Index of the last record that was applied.
    pub fn applied(&self) -> Index {
        self.applied
    }

    /// The directory.
    pub fn dsa(&self) -> &Arc<Dsa> {
        &self.dsa
    }

    /// The log.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Takes what came in, makes it durable as the mode asks, applies and answers it.
    ///
    /// # Errors
    /// See [`Failed`]: everything under way was answered with "outcome unknown", everything later will be refused.
    pub fn step(&mut self, wall_ms: u64, monotonic_ms: u64) -> Result<Step, Failed> {
        self.step_at(|| wall_ms, monotonic_ms)
    }

    /// As [`Committer::step`]; the wall clock is read once it is decided what the step takes. So a command's time is not
    /// before it was sent, nor after it was answered: a restore to a point in time relies on it.
    ///
    /// # Errors
    /// See [`Committer::step`].
    pub fn step_at(&mut self, wall_ms: impl FnOnce() -> u64, monotonic_ms: u64) -> Result<Step, Failed> {
        self.now_ms = monotonic_ms;
        self.checkpoint_ms.get_or_insert(monotonic_ms);
        self.take(wall_ms);
        if planted::is(Fault::PublishedBeforeSync) {
            self.apply(Index(u64::MAX))?;
        }
        let stepped = self.writer.step(monotonic_ms).map_err(Failed::Log);
        let done = stepped.and_then(|step| self.apply(self.log.safe()).map(|()| step));
        done.map_err(|failed| self.fail(failed))
    }

    /// When the next snapshot by time is due, of the clock that steps are told: none while the last one holds everything.
    pub fn checkpoint_due_ms(&self) -> Option<u64> {
        let interval =
            self.limits.snapshot_interval_ms.filter(|_| self.applied > self.queue.status().snapshot())?;
        Some(self.checkpoint_ms?.saturating_add(interval))
    }

    /// Is there so much log that a snapshot should make it shorter, or was the last one made so long ago?
    pub fn is_checkpoint_due(&self) -> bool {
        if self.checkpoint_due_ms().is_some_and(|due| due <= self.now_ms) {
            return true;
        }
        self.bytes_since_checkpoint > self.snapshot_after()
    }

    /// Bytes of log after which a snapshot is made, as things are.
    pub fn snapshot_after(&self) -> u64 {
        let usual = || self.dsa.shard().memory().segments.clamp(SNAPSHOT_AFTER_MIN, SNAPSHOT_AFTER_MAX);
        self.limits.snapshot_after.unwrap_or_else(usual)
    }

    /// A checkpoint of what was applied so far, with the log synced up to there. `None` when there are too many readers.
    ///
    /// # Errors
    /// See [`Failed`].
    pub fn checkpoint(&mut self) -> Result<Option<Taken>, Failed> {
        self.checkpoint_ms = Some(self.now_ms);
        self.writer.sync().map_err(|poisoned| self.fail(Failed::Log(poisoned)))?;
        let shard = self.dsa.shard();
        let Some(reader) = Reader::register(shard) else { return Ok(None) };
        self.bytes_since_checkpoint = 0;
        Ok(Some((shard.writer().checkpoint(reader), self.applied)))
    }

    /// Writes down that something which is not in the log becomes part of the directory, before the snapshot that has it:
    /// so that nobody takes an earlier snapshot and the log for all there is. Nothing else may be under way.
    ///
    /// # Errors
    /// See [`Failed`]; also when there is no room for it.
    pub fn note_import(&mut self, wall_ms: u64) -> Result<(), Failed> {
        self.note(Kind::Import, &wall_ms.to_le_bytes())
    }

    /// Writes down what is no command: durable when it returns. Nothing else may be under way.
    ///
    /// # Errors
    /// See [`Failed`]; also when there is no room for it.
    pub(crate) fn note(&mut self, kind: Kind, payload: &[u8]) -> Result<(), Failed> {
        assert!(self.logged.is_empty() && self.coming.is_empty(), "nothing else is under way");
        let append = |out: &mut Vec<u8>| out.extend_from_slice(payload);
        let mut noted = self.log.append(kind, append);
        if let Err(Refused::Full) = noted {
            // Where there is no server, nobody prepares the next file.
            while let Some(preparation) = self.log.wanted() {
                self.log.prepared(preparation.run());
                if self.log.no_space().is_some() {
                    break;
                }
            }
            noted = self.log.append(kind, append);
        }
        let index = noted.map_err(|refused| self.fail(Failed::Refused(refused)))?;
        while self.log.safe() < index {
            self.writer.step(self.now_ms).map_err(|poisoned| self.fail(Failed::Log(poisoned)))?;
        }
        self.writer.sync().map_err(|poisoned| self.fail(Failed::Log(poisoned)))?;
        self.applied = index;
        self.queue.status().on_applied(index);
        Ok(())
    }

    /// Writes and applies everything that came in, then closes the log. Returns a checkpoint of all of it.
    ///
    /// # Errors
    /// See [`Failed`].
    pub fn close(mut self, wall_ms: u64, monotonic_ms: u64) -> Result<Option<Taken>, Failed> {
        const TEXT: &str = "the server is shutting down";
        self.queue.refuse_from_now_on(ResultCode::Unavailable, TEXT);
        while self.step(wall_ms, monotonic_ms)? == Step::Moved {}
        self.refuse_rest(TEXT);
        let taken = self.checkpoint()?;
        self.writer.close().map_err(Failed::Log)?;
        Ok(taken)
    }

    /// What is in the log has an unknown outcome, everything else is refused.
    fn fail(&mut self, failed: Failed) -> Failed {
        for logged in self.logged.drain(..) {
            logged.updates.refuse(ResultCode::Unavailable, OUTCOME_UNKNOWN);
        }
        self.refuse_rest(&failed.to_string());
        failed
    }

    /// Refuses what is not in the log, now and later.
    fn refuse_rest(&mut self, text: &str) {
        self.queue.refuse_from_now_on(ResultCode::Unavailable, text);
        self.queue.drain(&mut self.coming);
        for updates in self.coming.drain(..) {
            updates.refuse(ResultCode::Unavailable, text);
        }
    }

    /// Is there something that has no room in the log yet? Room comes with the next step, or with the next file.
    pub fn is_waiting_for_room(&self) -> bool {
        !self.coming.is_empty()
    }

    /// Appends what came in to the log, as far as it has room.
    fn take(&mut self, wall_ms: impl FnOnce() -> u64) {
        self.queue.drain(&mut self.coming);
        if self.coming.is_empty() {
            return;
        }
        let wall_ms = wall_ms();
        let used = self.memory_used();
        let log = Arc::clone(&self.log);
        let mut batch = log.batch();
        while let Some(updates) = self.coming.pop_front() {
            let Some(updates) = self.admit(updates, used) else { continue };
            let (command, mut bytes) = (updates.command(wall_ms), 0);
            let append = |out: &mut Vec<u8>| {
                bytes = out.len();
                command.encode(out);
                bytes = out.len() - bytes;
            };
            match batch.append(Kind::Commands, append) {
                Ok(index) => {
                    self.bytes_since_checkpoint += bytes as u64;
                    self.logged.push_back(Logged { index, wall_ms, updates });
                }
                Err(Refused::Full) => return self.coming.push_front(updates),
                Err(refused) => self.turn_away(updates, code_of(&refused), &refused.to_string()),
            }
        }
    }

    /// Bytes that the directory takes; when that is too much, after some cleaning.
    fn memory_used(&self) -> u64 {
        let shard = self.dsa.shard();
        if shard.memory().total() > self.limits.memory_bytes_max {
            shard.writer().make_room();
        }
        shard.memory().total()
    }

    /// Gives updates the ids that they need, or refuses them for want of memory: before they are logged, since how much
    /// there is must not decide what becomes of them later.
    fn admit(&self, mut updates: Updates, used: u64) -> Option<Updates> {
        let is_short = used > self.limits.memory_bytes_max && updates.adds() > 0;
        let is_full = used > memory_bytes_end(self.limits.memory_bytes_max);
        if is_short || (is_full && !updates.are_deletes()) {
            let text = "the directory has the memory that it may have; delete something or allow it more";
            updates.refuse(ResultCode::AdminLimitExceeded, text);
            return None;
        }
        let adds = updates.adds() - updates.ids().len();
        if adds > 0
            && let Err(refused) = self.dsa.shard().writer().reserve_ids(adds, updates.ids())
        {
            updates.refuse(refused.result_code(), &refused.to_string());
            return None;
        }
        Some(updates)
    }

    fn turn_away(&self, mut updates: Updates, code: ResultCode, text: &str) {
        self.dsa.shard().writer().return_ids(updates.ids());
        updates.refuse(code, text);
    }

    /// Applies and answers what is safe.
    fn apply(&mut self, safe: Index) -> Result<(), Failed> {
        while self.logged.front().is_some_and(|logged| logged.index <= safe) {
            let Some(Logged { index, wall_ms, mut updates }) = self.logged.pop_front() else { break };
            let mut answers = updates.answers_buffer();
            let applied = self.applier.apply_updates(&mut updates, wall_ms, &mut answers);
            // Without an answer it is told that the outcome is unknown.
            applied.map_err(|error| Failed::Apply(index, error))?;
            self.applied = index;
            self.queue.status().on_applied(index);
            updates.answer(answers);
        }
        Ok(())
    }
}

/// When an import was, in milliseconds since 1970, of the record that [`Committer::note_import`] leaves.
///
/// # Errors
/// When it is not that.
pub fn import_ms(payload: &[u8]) -> Result<u64, String> {
    let bytes = payload.try_into().map_err(|_| "the note of an import has not eight bytes".to_owned())?;
    Ok(u64::from_le_bytes(bytes))
}

fn code_of(refused: &Refused) -> ResultCode {
    match refused {
        // It waits instead.
        Refused::Full => ResultCode::Busy,
        Refused::TooLong => ResultCode::AdminLimitExceeded,
        Refused::NoSpace(_) => ResultCode::UnwillingToPerform,
        Refused::Poisoned(_) | Refused::Closed => ResultCode::Unavailable,
    }
}
