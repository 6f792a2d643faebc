//! Digests: `{SHA}`, `{SHA256}`, `{SHA384}`, `{SHA512}`, `{MD5}`, and with a salt `{SSHA}`, `{SSHA256}`, `{SSHA384}`, `{SSHA512}`, `{SMD5}`:
//! base64 of the digest of password and salt, then the salt.

use crate::base64;
use crate::compare::same;
use crate::refused::Fault;
use md5::Md5;
use model::limits::PASSWORD_SALT_BYTES_MAX;
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};

/// Nanoseconds of one verification, of an ordinary password.
pub(crate) const COST_NS: u64 = 1_500;

/// A digest algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Md5,
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl Algorithm {
    fn bytes(self) -> usize {
        match self {
            Algorithm::Md5 => 16,
            Algorithm::Sha1 => 20,
            Algorithm::Sha256 => 32,
            Algorithm::Sha384 => 48,
            Algorithm::Sha512 => 64,
        }
    }

    fn digest(self, password: &[u8], salt: &[u8]) -> Vec<u8> {
        fn of<D: sha1::Digest>(password: &[u8], salt: &[u8]) -> Vec<u8> {
            D::new().chain_update(password).chain_update(salt).finalize().to_vec()
        }
        match self {
            Algorithm::Md5 => of::<Md5>(password, salt),
            Algorithm::Sha1 => of::<Sha1>(password, salt),
            Algorithm::Sha256 => of::<Sha256>(password, salt),
            Algorithm::Sha384 => of::<Sha384>(password, salt),
            Algorithm::Sha512 => of::<Sha512>(password, salt),
        }
    }
}

/// Algorithm of a scheme, and whether it has a salt.
pub(crate) fn named(scheme: &str) -> Option<(Algorithm, bool)> {
    Some(match scheme {
        "MD5" => (Algorithm::Md5, false),
        "SMD5" => (Algorithm::Md5, true),
        "SHA" => (Algorithm::Sha1, false),
        "SSHA" => (Algorithm::Sha1, true),
        "SHA256" => (Algorithm::Sha256, false),
        "SSHA256" => (Algorithm::Sha256, true),
        "SHA384" => (Algorithm::Sha384, false),
        "SSHA384" => (Algorithm::Sha384, true),
        "SHA512" => (Algorithm::Sha512, false),
        "SSHA512" => (Algorithm::Sha512, true),
        _ => return None,
    })
}

/// A digest with its salt.
pub(crate) struct Digest {
    algorithm: Algorithm,
    /// The digest, then the salt.
    bytes: Vec<u8>,
}

impl Digest {
    pub(crate) fn read((algorithm, is_salted): (Algorithm, bool), rest: &[u8]) -> Result<Digest, Fault> {
        // 389 Directory Server exports values with a line feed at their end.
        let text = rest.strip_suffix(b"\n").unwrap_or(rest);
        let bytes = base64::decode(text).ok_or(Fault::Malformed("base64"))?;
        match (is_salted, bytes.len().checked_sub(algorithm.bytes())) {
            (false, Some(0)) | (true, Some(1..=PASSWORD_SALT_BYTES_MAX)) => Ok(Digest { algorithm, bytes }),
            (false, _) => Err(Fault::Malformed("base64 of a whole digest")),
            (true, Some(1..)) => Err(Fault::Beyond("a salt of 64 octets at most")),
            (true, _) => Err(Fault::Malformed("base64 of a whole digest and a salt")),
        }
    }

    pub(crate) fn verify(&self, password: &[u8]) -> bool {
        let (digest, salt) = self.bytes.split_at(self.algorithm.bytes());
        same(digest, &self.algorithm.digest(password, salt))
    }
}

/// What is stored of a password, behind the name of the scheme.
pub(crate) fn make(algorithm: Algorithm, password: &[u8], salt: &[u8]) -> String {
    base64::encode(&[&algorithm.digest(password, salt), salt].concat())
}
