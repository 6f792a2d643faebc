//! Definitions that may be changed or removed while others read them. A reference to one stays valid: what was changed stays where it is, and
//! who asks again is shown what is there instead.
//!
//! How many changes a directory ever has is bounded ([`crate::ADDED_MAX`]), and so is what stays.

use crate::element::Traits;
use crate::rule::Rule;
use crate::slots::Slots;
use crate::syntax::Syntax;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

/// One definition, by its number.
pub(crate) struct Current<T> {
    first: T,
    /// 0, or one more than where in the list of changed ones it is now.
    now: AtomicU32,
    is_removed: AtomicBool,
}

impl<T> Current<T> {
    pub(crate) fn new(first: T, is_removed: bool) -> Current<T> {
        Current { first, now: AtomicU32::new(0), is_removed: AtomicBool::new(is_removed) }
    }

    /// What it is now; of one that was removed what it was last.
    #[inline]
    pub(crate) fn get<'t>(&'t self, changed: &'t Slots<T>) -> &'t T {
        match self.now.load(Ordering::Acquire) {
            0 => &self.first,
            at => changed.get(at as usize - 1).expect("it was put there before"),
        }
    }

    /// Puts another in its place. There is one at a time who changes.
    pub(crate) fn set(&self, changed: &Slots<T>, to: T) {
        let at = changed.push(to);
        self.now.store(at as u32 + 1, Ordering::Release);
    }

    /// Is it another than it was first?
    pub(crate) fn is_changed(&self) -> bool {
        self.now.load(Ordering::Acquire) != 0
    }

    pub(crate) fn is_removed(&self) -> bool {
        self.is_removed.load(Ordering::Acquire)
    }

    pub(crate) fn remove(&self) {
        self.is_removed.store(true, Ordering::Release);
    }
}

/// [`Traits`] of a type whose flags may change. Rule and syntax never do.
#[derive(Debug)]
pub(crate) struct CurrentTraits {
    equality: Option<Rule>,
    syntax: Syntax,
    flags: AtomicU8,
}

impl CurrentTraits {
    pub(crate) fn new(Traits { equality, syntax, flags }: Traits) -> CurrentTraits {
        CurrentTraits { equality, syntax, flags: AtomicU8::new(flags) }
    }

    #[inline]
    pub(crate) fn get(&self) -> Traits {
        Traits { equality: self.equality, syntax: self.syntax, flags: self.flags.load(Ordering::Relaxed) }
    }

    pub(crate) fn set_flags(&self, flags: u8) {
        self.flags.store(flags, Ordering::Relaxed);
    }
}
