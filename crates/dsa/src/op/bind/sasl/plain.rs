//! PLAIN (RFC 4616): a name and a password, proven as in a simple bind, and perhaps as whom the client wants to act.

use super::mechanism::{Claim, Mechanism, Proof, Reads, Wants};
use crate::offer::Offer;
use model::ResultCode;
use proto::sasl::plain::{NAME, Plain};

pub(super) const MECHANISM: Mechanism = Mechanism {
    name: NAME,
    needs: Offer::PASSWORD,
    refusal: (
        ResultCode::AuthMethodNotSupported,
        "PLAIN is not offered in the clear: use StartTLS or ldaps://",
    ),
    wants: Wants::Nothing,
    reads: Reads::Claim(read),
};

/// The password is not looked at here: all mechanisms that bring one are verified at one place.
fn read(message: &[u8]) -> Option<Claim<'_>> {
    let Plain { authorization_id, authentication_id, password } = Plain::decode(message)?;
    Some(Claim { proof: Proof::Password { name: authentication_id, password }, authorization_id })
}
