//! Entries that a change of the schema would make wrong. The writer's role is held, or a read point is all that is asked of: it is a walk over all
//! entries, and mostly no more than one look at each.
//!
//! Who asks twice, before a change is logged and where it is applied, comes to the same unless an entry was changed between.
//!
//! ```text
//! all shapes: can one of them be wrong? -> if so all entries: the shape of each, and of few shapes the values
//! ```

use crate::record::{EntryRef, Values};
use crate::shape::{Form, Shape};
use crate::shard::{ReadPoint, Writer};
use crate::values::SetPosition;
use model::{EntryId, TypeId};
use schema::{Effects, Schema, Use};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// What has to be looked at of entries of one shape.
/// Most shapes have nothing, and are not in the list: then the walk over entries reads the number of a shape and no more.
enum Verdict {
    /// All of them are.
    All(Use),
    /// Those with certain values at these positions.
    Values(Vec<usize>),
}

/// What a shape says; `None` where nothing can be wrong.
/// Classes and attributes are the same for all of its entries. What differs is how many values there are, beyond one, and what they say.
fn verdict(effects: &Effects, schema: &Schema, shape: &Shape) -> Option<Verdict> {
    let mut attributes: Vec<TypeId> =
        shape.slots.iter().map(|slot| slot.description.attribute_type).collect();
    attributes.push(schema.well_known().object_class);
    let classes = shape.class_values.iter().map(|value| &**value);
    if let Some(found) = effects.of_shape(schema, classes, &attributes) {
        return Some(Verdict::All(found));
    }
    let is_open = |(at, id): (usize, &TypeId)| {
        let is_single = effects.single.contains(id) && shape.slots[at].form != Form::One;
        (is_single || effects.may_be_named(schema, *id)).then_some(at)
    };
    let of_slots = &attributes[..shape.slots.len()];
    let open: Vec<usize> = of_slots.iter().enumerate().filter_map(is_open).collect();
    (!open.is_empty()).then_some(Verdict::Values(open))
}

impl Writer<'_> {
    /// No entry gets a shape any more that has types or classes which a change of the schema removes: the same names will be of others. For who makes
    /// the change, when no entry uses them.
    pub fn retire_shapes(&mut self, effects: &Effects) {
        let schema = &*self.shard.schema;
        // What only narrows a class leaves its shapes as they are: they have the same classes and attributes.
        let is_removed = |shape: &Shape| {
            let verdict = verdict(effects, schema, shape);
            matches!(verdict, Some(Verdict::All(Use::Attribute(_) | Use::Class(_))))
        };
        if !effects.types.is_empty() || !effects.classes.is_empty() {
            self.shard.shapes.retire(&mut self.state.shapes, is_removed);
        }
    }
}

impl<'a> ReadPoint<'a> {
    /// Hands entries that a change of the schema would make wrong to `each`, in the order of their ids, until it breaks.
    /// Shapes that no entry has any more are looked at too: they cost a walk, and no entry is found that is not there.
    pub fn each_use(
        self,
        effects: &Effects,
        mut each: impl FnMut(EntryRef<'a>, Use) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (shard, schema) = (self.shard(), &*self.shard().schema);
        // The usual change: more is allowed than before, or something is called otherwise.
        if effects.are_none() {
            return ControlFlow::Continue(());
        }
        // A shape that is made while this runs is of no entry at this point.
        let shapes = shard.shapes.all();
        let verdicts: BTreeMap<u32, Verdict> =
            shapes.filter_map(|shape| Some((shape.number, verdict(effects, schema, shape)?))).collect();
        if verdicts.is_empty() {
            return ControlFlow::Continue(());
        }
        // In the order of ids, so that all who look at the same entries find the same one first.
        for id in 1..shard.ids_end() {
            let Some(entry) = self.entry(EntryId(id)) else { continue };
            let found = match verdicts.get(&entry.shape.number) {
                None => None,
                Some(Verdict::All(found)) => Some(*found),
                Some(Verdict::Values(positions)) => {
                    positions.iter().find_map(|at| self.use_in(effects, schema, &entry, *at))
                }
            };
            if let Some(found) = found {
                each(entry, found)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// What the values of one attribute say. A large set is read to its end: it has no index by what its values look like.
    fn use_in(self, effects: &Effects, schema: &Schema, entry: &EntryRef<'a>, at: usize) -> Option<Use> {
        let attribute = entry.shape.slots[at].description.attribute_type;
        let values = entry.slot(at);
        let count = match &values {
            Values::Inline(values) => values.len(),
            Values::Set(set) => set.count as usize,
        };
        if count > 1 && effects.single.contains(&attribute) {
            return Some(Use::Several(attribute));
        }
        if !effects.may_be_named(schema, attribute) {
            return None;
        }
        // By the text and not by the normal form: that of a name that is no more cannot be made.
        let mut is_named = false;
        let mut look = |value: &[u8]| is_named = is_named || effects.are_named_in(schema, attribute, value);
        match values {
            Values::Inline(values) => values.for_each(&mut look),
            Values::Set(set) => {
                let mut position = SetPosition::default();
                while self.set_values(&set, &mut position, &mut look) {}
            }
        }
        is_named.then_some(Use::Named(attribute))
    }
}
