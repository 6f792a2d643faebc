//! Which server is asked.

use crate::trust::Trust;

/// A server, and the identity with which to ask it.
#[derive(Clone, Debug)]
pub struct Server {
    /// Name or address; IPv6 without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Name and password of a simple bind; without them the client stays anonymous.
    pub credentials: Option<(String, Vec<u8>)>,
    /// What secures the connection; `None`: nothing.
    pub security: Option<Security>,
}

/// TLS from the first byte on, or from StartTLS on.
#[derive(Clone, Debug)]
pub struct Security {
    /// Which server is believed to be the one.
    pub trust: Trust,
    /// Is TLS asked for by StartTLS (RFC 4511 section 4.14), before anything else?
    pub is_start_tls: bool,
}
