//! Where sessions put their updates and the committer finds them.

use super::{Failed, Status};
use dsa::Waking;
use dsa::barrier::Barrier;
use dsa::journal::{Journal, Metrics, Updates};
use model::ResultCode;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use wal::Lease;

/// Updates that wait for the committer. There are no more than sessions, for each waits for its own.
#[derive(Debug, Default)]
pub struct Queue {
    state: Mutex<State>,
    filled: Condvar,
    /// The committer is to end.
    ends: Condvar,
    status: Arc<Status>,
    /// By which sessions read that ask nobody, if the log is that of several replicas.
    lease: OnceLock<Arc<Lease>>,
    /// The directory is wrong, so no lease counts. The log learns that with its next step only.
    is_wrong: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    updates: Vec<Updates>,
    /// Of sessions that want to read: no more than there are sessions.
    barriers: Vec<Arc<Barrier>>,
    /// Why nothing is taken any more.
    refusal: Option<(ResultCode, String)>,
    ending: bool,
    /// Do times of accounts wait?
    times_wait: bool,
    /// The version of the behaviour that is to be in force.
    behaviour: Option<u32>,
    /// How the committer waits, while it does.
    committer: Option<Waiting>,
    /// Did something come from other replicas?
    is_woken: bool,
    /// Steps of the committer.
    steps: u64,
}

/// How a committer waits until there is something.
#[derive(Debug)]
enum Waiting {
    /// Its thread does, for `filled`.
    Thread,
    /// It is a task.
    Task(Waker),
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole after every statement, so one who panicked left nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How log and snapshots fare.
    pub fn status(&self) -> &Arc<Status> {
        &self.status
    }

    /// Sessions may read by this.
    pub(super) fn read_by(&self, lease: Arc<Lease>) {
        let _ = self.lease.set(lease);
    }

    /// The lease answers no read any more. To be called before anybody learns of an entry that is not applied here.
    pub(super) fn end_lease(&self) {
        self.is_wrong.store(true, Ordering::Release);
    }

    /// Moves all that wait behind what is in `to`, and who wants to read to `readers`. True if times of accounts wait besides.
    pub(super) fn drain(&self, to: &mut VecDeque<Updates>, readers: &mut Vec<Arc<Barrier>>) -> bool {
        let mut state = self.lock();
        state.steps += 1;
        to.extend(state.updates.drain(..));
        readers.append(&mut state.barriers);
        std::mem::take(&mut state.times_wait)
    }

    /// Answers whatever comes from now on with a code and a text.
    pub(super) fn refuse_from_now_on(&self, code: ResultCode, text: &str) {
        self.lock().refusal.get_or_insert_with(|| (code, text.to_owned()));
    }

    /// The steps that the committer has taken, if it is at work.
    pub(super) fn steps_at_work(&self) -> Option<u64> {
        let state = self.lock();
        state.committer.is_none().then_some(state.steps)
    }

    /// Takes all that the committer has not.
    pub(super) fn take_waiting(&self) -> (Vec<Updates>, Vec<Arc<Barrier>>) {
        let mut state = self.lock();
        (std::mem::take(&mut state.updates), std::mem::take(&mut state.barriers))
    }

    /// Waits until the committer is to end, `timeout` at most. Whether it is.
    pub(super) fn wait_for_end(&self, timeout: Duration) -> bool {
        let waited = self.ends.wait_timeout_while(self.lock(), timeout, |state| !state.ending);
        waited.unwrap_or_else(PoisonError::into_inner).0.ending
    }

    /// There is no committer any more.
    pub(super) fn refuse_all(&self, why: &Failed) {
        self.refuse_from_now_on(ResultCode::Unavailable, &why.to_string());
        // Dropped, they are refused.
        let (waiting, barriers) = self.take_waiting();
        drop(waiting);
        let mut waking = Waking::default();
        barriers.iter().for_each(|barrier| barrier.fail(&mut waking));
    }

    /// Waits until there is something, `timeout` at most. False when the committer should end and nothing is left.
    pub(super) fn wait(&self, timeout: Option<Duration>) -> bool {
        let mut state = self.lock();
        if let Some(goes_on) = state.look() {
            return goes_on;
        }
        assert!(state.committer.is_none(), "one committer takes what waits");
        state.committer = Some(Waiting::Thread);
        let mut state = match timeout {
            Some(timeout) => {
                self.filled.wait_timeout(state, timeout).unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.filled.wait(state).unwrap_or_else(PoisonError::into_inner),
        };
        state.committer = None;
        true
    }

    /// As [`Queue::wait`], for a committer that is a task: ready with what that returns. One that
    /// does not wait until then says so: [`Queue::give_up`].
    pub(super) fn poll_filled(&self, cx: &Context<'_>) -> Poll<bool> {
        let mut state = self.lock();
        if let Some(goes_on) = state.look() {
            state.committer = None;
            return Poll::Ready(goes_on);
        }
        state.committer = Some(Waiting::Task(cx.waker().clone()));
        Poll::Pending
    }

    /// The committer waits no more.
    pub(super) fn give_up(&self) {
        self.lock().committer = None;
    }

    /// Lets the committer look, if it waits.
    fn notify(&self, mut state: MutexGuard<'_, State>) {
        let committer = state.committer.take();
        drop(state);
        match committer {
            Some(Waiting::Thread) => self.filled.notify_one(),
            Some(Waiting::Task(waker)) => waker.wake(),
            // At work, it looks again before it waits.
            None => {}
        }
    }

    /// Something came from other replicas, or another one is to be heard: the committer takes a step.
    pub fn wake(&self) {
        let mut state = self.lock();
        state.is_woken = true;
        self.notify(state);
    }

    /// Updates are to be applied by this version of the behaviour, if this replica leads: see [`Status::behaviour`] for what becomes of it.
    pub fn raise_behaviour(&self, behaviour: u32) {
        self.lock().behaviour = Some(behaviour);
        self.wake();
    }

    /// Takes the version that is asked for.
    pub(super) fn take_behaviour(&self) -> Option<u32> {
        self.lock().behaviour.take()
    }

    /// Is the committer to end?
    pub(super) fn is_ending(&self) -> bool {
        self.lock().ending
    }

    /// Tells the committer to end when nothing is left.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.ending = true;
        self.ends.notify_all();
        self.notify(state);
    }
}

impl State {
    /// Is there something (true), or is the committer to end (false)? `None` if neither.
    fn look(&mut self) -> Option<bool> {
        let is_woken = std::mem::take(&mut self.is_woken);
        if is_woken || !self.updates.is_empty() || !self.barriers.is_empty() || self.times_wait {
            return Some(true);
        }
        self.ending.then_some(false)
    }
}

impl Journal for Queue {
    fn submit(&self, updates: Updates) {
        let mut state = self.lock();
        if let Some((code, text)) = state.refusal.clone() {
            drop(state);
            return updates.refuse(code, &text);
        }
        state.updates.push(updates);
        self.notify(state);
    }

    fn times_wait(&self) {
        let mut state = self.lock();
        state.times_wait = true;
        self.notify(state);
    }

    fn barrier(&self) -> Option<Arc<Barrier>> {
        let barrier = Arc::<Barrier>::default();
        let mut state = self.lock();
        if state.refusal.is_some() {
            drop(state);
            // Nobody asks the log any more.
            barrier.fail(&mut Waking::default());
            return Some(barrier);
        }
        state.barriers.push(Arc::clone(&barrier));
        self.notify(state);
        Some(barrier)
    }

    fn holds_lease(&self, now_ns: u64) -> bool {
        self.lease.get().is_some_and(|lease| lease.holds(now_ns)) && !self.is_wrong.load(Ordering::Acquire)
    }

    fn is_prompt(&self, now_ns: u64) -> bool {
        self.status.is_prompt(now_ns / 1_000_000)
    }

    fn leads(&self) -> bool {
        self.status.leads()
    }

    fn metrics(&self) -> Metrics {
        self.status.metrics()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::task;
    use std::future::poll_fn;

    /// What a committer that is a task is answered when it waits, while `beside` runs on another thread.
    fn waits(queue: &Queue, beside: impl FnOnce() + Send) -> bool {
        let filled = || task::block_on(poll_fn(|cx| queue.poll_filled(cx))).expect("there is an event loop");
        task::run_beside(beside, filled)
    }

    #[test]
    fn a_committer_that_is_a_task_is_woken_and_ends() {
        let queue = Queue::default();
        let is_waiting = || queue.lock().committer.is_some();
        let wake_late = || {
            while !is_waiting() {
                std::thread::yield_now();
            }
            queue.wake();
        };
        assert!(waits(&queue, wake_late), "something came while it waited");
        queue.wake();
        assert!(waits(&queue, || ()), "something had come before");
        assert!(!is_waiting());
        queue.times_wait();
        assert!(waits(&queue, || ()), "times wait, and still do");
        queue.drain(&mut VecDeque::new(), &mut Vec::new());
        assert!(!waits(&queue, || queue.end()), "it is to end, and nothing is left");
    }

    #[test]
    fn one_that_waits_no_more_is_not_woken() {
        let queue = Queue::default();
        let waited = task::block_on(task::timeout_ms(1, poll_fn(|cx| queue.poll_filled(cx))));
        assert!(waited.expect("there is an event loop").is_none());
        queue.give_up();
        // A thread may wait now: the task before is forgotten.
        assert!(queue.wait(Some(Duration::from_millis(1))));
    }
    #[test]
    fn a_lease_ends_where_the_directory_is_wrong() {
        let (queue, lease) = (Queue::default(), Arc::new(Lease::default()));
        queue.read_by(Arc::clone(&lease));
        lease.set(100);
        assert!(queue.holds_lease(99));
        queue.end_lease();
        lease.set(200);
        assert!(!queue.holds_lease(99));
    }
}
