//! What is asked of the clients of a listener, as its connections need it.

use crate::tls::ClientUse;

/// What the connections of a listener go by.
pub(crate) struct Rules {
    pub(crate) of_sessions: dsa::config::Listener,
    /// Is TLS spoken from the first byte?
    pub(crate) is_tls: bool,
    /// Whether clients are asked for certificates.
    pub(crate) clients: ClientUse,
}
