//! Modify: attributes of an entry change, all as asked or none (RFC 4511 section 4.6).
//!
//! The stored record is taken apart into an [`Edit`]: values that lie in the record become a plain entry, and a big set
//! stays in its tree with a list of what is to be added and removed. The changes are made there in their order, so each
//! sees what those before it did; whether the outcome is a valid entry is asked once, at the end (section 4.6: only the
//! resulting entry must conform). Up to [`Writer::finish_edit`] nothing of the shard has changed, so a refusal drops the
//! edit and that is all.
//!
//! ModifyDN takes the same way from there on: to it a rename is an edit with another naming and another superior.

use super::Stamp;
use super::judge::{Judge, Made};
use super::name::{Naming, find_value, normal, remove_value};
use super::sets::SetEdit;
use super::write::Write;
use crate::lifetimes::is_dynamic;
use crate::record::{EntryRef, Stamps, ValueSet, Values};
use crate::refused::Refused;
use crate::resolve::Known;
use crate::shape::{Kind, is_stamp};
use crate::shard::Writer;
use crate::stream::EntryChangeKind;
use env::fast;
use model::{Description, Entry, EntryId};
use schema::{Changed, CheckOptions, HeldDescriptions, Schema, Syntax};
use smallvec::SmallVec;

/// What a change does (RFC 4511 section 4.6, RFC 4525).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Values are added.
    Add,
    /// Values, or without any the whole attribute, are taken away.
    Delete,
    /// The attribute has these values and no others.
    Replace,
    /// Every value grows by a number.
    Increment,
}

/// One change of a modify.
#[derive(Clone, Debug)]
pub struct Change<'a> {
    /// What to do.
    pub kind: ChangeKind,
    /// To which attribute.
    pub description: Description,
    /// With which values.
    pub values: SmallVec<[&'a [u8]; 1]>,
}

/// A modify: its entry, and changes in order.
#[derive(Clone, Copy)]
pub struct Modify<'c, 'v> {
    /// The DN.
    pub dn: &'c [u8],
    /// The changes.
    pub changes: &'c [Change<'v>],
    /// May attributes be changed that users cannot change? For what the server keeps itself.
    pub keep_operational: bool,
    /// Is it no error to add a value that is there, or to delete what is not?
    pub is_permissive: bool,
    /// May its structural object class become another one?
    pub is_relaxed: bool,
    /// Where the entry is, if that was worked out ahead.
    pub known: Option<Known<'c>>,
}

/// An entry that is being changed: what lies in the record, and the sets beside it.
pub(super) struct Edit<'v> {
    /// Its object classes, and all values that are no part of a set that stays.
    pub(super) entry: Entry,
    /// Every set that the record has, also those that go. An attribute that is here has values in `entry` only if its
    /// set is dropped: then these replace it.
    pub(super) sets: SmallVec<[SetEdit<'v>; 2]>,
    /// Attributes whose values may differ from the stored ones: only they are checked and indexed again.
    pub(super) touched: SmallVec<[Description; 4]>,
    /// Keeps descriptions valid that no shape has yet.
    pub(super) held: HeldDescriptions<'v>,
    /// May the structural object class become another one?
    is_relaxed: bool,
    /// Who judges what comes out.
    pub(super) judge: Option<&'v dyn Judge>,
}

impl Edit<'_> {
    /// The values of this attribute may differ from the stored ones.
    pub(super) fn touch(&mut self, description: Description) {
        if !self.touched.contains(&description) {
            self.touched.push(description);
        }
    }
}

impl<'s> Writer<'s> {
    /// Changes the entry with this DN.
    pub fn modify(&mut self, modify: Modify<'_, '_>, stamp: Stamp) -> Result<EntryId, Refused> {
        self.modify_judged(modify, stamp, None)
    }

    /// As [`Writer::modify`], if a judge has nothing against what becomes of the entry.
    ///
    /// # Errors
    /// As there; what the judge says.
    pub fn modify_judged(
        &mut self,
        modify: Modify<'_, '_>,
        stamp: Stamp,
        judge: Option<&dyn Judge>,
    ) -> Result<EntryId, Refused> {
        let id = self.existing_known(modify.dn, modify.known)?;
        let old = self.view().entry(id).expect("it was just found");
        let stamps = Stamps { modified: Some((stamp.csn, stamp.actor)), ..old.stamps() };
        self.change(&old, &modify, stamps, judge)?;
        self.note_change(id, EntryChangeKind::Modify);
        Ok(id)
    }

    /// Changes an entry, which has these stamps from then on.
    pub(super) fn change(
        &mut self,
        old: &EntryRef<'_>,
        modify: &Modify<'_, '_>,
        stamps: Stamps,
        judge: Option<&dyn Judge>,
    ) -> Result<(), Refused> {
        let mut types = modify.changes.iter().map(|change| change.description.attribute_type);
        let is_judged = judge.is_some_and(|judge| types.any(|of| judge.concerns(of)));
        // The common modify needs no edit. It says nothing of what it does not take, which is most of what is refused.
        if fast::IS_ON
            && !is_judged
            && let Some(places) = self.places(old, modify)
        {
            return self.replace_at(old, modify, &places, stamps);
        }
        let mut edit = self.begin_edit(old);
        edit.judge = judge;
        let outcome = self.change_entry(old, &mut edit, modify, stamps);
        // The memory of the entry serves the next command, whatever came out.
        self.state.scratch.entry = edit.entry.into_cleared();
        outcome
    }

    /// Makes the changes in their order, and stores the outcome.
    fn change_entry<'c, 'v: 'c>(
        &mut self,
        old: &EntryRef<'_>,
        edit: &mut Edit<'c>,
        modify: &Modify<'c, 'v>,
        stamps: Stamps,
    ) -> Result<(), Refused> {
        for change in modify.changes {
            if !modify.keep_operational {
                self.refuse_kept_by_server(change.description)?;
            }
            self.apply_change(edit, change, modify.is_permissive)?;
            edit.touch(change.description);
        }
        // After the last change, not after each: a value of the RDN may go and come back within one request.
        let naming = self.check_naming(old, edit)?;
        edit.is_relaxed = modify.is_relaxed;
        self.finish_edit(old, edit, old.parent().0, &naming, stamps)
    }

    /// Takes a stored entry apart.
    pub(super) fn begin_edit<'v>(&mut self, old: &EntryRef<'_>) -> Edit<'v>
    where
        's: 'v,
    {
        let schema: &'s Schema = &self.shard.schema;
        let entry = std::mem::take(&mut self.state.scratch.entry);
        assert!(entry.is_empty(), "a scratch entry is given back cleared");
        let (sets, touched) = (SmallVec::new(), SmallVec::new());
        let held = HeldDescriptions::new(schema);
        let mut edit = Edit { entry, sets, touched, held, is_relaxed: false, judge: None };
        let class_type = Description::plain(schema.well_known().object_class);
        // The record has no object classes: its shape has them.
        if !old.shape.class_values.is_empty() {
            edit.entry.push_attribute(class_type);
            old.shape.class_values.iter().for_each(|value| edit.entry.push_value(value));
        }
        let mut is_apart = false;
        for (slot, values) in old.shape.slots.iter().zip(old.slots()) {
            match values {
                _ if edit.held.one_attribute(slot.description).is_some() => is_apart = true,
                Values::Inline(values) => {
                    edit.entry.push_attribute(slot.description);
                    values.for_each(|value| edit.entry.push_value(value));
                }
                Values::Set(set) => edit.sets.push(SetEdit::new(slot.description, set)),
            }
        }
        // Last: what is joined must find the values of the attribute that it is joined to.
        if is_apart {
            self.join_attributes(old, &mut edit);
        }
        edit
    }

    /// NO-USER-MODIFICATION (RFC 4512 section 4.1.2): no client changes such an attribute, whatever its rights.
    fn refuse_kept_by_server(&self, description: Description) -> Result<(), Refused> {
        if !self.shard.schema.attribute_type(description.attribute_type).definition.no_user_modification {
            return Ok(());
        }
        let name = self.shard.schema.describe(description);
        Err(Refused::NotModifiable(format!("{name} is maintained by the server and cannot be modified")))
    }

    /// Makes one change. An attribute that is a set is changed there, unless an earlier change of the same request dropped
    /// the set: then its values lie in the entry like those of any other.
    fn apply_change<'c, 'v: 'c>(
        &mut self,
        edit: &mut Edit<'c>,
        change: &'c Change<'v>,
        is_permissive: bool,
    ) -> Result<(), Refused> {
        let description = change.description;
        if change.kind == ChangeKind::Increment {
            self.refuse_not_an_integer(description)?;
        }
        if let Some(at) = edit.sets.iter().position(|s| s.description == description && !s.dropped) {
            return self.change_set(edit, at, change, is_permissive);
        }
        match change.kind {
            ChangeKind::Add if is_permissive => {
                self.add_missing_values(&mut edit.entry, description, &change.values);
                Ok(())
            }
            ChangeKind::Delete if is_permissive => {
                self.delete_present_values(&mut edit.entry, description, &change.values);
                Ok(())
            }
            ChangeKind::Add => self.add_values(&mut edit.entry, description, &change.values),
            ChangeKind::Delete => self.delete_values(&mut edit.entry, description, &change.values),
            ChangeKind::Replace => {
                self.refuse_duplicates(description, &change.values)?;
                edit.entry.replace(description, change.values.iter().copied());
                Ok(())
            }
            ChangeKind::Increment => self.increment(&mut edit.entry, description, &change.values),
        }
    }

    /// Only integers grow (RFC 4525 section 3), not strings that happen to look like one.
    fn refuse_not_an_integer(&self, description: Description) -> Result<(), Refused> {
        let schema = &self.shard.schema;
        match schema.attribute_type(description.attribute_type).syntax {
            Syntax::Integer => Ok(()),
            _ => {
                let name = schema.describe(description);
                Err(Refused::NotIncrementable(format!("the values of {name} are not of syntax INTEGER")))
            }
        }
    }

    /// Plans one change of a set. No value of it is loaded but those that the change names, so adding a member to a group
    /// of a million looks at one leaf.
    fn change_set<'c, 'v: 'c>(
        &mut self,
        edit: &mut Edit<'c>,
        at: usize,
        change: &'c Change<'v>,
        is_permissive: bool,
    ) -> Result<(), Refused> {
        match change.kind {
            ChangeKind::Add => self.plan_adds(&mut edit.sets[at], &change.values, is_permissive),
            ChangeKind::Delete if !change.values.is_empty() => {
                self.plan_removes(&mut edit.sets[at], &change.values, is_permissive)
            }
            ChangeKind::Delete if edit.sets[at].count() == 0 && !is_permissive => {
                Err(self.no_such_attribute(change.description))
            }
            ChangeKind::Delete => {
                edit.sets[at].dropped = true;
                Ok(())
            }
            ChangeKind::Replace => {
                self.refuse_duplicates(change.description, &change.values)?;
                // The new values are in the entry from here on: many of them become another set when it is written.
                edit.sets[at].dropped = true;
                edit.entry.replace(change.description, change.values.iter().copied());
                Ok(())
            }
            ChangeKind::Increment => {
                let name = self.shard.schema.describe(change.description);
                // It would rewrite every leaf of the set, in a command whose cost has no bound.
                Err(Refused::NotIncrementable(format!("{name} has too many values to be incremented")))
            }
        }
    }

    /// A value that is there already is an error (RFC 4511 section 4.6: attributeOrValueExists), also if it is spelled
    /// otherwise, and so is one that the request has twice.
    fn add_values(
        &self,
        entry: &mut Entry,
        description: Description,
        values: &[&[u8]],
    ) -> Result<(), Refused> {
        self.refuse_duplicates(description, values)?;
        for value in values {
            if find_value(&self.shard.schema, entry, description, value).is_some() {
                return Err(self.value_exists(description, value));
            }
        }
        entry.extend(description, values.iter().copied());
        Ok(())
    }

    /// More than a few values are distinguished by their sorted normal forms: comparing each with each takes time by
    /// the square of their number. A value without a normal form is distinguished by its bytes.
    fn refuse_duplicates(&self, description: Description, values: &[&[u8]]) -> Result<(), Refused> {
        if values.len() < 2 {
            return Ok(());
        }
        let attribute_type = description.attribute_type;
        let form = |value: &[u8]| {
            normal(&self.shard.schema, attribute_type, value).unwrap_or_else(|| value.to_vec())
        };
        let mut forms: Vec<_> = values.iter().map(|value| (form(value), *value)).collect();
        forms.sort_unstable();
        match forms.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => {
                let (name, value) = self.shown(description, pair[1].1);
                Err(Refused::ValueExists(format!("{name} is given the value \"{value}\" twice")))
            }
            None => Ok(()),
        }
    }

    /// Values that are not there, and an attribute that is not there, are errors (RFC 4511 section 4.6: noSuchAttribute).
    /// An attribute whose last value goes is no longer there either.
    fn delete_values(
        &self,
        entry: &mut Entry,
        description: Description,
        values: &[&[u8]],
    ) -> Result<(), Refused> {
        if entry.position(description).is_none() {
            return Err(self.no_such_attribute(description));
        }
        // Without values the whole attribute goes.
        if values.is_empty() {
            entry.replace(description, []);
        }
        // Each value is looked for in what those before it left, so one that is listed twice is missing the second time.
        for value in values {
            if !remove_value(&self.shard.schema, entry, description, value) {
                return Err(self.no_such_value(description, value));
            }
        }
        Ok(())
    }

    /// As [`Writer::add_values`], of a permissive modify: what is there stays as it is spelled, and of values that match each other the first
    /// comes.
    fn add_missing_values(&self, entry: &mut Entry, description: Description, values: &[&[u8]]) {
        for value in values {
            if find_value(&self.shard.schema, entry, description, value).is_none() {
                entry.extend(description, [*value]);
            }
        }
    }

    /// As [`Writer::delete_values`], of a permissive modify: what is not there need not go.
    fn delete_present_values(&self, entry: &mut Entry, description: Description, values: &[&[u8]]) {
        if entry.position(description).is_none() {
            return;
        }
        if values.is_empty() {
            entry.replace(description, []);
        }
        for value in values {
            remove_value(&self.shard.schema, entry, description, value);
        }
    }

    fn no_such_attribute(&self, description: Description) -> Refused {
        let name = self.shard.schema.describe(description);
        Refused::NoSuchAttribute(format!("the entry has no attribute {name}"))
    }

    /// Adds a number to every value (RFC 4525 section 3). INTEGER has no bound in LDAP; here it is that of an i128, and what
    /// exceeds it is refused and never wrapped.
    fn increment(
        &self,
        entry: &mut Entry,
        description: Description,
        values: &[&[u8]],
    ) -> Result<(), Refused> {
        let name = || self.shard.schema.describe(description);
        let refuse = |text: String| Err(Refused::NotIncrementable(text));
        let number =
            |value: &[u8]| std::str::from_utf8(value).ok().and_then(|text| text.parse::<i128>().ok());
        let &[by] = values else {
            return refuse(format!("an increment of {} takes exactly one value", name()));
        };
        let Some(position) = entry.position(description) else {
            return Err(self.no_such_attribute(description));
        };
        let Some(by) = number(by) else {
            return refuse(format!("{} can only be incremented by an integer", name()));
        };
        // All sums before the first is stored: one that exceeds the bound refuses the whole request.
        let mut sums = Vec::new();
        for value in entry.values(position) {
            match number(value).and_then(|n| n.checked_add(by)) {
                Some(sum) => sums.push(sum.to_string()),
                None => {
                    let (name, value) = self.shown(description, value);
                    return refuse(format!("the value \"{value}\" of {name} cannot be incremented"));
                }
            }
        }
        entry.replace(description, sums.iter().map(String::as_bytes));
        Ok(())
    }

    /// The values that the RDN is made of must stay (RFC 4511 section 4.6). The one that names comes first among its
    /// attribute's, where the record has it; if the client sent it back in another spelling, the DN keeps the old one.
    fn check_naming(&self, old: &EntryRef<'_>, edit: &mut Edit<'_>) -> Result<Naming, Refused> {
        let (mut naming, mut is_other) = (Naming::default(), false);
        for (at, value) in old.naming() {
            let description = old.shape.slots[at].description;
            naming.types.push(description.attribute_type);
            if edit.touched.contains(&description) {
                let Some(found) = find_value(&self.shard.schema, &edit.entry, description, value) else {
                    let (name, value) = self.shown(description, value);
                    let text = format!("{name} must keep the value \"{value}\" that the entry is named by");
                    return Err(Refused::NotAllowedOnRdn(text));
                };
                let position = edit.entry.position(description).expect("it has the value");
                edit.entry.move_to_front(position, found);
            }
            is_other |= edit.entry.values_of(description).next() != Some(value);
        }
        naming.note_spelling(is_other, old.naming().map(|(_, value)| value));
        Ok(naming)
    }

    /// Checks the changed entry and puts it in the old one's place.
    ///
    /// What may still be refused stands before the first change of an index: schema, memory, the number of shapes. After
    /// that only a table may be full. Keys that were added by then lead to an entry that does not have them, which is
    /// allowed, since every index is a superset and each candidate is verified.
    pub(super) fn finish_edit(
        &mut self,
        old: &EntryRef<'_>,
        edit: &mut Edit<'_>,
        parent: u32,
        naming: &Naming,
        stamps: Stamps,
    ) -> Result<(), Refused> {
        let shard = self.shard;
        let class_type = Description::plain(shard.schema.well_known().object_class);
        // What is no change of the entry leaves them.
        if old.shape.stores_stamps && stamps != old.stamps() {
            self.drop_stale_stamps(old, edit);
        }
        // Superclasses may be left out by a client, but not in an entry (RFC 4512 section 3.3).
        if edit.touched.contains(&class_type) {
            shard.schema.add_superclasses(&mut edit.entry);
            let is_changed = is_dynamic(&shard.schema, &edit.entry) != old.shape.is_dynamic;
            if is_changed && !shard.keeps_dynamic() {
                return Err(Refused::DynamicChanged);
            }
        }
        // The schema judges the entry without the sets, and is given the attributes that have values there.
        let present: SmallVec<[Description; 2]> =
            edit.sets.iter().filter(|s| s.count() > 0).map(|s| s.description).collect();
        // Values that are already in a set were checked when they came, so only those that join are.
        for set in edit.sets.iter().filter(|s| !s.is_unchanged() && !s.dropped) {
            let values =
                shard.schema.check_joining_values(set.description, set.added(), CheckOptions::COMPLETE);
            values.map_err(Refused::Schema)?;
        }
        let entry = std::mem::take(&mut edit.entry);
        let checked = if shard.settings.schema_check {
            let structural = old.shape.structural.filter(|_| !edit.is_relaxed);
            let changed = Changed { touched: &edit.touched, elsewhere: &present, structural };
            shard.schema.recheck(entry, changed, CheckOptions::COMPLETE).map_err(|(violation, raw)| {
                edit.entry = raw;
                Refused::Schema(violation)
            })?
        } else {
            shard.schema.accept(entry)
        };
        // A rename comes here too, and a change of the structural class.
        if shard.judges_places()
            && let Err(refused) =
                self.judge_new_place(old, checked.state().structural(), &naming.types, parent)
        {
            edit.entry = checked.into_raw();
            return Err(refused);
        }
        let (parent_id, touched) = (EntryId(parent), &edit.touched[..]);
        let (dn, sets) = (None, &edit.sets);
        let made = Made { old: Some(old), dn, parent: parent_id, touched, entry: &checked, sets };
        if let Err(refused) = self.ask(edit.judge, &made) {
            edit.entry = checked.into_raw();
            return Err(refused);
        }
        // Twice the values, for the record and for those that become a set; nodes are claimed for each change of a set.
        let values: usize = (0..checked.len()).map(|at| value_bytes(checked.values(at))).sum();
        let values = values + naming.spelling.len();
        let claimed = 2 * values + 4096 + edit.sets.iter().map(SetEdit::claim).sum::<usize>();
        let grows = edit.sets.iter().any(SetEdit::grows) || values > stored_bytes(old, edit);
        self.claim_change(claimed, grows)?;
        let id = old.id.0;
        // The shape, for its refusals alone: the sets have their new roots and counts only after the changes below, but the
        // shape knows nothing of those.
        let kept: SmallVec<[(Description, ValueSet); 2]> =
            edit.sets.iter().filter(|s| s.count() > 0).map(|s| (s.description, s.set)).collect();
        if let Err(refused) =
            self.shape_of(&Write { id, parent, entry: &checked, sets: &kept, naming, stamps })
        {
            edit.entry = checked.into_raw();
            return Err(refused);
        }
        for description in &edit.touched {
            if self.view().indexes().cover(description.attribute_type) {
                self.reindex(old, &checked, *description)?;
            }
        }
        // Nodes are versioned with this batch: until it is published, readers see the sets as they were.
        let mut sets: SmallVec<[(Description, ValueSet); 2]> = SmallVec::new();
        for set in &edit.sets {
            let after = if set.is_unchanged() { Some(set.set) } else { self.apply(id, set)? };
            sets.extend(after.map(|after| (set.description, after)));
        }
        self.write_entry(&Write { id, parent, entry: &checked, sets: &sets, naming, stamps })?;
        let rule = shard.schema.well_known().access_rule;
        if edit.touched.iter().any(|touched| touched.attribute_type == rule)
            || edit.sets.iter().any(|set| set.description.attribute_type == rule && !set.is_unchanged())
        {
            self.access_rules_change();
        }
        // A change of object classes can make an alias or a referral object of an entry, or a plain one again. The new kind was
        // noted when the record was written; the old one stays in its set for readers of older batches.
        if old.shape.kind != Kind::Plain || old.shape.has_access_rules {
            let now = self.view().entry(old.id).map(|entry| entry.shape);
            self.leave_kind(id, old.shape, now);
        }
        // After the record is written: whether a dropped key is still due to another value is read there.
        self.settle_trees(id);
        edit.entry = checked.into_raw();
        Ok(())
    }

    /// What an import reported of the last change is no longer true.
    fn drop_stale_stamps(&self, old: &EntryRef<'_>, edit: &mut Edit<'_>) {
        let schema = &self.shard.schema;
        for slot in old.shape.slots.iter().filter(|slot| is_stamp(schema, slot.description)) {
            if !edit.touched.contains(&slot.description) {
                edit.entry.replace(slot.description, []);
                edit.touched.push(slot.description);
            }
        }
    }

    /// Changes the index keys of one attribute from its stored values to the new ones. The keys of a set that stays are
    /// changed with its values; a set that was dropped takes its own along.
    fn reindex(
        &mut self,
        old: &EntryRef<'_>,
        new: &Entry<schema::Checked>,
        description: Description,
    ) -> Result<(), Refused> {
        let after = new.values_of(description);
        if description == Description::plain(self.shard.schema.well_known().object_class) {
            let before = old.shape.class_values.iter().map(|v| &**v);
            return self.index_change(old.id.0, description, before, after);
        }
        match old.shape.position(description).map(|at| old.slot(at)) {
            Some(Values::Inline(before)) => self.index_change(old.id.0, description, before, after),
            _ => self.index_change(old.id.0, description, std::iter::empty(), after),
        }
    }
}

/// Bytes of values, with what it takes to keep them: length in the record, and key, length and share of a node in a set.
pub(super) fn value_bytes<'v>(values: impl Iterator<Item = &'v [u8]>) -> usize {
    values.map(|value| value.len() + 16).sum()
}

/// The same for what an entry has before an edit, without the sets that it keeps. An entry that does not grow by this
/// count may use the reserve above the memory limit, so that a full directory can still be made smaller.
fn stored_bytes(old: &EntryRef<'_>, edit: &Edit<'_>) -> usize {
    let inline = old.slots().map(|values| match values {
        Values::Inline(values) => value_bytes(values),
        Values::Set(_) => 0,
    });
    let dropped = edit.sets.iter().filter(|set| set.dropped).map(|set| set.set.ber_bytes as usize);
    let beside = value_bytes(old.shape.class_values.iter().map(|v| &**v)) + old.raw_spelling().len();
    beside + inline.chain(dropped).sum::<usize>()
}
