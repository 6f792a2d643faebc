//! The atomics of the store: loom's under `--cfg pando_loom`, so that its protocols can be model-checked, else the
//! standard library's.

#[cfg(pando_loom)]
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, AtomicU64};
#[cfg(pando_loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard};
#[cfg(not(pando_loom))]
pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, AtomicU64};
#[cfg(not(pando_loom))]
pub(crate) use std::sync::{Mutex, MutexGuard};

pub(crate) use std::sync::atomic::Ordering;

/// A long array of atomic words that are zero until written. Its address never changes, so a reader may keep a reference
/// while the writer takes more of it into use.
pub(crate) struct Words {
    #[cfg(not(pando_loom))]
    region: env::memory::Region,
    #[cfg(pando_loom)]
    words: Vec<AtomicU64>,
}

impl Words {
    /// Reserves `len` words; they take memory when touched. `huge` asks for huge pages.
    #[cfg(not(pando_loom))]
    pub(crate) fn reserve(len: usize, huge: bool) -> std::io::Result<Words> {
        let region = env::memory::Region::reserve(len * 8, huge)?;
        assert!(region.words().len() >= len, "a region has the words that were asked for");
        Ok(Words { region })
    }

    #[cfg(pando_loom)]
    pub(crate) fn reserve(len: usize, _huge: bool) -> std::io::Result<Words> {
        Ok(Words { words: (0..len).map(|_| AtomicU64::new(0)).collect() })
    }
}

/// A region and how many of its bytes are in use; `None` where memory is not reserved: under loom words lie in a vector, which has
/// no pages to prefault.
pub(crate) type Prefault<'r> = Option<(&'r env::memory::Region, usize)>;

impl Words {
    /// The region and how many of its bytes the first `len` words take.
    #[cfg(not(pando_loom))]
    pub(crate) fn growing(&self, len: usize) -> Prefault<'_> {
        assert!(len <= self.len(), "no more words are in use than are reserved");
        Some((&self.region, len * 8))
    }

    #[cfg(pando_loom)]
    pub(crate) fn growing(&self, _len: usize) -> Prefault<'_> {
        None
    }
}

impl std::ops::Deref for Words {
    type Target = [AtomicU64];

    #[cfg(not(pando_loom))]
    fn deref(&self) -> &[AtomicU64] {
        self.region.words()
    }

    #[cfg(pando_loom)]
    fn deref(&self) -> &[AtomicU64] {
        &self.words
    }
}

/// An atomic that is only used with sequential consistency: the slots of readers and the published sequence, between which a
/// store of one thread and its load of the other's place must not change places. loom keeps to that order among such stores, but does not
/// count the first value as one of them.
pub(crate) fn sequential(value: u64) -> AtomicU64 {
    let atomic = AtomicU64::new(value);
    #[cfg(pando_loom)]
    atomic.store(value, Ordering::SeqCst);
    atomic
}

/// A value alone on its cache lines, so that cores do not fight over neighbours. 128: the prefetcher takes pairs.
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

/// Asks for the cache line at `address`; a hint, true for any address.
#[inline(always)]
pub(crate) fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing that the program can see and never faults.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Takes a lock that is held for short: the list of free reader slots, or the writer's role for one batch. Its holder
/// cannot have left broken state behind: a panic inside the writer ends the process's
/// trust in the shard, so it is passed on.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("a writer panicked; the shard cannot be trusted")
}
