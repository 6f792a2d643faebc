//! What was added to a schema while it is in use, and where it is found. [`crate::extend`] adds.

use crate::current::{Current, CurrentTraits};
use crate::names::NameTable;
use crate::slots::Slots;
use crate::{AttributeType, ObjectClass};
use arc_swap::ArcSwapOption;
use model::TypeId;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The name that the added definitions have among [`crate::Schema::files`]: that of the entry to which they were added.
pub const ADDED_FILE: &str = "cn=Subschema";
/// Bytes of their text.
pub const ADDED_BYTES_MAX: usize = 1 << 20;

/// What was added and changed.
pub(crate) struct Additions {
    pub(crate) types: Slots<(Current<AttributeType>, CurrentTraits)>,
    pub(crate) classes: Slots<Current<ObjectClass>>,
    /// What definitions are that were changed, of those added and others.
    pub(crate) changed_types: Slots<AttributeType>,
    pub(crate) changed_classes: Slots<ObjectClass>,
    pub(crate) index: ArcSwapOption<Index>,
    /// Counts the changes.
    pub(crate) generation: AtomicU64,
    /// All that was ever added, changed and removed, of earlier runs too, as statements in their order. It only grows: who has a part of it has
    /// the beginning.
    text: Mutex<String>,
}

/// Where what was added is found.
pub(crate) struct Index {
    pub(crate) type_names: NameTable,
    pub(crate) class_names: NameTable,
    /// Of each type that has subtypes among what was added, and of what was added itself: all subtypes.
    pub(crate) subtypes: BTreeMap<TypeId, Arc<[TypeId]>>,
}

/// A type and its subtypes: see [`crate::Schema::subtypes`].
#[derive(Clone, Debug)]
pub enum Subtypes<'s> {
    /// None of them was added.
    Built(&'s [TypeId]),
    /// Some were.
    Grown(Arc<[TypeId]>),
}

impl Deref for Subtypes<'_> {
    type Target = [TypeId];

    #[inline]
    fn deref(&self) -> &[TypeId] {
        match self {
            Subtypes::Built(list) => list,
            Subtypes::Grown(list) => list,
        }
    }
}

impl Additions {
    /// None yet in this run; `text` is of those of earlier runs.
    pub(crate) fn new(text: String) -> Additions {
        Additions {
            types: Slots::default(),
            classes: Slots::default(),
            changed_types: Slots::default(),
            changed_classes: Slots::default(),
            index: ArcSwapOption::empty(),
            generation: AtomicU64::new(0),
            text: Mutex::new(text),
        }
    }

    pub(crate) fn text(&self) -> MutexGuard<'_, String> {
        // It is appended to, last of all: a thread that panicked before has changed nothing of it.
        self.text.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
