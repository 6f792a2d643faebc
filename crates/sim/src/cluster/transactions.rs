//! Clients that update by transactions, each at one replica, whichever that is: they read, begin, send their updates, and end, a step in each of their
//! turns. Others have theirs in between, at the same replica or elsewhere.

use super::sent::Next;
use super::{Cluster, SESSIONS, broken};
use crate::clients::Transaction;
use crate::properties;
use crate::requests::Bundle;
use crate::world::Violation;

/// Of 1,000 turns of a client without a transaction, those in which it updates by itself; and of those that it ends, how many are given up.
const UPDATES_OF_1000: u64 = 250;
const GIVEN_UP_OF_1000: u64 = 120;

impl Cluster {
    /// The next thing that a client sends.
    pub(super) fn next_step(&mut self, session: usize) -> Next {
        let mut next = match self.clients.client_mut(session).transaction.take() {
            None if self.random.chance(UPDATES_OF_1000) => self.update_alone(session),
            None => {
                let mut next = Next::default();
                self.workload.scan(&mut next.bundle);
                if self.random.chance(800) {
                    next.bundle.begin();
                }
                next
            }
            Some(open) => self.go_on_with(session, open),
        };
        next.bundle.read_counter(self.random.below(SESSIONS as u64) as usize);
        next
    }

    fn go_on_with(&mut self, session: usize, mut open: Transaction) -> Next {
        let mut next = Next::default();
        let is_begun = open.members.is_empty();
        if is_begun {
            let client = (session, self.clients.client_mut(session));
            self.workload.add_members(client, &mut self.random, &mut open, &mut next.bundle);
        }
        if !is_begun || self.random.chance(400) {
            self.end_transaction(&mut open, &mut next);
        } else {
            self.workload.scan(&mut next.bundle);
        }
        self.clients.client_mut(session).transaction = Some(open);
        next
    }

    /// An update that belongs to no transaction, and the client's counter.
    fn update_alone(&mut self, session: usize) -> Next {
        let mut bundle = Bundle::default();
        self.workload.update(&self.clients.client(session).scanned, &mut self.random, &mut bundle);
        let first = bundle.updates.len();
        self.clients.count(session, &mut bundle);
        let decided_by = Some(bundle.sent.len());
        // The first may be refused at once, and the other not.
        let (alone, whole) = (bundle.updates[first..].to_vec(), bundle.updates.clone());
        self.oracle.on_sent(&bundle.updates[..first]);
        let updates = if first > 0 { vec![whole, alone] } else { vec![whole] };
        let count = self.clients.client(session).counted;
        self.workload.scan(&mut bundle);
        Next { bundle, updates, counts: (count, count), decided_by, setting: None }
    }

    /// Commits it, or gives it up, and then tries to commit it.
    fn end_transaction(&mut self, open: &mut Transaction, next: &mut Next) {
        let Next { bundle, updates, counts, decided_by, .. } = next;
        if self.random.chance(GIVEN_UP_OF_1000) {
            match self.random.chance(500) {
                true => bundle.end(&open.identifier, false),
                // Nothing is said of those that a bind aborts.
                false => bundle.bind(),
            }
            open.is_over = true;
            return bundle.end(&open.identifier, true);
        }
        bundle.end(&open.identifier, true);
        *decided_by = Some(bundle.sent.len());
        updates.push(open.members.clone());
        *counts = (open.count, open.count);
    }

    /// A client whose server may have given its transaction up looks for a notice of that.
    pub(super) fn take_notices(&mut self, at: usize, session: usize) {
        let replica = &mut self.replicas[at];
        let is_idle = self.sent[session].is_none();
        let Some(node) = replica.node.as_mut().filter(|node| is_idle && !node.waits(session)) else { return };
        node.notices(session, &replica.clock);
        let notices = node.answers(session);
        if !notices.is_empty() {
            self.trace.note(format_args!("  client {session} gets {notices:?}"));
            let taken = self.clients.on_answers(session, &notices, (0, false));
            assert_eq!(taken, Ok(()), "a notice says nothing of what was read");
        }
    }

    /// What a client reads at once was there at one moment.
    pub(super) fn look_at_scans(&mut self, session: usize) -> Result<(), Violation> {
        let scans = self.clients.client_mut(session).take_scans();
        scans.iter().try_for_each(|scan| self.workload.look(scan)).map_err(broken(properties::SNAPSHOT))
    }
}
