//! Sockets below TLS: one that was accepted, and one that was opened. What connects waits on a thread of its own, for env has no connect that
//! does not wait.

use crate::address::Address;
use env::clock::{Clock as _, SystemClock};
use env::net::{Stream as _, TcpStream};
use env::poll::{Connection, Progress};
use env::task;
use std::cell::Cell;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd as _, AsRawFd, RawFd};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// When bytes came last: nanoseconds of the clock.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    clock: SystemClock,
    at_ns: Rc<Cell<u64>>,
}

impl Heard {
    pub(crate) fn now(clock: SystemClock) -> Heard {
        Heard { clock, at_ns: Rc::new(Cell::new(clock.monotonic_ns())) }
    }

    /// Something is heard now.
    pub(crate) fn mark(&self) {
        self.at_ns.set(self.clock.monotonic_ns());
    }

    /// When that was.
    pub(crate) fn at_ns(&self) -> u64 {
        self.at_ns.get()
    }
}

/// Bytes that are read at once of a connection that was accepted: TLS asks for 4 KiB each time.
const READ_BYTES: usize = 64 << 10;

/// A socket of either end.
pub(crate) struct Socket {
    inner: Inner,
    heard: Heard,
}

enum Inner {
    Accepted(TcpStream, Received),
    Opened(AsyncFd<Opened>),
}

/// What was read and not asked for yet.
struct Received {
    bytes: Box<[u8]>,
    begin: usize,
    end: usize,
}

impl Received {
    fn none() -> Received {
        Received { bytes: vec![0; READ_BYTES].into(), begin: 0, end: 0 }
    }

    fn is_empty(&self) -> bool {
        self.begin == self.end
    }

    /// Moves as much as there is room for.
    fn take(&mut self, room: &mut [u8]) -> usize {
        let count = room.len().min(self.end - self.begin);
        room[..count].copy_from_slice(&self.bytes[self.begin..self.begin + count]);
        self.begin += count;
        count
    }
}

/// What tokio knows by its number.
struct Opened(Connection);

impl AsRawFd for Opened {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl Socket {
    pub(crate) fn accepted(stream: TcpStream, heard: Heard) -> Socket {
        Socket { inner: Inner::Accepted(stream, Received::none()), heard }
    }

    pub(crate) fn opened(connection: Connection, heard: Heard) -> io::Result<Socket> {
        // Deprecated because the number could be of a descriptor that is not owned. A `Connection` owns its socket until it is dropped, and has
        // no other. The function that replaces it is unsafe, which this crate is not.
        #[allow(deprecated)]
        let opened = AsyncFd::new(Opened(connection))?;
        Ok(Socket { inner: Inner::Opened(opened), heard })
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let room = buffer.initialize_unfilled();
        let read = match &mut self.inner {
            Inner::Accepted(stream, received) => {
                if received.is_empty() {
                    (received.begin, received.end) = (0, ready!(stream.poll_read(cx, &mut received.bytes))?);
                }
                received.take(room)
            }
            Inner::Opened(opened) => loop {
                let mut guard = ready!(opened.poll_read_ready_mut(cx))?;
                match guard.get_inner_mut().0.read(room) {
                    Progress::Bytes(read) => break read,
                    Progress::Closed => break 0,
                    Progress::Later => guard.clear_ready(),
                }
            },
        };
        buffer.advance(read);
        if read > 0 {
            self.heard.mark();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.inner {
            Inner::Accepted(stream, _) => stream.poll_write(cx, bytes),
            Inner::Opened(opened) => poll_write_opened(opened, cx, |socket| socket.write(bytes)),
        }
    }

    /// All records of TLS that wait leave with one call: each call would wake the other end.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.inner {
            // It sends little.
            Inner::Accepted(stream, _) => stream.poll_write(cx, pieces.first().map_or(&[], |piece| &**piece)),
            Inner::Opened(opened) => poll_write_opened(opened, cx, |socket| socket.write_vectored(pieces)),
        }
    }

    fn is_write_vectored(&self) -> bool {
        matches!(self.inner, Inner::Opened(_))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.inner {
            Inner::Accepted(stream, _) => stream.poll_finish(cx),
            // It is closed when it is dropped.
            Inner::Opened(_) => Poll::Ready(Ok(())),
        }
    }
}

fn poll_write_opened(
    opened: &mut AsyncFd<Opened>,
    cx: &mut Context<'_>,
    mut write: impl FnMut(&mut Connection) -> Progress,
) -> Poll<io::Result<usize>> {
    loop {
        let mut guard = ready!(opened.poll_write_ready_mut(cx))?;
        match write(&mut guard.get_inner_mut().0) {
            Progress::Bytes(written) => return Poll::Ready(Ok(written)),
            Progress::Closed => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            Progress::Later => guard.clear_ready(),
        }
    }
}

/// Threads of one [`Dialer`] that connect at the same time at most.
const ATTEMPTS_MAX: usize = 12;
/// Milliseconds until the next address is tried beside one that says nothing.
const NEXT_ADDRESS_MS: u64 = 1_000;
/// Milliseconds until an address is tried again beside an attempt that gets no answer at all: the system repeats its question ever more seldom.
const AGAIN_MS: u64 = 16_000;

/// Connects to one server, at any of its addresses.
pub(crate) struct Dialer {
    sender: UnboundedSender<io::Result<Connection>>,
    results: UnboundedReceiver<io::Result<Connection>>,
    /// Attempts that have no result yet.
    running: usize,
    /// Counts attempts, so that addresses have their turns.
    turn: usize,
}

impl Dialer {
    pub(crate) fn new() -> Dialer {
        let (sender, results) = unbounded_channel();
        Dialer { sender, results, running: 0, turn: 0 }
    }

    /// A connection to one of these addresses: each is tried, and again while none has answered. The first error of an address is an error only
    /// when it is the last of them.
    pub(crate) async fn connect(&mut self, addresses: &[Address]) -> io::Result<Connection> {
        // What an earlier attempt came to meanwhile is not of now.
        while self.results.try_recv().is_ok() {
            self.running -= 1;
        }
        let mut tried = 0;
        loop {
            if let Some(address) =
                addresses.get(self.turn % addresses.len().max(1)).filter(|_| self.running < ATTEMPTS_MAX)
            {
                self.begin(address)?;
                self.turn = self.turn.wrapping_add(1);
                tried += 1;
            } else if addresses.is_empty() {
                return Err(io::Error::new(io::ErrorKind::NotFound, "it has no address"));
            }
            let is_last = tried >= addresses.len();
            let pause_ms = if is_last { AGAIN_MS } else { NEXT_ADDRESS_MS };
            match task::timeout_ms(pause_ms, self.results.recv()).await {
                None => {}
                Some(result) => {
                    self.running -= 1;
                    match result.expect("a sender is kept") {
                        Err(_) if !is_last => {}
                        result => return result,
                    }
                }
            }
        }
    }

    fn begin(&mut self, address: &Address) -> io::Result<()> {
        assert!(self.running < ATTEMPTS_MAX, "attempts have a bound");
        let (address, sender) = (address.clone(), self.sender.clone());
        task::PlainThread::spawn("peers-connect", move || {
            // Nobody may want it any more.
            let _ = sender.send(Connection::connect(address.host(), address.port()));
        })?;
        self.running += 1;
        Ok(())
    }
}
