//! What clients do: each sends updates and reads to one replica after the other. What it reads has all that was acknowledged to
//! anybody before it asked.

use super::sent::Sent;
use super::{Cluster, SESSIONS, broken};
use crate::answers::Answer;
use crate::properties;
use crate::requests::{Bundle, COUNTER, Sent as Request};
use crate::view::View;
use crate::world::Violation;
use model::ResultCode;

/// Steps within which a replica of a cluster in which all is well answers one that reads everything.
const READ_WITHIN: usize = 3_000;

impl Cluster {
    /// A client that waits for nothing sends what comes next, to any replica.
    pub(super) fn client_sends(&mut self) -> Result<(), Violation> {
        let session = self.random.below(SESSIONS as u64) as usize;
        let to = match self.leader().filter(|_| self.random.chance(300)) {
            Some(leader) => leader,
            None => self.random.below(self.replicas.len() as u64) as usize,
        };
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
            return Ok(());
        }
        let bundle = self.next_bundle(session);
        self.trace.note(format_args!("  client {session} sends {:?} to replica {id}", bundle.sent));
        self.clients.on_sent(session, &bundle);
        if !bundle.updates.is_empty() {
            bundle.logged_together().for_each(|updates| self.oracle.on_sent(updates));
        }
        let count = if bundle.updates.is_empty() { 0 } else { self.clients.client(session).counted };
        if count > 0 {
            self.counts.insert(bundle.updates.clone(), (session, count));
        }
        let counts = bundle.sent.iter().position(|sent| matches!(sent, Request::Count(_)));
        let only_reads = bundle.updates.is_empty();
        let floor = (0..SESSIONS).map(|of| self.acknowledged_of(of)).collect();
        self.sent[session] = Some(Sent {
            to,
            updates: bundle.updates.clone(),
            count,
            counts: counts.map(|at| at + 1),
            last: bundle.sent.len(),
            floor,
            answers: Vec::new(),
        });
        if let Some(node) = &mut self.replicas[to].node {
            node.send(session, &bundle.bytes, &clock);
            self.tally.by_lease += u64::from(only_reads && !node.waits(session));
        }
        self.take_answers(to, session)
    }

    /// Updates, reads, or both, in one order or the other.
    fn next_bundle(&mut self, session: usize) -> Bundle {
        let mut bundle = Bundle::default();
        let (updates, reads_before, reads_after) = match self.random.below(10) {
            0..=4 => (true, false, false),
            5..=6 => (false, true, false),
            7..=8 => (true, false, true),
            _ => (true, true, false),
        };
        let read_all = |bundle: &mut Bundle| (0..SESSIONS).for_each(|of| bundle.read_counter(of));
        if reads_before {
            read_all(&mut bundle);
        }
        if updates {
            self.workload.start(session, &mut self.random, &mut bundle);
            self.clients.count(session, &mut bundle);
        }
        if reads_after {
            bundle.read_own(session, self.clients.client(session).counted);
            read_all(&mut bundle);
        }
        bundle
    }

    /// What a client's counter is known to have come to.
    fn acknowledged_of(&self, session: usize) -> u64 {
        self.clients.client(session).acknowledged.values().max().copied().unwrap_or(0)
    }

    /// The log has set the counter of a client. If it was higher before, no read need see that.
    pub(super) fn on_counted(&mut self, session: usize, count: u64) {
        self.counters[session] = count;
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
        let code_of = |sent: &Sent, id: usize| {
            sent.answers.iter().find_map(|answer| match answer {
                Answer::Done(done, code) if *done == id => Some(*code),
                _ => None,
            })
        };
        let Some(last) = code_of(sent, sent.last) else { return Ok(()) };
        let Some(mut sent) = self.sent[session].take() else { return Ok(()) };
        if let Some(counts) = sent.counts {
            match code_of(&sent, counts) {
                Some(ResultCode::Success) => {
                    self.tally.acknowledged += 1;
                    self.promised = self.promised.max(committed);
                }
                Some(ResultCode::Busy) => {
                    if self.logged.contains(&sent.updates) {
                        let what =
                            format!("client {session} had the answer that nothing was changed, and it was");
                        return Err(broken(properties::VOID)(what));
                    }
                    self.refused.insert(std::mem::take(&mut sent.updates));
                }
                Some(_) => self.tally.unknown += 1,
                None => {
                    let what = format!("client {session} got no answer to its update: {:?}", sent.answers);
                    return Err(broken("a bundle is answered as a whole")(what));
                }
            }
        }
        let is_read = last == ResultCode::Success && sent.counts != Some(sent.last);
        self.tally.barriers += u64::from(is_read);
        if self.counters[session] < sent.count {
            // What it had sent before, and got no answer to, has come behind it.
            sent.answers.retain(|answer| !matches!(answer, Answer::Entry(..)));
        }
        // First those of its own session, which have a name of their own.
        let checked = self.clients.on_answers(session, &sent.answers, (committed, false));
        checked.map_err(|(property, what)| Violation { property, what })?;
        self.on_counted(session, self.counters[session]);
        self.look_at_counters(session, &sent)
    }

    /// Reads see what was acknowledged before they were sent.
    fn look_at_counters(&self, session: usize, sent: &Sent) -> Result<(), Violation> {
        for answer in &sent.answers {
            let Answer::Entry(_, dn, attributes) = answer else { continue };
            let of = (0..SESSIONS).find(|of| *dn == crate::requests::counter_dn(*of));
            let value = attributes.get(COUNTER).and_then(|values| values.first()?.parse().ok()).unwrap_or(0);
            if let Some(of) = of
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

    /// What was sent to a replica that has ended gets no answer.
    pub(super) fn forget_sent_to(&mut self, at: usize) {
        for session in 0..SESSIONS {
            if self.sent[session].take_if(|sent| sent.to == at).is_some() {
                self.tally.unknown += 1;
                self.clients.on_disconnect_of(session);
            }
        }
    }
}
