//! Modify (RFC 4511 section 4.6, RFC 4525): attributes of an entry change, all as asked or none.
//!
//! This is the main road: every modify of the log can come this way, and its outcome depends on the entry and the request alone. The store
//! applies the changes in their order to a copy of the record and checks the result against the schema once, at the end (RFC 4511 section 4.6:
//! "the resulting entry after the entire list of modifications is performed MUST conform").

mod superclass;

use crate::constraints::InForce;
use crate::context::Writing;
use crate::control::flags::Flags;
use crate::engine::Dsa;
use crate::faults::holes;
use crate::op::relaxed;
use crate::outcome::{self, Refusal};
use crate::policy;
use env::planted;
use model::{Description, EntryId, ResultCode, TypeId, short};
use proto::Outline;
use proto::op::modify::{self, Change, Modify, ModifyKind, Replacements, only_replacement};
use proto::tag::{MODIFY, MODIFY_RESPONSE};
use schema::{DescriptionError, HeldDescriptions, Schema};
use smallvec::SmallVec;
use std::sync::Arc;
use store::{ChangeKind, REPLACEMENTS_MAX, Replacement};

/// Changes of a usual request: they lie in place, as does the one value of each.
/// A modify of four changes with a value each allocates nothing here.
type StoreChanges<'a> = SmallVec<[store::Change<'a>; 4]>;

/// Answers a modify. Returns the entry's id if it was done.
/// Runs in the writer's role. Rights were decided before the log.
pub(crate) fn run(
    writing: &mut Writing<'_, '_>,
    id: i32,
    request: &Modify<'_>,
    flags: Flags,
    out: &mut Vec<u8>,
) -> Option<EntryId> {
    let schema = writing.dsa.shard.schema();
    // Options that no entry has yet are held for the length of this request.
    let mut descriptions = HeldDescriptions::new(schema);
    // All descriptions are looked up before the first change: a wrong one refuses the modify as a whole.
    let translated = request.changes.iter().map(|change| translate(&mut descriptions, schema, &change));
    let changes = match translated.collect::<Result<StoreChanges<'_>, _>>() {
        Ok(changes) => changes,
        Err((code, text)) => {
            outcome::say(out, id, MODIFY_RESPONSE, code, &text);
            return None;
        }
    };
    if flags.is_relaxed() {
        let types = changes.iter().map(|change| change.description.attribute_type);
        let admitted = types.map(|kind| relaxed::admit(schema, kind, false)).find(Result::is_err);
        if let Some(Err((code, text))) = admitted {
            outcome::say(out, id, MODIFY_RESPONSE, code, &text);
            return None;
        }
    }
    // Before the stamp: a refused modify uses none.
    if superclass::is_taken(writing, request.dn, &changes) {
        let (code, text) = superclass::REFUSAL;
        outcome::say(out, id, MODIFY_RESPONSE, code, text);
        return None;
    }
    // After what can be refused without the store; a stamp that is taken is not given back.
    let stamp = writing.stamp();
    let keep_operational =
        flags.is_relaxed() || (says_last_change(schema, &changes) && is_by_server(writing));
    let modify = store::Modify {
        dn: request.dn,
        changes: &changes,
        keep_operational,
        is_permissive: flags.is_permissive(),
        is_relaxed: flags.is_relaxed(),
        known: writing.known,
    };
    let modified = writing.writer.modify_judged(modify, stamp, writing.judge());
    writing.answer(out, id, MODIFY_RESPONSE, request.dn, modified)
}

/// Does a modify say itself when the entry was changed last? The server does, where a password gets another form ([`super::bind`]).
fn says_last_change(schema: &Schema, changes: &[store::Change<'_>]) -> bool {
    let known = schema.well_known();
    changes.iter().any(|change| change.description.attribute_type == known.modify_timestamp)
}

/// Has the server asked for it? No client is called so: it would have to be the suffix, or the root DN.
fn is_by_server(writing: &mut Writing<'_, '_>) -> bool {
    writing.writer.view().name(writing.actor) == policy::ACTOR
}

/// Tells modifies that only give new values to attributes from others, of which it knows nothing.
/// It looks at the encoded changes and allocates nothing. Whatever it is not sure of it leaves to [`run`].
pub(crate) struct Replacing<'a> {
    schema: &'a Schema,
    /// Values of attributes with constraints are judged when they are applied.
    constraints: Option<Arc<InForce>>,
    /// The attribute met last: in a bundle they are often the same.
    last: Option<(&'a [u8], TypeId)>,
    found: SmallVec<[Replacement<'a>; REPLACEMENTS_MAX]>,
}

impl<'a> Replacing<'a> {
    /// Nothing is remembered yet.
    pub(crate) fn new(dsa: &Dsa, schema: &'a Schema) -> Replacing<'a> {
        let constraints = dsa.constraints.now(dsa.behaviour());
        Replacing { schema, constraints, last: None, found: SmallVec::new() }
    }

    /// The replacements of a modify that is nothing else; whether they are possible is not looked at. `None` for
    /// all that must be decoded to know what it is.
    #[inline]
    pub(crate) fn of(&mut self, outline: &Outline<'a>) -> Option<&[Replacement<'a>]> {
        if outline.after.is_empty() { self.of_operation(outline) } else { None }
    }

    /// As [`Replacing::of`], whatever follows the operation.
    #[inline]
    pub(crate) fn of_operation(&mut self, outline: &Outline<'a>) -> Option<&[Replacement<'a>]> {
        // A name with bytes beyond ASCII must be checked to be UTF-8, which the decoder does.
        if outline.op_tag != MODIFY || !outline.dn.is_ascii() {
            return None;
        }
        self.found.clear();
        // The one form that most modifies have is recognised by its lengths alone.
        if let Some(only) = only_replacement(outline.rest) {
            self.find(only)?;
            return Some(&self.found);
        }
        for replacement in Replacements::of(outline.rest)? {
            self.find(replacement.filter(|_| self.found.len() < REPLACEMENTS_MAX)?)?;
        }
        Some(&self.found)
    }

    /// Whether the attribute may be changed at all the store decides when the write is prepared.
    #[inline]
    fn find(&mut self, replacement: modify::Replacement<'a>) -> Option<()> {
        let modify::Replacement { description, value } = replacement;
        // Names are compared as they were sent; another spelling is looked up again.
        let attribute_type = match self.last {
            Some((name, attribute_type)) if short::equal(name, description) => attribute_type,
            _ => {
                let found = self.schema.find_type(description)?;
                if self.constraints.as_ref().is_some_and(|all| all.concerns(self.schema, found)) {
                    return None;
                }
                found
            }
        };
        self.last = Some((description, attribute_type));
        self.found.push(Replacement { description: Description::plain(attribute_type), value });
        Some(())
    }
}

/// Looks the description up and holds the number of values to what the kind of change allows.
/// A delete or replace without values is about the whole attribute (RFC 4511 section 4.6).
fn translate<'a>(
    descriptions: &mut HeldDescriptions<'_>,
    schema: &Schema,
    change: &Change<'a>,
) -> Result<store::Change<'a>, Refusal> {
    let text = change.modification.description;
    if planted::is(holes::OPTIONS_BY_ONE) && schema.is_one_set_too_many(text) {
        return Err(outcome::undescribed(schema, text, DescriptionError::TooManyOptionSets));
    }
    let description =
        descriptions.describe(text).map_err(|error| outcome::undescribed(schema, text, error))?;
    let values: SmallVec<[&[u8]; 1]> = change.modification.values.iter().collect();
    let kind = match (change.kind, values.len()) {
        (ModifyKind::Add, 0) => return Err(wrong_count(text, "no values to add")),
        (ModifyKind::Increment, 0) => return Err(wrong_count(text, "no number to increment by")),
        (ModifyKind::Increment, 2..) => {
            return Err(wrong_count(text, "an increment takes exactly one number"));
        }
        (ModifyKind::Add, _) => ChangeKind::Add,
        (ModifyKind::Delete, _) => ChangeKind::Delete,
        (ModifyKind::Replace, _) => ChangeKind::Replace,
        (ModifyKind::Increment, _) => ChangeKind::Increment,
    };
    Ok(store::Change { kind, description, values })
}

/// RFC 4511 section 4.6 and RFC 4525 section 2: the request itself is wrong, whatever the entry is.
#[cold]
fn wrong_count(description: &[u8], what: &str) -> Refusal {
    (ResultCode::ProtocolError, format!("attribute {}: {what}", outcome::quoted(description)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::tests::{Answer, Fixture};
    use model::ResultCode::*;
    use proto::op::modify::change_list;

    const ANN: &str = "uid=ann,dc=com";

    fn modify(fixture: &mut Fixture, dn: &str, changes: &[(ModifyKind, &str, &[&str])]) -> Answer {
        let list = change_list(
            changes
                .iter()
                .map(|(kind, name, values)| (*kind, name.as_bytes(), values.iter().map(|v| v.as_bytes()))),
        );
        let request =
            Modify { dn: dn.as_bytes(), changes: modify::Changes::parse(&list).expect("just encoded") };
        fixture.changing(|writing, out| _ = run(writing, 7, &request, Flags::default(), out))
    }

    #[test]
    fn every_kind_of_change() {
        use ModifyKind::*;
        let mut fixture = Fixture::new();
        let changes: [(ModifyKind, &str, &[&str]); 6] = [
            (Add, "mail", &["a@b", "c@d"]),
            (Delete, "mail", &["A@B"]),
            (Replace, "sn", &["New"]),
            (Delete, "cn;lang-de", &[]),
            (Replace, "description", &[]),
            (Add, "l;lang-fr", &["Paris"]),
        ];
        assert_eq!(modify(&mut fixture, ANN, &changes).code, Success);
        for (attribute, value, code) in [
            ("mail", "c@d", CompareTrue),
            ("mail", "a@b", CompareFalse),
            ("sn", "new", CompareTrue),
            ("cn;lang-de", "anna", NoSuchAttribute),
            ("l", "paris", CompareTrue),
        ] {
            assert_eq!(fixture.compare(ANN, attribute, value).code, code, "{attribute}={value}");
        }
    }

    #[test]
    fn numbers_grow() {
        let mut fixture = Fixture::new();
        let account = [
            ("objectClass", &["account", "posixAccount"][..]),
            ("cn", &["x"]),
            ("uidNumber", &["41"]),
            ("gidNumber", &["1"]),
            ("homeDirectory", &["/"]),
        ];
        assert_eq!(fixture.add("uid=x,dc=com", &account).code, Success);
        assert_eq!(
            modify(&mut fixture, "uid=x,dc=com", &[(ModifyKind::Increment, "uidNumber", &["1"])]).code,
            Success
        );
        assert_eq!(fixture.compare("uid=x,dc=com", "uidNumber", "42").code, CompareTrue);
        for (values, code) in [(&[][..], ProtocolError), (&["1", "2"], ProtocolError)] {
            assert_eq!(
                modify(&mut fixture, "uid=x,dc=com", &[(ModifyKind::Increment, "uidNumber", values)]).code,
                code
            );
        }
    }

    #[test]
    fn all_or_nothing() {
        use ModifyKind::*;
        let mut fixture = Fixture::new();
        for (kind, attribute, values, code) in [
            (Add, "nonsense", &["x"][..], UndefinedAttributeType),
            (Add, "mail", &[], ProtocolError),
            (Add, "sn", &["other"], AttributeOrValueExists),
            (Delete, "mail", &[], NoSuchAttribute),
            (Delete, "sn", &["x"], NoSuchAttribute),
            (Delete, "sn", &["Other"], ObjectClassViolation),
            (Replace, "entryUUID", &["x"], ConstraintViolation),
            (Replace, "uid", &["x"], NotAllowedOnRdn),
            (Add, "dc", &["x"], ObjectClassViolation),
        ] {
            let changes = [(Replace, "cn", &["Changed"][..]), (kind, attribute, values)];
            let answer = modify(&mut fixture, ANN, &changes);
            assert_eq!(answer.code, code, "{kind:?} {attribute} {values:?}: {}", answer.text);
            assert_eq!(fixture.compare(ANN, "cn", "Changed").code, CompareFalse);
        }
    }

    #[test]
    fn entries_that_cannot_be_modified() {
        let mut fixture = Fixture::new();
        let change: [(ModifyKind, &str, &[&str]); 1] = [(ModifyKind::Replace, "description", &["x"])];
        let answer = modify(&mut fixture, "cn=x,uid=ann,dc=com", &change);
        assert_eq!((answer.code, &answer.matched[..]), (NoSuchObject, ANN));
        for (dn, code) in
            [("", UnwillingToPerform), ("cn=Subschema", UnwillingToPerform), ("dc=org", NoSuchObject)]
        {
            assert_eq!(modify(&mut fixture, dn, &change).code, code, "{dn}");
        }
        fixture.bind(ANN, "secret");
        assert_eq!(modify(&mut fixture, ANN, &change).code, InsufficientAccessRights);
    }
}
