//! Password modify (RFC 3062): a user's passwords become one other. Whoever may change entries changes those of all, a user its own.
//!
//! It comes to a modify of userPassword whose value is ready, so that is what is logged, not a password in the clear nor
//! anything that would come out differently the next time. That the old password is right is part of the modify: the
//! stored value that it was compared with must still be there.

use crate::access::Rights;
use crate::control::proxied_authorization::find_user;
use crate::dispatch::Reading;
use crate::identity::Identity;
use crate::password;
use model::limits::PASSWORD_BYTES_MAX;
use model::{EntryId, ResultCode};
use proto::Outline;
use proto::control::proxied_authorization::AuthzId;
use proto::ext::password_modify::{PasswordModify, encode_generated};
use proto::message::{Reply, Request, Response};
use proto::op::extended::ExtendedResponse;
use proto::op::modify::{Changes, Modify, ModifyKind, change_list};
use proto::result::LdapResult;
use store::EntryRef;

const USER_PASSWORD: &[u8] = b"userPassword";

type Refusal = (ResultCode, &'static str);

/// A change of a password that is to be carried out.
pub(crate) struct Change {
    /// Message id of the request.
    pub(crate) id: i32,
    /// The modify that it comes to, a whole message.
    pub(crate) message: Vec<u8>,
    /// Who asks, with the rights that it takes.
    pub(crate) actor: Identity,
    generated: Option<Vec<u8>>,
    /// Does the modify depend on the old password?
    proves: bool,
}

/// What a client asks for.
///
/// # Errors
/// Code and text if it is not to be understood, or if the client is nobody.
pub(crate) fn decode<'v>(
    identity: &Identity,
    value: Option<&'v [u8]>,
) -> Result<PasswordModify<'v>, Refusal> {
    let request = value.map_or(Ok(PasswordModify::default()), PasswordModify::decode);
    let request = request.map_err(|error| (ResultCode::ProtocolError, error.reason))?;
    match identity.dn.is_empty() {
        true => Err((ResultCode::StrongerAuthRequired, "anonymous clients have no password; bind first")),
        false => Ok(request),
    }
}

/// Who the password belongs to that a request is about, if it names anybody.
pub(crate) fn named<'v>(request: &PasswordModify<'v>) -> Option<AuthzId<'v>> {
    request.user.map(|user| AuthzId::parse(user).unwrap_or(AuthzId::Dn(user)))
}

/// Works out what a request comes to, at a read point.
///
/// # Errors
/// Code and text if it is refused.
pub(crate) fn prepare(
    reading: &mut Reading<'_>,
    identity: &Identity,
    id: i32,
    request: &PasswordModify<'_>,
) -> Result<Change, Refusal> {
    let entry = find(reading, identity, request)?;
    let old = request.old.map(|old| prove(reading, &entry, old)).transpose()?;
    let (new, generated) = match request.new {
        Some(new) => (new.to_vec(), None),
        None => {
            let made = password::generate(&mut **reading.dsa.entropy());
            (made.clone(), Some(made))
        }
    };
    let stored = store(reading, &new)?;
    let mut dn = Vec::new();
    reading.read_point.write_dn(&entry, &mut reading.scratch.evaluator.cache, &mut dn);
    let changes = old.iter().map(|old| (ModifyKind::Delete, USER_PASSWORD, [&old[..]]));
    let changes = changes.chain([(ModifyKind::Replace, USER_PASSWORD, [&stored[..]])]);
    let changes = change_list(changes);
    let changes = Changes::parse(&changes).expect("just encoded");
    let mut message = Vec::new();
    Request::Modify(Modify { dn: &dn, changes }).encode(&mut message, id, &[]);
    let actor = Identity { dn: identity.dn.clone(), rights: Rights::Root };
    Ok(Change { id, message, actor, generated, proves: old.is_some() })
}

/// The entry whose password is to be changed, if the client may.
fn find<'r>(
    reading: &mut Reading<'r>,
    identity: &Identity,
    request: &PasswordModify<'_>,
) -> Result<EntryRef<'r>, Refusal> {
    let named = named(request);
    let read_point = reading.read_point;
    let evaluator = &mut reading.scratch.evaluator;
    let mut resolve = |dn: &[u8]| read_point.resolve(dn, &mut evaluator.cache).ok();
    let own: Option<EntryId> = resolve(&identity.dn);
    let found = match named {
        None => own,
        Some(AuthzId::Dn(dn)) => resolve(dn),
        Some(AuthzId::User(user)) => find_user(read_point, evaluator, user),
        Some(AuthzId::Anonymous) => None,
    };
    // Whoever may only change its own does not learn which others there are.
    if !reading.dsa.rules.may_write(identity.rights) && (found.is_none() || found != own) {
        return Err((ResultCode::InsufficientAccessRights, "a user may change its own password only"));
    }
    let is_root = match named {
        None => true,
        Some(AuthzId::Dn(dn)) => reading.dsa.is_root(dn),
        Some(_) => false,
    };
    let missing = match is_root {
        true => {
            let text = "the root DN has no entry: its password is the one that the server is configured with";
            (ResultCode::UnwillingToPerform, text)
        }
        false => (ResultCode::NoSuchObject, "there is no entry of this user"),
    };
    found.and_then(|id| read_point.entry(id)).ok_or(missing)
}

/// The stored value that an old password is right by.
fn prove(reading: &Reading<'_>, entry: &EntryRef<'_>, old: &[u8]) -> Result<Vec<u8>, Refusal> {
    let found = password::find(reading.read_point, entry, old);
    found.ok_or((ResultCode::InvalidCredentials, "the old password is not right"))
}

/// What is stored for a new password.
fn store(reading: &Reading<'_>, new: &[u8]) -> Result<Vec<u8>, Refusal> {
    if new.is_empty() {
        return Err((ResultCode::ConstraintViolation, "an empty password proves nothing"));
    }
    if new.len() > PASSWORD_BYTES_MAX {
        return Err((ResultCode::ConstraintViolation, "the new password is too long"));
    }
    let stored = reading.dsa.config.password_scheme.store(new, &mut **reading.dsa.entropy());
    let text =
        "stored in the clear it would be taken for one with a scheme; choose one that does not begin so";
    stored.ok_or((ResultCode::ConstraintViolation, text))
}

/// Passwords stay out of logs.
impl std::fmt::Debug for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Change").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Change {
    /// Name of the entry that it is about.
    pub(crate) fn dn(&self) -> &[u8] {
        Outline::of(&self.message).expect("it was just encoded").dn
    }

    /// Appends the answer, from that of the modify.
    pub(crate) fn answer(&self, modified: &[u8], out: &mut Vec<u8>) {
        let reply = Reply::decode(modified).expect("the agent's own answer");
        let Response::Done(_, mut result) = reply.response else {
            unreachable!("a modify has a plain answer")
        };
        let code = result.result_code();
        if self.proves && code == Some(ResultCode::NoSuchAttribute) {
            // Another one changed the password meanwhile.
            let diagnostic = &b"the old password is not right"[..];
            result = LdapResult { diagnostic, ..LdapResult::new(ResultCode::InvalidCredentials) };
        }
        let generated = self.generated.as_deref().filter(|_| code == Some(ResultCode::Success));
        let value = generated.map(encode_generated);
        ExtendedResponse { result, oid: None, value: value.as_deref() }.encode(out, self.id, &[]);
    }
}
