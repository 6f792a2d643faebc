//! A stream that may be secured by TLS, from its first byte or later. To the connection it is a stream like any other: plaintext goes into
//! its buffer and comes out of it.
//!
//! A read takes encrypted bytes into a buffer of the thread, opens whole records, and puts their content into the caller's buffer. What the
//! connection keeps between two reads is the beginning of a record and, seldom, content that the caller had no room for. A write encrypts all that it is given
//! and makes one write of it; if the socket takes less the rest is kept, and the same bytes are to be offered again.

use super::buffer::{Buffers, Outgoing};
use super::certificate::Offered;
use super::record::{Facts, HANDSHAKE_BYTES_MAX, Kept, RECORD_BYTES_MAX, Records};
use env::net::Stream;
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// Bytes that are encrypted with one write at most: what a connection may keep encrypted for a client that takes nothing.
const ENCRYPT_BYTES_MAX: usize = 256 << 10;

/// Bytes of replies to a client's updates of keys that wait for it to take them.
const REPLY_BYTES_MAX: usize = 64 << 10;

/// A stream and what secures it.
pub struct Secured<S> {
    stream: S,
    tls: Option<Box<Tls>>,
}

/// The TLS session of one connection.
struct Tls {
    records: Records,
    buffers: Rc<RefCell<Buffers>>,
    /// The beginning of a record, or of a message of the handshake.
    input: Vec<u8>,
    /// There are whole records in it, for the caller had no room for their content.
    has_records: bool,
    /// Content that the caller had no room for, from `taken` on.
    content: Vec<u8>,
    taken: usize,
    /// Outgoing bytes that the socket did not take, from `sent` on.
    output: Vec<u8>,
    sent: usize,
    /// Bytes of content that those are of; they count as written when the socket has taken them.
    promised: usize,
    /// Were the facts of the handshake asked for?
    is_known: bool,
    has_closed: bool,
}

impl<S: Stream> Secured<S> {
    /// An open stream.
    pub fn open(stream: S) -> Secured<S> {
        Secured { stream, tls: None }
    }

    /// Secures it from the next byte on, in either direction.
    ///
    /// # Errors
    /// When the configuration cannot be used.
    pub fn secure(&mut self, offered: Offered, buffers: Rc<RefCell<Buffers>>) -> io::Result<()> {
        assert!(self.tls.is_none(), "a stream is secured once");
        self.tls = Some(Box::new(Tls {
            records: Records::new(offered)?,
            buffers,
            input: Vec::new(),
            has_records: false,
            content: Vec::new(),
            taken: 0,
            output: Vec::new(),
            sent: 0,
            promised: 0,
            is_known: false,
            has_closed: false,
        }));
        Ok(())
    }

    /// Is it secured, or about to be?
    pub fn is_secured(&self) -> bool {
        self.tls.is_some()
    }

    /// Must the connection end, since its keys must not be used for much more?
    pub fn must_end(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.records.must_end())
    }

    /// Is a handshake to be done, or to be ended?
    pub fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.records.is_handshaking())
    }

    /// What the handshake came to, once after it has ended.
    pub fn take_facts(&mut self) -> Option<Facts> {
        let tls = self.tls.as_mut().filter(|tls| !tls.is_known)?;
        let facts = tls.records.facts()?;
        tls.is_known = true;
        Some(facts)
    }

    /// Bytes that are kept for the client.
    pub fn kept_bytes(&self) -> usize {
        self.tls
            .as_ref()
            .map_or(0, |tls| tls.input.capacity() + tls.content.capacity() + tls.output.capacity())
    }
}

impl<S: Stream> Stream for Secured<S> {
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        match &mut self.tls {
            None => self.stream.poll_read(cx, buffer),
            Some(tls) => tls.poll_read(&mut self.stream, cx, buffer),
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.tls {
            None => self.stream.poll_write(cx, bytes),
            Some(tls) => tls.poll_write(&mut self.stream, cx, bytes),
        }
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(tls) = &mut self.tls {
            ready!(tls.poll_close(&mut self.stream, cx))?;
        }
        self.stream.poll_finish(cx)
    }

    fn is_broken(&self) -> bool {
        self.stream.is_broken()
    }
}

impl Tls {
    fn poll_read<S: Stream>(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        if self.has_closed {
            // Nothing that comes now is looked at: the connection is read to its end before it is closed.
            return stream.poll_read(cx, buffer);
        }
        loop {
            if self.taken < self.content.len() {
                return Poll::Ready(Ok(self.take_content(buffer)));
            }
            if self.records.is_over() {
                return Poll::Ready(Ok(0));
            }
            // A client waits for the server's part of the handshake before it goes on with its own.
            let replies = if self.promised == 0 { self.poll_rest(stream, cx)? } else { Poll::Ready(()) };
            if self.records.is_handshaking() {
                ready!(replies);
            }
            let buffers = Rc::clone(&self.buffers);
            let buffers = &mut *buffers.borrow_mut();
            let kept = self.input.len();
            // About as much as the caller has room for, and one whole record at least.
            let end = kept + buffer.len().max(RECORD_BYTES_MAX);
            buffers.prepare(end);
            let Buffers { input, output } = buffers;
            let mut read = 0;
            if !std::mem::take(&mut self.has_records) {
                read = ready!(stream.poll_read(cx, &mut input[kept..end]))?;
                if read == 0 {
                    // Without a close_notify: no LDAP message can be cut unnoticed, so what came whole is served.
                    let is_cut = self.records.is_handshaking() || kept > 0;
                    return Poll::Ready(if is_cut {
                        Err(io::ErrorKind::UnexpectedEof.into())
                    } else {
                        Ok(0)
                    });
                }
            }
            input[..kept].copy_from_slice(&self.input);
            output.clear();
            let filled = self.open(&mut input[..kept + read], buffer, output);
            // Sent behind what waits already, and at once if nothing does.
            self.output.extend_from_slice(output.filled());
            if self.promised == 0 {
                let _ = self.poll_rest(stream, cx)?;
            }
            if self.output.len() - self.sent > ENCRYPT_BYTES_MAX + REPLY_BYTES_MAX {
                return Poll::Ready(Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the client takes no replies",
                )));
            }
            match filled? {
                // Others have their turn: what brings no content (a handshake, updates of keys) can be sent without end.
                0 if read > 0 => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                0 => {}
                filled => return Poll::Ready(Ok(filled)),
            }
        }
    }

    /// Opens `input`, fills the caller's buffer, and keeps what is left of both. Returns the bytes of content in the buffer.
    fn open(&mut self, input: &mut [u8], buffer: &mut [u8], reply: &mut Outgoing) -> io::Result<usize> {
        let Tls { records, content, taken, has_records, .. } = self;
        let mut filled = 0;
        let mut plain = |bytes: &[u8]| {
            let (now, later) = bytes.split_at(bytes.len().min(buffer.len() - filled));
            buffer[filled..][..now.len()].copy_from_slice(now);
            filled += now.len();
            if content.is_empty() {
                *taken = 0;
            }
            content.extend_from_slice(later);
            // Another record might not fit.
            *has_records = buffer.len() - filled < RECORD_BYTES_MAX;
            !*has_records
        };
        let opened = records.open(input, &mut plain, reply)?;
        let rest = &input[opened..];
        // The beginning of one record, or of one message of the handshake; whole records only where the caller had no room.
        let most = if self.records.is_handshaking() { HANDSHAKE_BYTES_MAX } else { 2 * RECORD_BYTES_MAX };
        if rest.len() > most && !self.has_records {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message of TLS is too long"));
        }
        // Memory of an idle connection is none, of one whose records come in parts the same again.
        if rest.is_empty() {
            self.input = Vec::new();
        } else {
            self.input.clear();
            self.input.extend_from_slice(rest);
        }
        Ok(filled)
    }

    fn take_content(&mut self, buffer: &mut [u8]) -> usize {
        let rest = &self.content[self.taken..];
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        self.taken += len;
        if self.taken == self.content.len() {
            (self.content, self.taken) = (Vec::new(), 0);
        }
        len
    }

    /// Sends what the socket did not take before.
    fn poll_rest<S: Stream>(&mut self, stream: &mut S, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.output.is_empty() {
            return Poll::Ready(Ok(()));
        }
        while self.sent < self.output.len() {
            let written = ready!(stream.poll_write(cx, &self.output[self.sent..]))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += written;
        }
        (self.output, self.sent) = (Vec::new(), 0);
        Poll::Ready(Ok(()))
    }

    fn poll_write<S: Stream>(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.records.is_handshaking() {
            // A notice that the connection ends. The client could not read it.
            return Poll::Ready(Ok(bytes.len()));
        }
        ready!(self.poll_rest(stream, cx))?;
        if self.promised > 0 {
            let promised = std::mem::take(&mut self.promised);
            assert!(promised <= bytes.len(), "bytes that were not taken are offered again");
            return Poll::Ready(Ok(promised));
        }
        let content = &bytes[..bytes.len().min(ENCRYPT_BYTES_MAX)];
        let buffers = Rc::clone(&self.buffers);
        let output = &mut buffers.borrow_mut().output;
        output.clear();
        let kept = Kept { input: &mut self.input, content: &mut self.content };
        self.records.encrypt(content, kept, output)?;
        let encrypted = output.filled();
        let mut sent = 0;
        while sent < encrypted.len() {
            match stream.poll_write(cx, &encrypted[sent..]) {
                Poll::Pending => {
                    self.output.extend_from_slice(&encrypted[sent..]);
                    self.promised = content.len();
                    return Poll::Pending;
                }
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(written) => sent += written?,
            }
        }
        Poll::Ready(Ok(content.len()))
    }

    /// Tells the client that nothing follows.
    fn poll_close<S: Stream>(&mut self, stream: &mut S, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !std::mem::replace(&mut self.has_closed, true) && !self.records.is_handshaking() {
            let buffers = Rc::clone(&self.buffers);
            let output = &mut buffers.borrow_mut().output;
            output.clear();
            let kept = Kept { input: &mut self.input, content: &mut self.content };
            self.records.close(kept, output)?;
            self.output.extend_from_slice(output.filled());
        }
        self.poll_rest(stream, cx)
    }
}
