//! TLS records across reads: a client of the library against the server's stream, with a wire between them that brings what a read may bring. Until
//! something is changed on the wire both ends get what the other has sent, in order, and an idle connection keeps nothing. Whatever is changed, neither end
//! gets anything that was not sent (T9).

#[path = "../../crates/tls/src/tests/ends.rs"]
#[allow(dead_code, reason = "the tests of the crate look at more of it")]
mod ends;

use self::ends::{Ends, content};
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::io::{self, Write as _};
use std::sync::{Arc, OnceLock};
use tls::{Pair, Settings, Tls, Versions};

/// Steps of one run.
const STEPS_MAX: usize = 64;
/// Octets that either end sends at most.
const CONTENT_BYTES_MAX: usize = 48 << 10;
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

/// Both ends, and what is not theirs to know.
struct Run {
    ends: Ends,
    /// Octets that a read of the server has room for.
    room: usize,
    /// What the client has sent.
    asked: Vec<u8>,
    /// Was something changed on the wire?
    is_broken: bool,
}

impl Run {
    fn new(version: u8) -> Run {
        let Fixed { tls, clients } = fixed();
        let config = Arc::clone(&clients[usize::from(version & 1)]);
        let client = ClientConnection::new(config, ServerName::try_from("one").expect("it is a name"));
        let ends = Ends::new(tls, client.expect("the settings can be used"), 1 << 20, 1 << 20);
        Run { ends, room: 1 << 14, asked: Vec::new(), is_broken: false }
    }

    fn settle(&mut self) -> io::Result<()> {
        self.ends.settle(self.room)
    }

    fn step(&mut self, operation: u8, a: u8, b: u8) -> io::Result<()> {
        let amount = usize::from(a) << (b % 9);
        match operation % 8 {
            0 => {
                let content = content(self.asked.len(), amount.min(CONTENT_BYTES_MAX - self.asked.len()));
                // The client keeps no more than it has room for.
                let taken = self.ends.client.writer().write(&content)?;
                self.asked.extend_from_slice(&content[..taken]);
            }
            1 => {
                let begun = self.ends.to_send.len();
                self.ends.to_send.extend(content(begun, amount.min(CONTENT_BYTES_MAX - begun)));
            }
            2 => self.ends.socket.0.borrow_mut().read_max = amount.max(1),
            3 => self.ends.socket.0.borrow_mut().write_max = amount.max(1),
            4 => self.room = amount.max(1),
            // TLS 1.2 has no new keys within a session.
            5 => drop(self.ends.client.refresh_traffic_keys()),
            6 => {
                while self.ends.client.wants_write() {
                    self.ends.client.write_tls(&mut self.ends.socket.0.borrow_mut().to_server)?;
                }
                let wire = &mut *self.ends.socket.0.borrow_mut();
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

/// The first octet chooses the version, three each what is done next.
pub fn check(data: &[u8]) {
    let Some((version, steps)) = data.split_first() else { return };
    let mut run = Run::new(*version);
    let steps = steps.as_chunks::<3>().0;
    let mut outcome = Ok(());
    for [operation, a, b] in steps.iter().take(STEPS_MAX) {
        outcome = outcome.and_then(|()| run.step(*operation, *a, *b));
    }
    outcome = outcome.and_then(|()| run.settle());
    let Run { mut ends, asked, is_broken, .. } = run;
    let Ends { received, to_send, sent, answered, .. } = &ends;
    assert!(asked.starts_with(received), "the server got what the client has not sent");
    assert!(to_send.starts_with(answered), "the client got what the server has not sent");
    if !is_broken {
        outcome.expect("nothing was changed on the wire");
        assert_eq!((received.len(), answered.len(), *sent), (asked.len(), to_send.len(), to_send.len()));
        assert_eq!(ends.stream.kept_bytes(), 0, "an idle connection keeps nothing");
        assert!(ends.stream.take_facts().is_some(), "the handshake has ended");
    }
}
