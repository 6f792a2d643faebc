//! When the core's clock goes on. A tick that was missed is forgotten: a replica that stood still must not catch up, or it would
//! take the time that it stood for time that it heard of no leader.

use env::entropy::{Entropy as _, SeededEntropy};

/// Milliseconds of a tick.
pub(crate) const TICK_MS: u64 = 50;
/// Ticks between two heartbeats of a leader.
pub(crate) const HEARTBEAT_TICKS: usize = 2;
/// Ticks without a leader after which a replica wants to be it, at least.
pub(crate) const ELECTION_TICKS: usize = 20;
/// Ticks more, at most: by chance, so that replicas do not get up all at once.
const SPREAD_TICKS: u64 = 10;

/// See the module.
#[derive(Debug)]
pub(crate) struct Ticks {
    last_ms: Option<u64>,
    /// Ticks that are kept from the core before it wants to lead.
    withheld: u64,
    entropy: SeededEntropy,
}

impl Ticks {
    pub(crate) fn new(seed: u64) -> Ticks {
        let mut ticks = Ticks { last_ms: None, withheld: 0, entropy: SeededEntropy::new(seed) };
        ticks.draw();
        ticks
    }

    fn draw(&mut self) {
        self.withheld = self.entropy.next_u64() % SPREAD_TICKS;
    }

    /// Does the core get a tick? `elapsed` is what it counts since it last heard of a leader, `None` if it leads.
    pub(crate) fn is_due(&mut self, now_ms: u64, elapsed: Option<usize>) -> bool {
        if self.last_ms.is_some_and(|last| now_ms < last + TICK_MS) {
            return false;
        }
        // The first call begins the time.
        let is_first = self.last_ms.replace(now_ms).is_none();
        if is_first {
            return false;
        }
        let gets_up = elapsed.is_some_and(|elapsed| elapsed + 1 >= ELECTION_TICKS);
        if gets_up && self.withheld > 0 {
            self.withheld -= 1;
            return false;
        }
        if gets_up {
            self.draw();
        }
        true
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
        let due: Vec<bool> = times.iter().map(|now| ticks.is_due(*now, None)).collect();
        assert_eq!(due, [false, false, true, false, true, false, true]);
        assert_eq!(ticks.due_ms(), Some(1100));
    }

    #[test]
    fn replicas_get_up_at_different_times() {
        let got_up = |seed| {
            let (mut ticks, mut elapsed) = (Ticks::new(seed), 0);
            let ms = (0..).map(|tick| tick * TICK_MS).find(|now| {
                elapsed += usize::from(ticks.is_due(*now, Some(elapsed)));
                elapsed == ELECTION_TICKS
            });
            ms.unwrap()
        };
        let times: std::collections::BTreeSet<u64> = (0..40).map(got_up).collect();
        assert!(times.len() > 5, "{times:?}");
        assert!(times.iter().all(|ms| (1000..=1450).contains(ms)), "{times:?}");
    }
}
