//! A stored value: which scheme it has, what a verification costs, and the verification itself.

use crate::argon2;
use crate::bcrypt;
use crate::clear::Clear;
use crate::crypt::Crypt;
use crate::digest::{self, Digest};
use crate::memory::Memory;
use crate::one_time::{self, OneTime, split_code};
use crate::pbkdf2::{self, Prf};
use crate::refused::{Fault, Refused};
use crate::scram;
use crate::split::split_scheme;
use model::limits::{PASSWORD_BYTES_MAX, PASSWORD_VALUE_BYTES_MAX};

/// Nanoseconds up to which a verification may run where requests are answered.
pub const FAST_NS: u64 = 5_000;

/// A stored value that may stand for a password. It cannot be printed.
pub struct Stored<'a>(Kind<'a>);

enum Kind<'a> {
    Clear(Clear<'a>),
    Digest(Digest),
    Argon2(argon2::Hash),
    Pbkdf2(pbkdf2::Hash),
    Crypt(Crypt),
    Bcrypt(bcrypt::Hash),
    Scram(scram::Keys),
    /// What is stored of the password besides the key of the code.
    OneTime(Box<Stored<'a>>),
}

impl<'a> Stored<'a> {
    /// Reads a value.
    ///
    /// # Errors
    /// Why no password can ever be the one that it stands for.
    pub fn read(stored: &'a [u8]) -> Result<Stored<'a>, Refused> {
        if stored.iter().all(u8::is_ascii_whitespace) {
            return Err(Refused::Blank);
        }
        let Some((scheme, rest)) = split_scheme(stored) else {
            return Ok(Stored(Kind::Clear(Clear(stored))));
        };
        if stored.len() > PASSWORD_VALUE_BYTES_MAX {
            return Err(Fault::Beyond("1024 octets at most").of(scheme));
        }
        let name = String::from_utf8_lossy(scheme).to_ascii_uppercase();
        match Kind::read(&name, rest) {
            Some(Ok(kind)) => Ok(Stored(kind)),
            Some(Err(fault)) => Err(fault.of(scheme)),
            None => Err(Refused::UnknownScheme(String::from_utf8_lossy(scheme).into_owned())),
        }
    }

    /// Is it the password that the value stands for? The time that it takes tells nothing of how much of it was right.
    /// One of more than [`PASSWORD_BYTES_MAX`] octets is never right, and not looked at.
    pub fn verify(&self, password: &[u8], memory: &mut Memory) -> bool {
        if password.len() > PASSWORD_BYTES_MAX || password.is_empty() {
            return false;
        }
        match &self.0 {
            Kind::Clear(clear) => clear.verify(password),
            Kind::Digest(digest) => digest.verify(password),
            Kind::Argon2(hash) => hash.verify(password, memory),
            Kind::Pbkdf2(hash) => hash.verify(password),
            Kind::Crypt(hash) => hash.verify(password),
            Kind::Bcrypt(hash) => hash.verify(password),
            Kind::Scram(keys) => keys.verify(password),
            // Its work is done. Without the time it comes to nothing.
            Kind::OneTime(stored) => {
                std::hint::black_box(stored.verify(split_code(password).0, memory));
                false
            }
        }
    }

    /// Does it ask for a one-time code besides? [`Stored::verify`] is never true of it then.
    pub fn is_one_time(&self) -> bool {
        matches!(self.0, Kind::OneTime(_))
    }

    /// Is it a word in the clear?
    pub fn is_clear(&self) -> bool {
        matches!(self.0, Kind::Clear(_))
    }

    /// About how many nanoseconds a verification takes on one core.
    pub fn cost_ns(&self) -> u64 {
        match &self.0 {
            Kind::Clear(_) => 100,
            Kind::Digest(_) => digest::COST_NS,
            Kind::Argon2(hash) => hash.cost_ns(),
            Kind::Pbkdf2(hash) => hash.cost_ns(),
            Kind::Crypt(hash) => hash.cost_ns(),
            Kind::Bcrypt(hash) => hash.cost_ns(),
            Kind::Scram(keys) => keys.cost_ns(),
            Kind::OneTime(stored) => stored.cost_ns(),
        }
    }

    /// May it be verified where requests are answered?
    pub fn is_fast(&self) -> bool {
        self.cost_ns() < FAST_NS
    }
}

/// Is a value a hash that a password can match? Each add of one is asked, so nothing is decoded of digests.
pub fn is_hash(value: &[u8]) -> bool {
    let Some((scheme, rest)) = split_scheme(value) else { return false };
    digest::named(scheme).is_some_and(|kind| digest::is_padded(kind, rest))
        || Stored::read(value).is_ok_and(|stored| !stored.is_clear())
}

/// A word in the clear is none that may stand behind a key: it would be in the log.
fn one_time(one_time: OneTime<'_>) -> Result<Kind<'_>, Fault> {
    let stored = Stored::read(one_time.stored).ok().filter(|stored| !stored.is_clear());
    stored.map(|stored| Kind::OneTime(Box::new(stored))).ok_or(one_time::FORM)
}

impl<'a> Kind<'a> {
    /// `None` if nobody knows the scheme.
    fn read(scheme: &str, rest: &'a [u8]) -> Option<Result<Kind<'a>, Fault>> {
        if let Some(algorithm) = digest::named(scheme.as_bytes()) {
            return Some(Digest::read(algorithm, rest).map(Kind::Digest));
        }
        if let Some(hash) = pbkdf2::read(scheme, rest) {
            return Some(hash.map(Kind::Pbkdf2));
        }
        if let Some(prf) = one_time::named(scheme) {
            return Some(OneTime::read(prf, rest).and_then(one_time));
        }
        Some(match scheme {
            "CLEARTEXT" | "CLEAR" if rest.is_empty() => Err(Fault::Malformed("a word")),
            "CLEARTEXT" | "CLEAR" => Ok(Kind::Clear(Clear(rest))),
            "ARGON2" => argon2::Hash::read(rest).map(Kind::Argon2),
            "CRYPT" => Crypt::read(rest).map(Kind::Crypt),
            "BCRYPT" => bcrypt::Hash::read(rest).map(Kind::Bcrypt),
            "SCRAM-SHA-256" => scram::Keys::read(Prf::Sha256, rest).map(Kind::Scram),
            "SCRAM-SHA-512" => scram::Keys::read(Prf::Sha512, rest).map(Kind::Scram),
            _ => return None,
        })
    }
}
