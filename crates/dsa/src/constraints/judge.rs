//! Judges what an update makes of an entry, before it is stored.
//!
//! The overlay of a transaction has no indexes, so it keeps the hashes of the values that its
//! updates gave.

use super::directory::{Directory, Wanted};
use super::in_force::Unique;
use super::subtree::Subtree;
use super::{Given, InForce};
use crate::faults::{self, holes};
use crate::outcome;
use env::planted;
use model::{EntryId, TypeId};
use schema::Schema;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use store::overlay::Overlay;
use store::search::Holding;
use store::search::evaluate::Evaluator;
use store::{Judge, Made, ReadPoint, Refused};

/// Judges the updates of a batch, or of an overlay.
pub(crate) struct Judging<'j> {
    in_force: &'j InForce,
    schema: &'j Schema,
    /// Was everything judged before?
    is_done: bool,
    /// The directory below, and the overlay in which updates are applied.
    below: Option<(ReadPoint<'j>, &'j Overlay)>,
    state: RefCell<State>,
}

/// Where an entry is to be.
pub(super) struct Place {
    /// Its id, 0 of one that is added.
    id: EntryId,
    /// The base of the subtree, if it is not about all entries.
    base: Option<EntryId>,
    /// Was it in the subtree before?
    pub(super) was_in: bool,
    /// It is the base of the subtree, which is added: nothing else is in the subtree yet.
    is_alone: bool,
}

/// Another entry has the value.
const TAKEN: &str = "another entry has this value";

#[derive(Default)]
struct State {
    evaluator: Evaluator,
    /// Of the values that the last update gave, for [`Overlay::note_value`]. The entry that it
    /// is about has the id 0.
    hashes: Vec<(EntryId, u64)>,
    /// Entries that the last update changed besides its own.
    changed: Vec<EntryId>,
    /// What adds got in the overlay: still to be given, or noted.
    given: VecDeque<Given>,
}

impl<'j> Judging<'j> {
    /// For the updates of a batch, by the constraints that are in force at it.
    pub(crate) fn new(in_force: &'j InForce, schema: &'j Schema) -> Judging<'j> {
        Judging { in_force, schema, is_done: false, below: None, state: RefCell::default() }
    }

    /// Of updates that were judged: the adds get what they got in the overlay, in their order,
    /// and nothing else is asked.
    pub(crate) fn of_judged(
        in_force: &'j InForce,
        schema: &'j Schema,
        given: VecDeque<Given>,
    ) -> Judging<'j> {
        let state = RefCell::new(State { given, ..State::default() });
        Judging { is_done: true, state, ..Judging::new(in_force, schema) }
    }

    /// Of updates in an overlay.
    pub(crate) fn in_overlay(
        in_force: &'j InForce,
        base: ReadPoint<'j>,
        overlay: &'j Overlay,
    ) -> Judging<'j> {
        let schema = base.shard().schema();
        Judging { below: Some((base, overlay)), ..Judging::new(in_force, schema) }
    }

    /// Hashes of the values that the update gave, for [`Overlay::note_value`], entries that it
    /// changed besides its own, and what it got if it is an add.
    pub(crate) fn into_noted(self) -> (Vec<(EntryId, u64)>, Vec<EntryId>, VecDeque<Given>) {
        let State { hashes, changed, given, .. } = self.state.into_inner();
        (hashes, changed, given)
    }

    /// Was everything judged before?
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// What the next add got when it was judged.
    pub(super) fn given(&self) -> Given {
        self.state.borrow_mut().given.pop_front().unwrap_or_default()
    }

    /// Notes what an add got in the overlay.
    pub(super) fn note_given(&self, numbers: &Given) {
        if self.below.is_some() {
            self.state.borrow_mut().given.push_back(numbers.clone());
        }
    }

    /// The constraints that it judges by.
    pub(crate) fn in_force(&self) -> &'j InForce {
        self.in_force
    }

    /// The schema of the directory.
    pub(super) fn schema(&self) -> &'j Schema {
        self.schema
    }

    /// The update has changed this entry, too.
    pub(crate) fn note_changed(&self, id: EntryId) {
        self.state.borrow_mut().changed.push(id);
    }

    /// Where an entry is to be, by the subtree of a constraint. `None` if it is, or there is
    /// none: the entry is nothing to the constraint then.
    ///
    /// # Errors
    /// It brings others into the subtree, which nobody has judged.
    pub(super) fn place(
        &self,
        (name, subtree): (&str, Option<&Subtree>),
        made: &Made<'_>,
        directory: Directory<'_>,
    ) -> Result<Option<Place>, Refused> {
        let base = match subtree {
            None => None,
            // Without an entry of that name there is nothing below it. One that is added comes into the subtree itself.
            Some(subtree) => match self.base(subtree, directory) {
                None if made.dn.is_some_and(|dn| subtree.is_named(dn, self.schema)) => {
                    return Ok(Some(Place { id: EntryId(0), base: None, was_in: false, is_alone: true }));
                }
                None => return Ok(None),
                base => base,
            },
        };
        let is_in = |id: EntryId, parent: EntryId| {
            base.is_none_or(|base| id == base || parent == base || directory.is_within(parent, base))
        };
        // An entry that is added has no id yet, and no entry has the id 0.
        let id = made.old.map_or(EntryId(0), |old| old.id);
        if !is_in(id, made.parent) {
            return Ok(None);
        }
        // By the entry as it is: a rename before in the same batch counts.
        let was_in = made.old.is_some_and(|old| is_in(id, old.parent()));
        if made.old.is_some() && !was_in && directory.subordinates(id) > 0 {
            let text =
                format!("constraint {name}: an entry with subordinates cannot be moved into its subtree");
            return Err(Refused::Constraint(text));
        }
        Ok(Some(Place { id, base, was_in, is_alone: false }))
    }

    /// Judges the values that come into the subtree of a constraint: those that the entry did
    /// not have, or all, if it was not there before. An entry that stays outside is nothing to
    /// it.
    fn judge_unique(
        &self,
        unique: &Unique,
        made: &Made<'_>,
        directory: Directory<'_>,
    ) -> Result<(), Refused> {
        let place = self.place((&unique.name, unique.subtree.as_ref()), made, directory)?;
        let Some(place) = place.filter(|place| !place.is_alone) else { return Ok(()) };
        let concerns = |attribute_type| unique.has(self.schema, attribute_type);
        made.new_values(!place.was_in, &concerns, &mut |description, value| match self
            .is_taken(unique, place.base, value, place.id, directory)
            && !planted::is(faults::TAKEN_VALUE_GIVEN)
        {
            false => Ok(()),
            true => {
                let why = (&unique.name[..], TAKEN);
                Err(self.violated(why, description.attribute_type, Some(value)))
            }
        })
    }

    /// Neither the value nor which entries others are: an entry that is moved may have values
    /// that its mover may not read.
    #[cold]
    pub(super) fn violated(
        &self,
        (name, what): (&str, &str),
        attribute_type: TypeId,
        value: Option<&[u8]>,
    ) -> Refused {
        let attribute = self.schema.attribute_type(attribute_type).name();
        let text = format!("constraint {name}: {what} of {attribute}");
        let shown = value.filter(|_| planted::is(holes::CONSTRAINT_SHOWS_VALUE));
        Refused::Constraint(shown.map_or(text.clone(), |value| format!("{text}: {}", outcome::quoted(value))))
    }

    /// Has another entry the value, in any of the types?
    pub(super) fn is_taken(
        &self,
        unique: &Unique,
        base: Option<EntryId>,
        value: &[u8],
        own: EntryId,
        directory: Directory<'_>,
    ) -> bool {
        let may_be = |id: EntryId| id != own && base.is_none_or(|base| directory.is_within(id, base));
        // The value has a normal form by the rule of each type, so it is made ready for each.
        unique.types.iter().any(|attribute_type| {
            let wanted = Wanted { attribute_type: *attribute_type, value, may_be: &may_be, filter: None };
            let mut is_found = false;
            self.evaluating(|evaluator| {
                directory.holders(&wanted, evaluator, &mut |_| {
                    is_found = true;
                    ControlFlow::Break(())
                });
            });
            is_found
        })
    }

    /// Notes the values that an update of an overlay gives and that others are judged by: the
    /// overlay has no index.
    fn note_values(&self, made: &Made<'_>) -> Result<(), Refused> {
        let Some((below, _)) = self.below else { return Ok(()) };
        self.in_force.indexed().try_for_each(|(_, attribute_type)| {
            let concerns = |other| self.schema.is_subtype(other, attribute_type);
            made.new_values(made.old.is_none(), &concerns, &mut |_, value| {
                let hash = Holding::new(below, attribute_type, value).hash(below);
                self.state.borrow_mut().hashes.extend(hash.map(|hash| (EntryId(0), hash)));
                Ok(())
            })
        })
    }

    /// The update has given another entry than its own this value, too.
    pub(crate) fn note_value(&self, id: EntryId, attribute_type: TypeId, value: &[u8]) {
        let Some((below, _)) = self.below else { return };
        let types = self.in_force.indexed().map(|(_, of)| of);
        for of in types.filter(|of| self.schema.is_subtype(attribute_type, *of)) {
            let hash = Holding::new(below, of, value).hash(below);
            self.state.borrow_mut().hashes.extend(hash.map(|hash| (id, hash)));
        }
    }

    /// The DN of an entry.
    pub(crate) fn dn(&self, id: EntryId, at: ReadPoint<'_>) -> Vec<u8> {
        self.directory(at).dn(id)
    }

    /// Is it the overlay of a transaction in which it judges?
    pub(super) fn is_in_overlay(&self) -> bool {
        self.below.is_some()
    }

    /// What it looks at, with what this batch has made so far.
    pub(super) fn directory<'d>(&self, at: ReadPoint<'d>) -> Directory<'d>
    where
        'j: 'd,
    {
        Directory::new(at, self.below)
    }

    /// Does something with its buffers.
    pub(super) fn evaluating<T>(&self, what: impl FnOnce(&mut Evaluator) -> T) -> T {
        what(&mut self.state.borrow_mut().evaluator)
    }

    /// The base of a subtree.
    pub(super) fn base(&self, subtree: &Subtree, directory: Directory<'_>) -> Option<EntryId> {
        self.evaluating(|evaluator| subtree.base(directory, &mut evaluator.cache))
    }

    /// The entry with this DN.
    pub(super) fn find(&self, dn: &[u8], directory: Directory<'_>) -> Option<EntryId> {
        self.evaluating(|evaluator| directory.resolve(dn, &mut evaluator.cache))
    }
}

impl Judge for Judging<'_> {
    /// Is a constraint on this attribute? In an overlay also: are others judged by its values?
    fn concerns(&self, attribute_type: TypeId) -> bool {
        let concern = self.in_force.concern(self.schema, attribute_type);
        !self.is_done && (concern.is_judged || (self.below.is_some() && concern.is_looked_up))
    }

    /// Judges an entry as an update has made it, before the update is seen by anybody.
    fn judge(&self, made: &Made<'_>, at: ReadPoint<'_>) -> Result<(), Refused> {
        // An entry that stays where it is has values of other attributes only: no rule asks
        // anything, whatever its subtree or class is.
        let stays = made.old.is_some_and(|old| old.parent() == made.parent);
        if self.is_done || (stays && !made.touches(&|of| self.concerns(of))) {
            return Ok(());
        }
        self.note_values(made)?;
        let (directory, InForce { unique, values, references, .. }) = (self.directory(at), self.in_force);
        unique.iter().try_for_each(|unique| self.judge_unique(unique, made, directory))?;
        values.iter().try_for_each(|rule| self.judge_values(rule, made, directory))?;
        references.iter().try_for_each(|rule| self.judge_references(rule, made, directory))
    }
}
