//! The rules on the values of an attribute, for one right. All that does not hang on the value is decided once, for a view; what is left is asked
//! of each value: is it the requester's name, is a filter true of it?
//!
//! The steps are the decision of [`Class::rights`] with the values left open: ranks fall from step to step, within a rank what denies comes
//! first, and the first step without a test ends the list, for nothing behind it has a say. So the two cannot differ but in what a
//! value is; the random rules of `model_tests` compare both with the plain evaluation.
//!
//! A list is walked for each value of each entry that a search returns. Nothing is allocated for it, and nearly no value is brought into
//! its normal form: the own name is compared by its first word, and filters have a short way of their own.

use super::{Action, Class, Facts, Item, covers};
use ::access::{Right, ValueTest, group};
use model::Description;
use model::dn::{parse_rdn, split_first};
use schema::{Rule, Schema};
use std::sync::Arc;
use store::Shard;
use store::search::evaluate::Truth;
use store::search::{Compiled, ValueFilter};

/// Of which values of an attribute a view has a right.
#[derive(Debug, Default)]
pub(crate) struct OnValues {
    /// The first whose test fits a value decides. No right, if none does.
    steps: Vec<Step>,
}

/// A rule, as far as it may still have a say. One that both allows and denies the right is two steps, of which the first is reached where
/// the second is.
#[derive(Debug)]
struct Step {
    test: Test,
    allows: bool,
}

#[derive(Debug)]
enum Test {
    Any,
    /// The value is the requester's DN.
    Own,
    Filter(ValueFilter),
}

impl Class {
    /// The rules on the values of an attribute, for a right on entries of which these facts are true.
    pub(in crate::access) fn on_values(
        &self,
        shard: &Shard,
        (facts, action): (&Facts, Action),
        description: Description,
        right: Right,
    ) -> OnValues {
        let (schema, item) = (shard.schema(), Item::Attribute(description));
        let mut steps = Vec::new();
        let mut members = &self.members[..];
        while let Some(first) = members.first() {
            let rank = self.set.rules[first.rule].rank;
            let equal = members.iter().take_while(|member| self.set.rules[member.rule].rank == rank).count();
            // Of one rank those that deny come first, as one of them is enough.
            for allows in [false, true] {
                for member in &members[..equal] {
                    let rule = &self.set.rules[member.rule];
                    let effect = if allows { rule.allow } else { rule.deny };
                    let fits = effect.has(right)
                        && rule.operations.has(action.operation)
                        && covers(rule, schema, item)
                        && if allows {
                            self.allows(member, (facts, action))
                        } else {
                            self.denies(member, (facts, action))
                        };
                    if !fits {
                        continue;
                    }
                    let test = match &rule.values {
                        None => Test::Any,
                        Some(ValueTest::Requester) => Test::Own,
                        // No rule is about what a filter of another rule may see.
                        Some(ValueTest::Filter(filter)) => {
                            let filter = Compiled::new(&filter.filter(), shard, &|_| true);
                            Test::Filter(filter.on_values(schema, description))
                        }
                    };
                    let is_last = matches!(test, Test::Any);
                    steps.push(Step { test, allows });
                    if is_last {
                        return OnValues::new(steps);
                    }
                }
            }
            members = &members[equal..];
        }
        OnValues::new(steps)
    }
}

impl OnValues {
    fn new(mut steps: Vec<Step>) -> OnValues {
        // What no step allows is denied anyway.
        while steps.last().is_some_and(|last| !last.allows) {
            steps.pop();
        }
        OnValues { steps }
    }

    /// Of all values, or of none. The first is what the root DN has, the second what is left to a view that was forgotten.
    pub(in crate::access) fn of_each(is_allowed: bool) -> OnValues {
        let steps = if is_allowed { vec![Step { test: Test::Any, allows: true }] } else { Vec::new() };
        OnValues { steps }
    }

    /// Does it hang on the requester's name?
    /// Then the name is looked up before values are judged, once for all of them; most rules on values have no use for it.
    pub(crate) fn asks_for_own(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.test, Test::Own))
    }

    /// The normal form of the only value on which there may be a right: the requester's name, where values are names.
    pub(crate) fn only<'o>(
        &self,
        own: &'o Own,
        schema: &Schema,
        description: Description,
    ) -> Option<&'o [u8]> {
        // Of names with a UID there may be several.
        let are_names =
            schema.attribute_type(description.attribute_type).equality == Some(Rule::DistinguishedName);
        match (&self.steps[..], own) {
            ([Step { test: Test::Own, allows: true }], Own::Name(own)) if are_names => Some(&own.key),
            _ => None,
        }
    }

    /// Is there a right on this value? `form` is a buffer.
    /// The value need not be one of an entry: of an add or a compare it is the one that the client has sent.
    pub(crate) fn may(
        &self,
        own: &Own,
        schema: &Schema,
        description: Description,
        value: &[u8],
        form: &mut Vec<u8>,
    ) -> bool {
        for step in &self.steps {
            let fits = match &step.test {
                Test::Any => true,
                Test::Own => match own {
                    Own::Name(own) => own.is(schema, description, value, form),
                    Own::Nobody => false,
                    Own::Unknown => !step.allows,
                },
                Test::Filter(filter) => match filter.truth(schema, value, form) {
                    Truth::True => true,
                    Truth::False => false,
                    // What cannot be evaluated counts against the requester.
                    Truth::Undefined => !step.allows,
                },
            };
            if fits {
                return step.allows;
            }
        }
        false
    }
}

/// Whose values are the requester's own.
/// Nobody and somebody unknown are two things: a client that did not bind is no member of a list, whatever the list has, but of one whose entry is
/// not at hand nothing may be taken for certain.
#[derive(Clone, Debug, Default)]
pub(crate) enum Own {
    /// Nobody's: it has no entry.
    #[default]
    Nobody,
    /// It has an entry which is gone, or is not in this view of the directory. Any value may be its name.
    Unknown,
    Name(Arc<OwnName>),
}

/// The name of a requester, ready to be compared with values.
///
/// Three comparisons, from the cheapest: the same bytes are the same name; another first word is another name; and else the normal form
/// of the value is made. The second decides nearly all values of a list of members. It holds for words of graphic ASCII without
/// escapes, of an attribute whose values are text: no matching rule for text takes two such words for equal that differ in more than
/// their case.
#[derive(Debug)]
pub(crate) struct OwnName {
    text: Vec<u8>,
    /// Normal form.
    key: Vec<u8>,
    /// The value of its first RDN, if that is one word whose case alone may not count: a name with another word there is another name.
    first: Option<Vec<u8>>,
}

impl OwnName {
    /// `None` of what is no name.
    pub(crate) fn new(schema: &Schema, dn: Vec<u8>) -> Option<OwnName> {
        let mut key = Vec::new();
        schema.normalise_dn(&dn, &mut key).ok()?;
        let rdn = split_first(&dn).0;
        let first = parse_rdn(rdn).ok().and_then(|avas| {
            let [ava] = &avas[..] else { return None };
            let id = schema.find_type(ava.attribute_type)?;
            let is_text = schema.attribute_type(id).equality.is_some_and(|rule| rule.folds().is_some());
            let word = first_word(rdn)?;
            (is_text && word == &ava.value[..]).then(|| word.to_vec())
        });
        Some(OwnName { text: dn, key, first })
    }

    /// Normal form.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Is it the name in a value? Nearly always the first word says no.
    #[inline]
    pub(crate) fn is(
        &self,
        schema: &Schema,
        description: Description,
        value: &[u8],
        form: &mut Vec<u8>,
    ) -> bool {
        if value == &self.text[..] {
            return true;
        }
        if let (Some(own), Some(word)) = (&self.first, first_word(value))
            && !word.eq_ignore_ascii_case(own)
        {
            return false;
        }
        let name = group::name_in(schema, description.attribute_type, value);
        form.clear();
        schema.normalise_dn(name, form).is_ok() && *form == self.key
    }
}

/// The value of the first RDN of a name, in place and without a copy, if it is one word of letters and signs that stand for themselves.
#[inline]
fn first_word(dn: &[u8]) -> Option<&[u8]> {
    let begin = dn.iter().position(|byte| *byte == b'=')? + 1;
    let mut at = begin;
    loop {
        match dn.get(at) {
            None | Some(b',') => break,
            Some(b'\\' | b'"' | b'+' | b'#' | b';' | b'<' | b'>') => return None,
            Some(byte) if byte.is_ascii_graphic() => at += 1,
            Some(_) => return None,
        }
    }
    (at > begin).then(|| &dn[begin..at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    static SCHEMA: LazyLock<Schema> =
        LazyLock::new(|| schema::Builder::new().standard().build().expect("it is sound"));

    fn key(dn: &[u8]) -> Option<Vec<u8>> {
        let mut key = Vec::new();
        SCHEMA.normalise_dn(dn, &mut key).ok().map(|()| key)
    }

    proptest! {
        #[test]
        fn a6_names_are_compared_as_their_normal_forms(
            own in "(uid|CN|uidNumber|0.9.2342.19200300.100.1.1) ?=[aAb07 +,\\\\#\u{e9}]{0,4}(\\+sn=a)?,dc=x",
            value in "(uid|cn|uidNumber|userid) ?=[aAb07 +,\\\\#\u{e9}]{0,4}(\\+sn=A)?, ?dc=X",
        ) {
            let description = Description::plain(SCHEMA.find_type(b"member").expect("it is there"));
            let Some(name) = OwnName::new(&SCHEMA, own.clone().into_bytes()) else { return Ok(()) };
            let is_same = key(value.as_bytes()).as_ref() == Some(&name.key);
            let found = name.is(&SCHEMA, description, value.as_bytes(), &mut Vec::new());
            prop_assert_eq!(found, is_same, "{} {}", own, value);
        }
    }

    #[test]
    fn a6_a_name_with_a_uid() {
        let [member, unique] = ["member", "uniqueMember"]
            .map(|name| Description::plain(SCHEMA.find_type(name.as_bytes()).expect("it is there")));
        let name = OwnName::new(&SCHEMA, b"uid=a,dc=x".to_vec()).expect("it is a name");
        let is = |description, value: &str| name.is(&SCHEMA, description, value.as_bytes(), &mut Vec::new());
        assert!(is(unique, "uid=A,dc=x#'01'B") && is(unique, "uid=a,dc=x") && is(member, "UID=a, dc=x"));
        assert!(
            !is(member, "uid=a,dc=x#'01'B")
                && !is(unique, "uid=ab,dc=x#'01'B")
                && !is(unique, "uid=a,dc=y#''B")
        );
    }
}
