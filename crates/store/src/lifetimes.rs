//! What makes an entry dynamic (RFC 2589), and what its time is worked out with.

use model::{Description, Entry};
use schema::Schema;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// The class of dynamic entries. It is looked up by its name, since a schema that was recorded need not have it.
const CLASS: &[u8] = b"dynamicObject";
/// Attribute that says when the time of an entry is over, if it was refreshed.
pub const EXPIRES: &[u8] = b"entryExpireTimestamp";

/// What the times of entries are worked out with. Nothing that is stored depends on it.
#[derive(Default)]
pub(crate) struct Lifetimes {
    /// The latest time that anybody has said it is, in milliseconds since 1970.
    pub(crate) now_ms: AtomicU64,
    /// Are dynamic entries kept as others are? So earlier behaviours have it, to which the class meant nothing.
    pub(crate) are_kept: AtomicBool,
    /// Of an entry that was never refreshed, from its creation on, in seconds.
    pub(crate) default_s: AtomicU64,
}

/// Are entries with these values of objectClass dynamic?
pub(crate) fn has_class<'v>(schema: &Schema, mut values: impl Iterator<Item = &'v [u8]>) -> bool {
    let Some(class) = schema.find_class(CLASS) else { return false };
    values.any(|value| schema.find_class(value) == Some(class))
}

/// Is an entry dynamic that is to be stored?
pub(crate) fn is_dynamic<S>(schema: &Schema, entry: &Entry<S>) -> bool {
    let classes = entry.position(Description::plain(schema.well_known().object_class));
    classes.is_some_and(|at| has_class(schema, entry.values(at)))
}
