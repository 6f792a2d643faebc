//! Small numbers that name things inside one server. They are never seen by a client.

/// An entry of one shard. 0 is no entry: the parent of a naming context's root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(pub u32);

/// An attribute type of the subschema, an index into its table of types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u16);

/// A set of attribute options, interned; [`OptionsId::NONE`] is the empty set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OptionsId(pub u32);

impl OptionsId {
    /// No options, as nearly every attribute description has.
    pub const NONE: OptionsId = OptionsId(0);
}

/// An object class of the subschema, an index into its table of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u16);
