//! A committer on a thread of its own, one more that prepares log files ahead of their use, one that writes
//! snapshots, and one for the syncs of a replica whose disk is slow.

use super::snapshotter::Snapshotter;
use super::syncs::Syncs;
use super::{Begun, Committer, Failed, Queue};
use crate::data::snapshot::SnapshotStore;
use env::clock::{Clock, SystemClock};
use env::task::PlainThread;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use wal::{Log, Step};

/// Until it is looked again whether a log file is ready, when updates wait for one.
const ROOM_RETRY: Duration = Duration::from_millis(2);

/// Milliseconds in which a replica must have answered everything when it ends. What others send it meanwhile does not prolong that.
const ENDS_WITHIN_MS: u64 = 3_000;

/// Until it is looked again whether a snapshot is written, when the next is due.
const BUSY_RETRY_MS: u64 = 100;

/// The three threads.
pub struct Thread {
    queue: Arc<Queue>,
    log: Arc<Log>,
    committer: PlainThread,
    files: PlainThread,
    snapshots: PlainThread,
    outcome: Arc<Mutex<Option<Result<(), Failed>>>>,
}

impl Thread {
    /// Starts them. `on_failed` is called once if the log fails, when everything in progress was answered.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn start(
        committer: Committer,
        snapshots: SnapshotStore,
        clock: SystemClock,
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
        let (snapshotter, snapshots) = Snapshotter::start(snapshots, dsa, Arc::clone(&log), status, clock)?;
        let files = {
            let log = Arc::clone(&log);
            PlainThread::spawn("log-files", move || log.keep_files_ready())?
        };
        let committer = {
            let outcome = Arc::clone(&outcome);
            PlainThread::spawn("committer", move || {
                let queue = Arc::clone(&committer.queue);
                let ran = panic::catch_unwind(AssertUnwindSafe(|| run(committer, &snapshotter, &clock)));
                let ended = ran.unwrap_or_else(|_| {
                    queue.refuse_all(&Failed::Panicked);
                    Err(Failed::Panicked)
                });
                if let Err(failed) = &ended {
                    on_failed(failed);
                }
                *outcome.lock().expect("nobody panics with it") = Some(ended);
            })?
        };
        Ok(Thread { queue, log, committer, files, snapshots, outcome })
    }

    /// Commits what came in, closes the log, writes a snapshot and ends the threads.
    ///
    /// # Errors
    /// The log failed, now or before; or a thread panicked.
    pub fn stop(self) -> io::Result<()> {
        self.queue.end();
        self.committer.join()?;
        self.log.stop();
        self.files.join()?;
        self.snapshots.join()?;
        let outcome = self.outcome.lock().expect("its thread has ended").take();
        outcome.expect("a thread that did not panic leaves its outcome").map_err(io::Error::other)
    }
}

fn run(mut committer: Committer, snapshotter: &Snapshotter, clock: &SystemClock) -> Result<(), Failed> {
    let queue = Arc::clone(&committer.queue);
    let now_ms = || clock.monotonic_ns() / 1_000_000;
    // A server by itself has nothing to do while its disk has not what it is to answer.
    let mut syncs = committer.is_replica().then(|| Syncs::new(*clock, Arc::clone(&queue)));
    let mut ends_ms = None;
    loop {
        if let Some(ended) = syncs.as_mut().and_then(Syncs::take_ended) {
            committer.end_step_after(ended)?;
            // The next sync begins at once, and no snapshot can be made during one.
            take_snapshot(&mut committer, snapshotter)?;
        }
        let step = match (committer.begin_step(|| clock.wall_ms(), now_ms())?, &mut syncs) {
            (Begun::Stepped(step), _) => step,
            (Begun::Syncs(job), None) => committer.end_step(job.run())?,
            (Begun::Syncs(job), Some(syncs)) => match syncs.run(job) {
                Some(ended) => committer.end_step_after(ended)?,
                None => Step::Moved,
            },
        };
        take_snapshot(&mut committer, snapshotter)?;
        let mut is_over = false;
        if queue.is_ending() {
            let ends_ms = *ends_ms.get_or_insert(now_ms() + ENDS_WITHIN_MS);
            is_over = committer.is_settled() || now_ms() >= ends_ms;
        }
        if let Step::Idle { due_ms } = step
            && !is_over
        {
            let due_ms =
                [due_ms, snapshot_due_ms(&committer, snapshotter, now_ms())].into_iter().flatten().min();
            let timeout = due_ms.map(|due| Duration::from_millis(due.saturating_sub(now_ms()).max(1)));
            let timeout = if committer.is_waiting_for_room() { Some(ROOM_RETRY) } else { timeout };
            is_over = !queue.wait(timeout);
        }
        if is_over {
            // Nobody is served any more, and somebody waits for the end.
            snapshotter.expedite();
            if let Some(ended) = syncs.as_mut().and_then(Syncs::wait_ended) {
                committer.end_step_after(ended)?;
            }
            if let Some(taken) = committer.close(clock.wall_ms(), now_ms())? {
                snapshotter.take(taken, 0);
            }
            return Ok(());
        }
    }
}

/// Begins a snapshot, if one is due.
fn take_snapshot(committer: &mut Committer, snapshotter: &Snapshotter) -> Result<(), Failed> {
    if committer.is_checkpoint_due()
        && !snapshotter.is_busy()
        && let Some(taken) = committer.checkpoint()?
    {
        snapshotter.take(taken, committer.snapshot_after());
    }
    Ok(())
}

/// When it is to be looked whether a snapshot by time is due.
fn snapshot_due_ms(committer: &Committer, snapshotter: &Snapshotter, now_ms: u64) -> Option<u64> {
    let due = committer.checkpoint_due_ms()?;
    // One after the other.
    Some(if snapshotter.is_busy() { due.max(now_ms + BUSY_RETRY_MS) } else { due })
}
