//! The channel binding `tls-exporter` (RFC 9266): keys that both ends of a TLS 1.3 session can work out, and nobody else.
//!
//! The library works them out for callers that leave the buffers to it, and not for those that bring their own. To both it tells the secret
//! that they follow from, when it has made it: by the door for logs of keys. Here nothing is logged: the secret is kept with the session, and two
//! steps of RFC 8446 section 7.5 make the binding of it if a client asks.
//!
//! There is none on TLS 1.2. There it would be safe only with an extended master secret (RFC 9266 section 4.2), and the library does not tell
//! whether the session has one.

use dsa::config::Exporter;
use ring::{digest, hkdf};
use rustls::KeyLog;
use std::cell::RefCell;
use std::fmt;
use zeroize::Zeroizing;

/// What the library calls the secret.
const SECRET: &str = "EXPORTER_SECRET";
/// What this binding is called among all that follows from it.
const LABEL: &[u8] = b"EXPORTER-Channel-Binding";
/// Octets of the binding.
const BINDING_BYTES: usize = 32;

thread_local! {
    /// The secret that was made last. A thread goes on with one handshake at a time, and takes it from here before it does so with another.
    static MADE: RefCell<Option<Secret>> = const { RefCell::new(None) };
}

/// The secret that the keys for other purposes of one session follow from. It does not lead to the keys of its records.
pub(crate) struct Secret(Zeroizing<Vec<u8>>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Takes the secret that the library has made on this thread since the last call.
pub(crate) fn take() -> Option<Secret> {
    MADE.take()
}

/// Gets the secrets, and keeps this one.
#[derive(Debug)]
pub(crate) struct Keeps;

impl KeyLog for Keeps {
    fn log(&self, label: &str, _: &[u8], secret: &[u8]) {
        if label == SECRET {
            MADE.set(Some(Secret(secret.to_vec().into())));
        }
    }

    fn will_log(&self, label: &str) -> bool {
        label == SECRET
    }
}

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

impl Exporter for Secret {
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
