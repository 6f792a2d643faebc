//! What a listener, a connection that was accepted, and a stream are.

use super::peer::PeerAddress;
use std::future::Future;
use std::io;
use std::task::{Context, Poll};

/// A bound socket that gives connections.
pub trait Listener {
    /// What a connection becomes on the thread that serves it.
    type Stream: Stream;
    /// A connection on its way from the accepting thread to the serving one.
    type Pending: Pending<Stream = Self::Stream>;

    /// Waits for the next connection. An error concerns one connection or the whole process (no descriptors left):
    /// the caller should wait a little before it asks again.
    fn accept(&self) -> impl Future<Output = io::Result<(Self::Pending, PeerAddress)>>;
}

/// A connection that no thread serves yet.
pub trait Pending: Send + 'static {
    /// What it becomes.
    type Stream: Stream;

    /// Registers the connection with the calling thread's event loop.
    fn open(self) -> io::Result<Self::Stream>;
}

/// A byte stream that never blocks.
pub trait Stream: 'static {
    /// Reads into `buffer` and returns how many bytes came, 0 at the end of the stream. `Pending` arms the task's
    /// waker.
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>>;

    /// Writes a part of `bytes` and returns how many went. `Pending` arms the task's waker.
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;

    /// Tells the peer that nothing follows; reading goes on.
    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Whether the connection broke, though there may be bytes to read that came before. A system call.
    fn is_broken(&self) -> bool {
        false
    }
}
