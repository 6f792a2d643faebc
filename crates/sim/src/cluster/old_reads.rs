//! Reads where no majority answers, in worlds with `without-quorum = read`: they say how old what they have read may be.

use super::sent::Sent;
use super::{Cluster, SESSIONS, broken};
use crate::properties;
use crate::world::Violation;

/// Clocks of replicas differ by so many of 1,000 from that of the world, and an answer is taken a turn after it was given.
const RATE_OF_1000: u64 = 1_020;
const LATE_NS: u64 = 10_000_000;

/// What the counters of clients had been acknowledged to be, and since when.
#[derive(Default)]
pub(super) struct Floors(Vec<(u64, [u64; SESSIONS])>);

impl Floors {
    /// From now on they are these.
    pub(super) fn note(&mut self, now_ns: u64, floor: [u64; SESSIONS]) {
        if self.0.last().is_none_or(|(_, last)| *last != floor) {
            self.0.push((now_ns, floor));
        }
    }

    /// A counter was set to this: what was acknowledged before may be gone.
    pub(super) fn lower(&mut self, session: usize, count: u64) {
        let higher = self.0.iter_mut().rev().take_while(|(_, floor)| floor[session] > count);
        higher.for_each(|(_, floor)| floor[session] = count);
    }

    /// What they were at a moment.
    fn at(&self, ns: u64) -> [u64; SESSIONS] {
        self.0.iter().rev().find(|(since, _)| *since <= ns).map_or([0; SESSIONS], |(_, floor)| *floor)
    }
}

impl Cluster {
    /// What was read says how old it is, at a replica that may read so, and is no older.
    pub(super) fn look_at_age(
        &mut self,
        sent: &Sent,
        age_ms: Option<u64>,
        (of, value): (usize, u64),
    ) -> Result<(), Violation> {
        let to = self.replicas[sent.to].id;
        self.tally.old_reads += 1;
        let fault = match age_ms {
            _ if !self.reads_without_quorum() => "and nobody wants that".to_owned(),
            None => return Ok(()),
            Some(ms) => {
                let ns = (ms * 1_000_000).saturating_mul(RATE_OF_1000) / 1_000 + LATE_NS;
                // Answers of reads between updates wait for those of the updates. When they were read is not known, but not before they were sent.
                let read_ns = if sent.updates.is_empty() { self.now_ns } else { sent.at_ns };
                let floor = self.floors.at(read_ns.saturating_sub(ns))[of];
                if value >= floor {
                    return Ok(());
                }
                format!("and {floor} had been acknowledged by then")
            }
        };
        let what = format!(
            "the counter of client {of} was read as {value} at replica {to}, as of {age_ms:?} ms before, {fault}"
        );
        Err(broken(properties::AGE)(what))
    }

    /// Are reads answered where no majority answers?
    pub(super) fn reads_without_quorum(&self) -> bool {
        self.reads.without_quorum == dsa::reads::WithoutQuorum::Read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_acknowledged_at_a_moment_is_known_until_it_is_gone() {
        let mut floors = Floors::default();
        floors.note(10, [1, 0, 0]);
        floors.note(20, [3, 0, 0]);
        floors.note(25, [3, 0, 0]);
        floors.note(30, [3, 0, 2]);
        assert_eq!([9, 10, 29, 30].map(|ns| floors.at(ns)), [[0; 3], [1, 0, 0], [3, 0, 0], [3, 0, 2]]);
        floors.lower(0, 2);
        assert_eq!([10, 20, 30].map(|ns| floors.at(ns)), [[1, 0, 0], [2, 0, 0], [2, 0, 2]]);
    }
}
