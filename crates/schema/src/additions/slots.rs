//! A list that only grows, while others read it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Definitions that may be added to a schema while it is in use, those of earlier runs among them.
pub const ADDED_MAX: usize = 4096;

/// Up to [`ADDED_MAX`] items, each of which stays where it is. There is one at a time who appends.
pub(crate) struct Slots<T> {
    /// Made with the first item.
    slots: OnceLock<Box<[OnceLock<Box<T>>]>>,
    len: AtomicUsize,
}

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots { slots: OnceLock::new(), len: AtomicUsize::new(0) }
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
        self.slots.get()?.get(at)?.get().map(|item| &**item)
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// Appends an item.
    ///
    /// # Panics
    /// If there is no room.
    pub(crate) fn push(&self, item: T) {
        let slots = self.slots.get_or_init(|| (0..ADDED_MAX).map(|_| OnceLock::new()).collect());
        let at = self.len.load(Ordering::Acquire);
        assert!(slots[at].set(Box::new(item)).is_ok(), "there is one who appends");
        self.len.store(at + 1, Ordering::Release);
    }
}
