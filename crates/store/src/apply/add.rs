//! Add: a new entry.

use super::Stamp;
use super::name::name_entry;
use super::write::Write;
use crate::record::Stamps;
use crate::refused::Refused;
use crate::resolve::Unresolved;
use crate::shard::Writer;
use model::{Entry, EntryId, dn};
use schema::CheckOptions;

/// A new entry: its DN and attributes. RDN values may be missing among them; superclasses too.
pub struct Add<'a> {
    /// The DN.
    pub dn: &'a [u8],
    /// Its attributes; given back cleared, so that the memory can be used again.
    pub entry: &'a mut Entry,
    /// May it carry values for attributes that users cannot change, as an import may?
    pub keep_operational: bool,
}

impl Writer<'_> {
    /// Adds an entry.
    pub fn add(&mut self, add: Add<'_>, stamp: Stamp) -> Result<EntryId, Refused> {
        let mut entry = std::mem::take(add.entry);
        let outcome = self.add_entry(add.dn, &mut entry, add.keep_operational, stamp);
        *add.entry = entry.into_cleared();
        outcome
    }

    fn add_entry(
        &mut self,
        dn: &[u8],
        entry: &mut Entry,
        keep_operational: bool,
        stamp: Stamp,
    ) -> Result<EntryId, Refused> {
        let (shard, view) = (self.shard, self.view());
        let state = &mut *self.state;
        state.cache.refresh(view);
        let mut keys = std::mem::take(&mut state.scratch.key);
        keys.clear();
        let target = match view.target(dn, &mut state.cache, &mut keys) {
            Ok(target) => target,
            Err(Unresolved::Invalid(reason)) => return Err(Refused::InvalidDn(reason)),
            Err(Unresolved::NoSuchObject(None)) if !shard.holds(dn) => {
                return Err(Refused::OutsideNamingContexts);
            }
            Err(Unresolved::NoSuchObject(matched)) => return Err(Refused::NoSuchSuperior { matched }),
        };
        if view.lookup(&target, &keys, &mut state.cache).is_some() {
            return Err(Refused::EntryAlreadyExists);
        }
        if target.parent == 0 && dn::split_first(dn).0.is_empty() {
            return Err(Refused::NamingViolation(
                "the root DSE is not an entry that can be added".to_owned(),
            ));
        }
        let rdn = dn::parse_rdn(dn::split_first(dn).0).map_err(|e| Refused::InvalidDn(e.to_string()))?;
        let naming = name_entry(&shard.schema, entry, &rdn)?;
        shard.schema.add_superclasses(entry);
        let checked = if shard.settings.schema_check {
            let options = CheckOptions { no_user_modification: keep_operational, obsolete: keep_operational };
            shard.schema.check(std::mem::take(entry), options).map_err(|(violation, raw)| {
                *entry = raw;
                Refused::Schema(violation)
            })?
        } else {
            shard.schema.accept(std::mem::take(entry))
        };
        let outcome = self.store_new(&checked, &target, &keys, &naming, stamp);
        self.state.scratch.key = keys;
        *entry = checked.into_raw();
        outcome
    }

    pub(super) fn store_new(
        &mut self,
        entry: &Entry<schema::Checked>,
        target: &crate::resolve::Target,
        keys: &[u8],
        naming: &[model::TypeId],
        stamp: Stamp,
    ) -> Result<EntryId, Refused> {
        let shard = self.shard;
        let values: usize =
            (0..entry.len()).map(|at| entry.values(at).map(|v| v.len() + 16).sum::<usize>()).sum();
        self.claim(2 * values + 4096)?;
        let full = Refused::MemoryLimit { bytes_max: shard.settings.memory_bytes_max };
        let id = shard.heap.allocate_id(&mut self.state.heap).map_err(|_| full.clone())?;
        for at in 0..entry.len() {
            let description = entry.description(at);
            if shard.indexes.cover(description.attribute_type) {
                self.index_change(id, description, std::iter::empty(), entry.values(at))?;
            }
        }
        if entry.position(model::Description::plain(shard.schema.well_known().entry_uuid)).is_some() {
            shard.note_foreign_uuid();
        }
        let stamps = Stamps { created: stamp.csn, creator: stamp.actor, modified: None };
        self.write_entry(&Write { id, parent: target.parent, entry, sets: &[], naming, stamps })?;
        let put = shard.dn_table.put(&mut self.state.dn, &shard.readers, target.tag, None, id);
        put.map_err(|_| full.clone())?;
        debug_assert_eq!(shard.dn_tag(target.parent, target.key(keys)), target.tag);
        let view = self.view();
        let (children, mut context) = Writer::context(&mut self.state, view);
        let listed =
            shard.children.insert(children, &mut context, shard.child_tag(target.parent), id, |child| {
                view.entry(EntryId(child)).is_some_and(|e| e.parent().0 == target.parent)
            });
        listed.map_err(|_| full)?;
        self.count_entries(1);
        Ok(EntryId(id))
    }
}
