//! How a session's connection is protected, and whether it may become so (RFC 4513 section 3). The connection secures itself and reports it
//! to the session; the session decides what may pass.

use crate::access::Connection;
use crate::config;
use crate::offer::Offer;
use env::net::PeerAddress;
use model::ResultCode;

/// Strength that a password needs by default on a connection that leaves this machine: any.
const PASSWORD_STRENGTH: u16 = 1;

/// The refusal of a password that came in the clear.
pub(crate) const IN_THE_CLEAR: (ResultCode, &str) = (
    ResultCode::ConfidentialityRequired,
    "a password may not be sent in the clear: use StartTLS or ldaps://",
);

/// What protects a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Security {
    /// Bits of the key of its cipher (security strength factor), or what a Unix socket counts for; 0 in the clear.
    strength: u16,
    /// Bits that are needed here.
    needed: Needed,
    /// Where the client comes from.
    client: Option<PeerAddress>,
    /// The load balancer that it came by.
    via: Option<PeerAddress>,
    /// Name of the listener that it came by.
    listener: Option<&'static str>,
    /// Has it shown a certificate that was verified?
    has_certificate: bool,
    /// Can a proof be bound to its TLS?
    has_bindings: bool,
    pub(crate) tls: Tls,
}

/// Bits that must protect a connection for what comes on it. See the keys `security.password` and its like.
#[derive(Clone, Copy, Debug, Default)]
struct Needed {
    password: u16,
    read: u16,
    write: u16,
    any: u16,
}

/// TLS on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tls {
    /// The server has no certificate.
    Unavailable,
    /// A client may ask for it.
    Offered,
    /// The request with this message id asked for it, and is to be answered.
    Requested(i32),
    /// It is on, from the first byte or since a request was answered.
    On,
}

impl Security {
    /// Of what the server does by itself.
    pub(crate) const INTERNAL: Security = Security {
        strength: 0,
        needed: Needed { password: 0, read: 0, write: 0, any: 0 },
        client: None,
        via: None,
        listener: None,
        has_certificate: false,
        has_bindings: false,
        tls: Tls::Unavailable,
    };

    /// Of a new connection, in the clear.
    pub(crate) fn open(
        (chosen, offers_tls): (config::Security, bool),
        client: Option<PeerAddress>,
        listener: config::Listener,
    ) -> Security {
        // Nobody listens between two processes of one machine.
        let by_default = if client.is_none_or(PeerAddress::is_local) { 0 } else { PASSWORD_STRENGTH };
        let strength = match client {
            Some(PeerAddress::Unix(_)) => chosen.ldapi_strength,
            Some(PeerAddress::Tcp(_)) | None => listener.strength,
        };
        // Both must be able to: the server, and the listener that the client came by.
        let tls = if offers_tls && listener.offers_tls { Tls::Offered } else { Tls::Unavailable };
        let needed = Needed {
            password: chosen.password_strength.unwrap_or(by_default),
            read: chosen.read_strength,
            write: chosen.write_strength,
            any: chosen.any_strength.max(listener.any_strength),
        };
        Security {
            strength,
            needed,
            client,
            via: listener.via,
            listener: listener.name,
            has_certificate: false,
            has_bindings: false,
            tls,
        }
    }

    /// Where the client comes from.
    pub(crate) fn client(&self) -> Option<PeerAddress> {
        self.client
    }

    /// The load balancer that it came by, if one said where the client is.
    pub(crate) fn via(&self) -> Option<PeerAddress> {
        self.via
    }

    /// What access rules can ask of it.
    pub(crate) fn connection(&self) -> Connection {
        let tls = if self.tls == Tls::On { self.strength } else { 0 };
        let (address, is_local_socket) = match self.client {
            Some(PeerAddress::Tcp(address)) => (Some(address.ip()), false),
            Some(PeerAddress::Unix(_)) => (None, true),
            None => (None, false),
        };
        Connection { strength: self.strength, tls, address, is_local_socket, listener: self.listener }
    }

    /// TLS is on, with keys of so many bits. `has_certificate`: the client's was verified. `has_bindings`: a proof can be bound to it.
    pub(crate) fn secure(&mut self, strength: u16, has_certificate: bool, has_bindings: bool) {
        self.has_bindings = has_bindings;
        self.has_certificate = has_certificate;
        self.strength = self.strength.max(strength);
        self.tls = Tls::On;
    }

    /// What the session is offered.
    pub(crate) fn offer(&self) -> Offer {
        Offer::START_TLS.when(self.tls == Tls::Offered)
            | Offer::PASSWORD.when(self.admits_password())
            | Offer::BINDING.when(self.has_bindings)
            | Offer::IDENTITY.when(self.has_certificate || matches!(self.client, Some(PeerAddress::Unix(_))))
    }

    /// May a password pass?
    #[inline]
    pub(crate) fn admits_password(&self) -> bool {
        self.strength >= self.needed.password
    }

    /// Is there a request that may not come here?
    #[inline]
    pub(crate) fn is_restricted(&self) -> bool {
        let Needed { read, write, any, .. } = self.needed;
        self.strength < read.max(write).max(any)
    }

    /// May searches and compares come?
    pub(crate) fn admits_reads(&self) -> bool {
        self.strength >= self.needed.read
    }

    /// May updates come?
    pub(crate) fn admits_writes(&self) -> bool {
        self.strength >= self.needed.write
    }

    /// May come what has no condition of its own?
    pub(crate) fn admits_any(&self) -> bool {
        self.strength >= self.needed.any
    }
}
