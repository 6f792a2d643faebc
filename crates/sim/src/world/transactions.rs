//! Sessions that update by transactions: they read, begin, send their updates, and end, a step in each of their turns; others
//! have theirs in between.

use super::{SESSIONS, Violation, World};
use crate::clients::Transaction;
use crate::node::{Node, digest};
use crate::properties;
use crate::requests::{Bundle, Sent};
use env::planted::{self, Moment};
use model::Scope;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// What was seen beside transactions that were being carried out.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched(Rc<RefCell<Option<String>>>);

impl World {
    /// From now on whoever carries out a transaction is looked at between its updates: others see nothing of them.
    pub(super) fn watch(&mut self, node: &Node) {
        let (dsa, half) = (Arc::clone(&node.recovered.dsa), self.watched.clone());
        let before = Cell::new(0);
        planted::watch(Some(Rc::new(move |moment| {
            let now = digest(&dsa);
            match moment {
                Moment::TransactionBegins => before.set(now),
                Moment::UpdateDone if now != before.get() => {
                    half.0.replace(Some("after one of its updates it could be read".to_owned()));
                }
                Moment::UpdateDone => {}
            }
        })));
    }

    /// Was half of a transaction seen?
    pub(super) fn look_at_watched(&self) -> Result<(), Violation> {
        let property = properties::HALF;
        self.watched.0.take().map_or(Ok(()), |what| Err(Violation { property, what }))
    }

    /// A transaction of its own for what a workload must have there.
    pub(super) fn set_up_at_once(&mut self, node: &mut Node) {
        let mut bundle = Bundle::default();
        bundle.begin();
        self.clients.on_sent(0, &bundle);
        node.send(0, &bundle.bytes, &self.clock);
        let answers = node.answers(0);
        let _ = self.clients.on_answers(0, &answers, self.applied);
        let Some(Transaction { identifier, .. }) = self.clients.client_mut(0).transaction.take() else {
            return;
        };
        let mut bundle = Bundle { transaction: Some(identifier.clone()), ..Bundle::default() };
        self.workload.setup(&mut bundle);
        bundle.end(&identifier, true);
        self.oracle.on_sent(&bundle.members);
        node.send(0, &bundle.bytes, &self.clock);
    }

    /// The next thing that a session sends.
    pub(super) fn transact(&mut self, node: &mut Node, session: usize) -> Result<(), Violation> {
        let mut bundle = Bundle::default();
        match self.clients.client_mut(session).transaction.take() {
            None => {
                self.scan(&mut bundle);
                if self.random.chance(800) {
                    bundle.begin();
                }
            }
            Some(mut open) => {
                let is_begun = open.members.is_empty();
                if is_begun {
                    self.add_members(session, &mut open, &mut bundle);
                }
                if !is_begun || self.random.chance(400) {
                    self.end_transaction(&mut open, &mut bundle);
                } else {
                    self.scan(&mut bundle);
                }
                self.clients.client_mut(session).transaction = Some(open);
            }
        }
        bundle.read_counter(self.random.below(SESSIONS as u64) as usize);
        self.trace.note(format_args!("  session {session} sends {:?}", bundle.sent));
        self.clients.on_sent(session, &bundle);
        node.send(session, &bundle.bytes, &self.clock);
        self.take_answers(node, session)
    }

    fn scan(&self, bundle: &mut Bundle) {
        let (base, attribute) = self.workload.scanned();
        bundle.search(base, Scope::One, "(objectClass=*)", &[attribute], Sent::Scan);
    }

    fn add_members(&mut self, session: usize, open: &mut Transaction, bundle: &mut Bundle) {
        bundle.transaction = Some(open.identifier.clone());
        let client = self.clients.client_mut(session);
        client.counted += 1;
        open.count = client.counted;
        // First or last: of half a transaction the one or the other would be missing.
        let counts_first = self.random.chance(500);
        if counts_first {
            bundle.count(session, open.count, Sent::Member);
        }
        self.workload.transact(&client.scanned, &mut self.random, bundle);
        if !counts_first {
            bundle.count(session, open.count, Sent::Member);
        }
        open.members.clone_from(&bundle.members);
        bundle.transaction = None;
    }

    /// Commits it, or gives it up, and then tries to commit it.
    fn end_transaction(&mut self, open: &mut Transaction, bundle: &mut Bundle) {
        match self.random.below(16) {
            0 => bundle.end(&open.identifier, false),
            // Nothing is said of those that a bind aborts.
            1 => bundle.bind(),
            _ => {
                self.oracle.on_sent(&open.members);
                return bundle.end(&open.identifier, true);
            }
        }
        open.is_over = true;
        bundle.end(&open.identifier, true);
    }
}
