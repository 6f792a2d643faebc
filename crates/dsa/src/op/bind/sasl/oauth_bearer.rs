//! OAUTHBEARER (RFC 7628): a token that an issuer has signed, and perhaps as whom the client wants to act. What the token says is looked at in
//! [`crate::op::bind::token`].

use super::mechanism::{Mechanism, Reads, Wants};
use crate::offer::Offer;
use model::ResultCode;
use proto::sasl::oauth_bearer::NAME;

/// A token can be used by everybody who sees it, so it needs the protection that a password does.
pub(super) const MECHANISM: Mechanism = Mechanism {
    name: NAME,
    needs: Offer::PASSWORD,
    wants: Wants::Tokens,
    refusal: (
        ResultCode::AuthMethodNotSupported,
        "OAUTHBEARER needs a connection that a password may pass (StartTLS or ldaps://), and an issuer (oauth.issuer)",
    ),
    reads: Reads::Token,
};
