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

/// Scheme, algorithm, and whether it has a salt. Those that are found most stand first.
const SCHEMES: [(&str, Algorithm, bool); 10] = [
    ("SSHA", Algorithm::Sha1, true),
    ("SSHA512", Algorithm::Sha512, true),
    ("SSHA256", Algorithm::Sha256, true),
    ("SHA", Algorithm::Sha1, false),
    ("MD5", Algorithm::Md5, false),
    ("SMD5", Algorithm::Md5, true),
    ("SHA256", Algorithm::Sha256, false),
    ("SHA384", Algorithm::Sha384, false),
    ("SSHA384", Algorithm::Sha384, true),
    ("SHA512", Algorithm::Sha512, false),
];

/// Algorithm of a scheme (any case), and whether it has a salt.
pub(crate) fn named(scheme: &[u8]) -> Option<(Algorithm, bool)> {
    let found = SCHEMES.iter().find(|(name, ..)| scheme.eq_ignore_ascii_case(name.as_bytes()));
    found.map(|(_, algorithm, is_salted)| (*algorithm, *is_salted))
}

/// 1 for each octet that is no character of base64, padding apart.
static NOT_PLAIN: [u8; 256] = {
    let mut table = [1; 256];
    let mut at = 0;
    while at < 256 {
        if (at as u8).is_ascii_alphanumeric() || matches!(at as u8, b'+' | b'/') {
            table[at] = 0;
        }
        at += 1;
    }
    table
};

/// Is this a digest in padded base64, as nearly all are? Nothing is decoded. What it says no of may be one all the same, in another writing.
#[inline]
pub(crate) fn is_padded((algorithm, is_salted): (Algorithm, bool), rest: &[u8]) -> bool {
    let Some((last, groups)) = rest.as_chunks::<4>().0.split_last() else { return false };
    let padding = match last {
        [_, _, b'=', b'='] => 2,
        [_, _, _, b'='] => 1,
        _ => 0,
    };
    // Four at a time: one after the other they take twice the instructions.
    let of_group = |group: &[u8; 4]| group.iter().fold(0, |all, byte| all | NOT_PLAIN[usize::from(*byte)]);
    rest.len().is_multiple_of(4)
        && has_length((algorithm, is_salted), rest.len() / 4 * 3 - padding)
        && groups.iter().fold(0, |all, group| all | of_group(group)) == 0
        && last[..4 - padding].iter().all(|byte| NOT_PLAIN[usize::from(*byte)] == 0)
}

/// Are so many octets a digest, with its salt if it is to have one?
fn has_length((algorithm, is_salted): (Algorithm, bool), bytes: usize) -> bool {
    match bytes.checked_sub(algorithm.bytes()) {
        Some(salt) if is_salted => (1..=PASSWORD_SALT_BYTES_MAX).contains(&salt),
        salt => salt == Some(0) && !is_salted,
    }
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
        if has_length((algorithm, is_salted), bytes.len()) {
            return Ok(Digest { algorithm, bytes });
        }
        Err(match is_salted {
            false => Fault::Malformed("base64 of a whole digest"),
            true if bytes.len() > algorithm.bytes() => Fault::Beyond("a salt of 64 octets at most"),
            true => Fault::Malformed("base64 of a whole digest and a salt"),
        })
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
