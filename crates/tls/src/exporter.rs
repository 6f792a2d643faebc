//! The channel binding `tls-exporter` (RFC 9266): keys that both ends of a session can work out, and nobody else.
//!
//! The library works them out for callers that leave the buffers to it, and not for those that bring their own. To both it tells the secret
//! that they follow from, when it has made it: by the door for logs of keys. Here nothing is logged: the secret is kept with the session, and two
//! steps of RFC 8446 section 7.5 make the binding of it if a client asks.
//!
//! On TLS 1.2 it is safe only with an extended master secret (RFC 9266 section 4.2). The library does not tell whether a session has one, so
//! there is a binding only where every session must. It is made when the handshake has ended (RFC 5705 section 4): the master secret, which leads to all
//! keys of the session, is not kept longer. The server's random number is not given either: it is read in the server's hello.

use dsa::config::Exporter;
use ring::{digest, hkdf, hmac};
use rustls::KeyLog;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// What the library calls the secret of TLS 1.3.
const SECRET: &str = "EXPORTER_SECRET";
/// What it calls the master secret of TLS 1.2.
const MASTER: &str = "CLIENT_RANDOM";
/// What this binding is called among all that follows from it.
const LABEL: &[u8] = b"EXPORTER-Channel-Binding";
/// Octets of the binding.
const BINDING_BYTES: usize = 32;
/// Octets of the random numbers of both ends.
pub(crate) const RANDOM_BYTES: usize = 32;

thread_local! {
    /// The secret that was made last. A thread goes on with one handshake at a time, and takes it from here before it does so with another.
    static MADE: RefCell<Option<Secret>> = const { RefCell::new(None) };
}

/// What the keys for other purposes of one session follow from.
pub(crate) enum Secret {
    /// Of TLS 1.3. It does not lead to the keys of its records.
    Exporter(Zeroizing<Vec<u8>>),
    /// Of TLS 1.2, with the client's random number. It does lead to them.
    Master {
        /// The random number.
        client_random: Vec<u8>,
        /// The secret.
        secret: Zeroizing<Vec<u8>>,
    },
}

/// The random number of a server's hello (RFC 5246 section 7.4.1.3), which is first in this record; `None` if it is another message.
pub(crate) fn server_random(record: &[u8]) -> Option<[u8; RANDOM_BYTES]> {
    const HEADERS: usize = 5 + 4 + 2;
    let is_hello = record.first() == Some(&22) && record.get(5) == Some(&2);
    record.get(HEADERS..HEADERS + RANDOM_BYTES).filter(|_| is_hello)?.try_into().ok()
}

impl Secret {
    /// What works the binding out, of a session with this suite whose server has sent this random number.
    pub(crate) fn exporter(
        self,
        suite: &str,
        server_random: Option<[u8; RANDOM_BYTES]>,
    ) -> Option<Arc<dyn Exporter>> {
        match self {
            Secret::Exporter(secret) => Some(Arc::new(Later(secret))),
            Secret::Master { client_random, secret } => {
                let hash = if suite.ends_with("_SHA384") { hmac::HMAC_SHA384 } else { hmac::HMAC_SHA256 };
                // An empty context differs from none (RFC 5705 section 4): two octets say how long it is. RFC 9266 has an empty one; GnuTLS,
                // and most callers of OpenSSL, give none. Both are of this session only.
                let seed = [LABEL, &client_random, &server_random?, &[0, 0]].concat();
                let seeds = [&seed[..], &seed[..seed.len() - 2]];
                let made = seeds.map(|seed| pseudo_random(hash, &secret, seed));
                Some(Arc::new(Made(made)))
            }
        }
    }
}

/// The first octets of the pseudo-random function of TLS 1.2 (RFC 5246 section 5): one round is longer than a binding.
fn pseudo_random(hash: hmac::Algorithm, secret: &[u8], seed: &[u8]) -> Vec<u8> {
    let key = hmac::Key::new(hash, secret);
    let first = hmac::sign(&key, seed);
    let round = hmac::sign(&key, &[first.as_ref(), seed].concat());
    round.as_ref()[..BINDING_BYTES].to_vec()
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Takes the secret that the library has made on this thread since the last call.
pub(crate) fn take() -> Option<Secret> {
    MADE.take()
}

/// Gets the secrets, and keeps those that bindings follow from.
#[derive(Debug)]
pub(crate) struct Keeps {
    /// Those of TLS 1.2, too?
    pub(crate) with_1_2: bool,
}

impl KeyLog for Keeps {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        if !self.will_log(label) {
            return;
        }
        let secret = secret.to_vec().into();
        MADE.set(Some(match label {
            SECRET => Secret::Exporter(secret),
            _ => Secret::Master { client_random: client_random.to_vec(), secret },
        }));
    }

    fn will_log(&self, label: &str) -> bool {
        label == SECRET || label == MASTER && self.with_1_2
    }
}

/// Bindings that were worked out.
struct Made([Vec<u8>; 2]);

impl Exporter for Made {
    fn bindings(&self) -> Vec<Vec<u8>> {
        self.0.to_vec()
    }
}

/// A binding that is worked out when a client asks for it.
struct Later(Zeroizing<Vec<u8>>);

/// Octets that are expanded of a secret.
struct Octets(usize);

impl hkdf::KeyType for Octets {
    fn len(&self) -> usize {
        self.0
    }
}

/// HKDF-Expand-Label (RFC 8446 section 7.1).
fn expand(
    secret: (hkdf::Algorithm, &[u8]),
    label: &[u8],
    context: &[u8],
    len: usize,
) -> Option<Zeroizing<Vec<u8>>> {
    let label = [b"tls13 ", label].concat();
    let octet = |len: usize| u8::try_from(len).ok().map(|len| [len]);
    let (label_len, context_len) = (octet(label.len())?, octet(context.len())?);
    let len_octets = u16::try_from(len).ok()?.to_be_bytes();
    let info = [&len_octets[..], &label_len, &label, &context_len, context];
    let mut out = Zeroizing::new(vec![0; len]);
    hkdf::Prk::new_less_safe(secret.0, secret.1).expand(&info, Octets(len)).ok()?.fill(&mut out).ok()?;
    Some(out)
}

impl Later {
    fn binding(&self) -> Option<Vec<u8>> {
        // The hash is that of the suite, and the secret is as long as its values.
        let (algorithm, hash) = match self.0.len() {
            32 => (hkdf::HKDF_SHA256, &digest::SHA256),
            48 => (hkdf::HKDF_SHA384, &digest::SHA384),
            _ => return None,
        };
        // Of the empty text: as for messages, of which there are none, so for the context.
        let empty = digest::digest(hash, b"");
        let own = expand((algorithm, &self.0), LABEL, empty.as_ref(), self.0.len())?;
        Some(expand((algorithm, &own), b"exporter", empty.as_ref(), BINDING_BYTES)?.to_vec())
    }
}

impl Exporter for Later {
    fn bindings(&self) -> Vec<Vec<u8>> {
        self.binding().into_iter().collect()
    }
}
