//! Entries of another shard, copied as they are and under their own ids: for an overlay.
//!
//! The two shards have the same schema and keys, so types, hashes of values and tags of names mean the same in both and are
//! copied as they lie there. Numbers of shapes and of names are each shard's own: shapes are interned again, and names
//! are looked up by their text.

use crate::overlay::Partial;
use crate::record::{self, EntryRef, Stamps, ValueSet, Values, ber_octets};
use crate::refused::Refused;
use crate::shape::{Shape, ShapeParts};
use crate::shard::{ReadPoint, Writer};
use crate::values::SetPosition;
use model::{Description, EntryId};
use smallvec::SmallVec;

impl Writer<'_> {
    /// Copies an entry of a shard with the same schema and keys, with its stamps. Of a set with more than `whole_max`
    /// values, about `spare` are copied; these sets are returned.
    ///
    /// # Errors
    /// When its id is taken or too high, or there is no memory.
    pub(crate) fn copy_entry(
        &mut self,
        base: ReadPoint<'_>,
        entry: &EntryRef<'_>,
        whole_max: u32,
        spare: usize,
    ) -> Result<Vec<Partial>, Refused> {
        let shard = self.shard;
        // Before the id is taken: claiming may move what lies in the segments, and may fail.
        self.claim(2 * entry.len() + 4096)?;
        let id = entry.id.0;
        // Under its own id: updates and answers name entries by it, and an entryUUID is made of it.
        self.give_ids(&[id]).map_err(|_| shard.limit_reached())?;
        let taken = self.state.heap.ids.allocate();
        self.end_given_ids();
        assert_eq!(taken.ok(), Some(id), "an entry is copied under its own id");
        let shape = entry.shape;
        let class_values: SmallVec<[&[u8]; 8]> = shape.class_values.iter().map(|value| &**value).collect();
        let Shape { structural, slots, naming, .. } = shape;
        let parts = ShapeParts { class_values: &class_values, structural: *structural, slots, naming };
        // An overlay has few shapes, so this bound is one for broken callers.
        let number = shard.shapes.intern(&mut self.state.shapes, parts);
        let number = number.ok_or(Refused::StoreLimit("distinct combinations of attributes"))?;
        // Stamps are part of what an update sees, so a copy has those of the entry.
        let stamps = self.stamps_of(base, entry);
        let mut out = Vec::with_capacity(entry.len() + 16);
        let flags = record::begin(&mut out, number, entry.parent().0, &stamps);
        let mut partial = Vec::new();
        for ((slot, values), raw) in shape.slots.iter().zip(entry.slots()).zip(entry.raw_slots()) {
            let Values::Set(set) = values else {
                out.extend_from_slice(raw);
                continue;
            };
            let (mut position, mut values) = (SetPosition::default(), Vec::new());
            let is_whole = set.count <= whole_max;
            // The values are loaded leaf by leaf and in the order of their hashes, so the position tells which are here.
            let wanted = if is_whole { usize::MAX } else { spare };
            while values.len() < wanted && base.set_values(&set, &mut position, |value| values.push(value)) {}
            self.claim(values.iter().map(|value| 2 * value.len() + 64).sum::<usize>() + 4096)?;
            let set = self.build_set(slot.description.attribute_type, values.into_iter())?;
            record::push_set(&mut out, &set);
            if !is_whole {
                let (description, root, asked) = (slot.description, set.root, Default::default());
                partial.push(Partial { description, root, position, asked });
            }
        }
        let flags = flags | record::end(&mut out, entry.raw_spelling());
        // The name is that of `base`: the superior may have another one here, but its id is the same, and a tag is made
        // of that and the RDN.
        let mut key = Vec::new();
        base.key_of(entry, &mut key);
        self.link_name(id, shard.dn_tag(entry.parent().0, &key))?;
        self.link_superior(id, entry.parent().0)?;
        self.put_copy(entry, flags, &out);
        self.note_kind(id, shape);
        self.count_entries(1);
        Ok(partial)
    }

    /// Says how many immediate subordinates an entry has, here and elsewhere.
    ///
    /// # Errors
    /// When there is no memory.
    pub(crate) fn tell_subordinates(&mut self, id: EntryId, count: u32) -> Result<(), Refused> {
        self.claim(4096)?;
        let (shard, view) = (self.shard, self.view());
        let (children, mut context) = Writer::context(&mut self.state, view);
        let reported = shard.children.tell_live(children, &mut context, shard.child_tag(id.0), count);
        reported.map_err(|_| shard.limit_reached())
    }

    /// Writes the record of a copy, for which room was claimed.
    /// In this batch, like any write: who reads the overlay sees it when the batch is published.
    fn put_copy(&mut self, entry: &EntryRef<'_>, flags: u8, record: &[u8]) {
        let version = self.version();
        self.shard.heap.put(&mut self.state.heap, entry.id.0, flags, version, record);
    }

    /// The stamps of an entry elsewhere, with the numbers that names have here; 0, the initial owner's, where there is no
    /// room for another name.
    fn stamps_of(&mut self, base: ReadPoint<'_>, entry: &EntryRef<'_>) -> Stamps {
        let stamps = entry.stamps();
        let mut number = |elsewhere: u32| match elsewhere {
            0 => 0,
            number => base.shard.names.at(number as usize).and_then(|name| self.name(name)).unwrap_or(0),
        };
        let creator = number(stamps.creator);
        Stamps { creator, modified: stamps.modified.map(|(csn, by)| (csn, number(by))), ..stamps }
    }

    /// Copies the values asked for that `base` has, and so many others that there are some left if all of those go.
    ///
    /// # Errors
    /// When there is no memory.
    pub(crate) fn extend<'v>(
        &mut self,
        base: ReadPoint<'_>,
        from: &EntryRef<'_>,
        partial: &mut Partial,
        asked: impl Iterator<Item = &'v [u8]>,
    ) -> Result<(), Refused> {
        let description = partial.description;
        let Some((_, there)) = set_of(from, description) else { return Ok(()) };
        let Some(entry) = self.view().entry(from.id) else { return Ok(()) };
        let Some((place, mut set)) = set_of(&entry, description) else { return Ok(()) };
        let before = set;
        let mut asked_now = 0;
        for value in asked {
            asked_now += 1;
            let key = self.set_key(description.attribute_type, value);
            // Named before: what `base` has of it was copied then, and an update may have changed it here since.
            if !partial.asked.insert(key.hash) {
                continue;
            }
            if let Some(stored) = base.stored_spelling(there.root, description.attribute_type, key, value) {
                self.put_value(&mut set, key.hash, stored)?;
            }
        }
        let mut spare = Vec::new();
        // A set whose last value goes is dropped. That must not happen here while `base` has more values, so there are more
        // than one request can remove.
        while (set.count as usize) < asked_now + 1 {
            spare.clear();
            if !base.set_values(&there, &mut partial.position, |value| spare.push(value)) {
                break;
            }
            for value in &spare {
                let key = self.set_key(description.attribute_type, value);
                if !partial.asked.contains(&key.hash) {
                    self.put_value(&mut set, key.hash, value)?;
                }
            }
        }
        if set != before {
            let mut out = Vec::with_capacity(entry.len());
            let flags = record::begin(&mut out, entry.shape.number, entry.parent().0, &entry.stamps());
            for (at, raw) in entry.raw_slots().enumerate() {
                if at == place { record::push_set(&mut out, &set) } else { out.extend_from_slice(raw) }
            }
            let flags = flags | record::end(&mut out, entry.raw_spelling());
            self.claim(out.len() + 4096)?;
            self.put_copy(&entry, flags, &out);
        }
        Ok(())
    }

    /// Adds a value to a partial set of a copy. The hash is that of `base`, which has the same keys.
    fn put_value(&mut self, set: &mut ValueSet, hash: u64, value: &[u8]) -> Result<(), Refused> {
        self.claim(value.len() + 64 + crate::tree::CHANGE_BYTES)?;
        let is_new = self.with_tree(self.version(), |tree| tree.insert(set.root, (hash, value)))?;
        // One that is there already came with the first values of the set, before it was asked for.
        if is_new {
            set.count += 1;
            set.ber_bytes += ber_octets(value.len());
        }
        Ok(())
    }
}

impl ReadPoint<'_> {
    /// Has the entry here still this set? Replaced or deleted as a whole, it has nothing any more that is not here, also if it has
    /// become another set.
    pub(crate) fn has_set(self, id: EntryId, partial: &Partial) -> bool {
        let entry = self.entry(id);
        let set = entry.as_ref().and_then(|entry| set_of(entry, partial.description));
        set.is_some_and(|(_, set)| set.root == partial.root)
    }
}

/// A set of an entry, and its place.
fn set_of(entry: &EntryRef<'_>, description: Description) -> Option<(usize, ValueSet)> {
    let place = entry.shape.position(description)?;
    match entry.slot(place) {
        Values::Set(set) => Some((place, set)),
        Values::Inline(_) => None,
    }
}
