//! What is asked of the clients of a listener, as its connections need it.

use ::access::Network;
use env::net::PeerAddress;
use tls::ClientUse;

/// What the connections of a listener go by.
pub(crate) struct Rules {
    pub(crate) of_sessions: dsa::config::Listener,
    /// Is TLS spoken from the first byte?
    pub(crate) is_tls: bool,
    /// Whether clients are asked for certificates.
    pub(crate) clients: ClientUse,
    /// Where load balancers are that say where each client is.
    pub(crate) proxy: Vec<Network>,
    /// Does what they say of TLS count?
    pub(crate) proxy_tls: bool,
}

impl Rules {
    /// Is it a load balancer that connects from there?
    pub(crate) fn is_proxy(&self, peer: PeerAddress) -> bool {
        !self.proxy.is_empty()
            && peer.ip().is_some_and(|ip| self.proxy.iter().any(|network| network.contains(ip)))
    }
}
