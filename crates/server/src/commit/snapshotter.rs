//! Writes snapshots on a thread of its own, one at a time, while updates and searches go on.

use super::{Status, Taken};
use crate::data::snapshot::Keeper;
use env::clock::{Clock, SystemClock};
use env::task::PlainThread;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use wal::{Index, Log};

/// Until a release of log files that failed is tried again.
const RELEASE_RETRY: Duration = Duration::from_secs(1);

/// Where checkpoints go to be written. Its thread ends, when all are written, after this was dropped.
pub(super) struct Snapshotter {
    taken: Sender<Taken>,
    is_busy: Arc<AtomicBool>,
}

/// What the thread works with.
struct Work {
    snapshots: Keeper,
    log: Arc<Log>,
    status: Arc<Status>,
    clock: SystemClock,
    is_busy: Arc<AtomicBool>,
    /// What the last snapshot holds, as long as the log is not released up to there.
    unreleased: Option<Index>,
}

impl Snapshotter {
    /// Starts the thread.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start(
        snapshots: Keeper,
        log: Arc<Log>,
        status: Arc<Status>,
        clock: SystemClock,
    ) -> io::Result<(Snapshotter, PlainThread)> {
        let (taken, receiver) = channel();
        let is_busy = Arc::new(AtomicBool::new(false));
        let work = Work { snapshots, log, status, clock, is_busy: Arc::clone(&is_busy), unreleased: None };
        let thread = PlainThread::spawn("snapshots", move || work.run(receiver))?;
        Ok((Snapshotter { taken, is_busy }, thread))
    }

    /// Is one being written?
    pub(super) fn is_busy(&self) -> bool {
        self.is_busy.load(Ordering::Acquire)
    }

    /// Has a checkpoint written.
    pub(super) fn take(&self, taken: Taken) {
        self.is_busy.store(true, Ordering::Release);
        // Without its thread nothing is written: the log keeps it all.
        let _ = self.taken.send(taken);
    }
}

impl Work {
    fn run(mut self, receiver: Receiver<Taken>) {
        loop {
            // A release that failed is tried again: an archive that was away may be there again.
            let taken = match self.unreleased {
                Some(_) => receiver.recv_timeout(RELEASE_RETRY),
                None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match taken {
                Ok(taken) => {
                    self.write(taken);
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
        let Some(index) = self.unreleased else { return };
        let status = &self.status;
        match self.snapshots.release(&self.log, index, &mut |last| status.on_archived(last)) {
            Ok(()) => {
                self.unreleased = None;
                self.status.on_released(None);
            }
            Err(error) => {
                let text = error.to_string();
                if self.status.on_released(Some(&text)) {
                    tracing::warn!(
                        "log files stay, though a snapshot replaces them, until this is mended: {text}"
                    );
                }
            }
        }
    }

    fn write(&mut self, (checkpoint, index): Taken) {
        if self.snapshots.latest().is_some_and(|last| last.index == index) {
            return;
        }
        let begun_ns = self.clock.monotonic_ns();
        match self.snapshots.write(checkpoint, index) {
            Ok(written) => {
                self.status.on_snapshot(index, self.clock.wall_ms());
                let ms = (self.clock.monotonic_ns() - begun_ns) / 1_000_000;
                let (bytes, segments, kept) = (written.bytes, written.segments, written.kept);
                tracing::info!(record = index.0, bytes, segments, kept, ms, "snapshot");
                self.unreleased = Some(index);
            }
            Err(error) => tracing::warn!(%error, "no snapshot; the log keeps all since the last"),
        }
    }
}
