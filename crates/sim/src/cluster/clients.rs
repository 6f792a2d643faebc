//! What clients do: each sends updates to one replica after the other, and asks some replica whether it has all that was acknowledged.

use super::sent::Sent;
use super::{Cluster, SESSIONS, broken};
use crate::answers::Answer;
use crate::properties;
use crate::requests::{Bundle, Sent as Request};
use crate::world::Violation;
use model::ResultCode;

impl Cluster {
    /// A client that waits for nothing sends what comes next, as a rule to a replica that leads.
    pub(super) fn client_sends(&mut self) -> Result<(), Violation> {
        let session = self.random.below(SESSIONS as u64) as usize;
        let to = match self.leader().filter(|_| self.random.chance(800)) {
            Some(leader) => leader,
            None => self.random.below(self.replicas.len() as u64) as usize,
        };
        let replica = &mut self.replicas[to];
        if self.sent[session].is_some() || replica.takes_pause() {
            return Ok(());
        }
        let (id, clock) = (replica.id, replica.clock);
        let Some(node) = &mut replica.node else { return Ok(()) };
        let mut bundle = Bundle::default();
        self.workload.start(session, &mut self.random, &mut bundle);
        self.clients.count(session, &mut bundle);
        if node.waits(session) {
            return Ok(());
        }
        self.trace.note(format_args!("  client {session} sends {:?} to replica {id}", bundle.sent));
        self.clients.on_sent(session, &bundle);
        bundle.logged_together().for_each(|updates| self.oracle.on_sent(updates));
        self.sent[session] = Some(Sent { to, updates: bundle.updates.clone(), last: bundle.sent.len() });
        assert!(matches!(bundle.sent.last(), Some(Request::Count(_))), "a bundle ends with the counter");
        node.send(session, &bundle.bytes, &clock);
        self.take_answers(to, session)
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
        let (answers, applied) = (node.answers(session), node.applied());
        if answers.is_empty() {
            return Ok(());
        }
        self.trace.note(format_args!("  client {session} gets {answers:?}"));
        let Some(sent) = self.sent[session].take_if(|sent| sent.to == at) else { return Ok(()) };
        let is_end = |answer: &Answer| matches!(answer, Answer::Done(id, _) if *id == sent.last);
        let Some(Answer::Done(_, code)) = answers.iter().find(|answer| is_end(answer)) else {
            return Err(broken("a bundle is answered at once")(format!("client {session} got {answers:?}")));
        };
        match *code {
            ResultCode::Success => {
                self.tally.acknowledged += 1;
                self.promised = self.promised.max(applied);
            }
            ResultCode::Busy => {
                if self.logged.contains(&sent.updates) {
                    let what =
                        format!("client {session} had the answer that nothing was changed, and it was");
                    return Err(broken(properties::VOID)(what));
                }
                self.refused.insert(sent.updates);
            }
            _ => self.tally.unknown += 1,
        }
        let checked = self.clients.on_answers(session, &answers, (applied, false));
        checked.map_err(|(property, what)| Violation { property, what })
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

    /// Somebody asks a replica for a barrier: when it is passed all can be read that was acknowledged by now.
    pub(super) fn ask_for_end(&mut self) -> Result<(), Violation> {
        let at = self.random.below(self.replicas.len() as u64) as usize;
        let promised = self.promised;
        let replica = &mut self.replicas[at];
        if let Some(node) = replica.node.as_mut().filter(|_| replica.barriers.len() < 4) {
            replica.barriers.push((node.recovered.committer.barrier(), promised));
        }
        Ok(())
    }

    /// Looks at the barriers of a replica that are passed.
    pub(super) fn look_at_barriers(&mut self, at: usize) -> Result<(), Violation> {
        let replica = &mut self.replicas[at];
        let Some(node) = &replica.node else { return Ok(()) };
        let applied = node.applied();
        let has_passed = |barrier| node.recovered.committer.has_passed(barrier);
        while let Some((_, promised)) = replica.barriers.first().filter(|(barrier, _)| has_passed(*barrier)) {
            if applied < *promised {
                let what = format!("replica {} has {applied} entries of {promised}", replica.id);
                return Err(broken(properties::BARRIER)(what));
            }
            replica.barriers.remove(0);
            self.tally.barriers += 1;
        }
        Ok(())
    }
}
