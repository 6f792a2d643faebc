//! Updates at a server that does not lead go to the one that does, and their clients do not notice.
//!
//! A server that took updates from a client is their *front*. It sends them to the leader of a term, to be proposed in that very term
//! or not at all. So the log itself says what became of them, whatever is lost on the way: either an entry brings them, with the
//! front's name on it, or an entry of a later term is committed first, and then they never come. Only then, or if the leader says that it
//! did not propose them, the front sends them again, as another try with another number. Nobody else sends them again.
//!
//! ```text
//! session -> waiting -> sent -> applied, or refused by the leader -> session
//!               ^         |
//!               +---------+  not proposed, or lost for certain
//! ```

mod message;
mod taken;

use self::message::{Message, Name, Outcome, TIMES_MAX};
use self::taken::{RUN_BITS, Taken};
use crate::compare;
use crate::faults::{self, holes};
use consensus::ReplicaId;
use consensus::links::Links;
use dsa::Waking;
use dsa::account_times::{AccountTime, AccountTimes};
use dsa::journal::{self, OUTCOME_UNKNOWN, Updates};
use dsa::parcel::Front;
use env::planted;
use model::ResultCode;
use std::collections::{BTreeMap, VecDeque};

/// Milliseconds that updates wait for a leader.
const LEADERLESS_MS: u64 = 3_000;
/// Milliseconds that updates which were sent wait for their outcome.
const OUTCOME_MS: u64 = 10_000;
/// Milliseconds after which updates are sent again to the same leader, in the same term: it takes them once.
const AGAIN_MS: u64 = 500;
/// Milliseconds before another try at the same leader in the same term, when it said that it does not lead.
const RETRY_MS: u64 = 20;
/// The same when it did not propose them: it has no room for them, or does not lead any more.
const RETRY_FULL_MS: u64 = 200;
/// Bytes of updates that wait or are sent.
const BYTES_MAX: usize = 256 << 20;
/// Bytes of updates of other servers that wait here until they can be proposed. More go back.
const TAKEN_BYTES_MAX: usize = 256 << 20;
/// Messages about directories that are taken in a step.
const COMPARED_MAX: usize = 64;
/// Messages with times of accounts in a step.
const TIMES_MESSAGES_MAX: usize = 4;

/// What is said when nobody leads.
const LEADERLESS: &str = "no server leads the cluster: nothing was changed; try again";
/// What is said when the leader takes no more for as long.
const LEADER_FULL: &str =
    "the server that leads the cluster has too many updates: nothing was changed; try again";
/// What is said when too much waits.
const FULL: &str = "too many updates wait for the server that leads the cluster: nothing was changed";
/// What is said of updates that no message can bring.
const TOO_LONG: &str = "the update is longer than a server may send to the one that leads";

/// Who leads, as far as this replica knows, and in which term.
pub(crate) type Leader = Option<(ReplicaId, u64)>;

/// Updates that wait for a leader.
struct Waiting {
    updates: Updates,
    since_ms: u64,
    /// Until then they are not sent to `tried` again. Another leader gets them at once.
    not_before_ms: u64,
    /// The leader that got them last, and its term.
    tried: Leader,
    /// What is said if they wait for too long, though there is a leader.
    why: &'static str,
}

impl Waiting {
    fn from_now_on(updates: Updates, now_ms: u64) -> Waiting {
        Waiting { updates, since_ms: now_ms, not_before_ms: now_ms, tried: None, why: LEADERLESS }
    }

    /// May they be sent to this leader now?
    fn is_due(&self, to: ReplicaId, term: u64, now_ms: u64) -> bool {
        self.not_before_ms <= now_ms || self.tried != Some((to, term))
    }
}

/// A try that has no outcome yet.
struct Sent {
    updates: Updates,
    to: ReplicaId,
    term: u64,
    /// When they came, when they were sent first and last.
    since_ms: u64,
    first_ms: u64,
    last_ms: u64,
    again: u32,
    /// The leader says that the log has them: it will bring them here, and the answers with that.
    is_logged: bool,
}

/// See the module.
pub(crate) struct Forward {
    id: ReplicaId,
    /// Names this run of this server.
    run: u64,
    links: Box<dyn Links>,
    waiting: VecDeque<Waiting>,
    sent: BTreeMap<u64, Sent>,
    last_number: u64,
    /// What other servers have sent here.
    taken: Taken,
    /// The log has updates that this replica waits for, and it may not know yet that they are committed.
    is_committed_elsewhere: bool,
    /// Does an audit log tell who asked for updates? Only this server knows it of those that it took from its clients.
    is_audited: bool,
    /// What others have said of their directories, since that was last taken.
    compared: Vec<(ReplicaId, compare::Message)>,
    waking: Waking,
}

impl Forward {
    /// Of a replica. `seed`: another one for each run. `is_audited`: an audit log tells who asked for updates.
    pub(crate) fn new(id: ReplicaId, links: Box<dyn Links>, seed: u64, is_audited: bool) -> Forward {
        assert!(
            id.0 > 0 && id.0 < 1 << (64 - RUN_BITS),
            "the number of a replica has 16 bits in the name of its runs"
        );
        let run = id.0 << RUN_BITS | seed >> (64 - RUN_BITS);
        Forward {
            id,
            run,
            links,
            waiting: VecDeque::new(),
            sent: BTreeMap::new(),
            last_number: 0,
            taken: Taken::default(),
            is_committed_elsewhere: false,
            is_audited,
            compared: Vec::new(),
            waking: Waking::default(),
        }
    }

    /// Has everything an outcome that was taken here from clients?
    pub(crate) fn is_settled(&self) -> bool {
        self.waiting.is_empty() && self.sent.is_empty()
    }

    /// Submissions that wait for a leader, and those that were sent and have no outcome yet.
    pub(crate) fn counts(&self) -> [usize; 2] {
        [self.waiting.len(), self.sent.len()]
    }

    fn bytes(&self) -> usize {
        let waiting = self.waiting.iter().map(|waiting| &waiting.updates);
        waiting.chain(self.sent.values().map(|sent| &sent.updates)).map(Updates::bytes).sum()
    }

    /// Takes what came over links: updates for the leader of `term`, which go to `coming` if this replica is that; outcomes; times of
    /// accounts, which wait with those of the sessions here. Whether there were such times.
    pub(crate) fn receive(
        &mut self,
        leads: Option<u64>,
        leader: Leader,
        coming: &mut VecDeque<Updates>,
        times: &AccountTimes,
        now_ms: u64,
    ) -> bool {
        let mut has_times = false;
        let mut waiting: usize =
            coming.iter().filter(|updates| updates.front().is_some()).map(Updates::bytes).sum();
        while let Some((from, bytes)) = self.links.receive() {
            match Message::decode(&bytes) {
                Ok(Message::Updates { name, lowest, term, not_after_ms: _, forwarded }) => {
                    if leads != Some(term) {
                        let leader = leader.map_or(0, |(leader, _)| leader.0);
                        let outcome = Outcome::NotLeader;
                        self.send(from, &Message::Outcome { name, index: 0, leader, outcome });
                        continue;
                    }
                    let room = TAKEN_BYTES_MAX.saturating_sub(waiting);
                    match self.taken.take(from, (term, name, lowest), &forwarded, room) {
                        Ok(None) => {}
                        Ok(Some(updates)) => {
                            waiting += updates.bytes();
                            coming.push_back(updates);
                        }
                        Err(reason) => {
                            tracing::warn!(%from, reason, "updates from another server are ignored");
                        }
                    }
                    // What was lost of what was said is said again.
                    if let Some(outcome) = self.taken.outcome(from, name).cloned() {
                        let outcome = Outcome::of(&outcome);
                        self.send(from, &Message::Outcome { name, index: 0, leader: self.id.0, outcome });
                    }
                }
                Ok(Message::Outcome { name, outcome, .. }) => self.on_outcome(from, name, outcome, now_ms),
                // Who leads writes them; any other gives them to the one that does.
                Ok(Message::Times(all)) => {
                    times.put_back(&all);
                    has_times = true;
                }
                // What is too much is said again.
                Ok(Message::Comparison(message)) if self.compared.len() < COMPARED_MAX => {
                    self.compared.push((from, message));
                }
                Ok(Message::Comparison(_)) => {}
                Err(malformed) => {
                    tracing::warn!(%from, ?malformed, "a message from another server cannot be read; it is ignored");
                }
            }
        }
        self.waking.wake();
        has_times
    }

    fn on_outcome(&mut self, from: ReplicaId, name: Name, outcome: Outcome<'_>, now_ms: u64) {
        let is_ours =
            self.is_own_run(name.run) && self.sent.get(&name.number).is_some_and(|sent| sent.to == from);
        // A server that started anew does not know what it did before: that it does not lead says something of the first message only.
        if !is_ours || (outcome == Outcome::NotLeader && name.again > 0) {
            return;
        }
        if let Some(sent) = self.sent.get_mut(&name.number)
            && matches!(outcome, Outcome::Applied(_))
            && (self.is_audited || sent.updates.are_answered_by_log())
        {
            sent.is_logged = true;
            self.is_committed_elsewhere = true;
            return;
        }
        let Some(sent) = self.sent.remove(&name.number) else { return };
        match outcome {
            Outcome::Applied(answers) => sent.updates.answer(answers.to_vec(), &mut self.waking),
            Outcome::Refused(answers) => sent.updates.answer_refused(answers.to_vec(), &mut self.waking),
            Outcome::NotLeader => self.try_again(sent, now_ms + RETRY_MS, LEADERLESS),
            Outcome::NotProposed => self.try_again(sent, now_ms + RETRY_FULL_MS, LEADER_FULL),
        }
    }

    /// Is it the name of this run of this server? Another one has numbers of its own.
    fn is_own_run(&self, run: u64) -> bool {
        run == self.run || planted::is(holes::ANSWER_OF_ANOTHER_SESSION)
    }

    /// They are not in the log, and never will be by this try.
    fn try_again(&mut self, sent: Sent, not_before_ms: u64, why: &'static str) {
        assert!(!sent.is_logged, "what the log has is not sent again");
        let Sent { updates, since_ms, to, term, .. } = sent;
        self.waiting.push_back(Waiting { updates, since_ms, not_before_ms, tried: Some((to, term)), why });
    }

    /// Takes what sessions here have submitted, while this replica does not lead. What came from other servers goes back to
    /// them: it is never forwarded a second time.
    pub(crate) fn take(&mut self, coming: &mut VecDeque<Updates>, now_ms: u64) {
        let mut bytes = if coming.is_empty() { 0 } else { self.bytes() };
        while let Some(mut updates) = coming.pop_front() {
            if updates.front().is_some() {
                updates.return_unproposed();
                continue;
            }
            assert!(updates.ids().is_empty(), "ids are those of a leader");
            bytes += self.await_leader(updates, bytes, now_ms);
        }
    }

    /// Keeps updates until there is a leader, or refuses them where so many bytes wait or are sent that there is no room. Returns their bytes
    /// if they were kept.
    fn await_leader(&mut self, updates: Updates, bytes: usize, now_ms: u64) -> usize {
        let own = updates.bytes();
        if bytes + own > BYTES_MAX {
            updates.refuse(ResultCode::Busy, FULL);
            return 0;
        }
        self.waiting.push_back(Waiting::from_now_on(updates, now_ms));
        own
    }

    /// For a planted fault: sends updates of another server again, whose outcome nobody here waits for.
    pub(crate) fn take_again(&mut self, updates: &Updates, now_ms: u64) {
        debug_assert!(planted::is(faults::TWO_SENDERS));
        let front = Front { node: 1, number: 1 };
        let copied = Updates::received(&updates.forwarded(), front, &journal::Returns::default());
        if let Ok(updates) = copied {
            self.waiting.push_back(Waiting::from_now_on(updates, now_ms));
        }
    }

    /// This replica leads: what waits for a leader is proposed here.
    pub(crate) fn give(&mut self, coming: &mut VecDeque<Updates>) {
        self.waiting.drain(..).rev().for_each(|waiting| coming.push_front(waiting.updates));
    }

    /// Times of accounts go to the leader. Those that are lost on the way are lost.
    pub(crate) fn send_times(&mut self, leader: Leader, times: &AccountTimes) {
        let Some((to, _)) = leader.filter(|(to, _)| *to != self.id) else { return };
        for _ in 0..TIMES_MESSAGES_MAX {
            let taken: Vec<AccountTime> = times.take(TIMES_MAX);
            if taken.is_empty() {
                return;
            }
            self.send(to, &Message::Times(taken));
        }
    }

    /// The log brings a command that this server took from its client, if it is of this run: the updates, if they wait for their outcome.
    /// They are to be answered by who applies them.
    pub(crate) fn take_logged(&mut self, front: Option<Front>) -> Option<Updates> {
        let front = front.filter(|front| self.is_own_run(front.node))?;
        self.sent.remove(&front.number).map(|sent| sent.updates)
    }

    /// Since the last call, has the leader committed updates whose answers the log brings? This replica hears of that with the next entries, or
    /// if it asks.
    pub(crate) fn take_committed_elsewhere(&mut self) -> bool {
        std::mem::take(&mut self.is_committed_elsewhere)
    }

    /// Sessions that were answered. They are woken by [`Forward::on_applied`].
    pub(crate) fn waking(&mut self) -> &mut Waking {
        &mut self.waking
    }

    /// An entry of `term` is the last that is applied.
    pub(crate) fn on_applied(&mut self, term: u64, now_ms: u64) {
        self.waking.wake();
        // Terms in a log only go up: what was to be proposed in a former one is there by now, or never.
        let lost: Vec<u64> = self
            .sent
            .iter()
            .filter(|(_, sent)| sent.term < term && !sent.is_logged)
            .map(|(number, _)| *number)
            .collect();
        for sent in lost.into_iter().filter_map(|number| self.sent.remove(&number)).collect::<Vec<_>>() {
            self.try_again(sent, now_ms, LEADERLESS);
        }
    }

    /// Sends what is due, and answers what waits no longer. `applied`: the last entry that is applied here.
    pub(crate) fn step(&mut self, leader: Leader, applied: u64, now_ms: u64) {
        for (to, name, outcome) in self.taken.outcomes() {
            let outcome = Outcome::of(&outcome);
            let leader = leader.map_or(0, |(leader, _)| leader.0);
            self.send(to, &Message::Outcome { name, index: applied, leader, outcome });
        }
        self.end_late(leader.is_some(), now_ms);
        if let Some((to, term)) = leader.filter(|(to, _)| *to != self.id) {
            self.send_due(to, term, now_ms);
        }
    }

    fn end_late(&mut self, has_leader: bool, now_ms: u64) {
        let late = |since_ms: u64, after_ms| now_ms >= since_ms.saturating_add(after_ms);
        for _ in 0..self.waiting.len() {
            let Some(waiting) = self.waiting.pop_front() else { break };
            match late(waiting.since_ms, LEADERLESS_MS) {
                true => {
                    let why = if has_leader { waiting.why } else { LEADERLESS };
                    waiting.updates.refuse(ResultCode::Busy, why);
                }
                false => self.waiting.push_back(waiting),
            }
        }
        let late: Vec<u64> = self
            .sent
            .iter()
            .filter(|(_, sent)| late(sent.first_ms, OUTCOME_MS))
            .map(|(number, _)| *number)
            .collect();
        for sent in late.into_iter().filter_map(|number| self.sent.remove(&number)).collect::<Vec<_>>() {
            sent.updates.refuse(ResultCode::Unavailable, OUTCOME_UNKNOWN);
        }
    }

    fn send_due(&mut self, to: ReplicaId, term: u64, now_ms: u64) {
        for _ in 0..self.waiting.len() {
            let Some(waiting) = self.waiting.pop_front() else { break };
            if !waiting.is_due(to, term, now_ms) {
                self.waiting.push_back(waiting);
                continue;
            }
            self.last_number += 1;
            let Waiting { updates, since_ms, .. } = waiting;
            let (first_ms, last_ms, again, is_logged) = (now_ms, now_ms, 0, false);
            let sent = Sent { updates, to, term, since_ms, first_ms, last_ms, again, is_logged };
            self.sent.insert(self.last_number, sent);
            self.send_try(self.last_number);
        }
        let is_due = |sent: &Sent| {
            (sent.to, sent.term) == (to, term) && !sent.is_logged && now_ms >= sent.last_ms + AGAIN_MS
        };
        let due: Vec<u64> =
            self.sent.iter().filter(|(_, sent)| is_due(sent)).map(|(number, _)| *number).collect();
        for number in due {
            if let Some(sent) = self.sent.get_mut(&number) {
                (sent.last_ms, sent.again) = (now_ms, sent.again.saturating_add(1));
            }
            self.send_try(number);
        }
    }

    fn send_try(&mut self, number: u64) {
        let lowest = self.sent.keys().next().copied().unwrap_or(number);
        let Some(sent) = self.sent.get(&number) else { return };
        let forwarded = sent.updates.forwarded();
        let (name, term) = (Name { run: self.run, number, again: sent.again }, sent.term);
        let message = Message::Updates { name, lowest, term, not_after_ms: 0, forwarded }.encode();
        match message {
            Some(message) => self.links.send(sent.to, message),
            None => {
                if let Some(sent) = self.sent.remove(&number) {
                    sent.updates.refuse(ResultCode::AdminLimitExceeded, TOO_LONG);
                }
            }
        }
    }

    /// Have others said something of their directories?
    pub(crate) fn has_compared(&self) -> bool {
        !self.compared.is_empty()
    }

    /// Takes what others have said of their directories.
    pub(crate) fn take_compared(&mut self) -> Vec<(ReplicaId, compare::Message)> {
        std::mem::take(&mut self.compared)
    }

    /// Says something of a directory to another server.
    pub(crate) fn compare(&mut self, to: ReplicaId, message: compare::Message) {
        self.send(to, &Message::Comparison(message));
    }

    fn send(&mut self, to: ReplicaId, message: &Message<'_>) {
        // Answers that are too long for a message come to their front by the log.
        if let Some(message) = message.encode() {
            self.links.send(to, message);
        }
    }

    /// Nothing is sent any more: what waits is refused, and of what was sent nobody knows.
    pub(crate) fn end(&mut self, text: &str) {
        self.waiting.drain(..).for_each(|waiting| waiting.updates.refuse(ResultCode::Unavailable, text));
        while let Some((_, sent)) = self.sent.pop_first() {
            sent.updates.refuse(ResultCode::Unavailable, OUTCOME_UNKNOWN);
        }
    }
}

#[cfg(test)]
mod tests;
