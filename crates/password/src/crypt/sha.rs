//! `$5$` and `$6$`: thousands of rounds of SHA-256 or SHA-512.

use super::fields::salt_and_hash;
use crate::base64::{crypt_value, push_crypt};
use crate::compare::same;
use crate::refused::Fault;
use model::limits::CRYPT_ROUNDS_MAX;
use sha_crypt::{Params, sha256_crypt, sha512_crypt};
use zeroize::Zeroize;

/// Nanoseconds of one round.
const ROUND_NS: u64 = 600;
const ROUNDS_MIN: u32 = Params::ROUNDS_MIN;
const ROUNDS_DEFAULT: u32 = 5_000;
/// Rounds of new values.
const NEW_ROUNDS: u32 = 100_000;
const SALT_CHARS_MAX: usize = 16;
/// Octets of the digest whose bits become four characters, in the order in which they are written.
const ORDER_256: [[usize; 3]; 10] = [
    [0, 10, 20],
    [21, 1, 11],
    [12, 22, 2],
    [3, 13, 23],
    [24, 4, 14],
    [15, 25, 5],
    [6, 16, 26],
    [27, 7, 17],
    [18, 28, 8],
    [9, 19, 29],
];

/// A value that was read.
pub(crate) struct Hash {
    is_512: bool,
    rounds: u32,
    salt: Vec<u8>,
    /// As text.
    hash: Vec<u8>,
}

impl Hash {
    pub(super) fn read(rest: &[u8]) -> Result<Hash, Fault> {
        const FORM: Fault = Fault::Malformed(
            "$5$ or $6$, perhaps rounds=1000 or more, a salt of 16 characters at most, $ and the hash",
        );
        let (is_512, fields) = (rest[1] == b'6', &rest[3..]);
        let (rounds, fields) = match fields.strip_prefix(b"rounds=") {
            None => (ROUNDS_DEFAULT, fields),
            Some(fields) => rounds(fields).ok_or(FORM)?,
        };
        let (salt, hash) = salt_and_hash(fields).ok_or(FORM)?;
        let chars = if is_512 { 86 } else { 43 };
        let is_whole = hash.len() == chars && hash.iter().all(|byte| crypt_value(*byte).is_some());
        match rounds {
            _ if !is_whole || salt.len() > SALT_CHARS_MAX => Err(FORM),
            ..ROUNDS_MIN => Err(FORM),
            ROUNDS_MIN..=CRYPT_ROUNDS_MAX => {
                Ok(Hash { is_512, rounds, salt: salt.to_vec(), hash: hash.to_vec() })
            }
            _ => Err(Fault::Beyond("rounds=5000000 at most")),
        }
    }

    pub(super) fn cost_ns(&self) -> u64 {
        u64::from(self.rounds) * ROUND_NS
    }

    pub(super) fn verify(&self, password: &[u8]) -> bool {
        let mut made = hash(self.is_512, self.rounds, &self.salt, password);
        let is_right = made.as_deref().is_some_and(|made| same(&self.hash, made));
        made.zeroize();
        is_right
    }
}

/// Number and what follows the `$` behind it. Too big a number is beyond every bound.
fn rounds(fields: &[u8]) -> Option<(u32, &[u8])> {
    let at = fields.iter().position(|byte| *byte == b'$')?;
    let digits = std::str::from_utf8(&fields[..at]).ok()?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| (digits.parse().unwrap_or(u32::MAX), &fields[at + 1..]))
}

fn hash(is_512: bool, rounds: u32, salt: &[u8], password: &[u8]) -> Option<Vec<u8>> {
    let params = Params::new(rounds).ok()?;
    Some(match is_512 {
        true => write_512(&sha512_crypt(password, salt, params)),
        false => write_256(&sha256_crypt(password, salt, params)),
    })
}

fn write_256(digest: &[u8; 32]) -> Vec<u8> {
    let mut out = Vec::with_capacity(43);
    ORDER_256.iter().for_each(|order| push(digest, *order, &mut out));
    push_crypt(u32::from(digest[31]) << 8 | u32::from(digest[30]), 3, &mut out);
    out
}

fn write_512(digest: &[u8; 64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(86);
    // 0 21 42, 22 43 1, 44 2 23 and so on: each column goes up by one, and the columns change places.
    for at in 0..21 {
        let columns = [at, at + 21, at + 42];
        let order = [columns[at % 3], columns[(at + 1) % 3], columns[(at + 2) % 3]];
        push(digest, order, &mut out);
    }
    push_crypt(u32::from(digest[63]), 2, &mut out);
    out
}

/// Four characters of three octets, the first of them highest.
fn push(digest: &[u8], [high, middle, low]: [usize; 3], out: &mut Vec<u8>) {
    let octet = |at: usize| u32::from(digest[at]);
    push_crypt(octet(high) << 16 | octet(middle) << 8 | octet(low), 4, out);
}

/// What is stored of a password, behind `{CRYPT}`. `None` of one that crypt(3) cannot take.
pub(crate) fn make(password: &[u8], salt: &[u8; 16]) -> Option<Vec<u8>> {
    if password.contains(&0) {
        return None;
    }
    let mut text = Vec::new();
    // Each of its characters has six bits of an octet.
    salt.iter().for_each(|byte| push_crypt(u32::from(*byte), 1, &mut text));
    let hash = hash(true, NEW_ROUNDS, &text, password)?;
    Some([format!("$6$rounds={NEW_ROUNDS}$").as_bytes(), &text, b"$", &hash].concat())
}

/// What new values begin with.
pub(crate) fn new_prefix() -> String {
    format!("$6$rounds={NEW_ROUNDS}$")
}

/// Has a value the parameters of new ones?
pub(crate) fn is_new(rest: &[u8]) -> bool {
    rest.starts_with(new_prefix().as_bytes())
}
