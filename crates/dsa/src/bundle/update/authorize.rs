//! Second stage: as whom an update is applied, and whether that identity may. Nothing of it is asked when a log is replayed: that
//! comes to the same outcome whatever rights the clients have by then. Nor does it look at entries: other updates that are on their way
//! may change them before the update has its turn.

use super::classify::{Kind, Request};
use crate::access::{Effective, Rights};
use crate::control::{Requested, proxied_authorization};
use crate::engine::Dsa;
use crate::identity::Identity;
use crate::op::modify_dn::new_dn;
use crate::session::Session;
use crate::session::security::{IN_THE_CLEAR, Security};
use crate::worker::Parts;
use model::ResultCode;
use proto::message;
use proto::op::Modify;
use proto::op::modify::ModifyKind;
use schema::Schema;
use smallvec::SmallVec;

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
    let pin = parts.reader.pin();
    let evaluator = &mut parts.scratch.evaluator;
    evaluator.cache.refresh(pin.read_point());
    let client = &session.identity;
    proxied_authorization::authorize(parts.dsa, pin.read_point(), evaluator, client, authorization_id)
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
        false => Err(IN_THE_CLEAR),
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

/// May this identity make this update of an entry, or of the configuration?
///
/// # Errors
/// The refusal if it may not.
pub(in crate::bundle) fn authorize<'i>(
    dsa: &Dsa,
    identity: &'i Identity,
    request: &Request<'_>,
    requested: &Requested<'_>,
) -> Result<Effective<'i>, Refusal> {
    let effective = Effective::to_write(&dsa.rules, identity)?;
    // A change of the configuration records nobody's name.
    if !matches!(request.kind, Kind::Config) {
        of_name(dsa, identity)?;
    }
    if identity.rights == Rights::Root {
        return Ok(effective);
    }
    // The root DN may read everything, so only others are asked what they would learn.
    if asks_for_hidden(dsa, identity.rights, requested) {
        return Err(HIDDEN);
    }
    // Who can set the password of the entry that the root DN binds by, or give an entry that name, has the rights of the root DN.
    let guards_root = dsa.root_binds_by_entry();
    let refusal = match &request.message.request {
        message::Request::Modify(modify) if guards_root && dsa.names_root(modify.dn) => Some(ROOT_NAME),
        message::Request::Modify(modify) => {
            asks_for_secret(dsa.shard.schema(), modify).then_some(SECRET_VALUE)
        }
        message::Request::Add(add) => dsa.names_root(add.dn).then_some(ROOT_NAME),
        // An entry below may get the name of the root DN, even one that is only on its way.
        message::Request::ModifyDn(modify_dn) => {
            dsa.is_root_or_above(&new_dn(modify_dn)).then_some(ROOT_NAME)
        }
        _ => None,
    };
    refusal.map_or(Ok(effective), Err)
}

/// Does an update assert something of what its client may not read? Write access does not imply read access. This is checked
/// before the log, for what was logged is applied whatever the access rules are by then.
fn asks_for_hidden(dsa: &Dsa, rights: Rights, requested: &Requested<'_>) -> bool {
    let assertion = requested.rare.as_ref().and_then(|rare| rare.assertion.as_ref());
    assertion.is_some_and(|(filter, _)| dsa.rules.asks_for_hidden(rights, dsa.shard.schema(), filter))
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
