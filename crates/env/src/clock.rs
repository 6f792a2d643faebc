//! Time: read once per bundle by the server and handed down as a value, so that nothing below asks for it.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// One reading of both clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Unix time in milliseconds. May jump when the machine's clock is set.
    pub wall_ms: u64,
    /// Nanoseconds from an arbitrary start. Never goes back; only differences mean anything.
    pub monotonic_ns: u64,
}

/// Where the time comes from.
pub trait Clock {
    /// Unix time in milliseconds.
    fn wall_ms(&self) -> u64;

    /// Nanoseconds from an arbitrary start of this clock, never going back.
    fn monotonic_ns(&self) -> u64;

    /// Both readings.
    fn now(&self) -> Now {
        Now { wall_ms: self.wall_ms(), monotonic_ns: self.monotonic_ns() }
    }
}

/// The clocks of the operating system. All of a process share their start, so that times can be handed from one thread to another.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// A clock; the monotonic part of the first one starts at 0.
    pub fn start() -> SystemClock {
        static START: OnceLock<Instant> = OnceLock::new();
        SystemClock { start: *START.get_or_init(Instant::now) }
    }
}

impl Clock for SystemClock {
    fn wall_ms(&self) -> u64 {
        // Before 1970 counts as 1970: a wrong clock must not end the server.
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_millis() as u64
    }

    fn monotonic_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_does_not_go_back() {
        let clock = SystemClock::start();
        let readings: Vec<u64> = (0..1000).map(|_| clock.monotonic_ns()).collect();
        assert!(readings.is_sorted());
    }

    #[test]
    fn wall_time_is_after_this_was_written() {
        assert!(SystemClock::start().now().wall_ms > 1_760_000_000_000);
    }
}
