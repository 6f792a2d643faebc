//! `{CRYPT}`: what crypt(3) writes, in the forms that are still safe or still met. DES, `*` and all else match nothing.

mod fields;
pub(crate) mod md5;
pub(crate) mod sha;
pub(crate) mod yescrypt;

use crate::bcrypt;
use crate::refused::Fault;

/// A value that was read.
pub(crate) enum Crypt {
    Md5(md5::Hash),
    Sha(sha::Hash),
    Bcrypt(bcrypt::Hash),
    Yescrypt(yescrypt::Hash),
}

impl Crypt {
    pub(crate) fn read(rest: &[u8]) -> Result<Crypt, Fault> {
        match rest {
            [b'$', b'1', b'$', ..] => md5::Hash::read(rest).map(Crypt::Md5),
            [b'$', b'5' | b'6', b'$', ..] => sha::Hash::read(rest).map(Crypt::Sha),
            [b'$', b'2', ..] => bcrypt::Hash::read(rest).map(Crypt::Bcrypt),
            [b'$', b'y', b'$', ..] => yescrypt::Hash::read(rest).map(Crypt::Yescrypt),
            _ => Err(Fault::Malformed("$1$, $5$, $6$, $2a$, $2b$, $2x$, $2y$ or $y$")),
        }
    }

    pub(crate) fn cost_ns(&self) -> u64 {
        match self {
            Crypt::Md5(_) => md5::COST_NS,
            Crypt::Sha(hash) => hash.cost_ns(),
            Crypt::Bcrypt(hash) => hash.cost_ns(),
            Crypt::Yescrypt(hash) => hash.cost_ns(),
        }
    }

    /// A password with a NUL is none here: crypt(3) takes words of C, which end there.
    pub(crate) fn verify(&self, password: &[u8]) -> bool {
        let is_right = match self {
            Crypt::Md5(hash) => hash.verify(password),
            Crypt::Sha(hash) => hash.verify(password),
            Crypt::Bcrypt(hash) => hash.verify(password),
            Crypt::Yescrypt(hash) => hash.verify(password),
        };
        is_right && !password.contains(&0)
    }
}
