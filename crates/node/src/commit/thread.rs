//! A committer that runs, one thread that prepares log files ahead of their use, and one that writes snapshots; for a replica one that
//! looks whether the committer stands still.
//!
//! The committer of a server by itself has a thread of its own, which waits for the disk. That of a replica is a task of the
//! thread that has the links to the others: what they send is taken, and what they are sent leaves, without a change of threads.
//! While its disk is slow, syncs have another one.

use super::snapshotter::Snapshotter;
use super::syncs::Syncs;
use super::watch::Watch;
use super::{Begun, Committer, Failed, Queue};
use crate::data::snapshot::SnapshotStore;
use env::clock::{Clock, SystemClock};
use env::task::{self, PlainThread};
use std::future::poll_fn;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use wal::{Log, Step};

/// Until it is looked again whether a log file is ready, when updates wait for one.
const ROOM_RETRY: Duration = Duration::from_millis(2);

/// Milliseconds in which a replica must have answered everything when it ends. What others send it meanwhile does not prolong that.
const ENDS_WITHIN_MS: u64 = 3_000;

/// Until it is looked again whether a snapshot is written, when the next is due.
const BUSY_RETRY_MS: u64 = 100;

/// See the module.
pub struct Thread {
    queue: Arc<Queue>,
    log: Arc<Log>,
    /// Says nothing, and ends when the committer has ended.
    committer: Receiver<()>,
    files: PlainThread,
    snapshots: PlainThread,
    /// That of a replica: others have the same directory, so nobody need wait for it.
    watch: Option<PlainThread>,
    outcome: Arc<Mutex<Option<Result<(), Failed>>>>,
}

/// Has another thread run a task.
pub type RunTask<'a> = &'a dyn Fn(task::Main) -> io::Result<()>;

impl Thread {
    /// Starts them; the committer as a task, if `run` is there. `on_failed` is called once if the log fails, when everything in
    /// progress was answered.
    ///
    /// # Errors
    /// When a thread or the task cannot be started.
    pub fn start(
        committer: Committer,
        snapshots: SnapshotStore,
        clock: SystemClock,
        run: Option<RunTask<'_>>,
        on_failed: impl FnOnce(&Failed) + Send + 'static,
    ) -> io::Result<Thread> {
        let (queue, log) = (Arc::clone(&committer.queue), Arc::clone(committer.log()));
        let outcome = Arc::new(Mutex::new(None));
        let status = Arc::clone(queue.status());
        if let Some(last) = snapshots.latest() {
            status.on_snapshot(last.index, 0);
        }
        if snapshots.archives() {
            status.on_archive();
        }
        let dsa = Arc::clone(committer.dsa());
        let watch = run.map(|_| Watch::start(Arc::clone(&queue), Arc::clone(&dsa), clock)).transpose()?;
        let (snapshotter, snapshots) = Snapshotter::start(snapshots, dsa, Arc::clone(&log), status, clock)?;
        let files = {
            let log = Arc::clone(&log);
            PlainThread::spawn("log-files", move || log.keep_files_ready())?
        };
        let (ends, ended) = channel();
        let mut ending = Ending {
            queue: Arc::clone(&queue),
            outcome: Arc::clone(&outcome),
            on_failed: Some(on_failed),
            _ends: ends,
        };
        let turns = Turns { committer, snapshotter, clock, ends_ms: None };
        match run {
            Some(run) => {
                run(Box::new(move || Box::pin(async move { ending.with(turns.run_as_task().await) })))?
            }
            None => _ = PlainThread::spawn("committer", move || ending.with(turns.run()))?,
        }
        Ok(Thread { queue, log, committer: ended, files, snapshots, watch, outcome })
    }

    /// Commits what came in, closes the log, writes a snapshot and ends the threads.
    ///
    /// # Errors
    /// The log failed, now or before; or a thread panicked.
    pub fn stop(self) -> io::Result<()> {
        self.queue.end();
        // Its end is an error of this, for nothing is ever said.
        let _ = self.committer.recv();
        self.log.stop();
        self.files.join()?;
        self.snapshots.join()?;
        self.watch.map_or(Ok(()), PlainThread::join)?;
        let outcome = self.outcome.lock().expect("nobody panics with it").take();
        outcome.expect("a committer that has ended leaves its outcome").map_err(io::Error::other)
    }
}

/// What is to be done when a committer ends, also by a panic, or before it has begun.
struct Ending<F: FnOnce(&Failed)> {
    queue: Arc<Queue>,
    outcome: Arc<Mutex<Option<Result<(), Failed>>>>,
    on_failed: Option<F>,
    /// Dropped last: see [`Thread::stop`].
    _ends: Sender<()>,
}

impl<F: FnOnce(&Failed)> Ending<F> {
    fn with(&mut self, ended: Result<(), Failed>) {
        let Some(on_failed) = self.on_failed.take() else { return };
        if let Err(failed) = &ended {
            on_failed(failed);
        }
        *self.outcome.lock().expect("nobody panics with it") = Some(ended);
    }
}

impl<F: FnOnce(&Failed)> Drop for Ending<F> {
    fn drop(&mut self) {
        if self.on_failed.is_some() {
            // A task is dropped with the thread that has it, too, as when something that starts after it fails.
            let failed = if task::is_panicking() { Failed::Panicked } else { Failed::Dropped };
            self.queue.refuse_all(&failed);
            self.with(Err(failed));
        }
    }
}

/// A committer and what is done between its steps.
struct Turns {
    committer: Committer,
    snapshotter: Snapshotter,
    clock: SystemClock,
    /// When it is to have ended, if it ends.
    ends_ms: Option<u64>,
}

/// What comes after a step.
enum Next {
    Step,
    /// Another step when there is something, or after this time.
    Wait(Option<Duration>),
    End,
}

impl Turns {
    fn run(mut self) -> Result<(), Failed> {
        let queue = Arc::clone(&self.committer.queue);
        loop {
            let step = match self.begin()? {
                Begun::Stepped(step) => step,
                Begun::Syncs(job) => self.committer.end_step(job.run())?,
            };
            let goes_on = match self.after(step)? {
                Next::Step => true,
                Next::Wait(timeout) => queue.wait(timeout),
                Next::End => false,
            };
            if !goes_on {
                return self.close();
            }
        }
    }

    async fn run_as_task(mut self) -> Result<(), Failed> {
        let queue = Arc::clone(&self.committer.queue);
        let mut syncs = Syncs::new(self.clock, Arc::clone(&queue));
        loop {
            if let Some(ended) = syncs.take_ended() {
                self.committer.end_step_after(ended)?;
                // The next sync begins at once, and no snapshot can be made during one.
                self.take_snapshot()?;
            }
            let step = match self.begin()? {
                Begun::Stepped(step) => step,
                Begun::Syncs(job) => {
                    // What others are to sync leaves first, so that they do it meanwhile.
                    task::yield_now().await;
                    match syncs.run(job) {
                        Some(ended) => self.committer.end_step_after(ended)?,
                        None => Step::Moved,
                    }
                }
            };
            let goes_on = match self.after(step)? {
                Next::Step => {
                    task::yield_now().await;
                    true
                }
                Next::Wait(timeout) => wait(&queue, timeout).await,
                Next::End => false,
            };
            if !goes_on {
                if let Some(ended) = syncs.wait_ended() {
                    self.committer.end_step_after(ended)?;
                }
                return self.close();
            }
        }
    }

    fn now_ms(&self) -> u64 {
        self.clock.monotonic_ns() / 1_000_000
    }

    fn begin(&mut self) -> Result<Begun, Failed> {
        let (now_ms, clock) = (self.now_ms(), &self.clock);
        self.committer.begin_step(|| clock.wall_ms(), now_ms)
    }

    /// Begins a snapshot, if one is due, and says what comes then.
    fn after(&mut self, step: Step) -> Result<Next, Failed> {
        self.take_snapshot()?;
        if self.committer.queue.is_ending() {
            let now_ms = self.now_ms();
            let ends_ms = *self.ends_ms.get_or_insert(now_ms + ENDS_WITHIN_MS);
            if self.committer.is_settled() || now_ms >= ends_ms {
                return Ok(Next::End);
            }
        }
        let Step::Idle { due_ms } = step else { return Ok(Next::Step) };
        if self.committer.is_waiting_for_room() {
            return Ok(Next::Wait(Some(ROOM_RETRY)));
        }
        let now_ms = self.now_ms();
        let due_ms = [due_ms, self.snapshot_due_ms(now_ms)].into_iter().flatten().min();
        Ok(Next::Wait(due_ms.map(|due| Duration::from_millis(due.saturating_sub(now_ms).max(1)))))
    }

    /// Begins a snapshot, if one is due.
    fn take_snapshot(&mut self) -> Result<(), Failed> {
        let Turns { committer, snapshotter, .. } = self;
        if committer.is_checkpoint_due()
            && !snapshotter.is_busy()
            && let Some(taken) = committer.checkpoint()?
        {
            snapshotter.take(taken, committer.snapshot_after());
        }
        Ok(())
    }

    /// When it is to be looked whether a snapshot by time is due.
    fn snapshot_due_ms(&self, now_ms: u64) -> Option<u64> {
        let due = self.committer.checkpoint_due_ms()?;
        // One after the other.
        Some(if self.snapshotter.is_busy() { due.max(now_ms + BUSY_RETRY_MS) } else { due })
    }

    fn close(self) -> Result<(), Failed> {
        let now_ms = self.now_ms();
        // Nobody is served any more, and somebody waits for the end.
        self.snapshotter.expedite();
        if let Some(taken) = self.committer.close(self.clock.wall_ms(), now_ms)? {
            self.snapshotter.take(taken, 0);
        }
        Ok(())
    }
}

/// As [`Queue::wait`], without a thread that waits.
async fn wait(queue: &Queue, timeout: Option<Duration>) -> bool {
    let filled = poll_fn(|cx| queue.poll_filled(cx));
    let Some(timeout) = timeout else { return filled.await };
    let ms = timeout.as_millis() as u64;
    task::timeout_ms(ms, filled).await.unwrap_or_else(|| {
        queue.give_up();
        true
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsa::journal::Journal as _;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_committer_that_panics_or_is_dropped_is_a_failure_and_refuses_all() {
        for expected in [Failed::Panicked, Failed::Dropped] {
            ends_without_an_outcome(&expected);
        }
    }

    fn ends_without_an_outcome(expected: &Failed) {
        let (queue, outcome) = (Arc::<Queue>::default(), Arc::new(Mutex::new(None)));
        let (ends, ended) = channel();
        let (failed, reported) = channel();
        let ending = Ending {
            queue: Arc::clone(&queue),
            outcome: Arc::clone(&outcome),
            on_failed: Some(move |why: &Failed| failed.send(why.to_string()).expect("somebody hears it")),
            _ends: ends,
        };
        let ran = catch_unwind(AssertUnwindSafe(|| {
            let _ending = ending;
            assert!(matches!(expected, Failed::Dropped), "a fault of the committer");
        }));
        assert_eq!(ran.is_err(), matches!(expected, Failed::Panicked));
        assert!(ended.recv().is_err(), "it has ended");
        assert_eq!(reported.recv().expect("it was reported"), expected.to_string());
        let outcome = outcome.lock().unwrap().take().expect("there is one").expect_err("it failed");
        assert_eq!(outcome.to_string(), expected.to_string());
        let barrier = queue.barrier().expect("one is refused at once");
        assert_eq!(barrier.is_passed(), Some(false));
    }
}
