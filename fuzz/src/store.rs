//! The store against the naive directory of its own tests, steered by the bytes.

#[path = "../../crates/store/tests/model/mod.rs"]
#[allow(dead_code, reason = "the random generator is for the store's own tests")]
mod naive;

use naive::generate::{Choices, Taste};
use naive::run::{Plan, run};

/// Choices taken from bytes; when they run out, the first of everything.
struct Bytes<'d>(&'d [u8]);

impl Choices for Bytes<'_> {
    fn below(&mut self, bound: usize) -> usize {
        let width = if bound > 256 { 2 } else { usize::from(bound > 1) };
        let (taken, rest) = self.0.split_at(width.min(self.0.len()));
        self.0 = rest;
        taken.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)) % bound.max(1)
    }
}

/// Carries out the operations that the bytes choose on both; outcomes, content and searches must agree.
pub fn check(data: &[u8]) {
    let plan = Plan {
        ops: (data.len() / 8).min(400),
        taste: Taste { names: 6, members: 80, long_one_in: 60 },
        entries: 12,
        content_every: 16,
        search_every: 4,
        kept: 2,
        indexed: false,
        changing: false,
    };
    if let Err(text) = run(&mut Bytes(data), plan) {
        panic!("{text}");
    }
}
