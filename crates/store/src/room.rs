//! How much room a shard reserves: address space, not memory.

use crate::shard::{Settings, Shard};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of address space beyond what the memory limit asks for.
const SPARE_BYTES: usize = 64 << 20;

impl Settings {
    /// Address space of the heap, which has room for [`Settings::bytes_reserved`]. What is logged is applied though it goes over the limit, so nothing but the machine bounds
    /// what lies there: twice the limit for what old readers hold, or twice the machine's memory, for segments that are
    /// not full.
    pub(crate) fn heap_bytes(&self) -> usize {
        (self.bytes_reserved() as usize).saturating_mul(2).saturating_add(SPARE_BYTES)
    }

    /// The highest limit that address space is reserved for.
    pub(crate) fn bytes_reserved(&self) -> u64 {
        self.memory_bytes_max.max(machine_bytes())
    }
}

/// Entries that tables get address space for: as many as there is room for in so many bytes, which are the limit, or what the machine has where that is
/// more. A start with a lower limit than the last takes what is there.
pub(crate) fn entries_max(bytes_reserved: u64) -> usize {
    (bytes_reserved as usize / 32).clamp(1 << 16, 1 << 31)
}

/// Memory of the machine; none where address space is short, so that a lower limit asks for less of it.
fn machine_bytes() -> u64 {
    let is_short = cfg!(any(miri, pando_loom)) || env::memory::is_address_space_short();
    if is_short { 0 } else { env::host::memory_bytes().unwrap_or(0) }
}

/// The memory limit in force, and how high it may become.
pub(crate) struct MemoryLimit {
    bytes_max: AtomicU64,
    bytes_reserved: u64,
}

impl MemoryLimit {
    pub(crate) fn new(bytes_max: u64, bytes_reserved: u64) -> MemoryLimit {
        MemoryLimit { bytes_max: AtomicU64::new(bytes_max), bytes_reserved }
    }
}

impl Shard {
    /// Bytes of memory beyond which adds and changes that grow an entry are refused.
    #[inline]
    pub fn memory_bytes_max(&self) -> u64 {
        self.memory_limit.bytes_max.load(Ordering::Relaxed)
    }

    /// Sets another limit, [`Shard::memory_bytes_reserved`] at most. Nothing is freed by a lower one: the next update that needs room cleans, and is
    /// refused where that does not help. What was logged is applied by any limit. Returns the one that is in force.
    pub fn limit_memory(&self, bytes_max: u64) -> u64 {
        let in_force = bytes_max.min(self.memory_limit.bytes_reserved);
        self.memory_limit.bytes_max.store(in_force, Ordering::Relaxed);
        in_force
    }

    /// The highest limit that address space was reserved for, in bytes: that of the start, or as much as the machine has.
    pub fn memory_bytes_reserved(&self) -> u64 {
        self.memory_limit.bytes_reserved
    }

    /// Are there so many shapes that no update should be taken which may need another?
    pub fn has_too_many_shapes(&self) -> bool {
        self.shapes.are_too_many()
    }

    /// For tests: as if so many shapes were all that are taken.
    #[doc(hidden)]
    pub fn bound_shapes(&self, max: usize) {
        self.shapes.bound(max);
    }

    /// Gives memory back to the kernel that was free for a while, unless somebody writes right now. To be called about once a
    /// second.
    pub fn release_free(&self) {
        if let Some(mut writer) = self.try_writer() {
            self.heap.release_free(&mut writer.state.heap, &self.readers);
        }
    }

    /// Entries that tables have address space for.
    pub(crate) fn entries_max(&self) -> usize {
        entries_max(self.memory_limit.bytes_reserved)
    }
}
