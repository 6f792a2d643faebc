//! Stream sockets: small traits, and the real ones on tokio, over TCP and on this machine. A stream is driven by polling, so that one
//! thread's buffers serve all its connections and an idle connection holds none.

mod inherited;
mod peer;
pub mod proxy;
mod socket;
mod stream;
mod tcp;
mod unix;

pub use self::inherited::inherited;
pub use self::peer::{Credentials, PeerAddress};
pub use self::socket::{Bound, Socket, SocketListener, SocketPending};
pub use self::stream::{Listener, Pending, Stream};
pub use self::tcp::{TcpBound, TcpListener, TcpPending, TcpStream};
pub use self::unix::{UnixBound, UnixListener, UnixPending, UnixStream};

use std::io;
use std::net::SocketAddr;

/// The addresses of a name, or the address that it is.
pub fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok(std::net::ToSocketAddrs::to_socket_addrs(&(host, port))?.collect())
}
