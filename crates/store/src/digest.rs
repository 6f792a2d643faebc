//! A hash of all that a read point shows. It does not depend on where things lie, on numbers of shapes, names and
//! types, or on hash keys, so that two shards that went different ways to the same state have the same.
//!
//! Tests and the simulator compare it: a shard with its model, one that was recovered with one that went on, a replica with
//! another. Replicas compare it with each other all the time, a slice of the ids after the other. Entries are summed up, and so are the values of one, so that the order in which they are stored does not count; within
//! an entry every part has its length before it, or always the same. entryUUIDs are left out: they follow from id, time and key.

use crate::dn_cache::DnCache;
use crate::hash::mix;
use crate::record::EntryRef;
use crate::shard::ReadPoint;
use model::{Description, EntryId};
use std::ops::Range;

/// Keys of the two halves, so that 128 bits must agree and not 64. Nothing secret: an outsider has no use for a collision.
const KEYS: [u64; 2] = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344];

impl<'a> ReadPoint<'a> {
    /// The hash of all entries at the read point, while others write: ids, DNs, attributes with their values in any order, who and when. Looks at every
    /// entry, which takes a while.
    pub fn digest(self) -> u128 {
        self.digest_of(1..self.shard.ids_end())
    }

    /// The same of the entries with these ids.
    pub fn digest_of(self, ids: Range<u32>) -> u128 {
        let (mut halves, mut cache, mut bytes) = ([0u64; 2], DnCache::default(), Vec::new());
        cache.refresh(self);
        // Ids are part of what is hashed: they are chosen by the log's commands alone, so replicas must agree on them.
        for id in ids.start..ids.end.min(self.shard.ids_end()) {
            let Some(entry) = self.entry(EntryId(id)) else { continue };
            bytes.clear();
            self.push_entry(&entry, &mut cache, &mut bytes);
            for (half, key) in halves.iter_mut().zip(KEYS) {
                *half = half.wrapping_add(mix(key, &bytes));
            }
        }
        u128::from(halves[0]) << 64 | u128::from(halves[1])
    }

    /// An entry as bytes: ids and names first, then who and when, then the sums over its attributes.
    fn push_entry(self, entry: &EntryRef<'a>, cache: &mut DnCache, out: &mut Vec<u8>) {
        out.extend_from_slice(&entry.id.0.to_le_bytes());
        out.extend_from_slice(&entry.parent().0.to_le_bytes());
        // The length stands behind the DN: it is known only then.
        let text_at = out.len();
        self.write_dn(entry, cache, out);
        let stamps = entry.stamps();
        out.extend_from_slice(&((out.len() - text_at) as u64).to_le_bytes());
        out.extend_from_slice(&stamps.created.0.to_le_bytes());
        self.push_name(stamps.creator, out);
        if let Some((csn, modifier)) = stamps.modified {
            out.extend_from_slice(&csn.0.to_le_bytes());
            self.push_name(modifier, out);
        }
        for key in KEYS {
            out.extend_from_slice(&self.attributes(entry, key).to_le_bytes());
        }
    }

    /// The name that a number stands for, since shards number names as they come.
    fn push_name(self, number: u32, out: &mut Vec<u8>) {
        let name = self.name(number);
        out.extend_from_slice(&(name.len() as u64).to_le_bytes());
        out.extend_from_slice(name);
    }

    /// The sum over all values, so that order does not count: neither that of attributes, which a shape has as they came, nor that
    /// of a set's values, which lie in the order of their keyed hashes.
    fn attributes(self, entry: &EntryRef<'a>, key: u64) -> u64 {
        let schema = &self.shard.schema;
        let of = |description| mix(key, schema.describe(description).as_bytes());
        let class = of(Description::plain(schema.well_known().object_class));
        let mut sum = 0u64;
        for value in &entry.shape.class_values {
            sum = sum.wrapping_add(mix(class, value));
        }
        // Each value is hashed under its attribute's description, as text: the same value of another attribute counts otherwise.
        for (slot, values) in entry.shape.slots.iter().zip(entry.slots()) {
            let attribute = of(slot.description);
            self.each_value(values, |value| sum = sum.wrapping_add(mix(attribute, value)));
        }
        sum
    }
}
