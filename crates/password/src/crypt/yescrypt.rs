//! `$y$`: yescrypt as libxcrypt writes it, in its one flavour and with parameters of one character each.

use super::fields::salt_and_hash;
use crate::base64::{crypt_value, decode_crypt, encode_crypt};
use crate::compare::same;
use crate::refused::Fault;
use model::limits::ARGON2_MEMORY_KIB_MAX;
use model::limits::PASSWORD_SALT_BYTES_MAX;
use yescrypt::{Mode, Params, yescrypt};
use zeroize::Zeroize;

/// Nanoseconds for one KiB of its memory.
const KIB_NS: u64 = 1_200;
/// The flavour that libxcrypt writes: read-write, with all defaults.
const FLAVOUR: u8 = b'j';
/// Highest value that one character says; longer numbers are never written.
const ONE_CHARACTER_MAX: u8 = 47;
const HASH_CHARS: usize = 43;
/// Least block size of the flavour: the S-boxes are filled from two blocks of it.
const BLOCK_SIZE_MIN: u32 = 8;

/// A value that was read.
pub(crate) struct Hash {
    params: Params,
    kib: u64,
    salt: Vec<u8>,
    /// As text.
    hash: Vec<u8>,
}

impl Hash {
    pub(super) fn read(rest: &[u8]) -> Result<Hash, Fault> {
        const FORM: Fault = Fault::Malformed("$y$jXY$, a salt, $ and 43 characters");
        let [b'$', b'y', b'$', FLAVOUR, cost, size, b'$', fields @ ..] = rest else { return Err(FORM) };
        let number = |character: &u8| {
            let value = crypt_value(*character).filter(|value| *value <= ONE_CHARACTER_MAX).ok_or(FORM)?;
            Ok(u32::from(value) + 1)
        };
        let (cost, size) = (number(cost)?, number(size)?);
        let (salt, hash) = salt_and_hash(fields).ok_or(FORM)?;
        let salt = decode_crypt(salt).filter(|salt| salt.len() <= PASSWORD_SALT_BYTES_MAX).ok_or(FORM)?;
        if hash.len() != HASH_CHARS || size < BLOCK_SIZE_MIN || cost < 4 {
            return Err(FORM);
        }
        // A block of size 8 is 1 KiB.
        let kib = (u64::from(size) << cost.min(40)) / 8;
        if kib > u64::from(ARGON2_MEMORY_KIB_MAX) {
            return Err(Fault::Beyond("256 MiB of memory at most"));
        }
        let params = Params::new(Mode::default(), 1 << cost, size, 1).map_err(|_| FORM)?;
        Ok(Hash { params, kib, salt, hash: hash.to_vec() })
    }

    pub(super) fn cost_ns(&self) -> u64 {
        self.kib * KIB_NS
    }

    pub(super) fn verify(&self, password: &[u8]) -> bool {
        let mut key = [0; 32];
        let is_made = yescrypt(password, &self.salt, &self.params, &mut key).is_ok();
        let is_right = is_made && same(&self.hash, &encode_crypt(&key));
        key.zeroize();
        is_right
    }
}
