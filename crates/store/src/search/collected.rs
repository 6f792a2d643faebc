//! What an item of a filter finds among collective attributes (RFC 3671).
//!
//! No entry stores them. So when a filter is made ready, the values of the subentries are compared with each item that looks at their attributes: there are few
//! subentries, and an item none of whose values passes is one like any other, with its index. Of the others it is asked for each candidate whether it is among the entries
//! of the subentry, and no value is compared again.
//!
//! What is found is true at one read point, as the filter is then.

use super::evaluate::{Truth, looks_at};
use super::filter::{Compiled, FindMembers, Item, Node, Readable};
use super::one_value::of_item;
use crate::collective::{Collection, Source};
use crate::shard::ReadPoint;
use model::{Description, Filter};
use std::sync::Arc;

impl Compiled {
    /// As [`Compiled::with_members`], with the collective attributes of these collections, which are of this read point.
    pub fn looking_up(
        filter: &Filter<'_>,
        read_point: ReadPoint<'_>,
        readable: Readable<'_>,
        find: Option<FindMembers<'_>>,
        collections: &[Arc<Collection>],
    ) -> Compiled {
        let mut compiled = Compiled::with_members(filter, read_point.shard, readable, find);
        if !collections.is_empty() {
            collect(&mut compiled.0, read_point, collections);
        }
        compiled
    }
}

/// Looks up the items of a filter. The depth of a filter is bounded where it is decoded.
fn collect(node: &mut Node, read_point: ReadPoint<'_>, collections: &[Arc<Collection>]) {
    match node {
        Node::And(nodes) | Node::Or(nodes) => {
            nodes.iter_mut().for_each(|node| collect(node, read_point, collections));
        }
        Node::Not(node) => collect(node, read_point, collections),
        Node::Item(item) => item.collected = sources(item, read_point, collections),
        Node::True | Node::False | Node::Undefined => {}
        Node::Kind(_) | Node::Member(_) | Node::Within(..) => {}
    }
}

/// The collective attributes that an item is true of, those of one subentry together. `None` if there is none.
#[cold]
fn sources(
    item: &Item,
    read_point: ReadPoint<'_>,
    collections: &[Arc<Collection>],
) -> Option<Arc<Vec<Source>>> {
    let schema = &read_point.shard.schema;
    let subentries = Description::plain(schema.well_known().collective_attribute_subentries);
    // A client pays for it as for any item; the values are the administrator's, and few.
    let (mut found, mut form) = (Vec::new(), Vec::new());
    for collection in collections {
        let mut passes = |value: &[u8]| of_item(item, (schema, value), &mut form) == Truth::True;
        let mut put = |description, values: Vec<Box<[u8]>>| {
            if !values.is_empty() {
                found.push(Source { collection: Arc::clone(collection), description, values });
            }
        };
        // The names of subentries are values as well, of an attribute that nobody stores.
        if looks_at(item, subentries, schema) && passes(&collection.dn) {
            put(subentries, vec![collection.dn.clone().into()]);
        }
        let Some(entry) = read_point.entry(collection.subentry) else { continue };
        for description in collection.attributes.iter().filter(|of| looks_at(item, **of, schema)) {
            let Some(position) = entry.shape.position(*description) else { continue };
            let mut values: Vec<Box<[u8]>> = Vec::new();
            read_point.each_value(entry.slot(position), |value| {
                if passes(value) {
                    values.push(value.into());
                }
            });
            put(*description, values);
        }
    }
    (!found.is_empty()).then(|| Arc::new(found))
}
