//! What an update would do, in the overlay of its transaction: the code that carries updates out runs on copies of the
//! entries that it is about.
//!
//! Entries are copied into the overlay when the first update names them, with as much of their big sets as the update looks at. Names,
//! parents and counts come from the directory below. What cannot be judged that way is refused, never guessed.

use crate::constraints::{Given, Judging};
use crate::context::{Reading, Writing};
use crate::control::{Requested, update};
use crate::dispatch;
use crate::effective::Effective;
use crate::outcome::{self, Refusal};
use crate::referral::refer_update;
use model::{Description, EntryId, Filter, ResultCode};
use proto::message::{Message, Request};
use proto::op::{ModifyDn, ModifyKind};
use proto::tag;
use schema::Schema;
use std::collections::VecDeque;
use store::Refused;
use store::overlay::Overlay;

/// Why a transaction has no update that another server would make.
pub(crate) const ELSEWHERE: &str = "the entry is on another server; a transaction cannot span servers";

/// Are the old and the new RDN of the same attributes?
/// Then the same name forms fit, and so do the structure rules below one superior.
/// A name that cannot be read is refused by the rename itself.
fn keeps_naming_types(schema: &Schema, rename: &ModifyDn<'_>) -> bool {
    // An attribute that the schema does not have is refused there, too.
    let types = |rdn: &[u8]| {
        let parts = model::dn::parse_rdn(rdn).ok()?;
        let mut types: Vec<_> = parts.iter().map(|part| schema.find_type(part.attribute_type)).collect();
        types.sort_unstable();
        Some(types)
    };
    types(model::dn::split_first(rename.dn).0) == types(rename.new_rdn)
}

/// An overlay in which updates are evaluated, and what it takes.
/// It is used for the updates as they come in, for a view of the transaction, and at the commit: all three must come to the same.
pub(crate) struct Evaluation<'e, 'r> {
    /// What the overlay lies on.
    pub(crate) base: &'e mut Reading<'r>,
    pub(crate) overlay: &'e mut Overlay,
    pub(crate) effective: Effective<'e>,
    /// Is it an update that belongs to no transaction?
    is_alone: bool,
    /// What adds got besides their own values, in their order.
    pub(crate) given: VecDeque<Given>,
}

impl<'e, 'r> Evaluation<'e, 'r> {
    /// Nothing is evaluated yet.
    pub(crate) fn new(
        base: &'e mut Reading<'r>,
        overlay: &'e mut Overlay,
        effective: Effective<'e>,
        is_alone: bool,
    ) -> Evaluation<'e, 'r> {
        Evaluation { base, overlay, effective, is_alone, given: VecDeque::new() }
    }

    /// Carries an update of `len` bytes out in the overlay; a new entry gets `new_id`. Appends the answer; `true` if the update was
    /// done.
    /// `false` leaves the overlay as it was, but for entries that were copied into it.
    pub(crate) fn run(
        &mut self,
        message: &Message<'_>,
        len: usize,
        requested: &Requested<'_>,
        new_id: u32,
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(response) = tag::response_to(message.request.tag()) else { return false };
        // Running out of memory here changes nothing anywhere else.
        // The mark means that the directory cannot go on; an overlay that is full is only a refusal.
        let lacked_memory = self.base.scratch.lacked_memory;
        // Checked before the update, so the entries of one update may pass the bound: what it takes is known only when it is done.
        let brought = self.overlay.refuse_if_full().and_then(|()| self.bring(&message.request));
        let brought = brought.map_err(|refused| (refused.result_code(), refused.to_string()));
        let done = match brought.and_then(|()| self.refuse_beforehand(message, requested)) {
            Err((code, text)) => {
                outcome::say(out, message.id, response, code, &text);
                false
            }
            Ok(()) => self.apply(message, len, requested, new_id, out),
        };
        self.base.scratch.lacked_memory = lacked_memory;
        done
    }

    /// Copies what the update will look at.
    /// A rename needs both places: the new name may be taken, and its superior must be there.
    fn bring(&mut self, request: &Request<'_>) -> Result<(), Refused> {
        let named = match request {
            Request::Modify(modify) => named(self.base.dsa.shard.schema(), modify),
            _ => Vec::new(),
        };
        let Reading { dsa, read_point, .. } = &*self.base;
        // An add may get a number from a counter.
        if let Request::Add(_) = request
            && let Some(in_force) = dsa.constraints.now(dsa.behaviour())
        {
            in_force.counters().try_for_each(|counter| self.overlay.bring(*read_point, counter, &[]))?;
        }
        update::names(request).try_for_each(|dn| self.overlay.bring(*read_point, &dn, &named))?;
        match request {
            Request::Delete(dn) => self.bring_referring(dn, false),
            Request::ModifyDn(rename) => self.bring_referring(rename.dn, true),
            _ => Ok(()),
        }
    }

    /// Copies what refers to an entry and changes with it.
    /// Of big sets of members only the values that are going to change come along.
    fn bring_referring(&mut self, dn: &[u8], is_rename: bool) -> Result<(), Refused> {
        let Reading { dsa, read_point, .. } = &*self.base;
        let Some(in_force) = dsa.constraints.now(dsa.behaviour()) else { return Ok(()) };
        let shard = std::sync::Arc::clone(self.overlay.shard());
        let referring = {
            let (writer, overlay) = (shard.writer(), &*self.overlay);
            let judging = Judging::in_overlay(&in_force, *read_point, overlay);
            judging.references(dn, is_rename, writer.view())?
        };
        for (holder, references) in &referring.holders {
            let named: Vec<_> =
                references.iter().map(|reference| (reference.description, &reference.was[..])).collect();
            self.overlay.bring_entry(*read_point, EntryId(*holder), &named)?;
        }
        Ok(())
    }

    /// What cannot be seen in the overlay, or not be known from it.
    /// It runs before the update is applied, since the overlay cannot take an update back.
    fn refuse_beforehand(&self, message: &Message<'_>, requested: &Requested<'_>) -> Result<(), Refusal> {
        // RFC 4511 section 4.8: only leaf entries can be deleted.
        // Subordinates that the transaction has not touched are in the directory alone.
        if let Request::Delete(dn) = &message.request
            // One that is not found is refused by the delete itself.
            && let Some(id) = self.overlay.find(dn)
        {
            let children = self.overlay.subordinates_elsewhere(self.base.read_point, id);
            if children > 0 {
                let refused = Refused::NotAllowedOnNonLeaf { children };
                return Err((refused.result_code(), refused.to_string()));
            }
        }
        // A rename may give an entry another structure rule only if it has no subordinates. The overlay does not have all of them, so it cannot tell.
        // With an RDN of the same attributes below the same superior the rule stays.
        if let Request::ModifyDn(rename) = &message.request
            && self.base.dsa.shard.schema().has_structure_rules()
            && (rename.new_superior.is_some() || !keeps_naming_types(self.base.dsa.shard.schema(), rename))
            && let Some(id) = self.overlay.find(rename.dn)
            && self.overlay.subordinates_elsewhere(self.base.read_point, id) > 0
        {
            let text = "the schema has structure rules: an entry with subordinates is moved or named by other attributes outside of transactions only";
            return Err(outcome::unwilling(text));
        }
        let Some(rare) = &requested.rare else { return Ok(()) };
        let unwilling = |text: &str| Err(outcome::unwilling(text));
        // The directory and its overlay share the schema.
        let schema = self.base.dsa.shard.schema();
        if rare.assertion.as_ref().is_some_and(|(filter, _)| asks_for_subordinates(schema, filter)) {
            return unwilling("assertions on subordinates are not possible in a transaction");
        }
        // An assertion or a critical read on a set of which only some values were copied would see too few of them.
        let must_be_whole = rare.assertion.is_some() || rare.critical().is_some();
        // An add has no entry before it, so it has no target.
        let target = update::target(&message.request).filter(|_| must_be_whole);
        match target.and_then(|dn| self.overlay.find(dn)).is_some_and(|id| self.overlay.is_partial(id)) {
            true => {
                unwilling("an attribute of the entry has too many values for this control in a transaction")
            }
            false => Ok(()),
        }
    }

    /// The overlay is a shard like any other, with a writer's role that nobody else wants.
    fn apply(
        &mut self,
        message: &Message<'_>,
        len: usize,
        requested: &Requested<'_>,
        new_id: u32,
        out: &mut Vec<u8>,
    ) -> bool {
        // A handle of its own, so that the overlay can note below what was changed.
        let shard = std::sync::Arc::clone(self.overlay.shard());
        // Each update is judged with those before it: the overlay has what they made, the base all else.
        let constraints = self.base.dsa.constraints.now(self.base.dsa.behaviour());
        let base = self.base.read_point;
        let judging = constraints.as_ref().map(|in_force| Judging::in_overlay(in_force, base, self.overlay));
        let mut writer = shard.writer();
        let is_add = matches!(message.request, Request::Add(_));
        // Copies have the ids that their entries have in the directory. A new entry must not take one of these here.
        if is_add && writer.give_ids(&[new_id]).is_err() {
            let text = "there is no memory for another entry";
            outcome::say(out, message.id, tag::ADD_RESPONSE, ResultCode::AdminLimitExceeded, text);
            return false;
        }
        // Templates are remembered by numbers of shapes, which are others here.
        let Reading { dsa, scratch, now, .. } = &mut *self.base;
        let templates = requested.rare.as_ref().map(|_| std::mem::take(&mut scratch.templates));
        // An overlay has names of its own; whether the directory has room for this one is asked before.
        let actor = writer.name(self.effective.dn()).unwrap_or_default();
        // No place and no stamp are known beforehand: prepared writes are of the directory, and none is used here.
        let mut writing = Writing {
            dsa,
            writer: &mut writer,
            scratch,
            now: *now,
            effective: self.effective,
            actor,
            spare: None,
            known: None,
            judging: judging.as_ref(),
        };
        // Whatever the update answers is behind this, and can be taken back.
        let begin = out.len();
        // A referral to another server would be the answer to this update alone, so the answer says what it means for the transaction.
        let done = match refer_update(&mut writing, message, requested, out) {
            true if self.is_alone => None,
            true => {
                out.truncate(begin);
                refuse_referral(message, out);
                None
            }
            false => match &requested.rare {
                None => dispatch::update(&mut writing, message, None, out),
                Some(rare) => update::run(&mut writing, message, len, rare, out),
            },
        };
        if let Some(templates) = templates {
            self.base.scratch.templates = templates;
        }
        if is_add {
            // From here on the overlay gives ids of its own again.
            writer.end_given_ids();
        }
        // Each update by itself: the next one finds its entry at a read point of the overlay.
        writer.publish();
        let (hashes, others, given) = judging.map(Judging::into_noted).unwrap_or_default();
        self.given.extend(given);
        if let Some(id) = done {
            assert!(!is_add || id.0 == new_id, "a new entry has the id that was given for it");
            self.overlay.note_changed(id);
            for (other, hash) in hashes {
                self.overlay.note_value(if other.0 == 0 { id } else { other }, hash);
            }
            others.into_iter().for_each(|id| self.overlay.note_changed(id));
        }
        done.is_some()
    }
}

/// A transaction happens in one server (RFC 5805 section 4 leaves more to others).
fn refuse_referral(message: &Message<'_>, out: &mut Vec<u8>) {
    let response = update::response_to(&message.request);
    outcome::say(out, message.id, response, ResultCode::AffectsMultipleDsas, ELSEWHERE);
}

/// The values that a modify adds or takes away, one by one.
/// A set of a million values is not copied: these alone, and whether the set has them, decide what the modify comes to.
fn named<'a>(schema: &Schema, modify: &proto::op::Modify<'a>) -> Vec<(Description, &'a [u8])> {
    // A replace names no values here: the set goes as a whole, whatever it was.
    let mut named = Vec::new();
    for change in modify.changes.iter() {
        if matches!(change.kind, ModifyKind::Add | ModifyKind::Delete)
            // What no entry has, none in the directory has.
            && let Some(description) = schema.find_description(change.modification.description)
        {
            named.extend(change.modification.values.iter().map(|value| (description, value)));
        }
    }
    named
}

/// Does a filter ask whether an entry has subordinates, or how many?
/// The overlay has counts of its own entries only, so such an assertion cannot be answered.
fn asks_for_subordinates(schema: &Schema, filter: &Filter<'_>) -> bool {
    let known = ["hasSubordinates", "numSubordinates"].map(|name| schema.find_type(name.as_bytes()));
    filter.mentions(&|name| {
        let (name, _) = model::attribute::split_options(name);
        schema.find_type(name).is_some_and(|attribute| known.contains(&Some(attribute)))
    })
}
