//! A list that only grows, while others read it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Definitions that may be added to a schema, changed and removed while it is in use, those of earlier runs among them: each counts each time.
pub const ADDED_MAX: usize = 4096;

/// Items of one part.
const PART: usize = 4096;
/// Parts: one change of a class may change all that are derived from it.
const PARTS_MAX: usize = ADDED_MAX;

/// Places for items, each filled once.
type Places<T> = Box<[OnceLock<T>]>;

/// Items, each of which stays where it is. There is one at a time who appends.
pub(crate) struct Slots<T> {
    /// Made with the first item, and each part of it with its first.
    parts: OnceLock<Places<Places<Box<T>>>>,
    len: AtomicUsize,
}

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots { parts: OnceLock::new(), len: AtomicUsize::new(0) }
    }
}

impl<T> Slots<T> {
    /// How many there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// The item at a position, if there is one.
    pub(crate) fn get(&self, at: usize) -> Option<&T> {
        self.parts.get()?.get(at / PART)?.get()?.get(at % PART)?.get().map(|item| &**item)
    }

    /// Appends an item; returns where.
    ///
    /// # Panics
    /// If there is no room.
    pub(crate) fn push(&self, item: T) -> usize {
        let at = self.len.load(Ordering::Acquire);
        let parts = self.parts.get_or_init(|| places(PARTS_MAX));
        let part = parts[at / PART].get_or_init(|| places(PART));
        assert!(part[at % PART].set(Box::new(item)).is_ok(), "there is one who appends");
        self.len.store(at + 1, Ordering::Release);
        at
    }
}

fn places<T>(count: usize) -> Places<T> {
    (0..count).map(|_| OnceLock::new()).collect()
}
