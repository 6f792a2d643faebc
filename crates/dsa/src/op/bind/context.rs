//! The steps of GSSAPI (RFC 4752): messages go to the security context, and when it stands its client is looked for by what Kerberos calls him.
//!
//! All that is wrong has one answer. No policy of passwords is asked but whether the account is open: how somebody gets tickets is the business of
//! the Kerberos server.

use crate::context::Reading;
use crate::contexts::{Kept, Step};
use crate::faults::holes;
use crate::identity::Identity;
use crate::lookup::find_user;
use env::planted;
use proto::sasl::gssapi::Answer;

/// What comes of a step.
pub(super) enum Stepped {
    /// The client is to be sent this, and goes on in the context.
    GoOn(Kept, Vec<u8>),
    /// Who it is, and as whom it wants to act.
    Proven(Identity, Vec<u8>),
}

/// Takes a message in a context, or in a new one. `None` if it fails, and also if that is not worked out yet.
pub(super) fn step(reading: &mut Reading<'_>, kept: Option<&Kept>, message: &[u8]) -> Option<Stepped> {
    let dsa = reading.dsa;
    let contexts = dsa.contexts.get()?;
    let passwords = &mut reading.scratch.passwords;
    // Whose it is is not known before. Equal messages have their turn one after the other.
    passwords.account = Some(dsa.shard.value_hash(message));
    match passwords.step(contexts, kept, message).ok()? {
        (kept, Step::GoOn(challenge)) => Some(Stepped::GoOn(kept, challenge)),
        (_, Step::Answered { principal, answer }) => proven(reading, &principal, &answer),
        (_, Step::Failed) => None,
    }
}

/// A client that asks for a layer is refused, and not served without one: it would take the connection for protected.
fn proven(reading: &mut Reading<'_>, principal: &str, answer: &[u8]) -> Option<Stepped> {
    let (dsa, read_point) = (reading.dsa, reading.read_point);
    let answer = Answer::decode(answer)?;
    if !answer.is_without_layer() && !planted::is(holes::LAYER_NOT_LOOKED_AT) {
        return None;
    }
    let user = dsa.config.principals.as_ref()?.user(principal)?;
    let evaluator = &mut reading.scratch.evaluator;
    let id = find_user(&dsa.identities.user(), read_point, evaluator, user.as_bytes())?;
    let who = dsa.identity_of(read_point, &read_point.entry(id)?, &mut evaluator.cache);
    Some(Stepped::Proven(who, answer.authorization_id.to_vec()))
}
