//! A disk whose syncs take as long as those of other machines.

use env::poll::pause;
use sim::hooked::{Hook, Operation};
use sim::random::Random;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Microseconds that a slow sync takes besides what it takes here, at most.
const SLOW_US: u64 = 8_000;
/// Of 1,000 syncs, those that are slow.
const SLOW: u64 = 600;

/// See the module. What is cut between a write and its sync is found by no test whose syncs take no time.
#[derive(Debug)]
pub(crate) struct Slow(Mutex<Random>);

impl Slow {
    pub(crate) fn new(seed: u64) -> Slow {
        Slow(Mutex::new(Random::new(seed)))
    }
}

impl Hook for Slow {
    fn around(&self, operation: Operation<'_>, work: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        if let Operation::Sync(_) = operation {
            let us = {
                let mut random = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                if random.chance(SLOW) { random.below(SLOW_US) } else { 0 }
            };
            pause(Duration::from_micros(us));
        }
        work()
    }
}
