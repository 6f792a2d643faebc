//! Second stage: as whom an update is applied, and whether that identity may. Nothing of it is asked when a log is replayed: that
//! comes to the same outcome whatever rights the clients have by then. Where a right depends on the entry, which other updates that are on
//! their way may change before the update has its turn, what it depends on goes to the log as conditions.
//!
//! It is the last stage that knows who asks. Three refusals beside those of rules stand here, since no rule can lift them: the name of
//! the root DN is given by the root DN alone, nothing is asserted of what may not be tested, and single values of secrets are not
//! added or deleted by those who could find out by it which there are.

use super::Refused;
use super::classify::{Kind, Request};
use crate::access::Action;
use crate::bundle::noted;
use crate::context::Reading;
use crate::control::{Requested, assertion, proxied_authorization, update};
use crate::engine::Dsa;
use crate::identity::Identity;
use crate::op::configure::NO_SETTINGS;
use crate::op::extend_schema::may_change;
use crate::op::modify_dn::new_dn;
use crate::outcome;
use crate::referral::OTHER_SUPERIOR;
use crate::rights;
use crate::rights::referred::{Met, met, moved_to_absent};
use crate::session::Session;
use crate::session::security::{IN_THE_CLEAR, Security};
use crate::worker::Parts;
use ::access::Operation;
use model::ResultCode;
use proto::control::relax_rules;
use proto::message;
use proto::op::Modify;
use proto::op::modify::ModifyKind;
use schema::Schema;
use smallvec::SmallVec;
use store::Reader;

type Refusal = (ResultCode, &'static str);

const ROOT_NAME: Refusal = (
    ResultCode::InsufficientAccessRights,
    "only the root DN can add, rename or change the entry named by root-dn",
);
const SECRET_VALUE: Refusal = (
    ResultCode::InsufficientAccessRights,
    "insufficient rights to read the attribute's values, so single values cannot be added or deleted: replace all of them",
);
pub(in crate::bundle) const NO_NAME: Refusal = (
    ResultCode::AdminLimitExceeded,
    "no further name can be recorded as creator or modifier: the limit is reached",
);

const OWN_SECRET: Refusal = (
    ResultCode::InsufficientAccessRights,
    "a user changes its own password by one new value and nothing else, with its old one deleted if it is sent",
);

const HIDDEN: Refusal =
    (ResultCode::InsufficientAccessRights, "insufficient rights to read the attributes of the assertion");

/// The identity that a client asks for to act as (RFC 4370), if it may.
///
/// # Errors
/// The refusal if it may not, or if there is no such identity.
pub(in crate::bundle) fn authorize_proxied(
    session: &Session,
    parts: &mut Parts<'_>,
    authorization_id: &[u8],
) -> Result<Identity, Refusal> {
    let client = (&session.identity, session.security);
    reading(parts, |reading| proxied_authorization::authorize(reading, client, authorization_id))
        .ok_or(proxied_authorization::REFUSAL)
}

/// Has the directory room for the name of the one that changes it?
///
/// # Errors
/// The refusal if it has not.
#[inline]
pub(in crate::bundle) fn of_name(dsa: &Dsa, identity: &Identity) -> Result<(), Refusal> {
    if dsa.shard.admits_name(&identity.dn) { Ok(()) } else { Err(NO_NAME) }
}

/// May an identity use the controls of an update, and its extended operation?
///
/// # Errors
/// The refusal if it may not.
pub(in crate::bundle) fn of_use<'a>(
    parts: &Parts<'_>,
    identity: &Identity,
    request: &Request<'_>,
) -> Result<(), Refused<'a>> {
    let (views, schema) = (&parts.scratch.views, parts.dsa.shard.schema());
    rights::use_of(views, identity.requester(), &request.message, schema)
        .map_err(|(code, text)| Refused::Refusal((code, text.into())))
}

/// May an update come on this connection?
///
/// # Errors
/// The refusal if it brings a password in the clear, and that may not be.
pub(in crate::bundle) fn of_connection(
    dsa: &Dsa,
    security: Security,
    request: &Request<'_>,
) -> Result<(), Refusal> {
    match security.admits_password() || !brings_secret(dsa.shard.schema(), request) {
        true => Ok(()),
        false => {
            noted::cleartext(dsa, security, &request.message.request);
            Err(IN_THE_CLEAR)
        }
    }
}

/// Is this an attribute, with options or without, whose values are secrets?
pub(super) fn is_secret(schema: &Schema, description: &[u8]) -> bool {
    let (name, _) = model::attribute::split_options(description);
    schema.find_type(name).is_some_and(|id| schema.is_secret(id))
}

/// Has an update a value of an attribute in it whose values are secrets, or a password?
fn brings_secret(schema: &Schema, request: &Request<'_>) -> bool {
    match &request.message.request {
        message::Request::Add(add) => {
            add.attributes.iter().any(|attribute| is_secret(schema, attribute.description))
        }
        message::Request::Modify(modify) => modify.changes.iter().any(|change| {
            let modification = change.modification;
            !modification.values.is_empty() && is_secret(schema, modification.description)
        }),
        _ => matches!(request.kind, Kind::Extended(..)),
    }
}

/// What must be true of the entry when an update is applied, encoded ([`crate::parcel::Condition`]).
pub(in crate::bundle) type Conditions = Vec<u8>;

/// May this identity make this update of an entry? Decided at the read point of now, of the directory or of what a transaction has made of it.
///
/// # Errors
/// The refusal if it may not.
/// The refusals come behind the rights. A requester who has none learns of none of these either.
pub(in crate::bundle) fn authorize<'a>(
    reading: &mut Reading<'_>,
    identity: &Identity,
    request: &Request<'_>,
    requested: &Requested<'_>,
) -> Result<Conditions, Refused<'a>> {
    let dsa = reading.dsa;
    if identity.is_root {
        return Ok(Conditions::new());
    }
    if reading.read_point.shard().has_referrals() && !requested.manage_dsa_it {
        refer(reading, identity, &request.message)?;
    }
    // Who can set the password of the entry that the root DN binds by, or give an entry that name, has the rights of the root DN.
    let guards_root = dsa.root_binds_by_entry();
    let names_root = match &request.message.request {
        message::Request::Modify(modify) => guards_root && dsa.names_root(modify.dn),
        message::Request::Add(add) => dsa.names_root(add.dn),
        // An entry below may get the name of the root DN, even one that is only on its way.
        message::Request::ModifyDn(modify_dn) => dsa.is_root_or_above(&new_dn(modify_dn)),
        _ => false,
    };
    let mut conditions = match rights::authorize(reading, identity.requester(), &request.message.request) {
        Ok(conditions) => conditions,
        Err(denied) => return Err(refusal(reading, identity, &request.message, denied)),
    };
    if names_root {
        return Err(ROOT_NAME.into());
    }
    // Also where the behaviour that is in force ignores the control: another one may be when the update has its turn.
    if relax_rules::is_among(request.message.controls) {
        match rights::relax::may_relax(reading, identity.requester(), &request.message.request) {
            Ok(more) => conditions.extend(more),
            Err(denied) => return Err(refusal(reading, identity, &request.message, denied)),
        }
    }
    if asks_for_hidden(reading, identity, &request.message.request, requested) {
        return Err(HIDDEN.into());
    }
    match &request.message.request {
        message::Request::Modify(modify) if changes_own_secret(reading, identity, modify) => {
            Err(OWN_SECRET.into())
        }
        message::Request::Modify(modify) if asks_for_secret(dsa.shard.schema(), modify) => {
            Err(SECRET_VALUE.into())
        }
        _ => Ok(conditions),
    }
}

/// May this identity make this modify of the subschema, in whatever form it asked for it?
///
/// # Errors
/// The refusal if it may not.
#[cold]
pub(in crate::bundle) fn of_schema<'a>(
    parts: &mut Parts<'_>,
    identity: &Identity,
    request: &Request<'_>,
    modify: &Modify<'_>,
) -> Result<(), Refused<'a>> {
    if identity.is_root {
        return Ok(());
    }
    // A reader of its own: that of the bundle may be older than what was added last.
    let Some(mut reader) = Reader::register(parts.dsa.system.shard()) else {
        return Err(Refused::from(outcome::NO_READER));
    };
    let pin = reader.pin();
    reading(parts, |reading| match may_change(reading, identity.requester(), pin.read_point(), modify) {
        Ok(()) => Ok(()),
        // It has named an entry of the configuration, and is answered as others are.
        Err(rights::Denied::Absent(_)) if matches!(request.kind, Kind::SchemaConfig) => {
            Err(NO_SETTINGS.into())
        }
        Err(denied) => Err(refusal(reading, identity, &request.message, denied)),
    })
}

/// Refers an update of an entry at or below a referral object, or says that it is absent to a client that may not read the object.
///
/// The log refers updates, too, and knows nobody's rights. So what the requester may learn is decided here; and who may read the object needs no right
/// here to be referred, for it is the other server that makes the update.
///
/// # Errors
/// The refusal, or the referral.
#[cold]
fn refer<'a>(
    reading: &mut Reading<'_>,
    identity: &Identity,
    message: &message::Message<'_>,
) -> Result<(), Refused<'a>> {
    let as_whom = (identity.requester(), rights::operation_of(&message.request));
    let Some((dn, is_add)) = update::place(&message.request) else { return Ok(()) };
    match met(reading, as_whom, dn, is_add) {
        None => {}
        Some(Met::Hidden(unresolved)) => {
            return Err(refusal(reading, identity, message, rights::Denied::Absent(unresolved)));
        }
        Some(Met::Object { referral, .. }) => {
            let mut answer = Vec::new();
            let response = update::response_to(&message.request);
            referral.answer(&mut answer, message.id, response);
            return Err(Refused::Elsewhere(answer));
        }
    }
    let message::Request::ModifyDn(request) = &message.request else { return Ok(()) };
    let superior = request.new_superior.and_then(|superior| met(reading, as_whom, superior, false));
    match superior {
        None => Ok(()),
        Some(Met::Object { .. }) => Err((ResultCode::AffectsMultipleDsas, OTHER_SUPERIOR).into()),
        Some(Met::Hidden(unresolved)) => {
            let denied = moved_to_absent(reading, as_whom.0, request, unresolved);
            Err(refusal(reading, identity, message, denied))
        }
    }
}

/// The answer to an update that is not made.
#[cold]
fn refusal<'a>(
    reading: &mut Reading<'_>,
    identity: &Identity,
    message: &message::Message<'_>,
    denied: rights::Denied,
) -> Refused<'a> {
    reading.scratch.annotations.is_of(message.id);
    match denied {
        rights::Denied::Right(text) if identity.dn.is_empty() => {
            Refused::Refusal((ResultCode::InsufficientAccessRights, format!("{text}; bind first").into()))
        }
        rights::Denied::Right(text) => Refused::Refusal((ResultCode::InsufficientAccessRights, text.into())),
        rights::Denied::Absent(unresolved) => {
            let response = update::response_to(&message.request);
            let dn = update::target(&message.request).unwrap_or_default();
            let (mut answer, cache) = (Vec::new(), &mut reading.scratch.evaluator.cache);
            let (out, read_point) = (&mut answer, reading.read_point);
            outcome::unresolved(out, message.id, response, dn, unresolved, read_point, cache);
            Refused::Answer(answer)
        }
    }
}

/// Is it a user's change of a secret of its own that is no plain change of its password ([`crate::op::own_password`])? Who may change its password
/// may not lock itself out, nor store one in another form.
fn changes_own_secret(reading: &mut Reading<'_>, identity: &Identity, modify: &Modify<'_>) -> bool {
    let (schema, read_point) = (reading.dsa.shard.schema(), reading.read_point);
    let mut changes = modify.changes.iter();
    if reading.scratch.views.writes_all(identity.requester().class)
        || !changes.any(|change| is_secret(schema, change.modification.description))
    {
        return false;
    }
    let target = read_point.resolve(modify.dn, &mut reading.scratch.evaluator.cache).ok();
    identity.own_entry(read_point).is_some_and(|own| Some(own.id) == target)
}

/// Does an update assert something of what its client may not test? Write access does not imply read access. This is checked
/// before the log, for what was logged is applied whatever the access rules are by then.
/// The rights are those on the entry as it is now. Should it change before the update has its turn, the assertion is
/// judged on what it is then.
fn asks_for_hidden(
    reading: &mut Reading<'_>,
    identity: &Identity,
    request: &message::Request<'_>,
    requested: &Requested<'_>,
) -> bool {
    let assertion = requested.rare.as_ref().and_then(|rare| rare.assertion.as_ref());
    let Some((filter, _)) = assertion else { return false };
    let read_point = reading.read_point;
    let target = update::target(request)
        .and_then(|dn| read_point.resolve(dn, &mut reading.scratch.evaluator.cache).ok());
    // Of an entry that is not there nothing can be asked.
    let Some(entry) = target.and_then(|id| read_point.entry(id)) else { return false };
    let asked = Action::of(Operation::Search);
    let view = reading.scratch.view(identity.requester(), asked, &entry, read_point);
    let schema = reading.dsa.shard.schema();
    assertion::asks_for_hidden(filter, &entry, schema, (&mut reading.scratch.views, view))
}

/// Works something out at the read point of now.
/// Nothing of this session is on its way to the log before it, so the read point has all that the client knows of.
pub(in crate::bundle) fn reading<T>(parts: &mut Parts<'_>, work: impl FnOnce(&mut Reading<'_>) -> T) -> T {
    let pin = parts.reader.pin();
    let read_point = pin.read_point();
    parts.scratch.evaluator.cache.refresh(read_point);
    work(&mut Reading {
        dsa: parts.dsa,
        read_point,
        scratch: parts.scratch,
        now: parts.now,
        security: parts.security,
    })
}

/// Would the answer to a modify tell whether the entry has a value of an attribute that its client may not read? Not once the
/// request itself has settled which values there are.
fn asks_for_secret(schema: &Schema, modify: &Modify<'_>) -> bool {
    let mut settled: SmallVec<[&[u8]; 2]> = SmallVec::new();
    for change in modify.changes.iter() {
        let description = change.modification.description;
        if !is_secret(schema, description) {
            continue;
        }
        let is_settled = settled.iter().any(|other| other.eq_ignore_ascii_case(description));
        match change.kind {
            // From here on the request itself says which values there are, so a later change in it tells its client nothing new.
            ModifyKind::Replace => settled.push(description),
            ModifyKind::Delete if change.modification.values.is_empty() => settled.push(description),
            _ if !is_settled => return true,
            _ => {}
        }
    }
    false
}
