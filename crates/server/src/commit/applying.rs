//! The second half of an update's way: what is safe is applied and answered, in the log's order, by one thread at a time.
//! With little to do that is the committer itself. When more came in meanwhile it calls a helper, so that one group is
//! written and synced while the one before is applied.

use super::{Failed, Logged, Queue};
use dsa::Applier;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use store::{Reader, Shard};
use wal::{Index, Log};

/// Updates that are in the log and wait to be applied, and the one who applies them.
pub(super) struct Applying {
    log: Arc<Log>,
    queue: Arc<Queue>,
    logged: Mutex<VecDeque<Logged>>,
    turn: Mutex<Turn>,
    call: Mutex<Call>,
    called: Condvar,
    failed: OnceLock<Failed>,
}

/// Whoever has it applies.
struct Turn {
    applier: Applier,
    /// Index of the last record that was applied.
    applied: Index,
}

#[derive(Default)]
struct Call {
    wanted: bool,
    ended: bool,
}

impl Applying {
    pub(super) fn new(applier: Applier, log: Arc<Log>, queue: Arc<Queue>) -> Applying {
        let applied = log.safe();
        queue.status().on_applied(applied);
        Applying {
            log,
            queue,
            logged: Mutex::default(),
            turn: Mutex::new(Turn { applier, applied }),
            call: Mutex::default(),
            called: Condvar::new(),
            failed: OnceLock::new(),
        }
    }

    /// These come next, when they are safe.
    pub(super) fn push(&self, logged: Logged) {
        self.logged().push_back(logged);
    }

    /// Is nothing logged that is not applied?
    pub(super) fn is_idle(&self) -> bool {
        self.logged().is_empty()
    }

    /// A record that needs no applying.
    pub(super) fn pass(&self, index: Index) {
        self.set_applied(&mut self.turn(), index);
    }

    /// All that is not applied and will not be.
    pub(super) fn take_rest(&self) -> VecDeque<Logged> {
        std::mem::take(&mut *self.logged())
    }

    /// Why nothing is applied any more, if that is so.
    pub(super) fn failed(&self) -> Option<&Failed> {
        self.failed.get()
    }

    /// Applies and answers what is logged up to `safe`; waits for another who is at it.
    ///
    /// # Errors
    /// A record cannot be carried out: nothing is applied from then on.
    pub(super) fn apply(&self, safe: Index) -> Result<(), Failed> {
        self.apply_in_turn(&mut self.turn(), safe)
    }

    /// As [`Applying::apply`] with all that is safe; if another is at it, that is left to the other.
    ///
    /// # Errors
    /// As there.
    pub(super) fn apply_or_call(&self) -> Result<(), Failed> {
        match self.turn.try_lock() {
            Ok(mut turn) => self.apply_in_turn(&mut turn, self.log.safe()),
            Err(TryLockError::WouldBlock) => {
                self.call();
                Ok(())
            }
            Err(TryLockError::Poisoned(_)) => Err(Failed::Panicked),
        }
    }

    /// Has the helper apply what is safe.
    pub(super) fn call(&self) {
        self.lock_call().wanted = true;
        self.called.notify_one();
    }

    /// The helper's life: applies what is safe whenever it is called, until [`Applying::end`].
    ///
    /// # Errors
    /// See [`Applying::apply`]; the committer is told.
    pub(super) fn help(&self) -> Result<(), Failed> {
        while self.wait_for_call() {
            let applied = self.apply(self.log.safe());
            if applied.is_err() {
                self.queue.wake();
                return applied;
            }
        }
        Ok(())
    }

    /// The helper panicked.
    pub(super) fn fail(&self) {
        let _ = self.failed.set(Failed::Panicked);
        self.queue.wake();
    }

    /// The helper is needed no more.
    pub(super) fn end(&self) {
        self.lock_call().ended = true;
        self.called.notify_one();
    }

    /// A checkpoint between two records, and the last record that it holds; `None` when there are too many readers.
    pub(super) fn checkpoint(&self, shard: &Arc<Shard>) -> Option<super::Taken> {
        let turn = self.turn();
        let reader = Reader::register(shard)?;
        Some((shard.writer().checkpoint(reader), turn.applied))
    }

    fn wait_for_call(&self) -> bool {
        let mut call = self.lock_call();
        while !call.wanted && !call.ended {
            call = self.called.wait(call).unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::take(&mut call.wanted)
    }

    fn apply_in_turn(&self, turn: &mut Turn, safe: Index) -> Result<(), Failed> {
        if let Some(failed) = self.failed.get() {
            return Err(failed.clone());
        }
        while let Some(Logged { index, wall_ms, updates }) = self.next(safe) {
            let mut answers = updates.answers_buffer();
            if let Err(error) = turn.applier.apply(&updates.command(wall_ms), &mut answers) {
                // Without an answer it is told that the outcome is unknown.
                return Err(self.failed.get_or_init(|| Failed::Apply(index, error)).clone());
            }
            self.set_applied(turn, index);
            updates.answer(answers);
        }
        Ok(())
    }

    fn set_applied(&self, turn: &mut Turn, index: Index) {
        turn.applied = index;
        self.queue.status().on_applied(index);
    }

    fn next(&self, safe: Index) -> Option<Logged> {
        let mut logged = self.logged();
        let is_safe = logged.front().is_some_and(|logged| logged.index <= safe);
        if is_safe { logged.pop_front() } else { None }
    }

    fn logged(&self) -> MutexGuard<'_, VecDeque<Logged>> {
        // It is whole after every statement, so one who panicked left nothing half done.
        self.logged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_call(&self) -> MutexGuard<'_, Call> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// # Panics
    /// When one panicked who had it: a record may be half carried out.
    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().expect("whoever applies does not panic")
    }
}
