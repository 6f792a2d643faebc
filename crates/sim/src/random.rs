//! Chance, from one seed.

use env::entropy::{Entropy as _, SeededEntropy};

/// What decides everything that a simulated world leaves to chance.
#[derive(Clone, Debug)]
pub struct Random(SeededEntropy);

impl Random {
    /// The chances of `seed`.
    pub fn new(seed: u64) -> Random {
        Random(SeededEntropy::new(seed))
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.number() % n
    }

    /// True `of_1000` times of 1,000.
    pub fn chance(&mut self, of_1000: u64) -> bool {
        self.below(1000) < of_1000
    }

    /// One of `all`, which is not empty.
    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64) as usize]
    }
}
