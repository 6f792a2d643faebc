//! A pointer that one writer swaps while many readers follow it.

use crate::readers::Readers;
use crate::sync::{AtomicPtr, Ordering};
use std::any::Any;
use std::collections::VecDeque;
use std::marker::PhantomData;

/// Proof that somebody looks for as long as `'a`: nothing that a reader may see is dropped meanwhile.
#[derive(Clone, Copy)]
pub(crate) struct Held<'a>(PhantomData<&'a ()>);

impl<'a> Held<'a> {
    /// For one who has pinned a slot of these readers for as long as `'a`, or is their one writer.
    #[inline]
    pub(crate) fn by(_: &'a Readers) -> Held<'a> {
        Held(PhantomData)
    }
}

/// Owns a `T` that readers reach without a lock. What it held before a swap is kept until no reader that may have
/// seen it is active.
pub(crate) struct Published<T> {
    pointer: AtomicPtr<T>,
}

impl<T: Send + Sync + 'static> Published<T> {
    pub(crate) fn new(value: T) -> Published<T> {
        Published { pointer: AtomicPtr::new(Box::into_raw(Box::new(value))) }
    }

    /// What a reader sees. The read point, or what holds in its place, keeps it alive for as long as it is borrowed.
    #[inline]
    pub(crate) fn load<'a>(&'a self, _held: impl Into<Held<'a>>) -> &'a T {
        // SAFETY: the pointer came from a Box and is never null. A swapped-out value is dropped only after every
        // reader that was active at the swap has rested, and the read point is active for 'a. A writer's own read
        // point ends before the writer frees anything, since freeing takes the writer exclusively.
        unsafe { &*self.pointer.load(Ordering::Acquire) }
    }

    /// Replaces the value; the old one goes to the garbage. Writer only.
    pub(crate) fn swap(&self, value: T, garbage: &mut Garbage) {
        let old = self.pointer.swap(Box::into_raw(Box::new(value)), Ordering::AcqRel);
        // SAFETY: it came from a Box in `new` or `swap`, and the swap made us its only owner but for readers,
        // whom the garbage waits for.
        garbage.push(unsafe { Box::from_raw(old) });
    }
}

impl<T> Drop for Published<T> {
    fn drop(&mut self) {
        // SAFETY: nobody shares `self` any more, and the pointer came from a Box.
        #[cfg(not(pando_loom))]
        drop(unsafe { Box::from_raw(*self.pointer.get_mut()) });
        #[cfg(pando_loom)]
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(self.pointer.load(Ordering::Acquire)) });
    }
}

/// Swapped-out values that wait for their last readers.
#[derive(Default)]
pub(crate) struct Garbage {
    /// Sequence from which on no new reader can see the value.
    retired: VecDeque<(u64, Box<dyn Any + Send + Sync>)>,
    /// Sequence that the batch in progress will be published as.
    sequence: u64,
}

impl Garbage {
    /// From here on swaps belong to the batch that is published as this sequence: a reader of the one before may still find what
    /// they replace, and a reader of this one cannot.
    pub(crate) fn begin(&mut self, sequence: u64) {
        assert!(sequence >= self.sequence, "what is retired later waits as long or longer");
        self.sequence = sequence;
    }

    fn push<T: Send + Sync + 'static>(&mut self, value: Box<T>) {
        self.retired.push_back((self.sequence, value));
    }

    /// Drops what no reader can see any more.
    pub(crate) fn collect(&mut self, readers: &Readers) {
        if self.retired.is_empty() {
            return;
        }
        let oldest = readers.oldest();
        while self.retired.front().is_some_and(|(sequence, _)| *sequence <= oldest) {
            self.retired.pop_front();
        }
    }
}
