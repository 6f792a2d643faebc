//! Password modify (RFC 3062): one other password replaces those of a user. A client that may change entries changes those of all users,
//! any other client its own.
//!
//! It comes to a modify of userPassword whose value is ready, so that is what is logged, not a password in the clear nor
//! anything that would come out differently the next time. That the old password is right is part of the modify: the
//! stored value that it was compared with must still be there. So is that the entry is the one that was found, unless the client
//! named it by its DN: an assertion tells it from another one that may have got its name by then.

use crate::context::Reading;
use crate::extension::{Answer, Change, Extension, Role, Writes, result_of};
use crate::identity::Identity;
use crate::lookup::find_user;
use crate::op::password_values;
use crate::outcome::FixedRefusal;
use crate::password;
use crate::password::policies::Changed;
use crate::policy::{self, New, Place};
use crate::rights::password::{REPLACE, may_set_password};
use crate::rights::{Conditions, visible};
use ::access::Operation;
use model::filter::Assertion;
use model::{Description, EntryId, Filter, ResultCode};
use proto::control::proxied_authorization::{self, AuthzId};
use proto::control::{assertion, non_transaction, transaction_specification};
use proto::ext::password_modify::{OID, PasswordModify, encode_generated};
use proto::message::Request;
use proto::op::extended::ExtendedResponse;
use proto::op::modify::{Changes, Modify, ModifyKind, change_list};
use proto::result::LdapResult;
use smallvec::SmallVec;
use store::derived::Derived;
use store::{EntryRef, Values};

pub(super) const EXTENSION: Extension = Extension {
    oid: OID,
    controls: &[proxied_authorization::OID, transaction_specification::OID, non_transaction::OID],
    role: Role::Writes(Writes { target, prepare, refuse: None }),
};

/// By its name, as a client would write it: the modify in the log is read by whatever schema a replay has.
pub(crate) const USER_PASSWORD: &[u8] = b"userPassword";
const ENTRY_UUID: &[u8] = b"entryUUID";

const NOT_ALLOWED: FixedRefusal = (
    ResultCode::InsufficientAccessRights,
    "insufficient rights to change this password, or there is no such user",
);
/// Busy, for the same request may succeed when it is sent again.
pub(crate) const NOT_THE_SAME: FixedRefusal = (
    ResultCode::Busy,
    "the entry was renamed or deleted, or its password changed, at the same time; nothing was changed; try again",
);

/// What a client asks for.
///
/// # Errors
/// Code and text if it is not to be understood, or if the client is nobody.
/// A request without a value is one with none of its optional parts (RFC 3062 section 2).
fn decode<'v>(identity: &Identity, value: Option<&'v [u8]>) -> Result<PasswordModify<'v>, FixedRefusal> {
    // A malformed value is a protocol error, before any right is looked at.
    let request = value.map_or(Ok(PasswordModify::default()), PasswordModify::decode);
    let request = request.map_err(|error| (ResultCode::ProtocolError, error.reason))?;
    match identity.dn.is_empty() {
        true => Err((ResultCode::StrongerAuthRequired, "anonymous clients have no password; bind first")),
        false => Ok(request),
    }
}

/// Who the password belongs to that a request is about, if it names anybody.
/// Clients send a DN as well as an authzId (RFC 4513 section 5.2.1.8); what is neither is taken for a DN and found to be none.
pub(crate) fn named<'v>(request: &PasswordModify<'v>) -> Option<AuthzId<'v>> {
    request.user.map(|user| AuthzId::parse(user).unwrap_or(AuthzId::Dn(user)))
}

/// See [`Writes::target`].
/// A user that is named by its uid is looked for in the directory, by an index.
fn target(
    reading: &mut Reading<'_>,
    identity: &Identity,
    value: Option<&[u8]>,
) -> Result<Option<Vec<u8>>, FixedRefusal> {
    let request = decode(identity, value)?;
    let (read_point, evaluator) = (reading.read_point, &mut reading.scratch.evaluator);
    Ok(match named(&request) {
        Some(AuthzId::User(user)) => {
            let found = find_user(&reading.dsa.identities.user(), read_point, evaluator, user)
                .and_then(|id| read_point.entry(id));
            found.map(|entry| read_point.dn(&entry, &mut evaluator.cache))
        }
        Some(AuthzId::Dn(named)) => Some(named.to_vec()),
        Some(AuthzId::Anonymous) | None => None,
    })
}

/// See [`Writes::prepare`].
fn prepare(
    reading: &mut Reading<'_>,
    identity: &Identity,
    id: i32,
    value: Option<&[u8]>,
    target: Option<&[u8]>,
) -> Result<Change, FixedRefusal> {
    let mut request = decode(identity, value)?;
    // The transaction's caller has resolved the name already; in the overlay the uid may be another entry's.
    if target.is_some() && matches!(named(&request), Some(AuthzId::User(_))) {
        request.user = target;
    }
    let request = &request;
    // Rights are decided by this.
    let (entry, conditions) = find(reading, identity, request)?;
    // Found by a value, so the value must be the entry's still when it is applied.
    let is_found_by_user = matches!(named(request), Some(AuthzId::User(_)));
    // Proved at the read point; the delete in the modify proves it once more when it is applied.
    let old = request.old.map(|old| prove(reading, &entry, old)).transpose()?;
    // Made here, and not when it is applied: a replay would make another one.
    let (new, generated) = match request.new {
        Some(new) => (new.to_vec(), None),
        None => {
            let made = reading.scratch.passwords.generate(&mut **reading.dsa.entropy());
            (made.clone(), Some(made))
        }
    };
    let proves = old.is_some();
    // One that the server makes is as good as any policy asks for.
    let asked = if generated.is_some() { New::Generated } else { New::of(&new) };
    let state = policy::judge(reading, identity, Place::Entry(&entry), &[asked], proves)?;
    let stored = password_values::hash(reading, &new)?;
    let mut changes: SmallVec<[Changed; 4]> = SmallVec::new();
    changes.extend(old.map(|old| (ModifyKind::Delete, USER_PASSWORD.to_vec(), vec![old])));
    // All passwords of the entry become this one (RFC 3062 section 2.3 speaks of "the password").
    changes.push((ModifyKind::Replace, USER_PASSWORD.to_vec(), stored));
    // Values with options stand for no password, but a password that was changed must leave none behind.
    changes.extend(
        with_options(reading, &entry).into_iter().map(|name| (ModifyKind::Replace, name, Vec::new())),
    );
    changes.extend(state);
    // Named by its DN, the client means whatever entry has that name when it is applied.
    let sign = match is_found_by_user || is_own(reading, identity, &entry) {
        true => sign_of(reading, &entry, proves),
        false => None,
    };
    let answer = Box::new(move |id, modified: &[u8], out: &mut Vec<u8>| {
        answer(id, modified, generated.as_deref(), proves, out);
    });
    let change = make(reading, identity, id, (&entry, sign), &changes, answer);
    Ok(Change { conditions, ..change })
}

/// Descriptions of the passwords that an entry has with options: they go with the others.
fn with_options(reading: &Reading<'_>, entry: &EntryRef<'_>) -> Vec<Vec<u8>> {
    let schema = reading.dsa.shard.schema();
    let plain = Description::plain(schema.well_known().user_password);
    // From the shape: whatever options its passwords have.
    let found = entry.shape.slots.iter().map(|slot| slot.description);
    let found = found.filter(move |d| d.attribute_type == plain.attribute_type && *d != plain);
    found.map(|description| schema.describe(description).into_owned().into_bytes()).collect()
}

/// Is it the entry of an identity?
/// By id, not by name: another entry may have got the name since the bind.
fn is_own(reading: &Reading<'_>, identity: &Identity, entry: &EntryRef<'_>) -> bool {
    identity.own_entry(reading.read_point).is_some_and(|own| own.id == entry.id)
}

/// What is true of an entry, and hardly of another one: its entryUUID. Where there are no operational attributes, a stored password: it
/// has a salt, or is known to the one that has the same; none is needed if the change `proves` one. In BER.
pub(crate) fn sign_of(reading: &mut Reading<'_>, entry: &EntryRef<'_>, proves: bool) -> Option<Vec<u8>> {
    let read_point = reading.read_point;
    let known = read_point.shard().schema().well_known();
    let (mut value, cache) = (Vec::new(), &mut reading.scratch.evaluator.cache);
    // Stored where an import brought it; else it follows from the entry's id and stamps.
    let stored = entry.shape.position(Description::plain(known.entry_uuid)).map(|at| entry.slot(at));
    let attribute = match stored {
        Some(Values::Inline(mut values)) => {
            value.extend_from_slice(values.next()?);
            ENTRY_UUID
        }
        _ if read_point.derive(entry, Derived::EntryUuid, cache, &mut value) => ENTRY_UUID,
        // The delete of the old value is as good as an assertion.
        _ if proves => return None,
        _ => {
            value = password::first(read_point, entry, |_| true)?;
            USER_PASSWORD
        }
    };
    Some(assertion::encode(&Filter::Equality(Assertion { attribute, value: &value })))
}

/// A change of an entry as the modify that it comes to. With a sign it is applied only of an entry that has it.
/// The modify is encoded as a client would send it, so that log and replay need nothing new.
pub(crate) fn make(
    reading: &mut Reading<'_>,
    identity: &Identity,
    id: i32,
    (entry, sign): (&EntryRef<'_>, Option<Vec<u8>>),
    changes: &[Changed],
    answer: Answer,
) -> Change {
    let dn = reading.read_point.dn(entry, &mut reading.scratch.evaluator.cache);
    let changes =
        changes.iter().map(|(kind, name, values)| (*kind, &name[..], values.iter().map(Vec::as_slice)));
    let changes = change_list(changes);
    let changes = Changes::parse(&changes).expect("just encoded");
    // Critical: without it the change might hit another entry.
    let asserted = sign.as_deref().map(|sign| assertion::control(sign, true));
    let mut message = Vec::new();
    Request::Modify(Modify { dn: &dn, changes }).encode(&mut message, id, asserted.as_slice());
    Change { id, message, actor: identity.clone(), answer, is_of_bind: false, conditions: Vec::new() }
}

/// The entry whose password is to be changed, if the client may, and under which conditions.
/// In this order: whether the client may, then whether the entry is there.
fn find<'r>(
    reading: &mut Reading<'r>,
    identity: &Identity,
    request: &PasswordModify<'_>,
) -> Result<(EntryRef<'r>, Conditions), FixedRefusal> {
    let named = named(request);
    let read_point = reading.read_point;
    let evaluator = &mut reading.scratch.evaluator;
    // The entry that the session is bound as, if that is still there.
    let own: Option<EntryId> = identity.own_entry(read_point).map(|entry| entry.id);
    let found = match named {
        None => own,
        Some(AuthzId::Dn(dn)) => read_point.resolve(dn, &mut evaluator.cache).ok(),
        Some(AuthzId::User(user)) => find_user(&reading.dsa.identities.user(), read_point, evaluator, user),
        Some(AuthzId::Anonymous) => None,
    };
    // A client that may change its own alone does not learn which others there are.
    let who = identity.requester();
    let found = found.and_then(|id| visible(reading, who, Ok(id)).ok());
    let may = match found.and_then(|id| read_point.entry(id)) {
        Some(entry) => may_set_password(reading, who, &entry, (Operation::PasswordModify, REPLACE)),
        None => reading.scratch.views.writes_all(who.class).then(Conditions::new),
    };
    // Before it is said that there is no such entry: only who may change all of them learns that.
    let conditions = may.ok_or(NOT_ALLOWED)?;
    let no_entry = "the root DN has no entry: its password is set in the server's configuration";
    let missing = match named {
        None if identity.entry.is_none() => (ResultCode::UnwillingToPerform, no_entry),
        Some(AuthzId::Dn(dn)) if reading.dsa.is_root(dn) => (ResultCode::UnwillingToPerform, no_entry),
        _ => (ResultCode::NoSuchObject, "no entry for this user"),
    };
    let entry = found.and_then(|id| read_point.entry(id)).ok_or(missing)?;
    let dn = read_point.dn(&entry, &mut reading.scratch.evaluator.cache);
    match reading.dsa.is_root(&dn) {
        // The password of an entry with the root DN's name would not be the one that it binds with.
        true if !reading.dsa.root_binds_by_entry() => {
            let text = "the password of the root DN is set in the server's configuration";
            Err((ResultCode::UnwillingToPerform, text))
        }
        true if !identity.is_root => {
            Err((ResultCode::InsufficientAccessRights, "only the root DN changes its own password"))
        }
        _ => Ok((entry, conditions)),
    }
}

/// The stored value that an old password is right by.
/// invalidCredentials, whatever is wrong: RFC 3062 section 2 leaves it open.
fn prove(reading: &mut Reading<'_>, entry: &EntryRef<'_>, old: &[u8]) -> Result<Vec<u8>, FixedRefusal> {
    password_values::prove(reading, entry, old)?
        .ok_or((ResultCode::InvalidCredentials, "the old password is not right"))
}

/// Answers a password modify, from the answer to the modify that it came to. `proves`: does that depend on the old password?
/// A generated password is sent to its client only when it is durable.
fn answer(id: i32, modified: &[u8], generated: Option<&[u8]>, proves: bool, out: &mut Vec<u8>) {
    let mut result = result_of(modified);
    let code = result.result_code();
    // The entry has not its sign any more.
    if code == Some(ResultCode::AssertionFailed) {
        let (code, text) = NOT_THE_SAME;
        result = LdapResult { diagnostic: text.as_bytes(), ..LdapResult::new(code) };
    }
    if proves && code == Some(ResultCode::NoSuchAttribute) {
        // Another one changed the password meanwhile.
        let diagnostic = &b"the old password is not right"[..];
        result = LdapResult { diagnostic, ..LdapResult::new(ResultCode::InvalidCredentials) };
    }
    let generated = generated.filter(|_| code == Some(ResultCode::Success));
    let value = generated.map(encode_generated);
    ExtendedResponse { result, oid: None, value: value.as_deref() }.encode(out, id, &[]);
}
