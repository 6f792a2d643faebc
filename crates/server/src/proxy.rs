//! What a load balancer says of a client before the client speaks (PROXY protocol): read from those whom the listener trusts, and from nobody
//! else.

use env::net::proxy::{HEADER_BYTES_MAX, Header, Parsed, parse};
use env::net::{PeerAddress, Stream};
use env::task;
use std::future::poll_fn;
use std::io;

/// Milliseconds in which the header must come.
const PATIENCE_MS: u64 = 3_000;
/// What the bits of a key count for that the load balancer says were used.
const STATED_STRENGTH: u16 = 128;

/// Where a client is, and what protects it up to the load balancer.
pub(crate) struct Stated {
    pub(crate) peer: PeerAddress,
    pub(crate) strength: u16,
    /// The load balancer, if it named another address than its own.
    pub(crate) via: Option<PeerAddress>,
}

/// Reads the header at the begin of a stream, and nothing behind it. `trusts_tls`: what it says of TLS counts.
///
/// # Errors
/// When none comes, or not in time, or it is malformed.
pub(crate) async fn read_header<S: Stream>(
    stream: &mut S,
    peer: PeerAddress,
    trusts_tls: bool,
) -> io::Result<Stated> {
    let late = || io::Error::new(io::ErrorKind::TimedOut, "no header of the PROXY protocol came in time");
    let header = task::timeout_ms(PATIENCE_MS, read(stream)).await.ok_or_else(late)??;
    let strength = if header.has_tls && trusts_tls { STATED_STRENGTH } else { 0 };
    let via = header.source.is_some().then_some(peer);
    Ok(Stated { peer: header.source.map_or(peer, PeerAddress::Tcp), strength, via })
}

async fn read<S: Stream>(stream: &mut S) -> io::Result<Header> {
    let (mut bytes, mut len) = ([0; HEADER_BYTES_MAX], 0);
    loop {
        let malformed =
            |error: env::net::proxy::Malformed| io::Error::new(io::ErrorKind::InvalidData, error.0);
        match parse(&bytes[..len]).map_err(malformed)? {
            Parsed::Whole(header) => return Ok(header),
            Parsed::Needs(more) => {
                let room = &mut bytes[len..len + more];
                match poll_fn(|cx| stream.poll_read(cx, room)).await? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    read => len += read,
                }
            }
        }
    }
}
