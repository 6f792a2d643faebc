//! A socket of either kind, so that one thread serves both.

use super::peer::PeerAddress;
use super::stream::{Listener, Pending, Stream};
use super::tcp::{TcpBound, TcpListener, TcpPending, TcpStream};
use super::unix::{UnixBound, UnixListener, UnixPending, UnixStream};
use std::io;
use std::task::{Context, Poll};

/// A bound socket that does not listen yet.
pub enum Bound {
    /// To an address and a port.
    Tcp(TcpBound),
    /// To a file.
    Unix(UnixBound),
}

impl Bound {
    /// Starts to listen. Must be called inside an event loop (see [`crate::task`]).
    pub fn listen(self, backlog: i32) -> io::Result<SocketListener> {
        Ok(match self {
            Bound::Tcp(bound) => SocketListener::Tcp(bound.listen(backlog)?),
            Bound::Unix(bound) => SocketListener::Unix(bound.listen(backlog)?),
        })
    }
}

/// A listener of either kind.
pub enum SocketListener {
    /// On an address and a port.
    Tcp(TcpListener),
    /// On a file.
    Unix(UnixListener),
}

impl Listener for SocketListener {
    type Stream = Socket;
    type Pending = SocketPending;

    async fn accept(&self) -> io::Result<(SocketPending, PeerAddress)> {
        Ok(match self {
            SocketListener::Tcp(listener) => {
                let (pending, peer) = listener.accept().await?;
                (SocketPending::Tcp(pending), peer)
            }
            SocketListener::Unix(listener) => {
                let (pending, peer) = listener.accept().await?;
                (SocketPending::Unix(pending), peer)
            }
        })
    }
}

/// A connection of either kind that no thread serves yet.
pub enum SocketPending {
    /// From elsewhere, or from this machine.
    Tcp(TcpPending),
    /// From this machine.
    Unix(UnixPending),
}

impl Pending for SocketPending {
    type Stream = Socket;

    fn open(self) -> io::Result<Socket> {
        Ok(match self {
            SocketPending::Tcp(pending) => Socket::Tcp(pending.open()?),
            SocketPending::Unix(pending) => Socket::Unix(pending.open()?),
        })
    }
}

/// A stream of either kind.
pub enum Socket {
    /// To an address and a port.
    Tcp(TcpStream),
    /// To a process of this machine.
    Unix(UnixStream),
}

impl Stream for Socket {
    #[inline]
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        match self {
            Socket::Tcp(stream) => stream.poll_read(cx, buffer),
            Socket::Unix(stream) => stream.poll_read(cx, buffer),
        }
    }

    #[inline]
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Socket::Tcp(stream) => stream.poll_write(cx, bytes),
            Socket::Unix(stream) => stream.poll_write(cx, bytes),
        }
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Socket::Tcp(stream) => stream.poll_finish(cx),
            Socket::Unix(stream) => stream.poll_finish(cx),
        }
    }

    fn is_broken(&self) -> bool {
        match self {
            Socket::Tcp(stream) => stream.is_broken(),
            Socket::Unix(stream) => stream.is_broken(),
        }
    }
}
