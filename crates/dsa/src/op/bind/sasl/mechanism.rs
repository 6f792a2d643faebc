//! What a SASL mechanism tells of itself, in its own file, and what it reads of its client.

use crate::config::Config;
use crate::offer::Offer;
use crate::outcome::FixedRefusal;
use ::password::Scheme;

/// A mechanism.
pub(crate) struct Mechanism {
    pub(crate) name: &'static str,
    /// What a session must be offered to use it.
    pub(crate) needs: Offer,
    /// How it is refused to others.
    pub(super) refusal: FixedRefusal,
    /// What the configuration must have for it. Without it nobody could bind by the mechanism, and it is not listed.
    pub(super) wants: Wants,
    pub(super) reads: Reads,
}

/// What must be configured for a mechanism.
pub(super) enum Wants {
    Nothing,
    /// Passwords that are stored in this form.
    Scheme(Scheme),
    /// An issuer of tokens.
    Tokens,
    /// Keys for security contexts.
    Contexts,
}

/// What becomes of a client's message.
pub(super) enum Reads {
    /// It says all; `None` if it is malformed.
    Claim(for<'a> fn(&'a [u8]) -> Option<Claim<'a>>),
    /// It is a step of two. The exchange says which, and what the first has left.
    Scram {
        /// Is the proof bound to the channel?
        is_plus: bool,
    },
    /// It has a token. One that is not taken has a second step, which says nothing.
    Token,
    /// It is for a security context.
    Context,
}

impl Mechanism {
    /// Can it be used, with this configuration and where new passwords are stored so, by a session with this offer?
    pub(crate) fn is_offered(&self, config: &Config, schemes: &[Scheme], offer: Offer) -> bool {
        let is_there = match self.wants {
            Wants::Nothing => true,
            // Of accounts whose passwords are stored otherwise there is nothing to prove.
            Wants::Scheme(scheme) => schemes.contains(&scheme),
            Wants::Tokens => config.tokens.is_some(),
            Wants::Contexts => config.principals.is_some(),
        };
        is_there && offer.has(self.needs)
    }
}

/// What a client says of itself.
#[derive(Clone, Copy)]
pub(in crate::op::bind) struct Claim<'a> {
    pub(in crate::op::bind) proof: Proof<'a>,
    /// As whom it wants to act (RFC 4513 section 5.2.1.8); empty: as who it is.
    pub(in crate::op::bind) authorization_id: &'a [u8],
}

/// How a client proves who it is.
#[derive(Clone, Copy)]
pub(in crate::op::bind) enum Proof<'a> {
    /// What lies below the session knows it.
    LowerLayer,
    /// By a password. The name is an authorization identity, or that of a user without the prefix.
    Password { name: &'a [u8], password: &'a [u8] },
}
