//! ModifyDN: an entry gets another RDN, another superior, or both (RFC 4511 section 4.9). Its subordinates point to it by
//! id, so a whole subtree moves at the cost of one entry, and their DNs are made from the way up when they are read.
//!
//! For readers of older batches the old name must lead to the entry until the last of them is gone, so for a while both
//! names do. Each reader compares what it finds with the record at its read point, where only one of them is true.

use super::Stamp;
use super::judge::Judge;
use super::modify::Edit;
use super::name::{name_entry, remove_value};
use crate::deferred::Later;
use crate::record::{EntryRef, Stamps};
use crate::refused::Refused;
use crate::shard::Writer;
use model::{Description, EntryId, dn};

/// A modifyDN (RFC 4511 section 4.9).
#[derive(Clone, Copy, Debug)]
pub struct ModifyDn<'a> {
    /// The DN as it is.
    pub dn: &'a [u8],
    /// The RDN to be.
    pub new_rdn: &'a [u8],
    /// Are the values of the old RDN taken out of the entry?
    pub delete_old_rdn: bool,
    /// The superior to be; `None` for the one it has.
    pub new_superior: Option<&'a [u8]>,
}

impl Writer<'_> {
    /// Renames or moves the entry with this DN.
    pub fn modify_dn(&mut self, modify_dn: ModifyDn<'_>, stamp: Stamp) -> Result<EntryId, Refused> {
        self.modify_dn_judged(modify_dn, stamp, None)
    }

    /// As [`Writer::modify_dn`], if a judge has nothing against the entry in its new place.
    ///
    /// # Errors
    /// As there; what the judge says.
    pub fn modify_dn_judged(
        &mut self,
        modify_dn: ModifyDn<'_>,
        stamp: Stamp,
        judge: Option<&dyn Judge>,
    ) -> Result<EntryId, Refused> {
        let id = self.existing(modify_dn.dn)?;
        let view = self.view();
        let old = view.entry(id).expect("it was just found");
        // Its whole DN is a setting: renamed, it would be the root of a naming context that the server does not have.
        if old.parent().0 == 0 {
            return Err(Refused::NamingViolation(
                "the root of a naming context cannot be renamed".to_owned(),
            ));
        }
        let parent = match modify_dn.new_superior {
            None => old.parent(),
            Some(superior) => self.new_superior(superior)?,
        };
        self.refuse_below_dynamic(parent.0, old.shape.is_dynamic)?;
        // Against the state of this very batch: commands before it may have moved the superior below the entry.
        if view.is_within(parent, id) {
            return Err(Refused::BelowItself);
        }
        let (rest, invalid) =
            (dn::split_first(modify_dn.new_rdn).1, |e: dn::DnError| Refused::InvalidDn(e.to_string()));
        let rdn = dn::parse_rdn(modify_dn.new_rdn).map_err(invalid)?;
        if rest.is_some() {
            return Err(Refused::InvalidDn("the new RDN must be a single RDN".to_owned()));
        }
        let mut keys = Vec::new();
        let schema = &self.shard.schema;
        crate::resolve::rdn_key(schema, modify_dn.new_rdn, &mut keys, |name| schema.find_type(name))
            .map_err(Refused::InvalidDn)?;
        let target = self.shard.target(parent.0, &keys, 0);
        // The entry itself may have the new name: that only spells it otherwise.
        if view.lookup(&target, &keys, &mut self.state.cache).is_some_and(|other| other != id) {
            return Err(Refused::EntryAlreadyExists);
        }
        assert_eq!(target.parent, parent.0, "the new name is looked up below the new superior");
        let before = self.before(&old);
        let links = Links::new(self, &old, parent.0, target.tag);
        links.make(self)?;
        let mut edit = self.begin_edit(&old);
        edit.judge = judge;
        let outcome = self.rename(&old, &mut edit, &rdn, modify_dn.delete_old_rdn, parent, stamp);
        self.state.scratch.entry = edit.entry.into_cleared();
        links.drop_those(self, outcome.is_err());
        // A refused command leaves caches as they are: the new name never led anywhere.
        if outcome.is_ok() {
            self.names_change();
            self.note_rename(id, before);
        }
        outcome.map(|()| id)
    }

    /// The entry that shall be the superior. One that is an alias cannot be (RFC 4512 section 2.6), though a DN leads to it.
    fn new_superior(&mut self, superior: &[u8]) -> Result<EntryId, Refused> {
        let view = self.view();
        let found = view.resolve(superior, &mut self.state.cache);
        let id = found.map_err(|unresolved| self.no_superior(superior, unresolved))?;
        self.refuse_below_alias(id.0).map(|()| id)
    }

    /// Changes the naming attributes of the entry and stores it below its superior. The values of the old RDN go first: if
    /// the new one has one of them, it comes back.
    fn rename(
        &mut self,
        old: &EntryRef<'_>,
        edit: &mut Edit<'_>,
        rdn: &dn::Rdn<'_>,
        delete_old_rdn: bool,
        parent: EntryId,
        stamp: Stamp,
    ) -> Result<(), Refused> {
        let schema = &self.shard.schema;
        let names = |description: Description| {
            rdn.iter()
                .any(|ava| schema.find_type(ava.attribute_type).map(Description::plain) == Some(description))
        };
        // The first value of a naming attribute is the one that names the entry; a set has no first.
        if edit.sets.iter().any(|set| names(set.description)) {
            return Err(Refused::NamingViolation(
                "an attribute with so many values cannot name an entry".to_owned(),
            ));
        }
        if delete_old_rdn {
            for (at, value) in old.naming() {
                let description = old.shape.slots[at].description;
                // The value that matches that of the old RDN: it may be spelled otherwise.
                remove_value(schema, &mut edit.entry, description, value);
                edit.touch(description);
            }
        }
        let naming = name_entry(schema, &mut edit.entry, rdn)?;
        // `name_entry` may have added a value or moved one to the front: either is a change that the check has to see.
        for attribute_type in &naming.types {
            edit.touch(Description::plain(*attribute_type));
        }
        let stamps = Stamps { modified: Some((stamp.csn, stamp.actor)), ..old.stamps() };
        self.finish_edit(old, edit, parent.0, &naming, stamps)
    }
}

/// What leads to an entry from its names and superiors, before and after. The new links are made before the entry
/// is written, so that a refusal leaves it findable, and the one that follows them too early does not find what it looks
/// for.
struct Links {
    id: u32,
    /// Hashes of the old and the new name; `None` if they are the same.
    tags: Option<[u32; 2]>,
    /// The old and the new superior; `None` if they are the same.
    superiors: Option<[u32; 2]>,
}

impl Links {
    /// Compares names by their hashes: two that share one need only one link, whatever they are.
    fn new(writer: &Writer<'_>, old: &EntryRef<'_>, parent: u32, tag: u32) -> Links {
        let mut old_key = Vec::new();
        writer.view().key_of(old, &mut old_key);
        let (old_parent, old_tag) = (old.parent().0, writer.shard.dn_tag(old.parent().0, &old_key));
        Links {
            id: old.id.0,
            tags: (old_tag != tag).then_some([old_tag, tag]),
            superiors: (old_parent != parent).then_some([old_parent, parent]),
        }
    }

    /// Makes the new links. If the second lacks room the first is dropped again, so an error leaves nothing to undo.
    fn make(&self, writer: &mut Writer<'_>) -> Result<(), Refused> {
        if let Some([_, tag]) = self.tags {
            writer.link_name(self.id, tag)?;
        }
        if let Some([_, parent]) = self.superiors {
            let listed = writer.link_superior(self.id, parent);
            listed.inspect_err(|_| self.drop_name(writer, true))?;
        }
        Ok(())
    }

    /// Drops the new links, or else the old ones: when no reader is older than this batch, and only if no version of the
    /// entry that a reader may see has the name or superior by then. So a rename back and forth needs no care here.
    fn drop_those(&self, writer: &mut Writer<'_>, new: bool) {
        self.drop_name(writer, new);
        if let Some(superiors) = self.superiors {
            writer.leave_superior(superiors[usize::from(new)], self.id);
        }
    }

    fn drop_name(&self, writer: &mut Writer<'_>, new: bool) {
        if let Some(tags) = self.tags {
            writer.later(Later::Dn { tag: tags[usize::from(new)], id: self.id });
        }
    }
}
