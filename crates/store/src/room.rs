//! How much room a shard reserves: address space, not memory.

use crate::shard::{Settings, Shard};

/// Bytes of address space beyond what the memory limit asks for.
const SPARE_BYTES: usize = 64 << 20;

impl Settings {
    /// Entries that tables get address space for: as many as the limit has room for, and the machine, which may have more than
    /// the limit. A start with a lower limit than the last takes what is there.
    pub(crate) fn entries_max(&self) -> usize {
        (self.memory_bytes_max.max(machine_bytes()) as usize / 32).clamp(1 << 16, 1 << 31)
    }

    /// Address space of the heap. What is logged is applied though it goes over the limit, so nothing but the machine bounds
    /// what lies there: twice the limit for what old readers hold, or twice the machine's memory, for segments that are
    /// not full.
    pub(crate) fn heap_bytes(&self) -> usize {
        let bytes = self.memory_bytes_max.max(machine_bytes()) as usize;
        bytes.saturating_mul(2).saturating_add(SPARE_BYTES)
    }
}

/// Memory of the machine; none where address space is short, so that a lower limit asks for less of it.
fn machine_bytes() -> u64 {
    let is_short = cfg!(any(miri, pando_loom)) || env::memory::is_address_space_short();
    if is_short { 0 } else { env::host::memory_bytes().unwrap_or(0) }
}

impl Shard {
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
        self.settings.entries_max()
    }
}
