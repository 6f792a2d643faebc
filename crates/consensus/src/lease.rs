//! The time for which a leader answers reads without a question. It is for machines whose clock never stands still.
//!
//! A lease is counted from the sending of a question that the leader asked itself and that a majority answered: from then on each of them
//! keeps its [`crate::promise`], which is longer by more than clocks differ. What else followers say has neither a number nor
//! a time, so it renews nothing.

use crate::faults::{self, holes};
use crate::promise::PROMISE_MS;
use env::planted;
use std::sync::Arc;
use wal::Lease;

/// Milliseconds from the sending of a question until a lease ends.
const LEASE_MS: u64 = 800;
/// While reads come, a question is asked when so little is left.
const RENEWED_MS: u64 = 400;

const _: () = assert!(LEASE_MS < PROMISE_MS && RENEWED_MS < LEASE_MS);

/// A question that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    /// Questions are numbered.
    pub(crate) number: u64,
    /// When it was sent: no later than that.
    pub(crate) sent_ms: u64,
    /// The term in which it was.
    pub(crate) term: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct OwnLease {
    shared: Arc<Lease>,
    /// Are reads to be answered by it?
    is_wanted: bool,
    until_ms: u64,
    /// The term that it is of.
    term: u64,
    /// The last term that gives none any more: another replica was asked to lead in its place, and may do so at any time.
    forfeited: u64,
    /// Questions up to this number give none: other members count since.
    void: u64,
}

impl OwnLease {
    /// What those look at who read.
    pub(crate) fn shared(&self) -> Arc<Lease> {
        Arc::clone(&self.shared)
    }

    /// Whether reads are to be answered by it.
    pub(crate) fn want(&mut self, is_wanted: bool) {
        self.is_wanted = is_wanted;
    }

    /// A question was answered by a majority, in the term that this replica leads.
    pub(crate) fn renew(&mut self, question: Question) {
        if question.number <= self.void {
            return;
        }
        let until_ms = question.sent_ms + LEASE_MS;
        self.until_ms = if self.term == question.term { self.until_ms.max(until_ms) } else { until_ms };
        self.term = question.term;
    }

    /// Is it renewed though nobody waits? Somebody reads by it, and it ends soon.
    pub(crate) fn is_due(&self, now_ms: u64) -> bool {
        self.is_wanted && now_ms + RENEWED_MS >= self.until_ms && self.shared.take_used()
    }

    /// The members change: what questions up to `asked` bring is of others.
    pub(crate) fn on_members(&mut self, asked: u64) {
        (self.until_ms, self.void) = (0, asked);
    }

    /// Another replica is asked to lead, in the place of that of `term`.
    pub(crate) fn forfeit(&mut self, term: u64) {
        if !planted::is(faults::LEASE_OVER_TRANSFER) {
            self.forfeited = term;
        }
    }

    /// For a planted fault: nobody is asked to lead any more.
    pub(crate) fn forget_transfer(&mut self) {
        self.forfeited = 0;
    }

    /// Is one given in this term?
    pub(crate) fn is_given(&self, term: u64) -> bool {
        self.is_wanted && self.forfeited != term
    }

    /// Publishes it. `leads`: the term, if this replica leads and has applied all that others may know to be committed.
    pub(crate) fn publish(&self, leads: Option<u64>) {
        let holds = leads.is_some_and(|term| self.term == term && self.is_given(term));
        let until_ns = match planted::is(holes::LEASE_OVER_FREEZE) {
            true => u64::MAX,
            false => self.until_ms * 1_000_000,
        };
        self.shared.set(if holds { until_ns } else { 0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn question(number: u64, sent_ms: u64, term: u64) -> Question {
        Question { number, sent_ms, term }
    }

    #[test]
    fn it_is_counted_from_the_sending_and_is_of_one_term() {
        let (mut own, lease) = (OwnLease::default(), Arc::default());
        own.shared = Arc::clone(&lease);
        own.want(true);
        own.renew(question(2, 100, 3));
        own.renew(question(1, 50, 3));
        own.publish(Some(3));
        assert!(lease.holds(899 * MS) && !lease.holds(900 * MS));
        assert!(!own.is_due(499) && own.is_due(500) && !own.is_due(501), "nobody has read since");
        for leads in [None, Some(4)] {
            own.publish(leads);
            assert!(!lease.holds(0), "{leads:?}");
        }
        own.renew(question(3, 20, 4));
        own.publish(Some(4));
        assert!(lease.holds(819 * MS) && !lease.holds(820 * MS), "that of the former term is over");
        own.want(false);
        own.publish(Some(4));
        assert!(!lease.holds(0));
    }

    #[test]
    fn other_members_and_a_transfer_end_it() {
        let (mut own, lease) = (OwnLease::default(), Arc::default());
        own.shared = Arc::clone(&lease);
        own.want(true);
        own.renew(question(1, 100, 3));
        own.on_members(2);
        own.renew(question(2, 110, 3));
        own.publish(Some(3));
        assert!(!lease.holds(120 * MS), "both were asked before");
        own.renew(question(3, 120, 3));
        own.publish(Some(3));
        assert!(lease.holds(130 * MS));
        own.forfeit(3);
        own.renew(question(4, 130, 3));
        own.publish(Some(3));
        assert!(!lease.holds(140 * MS));
        own.renew(question(5, 140, 4));
        own.publish(Some(4));
        assert!(lease.holds(150 * MS), "another term");
    }
}
