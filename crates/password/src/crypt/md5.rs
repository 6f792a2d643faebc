//! `$1$`: a thousand rounds of MD5.

use super::fields::salt_and_hash;
use crate::compare::same;
use crate::refused::Fault;
use zeroize::Zeroize;

/// Nanoseconds of one verification.
pub(crate) const COST_NS: u64 = 250_000;
const PREFIX: &[u8] = b"$1$";
const SALT_CHARS_MAX: usize = 8;
const HASH_CHARS: usize = 22;

/// A value that was read.
pub(crate) struct Hash {
    /// Of `whole`, where the salt ends.
    salt_end: usize,
    whole: Vec<u8>,
}

impl Hash {
    pub(super) fn read(rest: &[u8]) -> Result<Hash, Fault> {
        const FORM: Fault = Fault::Malformed("$1$ with a salt of 8 characters at most, $ and 22 characters");
        let (salt, hash) = salt_and_hash(&rest[PREFIX.len()..]).ok_or(FORM)?;
        let is_whole = salt.len() <= SALT_CHARS_MAX && hash.len() == HASH_CHARS;
        let salt_end = PREFIX.len() + salt.len();
        is_whole.then(|| Hash { salt_end, whole: rest.to_vec() }).ok_or(FORM)
    }

    pub(super) fn verify(&self, password: &[u8]) -> bool {
        let mut made = md5crypt::md5crypt(password, &self.whole[PREFIX.len()..self.salt_end]);
        let is_right = same(&self.whole, &made);
        made.zeroize();
        is_right
    }
}
