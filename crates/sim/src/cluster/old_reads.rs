//! Reads where no majority answers, in worlds with `without-quorum = read`: they say how old what they have read may be.

use super::sent::Sent;
use super::{Cluster, broken};
use crate::properties;
use crate::world::Violation;

/// Clocks of replicas differ by so many of 1,000 from that of the world, and an answer is taken a turn after it was given.
const RATE_OF_1000: u64 = 1_020;
const LATE_NS: u64 = 10_000_000;

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
