//! The time of a simulated world: it passes when the world says so, and the wall clock may be set.

use env::clock::Clock;

/// Where the wall clock begins: milliseconds of Unix time.
const BEGIN_MS: u64 = 1_760_000_000_000;

/// Both clocks of a simulated machine.
#[derive(Clone, Copy, Debug)]
pub struct SimClock {
    wall_ns: u64,
    monotonic_ns: u64,
}

impl Default for SimClock {
    fn default() -> SimClock {
        SimClock { wall_ns: BEGIN_MS * 1_000_000, monotonic_ns: 0 }
    }
}

impl SimClock {
    /// So much time passes.
    pub fn pass_ns(&mut self, ns: u64) {
        self.wall_ns += ns;
        self.monotonic_ns += ns;
    }

    /// Somebody sets the wall clock: forward by some milliseconds, or back.
    pub fn set_wall(&mut self, forward_ms: i64) {
        self.wall_ns = self.wall_ns.saturating_add_signed(forward_ms * 1_000_000);
    }

    /// Milliseconds of the clock that is never set.
    pub fn monotonic_ms(&self) -> u64 {
        self.monotonic_ns / 1_000_000
    }
}

impl Clock for SimClock {
    fn wall_ms(&self) -> u64 {
        self.wall_ns / 1_000_000
    }

    fn monotonic_ns(&self) -> u64 {
        self.monotonic_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_wall_clock_is_set() {
        let mut clock = SimClock::default();
        clock.pass_ns(3_000_000);
        clock.set_wall(-10);
        assert_eq!((clock.wall_ms(), clock.monotonic_ms()), (BEGIN_MS - 7, 3));
    }
}
