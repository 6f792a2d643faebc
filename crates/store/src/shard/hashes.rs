//! The keyed hashes of a shard: outsiders cannot compute them, so no client can aim entries or values at one bucket. The
//! key is drawn when a directory is created and never changes: value sets keep hashes, and entryUUIDs are made with it.

use super::Shard;
use crate::hash::{mix, mix_word, tag};
use crate::index::kind::Keys;
use model::TypeId;
use model::short::Word;

impl Shard {
    /// A keyed permutation: no two superiors share a tag, so the count kept under a tag is that of one superior.
    pub(crate) fn child_tag(&self, parent: u32) -> u32 {
        let key = self.settings.key[1];
        let mut tag = parent ^ key as u32;
        tag = (tag ^ tag >> 16).wrapping_mul(0x85eb_ca6b);
        tag = (tag ^ tag >> 13).wrapping_mul(0xc2b2_ae35);
        tag ^ tag >> 16 ^ (key >> 32) as u32
    }

    pub(crate) fn dn_tag(&self, parent: u32, rdn_key: &[u8]) -> u32 {
        tag(mix(self.dn_hash_key(parent), rdn_key))
    }

    /// What the RDNs of an entry's subordinates are hashed with.
    #[inline(always)]
    pub(crate) fn dn_hash_key(&self, parent: u32) -> u64 {
        self.settings.key[0] ^ u64::from(parent).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// A hash that outsiders cannot compute: for cookies.
    pub fn keyed_hash(&self, bytes: &[u8]) -> u64 {
        mix(self.settings.key[3] ^ 0x5bd1_e995, mix(self.settings.key[2], bytes).to_le_bytes().as_slice())
    }

    /// As [`Shard::value_hash`], of a short value.
    #[inline(always)]
    pub fn short_value_hash(&self, normalised: Word) -> u64 {
        mix_word(self.settings.key[2], normalised)
    }

    /// What the keys of indexes on a type are made with.
    #[inline]
    pub(crate) fn keys(&self, attribute_type: TypeId) -> Keys<'_> {
        Keys { schema: &self.schema, attribute_type, hash_key: self.settings.key[2] }
    }

    /// The 64-bit hash of a normalised value, for equality indexes and value sets.
    pub fn value_hash(&self, normalised: &[u8]) -> u64 {
        mix(self.settings.key[2], normalised)
    }

    /// The key of a value in a value set of this attribute, and whether it is that of a normal form. A value without one, of a type without an
    /// equality rule say, is hashed as it is: it can be found by its bytes only. `normal` is a buffer.
    #[inline]
    pub(crate) fn set_key(&self, attribute_type: TypeId, value: &[u8], normal: &mut Vec<u8>) -> (u64, bool) {
        normal.clear();
        match self.schema.normalise_equality(attribute_type, value, normal) {
            Ok(()) => (self.value_hash(normal), true),
            Err(_) => (self.value_hash(value), false),
        }
    }
}
