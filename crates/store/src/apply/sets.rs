//! Changes to big value sets: judged first, made once the whole modify is known to be good. A plan has only the values
//! that a request names, and finding one of them looks at one leaf, so the cost does not depend on the size of the set.
//!
//! The order of changes within a request counts: a value that was added by it can be removed by it, and the other way
//! round. So a plan is kept in its shortest form, in which no value is both added and removed.

use super::name::normal;
use crate::deferred::Later;
use crate::record::{ValueSet, ber_octets};
use crate::refused::Refused;
use crate::shard::{ReadPoint, Writer};
use crate::tree::{CHANGE_BYTES, TreeWriter};
use model::{Description, TypeId};

/// Where a value lies in a set: the hash of its normal form, or of itself if it has none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct SetKey {
    pub(super) hash: u64,
    pub(super) is_of_normal_form: bool,
}

impl SetKey {
    /// The hash of the value's normal form, if it has one: its key in an equality index.
    fn of_normal_form(self) -> Option<u64> {
        self.is_of_normal_form.then_some(self.hash)
    }
}

/// What a modify does to one big set.
/// A plan: the tree is changed only when everything that could refuse the modify has been asked.
pub(super) struct SetEdit<'v> {
    pub(super) description: Description,
    pub(super) set: ValueSet,
    adds: Vec<(SetKey, &'v [u8])>,
    /// With the values as they are stored.
    removes: Vec<(SetKey, Vec<u8>)>,
    /// The attribute goes, or its values are replaced by ones that do not lie in this set.
    pub(super) dropped: bool,
}

impl<'v> SetEdit<'v> {
    pub(super) fn new(description: Description, set: ValueSet) -> SetEdit<'v> {
        SetEdit { description, set, adds: vec![], removes: vec![], dropped: false }
    }

    /// A set that is unchanged keeps its root and count: no node of it is looked at, however large it is.
    pub(super) fn is_unchanged(&self) -> bool {
        self.adds.is_empty() && self.removes.is_empty() && !self.dropped
    }

    /// Values that it will have.
    pub(super) fn count(&self) -> usize {
        let before = self.set.count as usize + self.adds.len();
        assert!(self.removes.len() <= before, "values that are removed were there");
        if self.dropped { 0 } else { before - self.removes.len() }
    }

    /// Will it have more values than now?
    pub(super) fn grows(&self) -> bool {
        !self.dropped && self.adds.len() > self.removes.len()
    }

    /// Bytes to claim.
    pub(super) fn claim(&self) -> usize {
        (self.adds.len() + self.removes.len()) * CHANGE_BYTES
    }

    /// Values that join the set: only they are checked by the schema. Those that are in it were, when they came.
    pub(super) fn added(&self) -> impl Iterator<Item = &'v [u8]> {
        self.adds.iter().map(|(_, value)| *value)
    }
}

impl Writer<'_> {
    /// Plans to add values.
    /// Each value is looked up in the tree: one leaf for each, whatever the set's size.
    pub(super) fn plan_adds<'v>(
        &mut self,
        edit: &mut SetEdit<'v>,
        values: &[&'v [u8]],
        is_permissive: bool,
    ) -> Result<(), Refused> {
        for value in values {
            let key = self.set_key(edit.description.attribute_type, value);
            if let Some(at) = edit.removes.iter().position(|(k, _)| *k == key) {
                // Taken away and given back by one request: the old spelling stays.
                edit.removes.swap_remove(at);
                continue;
            }
            if edit.adds.iter().any(|(k, _)| *k == key) || self.stored_spelling(edit, key, value).is_some() {
                if is_permissive {
                    continue;
                }
                return Err(self.value_exists(edit.description, value));
            }
            edit.adds.push((key, value));
        }
        Ok(())
    }

    /// Plans to take values away.
    /// The stored spelling is what the tree has, so that is what is removed.
    pub(super) fn plan_removes<'v>(
        &mut self,
        edit: &mut SetEdit<'v>,
        values: &[&'v [u8]],
        is_permissive: bool,
    ) -> Result<(), Refused> {
        for value in values {
            let key = self.set_key(edit.description.attribute_type, value);
            if let Some(at) = edit.adds.iter().position(|(k, _)| *k == key) {
                edit.adds.swap_remove(at);
                continue;
            }
            // Removed before by the same request: it is still in the tree, but no longer in the set.
            let gone = edit.removes.iter().any(|(k, _)| *k == key);
            match self.stored_spelling(edit, key, value) {
                Some(stored) if !gone => edit.removes.push((key, stored.to_vec())),
                _ if is_permissive => {}
                _ => return Err(self.no_such_value(edit.description, value)),
            }
        }
        Ok(())
    }

    /// Makes the planned changes; returns the set as it is then, `None` if nothing is left of it.
    pub(super) fn apply(&mut self, id: u32, edit: &SetEdit<'_>) -> Result<Option<ValueSet>, Refused> {
        let sequence = self.version();
        // An attribute without values is none (RFC 4511 section 4.1.7), so a set that would be empty goes as a whole.
        if edit.count() == 0 {
            self.delete_set(id, edit.description, &edit.set)?;
            return Ok(None);
        }
        let mut set = edit.set;
        for (key, stored) in &edit.removes {
            let is_gone = self.with_tree(sequence, |tree| tree.remove(set.root, (key.hash, stored)))?;
            assert!(is_gone, "a value that was planned to go is in the set");
            set.count -= 1;
            set.ber_bytes -= ber_octets(stored.len());
            self.index_set_value(id, edit.description, stored, key.of_normal_form(), false)?;
        }
        for (key, value) in &edit.adds {
            self.index_set_value(id, edit.description, value, key.of_normal_form(), true)?;
            let is_new = self.with_tree(sequence, |tree| tree.insert(set.root, (key.hash, value)))?;
            assert!(is_new, "a value that was planned to come is not in the set");
            set.count += 1;
            set.ber_bytes += ber_octets(value.len());
        }
        assert_eq!(set.count as usize, edit.count(), "the set has the values that were planned");
        let went = edit.removes.iter().map(|(_, stored)| &stored[..]);
        let (of, values) = (edit.description.attribute_type, edit.added().chain(went));
        self.shard.note_set_change(self.sequence, of, (&edit.set, set), values);
        Ok(Some(set))
    }

    /// A value of the set as it is stored, if one matches.
    fn stored_spelling(&self, edit: &SetEdit<'_>, key: SetKey, value: &[u8]) -> Option<&[u8]> {
        self.view().stored_spelling(edit.set.root, edit.description.attribute_type, key, value)
    }

    /// Changes a tree. Nodes that it drops are forgotten later, as readers of older batches may still follow them; that
    /// holds also if the change ran out of ids half-way.
    pub(crate) fn with_tree<T>(
        &mut self,
        sequence: u64,
        change: impl FnOnce(&mut TreeWriter<'_>) -> Result<T, crate::segment::HeapFull>,
    ) -> Result<T, Refused> {
        let (shard, mut removed) = (self.shard, Vec::new());
        let writer = &mut self.state.heap;
        let heap = &shard.heap;
        let mut tree = TreeWriter { heap, writer, sequence, removed: &mut removed, is_counted: false };
        let outcome = change(&mut tree);
        removed.into_iter().for_each(|node| self.later(Later::ForgetNode(node)));
        outcome.map_err(|_| shard.limit_reached())
    }

    /// attributeOrValueExists (RFC 4511 section 4.6), with the value as the client sent it.
    pub(super) fn value_exists(&self, description: Description, value: &[u8]) -> Refused {
        let (name, value) = self.shown(description, value);
        Refused::ValueExists(format!("{name} has the value \"{value}\" already"))
    }

    /// noSuchAttribute (RFC 4511 section 4.6), also where the attribute is there and only the value is not.
    pub(super) fn no_such_value(&self, description: Description, value: &[u8]) -> Refused {
        let (name, value) = self.shown(description, value);
        Refused::NoSuchAttribute(format!("{name} has no value \"{value}\""))
    }

    /// An attribute and a value of it, for a message.
    pub(super) fn shown(&self, description: Description, value: &[u8]) -> (String, String) {
        let schema = &self.shard.schema;
        (schema.describe(description).into_owned(), schema.shown_value(description.attribute_type, value))
    }
}

impl<'a> ReadPoint<'a> {
    /// A value of the set at `root` as it is stored, if one matches.
    pub(super) fn stored_spelling(
        self,
        root: u32,
        attribute_type: TypeId,
        key: SetKey,
        value: &[u8],
    ) -> Option<&'a [u8]> {
        let schema = &self.shard.schema;
        // Normal forms are made only if there is another spelling.
        let mut wanted: Option<Option<Vec<u8>>> = None;
        self.tree(root).find(key.hash, |stored| {
            stored == value || {
                let wanted = wanted.get_or_insert_with(|| normal(schema, attribute_type, value));
                wanted.is_some() && normal(schema, attribute_type, stored) == *wanted
            }
        })
    }
}
