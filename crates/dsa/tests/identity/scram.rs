//! A client of SCRAM-SHA-256 (RFC 5802, RFC 7677), and a value to store for it.

use super::*;
use hmac::{Hmac, KeyInit, Mac};
use password::base64::{decode, encode};
use proto::op::{Authentication, Bind};
use proto::{Reply, Request, Response};
use sha2::{Digest, Sha256};

/// The least that is accepted: a test has hundreds.
const ITERATIONS: u32 = 4096;
const SALT: &[u8] = b"salt of a client";

fn mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any length");
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

/// What a client works out once of its password.
pub(super) struct Scram(Vec<u8>);

impl Scram {
    pub(super) fn new(password: &str) -> Scram {
        let mut salted = vec![0; 32];
        pbkdf2::pbkdf2_hmac::<Sha256>(password.as_bytes(), SALT, ITERATIONS, &mut salted);
        Scram(salted)
    }

    /// What is stored of it.
    pub(super) fn stored(&self) -> String {
        let stored_key = Sha256::digest(mac(&self.0, b"Client Key"));
        let server_key = mac(&self.0, b"Server Key");
        let (salt, stored_key, server_key) = (encode(SALT), encode(&stored_key), encode(&server_key));
        format!("{{SCRAM-SHA-256}}{ITERATIONS}:{salt}${stored_key}:{server_key}")
    }

    /// Binds by both steps; whether it succeeds.
    pub(super) fn binds(&self, client: &mut Client, user: &str, authorization_id: &str) -> bool {
        let escape = |text: &str| text.replace('=', "=3D").replace(',', "=2C");
        let header = match authorization_id {
            "" => "n,,".to_owned(),
            id => format!("n,a={},", escape(id)),
        };
        let bare = format!("n={},r=nonce", escape(user));
        let Some(first) = step(client, format!("{header}{bare}").as_bytes()) else { return false };
        let first = String::from_utf8(first).expect("it is a text");
        let nonce = first.strip_prefix("r=").and_then(|rest| rest.split_once(',')).expect("there is one").0;
        let without_proof = format!("c={},r={nonce}", encode(header.as_bytes()));
        let signed = format!("{bare},{first},{without_proof}");
        let client_key = mac(&self.0, b"Client Key");
        let signature = mac(&Sha256::digest(&client_key), signed.as_bytes());
        let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(one, other)| one ^ other).collect();
        let message = format!("{without_proof},p={}", encode(&proof));
        let Some(last) = step(client, message.as_bytes()) else { return false };
        let proven = last.strip_prefix(b"v=").and_then(decode);
        assert_eq!(
            proven,
            Some(mac(&mac(&self.0, b"Server Key"), signed.as_bytes())),
            "the server proves itself, too"
        );
        true
    }
}

/// A step; what the server says, unless it refuses.
fn step(client: &mut Client, message: &[u8]) -> Option<Vec<u8>> {
    let authentication = Authentication::Sasl { mechanism: b"SCRAM-SHA-256", credentials: Some(message) };
    let (_, bytes) = client.encode(&Request::Bind(Bind { version: 3, name: b"", authentication }), &[]);
    let (answer, _) = client.exchange(&bytes);
    let Response::Bind(answer) = Reply::decode(&answer).expect("it decodes").response else {
        panic!("a bind")
    };
    match answer.result.result_code() {
        Some(ResultCode::Success | ResultCode::SaslBindInProgress) => {
            answer.server_sasl_credentials.map(<[u8]>::to_vec)
        }
        _ => None,
    }
}
