//! TLS records of one connection, without IO: what comes from the socket is opened, what goes to it is encrypted.
//!
//! The TLS library is seen here only. Its interface for callers with buffers of their own changes from version to version; what the server
//! needs of it does not.

use super::buffer::Outgoing;
use super::certificate::{Offered, Shown};
use super::exporter;
use dsa::config::ChannelBindings;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, UnbufferedStatus};
use rustls::{HandshakeKind, ProtocolVersion};
use std::io;
use std::sync::Arc;

/// Bytes of the longest record (RFC 8446 section 5.2, RFC 5246 section 6.2.3): header, content, and what a cipher adds.
pub(crate) const RECORD_BYTES_MAX: usize = 5 + (16 << 10) + 2048;
/// Bytes by which encrypting makes the content of one record longer, at most.
const OVERHEAD: usize = 64;
/// Bytes of content of a record that is encrypted.
const CONTENT: usize = 16 << 10;
/// Room that a message of a handshake is first tried with; one that needs more says how much.
const HANDSHAKE_ROOM: usize = 4 << 10;
/// Bytes of input of a handshake that are kept until a message is whole (a chain of certificates is the longest).
pub(crate) const HANDSHAKE_BYTES_MAX: usize = 64 << 10;

/// Records that are encrypted with the keys of one TLS 1.2 session: 2^24, less what is sent until the connection has ended.
const ENCRYPTED_MAX: u64 = (1 << 24) - 4096;

/// What a connection keeps of what it has read.
pub(crate) struct Kept<'k> {
    /// Records that were not opened, or the beginning of one.
    pub(crate) input: &'k mut Vec<u8>,
    /// Content that the caller has not taken. More is appended.
    pub(crate) content: &'k mut Vec<u8>,
}

/// What a handshake came to.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Did it resume an earlier session?
    pub has_resumed: bool,
    /// Bits of the symmetric key: 128 or 256.
    pub strength: u16,
    /// `TLSv1.2` or `TLSv1.3`.
    pub version: &'static str,
    /// Its cipher suite, as IANA has it.
    pub suite: String,
    /// The client's certificate, if one was asked for, shown and verified.
    pub certificate: Option<Vec<u8>>,
    /// What a proof can be bound to.
    pub bindings: ChannelBindings,
}

/// The records of one connection.
pub(crate) struct Records {
    tls: UnbufferedServerConnection,
    /// The certificate that the client was shown.
    shown: Arc<Shown>,
    /// What `tls-exporter` follows from, from the handshake until somebody asks what that came to.
    exporter: Option<exporter::Secret>,
    /// The random number that the server has sent.
    random: Option<[u8; exporter::RANDOM_BYTES]>,
    /// The client sends nothing more (close_notify).
    is_over: bool,
    /// Records that were encrypted.
    encrypted: u64,
}

/// A TLS session that cannot go on: what is wrong with what the client sent.
fn broken(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

impl Records {
    /// Of a client that begins its handshake next.
    pub(crate) fn new(offered: Offered) -> io::Result<Records> {
        let Offered { config, shown } = offered;
        let tls = UnbufferedServerConnection::new(config).map_err(io::Error::other)?;
        Ok(Records { tls, shown, exporter: None, random: None, is_over: false, encrypted: 0 })
    }

    /// Has the client said that it sends nothing more?
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Must the session end soon? TLS 1.2 has no new keys for a session, and AES-GCM encrypts no more than 2^24 records with one (RFC 9325
    /// section 4.4). TLS 1.3 changes its keys by itself.
    pub(crate) fn must_end(&self) -> bool {
        self.encrypted > ENCRYPTED_MAX && self.tls.protocol_version() == Some(ProtocolVersion::TLSv1_2)
    }

    /// Is the handshake not done yet?
    pub(crate) fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    /// What the handshake came to; `None` before. To be called once.
    pub(crate) fn facts(&mut self) -> Option<Facts> {
        if self.is_handshaking() {
            return None;
        }
        let version = match self.tls.protocol_version()? {
            ProtocolVersion::TLSv1_2 => "TLSv1.2",
            ProtocolVersion::TLSv1_3 => "TLSv1.3",
            _ => return None,
        };
        let suite = self.tls.negotiated_cipher_suite()?.suite().as_str().unwrap_or_default();
        // The names of all suites say it; ChaCha20 has 256.
        let strength = if suite.contains("AES_128") { 128 } else { 256 };
        let chain = self.tls.peer_certificates().and_then(|chain| chain.first());
        let certificate = chain.map(|leaf| leaf.to_vec());
        let exporter = self.exporter.take().and_then(|secret| secret.exporter(suite, self.random));
        let bindings = ChannelBindings { end_point: self.shown.end_point(), exporter };
        let has_resumed = self.tls.handshake_kind() == Some(HandshakeKind::Resumed);
        // The library tells suites of 1.3 from others by another prefix.
        let suite = suite.replace("TLS13_", "TLS_");
        Some(Facts { has_resumed, strength, version, suite, certificate, bindings })
    }

    /// Opens what is whole at the front of `input`, until `plain` has had as much as it wants: it returns false then. What must be sent to
    /// the client is appended to `reply`. Returns the bytes of input done with.
    ///
    /// # Errors
    /// What the client sent is not what this session goes on with. The alert that says so is in `reply`.
    pub(crate) fn open(
        &mut self,
        input: &mut [u8],
        plain: &mut dyn FnMut(&[u8]) -> bool,
        reply: &mut Outgoing,
    ) -> io::Result<usize> {
        if !self.is_handshaking() {
            return self.open_records(input, plain, reply);
        }
        // What a handshake has left that failed is not of this one.
        drop(exporter::take());
        let sent = reply.filled().len();
        let opened = self.open_records(input, plain, reply);
        // The server's hello is the first that it sends.
        self.random = self.random.or_else(|| exporter::server_random(&reply.filled()[sent..]));
        self.exporter = exporter::take().or(self.exporter.take());
        opened
    }

    fn open_records(
        &mut self,
        input: &mut [u8],
        plain: &mut dyn FnMut(&[u8]) -> bool,
        reply: &mut Outgoing,
    ) -> io::Result<usize> {
        let mut at = 0;
        loop {
            let UnbufferedStatus { discard, state } = self.tls.process_tls_records(&mut input[at..]);
            at += discard;
            let state = match state {
                Ok(state) => state,
                Err(error) => {
                    self.alert(&mut input[at..], reply);
                    return Err(broken(error));
                }
            };
            match state {
                ConnectionState::ReadTraffic(mut traffic) => {
                    let mut wants_more = true;
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(broken)?;
                        assert!(record.discard == 0, "content is not a part of the input that it came from");
                        wants_more = plain(record.payload);
                    }
                    if !wants_more {
                        return Ok(at);
                    }
                }
                ConnectionState::EncodeTlsData(mut data) => encode(reply, |room| data.encode(room))?,
                ConnectionState::TransmitTlsData(data) => data.done(),
                ConnectionState::PeerClosed | ConnectionState::Closed => {
                    self.is_over = true;
                    return Ok(at);
                }
                // Early data could be replayed. None is offered, so none is taken.
                ConnectionState::ReadEarlyData(_) => return Err(io::ErrorKind::InvalidData.into()),
                // Both want more input.
                _ => return Ok(at),
            }
        }
    }

    /// Appends the alert of a session that failed at this input. To be called once: asked again, the library would go on with the input,
    /// fail a second time and panic. It counts in the input that it was given before, so it is given the same.
    fn alert(&mut self, input: &mut [u8], reply: &mut Outgoing) {
        if let Ok(ConnectionState::EncodeTlsData(mut data)) = self.tls.process_tls_records(input).state {
            // Without room for it the connection is closed without an alert.
            let _ = encode(reply, |room| data.encode(room));
        }
    }

    /// Appends `content` to `out`, in records. See [`Records::write`] for the others.
    ///
    /// # Errors
    /// The handshake is not done, or the keys must not be used any more.
    pub(crate) fn encrypt(&mut self, content: &[u8], kept: Kept<'_>, out: &mut Outgoing) -> io::Result<()> {
        self.encrypted += content.len().div_ceil(CONTENT) as u64;
        self.write(kept, out, |traffic, out| {
            let room = content.len() + (content.len() / CONTENT + 1) * OVERHEAD;
            let encrypted = traffic.encrypt(content, out.room(room)).map_err(io::Error::other)?;
            assert!(encrypted > content.len() || content.is_empty(), "a record is longer than its content");
            out.wrote(encrypted);
            Ok(())
        })
    }

    /// Appends the alert that nothing follows (close_notify).
    ///
    /// # Errors
    /// As [`Records::encrypt`].
    pub(crate) fn close(&mut self, kept: Kept<'_>, out: &mut Outgoing) -> io::Result<()> {
        self.write(kept, out, |traffic, out| {
            let encrypted = traffic.queue_close_notify(out.room(OVERHEAD)).map_err(io::Error::other)?;
            out.wrote(encrypted);
            Ok(())
        })
    }

    /// Appends what the session has to say by itself (tickets, updates of keys), and then what `write` does. Writing goes through the
    /// same door of the library as reading: it looks at the input that is kept first.
    fn write(
        &mut self,
        kept: Kept<'_>,
        out: &mut Outgoing,
        write: impl FnOnce(&mut WriteTraffic<'_>, &mut Outgoing) -> io::Result<()>,
    ) -> io::Result<()> {
        let Kept { input, content } = kept;
        let mut write = Some(write);
        while write.is_some() {
            let UnbufferedStatus { discard, state } = self.tls.process_tls_records(input);
            match state.map_err(broken)? {
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        content.extend_from_slice(record.map_err(broken)?.payload);
                    }
                }
                ConnectionState::EncodeTlsData(mut data) => encode(out, |room| data.encode(room))?,
                ConnectionState::TransmitTlsData(data) => data.done(),
                ConnectionState::WriteTraffic(mut traffic) => {
                    if let Some(write) = write.take() {
                        write(&mut traffic, out)?;
                    }
                }
                ConnectionState::PeerClosed => self.is_over = true,
                _ => return Err(io::Error::new(io::ErrorKind::NotConnected, "the TLS session is not open")),
            }
            input.drain(..discard);
        }
        Ok(())
    }
}

type WriteTraffic<'c> = rustls::unbuffered::WriteTraffic<'c, rustls::server::ServerConnectionData>;

/// Appends a message of a handshake, whose length is known once it was tried.
fn encode(
    out: &mut Outgoing,
    mut encode: impl FnMut(&mut [u8]) -> Result<usize, EncodeError>,
) -> io::Result<()> {
    let mut room = HANDSHAKE_ROOM;
    loop {
        match encode(out.room(room)) {
            Ok(written) => {
                out.wrote(written);
                return Ok(());
            }
            Err(EncodeError::InsufficientSize(needed)) if needed.required_size > room => {
                room = needed.required_size;
            }
            Err(error) => return Err(io::Error::other(error)),
        }
    }
}
