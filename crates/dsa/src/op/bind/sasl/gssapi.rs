//! GSSAPI (RFC 4752), which is Kerberos: the client has a ticket for this server.

use super::mechanism::{Mechanism, Reads, Wants};
use crate::offer::Offer;
use model::ResultCode;
use proto::sasl::gssapi::NAME;

/// There is no security layer, so TLS is what protects the session. It has to be there as for a password: else who is on the way takes the
/// session over when the client has proved itself.
pub(super) const MECHANISM: Mechanism = Mechanism {
    name: NAME,
    needs: Offer::PASSWORD,
    wants: Wants::Contexts,
    refusal: (
        ResultCode::AuthMethodNotSupported,
        "GSSAPI needs a connection that a password may pass (StartTLS or ldaps://), and a keytab (gssapi.keytab)",
    ),
    reads: Reads::Context,
};
