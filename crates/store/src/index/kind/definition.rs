//! What a kind of index is: the trait that each implements, and what its functions take and give.

use crate::hash::{mix, tag};
use crate::index::key::Key;
use model::TypeId;
use schema::{AttributeType, Schema};
use smallvec::SmallVec;

/// The structure that holds the keys of an index, and the ids of the entries that have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Structure {
    /// Lists of ids by the tag of a hash: [`Key::Tag`]. What has the tag by chance is among them, so candidates are compared.
    Postings,
    /// One set of ids: [`Key::Attribute`].
    Ids,
    /// A versioned tree by the first bytes of an ordered key: [`Key::Prefix`].
    Tree,
}

/// What a filter asserts of the values of an attribute, in normal form.
pub(crate) enum Assertion<'f> {
    /// There is a value.
    Present,
    /// A value is equal to this one.
    Equal(&'f [u8]),
    /// A value has all of these parts.
    Substrings(SmallVec<[Part<'f>; 4]>),
    /// The ordering key of a value is at least this one.
    AtLeast(&'f [u8]),
    /// The ordering key of a value is at most this one.
    AtMost(&'f [u8]),
    /// Something else is true of a value.
    Other,
}

/// A part of a value.
#[derive(Clone, Copy)]
pub(crate) struct Part<'f> {
    pub(crate) bytes: &'f [u8],
    /// The value begins with it.
    pub(crate) is_initial: bool,
    /// The value ends with it.
    pub(crate) is_final: bool,
}

/// Where an index has the candidates of an assertion: every entry that the assertion is true of is among them.
pub(crate) enum Probe {
    /// Under each of these tags, so the shortest list is enough. There is one at least.
    Tags(SmallVec<[u32; 8]>),
    /// All ids that the index has.
    All,
    /// Under the prefixes from the first to the second, both included.
    Range(u64, u64),
}

/// What the keys of an index are made with.
#[derive(Clone, Copy)]
pub(crate) struct Keys<'k> {
    pub(crate) schema: &'k Schema,
    /// The type that is indexed.
    pub(crate) attribute_type: TypeId,
    /// Key of the hashes of values, of this directory alone: clients cannot choose values whose hashes are equal.
    pub(crate) hash_key: u64,
}

impl Keys<'_> {
    /// The key of a normalised value, or of a part of one.
    #[inline]
    pub(super) fn tag(self, normal: &[u8]) -> u32 {
        tag(mix(self.hash_key, normal))
    }
}

/// A kind of index.
pub(super) trait Kind {
    /// How it is written in settings.
    const TEXT: &'static str;
    /// What holds its keys. In [`Structure::Ids`] an entry that has the attribute has the one key [`Key::Attribute`], whatever the values
    /// are. In the others its keys are those that [`Kind::each_key`] makes of each value.
    const STRUCTURE: Structure;
    /// Whether the key of a value is the tag of the hash by which big sets of values are ordered. Such a key is found in a set
    /// without a walk through it.
    const IS_OF_VALUE_HASH: bool = false;
    /// Whether a value has a key for each of its bytes, not one: a step over such an index takes fewer values.
    const IS_OF_EACH_BYTE: bool = false;

    /// The kind of matching rule that an attribute type needs for it and does not have.
    fn missing_rule(_: &AttributeType) -> Option<&'static str> {
        None
    }

    /// Hands the keys of one value to `each`; the same key may come twice. `normal` is room for a normal form, and empty.
    /// A value that the schema does not take has none: no assertion is true of it.
    fn each_key(_: Keys<'_>, _: &[u8], _: &mut Vec<u8>, _: &mut impl FnMut(Key)) {}

    /// Where the candidates of an assertion are; `None` if the index does not tell.
    fn probe(_: Keys<'_>, _: &Assertion<'_>) -> Option<Probe>;
}
