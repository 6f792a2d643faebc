//! SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, RFC 7677): the client proves that it knows a password, and the server that it knows what is stored
//! of it, without the password on the wire. What the messages say is looked at in [`crate::op::bind::scram`].

use super::mechanism::{Mechanism, Reads, Wants};
use crate::offer::Offer;
use ::password::Scheme;
use model::ResultCode;
use proto::sasl::scram::{NAME, NAME_PLUS};

pub(super) const MECHANISM: Mechanism = Mechanism {
    name: NAME,
    needs: Offer::NOTHING,
    wants: Wants::Scheme(Scheme::ScramSha256),
    refusal: (
        ResultCode::AuthMethodNotSupported,
        "SCRAM needs stored passwords of its own form: add scram-sha-256 to password-scheme",
    ),
    reads: Reads::Scram { is_plus: false },
};

pub(super) const MECHANISM_PLUS: Mechanism = Mechanism {
    name: NAME_PLUS,
    needs: Offer::BINDING,
    wants: Wants::Scheme(Scheme::ScramSha256),
    refusal: (
        ResultCode::AuthMethodNotSupported,
        "SCRAM-SHA-256-PLUS needs TLS to bind to, and scram-sha-256 in password-scheme",
    ),
    reads: Reads::Scram { is_plus: true },
};
