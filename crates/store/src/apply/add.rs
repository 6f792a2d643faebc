//! Add: a new entry (RFC 4511 section 4.7).
//!
//! The entry is found by name and superior before its record is there: who follows these in between, the writer itself
//! included, finds no entry under the id and goes on. So the record is written last, and an add that runs out of room on
//! the way has only to remove the ways to its id.

use super::condition::UNSTORED;
use super::judge::{Judge, Made};
use super::modify::value_bytes;
use super::name::{Naming, name_entry};
use super::write::Write;
use super::{Condition, Stamp};
use crate::deferred::Later;
use crate::record::Stamps;
use crate::refused::Refused;
use crate::shard::{Shard, Writer};
use crate::stream::EntryChangeKind;
use model::{Entry, EntryId, dn};
use schema::{CheckOptions, Checked};

/// A new entry: its DN and attributes. RDN values may be missing among them; superclasses too.
pub struct Add<'a> {
    /// The DN.
    pub dn: &'a [u8],
    /// Its attributes; given back cleared, so that the memory can be used again.
    pub entry: &'a mut Entry,
    /// May it carry values for attributes that users cannot change, as an import may?
    pub keep_operational: bool,
}

impl Shard {
    /// Gives an entry its RDN and checks it: all that an add does with the entry alone. After a refusal the entry is left in
    /// `entry`, as far as that got.
    pub(super) fn name_and_check(
        &self,
        rdn: &[u8],
        entry: &mut Entry,
        keep_operational: bool,
    ) -> Result<(Naming, Entry<Checked>), Refused> {
        let rdn = dn::parse_rdn(rdn).map_err(|e| Refused::InvalidDn(e.to_string()))?;
        // Both before the check: RDN values and superclasses may be missing in a request, but not in an entry.
        let naming = name_entry(&self.schema, entry, &rdn)?;
        self.schema.add_superclasses(entry);
        let raw = std::mem::take(entry);
        if !self.settings.schema_check {
            return Ok((naming, self.schema.accept(raw)));
        }
        let options = CheckOptions { no_user_modification: keep_operational, obsolete: keep_operational };
        match self.schema.check(raw, options) {
            Ok(checked) => Ok((naming, checked)),
            Err((violation, raw)) => {
                *entry = raw;
                Err(Refused::Schema(violation))
            }
        }
    }
}

impl Writer<'_> {
    /// Adds an entry.
    pub fn add(&mut self, add: Add<'_>, stamp: Stamp) -> Result<EntryId, Refused> {
        self.add_with(add, stamp, None, None)
    }

    /// Adds an entry if a judge has nothing against it, and then a condition is true of it.
    ///
    /// # Errors
    /// As [`Writer::add_if`]; what the judge says.
    pub fn add_judged(
        &mut self,
        add: Add<'_>,
        stamp: Stamp,
        judge: Option<&dyn Judge>,
        condition: Option<Condition<'_>>,
    ) -> Result<EntryId, Refused> {
        self.add_with(add, stamp, judge, condition)
    }

    /// As [`Writer::add`], with a condition. The entry goes back to the caller cleared, so an import that adds a million of them
    /// asks for its memory once.
    pub(super) fn add_with(
        &mut self,
        add: Add<'_>,
        stamp: Stamp,
        judge: Option<&dyn Judge>,
        condition: Option<Condition<'_>>,
    ) -> Result<EntryId, Refused> {
        let mut entry = std::mem::take(add.entry);
        let outcome = self.add_entry((add.dn, add.keep_operational), &mut entry, stamp, judge, condition);
        *add.entry = entry.into_cleared();
        outcome
    }

    /// Judges the entry and stores it. After a refusal `entry` is as far as that got: the caller clears it.
    fn add_entry(
        &mut self,
        (dn, keep_operational): (&[u8], bool),
        entry: &mut Entry,
        stamp: Stamp,
        judge: Option<&dyn Judge>,
        condition: Option<Condition<'_>>,
    ) -> Result<EntryId, Refused> {
        let (shard, view) = (self.shard, self.view());
        let state = &mut *self.state;
        state.cache.refresh(view);
        // Taken out, not borrowed: the target lies in it until the entry is stored, and the writer is borrowed whole by
        // then. A refusal on the way loses the buffer, and the next command takes a new one.
        let mut keys = std::mem::take(&mut state.scratch.key);
        keys.clear();
        let target = match view.target(dn, &mut state.cache, &mut keys) {
            Ok(target) => target,
            Err(unresolved) => return Err(self.no_superior(dn, unresolved)),
        };
        if view.lookup(&target, &keys, &mut state.cache).is_some() {
            return Err(Refused::EntryAlreadyExists);
        }
        // The empty DN is the root DSE's (RFC 4512 section 5.1), which the server makes itself.
        if target.parent == 0 && dn::split_first(dn).0.is_empty() {
            return Err(Refused::NamingViolation(
                "the root DSE is not an entry that can be added".to_owned(),
            ));
        }
        let (naming, checked) = shard.name_and_check(dn::split_first(dn).0, entry, keep_operational)?;
        let (parent, entry_made) = (EntryId(target.parent), &checked);
        let made = Made { old: None, dn: Some(dn), parent, touched: &[], entry: entry_made, sets: &[] };
        if let Err(refused) = self.ask(judge, &made) {
            *entry = checked.into_raw();
            return Err(refused);
        }
        // Last, and of what would be stored: an assertion control is judged on the entry as it is to be (RFC 4528).
        if let Some(condition) = condition {
            let stamps = stamps_of_new(stamp);
            let id = UNSTORED;
            let write =
                Write { id, parent: target.parent, entry: &checked, sets: &[], naming: &naming, stamps };
            if !self.is_met_by(&write, condition)? {
                return Err(Refused::ConditionFailed);
            }
        }
        let outcome = self.store_new(&checked, &target, &keys, &naming, stamp);
        self.state.scratch.key = keys;
        *entry = checked.into_raw();
        outcome
    }

    /// Stores an entry that was checked, at a target that no entry has: by every way in which single entries are added.
    pub(super) fn store_new(
        &mut self,
        entry: &Entry<Checked>,
        target: &crate::resolve::Target,
        keys: &[u8],
        naming: &Naming,
        stamp: Stamp,
    ) -> Result<EntryId, Refused> {
        let shard = self.shard;
        self.refuse_below_alias(target.parent)?;
        self.refuse_static_below(target.parent, entry)?;
        // Before room is claimed: a refusal has touched nothing.
        if shard.judges_places() {
            self.judge_place(entry.state().structural(), &naming.types, target.parent)?;
        }
        let values: usize = (0..entry.len()).map(|at| value_bytes(entry.values(at))).sum();
        // An upper bound, not a count: record or nodes, their headers, keys of ordering indexes. Small nodes of those fit into
        // the segments that the heap keeps beyond each claim.
        self.claim(2 * (values + naming.spelling.len()) + 4096)?;
        let id = self.state.heap.ids.allocate().map_err(|_| shard.limit_reached())?;
        assert!(!shard.heap.has_object(id), "an id that is given to a new entry has no object");
        // In test builds only: it hashes the name again.
        debug_assert_eq!(shard.dn_tag(target.parent, target.key(keys)), target.tag);
        let stamps = stamps_of_new(stamp);
        let write = Write { id, parent: target.parent, entry, sets: &[], naming, stamps };
        if let Err(refused) = self.link_and_write(&write, target.tag) {
            self.take_back(&write);
            return Err(refused);
        }
        // From the first such entry on, a search for an entryUUID cannot rely on inverting the permutation alone.
        if entry.position(model::Description::plain(shard.schema.well_known().entry_uuid)).is_some() {
            shard.note_foreign_uuid();
        }
        self.count_entries(1);
        self.note_change(EntryId(id), EntryChangeKind::Add);
        Ok(EntryId(id))
    }

    /// Makes a new entry findable, then stores it. Nobody sees what leads to an id that has no entry.
    fn link_and_write(&mut self, write: &Write<'_>, tag: u32) -> Result<(), Refused> {
        for at in 0..write.entry.len() {
            let description = write.entry.description(at);
            if self.view().indexes().cover(description.attribute_type) {
                self.index_change(write.id, description, std::iter::empty(), write.entry.values(at))?;
            }
        }
        self.link_name(write.id, tag)?;
        // A step that fails undoes the ones before it, by removals that wait like those of a delete.
        let stored = self.link_superior(write.id, write.parent).and_then(|()| {
            self.write_entry(write).inspect_err(|_| self.leave_superior(write.parent, write.id))
        });
        stored.inspect_err(|_| self.later(Later::Dn { tag, id: write.id }))?;
        self.settle_trees(write.id);
        Ok(())
    }

    /// Puts an id under the hash of its name.
    pub(super) fn link_name(&mut self, id: u32, tag: u32) -> Result<(), Refused> {
        let shard = self.shard;
        let put = shard.dn_table.put(&mut self.state.dn, &shard.readers, tag, None, id);
        put.map_err(|_| shard.limit_reached())
    }

    /// Puts an id among those below `parent`.
    pub(super) fn link_superior(&mut self, id: u32, parent: u32) -> Result<(), Refused> {
        let (shard, view) = (self.shard, self.view());
        let (children, mut context) = Writer::context(&mut self.state, view);
        let listed = shard.children.insert(children, &mut context, shard.child_tag(parent), id, |child| {
            view.entry(EntryId(child)).is_some_and(|e| e.parent().0 == parent)
        });
        listed.map_err(|_| shard.limit_reached())
    }

    /// The index keys of an entry that could not be stored go, and its id is free again. The id gets a removed object, so
    /// that it goes the way of an entry that was deleted: its removals are made before the id is given to another.
    #[cold]
    fn take_back(&mut self, write: &Write<'_>) {
        for at in 0..write.entry.len() {
            let none = std::iter::empty::<&[u8]>();
            let dropped =
                self.index_change(write.id, write.entry.description(at), write.entry.values(at), none);
            assert!(dropped.is_ok(), "nothing is added, so nothing lacks room");
        }
        self.settle_trees(write.id);
        self.shard.heap.put_removed(&mut self.state.heap, write.id, self.sequence);
        self.mark_dead(write.id);
    }
}

/// An entry that nobody has modified has no modifier: modifyTimestamp and modifiersName are those of its creation.
fn stamps_of_new(stamp: Stamp) -> Stamps {
    Stamps { created: stamp.csn, creator: stamp.actor, modified: None }
}
