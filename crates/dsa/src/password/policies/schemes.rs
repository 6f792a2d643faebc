//! The schemes by which new passwords are stored, as one number that threads read without a lock: each bind with a password asks for them.

use ::password::Scheme;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bits of one scheme in the number: its place in [`Scheme::ALL`], from 1.
const BITS: u32 = 4;

const _: () = assert!(Scheme::ALL.len() < 1 << BITS && Scheme::ALL.len() * (BITS as usize) <= 64);

/// Schemes, each once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schemes {
    all: [Scheme; Scheme::ALL.len()],
    count: usize,
}

impl Deref for Schemes {
    type Target = [Scheme];

    fn deref(&self) -> &[Scheme] {
        &self.all[..self.count]
    }
}

/// Those that are in force.
/// A reader has all of one choice: there is one number. 0 is none, so a list ends where no bits are left.
#[derive(Debug)]
pub(crate) struct SchemesInForce(AtomicU64);

impl SchemesInForce {
    /// In force as they were chosen: one at least, each once.
    pub(crate) fn new(schemes: &[Scheme]) -> SchemesInForce {
        SchemesInForce(AtomicU64::new(number(schemes)))
    }

    /// Puts others in force, for the next password.
    /// Relaxed: a bind at the same moment may read the former ones.
    pub(crate) fn put(&self, schemes: &[Scheme]) {
        self.0.store(number(schemes), Ordering::Relaxed);
    }

    /// Those of now, in the order of the choice.
    /// No allocation: a bind with a password has one.
    pub(crate) fn now(&self) -> Schemes {
        let mut schemes = Schemes { all: [Scheme::default(); Scheme::ALL.len()], count: 0 };
        let mut number = self.0.load(Ordering::Relaxed);
        while number != 0 {
            let place = (number & ((1 << BITS) - 1)) as usize - 1;
            schemes.all[schemes.count] = Scheme::ALL[place].1;
            (schemes.count, number) = (schemes.count + 1, number >> BITS);
        }
        schemes
    }
}

/// The first has the lowest bits.
/// More than there are would be one that is there twice, which the parser refuses.
fn number(schemes: &[Scheme]) -> u64 {
    assert!(schemes.len() <= Scheme::ALL.len(), "each is there once");
    let place = |scheme: &Scheme| Scheme::ALL.iter().position(|(_, other)| other == scheme).unwrap_or(0);
    schemes.iter().rev().fold(0, |number, scheme| number << BITS | (place(scheme) as u64 + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back_in_their_order() {
        let all: Vec<Scheme> = Scheme::ALL.iter().map(|(_, scheme)| *scheme).collect();
        let in_force = SchemesInForce::new(&all);
        assert_eq!(in_force.now()[..], all);
        for list in [&[Scheme::Clear][..], &[Scheme::ScramSha256, Scheme::Argon2id], &[Scheme::Argon2id]] {
            in_force.put(list);
            assert_eq!(&in_force.now()[..], list);
        }
    }
}
