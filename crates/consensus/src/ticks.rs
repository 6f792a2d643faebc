//! When the core's clock goes on. A tick that was missed is forgotten: a replica that stood still must not catch up, or it would
//! take the time that it stood for time that it heard of no leader.

use crate::faults;
use env::entropy::{Entropy as _, SeededEntropy};
use env::planted;

/// Milliseconds of a tick.
pub(crate) const TICK_MS: u64 = 50;
/// Ticks between two heartbeats of a leader.
pub(crate) const HEARTBEAT_TICKS: usize = 2;
/// Ticks without a leader after which a replica wants to be it, at least.
pub(crate) const ELECTION_TICKS: usize = 20;
/// Ticks more, below this: by chance, so that replicas do not get up all at once.
pub(crate) const SPREAD_TICKS: usize = 10;

/// See the module.
#[derive(Debug)]
pub(crate) struct Ticks {
    last_ms: Option<u64>,
    /// Ticks without a leader after which this replica wants to lead.
    timeout: usize,
    /// Ticks without a leader when it was last looked.
    elapsed: usize,
    entropy: SeededEntropy,
}

impl Ticks {
    pub(crate) fn new(seed: u64) -> Ticks {
        let (last_ms, elapsed, entropy) = (None, 0, SeededEntropy::new(seed));
        let mut ticks = Ticks { last_ms, timeout: ELECTION_TICKS, elapsed, entropy };
        ticks.draw();
        ticks
    }

    fn draw(&mut self) {
        self.timeout = ELECTION_TICKS + (self.entropy.next_u64() % SPREAD_TICKS as u64) as usize;
    }

    /// Does the core get a tick?
    pub(crate) fn is_due(&mut self, now_ms: u64) -> bool {
        if self.last_ms.is_some_and(|last| now_ms < last + TICK_MS) {
            return false;
        }
        if planted::is(faults::TICK_DEBT) {
            let last_ms = self.last_ms.map_or(now_ms, |last_ms| last_ms + TICK_MS);
            return self.last_ms.replace(last_ms).is_some();
        }
        // The first call begins the time.
        self.last_ms.replace(now_ms).is_some()
    }

    /// Ticks after which this replica wants to lead, when so many have passed without a leader. Another number whenever they begin anew.
    pub(crate) fn timeout(&mut self, elapsed: usize) -> usize {
        if elapsed < self.elapsed {
            self.draw();
        }
        self.elapsed = elapsed;
        self.timeout
    }

    /// When the next tick is due.
    pub(crate) fn due_ms(&self) -> Option<u64> {
        self.last_ms.map(|last| last + TICK_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_that_were_missed_are_forgotten() {
        let mut ticks = Ticks::new(1);
        let times = [0, 10, 50, 60, 1000, 1010, 1050];
        assert_eq!(times.map(|now| ticks.is_due(now)), [false, false, true, false, true, false, true]);
        assert_eq!(ticks.due_ms(), Some(1100));
    }

    #[test]
    fn replicas_get_up_at_different_times() {
        let timeouts: std::collections::BTreeSet<usize> =
            (0..40).map(|seed| Ticks::new(seed).timeout(0)).collect();
        assert!(timeouts.len() > 5 && timeouts.iter().all(|ticks| (20..30).contains(ticks)), "{timeouts:?}");
        let mut ticks = Ticks::new(1);
        let first = ticks.timeout(7);
        assert_eq!(ticks.timeout(19), first);
        assert!(
            (0..20).any(|_| (ticks.timeout(5), ticks.timeout(0)).1 != first),
            "it changes when a leader is heard"
        );
    }
}
