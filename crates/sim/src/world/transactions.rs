//! Sessions that update by transactions: they read, begin, send their updates, and end, a step in each of their turns; others
//! have theirs in between.

use super::{SESSIONS, Violation, World};
use crate::clients::Transaction;
use crate::node::{Node, digest};
use crate::properties;
use crate::requests::Bundle;
use env::planted;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// Precedence that sessions may have.
const RANKS: [u8; 4] = [0, 0, 3, 9];
/// Of 1,000 turns of a session, those that it looks for notices, and updates by itself.
const NOTICES_OF_1000: u64 = 100;
const UPDATES_OF_1000: u64 = 250;

/// What was seen beside transactions that were being applied.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched(Rc<RefCell<Option<String>>>);

impl World {
    /// From now on the one that applies a transaction is looked at between its updates: others see nothing of them.
    pub(super) fn watch(&mut self, node: &Node) {
        let (dsa, half) = (Arc::clone(&node.recovered.dsa), self.watched.clone());
        let before = Cell::new(0);
        planted::watch(Some(Rc::new(move |moment| {
            let now = digest(&dsa);
            if moment == dsa::faults::TRANSACTION_BEGINS {
                before.set(now);
            } else if moment == store::faults::UPDATE_DONE && now != before.get() {
                half.0.replace(Some("after one of its updates it could be read".to_owned()));
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
        let _ = self.clients.on_answers(0, &answers, (self.applied, false));
        let Some(Transaction { identifier, .. }) = self.clients.client_mut(0).transaction.take() else {
            return;
        };
        let mut bundle = Bundle { transaction: Some(identifier.clone()), ..Bundle::default() };
        self.workload.setup(&mut bundle);
        bundle.end(&identifier, true);
        self.oracle.on_sent(&bundle.members);
        node.send(0, &bundle.bytes, &self.clock);
    }

    /// In some worlds sessions have precedence over others, as this incarnation says.
    pub(super) fn rank(&mut self, node: &mut Node) {
        let mut ranks = [0; SESSIONS];
        if self.has_ranks {
            for (session, rank) in ranks.iter_mut().enumerate() {
                *rank = *self.random.one_of(&RANKS);
                node.rank(session, *rank);
            }
            self.trace.note(format_args!("  sessions have the precedence {ranks:?}"));
        }
        self.precedence.begin(&ranks);
    }

    /// The next thing that a session sends.
    pub(super) fn transact(&mut self, node: &mut Node, session: usize) -> Result<(), Violation> {
        if self.random.chance(NOTICES_OF_1000) {
            node.notices(session, &self.clock);
            return self.take_answers(node, session);
        }
        let mut bundle = Bundle::default();
        let open = self.clients.client_mut(session).transaction.take();
        if self.random.chance(UPDATES_OF_1000) {
            let may_count = open.as_ref().is_none_or(|open| open.members.is_empty());
            self.clients.client_mut(session).transaction = open;
            self.update_alone(session, may_count, &mut bundle);
            return self.send_bundle(node, session, bundle);
        }
        match open {
            None => {
                self.workload.scan(&mut bundle);
                if self.random.chance(800) {
                    bundle.begin();
                }
            }
            Some(mut open) => {
                let is_begun = open.members.is_empty();
                if is_begun {
                    let client = (session, self.clients.client_mut(session));
                    self.workload.add_members(client, &mut self.random, &mut open, &mut bundle);
                }
                if !is_begun || self.random.chance(400) {
                    self.end_transaction(session, &mut open, &mut bundle);
                } else {
                    self.workload.scan(&mut bundle);
                }
                self.clients.client_mut(session).transaction = Some(open);
            }
        }
        self.send_bundle(node, session, bundle)
    }

    fn send_bundle(&mut self, node: &mut Node, session: usize, mut bundle: Bundle) -> Result<(), Violation> {
        bundle.read_counter(self.random.below(SESSIONS as u64) as usize);
        self.trace.note(format_args!("  session {session} sends {:?}", bundle.sent));
        self.clients.on_sent(session, &bundle);
        self.precedence.on_sent(session, &bundle);
        node.send(session, &bundle.bytes, &self.clock);
        self.take_answers(node, session)
    }

    /// An update that belongs to no transaction; then the session's counter, unless its transaction is to set that.
    fn update_alone(&mut self, session: usize, may_count: bool, bundle: &mut Bundle) {
        self.workload.update(&self.clients.client(session).scanned, &mut self.random, bundle);
        let first = bundle.updates.len();
        if may_count {
            self.clients.count(session, bundle);
        }
        // The first may be refused at once, and the other not.
        let parts = [&bundle.updates[..], &bundle.updates[..first], &bundle.updates[first..]];
        parts.into_iter().filter(|part| !part.is_empty()).for_each(|part| self.oracle.on_sent(part));
        self.workload.scan(bundle);
    }

    /// Commits it, or gives it up, and then tries to commit it.
    fn end_transaction(&mut self, session: usize, open: &mut Transaction, bundle: &mut Bundle) {
        match self.random.below(16) {
            0 => bundle.end(&open.identifier, false),
            // Nothing is said of those that a bind aborts.
            1 => bundle.bind(),
            _ => {
                if self.group.is_some() || !self.precedence.is_over(session) {
                    self.oracle.on_sent(&open.members);
                }
                return bundle.end(&open.identifier, true);
            }
        }
        open.is_over = true;
        bundle.end(&open.identifier, true);
    }
}
