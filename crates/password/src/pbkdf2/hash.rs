//! A PBKDF2 value that was read, whatever form it has.

use crate::compare::same;
use crate::refused::Fault;
use model::limits::PBKDF2_ITERATIONS_MAX;
use pbkdf2::pbkdf2_hmac;
use sha1::Sha1;
use sha2::{Sha256, Sha512};
use zeroize::Zeroize;

/// Its pseudorandom function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prf {
    Sha1,
    Sha256,
    Sha512,
}

impl Prf {
    pub(crate) fn bytes(self) -> usize {
        match self {
            Prf::Sha1 => 20,
            Prf::Sha256 => 32,
            Prf::Sha512 => 64,
        }
    }

    /// Nanoseconds of one iteration.
    pub(crate) fn iteration_ns(self) -> u64 {
        match self {
            Prf::Sha1 | Prf::Sha256 => 300,
            Prf::Sha512 => 700,
        }
    }

    pub(crate) fn derive(self, password: &[u8], salt: &[u8], iterations: u32, key: &mut [u8]) {
        match self {
            Prf::Sha1 => pbkdf2_hmac::<Sha1>(password, salt, iterations, key),
            Prf::Sha256 => pbkdf2_hmac::<Sha256>(password, salt, iterations, key),
            Prf::Sha512 => pbkdf2_hmac::<Sha512>(password, salt, iterations, key),
        }
    }
}

/// A value that was read.
pub(crate) struct Hash {
    pub(super) prf: Prf,
    pub(super) iterations: u32,
    pub(super) salt: Vec<u8>,
    pub(super) key: Vec<u8>,
}

impl Hash {
    pub(crate) fn cost_ns(&self) -> u64 {
        let blocks = self.key.len().div_ceil(self.prf.bytes()) as u64;
        u64::from(self.iterations) * self.prf.iteration_ns() * blocks
    }

    pub(crate) fn verify(&self, password: &[u8]) -> bool {
        let mut key = vec![0; self.key.len()];
        self.prf.derive(password, &self.salt, self.iterations, &mut key);
        let is_right = same(&self.key, &key);
        key.zeroize();
        is_right && is_distinct(password)
    }
}

/// HMAC fills its key up with NULs, so a password that ends in some would be the same as one without.
pub(super) fn is_distinct(password: &[u8]) -> bool {
    password.last() != Some(&0)
}

/// A number of iterations in decimal.
pub(crate) fn iterations(digits: &[u8], form: Fault) -> Result<u32, Fault> {
    let text = std::str::from_utf8(digits).map_err(|_| form)?;
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(form);
    }
    bounded(text.parse().unwrap_or(u32::MAX), form)
}

pub(super) fn bounded(iterations: u32, form: Fault) -> Result<u32, Fault> {
    match iterations {
        0 => Err(form),
        1..=PBKDF2_ITERATIONS_MAX => Ok(iterations),
        _ => Err(Fault::Beyond("10000000 iterations at most")),
    }
}
