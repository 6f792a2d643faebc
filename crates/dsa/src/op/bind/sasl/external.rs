//! EXTERNAL (RFC 4422 appendix A): what lies below the session knows who the client is. The message is an authorization identity, or empty.

use super::mechanism::{Claim, Mechanism, Proof, Reads, Wants};
use crate::offer::Offer;
use model::ResultCode;

pub(super) const MECHANISM: Mechanism = Mechanism {
    name: "EXTERNAL",
    needs: Offer::IDENTITY,
    refusal: (
        ResultCode::InappropriateAuthentication,
        "EXTERNAL needs a client that is known without a bind: one that connects by ldapi://, or has shown a certificate",
    ),
    wants: Wants::Nothing,
    reads: Reads::Claim(read),
};

/// A NUL is refused because of all that take names as C strings do.
fn read(message: &[u8]) -> Option<Claim<'_>> {
    let is_text = str::from_utf8(message).is_ok() && !message.contains(&0);
    is_text.then_some(Claim { proof: Proof::LowerLayer, authorization_id: message })
}
