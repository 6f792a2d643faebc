//! Add (RFC 4511 section 4.7): a new entry.
//!
//! Runs in the writer's role. The entry is put together in a buffer that is used again, and the store judges it: superior, name, schema, rights
//! are none of this file's.

use crate::constraints::Given;
use crate::context::Writing;
use crate::control::{Rare, assertion};
use crate::op::relaxed;
use crate::outcome::{self, Refusal};
use model::{Entry, EntryId, Filter, ResultCode};
use proto::Attributes;
use proto::op::add::Add;
use proto::tag::ADD_RESPONSE;
use schema::{HeldDescriptions, Schema};
use smallvec::smallvec;
use store::{ChangeKind, EntryRef, ReadPoint, Refused, Stamp};

/// Answers an add, which is done only if the assertion of its controls is true of the entry that it makes. Returns its id if it was done.
pub(crate) fn run(
    writing: &mut Writing<'_, '_>,
    id: i32,
    request: &Add<'_>,
    rare: Option<&Rare<'_>>,
    out: &mut Vec<u8>,
) -> Option<EntryId> {
    if request.attributes.is_empty() {
        // RFC 4511 section 4.7: they "make up the content of the entry", and objectClass must be among them.
        outcome::say(out, id, ADD_RESPONSE, ResultCode::ProtocolError, "an add lists at least one attribute");
        return None;
    }
    // Taken out of the scratch, for the add needs the scratch too. It goes back whatever comes of the add.
    let mut entry = std::mem::take(&mut writing.scratch.entry).into_cleared();
    let schema = writing.dsa.shard.schema();
    let mut descriptions = HeldDescriptions::new(schema);
    let filled = fill(&mut descriptions, schema, &mut entry, request.attributes);
    let filled = filled.and_then(|()| match rare.is_some_and(|rare| rare.flags.is_relaxed()) {
        true => (0..entry.len())
            .try_for_each(|at| relaxed::admit(schema, entry.description(at).attribute_type, true)),
        false => Ok(()),
    });
    let done = match filled {
        Err((code, text)) => {
            outcome::say(out, id, ADD_RESPONSE, code, &text);
            None
        }
        Ok(()) => {
            let condition = rare.and_then(|rare| rare.assertion.as_ref()).map(|(filter, _)| filter);
            let is_relaxed = rare.is_some_and(|rare| rare.flags.is_relaxed());
            let added = add(writing, (request.dn, is_relaxed), &mut entry, condition);
            writing.answer(out, id, ADD_RESPONSE, request.dn, added)
        }
    };
    writing.scratch.entry = entry;
    done
}

/// An assertion (RFC 4528) of an add is about the entry that it makes, so it is judged when the entry is made and not yet visible.
fn add(
    writing: &mut Writing<'_, '_>,
    (dn, is_relaxed): (&[u8], bool),
    entry: &mut Entry,
    condition: Option<&Filter<'_>>,
) -> Result<EntryId, Refused> {
    let given = match writing.judging {
        Some(judging) => judging.give(dn, entry, writing.writer.view())?,
        None => Given::default(),
    };
    // The entry's CSN: its createTimestamp and its entryUUID are made of it.
    let stamp = writing.stamp();
    let add = store::Add { dn, entry, keep_operational: is_relaxed };
    let Some(filter) = condition else {
        let added = writing.writer.add_judged(add, stamp, writing.judge(), None)?;
        go_on(writing, given, stamp);
        return Ok(added);
    };
    let judge = writing.judge();
    let evaluator = &mut writing.scratch.updating;
    evaluator.cache.forget();
    // The assertion is judged on the entry as it would be stored, with its operational attributes.
    let mut is_true =
        |entry: &EntryRef<'_>, at: ReadPoint<'_>| assertion::is_true_for_update(filter, entry, at, evaluator);
    let added = writing.writer.add_judged(add, stamp, judge, Some(&mut is_true))?;
    go_on(writing, given, stamp);
    Ok(added)
}

/// The entry was added: the counters of its numbers go on, with its stamp.
fn go_on(writing: &mut Writing<'_, '_>, given: Given, stamp: Stamp) {
    let Some(judging) = writing.judging else { return };
    for (dn, description, next) in given.next(judging.in_force()) {
        let change =
            store::Change { kind: ChangeKind::Replace, description, values: smallvec![next.as_bytes()] };
        let modify = store::Modify {
            dn,
            changes: &[change],
            keep_operational: false,
            is_permissive: false,
            is_relaxed: false,
            known: None,
        };
        match writing.writer.modify(modify, stamp) {
            Ok(id) => judging.note_changed(id),
            // The entry has its number: the next add finds the same one in the counter, and passes it over.
            Err(refused) => {
                writing.scratch.lacked_memory |= matches!(refused, Refused::MemoryLimit { .. });
            }
        }
    }
}

/// Takes the attributes of a request over, with their descriptions looked up.
/// The order of attributes is kept as it was sent: a client that reads the entry back sees it.
fn fill(
    descriptions: &mut HeldDescriptions<'_>,
    schema: &Schema,
    entry: &mut Entry,
    attributes: Attributes<'_>,
) -> Result<(), Refusal> {
    // Nearly no request names an attribute with options, so nothing is allocated for it.
    let mut sent = SentAs::default();
    for attribute in attributes.iter() {
        let text = attribute.description;
        let description =
            descriptions.describe(text).map_err(|error| outcome::undescribed(schema, text, error))?;
        let Some(at) = entry.position(description) else {
            sent.note(schema, text, entry.len());
            entry.push_attribute(description);
            attribute.values.iter().for_each(|value| entry.push_value(value));
            continue;
        };
        if !sent.is_other_form(schema, text, at) {
            let name = schema.describe(description);
            let message = format!("attribute {name} is given twice; list all its values at one place");
            return Err((ResultCode::AttributeOrValueExists, message));
        }
        // The same value in both forms is one value.
        // Compared by bytes; values that only the rule finds equal the store refuses.
        let is_new = |value: &&[u8]| !entry.values(at).any(|own| own == *value);
        let more: Vec<&[u8]> = attribute.values.iter().filter(is_new).collect();
        entry.extend(description, more);
    }
    Ok(())
}

/// Attributes of a request that it names with the option `binary`, by their positions. Earlier versions took an attribute with
/// it and without it in one request, and logged that.
/// A replay must come to the same entry, so what was taken once is taken for good.
#[derive(Default)]
struct SentAs {
    binary: Vec<usize>,
    both: Vec<usize>,
}

impl SentAs {
    #[inline]
    fn note(&mut self, schema: &Schema, text: &[u8], at: usize) {
        if text.contains(&b';') && schema.has_binary(text) {
            self.binary.push(at);
        }
    }

    /// Two forms of one name are taken, as they always were; any other repetition is a fault of the client.
    /// Was the attribute named once, and in the other of the two forms?
    /// Once for each attribute: a third time is a fault in any form.
    #[cold]
    fn is_other_form(&mut self, schema: &Schema, text: &[u8], at: usize) -> bool {
        let is_other = !self.both.contains(&at) && self.binary.contains(&at) != schema.has_binary(text);
        if is_other {
            self.both.push(at);
        }
        is_other
    }
}

#[cfg(test)]
mod tests {
    use crate::system::tests::{Fixture, ROOT_DN};
    use model::ResultCode::*;

    const PERSON: [(&str, &[&str]); 2] = [("objectClass", &["person"]), ("sn", &["Bee"])];

    #[test]
    fn an_entry_is_there_and_names_itself() {
        let mut fixture = Fixture::new();
        assert_eq!(fixture.add("cn=Bob,dc=com", &PERSON).code, Success);
        assert_eq!(fixture.compare("cn=bob,dc=com", "cn", "Bob").code, CompareTrue);
        assert_eq!(fixture.compare("cn=bob,dc=com", "creatorsName", ROOT_DN).code, CompareTrue);
        assert_eq!(fixture.add("CN=bob,dc=com", &PERSON).code, EntryAlreadyExists);
    }

    #[test]
    fn the_superior_must_be_there() {
        let mut fixture = Fixture::new();
        let answer = fixture.add("cn=x,ou=y,uid=ann,dc=com", &PERSON);
        assert_eq!((answer.code, &answer.matched[..]), (NoSuchObject, "uid=ann,dc=com"));
        assert_eq!(fixture.add("cn=x,dc=org", &PERSON).code, NoSuchObject);
        let answer = Fixture::empty_as_root().add("cn=x,dc=com", &PERSON);
        assert_eq!((answer.code, &answer.matched[..]), (NoSuchObject, ""));
        assert!(answer.text.contains("root of its naming context"), "{}", answer.text);
    }

    #[test]
    fn descriptions_are_looked_up_and_given_once() {
        let mut fixture = Fixture::new();
        let with = |name, values| [PERSON[0], PERSON[1], (name, values)];
        let answer = fixture.add("cn=x,dc=com", &with("nonsense", &["1"]));
        assert_eq!(answer.code, UndefinedAttributeType);
        assert!(answer.text.contains("\"nonsense\""), "{}", answer.text);
        let answer = fixture.add("cn=x,dc=com", &with("telephonNumber;x-home", &["1"]));
        assert!(answer.text.ends_with("did you mean \"telephoneNumber\"?"), "{}", answer.text);
        assert_eq!(fixture.add("cn=x,dc=com", &with("c_n", &["1"])).code, UndefinedAttributeType);
        assert_eq!(fixture.add("cn=x,dc=com", &with("surname", &["Zee"])).code, AttributeOrValueExists);
        assert_eq!(fixture.add("cn=x,dc=com", &with("mail", &["a@b"])).code, ObjectClassViolation);
        assert_eq!(fixture.add("cn=x,dc=com", &with("entryUUID", &["1"])).code, ConstraintViolation);
        assert_eq!(fixture.add("cn=x,dc=com", &PERSON).code, Success, "nothing is left of those before");
    }

    #[test]
    fn only_the_root_dn_may() {
        let mut fixture = Fixture::new();
        fixture.bind("uid=ann,dc=com", "secret");
        assert_eq!(fixture.add("cn=x,dc=com", &PERSON).code, InsufficientAccessRights);
        fixture.bind("", "");
        let answer = fixture.add("cn=x,dc=com", &PERSON);
        assert_eq!(answer.code, InsufficientAccessRights);
    }

    #[test]
    fn the_servers_own_entries_stay_as_they_are() {
        let mut fixture = Fixture::new();
        for dn in ["", "cn=Subschema", "cn=x,cn=Monitor"] {
            let answer = fixture.add(dn, &PERSON);
            assert_eq!(answer.code, UnwillingToPerform, "{dn}: {}", answer.text);
        }
    }
}
