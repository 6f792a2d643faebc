//! Where the syncs of one of several replicas run: in the committer's own thread, which costs least, or in one beside it while the disk is
//! slow. Then heartbeats, barriers and what others have on their disks do not wait for the own disk.

use super::Queue;
use env::clock::{Clock as _, SystemClock};
use env::task::{self, PlainThread};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use wal::{SyncDone, SyncJob};

/// Microseconds of a sync, on average, from which on syncs run in a thread of their own, and below which they do no more.
const SLOW_US: u64 = 2_000;
const FAST_US: u64 = 1_000;
/// The average is of about so many.
const MEAN_OF: u64 = 8;

/// A sync that has ended, and the microseconds that it took.
pub(super) type Ended = (SyncDone, u64);

/// See the module.
pub(super) struct Syncs {
    clock: SystemClock,
    /// Who is woken when a sync beside has ended.
    queue: Arc<Queue>,
    pace: Pace,
    beside: Option<Beside>,
}

/// Whether the disk is slow.
#[derive(Debug, Default)]
struct Pace {
    mean_us: u64,
    is_slow: bool,
}

impl Pace {
    fn note(&mut self, us: u64) {
        self.mean_us = self.mean_us - self.mean_us / MEAN_OF + us / MEAN_OF;
        self.is_slow = self.mean_us >= if self.is_slow { FAST_US } else { SLOW_US };
    }
}

/// The thread.
struct Beside {
    shared: Arc<Shared>,
    thread: Option<PlainThread>,
    /// A sync was given to it, whose end was not taken.
    is_busy: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    job: Option<SyncJob>,
    ended: Option<Ended>,
    is_over: bool,
    /// The thread has panicked: nothing ends any more.
    has_panicked: bool,
}

/// What the thread leaves when it ends by a panic.
struct OnPanic<'a>(&'a Shared, &'a Queue);

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        if task::is_panicking() {
            self.0.lock().has_panicked = true;
            self.0.changed.notify_all();
            self.1.wake();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, condition: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let waited = self.changed.wait_while(self.lock(), |state| condition(state));
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, clock: &SystemClock, queue: &Queue) {
        let _on_panic = OnPanic(self, queue);
        loop {
            let job = self.wait_while(|state| state.job.is_none() && !state.is_over).job.take();
            let Some(job) = job else { return };
            let ended = run(job, clock);
            self.lock().ended = Some(ended);
            self.changed.notify_all();
            queue.wake();
        }
    }
}

impl Syncs {
    pub(super) fn new(clock: SystemClock, queue: Arc<Queue>) -> Syncs {
        Syncs { clock, queue, pace: Pace::default(), beside: None }
    }

    /// Runs a sync here, and returns its end; or gives it to the other thread.
    pub(super) fn run(&mut self, job: SyncJob) -> Option<Ended> {
        if self.pace.is_slow
            && let Some(beside) = self.beside()
        {
            assert!(!beside.is_busy, "one sync at a time");
            beside.is_busy = true;
            beside.shared.lock().job = Some(job);
            beside.shared.changed.notify_all();
            return None;
        }
        let ended = run(job, &self.clock);
        self.pace.note(ended.1);
        Some(ended)
    }

    /// The thread, which begins with the first sync for it. `None` if it cannot be started: then all goes on as before.
    fn beside(&mut self) -> Option<&mut Beside> {
        if self.beside.is_none() {
            let shared = Arc::<Shared>::default();
            let (of_thread, clock, queue) = (Arc::clone(&shared), self.clock, Arc::clone(&self.queue));
            let thread = PlainThread::spawn("log-sync", move || of_thread.serve(&clock, &queue));
            let thread =
                thread.inspect_err(|error| tracing::warn!(%error, "a thread for syncs cannot start"));
            self.beside = Some(Beside { shared, thread: thread.ok(), is_busy: false });
        }
        self.beside.as_mut().filter(|beside| beside.thread.is_some())
    }

    /// The end of the sync that the other thread had, if it has ended.
    ///
    /// # Panics
    /// If that thread has.
    pub(super) fn take_ended(&mut self) -> Option<Ended> {
        let beside = self.beside.as_mut().filter(|beside| beside.is_busy)?;
        let (ended, has_panicked) = {
            let mut state = beside.shared.lock();
            (state.ended.take(), state.has_panicked)
        };
        assert!(!has_panicked, "the thread that syncs the log has panicked");
        let ended = ended?;
        beside.is_busy = false;
        self.pace.note(ended.1);
        Some(ended)
    }

    /// The same, which is waited for. `None` if it has none.
    ///
    /// # Panics
    /// If that thread has.
    pub(super) fn wait_ended(&mut self) -> Option<Ended> {
        let beside = self.beside.as_mut().filter(|beside| beside.is_busy)?;
        drop(beside.shared.wait_while(|state| state.ended.is_none() && !state.has_panicked));
        self.take_ended()
    }
}

impl Drop for Syncs {
    fn drop(&mut self) {
        let Some(beside) = &mut self.beside else { return };
        beside.shared.lock().is_over = true;
        beside.shared.changed.notify_all();
        // A thread that has panicked has reported it.
        let _ = beside.thread.take().map(PlainThread::join);
    }
}

fn run(job: SyncJob, clock: &SystemClock) -> Ended {
    let begun_ns = clock.monotonic_ns();
    let done = job.run();
    (done, (clock.monotonic_ns() - begun_ns) / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Who waits for a sync, and who only looks for it, goes on.
    #[test]
    fn a_panic_of_the_thread_beside_is_one_of_the_committer() {
        let queue = Arc::<Queue>::default();
        let shared = Arc::<Shared>::default();
        let (of_thread, woken) = (Arc::clone(&shared), Arc::clone(&queue));
        let thread = PlainThread::spawn("log-sync", move || {
            let _on_panic = OnPanic(&of_thread, &woken);
            panic!("a fault of the thread");
        });
        let beside = Beside { shared, thread: thread.ok(), is_busy: true };
        let mut syncs = Syncs::new(SystemClock::start(), Arc::clone(&queue));
        syncs.beside = Some(beside);
        assert!(queue.wait(None), "the committer is woken");
        assert!(catch_unwind(AssertUnwindSafe(|| syncs.take_ended())).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| syncs.wait_ended())).is_err());
    }

    #[test]
    fn one_late_sync_of_a_fast_disk_changes_nothing_and_a_slow_disk_is_known_at_once() {
        let mut pace = Pace::default();
        let mut note = |all: &[u64]| {
            all.iter().for_each(|us| pace.note(*us));
            pace.is_slow
        };
        assert!(!note(&[150; 100]) && !note(&[8_000]) && !note(&[150; 100]));
        assert!(note(&[200_000]) && note(&[200_000; 9]));
        assert!(note(&[150; 20]) && !note(&[150; 40]), "it is fast again after some");
        assert!(note(&[2_500; 30]) && note(&[1_500; 90]) && !note(&[900; 90]));
    }
}
