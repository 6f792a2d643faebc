//! Replicas are compared with each other: whose directory a majority does not have leaves service by itself, and is made anew with the
//! snapshot of another replica.
//!
//! The one that leads asks twice a second what the others have made of all entries up to one that it has applied itself: the value of the
//! outcome chain there. Values of one entry are compared, whichever replica leads. What has no other outcome is found by digests of slices of the directory, one
//! after the other ([`slices`]). It has no owner but the committer, starts no thread and reads no clock.
//!
//! - *A majority of those that vote has the same value.* Who has another is wrong. The leader notifies one that does not lead. A leader
//!   that finds itself wrong has another one lead first.
//! - *Values differ, and none is a majority's.* Nobody knows which is right: all go on serving, say so, and give their snapshots to nobody.

mod message;
mod now;
mod round;
mod slices;

pub(crate) use message::{Message, Said};
pub(crate) use now::Now;

use crate::data::DiffersFile;
use crate::faults::{self, holes};
use crate::health::Health;
use consensus::{Compared, Conditions, Control, ReplicaId, Request, Standing, WantedSnapshot};
use env::planted;
use round::{Round, Value};
use slices::Slices;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use store::Shard;
use wal::{Index, Position};

/// Milliseconds between two questions: for so long a directory may be served that is known to be wrong a moment later.
const ROUND_MS: u64 = 500;
/// Milliseconds for which it counts what a replica says of its readers.
const FORGOTTEN_MS: u64 = 4 * ROUND_MS;
/// Rounds for which a leader takes answers: of one that is further behind nothing is known until it has caught up.
const ROUNDS_MAX: usize = 16;

/// See the module.
pub(crate) struct Compare {
    own: ReplicaId,
    control: Control,
    file: DiffersFile,
    /// Of a leader, in the order in which they were asked. Of the term `term`.
    rounds: VecDeque<Round>,
    term: u64,
    asked_ms: Option<u64>,
    /// An entry and its value that a majority is known to have.
    agreed: Option<(u64, u64)>,
    /// The question that this replica has not answered, of the leader of a term, and the time that came with it.
    asked: Option<((ReplicaId, u64, u64), u64)>,
    /// What all this has come to, and what the log knows of it.
    compared: Compared,
    known: Compared,
    /// The last entry that was applied when the own directory was found to be wrong, and whether that is written down.
    left: Option<(u64, bool)>,
    slices: Slices,
    /// Of a leader: before which record others say that their readers look at nothing that was deleted, and when they said so; and since when
    /// it leads.
    forgotten: BTreeMap<ReplicaId, (u64, u64)>,
    leads_since_ms: Option<u64>,
    /// Of a leader: the entry that its snapshot must have, for others that are made anew.
    needed: u64,
    /// How disks and clocks fare.
    pub(crate) health: Health,
    /// Those who look know of it.
    has_noted: bool,
}

impl Compare {
    /// Of a replica. `file` says whether its directory was found to be wrong before this start.
    pub(crate) fn new(own: ReplicaId, control: Control, file: DiffersFile) -> Compare {
        let left = file.entry.map(|entry| (entry, true));
        let mut compare = Compare {
            own,
            control,
            file,
            rounds: VecDeque::new(),
            term: 0,
            asked_ms: None,
            agreed: None,
            asked: None,
            compared: Compared::default(),
            known: Compared::default(),
            left,
            slices: Slices::default(),
            forgotten: BTreeMap::new(),
            leads_since_ms: None,
            needed: 0,
            health: Health::default(),
            has_noted: false,
        };
        if left.is_some() {
            compare.compared.standing = Standing::Rebuilt(None);
            compare.tell();
        }
        compare
    }

    /// Is the own directory known to be wrong?
    pub(crate) fn is_wrong(&self) -> bool {
        self.left.is_some()
    }

    /// Is no snapshot of it to be made?
    pub(crate) fn withholds(&self) -> bool {
        self.compared.standing.withholds()
    }

    /// An entry was applied.
    pub(crate) fn on_applied(&mut self, index: u64, shard: &Arc<Shard>) {
        self.slices.on_applied(index, shard);
    }

    /// An entry that was applied here, and what a majority has made of all entries up to it.
    pub(crate) fn agreed(&self) -> Option<(u64, u64)> {
        self.agreed
    }

    /// The record before which the ids of deleted entries are free for the readers of others. One that has said nothing for a while is
    /// not waited for: it waits for its readers itself, before it applies what sets ids free.
    pub(crate) fn free_before(&self, now_ms: u64) -> u64 {
        // Each replica that is there has said something by then.
        let is_planted = planted::is(holes::FREE_BEFORE_AFTER_FAILOVER);
        if self.leads_since_ms.is_none_or(|since_ms| now_ms < since_ms + FORGOTTEN_MS && !is_planted) {
            return 0;
        }
        let known = self.forgotten.values().filter(|(_, said_ms)| now_ms < said_ms + FORGOTTEN_MS);
        known.map(|(before, _)| *before).min().unwrap_or(u64::MAX)
    }

    /// The entry that the snapshot of this leader must have, for others that are made anew; 0 if there is none.
    pub(crate) fn needed(&self) -> u64 {
        self.needed
    }

    /// Is something to be asked at this time, if this replica leads?
    pub(crate) fn is_due(&self, now_ms: u64) -> bool {
        self.asked_ms.is_none_or(|asked_ms| now_ms >= asked_ms + ROUND_MS)
    }

    /// Takes what came, and asks, answers and tells what is due. True if a majority has another directory than this replica: it is to leave
    /// service.
    pub(crate) fn step(
        &mut self,
        heard: Vec<(ReplicaId, Message)>,
        now: &Now<'_>,
        send: &mut dyn FnMut(ReplicaId, Message),
    ) -> bool {
        if now.leads != Some(self.term) {
            self.rounds.clear();
            self.compared.wrong.clear();
            (self.agreed, self.needed) = (None, 0);
            self.slices.forget();
            self.forgotten.clear();
            self.leads_since_ms = now.leads.map(|_| now.now_ms);
            if std::mem::take(&mut self.has_noted) {
                self.control.note(Conditions::default());
            }
        }
        self.health.on_leader(now.leader.map(|(leader, _)| leader), now.now_ms);
        let mut is_wrong = false;
        for (from, Message { term, index, said }) in heard {
            let is_of_leader = now.leader == Some((from, term)) && from != self.own;
            let leads = now.leads == Some(term) && term == self.term;
            match said {
                Said::Asks { is_doubted, asked_ms } if is_of_leader => {
                    self.on_asked(((from, term, index), asked_ms), is_doubted);
                }
                Said::Wrong(value) if is_of_leader => is_wrong |= self.on_wrong(from, (index, value), now),
                Said::Value(value) if leads => is_wrong |= self.on_value(from, index, Value::Is(value), send),
                Said::Rebuilt(needs) if leads => {
                    is_wrong |= self.on_value(from, index, Value::Rebuilt(needs), send);
                }
                Said::AsksSlice(first) if is_of_leader && !self.is_wrong() => {
                    self.slices.on_asked((from, term, index), first, now);
                }
                Said::Slice(digest) if leads => {
                    is_wrong |= self.slices.on_digest(self.own, from, (term, index, digest), send);
                }
                Said::WrongSlice(value) if is_of_leader => {
                    is_wrong |= self.slices.has_said_other(index, value)
                }
                Said::Forgotten { before, report } if leads => {
                    self.forgotten.insert(from, (before, now.now_ms));
                    self.health.on_report(from, report, now.clocks);
                }
                // Of another term, or of one that does not lead any more.
                _ => {}
            }
        }
        self.answer(now, send);
        is_wrong |= self.slices.step(self.own, send);
        if let Some(term) = now.leads
            && self.is_due(now.now_ms)
            // With clocks of this very moment: who has just begun to lead reads them in the next step.
            && now.clocks.monotonic_ms == now.now_ms
        {
            is_wrong |= self.ask(term, now, send);
        }
        if let Some(term) = now.leads.filter(|term| *term == self.term && !self.is_wrong()) {
            let control = &self.control;
            self.slices.ask((self.own, term, || control.view().members), now, send);
        }
        self.write_down();
        self.tell();
        is_wrong && !self.is_wrong()
    }

    fn on_asked(&mut self, asked: ((ReplicaId, u64, u64), u64), is_doubted: bool) {
        // One that is behind answers what it was asked first, and then the next.
        if self.asked.is_none_or(|((_, term, _), _)| term < asked.0.1) {
            self.asked = Some(asked);
        }
        if !self.is_wrong() {
            self.doubt(is_doubted);
        }
    }

    fn answer(&mut self, now: &Now<'_>, send: &mut dyn FnMut(ReplicaId, Message)) {
        let Some(((to, term, index), asked_ms)) = self.asked else { return };
        let said = match self.left {
            Some((entry, _)) => Some(Said::Rebuilt(entry)),
            None if now.chain.last().0 < index => return,
            None => now.chain.at(index).map(Said::Value),
        };
        self.asked = None;
        let before = now.shard.forgotten_up_to().min(now.chain.last().0);
        let report = said.is_some().then(|| self.health.report(asked_ms, now.clocks));
        let forgotten = report.map(|report| Said::Forgotten { before, report });
        said.into_iter().chain(forgotten).for_each(|said| send(to, Message { term, index, said }));
    }

    fn on_value(
        &mut self,
        from: ReplicaId,
        index: u64,
        value: Value,
        send: &mut dyn FnMut(ReplicaId, Message),
    ) -> bool {
        let round = self.rounds.iter_mut().find(|round| round.index == index);
        round.into_iter().for_each(|round| round.note(from, value));
        self.judge(index, send)
    }

    /// What follows from a round: others that are wrong are notified. True if this replica is.
    fn judge(&mut self, index: u64, send: &mut dyn FnMut(ReplicaId, Message)) -> bool {
        let Some(round) = self.rounds.iter().find(|round| round.index == index) else { return false };
        let own = round.value(self.own);
        let mut right = round.majority();
        if planted::is(faults::MINORITY_CHAIN_WINS) {
            right = own;
        }
        let Some(right) = right else { return false };
        if own != Some(right) {
            return true;
        }
        if self.agreed.is_none_or(|(agreed, _)| agreed < index) {
            self.agreed = Some((index, right));
        }
        for (id, _) in round.wrong(right) {
            send(id, Message { term: self.term, index, said: Said::Wrong(right) });
        }
        false
    }

    /// Ends the last round and begins another. True if this replica alone has something else than a majority.
    fn ask(&mut self, term: u64, now: &Now<'_>, send: &mut dyn FnMut(ReplicaId, Message)) -> bool {
        self.asked_ms = Some(now.now_ms);
        if planted::is(faults::NEVER_COMPARED) {
            return false;
        }
        self.end_round();
        if self.is_wrong() {
            self.let_another_lead();
        }
        let members = self.control.view().members;
        self.control.note(self.health.judge(self.own, &members, now.clocks));
        self.has_noted = true;
        let (index, value) = now.chain.last();
        let mut round = Round::new(index, members);
        round.note(self.own, self.left.map_or(Value::Is(value), |(entry, _)| Value::Rebuilt(entry)));
        if self.rounds.len() == ROUNDS_MAX {
            self.rounds.pop_front();
        }
        // The same entry again: what was said of it may have come late.
        self.rounds.retain(|earlier| earlier.index != index);
        let is_doubted = self.compared.standing == Standing::Doubted;
        let message = Message { term, index, said: Said::Asks { is_doubted, asked_ms: now.now_ms } };
        round.others(self.own).for_each(|id| send(id, message));
        self.rounds.push_back(round);
        self.term = term;
        self.judge(index, send)
    }

    /// What the last round has come to, when all that answer have answered.
    fn end_round(&mut self) {
        let Some(round) = self.rounds.back() else { return };
        let wrong: Vec<(ReplicaId, u64)> = match round.majority() {
            Some(right) if round.value(self.own) == Some(right) => round.wrong(right).collect(),
            _ => Vec::new(),
        };
        // What was doubted stays so until a majority is known.
        let was_doubted = self.compared.standing == Standing::Doubted && round.majority().is_none();
        let is_doubted = round.is_doubted() || was_doubted || self.slices.is_doubted;
        // One that has not answered may be starting with its new directory.
        let stays = |id: &ReplicaId| !round.has_said(*id) && round.others(self.own).any(|other| other == *id);
        let mut all: Vec<ReplicaId> = self.compared.wrong.iter().copied().filter(stays).collect();
        all.extend(wrong.iter().map(|(id, _)| *id));
        all.sort_unstable();
        all.dedup();
        for id in all.iter().filter(|id| !self.compared.wrong.contains(id)) {
            tracing::error!(
                "the directory of node {id} is not what a majority has: it leaves service, and is made anew"
            );
        }
        self.needed = wrong.iter().map(|(_, needs)| *needs).max().unwrap_or(0);
        self.compared.wrong = all;
        if !self.is_wrong() {
            self.doubt(is_doubted);
        }
    }

    fn doubt(&mut self, is_doubted: bool) {
        let standing = if is_doubted { Standing::Doubted } else { Standing::Serves };
        if self.compared.standing == standing {
            return;
        }
        match is_doubted {
            true => tracing::error!(
                "the directories of nodes differ, and no majority has the same: nobody knows which is right. No \
                 snapshot is made or sent until one more node answers"
            ),
            false => tracing::warn!("a majority of the nodes has the same directory again"),
        }
        self.compared.standing = standing;
    }

    /// The leader says that a majority has another value. True if this replica is to leave service.
    fn on_wrong(&mut self, from: ReplicaId, (index, value): (u64, u64), now: &Now<'_>) -> bool {
        // What was said to an earlier run may be about an entry before its snapshot.
        let Some((entry, _)) = self.left else { return now.chain.at(index).is_some_and(|own| own != value) };
        let at = Position { index: Index(entry), term: 0 };
        self.compared.standing = Standing::Rebuilt(Some(WantedSnapshot { from, at }));
        // A fetch that was given up begins again.
        self.known = Compared::default();
        false
    }

    /// This replica has left service. The last entry that it has applied is this one.
    pub(crate) fn leave(&mut self, entry: u64) {
        if self.left.is_some() {
            return;
        }
        tracing::error!(
            entry,
            "the directory of this node is not what a majority has: it serves nobody until it is made anew with a \
             snapshot of another node. This is a fault of the machine or of the program"
        );
        (self.left, self.asked) = (Some((entry, false)), None);
        self.compared.standing = Standing::Rebuilt(None);
        self.write_down();
        self.tell();
    }

    /// So that no start serves the directory.
    fn write_down(&mut self) {
        let Some((entry, false)) = self.left else { return };
        if planted::is(faults::DIFFERENCE_NOT_WRITTEN) {
            return;
        }
        match self.file.write(entry) {
            Ok(()) => self.left = Some((entry, true)),
            // It is tried again with the next step.
            Err(error) => tracing::warn!(%error, "it cannot be written down that the directory is wrong"),
        }
    }

    /// A leader that is wrong has another one lead, which has most of the log.
    fn let_another_lead(&self) {
        let view = self.control.view();
        let may_lead = |other: &&consensus::Other| other.is_active && view.members.voters.contains(&other.id);
        let next = view.others.iter().filter(may_lead).max_by_key(|other| (other.matched, other.id));
        // What is refused is asked for again.
        let _ = next.map(|next| self.control.ask(Request::Transfer(next.id)));
    }

    /// Tells the log, which tells those who look.
    fn tell(&mut self) {
        // What it has no room for it gets with the next step.
        if self.known != self.compared && self.control.ask(Request::Compared(self.compared.clone())).is_ok() {
            self.known = self.compared.clone();
        }
    }
}

#[cfg(test)]
mod tests;
