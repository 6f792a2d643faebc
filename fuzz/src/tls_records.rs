//! TLS records across reads: a client of the library against the server's stream, with a wire between them that brings what a read may bring. Until
//! something is changed on the wire both ends get what the other has sent, in order, and an idle connection keeps nothing. Whatever is changed, neither end
//! gets anything that was not sent (T9).

use env::net::Stream;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::cell::RefCell;
use std::io::{self, Read as _, Write as _};
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use tls::{ClientUse, Pair, Secured, Settings, Tls, Versions};

/// Steps of one run.
const STEPS_MAX: usize = 64;
/// Octets that either end sends at most.
const CONTENT_BYTES_MAX: usize = 48 << 10;
/// Turns in which both ends come to rest: in the slowest of them one octet moves.
const TURNS_MAX: usize = 4 * CONTENT_BYTES_MAX;
/// Seconds since 1970 at which the certificate is looked at.
const NOW_S: i64 = 1_795_000_000;

/// The server's files, read once, and the settings of a client of each version.
struct Fixed {
    tls: Tls,
    clients: [Arc<ClientConfig>; 2],
}

fn fixed() -> &'static Fixed {
    static FIXED: OnceLock<Fixed> = OnceLock::new();
    FIXED.get_or_init(|| {
        let key = rcgen::generate_simple_self_signed(["one".to_owned()]).expect("a certificate can be made");
        let folder = tempfile::tempdir().expect("a folder can be made");
        let pair = Pair { certificate: folder.path().join("crt"), key: folder.path().join("key") };
        std::fs::write(&pair.certificate, key.cert.pem()).expect("it can be written");
        std::fs::write(&pair.key, key.signing_key.serialize_pem()).expect("it can be written");
        let versions = Versions { with_1_2: true, requires_extended_master: true };
        let settings = Settings { pairs: vec![pair], versions, clients: None, binds_proofs: true };
        let (tls, _) = Tls::load(settings, NOW_S).expect("they can be used");
        let client = |version| {
            let mut roots = RootCertStore::empty();
            roots.add(key.cert.der().clone()).expect("it is a certificate");
            let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
            let builder = builder.with_protocol_versions(&[version]).expect("it is known");
            Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
        };
        Fixed { tls, clients: [&rustls::version::TLS13, &rustls::version::TLS12].map(client) }
    })
}

/// What is on its way between the ends, and how much of it one read or write moves.
struct Wire {
    to_server: Vec<u8>,
    from_server: Vec<u8>,
    read_max: usize,
    write_max: usize,
}

#[derive(Clone)]
struct Socket(Rc<RefCell<Wire>>);

impl Stream for Socket {
    fn poll_read(&mut self, _: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let wire = &mut *self.0.borrow_mut();
        let len = wire.to_server.len().min(buffer.len()).min(wire.read_max);
        if len == 0 {
            return Poll::Pending;
        }
        buffer[..len].copy_from_slice(&wire.to_server[..len]);
        wire.to_server.drain(..len);
        Poll::Ready(Ok(len))
    }

    fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wire = &mut *self.0.borrow_mut();
        let len = bytes.len().min(wire.write_max.saturating_sub(wire.from_server.len()));
        if len == 0 {
            return Poll::Pending;
        }
        wire.from_server.extend_from_slice(&bytes[..len]);
        Poll::Ready(Ok(len))
    }

    fn poll_finish(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Both ends, what each has sent, and what each has got.
struct Ends {
    socket: Socket,
    server: Secured<Socket>,
    client: ClientConnection,
    /// Octets that a read of the server has room for.
    room: usize,
    buffer: Vec<u8>,
    asked: Vec<u8>,
    received: Vec<u8>,
    /// What the server has to send, from `sent` on.
    to_send: Vec<u8>,
    sent: usize,
    answered: Vec<u8>,
    is_broken: bool,
}

impl Ends {
    fn new(version: u8) -> Ends {
        let Fixed { tls, clients } = fixed();
        let wire =
            Wire { to_server: Vec::new(), from_server: Vec::new(), read_max: 1 << 20, write_max: 1 << 20 };
        let socket = Socket(Rc::new(RefCell::new(wire)));
        let mut server = Secured::open(socket.clone());
        let offered = tls.current(ClientUse::None).expect("clients need no certificate");
        server.secure(offered, Rc::default()).expect("the settings can be used");
        let config = Arc::clone(&clients[usize::from(version & 1)]);
        let client = ClientConnection::new(config, ServerName::try_from("one").expect("it is a name"));
        Ends {
            socket,
            server,
            client: client.expect("the settings can be used"),
            room: 1 << 14,
            buffer: vec![0; 1 << 16],
            asked: Vec::new(),
            received: Vec::new(),
            to_send: Vec::new(),
            sent: 0,
            answered: Vec::new(),
            is_broken: false,
        }
    }

    /// Lets both ends go on until nothing moves.
    ///
    /// # Errors
    /// One of them has found that something is wrong.
    fn settle(&mut self) -> io::Result<()> {
        for _ in 0..TURNS_MAX {
            if !self.turn()? {
                return Ok(());
            }
        }
        panic!("two ends of TLS do not come to rest");
    }

    fn turn(&mut self) -> io::Result<bool> {
        let mut has_moved = false;
        let mut context = Context::from_waker(Waker::noop());
        while self.client.wants_write() {
            self.client.write_tls(&mut self.socket.0.borrow_mut().to_server)?;
            has_moved = true;
        }
        let waiting = self.socket.0.borrow().to_server.len();
        while let Poll::Ready(read) = self.server.poll_read(&mut context, &mut self.buffer[..self.room]) {
            let read = read?;
            if read == 0 {
                break;
            }
            self.received.extend_from_slice(&self.buffer[..read]);
            has_moved = true;
        }
        has_moved |= self.socket.0.borrow().to_server.len() < waiting;
        while self.sent < self.to_send.len() && !self.server.is_handshaking() {
            let Poll::Ready(written) = self.server.poll_write(&mut context, &self.to_send[self.sent..])
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

    fn step(&mut self, operation: u8, a: u8, b: u8) -> io::Result<()> {
        let amount = usize::from(a) << (b % 9);
        match operation % 8 {
            0 => {
                let content = content(self.asked.len(), amount.min(CONTENT_BYTES_MAX - self.asked.len()));
                // The client keeps no more than it has room for.
                let taken = self.client.writer().write(&content)?;
                self.asked.extend_from_slice(&content[..taken]);
            }
            1 => {
                let begun = self.to_send.len();
                self.to_send.extend(content(begun, amount.min(CONTENT_BYTES_MAX - begun)));
            }
            2 => self.socket.0.borrow_mut().read_max = amount.max(1),
            3 => self.socket.0.borrow_mut().write_max = amount.max(1),
            4 => self.room = amount.max(1),
            // TLS 1.2 has no new keys within a session.
            5 => drop(self.client.refresh_traffic_keys()),
            6 => {
                while self.client.wants_write() {
                    self.client.write_tls(&mut self.socket.0.borrow_mut().to_server)?;
                }
                let wire = &mut *self.socket.0.borrow_mut();
                let at = usize::from(a) * wire.to_server.len() / 256;
                if let Some(byte) = wire.to_server.get_mut(at) {
                    *byte ^= b;
                    self.is_broken |= b != 0;
                }
            }
            _ => self.settle()?,
        }
        Ok(())
    }
}

/// Octets that say where they stand.
fn content(from: usize, len: usize) -> Vec<u8> {
    (from..from + len).map(|at| (at * 7 + at / 251) as u8).collect()
}

/// The first octet chooses the version, three each what is done next.
pub fn check(data: &[u8]) {
    let Some((version, steps)) = data.split_first() else { return };
    let mut ends = Ends::new(*version);
    let steps = steps.as_chunks::<3>().0;
    let mut outcome = Ok(());
    for [operation, a, b] in steps.iter().take(STEPS_MAX) {
        outcome = outcome.and_then(|()| ends.step(*operation, *a, *b));
    }
    outcome = outcome.and_then(|()| ends.settle());
    let Ends { asked, received, to_send, sent, answered, is_broken, .. } = &ends;
    assert!(asked.starts_with(received), "the server got what the client has not sent");
    assert!(to_send.starts_with(answered), "the client got what the server has not sent");
    if !is_broken {
        outcome.expect("nothing was changed on the wire");
        assert_eq!((received.len(), answered.len(), *sent), (asked.len(), to_send.len(), to_send.len()));
        assert_eq!(ends.server.kept_bytes(), 0, "an idle connection keeps nothing");
        assert!(ends.server.take_facts().is_some(), "the handshake has ended");
    }
}
