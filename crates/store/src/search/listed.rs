//! Searches of which it is known, without a look at each entry, which entries they find: all that are in the order of an ordering index but a few.
//!
//! ```text
//! filter    all entries; or one that is true of each entry with the sort attribute and of no other, as the shapes of entries show: `(sn=*)`, and
//!           `(objectClass=person)` where each shape with a surname is a person's, and the other way round
//! scope     all that is at or below the base; the few entries elsewhere are left out of the order one by one. One level is the same where nothing is further
//!           below, which two counts show
//! ```
//! A shape stays as long as the directory is served, so one that was of another make ends this until the next start.

use super::cursor::Cursor;
use super::filter::{Item, Node, Test};
use super::whole::Whole;
use crate::shape::Shape;
use crate::shard::ReadPoint;
use model::{ClassId, EntryId, Scope, TypeId};
use schema::Schema;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Entries outside of the scope, at most. Each is looked at for each list: a tenth of a microsecond.
const OUTSIDE_MAX: usize = 1024;
/// Shapes that are looked at, at most.
const SHAPES_MAX: usize = 2048;

/// How often two counts are compared that a writer changes one after the other, in a microsecond.
const COUNTED_MAX: usize = 64;

/// What a search finds.
pub struct Listed {
    /// If all entries of the directory were in its scope.
    pub whole: Whole,
    /// Entries that are not in its scope.
    pub outside: Vec<u32>,
}

impl Cursor {
    /// The entries that it finds, if these are known: all, or those with a value of this type or of a subtype, within a scope that has nearly all entries.
    pub fn listed(&self, read_point: ReadPoint<'_>, attribute_type: TypeId) -> Option<Listed> {
        let (base, scope) = (self.scopes.base, self.scopes.scope);
        if scope == Scope::Base || !self.scopes.is_single() {
            return None;
        }
        let whole = match self.filter.whole() {
            Some(Whole::All) => Whole::All,
            Some(Whole::With(of)) if of == attribute_type => Whole::With(of),
            _ => read_point.with_value_alone(&self.filter.0, attribute_type)?,
        };
        let mut outside = Vec::new();
        if scope != Scope::Subtree {
            outside.push(base.0);
        }
        read_point.outside(base, &mut outside)?;
        if scope == Scope::One && !read_point.is_flat(base, outside.len() as u64) {
            return None;
        }
        Some(Listed { whole, outside })
    }
}

impl ReadPoint<'_> {
    /// Is a filter true of those entries alone that have a value of a type or of a subtype?
    /// It is asked of each shape, whether an entry has it or not: nothing counts the entries of a shape. That errs to the side of not knowing.
    fn with_value_alone(self, node: &Node, attribute_type: TypeId) -> Option<Whole> {
        let (shapes, schema) = (&self.shard.shapes, &*self.shard.schema);
        if shapes.count() > SHAPES_MAX {
            return None;
        }
        let mut normal = Vec::new();
        let is_with = |shape: &Shape| {
            decided(node, shape, schema, &mut normal) == Some(has(shape, attribute_type, schema))
        };
        shapes.all().all(is_with).then_some(Whole::With(attribute_type))
    }

    /// Object classes of which all entries have a value of a type or of a subtype, and no other entry has one: views of a filter on one of them, or of all
    /// of them, are served by an ordering index on the type. None if there are many shapes.
    pub fn classes_with_value(self, attribute_type: TypeId) -> Vec<ClassId> {
        let (shapes, schema) = (&self.shard.shapes, &*self.shard.schema);
        if shapes.count() > SHAPES_MAX {
            return Vec::new();
        }
        let classes = |shape: &Shape| -> BTreeSet<ClassId> {
            shape.class_values.iter().filter_map(|value| schema.find_class(value)).collect()
        };
        let Some(one) = shapes.all().find(|shape| has(shape, attribute_type, schema)) else {
            return Vec::new();
        };
        let mut found = classes(one);
        for shape in shapes.all() {
            let (of, is_with) = (classes(shape), has(shape, attribute_type, schema));
            found.retain(|class| of.contains(class) == is_with);
        }
        found.into_iter().collect()
    }

    /// The entries that are neither the base nor below it. `None` if they are many.
    /// From the base upwards: of each superior all that is below it, but for the part that was come from. Above the suffix other naming contexts follow.
    fn outside(self, base: EntryId, out: &mut Vec<u32>) -> Option<()> {
        let mut inner = base;
        while inner.0 != 0 {
            let parent = self.entry(inner)?.parent();
            let begin = out.len();
            if parent.0 != 0 {
                out.push(parent.0);
            }
            self.below(parent, inner, out)?;
            // Those beside it, and all below them.
            let mut at = begin + usize::from(parent.0 != 0);
            while let Some(id) = out.get(at) {
                self.below(EntryId(*id), EntryId(0), out)?;
                at += 1;
            }
            inner = parent;
        }
        Some(())
    }

    /// Is each entry immediately below the base, but for so many that are the base or elsewhere?
    /// The counts are those of now. What was changed since the read point may make them equal for a moment although an entry is further below: then a
    /// number is off by that change, as any number of a list may be, and the entry is still not in the scope.
    fn is_flat(self, base: EntryId, others: u64) -> bool {
        let are_equal = || {
            let children = u64::from(self.subordinates(base));
            self.shard.entries().checked_sub(others) == Some(children)
        };
        (0..COUNTED_MAX).any(|_| {
            std::hint::spin_loop();
            are_equal()
        })
    }

    /// Adds the immediate subordinates of an entry but one.
    /// It stops with the first that is too much, so that an entry with a million of them costs as much as a bound.
    fn below(self, parent: EntryId, without: EntryId, out: &mut Vec<u32>) -> Option<()> {
        let found = self.each_child(parent, &mut |child| {
            if child != without {
                out.push(child.0);
            }
            match out.len() > OUTSIDE_MAX {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        found.is_continue().then_some(())
    }
}

/// Have entries of this shape a value of a type or of a subtype?
/// An attribute without values is none, so a slot has one.
fn has(shape: &Shape, attribute_type: TypeId, schema: &Schema) -> bool {
    shape.slots.iter().any(|slot| schema.is_subtype(slot.description.attribute_type, attribute_type))
}

/// Whether a filter is true of all entries of a shape, or false of all. `None` if that hangs on their values. The depth of a filter is bounded where it is decoded.
fn decided(node: &Node, shape: &Shape, schema: &Schema, normal: &mut Vec<u8>) -> Option<bool> {
    match node {
        Node::True => Some(true),
        Node::And(parts) => {
            let mut all = parts.iter().map(|part| decided(part, shape, schema, normal));
            all.try_fold(true, |is_true, part| Some(is_true && part?))
        }
        Node::Or(parts) => {
            let mut all = parts.iter().map(|part| decided(part, shape, schema, normal));
            all.try_fold(false, |is_true, part| Some(is_true || part?))
        }
        // What others give an entry is in no shape.
        Node::Item(Item {
            attribute_type: Some(of),
            hidden: None,
            options,
            test,
            derived: None,
            collected: None,
        }) if options.is_none() => {
            match test {
                Test::Present => Some(has(shape, *of, schema)),
                // Object classes are in the shape.
                Test::Equal { rule: Some(rule), normal: wanted }
                    if *of == schema.well_known().object_class =>
                {
                    Some(shape.class_values.iter().any(|value| {
                        normal.clear();
                        rule.normalise_value(schema, value, normal).is_ok() && normal[..] == wanted[..]
                    }))
                }
                _ => None,
            }
        }
        _ => None,
    }
}
