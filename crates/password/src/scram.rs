//! `{SCRAM-SHA-256}` and `{SCRAM-SHA-512}`: the keys of RFC 5802 in the form of RFC 5803, `iterations:salt$StoredKey:ServerKey`.
//! A simple bind verifies them too.

use crate::base64;
use crate::compare::same;
use crate::pbkdf2::{Prf, iterations};
use crate::refused::Fault;
use crate::split::split_scheme;
use hmac::{Hmac, KeyInit, Mac};
use model::limits::PASSWORD_SALT_BYTES_MAX;
use sha2::{Digest, Sha256, Sha512};
use zeroize::Zeroize;

/// The least count of iterations that is accepted (RFC 7677 section 4).
pub const ITERATIONS_MIN: u32 = 4_096;
/// Iterations of new values.
pub const NEW_ITERATIONS: u32 = 65_536;
const NEW_SALT_BYTES: usize = 16;

/// What is stored of a password for SCRAM.
pub struct Keys {
    prf: Prf,
    /// Iterations of the key derivation.
    pub iterations: u32,
    /// Its salt.
    pub salt: Vec<u8>,
    /// The hash of the client's key.
    pub stored_key: Vec<u8>,
    /// By which the server proves that it knows them.
    pub server_key: Vec<u8>,
}

impl Keys {
    /// The keys in a stored value of `{SCRAM-SHA-256}`; `None` if it is none.
    pub fn of_sha256(stored: &[u8]) -> Option<Keys> {
        let (scheme, rest) = split_scheme(stored)?;
        scheme.eq_ignore_ascii_case(b"SCRAM-SHA-256").then(|| Keys::read(Prf::Sha256, rest).ok())?
    }

    pub(crate) fn read(prf: Prf, rest: &[u8]) -> Result<Keys, Fault> {
        const FORM: Fault =
            Fault::Malformed("ITERATIONS:SALT$STOREDKEY:SERVERKEY, with 4096 iterations or more,");
        let (first, second) = split(rest, b'$').ok_or(FORM)?;
        let (count, salt) = split(first, b':').ok_or(FORM)?;
        let (stored_key, server_key) = split(second, b':').ok_or(FORM)?;
        let decode = |text: &[u8]| base64::decode(text).ok_or(FORM);
        let (salt, stored_key, server_key) = (decode(salt)?, decode(stored_key)?, decode(server_key)?);
        let iterations = iterations(count, FORM)?;
        let is_whole = stored_key.len() == prf.bytes()
            && server_key.len() == prf.bytes()
            && (1..=PASSWORD_SALT_BYTES_MAX).contains(&salt.len())
            && iterations >= ITERATIONS_MIN;
        is_whole.then_some(Keys { prf, iterations, salt, stored_key, server_key }).ok_or(FORM)
    }

    /// Keys that nobody has the password of, with this salt: for names that have none.
    pub fn of_nobody(salt: Vec<u8>) -> Keys {
        let (stored_key, server_key) = (vec![0; Prf::Sha256.bytes()], vec![0; Prf::Sha256.bytes()]);
        Keys { prf: Prf::Sha256, iterations: NEW_ITERATIONS, salt, stored_key, server_key }
    }

    /// Does a proof show that its client knows the password (RFC 5802 section 3)? The work is the same for every proof of the right length.
    pub fn proves(&self, auth_message: &[u8], proof: &[u8]) -> bool {
        if proof.len() != self.stored_key.len() {
            return false;
        }
        let signature = mac(self.prf, &self.stored_key, auth_message);
        let mut client_key: Vec<u8> = proof.iter().zip(&signature).map(|(one, other)| one ^ other).collect();
        let hashed = self.prf.digest(&client_key);
        client_key.zeroize();
        same(&self.stored_key, &hashed)
    }

    /// By which the server proves that it knows the keys.
    pub fn signature(&self, auth_message: &[u8]) -> Vec<u8> {
        mac(self.prf, &self.server_key, auth_message)
    }

    pub(crate) fn cost_ns(&self) -> u64 {
        u64::from(self.iterations) * self.prf.iteration_ns()
    }

    pub(crate) fn verify(&self, password: &[u8]) -> bool {
        let Some(mut derived) = Derived::of(self.prf, password, &self.salt, self.iterations) else {
            return false;
        };
        let is_right = same(&self.stored_key, &derived.stored_key);
        derived.server_key.zeroize();
        is_right
    }
}

struct Derived {
    stored_key: Vec<u8>,
    server_key: Vec<u8>,
}

impl Derived {
    /// `None` of a password that SASLprep (RFC 4013) does not take.
    fn of(prf: Prf, password: &[u8], salt: &[u8], iterations: u32) -> Option<Derived> {
        let text = std::str::from_utf8(password).ok()?;
        let mut prepared = stringprep::saslprep(text).ok()?.into_owned();
        let mut salted = vec![0; prf.bytes()];
        prf.derive(prepared.as_bytes(), salt, iterations, &mut salted);
        prepared.zeroize();
        let mut client_key = mac(prf, &salted, b"Client Key");
        let server_key = mac(prf, &salted, b"Server Key");
        let stored_key = prf.digest(&client_key);
        client_key.zeroize();
        salted.zeroize();
        Some(Derived { stored_key, server_key })
    }
}

impl Prf {
    fn digest(self, text: &[u8]) -> Vec<u8> {
        match self {
            Prf::Sha512 => Sha512::digest(text).to_vec(),
            _ => Sha256::digest(text).to_vec(),
        }
    }
}

/// A name as it is compared (SASLprep, RFC 4013). `None` of one that it does not take.
pub fn prepare(name: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(name).ok()?;
    Some(stringprep::saslprep(text).ok()?.as_bytes().to_vec())
}

fn mac(prf: Prf, key: &[u8], text: &[u8]) -> Vec<u8> {
    fn of<M: KeyInit + Mac>(key: &[u8], text: &[u8]) -> Vec<u8> {
        let mac = <M as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length");
        mac.chain_update(text).finalize().into_bytes().to_vec()
    }
    match prf {
        Prf::Sha512 => of::<Hmac<Sha512>>(key, text),
        _ => of::<Hmac<Sha256>>(key, text),
    }
}

fn split(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|byte| *byte == at)?;
    Some((&text[..at], &text[at + 1..]))
}

/// What is stored of a password, behind the name of the scheme. `None` of one that SASLprep does not take.
pub(crate) fn make(password: &[u8], salt: &[u8; NEW_SALT_BYTES]) -> Option<String> {
    let derived = Derived::of(Prf::Sha256, password, salt, NEW_ITERATIONS)?;
    let (stored, server) = (base64::encode(&derived.stored_key), base64::encode(&derived.server_key));
    Some(format!("{NEW_ITERATIONS}:{}${stored}:{server}", base64::encode(salt)))
}

/// Has a value the parameters of new ones?
pub(crate) fn is_new(rest: &[u8]) -> bool {
    rest.starts_with(format!("{NEW_ITERATIONS}:").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7677 section 3.
    #[test]
    fn the_exchange_of_the_rfc() {
        let salt = base64::decode(b"W22ZaJ0SNY7soEsUEjb6gQ==").expect("base64");
        let derived = Derived::of(Prf::Sha256, b"pencil", &salt, 4096).expect("plain letters");
        let Derived { stored_key, server_key } = derived;
        let keys = Keys { prf: Prf::Sha256, iterations: 4096, salt, stored_key, server_key };
        let message = b"n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let mut proof = base64::decode(b"dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=").expect("base64");
        assert!(keys.proves(message, &proof) && !keys.proves(b"another", &proof));
        assert_eq!(base64::encode(&keys.signature(message)), "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
        assert!(
            !Keys::of_nobody(keys.salt.clone()).proves(message, &proof) && !keys.proves(message, &proof[1..])
        );
        proof[0] ^= 1;
        assert!(!keys.proves(message, &proof));
    }
}
