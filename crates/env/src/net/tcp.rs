//! TCP on tokio.

use super::peer::PeerAddress;
use super::stream::{Listener, Pending, Stream};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Silence after which the system asks whether the other end is still there.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(300);
/// Time between such questions; after nine without an answer the connection is broken.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);

/// A bound TCP address that does not listen yet: a port in use is found before hours of import, and no client waits
/// in a backlog meanwhile.
pub struct TcpBound(socket2::Socket);

impl TcpBound {
    /// Binds `address`. Port 0 lets the system pick one.
    pub fn bind(address: SocketAddr) -> io::Result<TcpBound> {
        let domain = socket2::Domain::for_address(address);
        let socket = socket2::Socket::new(domain, socket2::Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        if address.is_ipv6() {
            // `[::]` does not take IPv4 along, so that both can be listed.
            socket.set_only_v6(true)?;
        }
        socket.bind(&address.into())?;
        Ok(TcpBound(socket))
    }

    /// A socket that somebody else has bound.
    pub(super) fn inherited(socket: socket2::Socket) -> TcpBound {
        TcpBound(socket)
    }

    /// Starts to listen. Must be called inside an event loop (see [`crate::task`]).
    pub fn listen(self, backlog: i32) -> io::Result<TcpListener> {
        self.0.listen(backlog)?;
        Ok(TcpListener(tokio::net::TcpListener::from_std(self.0.into())?))
    }
}

/// The real listener.
pub struct TcpListener(tokio::net::TcpListener);

impl TcpListener {
    /// The address bound, with the port that the system picked if 0 was asked for.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl Listener for TcpListener {
    type Stream = TcpStream;
    type Pending = TcpPending;

    async fn accept(&self) -> io::Result<(TcpPending, PeerAddress)> {
        let (stream, peer) = self.0.accept().await?;
        Ok((TcpPending(stream.into_std()?), PeerAddress::Tcp(peer)))
    }
}

/// An accepted socket outside any event loop.
pub struct TcpPending(std::net::TcpStream);

impl Pending for TcpPending {
    type Stream = TcpStream;

    fn open(self) -> io::Result<TcpStream> {
        // Answers leave in one write per bundle; Nagle would hold the last part back.
        self.0.set_nodelay(true)?;
        // A client that vanished without a word is noticed after some minutes.
        let keepalive =
            socket2::TcpKeepalive::new().with_time(KEEPALIVE_AFTER).with_interval(KEEPALIVE_INTERVAL);
        socket2::SockRef::from(&self.0).set_tcp_keepalive(&keepalive)?;
        Ok(TcpStream(tokio::net::TcpStream::from_std(self.0)?))
    }
}

/// The real stream.
pub struct TcpStream(tokio::net::TcpStream);

impl Stream for TcpStream {
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        // tokio forgets the readiness after a short read, so the next poll waits instead of asking the kernel without effect:
        // one read per request at queue length 1.
        let mut buffer = ReadBuf::new(buffer);
        Pin::new(&mut self.0).poll_read(cx, &mut buffer).map_ok(|()| buffer.filled().len())
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }

    fn is_broken(&self) -> bool {
        !matches!(self.0.take_error(), Ok(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::io::{Read, Write};

    #[test]
    fn bytes_go_both_ways() {
        crate::task::block_on(async {
            let bound = TcpBound::bind("127.0.0.1:0".parse().unwrap()).unwrap();
            let listener = bound.listen(16).unwrap();
            let mut client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (pending, peer) = listener.accept().await.unwrap();
            assert_eq!(peer, PeerAddress::Tcp(client.local_addr().unwrap()));
            let mut stream = pending.open().unwrap();
            client.write_all(b"ping").unwrap();
            let mut buffer = [0; 16];
            let n = poll_fn(|cx| stream.poll_read(cx, &mut buffer)).await.unwrap();
            assert_eq!(&buffer[..n], b"ping");
            assert_eq!(poll_fn(|cx| stream.poll_write(cx, b"pong")).await.unwrap(), 4);
            poll_fn(|cx| stream.poll_finish(cx)).await.unwrap();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).unwrap();
            assert_eq!(answer, b"pong");
        })
        .unwrap();
    }

    /// A connection as the server sees it, and its client.
    async fn connected() -> (TcpStream, std::net::TcpStream) {
        let bound = TcpBound::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = bound.listen(16).unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (listener.accept().await.unwrap().0.open().unwrap(), client)
    }

    #[test]
    fn a_client_that_vanishes_is_asked_for() {
        crate::task::block_on(async {
            let (stream, _client) = connected().await;
            assert!(socket2::SockRef::from(&stream.0).keepalive().unwrap());
        })
        .unwrap();
    }

    #[test]
    fn a_reset_is_seen_before_the_bytes_that_came_first_are_read() {
        crate::task::block_on(async {
            let (mut stream, mut client) = connected().await;
            client.write_all(b"before").unwrap();
            assert!(!stream.is_broken());
            socket2::SockRef::from(&client).set_linger(Some(Duration::ZERO)).unwrap();
            drop(client);
            let mut buffer = [0; 16];
            let read = poll_fn(|cx| stream.poll_read(cx, &mut buffer)).await;
            assert!(read.is_err() || stream.is_broken(), "{read:?}");
        })
        .unwrap();
    }

    #[test]
    fn a_bound_port_is_taken() {
        let bound = TcpBound::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = bound.0.local_addr().unwrap().as_socket().unwrap();
        bound.0.listen(1).unwrap();
        assert!(TcpBound::bind(address).is_err());
    }
}
