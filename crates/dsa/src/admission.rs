//! What is refused of an update before it is logged, though the store would apply it: what an earlier version let
//! through. A command of its log comes out at a replay as it was answered.
//!
//! So this is the only place for a new rule about what an update may be: in the store it would change what a replay comes to.

mod access_rules;
mod policy_values;

pub(crate) use self::access_rules::changes_rules;

use crate::access::may_be_access_rule;
use crate::control::Requested;
use crate::engine::Dsa;
use crate::outcome::{self, Refusal};
use crate::password::policies::may_be_of_policy;
use model::limits::COLLECTIVE_SUBENTRIES_MAX;
use model::{Filter, ResultCode, dn};
use proto::message::{Message, Request};
use proto::op::ModifyKind;
use proto::{Outline, tag};
use schema::{DescriptionError, Schema};

/// Can an update without controls be admitted by what its outline tells?
/// It may say no of an update that would be admitted, and never yes of one that would not.
pub(crate) fn is_plain(schema: &Schema, outline: &Outline<'_>) -> bool {
    outline.after.is_empty()
        && !schema.has_all_option_sets()
        && memchr::memchr(b';', outline.rest).is_none()
        && (outline.op_tag != tag::ADD || unfit_name(schema, outline.dn).is_none())
}

/// Can nothing of this module concern a modify that changes one attribute only, and has no controls?
#[inline]
pub(crate) fn is_admitted(schema: &Schema, description: &[u8]) -> bool {
    !schema.has_all_option_sets()
        && !may_be_of_policy(description)
        && !may_be_access_rule(description)
        && description.iter().all(|byte| *byte != b';')
}

/// How many there are in the directory of what an update is bounded by. Nothing else here depends on entries: an update is refused whatever is on
/// its way before it.
#[derive(Clone, Copy)]
pub(crate) struct Present {
    /// Access rules in entries.
    entry_rules: usize,
    subentries: usize,
    /// Those of them that have collective attributes.
    collective: usize,
}

impl Present {
    pub(crate) fn of(dsa: &Dsa) -> Present {
        Present {
            entry_rules: dsa.access.of_entries(),
            subentries: dsa.shard.subentries(),
            collective: dsa.shard.collective_subentries(),
        }
    }
}

/// Why an update is not admitted. `None` if it is.
pub(crate) fn refusal(
    schema: &Schema,
    present: Present,
    message: &Message<'_>,
    requested: &Requested<'_>,
) -> Option<Refusal> {
    let named = match &message.request {
        Request::Add(add) => unfit_name(schema, add.dn).or_else(|| {
            add.attributes.iter().find_map(|attribute| without_form(schema, attribute.description))
        }),
        Request::Modify(modify) => modify.changes.iter().find_map(|change| {
            // What an earlier version stored can be taken away.
            let takes_away = match change.kind {
                ModifyKind::Delete => true,
                ModifyKind::Replace => change.modification.values.is_empty(),
                _ => false,
            };
            let description = change.modification.description;
            if takes_away { None } else { without_form(schema, description) }
        }),
        Request::ModifyDn(modify_dn) => unfit_name(schema, modify_dn.new_rdn),
        _ => None,
    };
    named
        .or_else(|| policy_values::unfit(schema, &message.request, present.subentries))
        .or_else(|| one_collection_too_many(schema, &message.request, present.collective))
        .or_else(|| access_rules::unfit(schema, &message.request, present.entry_rules))
        .or_else(|| untestable(schema, requested.assertion()?))
        .or_else(|| one_set_too_many(schema, &message.request))
}

/// A subentry of collective attributes, where there are as many as may be.
fn one_collection_too_many(schema: &Schema, request: &Request<'_>, collective: usize) -> Option<Refusal> {
    let Request::Add(add) = request else { return None };
    let known = schema.well_known();
    let is_class = |description| schema.find_type(description) == Some(known.object_class);
    if collective < COLLECTIVE_SUBENTRIES_MAX {
        return None;
    }
    let mut values = add.attributes.iter().filter(|given| is_class(given.description));
    let is_one = values.any(|given| {
        given.values.iter().any(|value| schema.find_class(value) == Some(known.collective_attribute_subentry))
    });
    let text = "there are as many subentries of collective attributes as may be; one has any number of attributes and values";
    is_one.then(|| (ResultCode::AdminLimitExceeded, text.to_owned()))
}

/// A set of attribute options that no entry has, where there are as many as may be. The store takes any number.
/// It is asked only when all places are taken, which a table of the schema counts.
fn one_set_too_many(schema: &Schema, request: &Request<'_>) -> Option<Refusal> {
    if !schema.has_all_option_sets() {
        return None;
    }
    let is_too_many = |description: &[u8]| schema.is_one_set_too_many(description);
    let found = match request {
        Request::Add(add) => add.attributes.iter().any(|attribute| is_too_many(attribute.description)),
        Request::Modify(modify) => {
            modify.changes.iter().any(|change| is_too_many(change.modification.description))
        }
        _ => false,
    };
    let text = DescriptionError::TooManyOptionSets;
    found.then(|| (text.result_code(), text.to_string()))
}

/// `;binary` with an attribute whose values have no BER form (RFC 4522 section 3).
fn without_form(schema: &Schema, description: &[u8]) -> Option<Refusal> {
    let error = DescriptionError::NoBinaryForm;
    schema.lacks_binary_form(description).then(|| outcome::undescribed(schema, description, error))
}

/// An attribute type without equality rule names no entry: nobody could tell two names apart (X.501 section 9.4). Nor does
/// one whose values are secrets: everybody who finds the entry reads its name.
fn unfit_name(schema: &Schema, dn: &[u8]) -> Option<Refusal> {
    let rdn = dn::parse_rdn(dn::split_first(dn).0).ok()?;
    let why = rdn.iter().find_map(|ava| {
        let id = schema.find_type(ava.attribute_type)?;
        let kind = schema.attribute_type(id);
        match kind.equality {
            None => Some(format!("{} has no equality matching rule", kind.name())),
            Some(_) => schema.is_secret(id).then(|| format!("the values of {} are secrets", kind.name())),
        }
    })?;
    Some((ResultCode::NamingViolation, format!("{why}, so it cannot name an entry")))
}

/// An assertion of equality where there is no rule for it: undefined (RFC 4528 section 3, RFC 4511 section 4.5.1.7). The
/// store compares bytes, as earlier versions did.
/// Nested filters have a bounded depth, which the decoder holds them to.
fn untestable(schema: &Schema, filter: &Filter<'_>) -> Option<Refusal> {
    match filter {
        Filter::And(parts) | Filter::Or(parts) => parts.iter().find_map(|part| untestable(schema, part)),
        Filter::Not(part) => untestable(schema, part),
        Filter::Equality(assertion) | Filter::Approx(assertion) => {
            let (attribute_type, _) = schema.find_wanted(assertion.attribute)?;
            let kind = schema.attribute_type(attribute_type);
            let text = || format!("{} has no equality matching rule to assert by", kind.name());
            kind.equality.is_none().then(|| (ResultCode::AssertionFailed, text()))
        }
        _ => None,
    }
}
