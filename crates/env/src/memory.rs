//! Memory that is reserved at once and committed when touched: what the store's segments, slots and hash tables
//! lie in. A reservation costs address space only; the kernel hands out zeroed pages at the first touch.

use rustix::process::{Resource, getrlimit};
use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// The size of a huge page, and the alignment of every region.
pub const HUGE_PAGE: usize = 2 << 20;

/// A private, zeroed range of memory at a fixed address.
#[derive(Debug)]
pub struct Region {
    base: NonNull<u8>,
    len: usize,
    mapped: NonNull<u8>,
    mapped_len: usize,
}

// SAFETY: a region is plain memory, not tied to a thread; what may be done to it at the same time is decided by
// those who turn it into references.
unsafe impl Send for Region {}
// SAFETY: as above; the safe methods hand out atomics only.
unsafe impl Sync for Region {}

impl Region {
    /// Reserves `len` bytes (rounded up to [`HUGE_PAGE`]), aligned to a huge page. With `huge`, asks the kernel for
    /// huge pages: right where nearly every page will be touched.
    ///
    /// # Errors
    /// What `mmap` says, with the limit that forbids it: of address space, or strict overcommit.
    pub fn reserve(len: usize, huge: bool) -> io::Result<Region> {
        assert!(len <= isize::MAX as usize - 2 * HUGE_PAGE, "no more than an address space can have");
        let len = len.next_multiple_of(HUGE_PAGE).max(HUGE_PAGE);
        let mapped_len = len + HUGE_PAGE;
        // Miri knows no mapping that is only reserved.
        let reserved = if cfg!(miri) { 0 } else { libc::MAP_NORESERVE };
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches no existing memory.
        let mapped = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped_len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | reserved,
                -1,
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            return Err(not_reserved(len, io::Error::last_os_error()));
        }
        let mapped = NonNull::new(mapped.cast::<u8>()).expect("mmap never maps address 0");
        let shift = mapped.as_ptr().align_offset(HUGE_PAGE);
        assert!(shift <= mapped_len - len, "the aligned range lies inside the mapping");
        // SAFETY: the mapping is one huge page longer than asked for, so the aligned range lies inside it.
        let base = unsafe { mapped.add(shift) };
        let region = Region { base, len, mapped, mapped_len };
        let advice = if huge { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
        if cfg!(not(miri)) {
            // SAFETY: the range is ours. A kernel without huge pages refuses; nothing depends on the answer.
            unsafe { libc::madvise(base.as_ptr().cast(), len, advice) };
        }
        Ok(region)
    }

    /// Address of the first byte.
    #[inline]
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Bytes reserved.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Is it empty? Never, but clippy is right to want the question answered.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The region as atomic words, zero where nobody wrote yet.
    #[inline]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: aligned to a huge page, mapped as long as `self` exists, zeroed by the kernel, and any bits are a
        // valid AtomicU64. A caller that also writes bytes through `base` keeps them apart from the words in use.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().cast(), self.len / 8) }
    }

    /// The pages of a range.
    ///
    /// # Panics
    /// If the range is not inside the region.
    pub fn pages(&self, range: Range<usize>) -> Pages {
        assert!(range.start <= range.end && range.end <= self.len, "the range lies inside the region");
        Pages { start: self.base.as_ptr() as usize + range.start, len: range.len() }
    }

    /// Gives the pages of a range back to the kernel; they read as zero afterwards. Whole pages only.
    ///
    /// # Safety
    /// Nobody may hold a reference into the range, other than to atomics.
    ///
    /// # Panics
    /// If the range is not inside the region or not made of whole pages.
    pub unsafe fn release(&self, range: Range<usize>) {
        assert!(range.start <= range.end && range.end <= self.len, "the range lies inside the region");
        assert!(range.start.is_multiple_of(4096) && range.end.is_multiple_of(4096), "whole pages");
        // SAFETY: inside our own mapping; the caller vouches for the references.
        unsafe {
            let start = self.base.as_ptr().add(range.start);
            libc::madvise(start.cast(), range.len(), libc::MADV_DONTNEED);
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: exactly what `reserve` mapped, and `self` is going away, so no reference into it is left.
        unsafe { libc::munmap(self.mapped.as_ptr().cast(), self.mapped_len) };
    }
}

/// Some pages of a region, perhaps of one that is no more.
#[derive(Clone, Copy, Debug)]
pub struct Pages {
    start: usize,
    len: usize,
}

impl Pages {
    /// Has the kernel hand them out now, as if somebody had written to each: who writes to them later does not wait for that.
    /// A hint: a kernel that cannot do it (before Linux 5.14), or not all of it, leaves them as they are. Returns whether all
    /// are there.
    pub fn fault_in(self) -> bool {
        if cfg!(miri) {
            return false;
        }
        let start = std::ptr::without_provenance_mut(self.start);
        // SAFETY: this changes no byte of any memory, whatever is at the address by now: pages that are there stay.
        unsafe { libc::madvise(start, self.len, libc::MADV_POPULATE_WRITE) == 0 }
    }
}

/// Has this process do without huge pages from now on, whatever a region asks for: right where there are many small regions, each
/// of which would have a huge page filled with zeros for a few bytes.
pub fn do_without_huge_pages() {
    // SAFETY: it changes how the kernel chooses pages, and no memory. A kernel without huge pages refuses; nothing depends on the answer.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
}

/// Is there less address space than this process could ever reserve: by a limit of its own, or since the system counts it as memory?
pub fn is_address_space_short() -> bool {
    let counts =
        std::fs::read_to_string("/proc/sys/vm/overcommit_memory").is_ok_and(|text| text.trim() == "2");
    counts || getrlimit(Resource::As).current.is_some()
}

/// Why address space cannot be reserved, with the limit that forbids it and how to raise it.
fn not_reserved(len: usize, error: io::Error) -> io::Error {
    let mib = |bytes: u64| bytes >> 20;
    let advice = match getrlimit(Resource::As).current {
        Some(bytes) => format!(
            "the limit of address space is {} MiB: raise it (`ulimit -v unlimited`, `LimitAS=infinity` of systemd)",
            mib(bytes)
        ),
        None => "`vm.overcommit_memory` is 2, or as much is taken already: allow the system more".to_owned(),
    };
    let text = format!(
        "{} MiB of address space cannot be reserved: {error}; {advice}, or let the directory have less with --memory-max",
        mib(len as u64)
    );
    io::Error::new(error.kind(), text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::resident_bytes;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn reserved_memory_is_zero_and_can_be_released() {
        let region = Region::reserve(8 << 30, false).expect("address space is plenty");
        let words = region.words();
        assert_eq!(words[123_456_789].load(Relaxed), 0);
        words[512].store(7, Relaxed);
        // SAFETY: only atomics refer to the region here.
        unsafe { region.release(4096..8192) };
        assert_eq!(words[512].load(Relaxed), 0);
        let before = resident_bytes().expect("this system tells");
        words[0].store(1, Relaxed);
        let is_there = region.pages(0..16 << 20).fault_in();
        let added = resident_bytes().expect("this system tells").saturating_sub(before);
        assert!(!is_there || added >= 12 << 20, "{before} bytes and {added} more");
        assert_eq!((words[0].load(Relaxed), words[1].load(Relaxed)), (1, 0));
    }

    #[test]
    fn what_cannot_be_reserved_is_reported_with_what_to_do() {
        let error = Region::reserve(1 << 50, false).expect_err("no machine has as much").to_string();
        assert!(error.starts_with("1073741824 MiB of address space cannot be reserved: "), "{error}");
        assert!(error.contains("--memory-max"), "{error}");
    }
}
