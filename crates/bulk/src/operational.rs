//! Operational attributes on their way out of one directory and into another.

/// What becomes of operational attributes that only a server changes, such as entryUUID and createTimestamp. Those
/// that are worked out anew for every answer (structuralObjectClass, hasSubordinates, ...) are never stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Operational {
    /// They are kept as they stand.
    #[default]
    Keep,
    /// They are left out; the entries get new ones.
    Strip,
}
