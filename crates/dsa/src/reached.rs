//! Limits of requesters that a thread's clients have reached and that are still to be reported. Limits that rules give are reached by ordinary requests, so
//! a thread keeps them to itself, and reports them once a second.

use crate::monitor::Counters;
use crate::refusals::{Limit, Refusals};
use env::net::PeerAddress;
use std::net::IpAddr;

/// What is kept apart between two reports. With more a report comes at once.
const KEPT_MAX: usize = 64;

/// What is to be reported.
#[derive(Debug, Default)]
pub(crate) struct ReachedHere {
    /// What the thread had counted when it was looked at last: of all limits, and of each.
    seen: (u64, [u64; Limit::OF_REQUESTERS.len()]),
    kept: Vec<(Limit, Option<IpAddr>, u64)>,
}

impl ReachedHere {
    /// Looks whether a limit was reached since the last look, by this client.
    #[inline]
    pub(crate) fn look(&mut self, counters: &Counters, client: Option<PeerAddress>, refusals: &Refusals) {
        if counters.limited_in_all() != self.seen.0 {
            self.keep(counters, client, refusals);
        }
    }

    #[cold]
    fn keep(&mut self, counters: &Counters, client: Option<PeerAddress>, refusals: &Refusals) {
        self.seen.0 = counters.limited_in_all();
        let address = client.and_then(PeerAddress::block);
        for (limit, seen) in Limit::OF_REQUESTERS.into_iter().zip(&mut self.seen.1) {
            let now = counters.reached(limit);
            let count = now - std::mem::replace(seen, now);
            match self.kept.iter_mut().find(|(other, from, _)| (*other, *from) == (limit, address)) {
                Some((_, _, kept)) => *kept += count,
                None if count > 0 => self.kept.push((limit, address, count)),
                None => {}
            }
        }
        if self.kept.len() >= KEPT_MAX {
            self.report(refusals);
        }
    }

    /// Reports what is kept.
    pub(crate) fn report(&mut self, refusals: &Refusals) {
        self.kept.drain(..).for_each(|(limit, address, count)| refusals.report(limit, address, count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    #[test]
    fn what_a_client_has_reached_is_reported_once() {
        let (counters, refusals, mut here) =
            (Counters::default(), Refusals::default(), ReachedHere::default());
        let client = |last| Some(SocketAddr::from(([10, 0, 0, last], 1)).into());
        counters.limited(Limit::Size);
        counters.limited(Limit::Size);
        here.look(&counters, client(1), &refusals);
        here.look(&counters, client(2), &refusals);
        counters.limited(Limit::Rate);
        here.look(&counters, client(2), &refusals);
        counters.limited(Limit::Size);
        here.look(&counters, client(1), &refusals);
        assert!(refusals.take(1).is_empty(), "the thread has it");
        here.report(&refusals);
        let reported: Vec<_> = refusals.take(1).iter().map(|one| (one.limit, one.count)).collect();
        assert_eq!(reported, [(Limit::Size, 3), (Limit::Rate, 1)]);
        here.report(&refusals);
        assert!(refusals.take(u64::MAX / 2).is_empty());
    }
}
