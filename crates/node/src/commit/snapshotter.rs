//! Writes snapshots on a thread of its own, one at a time and throttled, while updates and searches go on.

use super::pace::Pace;
use super::{Status, Taken};
use crate::data::snapshot::{Progress, SnapshotError, SnapshotStore, Step, Way, Written};
use dsa::Dsa;
use env::clock::{Clock, SystemClock};
use env::task::PlainThread;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use wal::{Index, Log};

/// Until a release of log files that failed is tried again.
const RELEASE_RETRY: Duration = Duration::from_secs(1);
/// How often it is looked, during a rest, whether it is time to go on.
const LOOK: Duration = Duration::from_millis(5);
/// From this share of the memory that adds may take on there are no pauses: what a snapshot holds is wanted.
const MEMORY_SHORT: (u64, u64) = (7, 8);

/// Where checkpoints go to be written. Its thread ends, when all are written, after this was dropped; from then on it takes
/// no pauses.
pub(super) struct Snapshotter {
    taken: Sender<(Taken, u64)>,
    is_busy: Arc<AtomicBool>,
    expedite: Arc<Expedite>,
}

/// Whether somebody waits for the end of it all.
#[derive(Default)]
struct Expedite {
    is_on: Mutex<bool>,
    notified: Condvar,
}

impl Expedite {
    fn begin(&self) {
        *self.is_on.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.notified.notify_all();
    }

    /// Waits for it, [`LOOK`] at most.
    fn wait(&self) -> bool {
        let is_on = self.is_on.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_on {
            return true;
        }
        *self.notified.wait_timeout(is_on, LOOK).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits for [`LOOK`], whether somebody waits or not.
    fn rest(&self) {
        let is_on = self.is_on.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.notified.wait_timeout(is_on, LOOK));
    }

    fn is_on(&self) -> bool {
        *self.is_on.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Snapshotter {
    fn drop(&mut self) {
        self.expedite();
    }
}

/// What the thread works with.
struct Work {
    snapshots: SnapshotStore,
    dsa: Arc<Dsa>,
    log: Arc<Log>,
    status: Arc<Status>,
    clock: SystemClock,
    is_busy: Arc<AtomicBool>,
    expedite: Arc<Expedite>,
    /// The last record of the files that the last snapshot replaces, as long as they are not released up to there.
    unreleased: Option<Index>,
}

impl Snapshotter {
    /// Starts the thread.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start(
        snapshots: SnapshotStore,
        dsa: Arc<Dsa>,
        log: Arc<Log>,
        status: Arc<Status>,
        clock: SystemClock,
    ) -> io::Result<(Snapshotter, PlainThread)> {
        let (taken, receiver) = channel();
        let (is_busy, expedite) = (Arc::new(AtomicBool::new(false)), Arc::new(Expedite::default()));
        let (busy, expedited) = (Arc::clone(&is_busy), Arc::clone(&expedite));
        let work =
            Work { snapshots, dsa, log, status, clock, is_busy: busy, expedite: expedited, unreleased: None };
        let thread = PlainThread::spawn("snapshots", move || work.run(receiver))?;
        Ok((Snapshotter { taken, is_busy, expedite }, thread))
    }

    /// Is one being written?
    pub(super) fn is_busy(&self) -> bool {
        self.is_busy.load(Ordering::Acquire)
    }

    /// Has a checkpoint written. The next is due after `log_bytes` more of log.
    pub(super) fn take(&self, taken: Taken, log_bytes: u64) {
        self.is_busy.store(true, Ordering::Release);
        // Without its thread nothing is written: the log keeps it all.
        let _ = self.taken.send((taken, log_bytes));
    }

    /// From now on it takes no pauses.
    pub(super) fn expedite(&self) {
        self.expedite.begin();
    }
}

impl Work {
    fn run(mut self, receiver: Receiver<(Taken, u64)>) {
        loop {
            // A release that failed is tried again: an archive that was away may be there again.
            let taken = match self.unreleased {
                Some(_) => receiver.recv_timeout(RELEASE_RETRY),
                None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match taken {
                Ok((taken, log_bytes)) => {
                    self.write(taken, log_bytes);
                    self.is_busy.store(false, Ordering::Release);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.release();
        }
    }

    /// Frees the files of the log that the last snapshot replaces.
    fn release(&mut self) {
        let Some(record) = self.unreleased else { return };
        let status = &self.status;
        match self.snapshots.release(&self.log, record, &mut |last| status.on_archived(last)) {
            Ok(()) => {
                self.unreleased = None;
                self.status.on_released(None);
            }
            Err(error) => {
                let text = error.to_string();
                if self.status.on_released(Some(&text)) {
                    tracing::warn!("log files cannot be released until this is fixed: {text}");
                }
            }
        }
    }

    /// Makes a checkpoint the last snapshot, frees what that replaces of the log, and removes the one before.
    fn write(&mut self, taken: Taken, log_bytes: u64) {
        let (index, record) = (taken.1, taken.0.mark.record);
        if self.snapshots.latest().is_some_and(|last| last.index == index) {
            return;
        }
        assert!(
            self.snapshots.latest().is_none_or(|last| last.index < index),
            "a checkpoint is newer than the last snapshot"
        );
        if !self.is_audited(index) {
            tracing::warn!(
                "no snapshot is made: the audit log cannot be written; the next start has the changes from the log"
            );
            return;
        }
        let begun_ns = self.clock.monotonic_ns();
        let pace = Pace::begin(begun_ns, self.log.live_bytes(), log_bytes);
        match self.write_at_pace(taken, &pace) {
            Ok(written) => {
                self.status.on_snapshot(index, self.clock.wall_ms());
                let ms = (self.clock.monotonic_ns() - begun_ns) / 1_000_000;
                let (bytes, segments, kept) = (written.bytes, written.segments, written.kept);
                tracing::info!(record = index.0, bytes, segments, kept, ms, "snapshot");
                assert!(
                    self.unreleased.is_none_or(|last| last <= record),
                    "what a snapshot holds only grows"
                );
                self.unreleased = Some(record);
                self.remove_others(log_bytes);
            }
            Err(error) => {
                tracing::warn!(%error, "no snapshot was made; the log keeps all changes since the last one")
            }
        }
    }

    /// Waits until the audit log has all that a snapshot is to hold: no replay reports it when there is the snapshot. `false` if it
    /// cannot be written, may have no gaps, and somebody waits for the end.
    fn is_audited(&self, index: Index) -> bool {
        let Some(trail) = self.dsa.trail() else { return true };
        while !trail.may_keep(index.0) {
            if self.expedite.is_on() && trail.is_failing() {
                return false;
            }
            self.expedite.rest();
        }
        true
    }

    /// Writes it a piece at a time, with pauses in between.
    fn write_at_pace(&mut self, (point, index): Taken, pace: &Pace) -> Result<Written, SnapshotError> {
        let way = if self.expedite.is_on() { Way::AtOnce } else { Way::Beside };
        let mut since_ns = self.clock.monotonic_ns();
        let mut step = self.snapshots.begin(point, index, way)?;
        loop {
            match step {
                Step::Written(written) => return Ok(written),
                Step::Goes(writing) => {
                    since_ns = self.pause(pace, writing.progress(), since_ns);
                    step = self.snapshots.go_on(writing)?;
                }
            }
        }
    }

    /// Frees files of the log first, for it may be waiting for them; then removes those of the snapshot before: a file
    /// system may be as busy with the space of removed files as with that of new ones.
    fn remove_others(&mut self, log_bytes: u64) {
        self.release();
        let mut since_ns = self.clock.monotonic_ns();
        let pace = Pace::begin(since_ns, self.log.live_bytes(), log_bytes / 4);
        self.snapshots
            .clear(&mut |written, total| since_ns = self.pause(&pace, Progress { written, total }, since_ns));
    }

    /// Pauses for what was done since `since_ns`. Returns when that is over.
    fn pause(&self, pace: &Pace, progress: Progress, since_ns: u64) -> u64 {
        let until_ns = pace.pause_until_ns(since_ns, self.clock.monotonic_ns());
        loop {
            let now_ns = self.clock.monotonic_ns();
            let is_over = now_ns >= until_ns || pace.is_late(progress, now_ns, self.log.live_bytes());
            if is_over || self.is_room_short() || self.expedite.wait() {
                return self.clock.monotonic_ns();
            }
        }
    }

    /// Is what the snapshot holds, or what the log may release after it, wanted?
    fn is_room_short(&self) -> bool {
        let (of, parts) = MEMORY_SHORT;
        let short = self.dsa.shard().memory_bytes_max() / parts * of;
        self.log.no_space().is_some() || self.dsa.shard().memory().total() > short
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::task;

    #[test]
    fn a_rest_ends_when_somebody_waits_and_there_are_none_after_it() {
        let expedite = Expedite::default();
        assert!(!expedite.is_on() && !expedite.wait(), "nobody waits yet");
        task::run_beside(|| expedite.begin(), || while !expedite.wait() {});
        assert!(expedite.is_on() && expedite.wait());
    }
}
