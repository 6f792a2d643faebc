//! A client of the library against the server's stream, with a wire between them that brings what a read may bring. The fuzz target of records has it, too.

use env::net::Stream;
use rustls::ClientConnection;
use std::cell::RefCell;
use std::io::{self, Read as _};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use tls::{ClientUse, Secured, Tls};

/// Turns in which both ends come to rest: in the slowest of them one octet moves.
const TURNS_MAX: usize = 1 << 18;

/// The socket between a client and the server, as the server sees it.
#[derive(Default)]
pub(crate) struct Wire {
    pub(crate) to_server: Vec<u8>,
    pub(crate) from_server: Vec<u8>,
    pub(crate) is_ended: bool,
    pub(crate) is_finished: bool,
    /// Bytes that one read brings, and that the socket takes before it is emptied.
    pub(crate) read_max: usize,
    pub(crate) write_max: usize,
}

#[derive(Clone, Default)]
pub(crate) struct Socket(pub(crate) Rc<RefCell<Wire>>);

impl Stream for Socket {
    fn poll_read(&mut self, _: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let wire = &mut *self.0.borrow_mut();
        let len = wire.to_server.len().min(buffer.len()).min(wire.read_max);
        if len == 0 {
            return if wire.is_ended && wire.to_server.is_empty() {
                Poll::Ready(Ok(0))
            } else {
                Poll::Pending
            };
        }
        buffer[..len].copy_from_slice(&wire.to_server[..len]);
        wire.to_server.drain(..len);
        Poll::Ready(Ok(len))
    }

    fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wire = &mut *self.0.borrow_mut();
        let len = bytes.len().min(wire.write_max - wire.from_server.len().min(wire.write_max));
        if len == 0 {
            return Poll::Pending;
        }
        wire.from_server.extend_from_slice(&bytes[..len]);
        Poll::Ready(Ok(len))
    }

    fn poll_finish(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.borrow_mut().is_finished = true;
        Poll::Ready(Ok(()))
    }
}

/// A server's end and its client's.
pub(crate) struct Ends {
    pub(crate) socket: Socket,
    pub(crate) stream: Secured<Socket>,
    pub(crate) client: ClientConnection,
    /// What the server has received, and what it has to send, from `sent` on.
    pub(crate) received: Vec<u8>,
    pub(crate) to_send: Vec<u8>,
    pub(crate) sent: usize,
    /// What the client has received.
    pub(crate) answered: Vec<u8>,
    /// What one read of the server fills.
    buffer: Vec<u8>,
}

pub(crate) fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

impl Ends {
    pub(crate) fn new(tls: &Tls, client: ClientConnection, read_max: usize, write_max: usize) -> Ends {
        let socket = Socket::default();
        (socket.0.borrow_mut().read_max, socket.0.borrow_mut().write_max) = (read_max, write_max);
        let mut stream = Secured::open(socket.clone());
        stream.secure(tls.current(ClientUse::None).unwrap(), Rc::default()).unwrap();
        let (received, to_send, answered) = (Vec::new(), Vec::new(), Vec::new());
        Ends { socket, stream, client, received, to_send, sent: 0, answered, buffer: Vec::new() }
    }

    /// One turn of both ends, with room for so many octets where the server reads; true if anything moved.
    ///
    /// # Errors
    /// One of them has found that something is wrong.
    fn turn(&mut self, room: usize) -> io::Result<bool> {
        let mut has_moved = false;
        while self.client.wants_write() {
            self.client.write_tls(&mut self.socket.0.borrow_mut().to_server)?;
            has_moved = true;
        }
        self.buffer.resize(self.buffer.len().max(room), 0);
        let waiting = self.socket.0.borrow().to_server.len();
        while let Poll::Ready(read) = self.stream.poll_read(&mut context(), &mut self.buffer[..room]) {
            let read = read?;
            if read == 0 {
                break;
            }
            self.received.extend_from_slice(&self.buffer[..read]);
            has_moved = true;
        }
        // What brings no content is read all the same, a turn each time.
        has_moved |= self.socket.0.borrow().to_server.len() < waiting;
        while self.sent < self.to_send.len() && !self.stream.is_handshaking() {
            let Poll::Ready(written) = self.stream.poll_write(&mut context(), &self.to_send[self.sent..])
            else {
                break;
            };
            self.sent += written?;
            has_moved = true;
        }
        let encrypted = std::mem::take(&mut self.socket.0.borrow_mut().from_server);
        let mut encrypted = &encrypted[..];
        while !encrypted.is_empty() {
            has_moved = true;
            self.client.read_tls(&mut encrypted)?;
            self.client.process_new_packets().map_err(io::Error::other)?;
            let mut bytes = Vec::new();
            match self.client.reader().read_to_end(&mut bytes) {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => self.answered.append(&mut bytes),
            }
        }
        Ok(has_moved)
    }

    /// Lets both go on until nothing moves.
    ///
    /// # Errors
    /// As a turn.
    pub(crate) fn settle(&mut self, room: usize) -> io::Result<()> {
        for _ in 0..TURNS_MAX {
            if !self.turn(room)? {
                return Ok(());
            }
        }
        panic!("two ends of TLS do not come to rest");
    }
}

/// Octets that say where they stand.
pub(crate) fn content(from: usize, len: usize) -> Vec<u8> {
    (from..from + len).map(|at| (at * 7 + at / 251) as u8).collect()
}
