//! The client of SCRAM-SHA-256 (RFC 5802, RFC 7677), and the value that is stored for it.

use hmac::{Hmac, KeyInit, Mac};
use password::base64::{decode, encode};
use sha2::{Digest, Sha256};
use std::sync::OnceLock;

/// The least that is accepted.
const ITERATIONS: u32 = 4096;
const SALT: &[u8] = b"salt of a client";
/// What the client draws.
pub(super) const NONCE: &str = "nonce";

fn mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any length");
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

/// What follows from the password: worked out once, for it takes a millisecond.
fn salted() -> &'static [u8] {
    static SALTED: OnceLock<Vec<u8>> = OnceLock::new();
    SALTED.get_or_init(|| {
        let mut salted = vec![0; 32];
        pbkdf2::pbkdf2_hmac::<Sha256>(b"word", SALT, ITERATIONS, &mut salted);
        salted
    })
}

/// What is stored of the password.
pub(super) fn stored() -> String {
    let stored_key = Sha256::digest(mac(salted(), b"Client Key"));
    let server_key = mac(salted(), b"Server Key");
    let (salt, stored_key, server_key) = (encode(SALT), encode(&stored_key), encode(&server_key));
    format!("{{SCRAM-SHA-256}}{ITERATIONS}:{salt}${stored_key}:{server_key}")
}

/// An exchange, as its client sees it.
#[derive(Clone, Debug)]
pub(super) struct Begun {
    pub(super) header: String,
    pub(super) user: &'static str,
    /// What the channel is known by.
    pub(super) binding: &'static [u8],
    /// The challenge, once it has come.
    pub(super) challenge: Vec<u8>,
}

/// A last message, and what the server must say to it.
pub(super) struct Last {
    pub(super) message: Vec<u8>,
    pub(super) expected: Vec<u8>,
}

impl Begun {
    fn bare(&self) -> String {
        format!("n={},r={NONCE}", self.user)
    }

    /// The first message.
    pub(super) fn first(&self) -> Vec<u8> {
        format!("{}{}", self.header, self.bare()).into_bytes()
    }

    /// The last message. `bound`: as what the channel is known, if not by what it is.
    pub(super) fn last(&self, bound: Option<&[u8]>) -> Last {
        let challenge = String::from_utf8_lossy(&self.challenge);
        let nonce = challenge.strip_prefix("r=").and_then(|rest| rest.split_once(','));
        let nonce = nonce.map_or(NONCE, |(nonce, _)| nonce);
        let seen = [self.header.as_bytes(), bound.unwrap_or(self.binding)].concat();
        let without_proof = format!("c={},r={nonce}", encode(&seen));
        let signed = format!("{},{challenge},{without_proof}", self.bare());
        let client_key = mac(salted(), b"Client Key");
        let signature = mac(&Sha256::digest(&client_key), signed.as_bytes());
        let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(one, other)| one ^ other).collect();
        let expected = mac(&mac(salted(), b"Server Key"), signed.as_bytes());
        Last { message: format!("{without_proof},p={}", encode(&proof)).into_bytes(), expected }
    }
}

/// Has the server proved itself?
pub(super) fn is_proven(said: &[u8], expected: &[u8]) -> bool {
    said.strip_prefix(b"v=").and_then(decode).as_deref() == Some(expected)
}
