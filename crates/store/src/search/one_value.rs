//! Is a filter true of one value, taken by itself: of an entry that has nothing else?
//!
//! It is asked of each value of an attribute, so most values are decided without their normal form: what a value of graphic ASCII begins or
//! ends with is that of its normal form, but for case.

use super::evaluate::{Truth, form_passes, looks_at};
use super::filter::{Compiled, Item, Node, Normal, Test};
use super::substrings::PartPosition;
use model::Description;
use schema::{Rule, Schema};

/// A filter on the values of one attribute, each taken by itself.
#[derive(Clone, Debug)]
pub struct ValueFilter(Node);

impl Compiled {
    /// The filter on the values of an attribute.
    pub fn on_values(&self, schema: &Schema, description: Description) -> ValueFilter {
        ValueFilter(about(&self.0, schema, description))
    }
}

/// Of what looks at other attributes nothing is there.
fn about(node: &Node, schema: &Schema, description: Description) -> Node {
    let all = |nodes: &[Node]| nodes.iter().map(|node| about(node, schema, description)).collect();
    match node {
        Node::And(nodes) => Node::And(all(nodes)),
        Node::Or(nodes) => Node::Or(all(nodes)),
        Node::Not(node) => Node::Not(Box::new(about(node, schema, description))),
        Node::Item(item) if !looks_at(item, description, schema) => Node::False,
        // A value has no kind, and is no member.
        Node::Kind(_) | Node::Member(_) | Node::Within(..) => Node::Undefined,
        Node::True | Node::False | Node::Undefined | Node::Item(_) => node.clone(),
    }
}

impl ValueFilter {
    /// Is it true of an entry that has this value and nothing else, not even a name? `form` is a buffer.
    #[inline]
    pub fn truth(&self, schema: &Schema, value: &[u8], form: &mut Vec<u8>) -> Truth {
        match &self.0 {
            // Nearly always.
            Node::Item(item) => of_item(item, (schema, value), form),
            node => of_node(node, (schema, value), form),
        }
    }
}

/// Filters have a bounded depth, which the parser holds them to.
fn of_node(node: &Node, of: (&Schema, &[u8]), form: &mut Vec<u8>) -> Truth {
    match node {
        Node::True => Truth::True,
        Node::False => Truth::False,
        Node::Undefined | Node::Kind(_) | Node::Member(_) | Node::Within(..) => Truth::Undefined,
        Node::Not(part) => match of_node(part, of, form) {
            Truth::True => Truth::False,
            Truth::False => Truth::True,
            Truth::Undefined => Truth::Undefined,
        },
        Node::And(parts) => of_parts(parts, (Truth::True, Truth::False), of, form),
        Node::Or(parts) => of_parts(parts, (Truth::False, Truth::True), of, form),
        Node::Item(item) => of_item(item, of, form),
    }
}

/// `last` if any part is; else undefined if any part is; else `neutral`.
fn of_parts(
    parts: &[Node],
    (neutral, last): (Truth, Truth),
    of: (&Schema, &[u8]),
    form: &mut Vec<u8>,
) -> Truth {
    let mut sum = neutral;
    for part in parts {
        match of_node(part, of, form) {
            truth if truth == last => return last,
            Truth::Undefined => sum = Truth::Undefined,
            _ => {}
        }
    }
    sum
}

#[inline]
pub(super) fn of_item(item: &Item, (schema, value): (&Schema, &[u8]), form: &mut Vec<u8>) -> Truth {
    let rule = match &item.test {
        Test::Present => return Truth::True,
        Test::Equal { rule: None, normal } => return Truth::of(value == &normal[..]),
        Test::Equal { rule: Some(rule), .. }
        | Test::AtLeast { rule, .. }
        | Test::AtMost { rule, .. }
        | Test::Matches { rule, .. }
        | Test::Substrings { rule, .. } => *rule,
    };
    Truth::of(match soon(&item.test, rule, value) {
        Some(passes) => passes,
        None => by_form(&item.test, rule, (schema, value), form),
    })
}

/// Does a value pass, by its normal form?
fn by_form(test: &Test, rule: Rule, (schema, value): (&Schema, &[u8]), form: &mut Vec<u8>) -> bool {
    form.clear();
    rule.normalise_value(schema, value, form).is_ok()
        && form_passes(test, form, &mut PartPosition::default(), &mut { u64::MAX }) == Some(true)
}

/// Does a value pass? `None` if only its normal form can tell.
#[inline]
fn soon(test: &Test, rule: Rule, value: &[u8]) -> Option<bool> {
    let folds = rule.folds()?;
    match test {
        Test::Equal { normal, .. } => equals(normal, value, folds),
        Test::Matches { normal, .. } if rule.is_equality() => equals(normal, value, folds),
        Test::Substrings { initial, any, last, .. } => {
            let (begins, ends) = (initial.as_ref(), last.as_ref());
            let begins = begins.map(|part| begins_with(part.strip_prefix(b" ")?, value, folds));
            let ends = ends.map(|part| ends_with(part.strip_suffix(b" ")?, value, folds));
            match (begins, ends) {
                (Some(Some(false)), _) | (_, Some(Some(false))) => Some(false),
                // Whether the parts overlap, and whether all of it is text, is for the long way.
                (Some(Some(true)), None) | (None, Some(Some(true))) if any.is_empty() => {
                    value.is_ascii().then_some(true)
                }
                _ => None,
            }
        }
        Test::Present | Test::AtLeast { .. } | Test::AtMost { .. } | Test::Matches { .. } => None,
    }
}

fn equals(normal: &Normal, value: &[u8], folds: bool) -> Option<bool> {
    // With its space at each end.
    let word = normal.strip_prefix(b" ")?.strip_suffix(b" ")?;
    match begins_with(word, value, folds)? {
        false => Some(false),
        true if value.len() == word.len() => Some(true),
        // What follows may be a space, which does not count at the end.
        true => value[word.len()].is_ascii_graphic().then_some(false),
    }
}

/// Is a byte the one of a normal form?
#[inline]
fn is(byte: u8, form: u8, folds: bool) -> bool {
    form == if folds { byte.to_ascii_lowercase() } else { byte }
}

/// Does the normal form of a value begin with a part, which is without its first space? `None` if only the normal form can tell: up to where they
/// differ all is graphic ASCII, and what follows must not change the character before it, as an accent does.
#[inline]
fn begins_with(part: &[u8], value: &[u8], folds: bool) -> Option<bool> {
    let stays = |at: usize| value.get(at).is_none_or(|byte| (b' '..=b'~').contains(byte));
    for (at, form) in part.iter().enumerate() {
        let Some(byte) = value.get(at) else { return is_shorter(*form) };
        if !byte.is_ascii_graphic() {
            return None;
        }
        if !is(*byte, *form, folds) {
            return stays(at + 1).then_some(false);
        }
    }
    stays(part.len()).then_some(true)
}

/// A value has no byte for one of a part. For a space it need not: its normal form has one at each end.
fn is_shorter(form: u8) -> Option<bool> {
    (form != b' ').then_some(false)
}

/// Does the normal form of a value end with a part, which is without its last space? As [`begins_with`]; nothing that follows changes it.
#[inline]
fn ends_with(part: &[u8], value: &[u8], folds: bool) -> Option<bool> {
    let mut bytes = value.iter().rev();
    for form in part.iter().rev() {
        let Some(byte) = bytes.next() else { return is_shorter(*form) };
        if !byte.is_ascii_graphic() {
            return None;
        }
        if !is(*byte, *form, folds) {
            return Some(false);
        }
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    static SCHEMA: LazyLock<Schema> =
        LazyLock::new(|| schema::Builder::new().standard().build().expect("it is sound"));

    fn part(rule: Rule, kind: schema::Part, text: &str) -> Option<Normal> {
        let mut out = Vec::new();
        rule.normalise_substring(kind, text.as_bytes(), &mut out).ok()?;
        Some(Normal::from_slice(&out))
    }

    /// `(cn=a *)` and `(cn=* a)` match `a`, whose normal form has a space at each end.
    #[test]
    fn a_space_of_a_part_may_be_that_at_the_end() {
        let (schema, rule) = (&*SCHEMA, Rule::CaseIgnoreSubstrings);
        let parts =
            [(part(rule, schema::Part::Initial, "a "), None), (None, part(rule, schema::Part::Final, " a"))];
        for (initial, last) in parts {
            let test = Test::Substrings { rule, initial, any: Vec::new(), last };
            assert!(by_form(&test, rule, (schema, b"A"), &mut Vec::new()));
            assert_ne!(soon(&test, rule, b"A"), Some(false));
        }
    }

    proptest! {
        /// Spaces, case, accents that stand by themselves, what is mapped to nothing, and bytes that are no text.
        #[test]
        fn what_is_decided_soon_is_as_by_the_normal_form(
            value in "[aAb \u{e9}\u{301}\u{ad}\u{1}]{0,5}",
            cut in any::<bool>(),
            texts in ["[aAb ]{1,3}", "[aAb ]{1,3}", "[aAb\u{e9} ]{1,4}"],
            which in 0..6_usize,
            rule in 0..4_usize,
        ) {
            let schema = &*SCHEMA;
            let (equality, rule) = [
                (Rule::CaseIgnore, Rule::CaseIgnoreSubstrings),
                (Rule::CaseExact, Rule::CaseExactSubstrings),
                (Rule::CaseIgnoreIa5, Rule::CaseIgnoreIa5Substrings),
                (Rule::CaseExactIa5, Rule::CaseExactIa5Substrings),
            ][rule];
            let mut value = value.into_bytes();
            if cut {
                value.pop();
            }
            let [first, second, whole] = &texts;
            let initial = part(rule, schema::Part::Initial, first);
            let last = part(rule, schema::Part::Final, second);
            let mut normal = Vec::new();
            let is_whole = equality.normalise_assertion(schema, whole.as_bytes(), &mut normal).is_ok();
            let normal = Normal::from_slice(&normal);
            let of_parts = |initial, last| Some(Test::Substrings { rule, initial, any: Vec::new(), last });
            let (test, rule) = match which {
                0 => (of_parts(initial, None), rule),
                1 => (of_parts(None, last), rule),
                2 => (of_parts(initial, last), rule),
                3 => {
                    let any = part(rule, schema::Part::Any, second).into_iter().collect();
                    (Some(Test::Substrings { rule, initial, any, last: None }), rule)
                }
                4 => (is_whole.then(|| Test::Equal { rule: Some(equality), normal }), equality),
                _ => {
                    (is_whole.then(|| Test::Matches { rule: equality, normal, dn_attributes: false }), equality)
                }
            };
            let Some(test) = test else { return Ok(()) };
            if let Some(found) = soon(&test, rule, &value) {
                let expected = by_form(&test, rule, (schema, &value), &mut Vec::new());
                prop_assert_eq!(found, expected, "{:?} {:?}", test, value);
            }
        }
    }
}
