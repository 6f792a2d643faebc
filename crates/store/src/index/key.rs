//! The key of an entry in an index.

/// A key in an index, as far as the index keeps it: what it cannot tell apart is one key. So a value of an entry takes no key
/// away that another of its values has too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// Tag of a hash.
    Tag(u32),
    /// The attribute is there.
    Attribute,
    /// First bytes of an ordered key.
    Prefix(u64),
}
