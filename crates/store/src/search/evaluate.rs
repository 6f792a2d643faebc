//! Is a filter true of an entry? Three-valued (RFC 4511 section 4.5.1.7).

use super::filter::{Compiled, Item, Node, Test};
use crate::dn_cache::DnCache;
use crate::record::{EntryRef, Values};
use crate::shard::ReadPoint;
use crate::tree::{self, From};
use model::Description;
use schema::Rule;

/// True, false, or not to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It is.
    True,
    /// It is not.
    False,
    /// Unknown attribute, no such rule, invalid assertion, or not for this reader.
    Undefined,
}

impl Truth {
    fn of(is: bool) -> Truth {
        if is { Truth::True } else { Truth::False }
    }
}

/// Buffers of one thread for evaluating filters.
#[derive(Default)]
pub struct Evaluator {
    normal: Vec<u8>,
    value: Vec<u8>,
    /// What it remembers of DNs.
    pub cache: DnCache,
}

impl Evaluator {
    /// Evaluates a filter on an entry.
    pub fn evaluate(&mut self, filter: &Compiled, entry: &EntryRef<'_>, read_point: ReadPoint<'_>) -> Truth {
        self.node(&filter.0, entry, read_point)
    }

    fn node(&mut self, node: &Node, entry: &EntryRef<'_>, read_point: ReadPoint<'_>) -> Truth {
        match node {
            Node::True => Truth::True,
            Node::False => Truth::False,
            Node::Undefined => Truth::Undefined,
            Node::Not(part) => match self.node(part, entry, read_point) {
                Truth::True => Truth::False,
                Truth::False => Truth::True,
                Truth::Undefined => Truth::Undefined,
            },
            Node::And(parts) => self.fold(parts, entry, read_point, Truth::True, Truth::False),
            Node::Or(parts) => self.fold(parts, entry, read_point, Truth::False, Truth::True),
            Node::Kind(kind) => Truth::of(entry.shape.kind == *kind),
            Node::Item(item) => Truth::of(self.item(item, entry, read_point)),
        }
    }

    /// `last` if any part is; else undefined if any part is; else `neutral`.
    fn fold(
        &mut self,
        parts: &[Node],
        entry: &EntryRef<'_>,
        at: ReadPoint<'_>,
        neutral: Truth,
        last: Truth,
    ) -> Truth {
        let mut sum = neutral;
        for part in parts {
            match self.node(part, entry, at) {
                truth if truth == last => return last,
                Truth::Undefined => sum = Truth::Undefined,
                _ => {}
            }
        }
        sum
    }

    fn item(&mut self, item: &Item, entry: &EntryRef<'_>, at: ReadPoint<'_>) -> bool {
        let schema = &at.shard.schema;
        if self.dn_matches(item, entry, at) {
            return true;
        }
        let class_type = schema.well_known().object_class;
        if looks_at(item, Description::plain(class_type), at)
            && entry.shape.class_values.iter().any(|value| self.value_passes(&item.test, value, at))
        {
            return true;
        }
        for (slot, values) in entry.shape.slots.iter().zip(entry.slots()) {
            if looks_at(item, slot.description, at) && self.values_pass(item, slot.description, values, at) {
                return true;
            }
        }
        match (item.derived, item.attribute_type) {
            (Some(derived), Some(t)) if !at.has_stored(entry, t) => {
                let mut value = std::mem::take(&mut self.value);
                value.clear();
                let passes = at.derive(entry, derived, &mut self.cache, &mut value)
                    && self.value_passes(&item.test, &value, at);
                self.value = value;
                passes
            }
            _ => false,
        }
    }

    fn values_pass(
        &mut self,
        item: &Item,
        description: Description,
        values: Values<'_>,
        at: ReadPoint<'_>,
    ) -> bool {
        let attribute_type = description.attribute_type;
        match (values, &item.test) {
            (_, Test::Present) => true,
            (Values::Inline(mut values), test) => values.any(|value| self.value_passes(test, value, at)),
            (Values::Set(set), Test::Equal { normal, .. }) if item.attribute_type == Some(attribute_type) => {
                let hash = at.shard.value_hash(normal);
                tree::contains(&at.shard.heap, set.root, at.sequence, hash, |value| {
                    self.value_passes(&item.test, value, at)
                })
            }
            (Values::Set(set), test) => {
                let mut last: Option<(u64, &[u8])> = None;
                let mut passes = false;
                while !passes {
                    let from = last.map_or(From::START, From::After);
                    let more = tree::next_leaf(&at.shard.heap, set.root, at.sequence, from, |item| {
                        passes = passes || self.value_passes(test, item.1, at);
                        last = Some(item);
                    });
                    if !more {
                        break;
                    }
                }
                passes
            }
        }
    }

    #[inline]
    fn value_passes(&mut self, test: &Test, value: &[u8], at: ReadPoint<'_>) -> bool {
        let schema = &at.shard.schema;
        let normal = &mut self.normal;
        normal.clear();
        let own = |rule: Rule, normal: &mut Vec<u8>| rule.normalise_value(schema, value, normal).is_ok();
        match test {
            Test::Present => true,
            Test::Equal { rule: None, normal } => value == &normal[..],
            Test::Equal { rule: Some(rule), normal: wanted } => {
                own(*rule, normal) && normal[..] == wanted[..]
            }
            Test::AtLeast { rule, key } => {
                rule.ordering_key(schema, value, normal).is_ok() && normal[..] >= key[..]
            }
            Test::AtMost { rule, key } => {
                rule.ordering_key(schema, value, normal).is_ok() && normal[..] <= key[..]
            }
            Test::Matches { rule, normal: wanted, .. } => own(*rule, normal) && rule.matches(normal, wanted),
            Test::Substrings { rule, initial, any, last } => {
                own(*rule, normal) && has_parts(normal, initial.as_deref(), any, last.as_deref())
            }
        }
    }

    /// `:dn:` makes the attributes of the entry's DN count too.
    fn dn_matches(&mut self, item: &Item, entry: &EntryRef<'_>, at: ReadPoint<'_>) -> bool {
        let Test::Matches { dn_attributes: true, rule, normal } = &item.test else { return false };
        let schema = &at.shard.schema;
        let mut text = Vec::new();
        at.write_dn(entry, &mut self.cache, &mut text);
        let Ok(rdns) = model::dn::parse(&text) else { return false };
        rdns.iter().flatten().any(|ava| {
            let Some(attribute_type) = schema.find_type(ava.attribute_type) else { return false };
            let mut own = Vec::new();
            looks_at(item, Description::plain(attribute_type), at)
                && rule.normalise_value(schema, &ava.value, &mut own).is_ok()
                && rule.matches(&own, normal)
        })
    }
}

/// Does an item look at attributes of this description?
#[inline]
fn looks_at(item: &Item, description: Description, at: ReadPoint<'_>) -> bool {
    let schema = &at.shard.schema;
    match item.attribute_type {
        Some(wanted) => {
            (description.attribute_type == wanted || schema.is_subtype(description.attribute_type, wanted))
                && schema.includes_options(description.options, &item.options)
        }
        None => match &item.test {
            Test::Matches { rule, .. } => {
                item.hidden.binary_search(&description.attribute_type).is_err()
                    && schema.applies_to(*rule, schema.attribute_type(description.attribute_type))
            }
            _ => false,
        },
    }
}

/// Are the parts there, in order, without overlap, the first at the beginning and the last at the end?
fn has_parts<A: std::ops::Deref<Target = [u8]>>(
    value: &[u8],
    initial: Option<&[u8]>,
    any: &[A],
    last: Option<&[u8]>,
) -> bool {
    let Some(mut rest) = value.strip_prefix(initial.unwrap_or(b"")) else { return false };
    for part in any {
        match find(rest, part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    last.is_none_or(|last| rest.ends_with(last))
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() {
        return Some(0);
    }
    text.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap() {
        let any = |parts: &[&str]| parts.iter().map(|p| p.as_bytes().to_vec()).collect::<Vec<_>>();
        assert!(has_parts(b"abcabc", Some(b"ab"), &any(&["c", "b"]), Some(b"c")));
        assert!(!has_parts(b"aba", Some(b"ab"), &any(&[]), Some(b"ba")));
        assert!(!has_parts(b"abc", None, &any(&["c", "b"]), None));
        assert!(has_parts(b"abc", None, &any(&[]), None));
    }
}
