//! Where the client of a connection is.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Where a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerAddress {
    /// Behind this address and port.
    Tcp(SocketAddr),
    /// On this machine, at the other end of a Unix socket.
    Unix(Credentials),
}

/// Whose process is at the other end of a Unix socket, as the system says (SO_PEERCRED): the one that connected it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Process; 0 if the system does not say.
    pub pid: i32,
}

impl PeerAddress {
    /// Its internet address, without port; none on a Unix socket.
    pub fn ip(self) -> Option<IpAddr> {
        match self {
            PeerAddress::Tcp(address) => Some(address.ip()),
            PeerAddress::Unix(_) => None,
        }
    }

    /// The address that limits count: a network of IPv6 with 64 bits usually is one client's.
    pub fn block(self) -> Option<IpAddr> {
        Some(match self.ip()?.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from(u128::from(address) >> 64 << 64)),
            address => address,
        })
    }

    /// Is it on this machine?
    pub fn is_local(self) -> bool {
        self.ip().is_none_or(|ip| ip.to_canonical().is_loopback())
    }
}

impl From<SocketAddr> for PeerAddress {
    fn from(address: SocketAddr) -> PeerAddress {
        PeerAddress::Tcp(address)
    }
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeerAddress::Tcp(address) => address.fmt(f),
            PeerAddress::Unix(Credentials { uid, gid, pid }) => {
                write!(f, "ldapi uid={uid} gid={gid} pid={pid}")
            }
        }
    }
}
