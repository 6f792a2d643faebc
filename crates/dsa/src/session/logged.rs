//! What the access log asks of a session.

use super::Session;
use env::net::PeerAddress;

/// Who a session is, and where its client is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Where the client is; none of a session that the server has with itself.
    pub peer: Option<PeerAddress>,
    /// Name of the listener that it came by.
    pub listener: Option<&'static str>,
    /// The load balancer that it came by, if one said where the client is.
    pub via: Option<PeerAddress>,
    /// Bits of the key of its TLS; 0 without.
    pub tls: u16,
    /// Its DN; empty for anonymous.
    pub dn: Vec<u8>,
}

impl Session {
    /// Remembers from now on who its binds made it, for [`Session::take_binds`]. Of a session that nobody asks this of, nothing is kept.
    /// `connection`: its number in the access log.
    pub fn remember_binds(&mut self, connection: u64) {
        self.binds = Some(Vec::new());
        self.connection = connection;
    }

    /// The access log is off: nobody asks for its binds from now on.
    pub fn forget_binds(&mut self) {
        self.binds = None;
        self.connection = 0;
    }

    /// The message ids of binds that have succeeded since the last call, and who each made the session.
    /// A bundle may have several, so the identity at its end tells nothing of its other requests.
    pub fn take_binds(&mut self) -> impl Iterator<Item = (i32, Vec<u8>)> {
        self.binds.as_mut().map(std::mem::take).unwrap_or_default().into_iter()
    }

    /// Who it is and where its client is, for a log that begins later than it.
    pub fn standing(&self) -> Standing {
        let connection = self.security.connection();
        Standing {
            peer: self.security.client(),
            listener: connection.listener,
            via: self.security.via(),
            tls: connection.tls,
            dn: self.identity.dn.clone(),
        }
    }
}
