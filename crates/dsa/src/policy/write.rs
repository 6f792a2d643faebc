//! Changes of the state of an account, or of the form of its password, that a bind comes to. Each is a modify by the server, logged before the bind is answered: a lock that a
//! client has seen survives a crash, and a grace login is counted before it is one.

use crate::engine::Dsa;
use crate::extension::{Change, result_of};
use crate::identity::Identity;
use crate::outcome;
use crate::password::policies::{Purpose, Write};
use ::access::AuthMethod;
use model::ResultCode;
use proto::control::assertion;
use proto::message::Request;
use proto::op::modify::{Changes, Modify, change_list};
use proto::tag::BIND_RESPONSE;
use std::sync::Arc;

/// Who has changed the state, as it is recorded with the entry.
pub const ACTOR: &[u8] = b"cn=Password Policy";

/// Attributes that a renewal keeps as they are: when the entry was changed last, and by whom.
pub(crate) const LAST_CHANGE: [&[u8]; 2] = [b"modifyTimestamp", b"modifiersName"];

/// The change that a write is, of a bind with this message id. `answer`: what the bind is answered when it is done.
pub(crate) fn change_of(dsa: &Dsa, write: Write, id: i32, answer: Vec<u8>) -> Change {
    // An account is locked also where no further name can be recorded. That of the initial owner is there in any case.
    let has_name = dsa.shard.admits_name(ACTOR);
    let name = if has_name { ACTOR } else { dsa.config.store.initial_owner.as_bytes() };
    // Only by its own name the server may say when the entry was changed last.
    let may_say = |name: &[u8]| has_name || !LAST_CHANGE.contains(&name);
    let changes = write.changes.iter().filter(|(_, name, _)| may_say(name));
    let list = changes.map(|(kind, name, values)| (*kind, &name[..], values.iter().map(Vec::as_slice)));
    let list = change_list(list);
    let changes = Changes::parse(&list).expect("just encoded");
    // Critical, for without it the last grace login could be used twice.
    let asserted = write.assertion.as_deref().map(|filter| assertion::control(filter, true));
    let mut message = Vec::new();
    Request::Modify(Modify { dn: &write.dn, changes }).encode(&mut message, id, asserted.as_slice());
    let (purpose, lockouts) = (write.purpose, Arc::clone(&dsa.policies.lockouts));
    let answer = Box::new(move |id, modified: &[u8], out: &mut Vec<u8>| {
        let is_done = result_of(modified).result_code() == Some(ResultCode::Success);
        match purpose {
            Purpose::Admit if !is_done => {
                let text = "the account was changed at the same time; nothing was done; try again";
                return outcome::say(out, id, BIND_RESPONSE, ResultCode::Busy, text);
            }
            Purpose::Lock(account) if is_done => lockouts.forget(account),
            // That a lock could not be written is nothing that the client may learn: the bind has failed in either case. That a password was not
            // stored anew does it no harm: it was changed meanwhile, or there is no memory.
            Purpose::Admit | Purpose::Lock(_) | Purpose::Renew => {}
        }
        out.extend_from_slice(&answer);
    });
    let actor = Identity::named(name.to_vec(), AuthMethod::None);
    Change { id, message, actor, answer, is_of_bind: purpose != Purpose::Renew, conditions: Vec::new() }
}
