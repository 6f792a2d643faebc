//! A filter for one who may not test everything on an entry.

use super::filter::{Compiled, Item, Node, Readable, Test, Testable};
use super::hidden::Hidden;
use super::members::Membership;
use crate::derived::Derived;
use crate::shape::Shape;
use crate::shard::Shard;
use model::{Description, OptionsId, TypeId};
use schema::Schema;
use std::cell::OnceCell;
use std::sync::Arc;

impl Compiled {
    /// The filter for entries of one shape, for one who may test what is `testable` of them alone. What may not be tested is undefined; of an
    /// item that looks at several attributes, those that may not are passed over. Where it depends on the value, the item is about
    /// those values alone of which the caller of the evaluation says that they may be tested.
    ///
    /// It is made of a filter that knows of no entry, since the right to test an attribute may hang on the entry.
    pub fn restricted(
        &self,
        shard: &Shard,
        shape: &Shape,
        testable: &dyn Fn(Description) -> Testable,
    ) -> Compiled {
        let schema = &shard.schema;
        // What is made up is no slot, and neither are the classes.
        let derived = Derived::ALL.into_iter().chain(Derived::optional(schema));
        let derived = derived.map(|what| what.attribute_type(schema));
        let others = derived.chain([schema.well_known().object_class]).map(Description::plain);
        // Nor are values of other entries, but of these only those count that the filter asks for.
        let mut collected = Vec::new();
        self.0.collected(&mut collected);
        let others = others.chain(collected);
        let stored = shape.slots.iter().map(|slot| slot.description);
        let known: Vec<(Description, Testable)> =
            stored.chain(others).map(|description| (description, testable(description))).collect();
        let those = |wanted: Testable, also: &mut dyn Iterator<Item = Description>| {
            let of_shape = known.iter().filter(|(_, is)| *is == wanted).map(|(description, _)| *description);
            let mut found: Vec<Description> = of_shape.chain(also).collect();
            found.sort_unstable();
            found.dedup();
            found
        };
        let none = || std::iter::empty();
        let descriptions = those(Testable::Never, &mut none());
        let judged = those(Testable::ByValue, &mut none());
        let hidden = (!descriptions.is_empty() || !judged.is_empty())
            .then(|| Arc::new(Hidden { types: Vec::new(), descriptions: descriptions.clone(), judged }));
        // Names of superiors have attributes that the entry has not, so those that ask for names pass over all that is hidden.
        let all = OnceCell::new();
        let all = || {
            let make = || {
                let plain = || schema.attribute_types().map(|(id, _)| Description::plain(id));
                let is = |wanted| move |description: &Description| testable(*description) == wanted;
                let types = plain().filter(is(Testable::Never)).map(|never| never.attribute_type).collect();
                let judged = those(Testable::ByValue, &mut plain().filter(is(Testable::ByValue)));
                Arc::new(Hidden { types, descriptions: descriptions.clone(), judged })
            };
            Arc::clone(all.get_or_init(make))
        };
        Compiled(self.0.restricted(&Restricting { shard, shape, testable, hidden, all: &all }))
    }

    /// A filter that is true of every entry of which any [`Compiled::restricted`] form of this one is true. `is_settled`: may an attribute be
    /// tested on all entries, or on none?
    ///
    /// It is what candidates are found by. What is hidden on some entries makes an item false there, and the negation of it true; so what is
    /// negated must not be looked at before it is known what is hidden. A filter that was would tell that the hidden value is the
    /// asserted one.
    pub fn widened(&self, shard: &Shard, is_settled: Readable<'_>) -> Compiled {
        Compiled(self.0.widened(false, &shard.schema, is_settled))
    }
}

impl Membership {
    /// The item for one who may test its attribute so.
    fn restricted(&self, testable: Testable) -> Node {
        match testable {
            Testable::Never => Node::Undefined,
            // Whether there is any value is known, but not which one.
            Testable::ByValue if self.value.is_empty() => Node::Undefined,
            by => Node::Member(Membership { is_judged: by == Testable::ByValue, ..self.clone() }),
        }
    }
}

/// What a filter is restricted to.
struct Restricting<'r> {
    shard: &'r Shard,
    shape: &'r Shape,
    testable: &'r dyn Fn(Description) -> Testable,
    /// What is hidden of the entries.
    hidden: Option<Arc<Hidden>>,
    /// The same, and all else that is hidden. Made if an item needs it.
    all: &'r dyn Fn() -> Arc<Hidden>,
}

impl Restricting<'_> {
    /// Is there nothing that an item on this type may look at?
    fn hides(&self, item: &Item, id: TypeId) -> bool {
        let schema = &self.shard.schema;
        let collected = item.collected.iter().flat_map(|sources| sources.iter()).map(|s| s.description);
        let mut stored = self.shape.slots.iter().map(|slot| slot.description).chain(collected);
        let may = |description| (self.testable)(description) != Testable::Never;
        !may(Description::plain(id))
            && !stored.any(|description| {
                description.attribute_type == id
                    && description.options != OptionsId::NONE
                    && schema.includes_options(description.options, &item.options)
                    && may(description)
            })
    }
}

impl Node {
    /// A node that is undefined stays so: only items can become undefined.
    fn restricted(&self, to: &Restricting<'_>) -> Node {
        let all = |nodes: &[Node]| nodes.iter().map(|node| node.restricted(to)).collect();
        match self {
            Node::And(nodes) => Node::And(all(nodes)),
            Node::Or(nodes) => Node::Or(all(nodes)),
            Node::Not(node) => Node::Not(Box::new(node.restricted(to))),
            Node::Item(item) => match item.attribute_type {
                Some(id) if to.hides(item, id) => Node::Undefined,
                Some(_) if !item.asks_for_names() => {
                    let hidden = to.hidden.clone().or_else(|| item.hidden.clone());
                    Node::Item(Item { hidden, ..item.clone() })
                }
                _ => Node::Item(Item { hidden: Some((to.all)()), ..item.clone() }),
            },
            Node::Member(membership) => {
                membership.restricted((to.testable)(Description::plain(membership.attribute_type)))
            }
            Node::True | Node::False | Node::Undefined | Node::Kind(_) | Node::Within(..) => self.clone(),
        }
    }

    /// Appends the collective attributes that it asks for.
    fn collected(&self, out: &mut Vec<Description>) {
        match self {
            Node::And(nodes) | Node::Or(nodes) => nodes.iter().for_each(|node| node.collected(out)),
            Node::Not(node) => node.collected(out),
            Node::Item(item) => {
                out.extend(item.collected.iter().flat_map(|sources| sources.iter()).map(|s| s.description));
            }
            Node::True | Node::False | Node::Undefined => {}
            Node::Kind(_) | Node::Member(_) | Node::Within(..) => {}
        }
    }

    /// Items that are negated and not settled are taken for false, so that their negation finds every entry.
    fn widened(&self, is_negated: bool, schema: &Schema, is_settled: Readable<'_>) -> Node {
        let all =
            |nodes: &[Node]| nodes.iter().map(|node| node.widened(is_negated, schema, is_settled)).collect();
        let settled = |item: &Item| {
            let types = item.attribute_type.map(|id| schema.subtypes(id));
            types.is_some_and(|types| types.iter().all(|id| is_settled(*id)))
        };
        match self {
            Node::And(nodes) => Node::And(all(nodes)),
            Node::Or(nodes) => Node::Or(all(nodes)),
            Node::Not(node) => Node::Not(Box::new(node.widened(!is_negated, schema, is_settled))),
            Node::Item(item) if is_negated && !settled(item) => Node::False,
            Node::Member(of) if is_negated && !is_settled(of.attribute_type) => Node::False,
            Node::True | Node::False | Node::Undefined | Node::Kind(_) => self.clone(),
            Node::Member(_) | Node::Within(..) | Node::Item(_) => self.clone(),
        }
    }
}

impl Item {
    /// Does it look at the attributes of the entry's DN too?
    fn asks_for_names(&self) -> bool {
        matches!(self.test, Test::Matches { dn_attributes: true, .. })
    }
}
