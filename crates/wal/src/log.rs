//! The log as its appenders see it.

use crate::error::{Poisoned, Refused};
use crate::faults;
use crate::files::{Preparation, Prepared, Role, path};
use crate::format::{BLOCK_HEADER_BYTES, FileHeader, Kind, RECORD_HEADER_BYTES};
use crate::place::Index;
use crate::settings::{Mode, Settings};
use crate::state::{Full, Health, State};
use env::disk::{Disk, SECTOR};
use env::entropy::Entropy as _;
use env::planted;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// Full files that the system may keep in memory, the newest ones: a start after the process was killed reads them. Those
/// before them would take new memory for each new file, which costs more than all else that is done to prepare it.
const CACHED_FILES: u32 = 2;

/// Until a file is tried again after the disk refused one.
const FILES_RETRY: Duration = Duration::from_millis(500);

/// A log that is open: many threads append, one [`crate::Writer`] writes.
#[derive(Debug)]
pub struct Log {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) dir: PathBuf,
    pub(crate) settings: Settings,
    state: Mutex<State>,
    /// Of the writer's thread.
    work: Condvar,
    /// Of the thread that prepares files.
    files: Condvar,
    safe: AtomicU64,
    synced: AtomicU64,
}

impl Log {
    pub(crate) fn new(disk: Arc<dyn Disk>, dir: PathBuf, settings: Settings, state: State) -> Log {
        assert!(state.filling.first.0 > 0, "records are counted from 1");
        assert!(
            state.full.back().is_none_or(|full| full.last < state.filling.first),
            "the next record comes after those of full files"
        );
        let last = state.filling.first.0 - 1;
        Log {
            disk,
            dir,
            settings,
            state: Mutex::new(state),
            work: Condvar::new(),
            files: Condvar::new(),
            safe: AtomicU64::new(last),
            synced: AtomicU64::new(last),
        }
    }

    /// # Panics
    /// When a holder panicked: a record may be half written, so nothing may follow it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of the log's lock panicked")
    }

    /// Takes the lock for several records: they become durable together or not at all, and nobody's come between.
    pub fn batch(&self) -> Batch<'_> {
        Batch { log: self, state: self.lock(), appended: false }
    }

    /// Appends one record, its payload written by `encode` to the end of the buffer it is given.
    ///
    /// # Errors
    /// See [`Refused`]; nothing is in the log then.
    pub fn append(&self, kind: Kind, encode: impl FnOnce(&mut Vec<u8>)) -> Result<Index, Refused> {
        self.batch().append(kind, encode)
    }

    /// Index of the last record that is as safe as the mode promises: it may be acknowledged.
    pub fn safe(&self) -> Index {
        Index(self.safe.load(Ordering::Acquire))
    }

    /// Index of the last record that outlives power loss, whatever the mode. A snapshot may say that it contains
    /// everything up to here, not beyond.
    pub fn synced(&self) -> Index {
        Index(self.synced.load(Ordering::Acquire))
    }

    pub(crate) fn set_safe(&self, index: Index) {
        assert!(self.safe() <= index, "what is safe stays so");
        self.safe.store(index.0, Ordering::Release);
    }

    pub(crate) fn set_synced(&self, index: Index) {
        let is_planted = planted::is(faults::ANSWERED_BEFORE_SYNC);
        assert!(self.synced() <= index || is_planted, "what is synced stays so");
        self.synced.store(index.0, Ordering::Release);
    }

    /// When a record counts as safe.
    pub fn mode(&self) -> Mode {
        self.settings.mode
    }

    /// Bytes of a file that is made now.
    pub fn file_bytes(&self) -> u32 {
        self.settings.file_bytes
    }

    /// Bytes that wait to be written.
    pub fn waiting_bytes(&self) -> usize {
        self.lock().filling.bytes.len()
    }

    /// Bytes that the payload of a record may have: it is alone in its block then.
    pub fn payload_bytes_max(&self) -> usize {
        let block = self.settings.waiting_bytes_max / SECTOR * SECTOR;
        (block - BLOCK_HEADER_BYTES - RECORD_HEADER_BYTES) / 8 * 8
    }

    /// Bytes that blocks may take in the files that are there, besides what waits to be written.
    pub fn room(&self) -> usize {
        self.lock().room()
    }

    /// Bytes of the files that hold records: what a release could free, and what a start has to read.
    pub fn live_bytes(&self) -> u64 {
        let state = self.lock();
        let full: u64 = state.full.iter().map(|file| u64::from(file.bytes)).sum();
        full + u64::from(state.offset)
    }

    /// Why nothing is appended any more.
    pub fn poisoned(&self) -> Option<Poisoned> {
        match &self.lock().health {
            Health::Poisoned(poisoned) => Some(poisoned.clone()),
            _ => None,
        }
    }

    /// Why no file can be prepared, if that is so.
    pub fn no_space(&self) -> Option<Arc<str>> {
        self.lock().no_space.clone()
    }

    /// Ends it for ever: later appends are refused with `error`, which is returned.
    pub(crate) fn poison(&self, error: &io::Error) -> Poisoned {
        let mut state = self.lock();
        if let Health::Poisoned(first) = &state.health {
            return first.clone();
        }
        let poisoned = Poisoned(error.to_string().into());
        state.health = Health::Poisoned(poisoned.clone());
        poisoned
    }

    /// The next file to be prepared, when fewer are ready than should be. The one that gets it runs it and reports with
    /// [`Log::prepared`]; until then there is none for others.
    pub fn wanted(&self) -> Option<Preparation> {
        let mut state = self.lock();
        let wanted = state.ready.len() < self.settings.ready_files && matches!(state.health, Health::Good);
        if !wanted || state.preparing {
            return None;
        }
        state.preparing = true;
        let epoch = state.entropy.next_u64();
        let header = FileHeader::new(state.next_number(), epoch, self.settings.file_bytes);
        let (spare, cold) = (state.spares.pop(), state.current.number().checked_sub(CACHED_FILES + 1));
        Some(Preparation { disk: self.disk.clone(), dir: self.dir.clone(), header, spare, cold })
    }

    /// Prepares files ahead of their use until the log is stopped or fails: the work of a thread of its own.
    pub fn keep_files_ready(&self) {
        let mut timeout = None;
        while self.wait_for_files(timeout) {
            let Some(preparation) = self.wanted() else {
                timeout = None;
                continue;
            };
            let outcome = preparation.run();
            timeout = outcome.is_err().then_some(FILES_RETRY);
            self.prepared(outcome);
        }
    }

    /// Takes the outcome of [`Preparation::run`]. After a failure appends are refused once the current file is full, and
    /// taken again after a preparation that succeeds.
    pub fn prepared(&self, outcome: io::Result<Prepared>) {
        let mut state = self.lock();
        assert!(state.preparing, "a preparation was handed out");
        state.preparing = false;
        state.room_changed = true;
        self.work.notify_one();
        match outcome {
            Ok(Prepared(file)) => {
                assert!(
                    file.number() == state.next_number(),
                    "files are made ready in the order of their numbers"
                );
                assert!(file.header.bytes == self.settings.file_bytes, "a new file has the size that is set");
                state.no_space = None;
                state.ready.push_back(file);
                // The one preparation at a time began when there were fewer, and since then files were only used.
                assert!(
                    state.ready.len() <= self.settings.ready_files,
                    "no more files are prepared than wanted"
                );
            }
            Err(error) => state.no_space = Some(error.to_string().into()),
        }
    }

    /// Frees the files whose records all have an index up to `up_to`, because a snapshot that is durable holds what they
    /// did, and after which a record is synced. They are kept for use again, or removed when there are enough. Returns how many were freed.
    /// Each file is first shown to `before`, which keeps what it wants of it. An error of that ends the release, and the file stays.
    ///
    /// # Errors
    /// What the disk says, or `before`. Files that were not freed are freed by the next release, or after the next start.
    pub fn release(
        &self,
        up_to: Index,
        before: &mut dyn FnMut(&Path) -> io::Result<()>,
    ) -> io::Result<usize> {
        let mut freed = 0;
        loop {
            let (file, keep) = {
                let state = self.lock();
                // Some file keeps a durable record: a log without any is one whose files were taken away.
                let is_free = |file: &Full| file.last <= up_to && file.last < self.synced();
                let Some(file) = state.full.front().copied().filter(is_free) else { break };
                let fits = file.bytes == self.settings.file_bytes;
                (file, fits && state.spares.len() < self.settings.spare_files_max)
            };
            let old = path(&self.dir, file.number, Role::Log);
            before(&old)?;
            if keep {
                self.disk.rename(&old, &path(&self.dir, file.number, Role::Spare))?;
            } else {
                self.disk.remove(&old)?;
            }
            // One at a time, so that no crash leaves a gap between those that are there. A spare is used only when a crash
            // cannot bring its old name back: that of a file which its header would not fit.
            let synced = self.disk.sync_dir(&self.dir);
            let mut state = self.lock();
            let gone = state.full.pop_front();
            assert!(gone.is_some_and(|gone| gone.number == file.number), "one release at a time");
            assert!(
                state.full.front().is_none_or(|next| next.number == file.number + 1),
                "a release leaves no gap between the files of a log"
            );
            synced?;
            state.spares.extend(keep.then_some(file.number));
            assert!(
                state.spares.len() <= self.settings.spare_files_max,
                "no more spares are kept than may be"
            );
            freed += 1;
        }
        Ok(freed)
    }

    /// Tells the threads to end when everything is written.
    pub fn stop(&self) {
        self.lock().stopping = true;
        self.work.notify_all();
        self.files.notify_all();
    }

    /// Waits until the writer has something to do, `timeout` at most. False when it should end.
    pub(crate) fn wait_for_work(&self, timeout: Option<Duration>) -> bool {
        let mut state = self.lock();
        if state.filling.records > 0 || state.room_changed {
            return true;
        }
        if state.stopping {
            return false;
        }
        assert!(!state.writer_waits, "a log has one writer");
        state.writer_waits = true;
        let mut state = match timeout {
            Some(timeout) => self.work.wait_timeout(state, timeout).expect("no holder panicked").0,
            None => self.work.wait(state).expect("no holder panicked"),
        };
        state.writer_waits = false;
        true
    }

    /// Whether the outcome of a preparation is to be reported; says so once.
    pub(crate) fn room_changed(&self) -> bool {
        std::mem::take(&mut self.lock().room_changed)
    }

    /// Waits until a file may be wanted, `timeout` at most. False when nobody will want one.
    pub(crate) fn wait_for_files(&self, timeout: Option<Duration>) -> bool {
        let state = self.lock();
        let ends = |state: &State| state.stopping || !matches!(state.health, Health::Good);
        if ends(&state) {
            return false;
        }
        if timeout.is_none() && state.ready.len() < self.settings.ready_files {
            return true;
        }
        let state = match timeout {
            Some(timeout) => self.files.wait_timeout(state, timeout).expect("no holder panicked").0,
            None => self.files.wait(state).expect("no holder panicked"),
        };
        !ends(&state)
    }

    /// Wakes the thread that prepares files.
    pub(crate) fn wake_files(&self) {
        self.files.notify_one();
    }
}

/// The log's lock, held for several records.
#[derive(Debug)]
pub struct Batch<'a> {
    log: &'a Log,
    state: MutexGuard<'a, State>,
    appended: bool,
}

impl Batch<'_> {
    /// Appends a record; see [`Log::append`].
    ///
    /// # Errors
    /// See [`Refused`]; the records before it stay.
    pub fn append(&mut self, kind: Kind, encode: impl FnOnce(&mut Vec<u8>)) -> Result<Index, Refused> {
        let index = self.state.append(kind, encode)?;
        self.appended = true;
        Ok(index)
    }

    /// The index that the next record gets.
    pub fn next_index(&self) -> Index {
        self.state.filling.next()
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        // Waking costs a system call, so only a writer that sleeps is woken.
        if self.appended && self.state.writer_waits {
            self.log.work.notify_one();
        }
    }
}
