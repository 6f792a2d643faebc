//! What a bind knows of its client before it has proved anything, how it finds who the client says that it is, and what comes of it.

use super::sasl::Exchange;
use crate::config::{ChannelBindings, ClientCertificate};
use crate::context::Reading;
use crate::identity::Identity;
use crate::lookup::find_user;
use env::net::PeerAddress;
use proto::control::proxied_authorization::AuthzId;

/// What lies below a session knows of its client.
#[derive(Clone, Copy)]
pub(crate) struct Known<'s> {
    /// Where it is.
    pub(crate) address: Option<PeerAddress>,
    /// Its certificate, if it has shown one that was verified.
    pub(crate) certificate: Option<&'s ClientCertificate>,
    /// What of its TLS a proof can be bound to.
    pub(crate) bindings: Option<&'s ChannelBindings>,
}

/// Who a client has proved to be.
pub(super) struct Identified {
    pub(super) who: Identity,
    /// As whom it wants to act.
    pub(super) authorization_id: Vec<u8>,
    /// The last message of the mechanism.
    pub(super) said: Vec<u8>,
}

/// What comes of a bind.
pub(super) enum Outcome {
    /// With the last message of a mechanism, if it has one.
    Bound(Identity, Option<Vec<u8>>),
    /// The client is to take the next step, by this challenge.
    GoOn(Exchange, Vec<u8>),
    /// It is not proven, which the mechanism has a message for.
    Failed(&'static [u8]),
}

/// The DN of somebody who names himself: by a DN with its prefix, or as people call him. `None` if nobody is called so.
pub(super) fn dn_of(reading: &mut Reading<'_>, name: &[u8]) -> Option<Vec<u8>> {
    // The prefix decides, and what has none is a user.
    let user = match AuthzId::parse(name) {
        Some(AuthzId::Dn(dn)) => return Some(dn.to_vec()),
        Some(AuthzId::User(user)) => user,
        Some(AuthzId::Anonymous) => return None,
        None => name,
    };
    let read_point = reading.read_point;
    let evaluator = &mut reading.scratch.evaluator;
    let id = find_user(&reading.dsa.identities.user(), read_point, evaluator, user)?;
    Some(read_point.dn(&read_point.entry(id)?, &mut evaluator.cache))
}
