//! What of a bundle an administrator must learn of ([`crate::events`]). Binds, refusals and changes of the configuration come here, and no other request.

use crate::engine::Dsa;
use crate::events::{Event, EventKind};
use crate::faults::holes;
use crate::session::Session;
use crate::session::security::Security;
use env::planted;
use model::ResultCode;
use proto::control::no_op::NO_OPERATION;
use proto::message::{self, Reply};
use proto::op::Change;

/// Notes what came of a bind. Most succeed, and are nobody's business but that of the access log.
pub(super) fn bind(dsa: &Dsa, session: &mut Session, (id, name): (i32, &[u8]), code: ResultCode) {
    if let (Some(binds), ResultCode::Success) = (&mut session.binds, code) {
        binds.push((id, session.identity.dn.clone()));
    }
    let kind = match code {
        ResultCode::Success if session.identity.is_root => EventKind::RootBind,
        // A client without a name or a password does no harm, and no more does a step of SASL.
        ResultCode::Success | ResultCode::SaslBindInProgress | ResultCode::UnwillingToPerform => return,
        ResultCode::ConfidentialityRequired => EventKind::Cleartext,
        ResultCode::Busy => EventKind::BindRefused,
        _ => EventKind::BindFailed,
    };
    note(dsa, session, kind, name, code, String::new());
}

/// Notes that an account is locked from now on.
pub(super) fn locked(dsa: &Dsa, session: &Session, dn: &[u8]) {
    note(dsa, session, EventKind::Locked, dn, ResultCode::InvalidCredentials, String::new());
}

/// Notes that an update with a password came in the clear, and was refused for it. Who sent it is not logged: anybody can send what was seen on its way.
pub(super) fn cleartext(dsa: &Dsa, security: Security, request: &message::Request<'_>) {
    dsa.events.note(|| Event {
        peer: security.client(),
        via: security.via(),
        name: target(request).to_vec(),
        code: Some(ResultCode::ConfidentialityRequired),
        ..Event::of(EventKind::Cleartext, String::new())
    });
}

/// Notes a change of the configuration or the schema, access rules among it: which attributes, and no values. `answered`: empty, if it goes through the log and is
/// answered when it holds. A change that was only checked, and would have succeeded, is none.
pub(super) fn configuration(dsa: &Dsa, session: &Session, request: &message::Request<'_>, answered: &[u8]) {
    let detail = match request {
        message::Request::Modify(modify) => {
            let shown = |change: Change<'_>| match planted::is(holes::VALUES_NOTED) {
                true => format!("{:?}", change.modification.values.raw()),
                false => String::from_utf8_lossy(change.modification.description).into_owned(),
            };
            modify.changes.iter().map(shown).collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    };
    let code = match answered {
        [] => ResultCode::Success,
        answered => {
            let reply = Reply::decode(answered).ok();
            let result = reply.as_ref().and_then(Reply::result);
            if result.as_ref().is_some_and(|result| result.code == NO_OPERATION) {
                return;
            }
            result.and_then(|result| result.result_code()).unwrap_or(ResultCode::Other)
        }
    };
    note(dsa, session, EventKind::Configuration, target(request), code, detail);
}

/// Notes an event for the security log.
fn note(dsa: &Dsa, session: &Session, kind: EventKind, name: &[u8], code: ResultCode, detail: String) {
    dsa.events.note(|| Event {
        peer: session.peer.client(),
        via: session.security.via(),
        who: session.identity.dn.clone(),
        name: name.to_vec(),
        code: Some(code),
        ..Event::of(kind, detail)
    });
}

/// The entry that an update is about. A password modify is about the one that it names in a value, which is logged nowhere.
fn target<'a>(request: &message::Request<'a>) -> &'a [u8] {
    match request {
        message::Request::Add(add) => add.dn,
        message::Request::Modify(modify) => modify.dn,
        message::Request::Delete(dn) => dn,
        message::Request::ModifyDn(modify_dn) => modify_dn.dn,
        _ => b"",
    }
}
