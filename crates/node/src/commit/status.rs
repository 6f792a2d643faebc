//! How log and snapshots fare, for the one that looks.

use dsa::journal::Metrics;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use wal::{Index, Log, Mode};

/// For so long after a question that was answered it is likely that a majority is there.
const PROMPT_MS: u64 = 500;

/// See the module.
#[derive(Debug, Default)]
pub struct Status {
    log: OnceLock<Arc<Log>>,
    applied: AtomicU64,
    /// See [`Metrics::current_ms`]: that and one, or 0.
    current_ms: AtomicU64,
    snapshot: AtomicU64,
    snapshot_ms: AtomicU64,
    archives: AtomicBool,
    archived: AtomicU64,
    unreleased: Mutex<Option<String>>,
    barriers: AtomicU64,
    updates_waiting: AtomicU64,
    updates_sent: AtomicU64,
    behaviour: AtomicU32,
    leads: AtomicBool,
}

impl Status {
    /// The log.
    pub(super) fn begin(&self, log: &Arc<Log>) {
        let _ = self.log.set(Arc::clone(log));
    }

    pub(super) fn on_applied(&self, index: Index) {
        assert!(self.applied.load(Ordering::Relaxed) <= index.0, "what is applied stays so");
        self.applied.store(index.0, Ordering::Relaxed);
    }

    /// The last record that was applied.
    pub fn applied(&self) -> Index {
        Index(self.applied.load(Ordering::Relaxed))
    }

    /// Updates are applied by this version of the behaviour.
    pub(super) fn on_behaviour(&self, behaviour: u32) {
        self.behaviour.store(behaviour, Ordering::Relaxed);
    }

    /// The version of the behaviour by which updates are applied; 0 before there is a committer.
    pub fn behaviour(&self) -> u32 {
        self.behaviour.load(Ordering::Relaxed)
    }

    /// This replica leads, or does not any more.
    pub(super) fn on_leading(&self, leads: bool) {
        self.leads.store(leads, Ordering::Relaxed);
    }

    /// Does it lead, as the committer knew at its last step?
    pub(super) fn leads(&self) -> bool {
        self.leads.load(Ordering::Relaxed)
    }

    /// See [`Metrics::current_ms`].
    pub(super) fn on_current(&self, current_ms: Option<u64>) {
        self.current_ms.store(current_ms.map_or(0, |ms| ms + 1), Ordering::Relaxed);
    }

    /// So many sessions wait for a barrier.
    pub(super) fn on_barriers(&self, count: usize) {
        self.barriers.store(count as u64, Ordering::Relaxed);
    }

    /// So many submissions wait for a leader, or were sent to it.
    pub(super) fn on_forwarded(&self, [waiting, sent]: [usize; 2]) {
        self.updates_waiting.store(waiting as u64, Ordering::Relaxed);
        self.updates_sent.store(sent as u64, Ordering::Relaxed);
    }

    /// Was a question after the end of the log answered lately, and does nothing wait for a leader? See [`dsa::journal::Journal::is_prompt`].
    pub(super) fn is_prompt(&self, now_ms: u64) -> bool {
        let current_ms = self.current_ms.load(Ordering::Relaxed);
        current_ms + PROMPT_MS > now_ms && current_ms > 0 && self.updates_waiting.load(Ordering::Relaxed) == 0
    }

    /// There is a snapshot up to `index`, made at `wall_ms`; 0 if that was before the start.
    pub fn on_snapshot(&self, index: Index, wall_ms: u64) {
        assert!(self.snapshot.load(Ordering::Relaxed) <= index.0, "a snapshot is not older than the last");
        self.snapshot.store(index.0, Ordering::Relaxed);
        self.snapshot_ms.store(wall_ms, Ordering::Relaxed);
    }

    /// The last snapshot.
    pub(super) fn snapshot(&self) -> Index {
        Index(self.snapshot.load(Ordering::Relaxed))
    }

    /// Files of the log are copied to an archive.
    pub(super) fn on_archive(&self) {
        self.archives.store(true, Ordering::Relaxed);
    }

    /// The archive has the log up to `index`.
    pub(super) fn on_archived(&self, index: Index) {
        self.archived.store(index.0, Ordering::Relaxed);
    }

    /// The log was released, or why not. True when that is another reason than the last.
    pub(super) fn on_released(&self, failed: Option<&str>) -> bool {
        let mut last = self.unreleased.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = last.as_deref() != failed;
        *last = failed.map(str::to_owned);
        is_new
    }

    /// How the archive fares, in words.
    fn archive(&self) -> String {
        match &*self.unreleased.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(failed) => format!("log files cannot be released: {failed}"),
            None if self.archives.load(Ordering::Relaxed) => "on".to_owned(),
            None => "off".to_owned(),
        }
    }

    pub(super) fn metrics(&self) -> Metrics {
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let log = self.log.get();
        Metrics {
            mode: log.map_or(String::new(), |log| mode(log.mode())),
            safe: log.map_or(0, |log| log.safe().0),
            synced: log.map_or(0, |log| log.synced().0),
            applied: of(&self.applied),
            current_ms: of(&self.current_ms).checked_sub(1),
            log_bytes: log.map_or(0, |log| log.live_bytes()),
            archive: self.archive(),
            archived: of(&self.archived),
            snapshot: of(&self.snapshot),
            snapshot_ms: of(&self.snapshot_ms),
            barriers: of(&self.barriers),
            updates_waiting: of(&self.updates_waiting),
            updates_sent: of(&self.updates_sent),
        }
    }
}

/// A mode as it is configured.
fn mode(mode: Mode) -> String {
    match mode {
        Mode::Always => "always".to_owned(),
        Mode::Interval { ms } => format!("interval={ms}"),
        Mode::None => "none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_submitted_is_logged_soon_where_a_majority_was_heard_lately_and_nothing_waits() {
        let status = Status::default();
        assert!(!status.is_prompt(7), "nothing was ever asked");
        status.on_current(Some(1_000));
        assert_eq!([1_000, 1_500, 1_501].map(|now_ms| status.is_prompt(now_ms)), [true, true, false]);
        status.on_forwarded([1, 0]);
        assert!(!status.is_prompt(1_000), "others wait for a leader");
        status.on_forwarded([0, 1]);
        assert!(status.is_prompt(1_000));
    }
}
