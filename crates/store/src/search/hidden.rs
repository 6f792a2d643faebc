//! What a filter passes over, since the one who asks may not test it.

use model::{Description, TypeId};

/// What an item passes over, as if no entry had it. An item on `name` looks at `sn` too, and one on `cn` at `cn;lang-de`: the right to test
/// the one is no right to test the other. Without this list a filter on a supertype would guess the values of a hidden subtype.
#[derive(Debug, Default)]
pub(crate) struct Hidden {
    /// Ascending. Whatever the options are.
    pub(super) types: Vec<TypeId>,
    /// Ascending. Of the entries of one shape.
    pub(super) descriptions: Vec<Description>,
    /// Ascending. What it looks at, but for the values that may not be tested.
    pub(super) judged: Vec<Description>,
}

impl Hidden {
    /// Is an attribute passed over?
    #[inline]
    pub(crate) fn has(&self, description: Description) -> bool {
        self.types.binary_search(&description.attribute_type).is_ok()
            || self.descriptions.binary_search(&description).is_ok()
    }

    /// Is each value of an attribute judged by itself?
    #[inline]
    pub(crate) fn judges(&self, description: Description) -> bool {
        self.judged.binary_search(&description).is_ok()
    }
}
