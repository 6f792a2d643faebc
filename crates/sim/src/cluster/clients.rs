//! What clients do: each sends updates and reads to one replica after the other. What it reads has all that was acknowledged to
//! anybody before it asked.

use super::sent::{Next, Sent};
use super::{Cluster, SESSIONS, broken};
use crate::answers::{Answer, Attributes};
use crate::properties;
use crate::requests::{Bundle, COUNTER, counter_dn};
use crate::view::View;
use crate::world::Violation;
use model::ResultCode;
use std::collections::BTreeSet;

/// Steps within which a replica of a cluster in which all is well answers one that reads everything.
const READ_WITHIN: usize = 3_000;

impl Cluster {
    /// A client that waits for nothing sends what comes next, to any replica; while it has a transaction, to the one that has it.
    pub(super) fn client_sends(&mut self) -> Result<(), Violation> {
        let session = self.random.below(SESSIONS as u64) as usize;
        let to = match self.leader().filter(|_| self.random.chance(300)) {
            Some(leader) => leader,
            None => self.random.below(self.replicas.len() as u64) as usize,
        };
        let is_open = self.clients.client(session).transaction.is_some();
        let to = if is_open { self.homes[session] } else { to };
        let replica = &mut self.replicas[to];
        if self.sent[session].is_some() || replica.takes_pause() {
            return Ok(());
        }
        let (id, clock) = (replica.id, replica.clock);
        let Some(node) = replica.node.as_mut().filter(|node| !node.waits(session)) else { return Ok(()) };
        if !node.is_bound(session) {
            let mut bind = Bundle::default();
            bind.bind();
            node.send(session, &bind.bytes, &clock);
            // By a lease it is answered at once: that is no answer to what is sent next.
            return self.take_answers(to, session);
        }
        if is_open {
            self.take_notices(to, session);
        }
        let next = match if is_open { None } else { self.settings.next() } {
            Some(next) => next,
            None if self.workload.has_transactions() => self.next_step(session),
            None => self.next_bundle(session),
        };
        self.trace.note(format_args!("  client {session} sends {:?} to replica {id}", next.bundle.sent));
        self.send(to, session, next)
    }

    fn send(&mut self, to: usize, session: usize, next: Next) -> Result<(), Violation> {
        let Next { bundle, updates, counts, decided_by, setting } = next;
        self.homes[session] = to;
        self.clients.on_sent(session, &bundle);
        bundle.before_parts.iter().chain(&updates).for_each(|updates| self.oracle.on_sent(updates));
        for updates in updates.iter().filter(|updates| !updates.is_empty()) {
            self.counts.insert(updates.clone(), (session, counts));
        }
        let floor = (0..SESSIONS).map(|of| self.acknowledged_of(of)).collect();
        let only_reads = bundle.updates.is_empty();
        self.sent[session] = Some(Sent {
            to,
            at_ns: self.now_ns,
            updates,
            count: counts.1,
            decided_by,
            setting,
            last: bundle.sent.len(),
            floor,
            settings_floor: self.settings.floor(),
            answers: Vec::new(),
        });
        let replica = &mut self.replicas[to];
        if let Some(node) = &mut replica.node {
            node.send(session, &bundle.bytes, &replica.clock);
            self.tally.by_lease += u64::from(only_reads && !node.waits(session));
        }
        self.take_answers(to, session)
    }

    /// Updates, reads, or both, in one order or the other, or one between the other.
    fn next_bundle(&mut self, session: usize) -> Next {
        let mut bundle = Bundle::default();
        let (updates, reads_before, reads_after) = match self.random.below(10) {
            0..=4 => (true, false, false),
            5..=6 => (false, true, false),
            7..=8 => (true, false, true),
            _ => (true, true, false),
        };
        let read_all = |bundle: &mut Bundle| (0..SESSIONS).for_each(|of| bundle.read_counter(of));
        if reads_before {
            let counted = self.clients.client(session).counted;
            (0..SESSIONS).for_each(|of| match updates && of == session {
                // In front of an update of it.
                true => bundle.read_own(session, counted),
                false => bundle.read_counter(of),
            });
        }
        let mut counts = (0, 0);
        let mut decided_by = None;
        if updates {
            self.workload.start(session, &mut self.random, &mut bundle);
            counts.0 = self.clients.client(session).counted + 1;
            let more = match self.workload.counts_at_most() {
                1 => 0,
                most => self.random.below(most),
            };
            for _ in 0..more {
                self.clients.count(session, &mut bundle);
                bundle.read_own(session, self.clients.client(session).counted);
                bundle.read_counter(self.random.below(SESSIONS as u64) as usize);
            }
            self.clients.count(session, &mut bundle);
            counts.1 = self.clients.client(session).counted;
            decided_by = Some(bundle.sent.len());
        }
        if reads_after {
            bundle.read_own(session, self.clients.client(session).counted);
            read_all(&mut bundle);
        }
        let updates = if updates { vec![bundle.updates.clone()] } else { Vec::new() };
        Next { bundle, updates, counts, decided_by, setting: None }
    }

    /// What a client's counter is known to have come to.
    fn acknowledged_of(&self, session: usize) -> u64 {
        self.clients.client(session).acknowledged.values().max().copied().unwrap_or(0)
    }

    /// The log has set the counter of a client, to one value after the other. If it was higher before, no read need see that.
    pub(super) fn on_counted(&mut self, session: usize, (count, last): (u64, u64)) {
        self.counters[session] = last;
        self.floors.lower(session, count);
        self.clients.client_mut(session).acknowledged.retain(|_, acknowledged| *acknowledged <= count);
        for other in 0..SESSIONS {
            let read = self.clients.client_mut(other).read.entry(session).or_default();
            *read = (*read).min(count);
            if let Some(sent) = &mut self.sent[other] {
                sent.floor[session] = sent.floor[session].min(count);
            }
        }
    }

    /// A replica that leads, as far as it knows.
    fn leader(&self) -> Option<usize> {
        self.replicas
            .iter()
            .position(|replica| replica.node.as_ref().is_some_and(|node| node.recovered.committer.leads()))
    }

    /// A client takes the answers that it got from a replica.
    pub(super) fn take_answers(&mut self, at: usize, session: usize) -> Result<(), Violation> {
        let Some(node) = &mut self.replicas[at].node else { return Ok(()) };
        let answers = node.answers(session);
        if answers.is_empty() {
            return Ok(());
        }
        self.trace.note(format_args!("  client {session} gets {answers:?}"));
        // What is acknowledged is committed, though the replica may not have applied it.
        let committed = self.ledger.last();
        let Some(sent) = self.sent[session].as_mut().filter(|sent| sent.to == at) else { return Ok(()) };
        sent.answers.extend(answers);
        let Some(last) = sent.code_of(sent.last) else { return Ok(()) };
        let Some(mut sent) = self.sent[session].take() else { return Ok(()) };
        if let Some(decided_by) = sent.decided_by {
            self.on_outcome(session, committed, decided_by, &mut sent)?;
        }
        self.settings.look_at(&sent).map_err(broken(properties::SETTINGS))?;
        let is_read = last == ResultCode::Success && sent.decided_by != Some(sent.last);
        self.tally.barriers += u64::from(is_read);
        let aged = self.look_at_counters(session, &sent)?;
        let is_behind = self.counters[session] < sent.count;
        let is_unknown =
            sent.decided_by.and_then(|decided_by| sent.code_of(decided_by)) == Some(ResultCode::Unavailable);
        // What it had sent before, and got no answer to, has come behind it; and what is old tells nothing of what is now. Reads between updates of unknown
        // outcome see whatever of these has come by then.
        sent.answers.retain(|answer| match answer {
            Answer::Entry(id, dn, _) => counted_by(dn)
                .is_none_or(|of| !(is_behind || aged.contains(id) || is_unknown && of == session)),
            _ => true,
        });
        // First those of its own session, which have a name of their own.
        let checked = self.clients.on_answers(session, &sent.answers, (committed, false));
        checked.map_err(|(property, what)| Violation { property, what })?;
        self.on_counted(session, (self.counters[session], self.counters[session]));
        self.look_at_current(session, &sent)?;
        self.note_floors();
        self.look_at_scans(session)
    }

    /// A client learns what became of its updates.
    fn on_outcome(
        &mut self,
        session: usize,
        committed: u64,
        decided_by: usize,
        sent: &mut Sent,
    ) -> Result<(), Violation> {
        match sent.code_of(decided_by) {
            Some(ResultCode::Success) => {
                self.tally.acknowledged += 1;
                self.promised = self.promised.max(committed);
            }
            Some(ResultCode::Busy) => {
                if sent.updates.iter().any(|updates| self.logged.contains(updates)) {
                    let what =
                        format!("client {session} had the answer that nothing was changed, and it was");
                    return Err(broken(properties::VOID)(what));
                }
                self.refused.extend(std::mem::take(&mut sent.updates));
            }
            // A transaction that was judged, and comes to nothing.
            Some(code) if code != ResultCode::Unavailable && self.workload.has_transactions() => {}
            Some(_) => self.tally.unknown += 1,
            None => {
                let what = format!("client {session} got no answer to its update: {:?}", sent.answers);
                return Err(broken("a bundle is answered as a whole")(what));
            }
        }
        Ok(())
    }

    /// Reads see what the log has given. Returns the messages that have read something old, as they say.
    fn look_at_counters(&mut self, session: usize, sent: &Sent) -> Result<BTreeSet<usize>, Violation> {
        let mut aged = BTreeSet::new();
        for answer in &sent.answers {
            let Answer::Entry(id, dn, attributes) = answer else { continue };
            let Some(of) = counted_by(dn) else { continue };
            let value = counter_in(attributes);
            if value != 0 && !self.counted.contains(&(of, value)) {
                let to = self.replicas[sent.to].id;
                let what = format!(
                    "client {session} read {value} at replica {to} from the counter of client {of}, which the log never set to that"
                );
                return Err(broken(properties::UNCOMMITTED)(what));
            }
            if let Some(age_ms) = sent.age_of(*id) {
                aged.insert(*id);
                self.look_at_age(sent, age_ms, (of, value))?;
            }
        }
        Ok(aged)
    }

    /// Reads see what was acknowledged before they were sent.
    fn look_at_current(&self, session: usize, sent: &Sent) -> Result<(), Violation> {
        for answer in &sent.answers {
            let Answer::Entry(_, dn, attributes) = answer else { continue };
            let value = counter_in(attributes);
            if let Some(of) = counted_by(dn)
                && value < sent.floor[of]
            {
                let (floor, to) = (sent.floor[of], self.replicas[sent.to].id);
                let what = format!(
                    "client {session} read {value} at replica {to} from the counter of client {of}, which had been acknowledged {floor}"
                );
                return Err(broken(properties::CURRENT)(what));
            }
        }
        Ok(())
    }

    /// What is acknowledged now is to be read for ever.
    fn note_floors(&mut self) {
        let floor = std::array::from_fn(|of| self.acknowledged_of(of));
        self.floors.note(self.now_ns, floor);
    }

    /// What a client reads at a replica of a cluster in which all is well, and nothing else is sent.
    pub(super) fn read_everything(&mut self, at: usize) -> Result<View, Violation> {
        for _ in 0..READ_WITHIN {
            let clock = self.replicas[at].clock;
            let Some(node) = &mut self.replicas[at].node else { break };
            if !node.waits(SESSIONS) {
                // That to a bind before.
                node.answers(SESSIONS);
                let is_bound = node.is_bound(SESSIONS);
                let answers = match is_bound {
                    true => node.read_all(SESSIONS, &clock),
                    false => {
                        let mut bind = Bundle::default();
                        bind.bind();
                        node.ask(SESSIONS, &bind, &clock)
                    }
                };
                if is_bound && !node.waits(SESSIONS) {
                    // By a lease.
                    return View::of(answers).map_err(broken("a client can read everything"));
                }
            }
            while self.replicas[at].node.as_ref().is_some_and(|node| node.waits(SESSIONS)) {
                self.pass_time();
                let other = self.random.below(self.replicas.len() as u64) as usize;
                self.step(other)?;
            }
            let Some(node) = &mut self.replicas[at].node else { break };
            let answers = node.answers(SESSIONS);
            let is_entry = |answer: &Answer| matches!(answer, Answer::Entry(..));
            if answers.iter().any(is_entry) {
                return View::of(answers).map_err(broken("a client can read everything"));
            }
        }
        let id = self.replicas[at].id;
        Err(broken("a client can read everything")(format!("replica {id} lets nobody read")))
    }

    /// What was sent to a replica that has ended gets no answer, and transactions there end.
    pub(super) fn forget_sent_to(&mut self, at: usize) {
        for session in 0..SESSIONS {
            if self.homes[session] == at {
                self.clients.client_mut(session).transaction = None;
            }
            if self.sent[session].take_if(|sent| sent.to == at).is_some() {
                self.tally.unknown += 1;
                self.clients.on_disconnect_of(session);
            }
        }
    }
}

/// The client whose counter this entry is.
fn counted_by(dn: &str) -> Option<usize> {
    (0..SESSIONS).find(|of| *dn == counter_dn(*of))
}

fn counter_in(attributes: &Attributes) -> u64 {
    attributes.get(COUNTER).and_then(|values| values.first()?.parse().ok()).unwrap_or(0)
}
