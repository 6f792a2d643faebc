//! Entries that a leader sends later to followers which no majority needs. An entry is committed as soon as a majority has it, so the leader serves as many
//! followers at once as make a majority with it. The others get the entries of several messages as one, some milliseconds later: one message,
//! one sync and one answer in place of many. (The literature of Paxos calls a leader *thrifty* that sends to no more replicas than it needs.)
//!
//! An entry that is committed is on a majority as before. A follower that asks something is served at once, for its clients wait; so are all where those
//! that are served at once do not commit soon. A message of any other kind takes what was delayed with it, so messages do not overtake each other.

use crate::entries::Entries;
use crate::member::ReplicaId;
use crate::message::{ENTRIES_BYTES, MESSAGES_ON_THEIR_WAY};
use raft::eraftpb::{Message, MessageType};
use raft::{ProgressState, RawNode, StateRole};
use std::collections::BTreeMap;

/// Milliseconds that entries are delayed at most.
const WAIT_MS: u64 = 10;
/// The same while they are not committed: then they may be needed.
const UNCOMMITTED_WAIT_MS: u64 = 5;
/// Bytes of entries that are delayed for a follower at most.
const BYTES_MAX: usize = 512 << 10;
/// Messages that are delayed for a follower at most: fewer than the core lets be on their way.
const MESSAGES_MAX: usize = MESSAGES_ON_THEIR_WAY / 2;
/// Milliseconds in which a follower that has asked something is served at once.
const ASKED_MS: u64 = 100;
/// Times in a row that a follower may lack what others have committed before one of those is served in its place.
const LATE_MAX: u32 = 8;

/// What is delayed for a follower: several messages as one.
#[derive(Debug)]
struct Held {
    message: Message,
    since_ms: u64,
    messages: usize,
    bytes: usize,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Delayed {
    held: BTreeMap<u64, Held>,
    /// Followers, in the order in which they are served.
    order: Vec<u64>,
    /// When each last asked something.
    asked_ms: BTreeMap<u64, u64>,
    /// The last entry that was committed when it was last looked at who has it.
    committed: u64,
    /// Times in a row that not all that are served at once had it.
    late: u32,
}

impl Delayed {
    /// Another replica has asked where the end of the log is.
    pub(crate) fn on_question(&mut self, from: u64, now_ms: u64) {
        self.asked_ms.insert(from, now_ms);
    }

    /// What is to be sent now where the core wants to send this: what was delayed before it, and it, if it is not delayed too.
    pub(crate) fn pass(
        &mut self,
        message: Message,
        core: &RawNode<Entries>,
        now_ms: u64,
    ) -> [Option<Message>; 2] {
        let to = message.to;
        let mut held = self.held.remove(&to).filter(|held| held.is_of_leader(core));
        if message.get_msg_type() != MessageType::MsgAppend || message.entries.is_empty() {
            return [held.map(|held| held.into_message(core)), Some(message)];
        }
        let rest = match &mut held {
            Some(held) => held.append(message),
            None => Some(message),
        };
        if !self.may_wait(to, core, now_ms) {
            return [held.map(|held| held.into_message(core)), rest];
        }
        let (earlier, last) = match rest {
            Some(message) => (held, Some(Held::new(message, now_ms))),
            None => (None, held),
        };
        last.into_iter().for_each(|last| _ = self.held.insert(to, last));
        [earlier.map(|held| held.into_message(core)), None]
    }

    /// What was delayed and is to be sent now.
    pub(crate) fn take_due(&mut self, core: &RawNode<Entries>, now_ms: u64) -> Vec<Message> {
        if core.raft.state != StateRole::Leader {
            *self = Delayed::default();
            return Vec::new();
        }
        self.look(core);
        let committed = core.raft.raft_log.committed;
        let is_due = |(to, held): (&u64, &Held)| held.is_due(now_ms, committed).then_some(*to);
        let due: Vec<u64> = self.held.iter().filter_map(is_due).collect();
        let held = due.iter().filter_map(|to| self.held.remove(to)).filter(|held| held.is_of_leader(core));
        held.map(|held| held.into_message(core)).collect()
    }

    /// When something that is delayed is to be sent.
    pub(crate) fn due_ms(&self) -> Option<u64> {
        self.held.values().map(|held| held.due_ms(self.committed)).min()
    }

    /// May entries for this follower wait?
    fn may_wait(&self, to: u64, core: &RawNode<Entries>, now_ms: u64) -> bool {
        let (_, members) = core.store().members();
        if core.raft.state != StateRole::Leader || members.is_joint() || self.asks(to, now_ms) {
            return false;
        }
        let follows = |id: u64| {
            let progress = core.raft.prs().get(id);
            progress.is_some_and(|progress| progress.state == ProgressState::Replicate)
                && members.voters.contains(&ReplicaId(id))
        };
        let Some(at) = self.order.iter().position(|id| *id == to).filter(|_| follows(to)) else {
            return false;
        };
        let is_served = |(before, id): (usize, &u64)| follows(*id) && (before < at || self.asks(*id, now_ms));
        let served = self.order.iter().enumerate().filter(|each| is_served(*each)).count();
        2 * (served + 1) > members.voters.len()
    }

    fn asks(&self, id: u64, now_ms: u64) -> bool {
        self.asked_ms.get(&id).is_some_and(|asked_ms| now_ms < asked_ms + ASKED_MS)
    }

    /// Looks at who has what is committed. Followers that have it come first, if those that came first often lacked it.
    fn look(&mut self, core: &RawNode<Entries>) {
        let progress = core.raft.prs();
        self.order.retain(|id| progress.get(*id).is_some());
        if self.order.len() + 1 != progress.iter().len() {
            let is_new = |id: &u64| *id != core.raft.id && !self.order.contains(id);
            let mut new: Vec<u64> = progress.iter().map(|(id, _)| *id).filter(is_new).collect();
            new.sort_unstable();
            self.order.append(&mut new);
        }
        let committed = core.raft.raft_log.committed;
        if std::mem::replace(&mut self.committed, committed) == committed {
            return;
        }
        let lacks = |id: &u64| progress.get(*id).is_none_or(|progress| progress.matched < committed);
        let needed = core.store().members().1.voters.len() / 2;
        if !self.order.iter().take(needed).any(lacks) {
            self.late = 0;
            return;
        }
        self.late += 1;
        if self.late == LATE_MAX {
            self.late = 0;
            self.order.sort_by_key(lacks);
        }
    }
}

impl Held {
    fn new(message: Message, now_ms: u64) -> Held {
        let bytes = bytes_of(&message);
        Held { message, since_ms: now_ms, messages: 1, bytes }
    }

    /// Does the replica still lead in the term of the message? Otherwise it sends nothing of it: what it knows to be committed by now may be other
    /// entries.
    fn is_of_leader(&self, core: &RawNode<Entries>) -> bool {
        core.raft.state == StateRole::Leader && core.raft.term == self.message.term
    }

    /// Appends the entries of a message that follows; returns it if it does not follow, or is too long for that.
    fn append(&mut self, mut message: Message) -> Option<Message> {
        let bytes = self.bytes + bytes_of(&message);
        let follows = message.term == self.message.term && message.index == last_of(&self.message);
        if !follows || bytes as u64 > ENTRIES_BYTES {
            return Some(message);
        }
        self.bytes = bytes;
        self.messages += 1;
        self.message.entries.extend(message.take_entries());
        None
    }

    fn is_due(&self, now_ms: u64, committed: u64) -> bool {
        now_ms >= self.due_ms(committed) || self.bytes >= BYTES_MAX || self.messages >= MESSAGES_MAX
    }

    fn due_ms(&self, committed: u64) -> u64 {
        let is_committed = last_of(&self.message) <= committed;
        self.since_ms + if is_committed { WAIT_MS } else { UNCOMMITTED_WAIT_MS }
    }

    /// The message, which says how much is committed now, as the core would.
    fn into_message(mut self, core: &RawNode<Entries>) -> Message {
        self.message.commit = core.raft.raft_log.committed;
        self.message
    }
}

fn bytes_of(message: &Message) -> usize {
    message.entries.iter().map(|entry| entry.data.len()).sum()
}

/// The last entry of a message that has entries.
fn last_of(message: &Message) -> u64 {
    message.index + message.entries.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member::{Base, Members};
    use crate::record::HardState;
    use raft::Config;
    use raft::eraftpb::Entry;
    use std::collections::VecDeque;
    use wal::Index;

    /// Replica 1, which leads `count` that vote, and sends to all of them.
    fn leader_of(count: u64) -> (Delayed, RawNode<Entries>) {
        let members = Members::of_voters((1..=count).map(ReplicaId));
        let entries = Entries::new(
            Base { index: 0, term: 1, members },
            Index(0),
            VecDeque::new(),
            HardState { term: 1, vote: 0, commit: 0 },
        );
        let config = Config { id: 1, election_tick: 20, heartbeat_tick: 2, ..Config::default() };
        let mut core = RawNode::new(&config, entries, &crate::trace::logger()).unwrap();
        core.raft.become_candidate();
        core.raft.become_leader();
        (2..=count).for_each(|id| core.raft.mut_prs().get_mut(id).unwrap().become_replicate());
        let mut delayed = Delayed::default();
        assert!(delayed.take_due(&core, 0).is_empty());
        (delayed, core)
    }

    /// One entry `index` of so many bytes, for a follower.
    fn append(core: &RawNode<Entries>, to: u64, index: u64, bytes: usize) -> Message {
        let term = core.raft.term;
        let mut message = Message { to, term, log_term: term, index: index - 1, ..Message::default() };
        message.set_msg_type(MessageType::MsgAppend);
        message.entries.push(Entry { term, index, data: vec![7; bytes].into(), ..Entry::default() });
        message
    }

    fn commit(core: &mut RawNode<Entries>, index: u64, by: &[u64]) {
        core.raft.raft_log.committed = index;
        by.iter().for_each(|id| core.raft.mut_prs().get_mut(*id).unwrap().matched = index);
    }

    /// Who gets entry `index` at once, of those that it is sent to.
    fn at_once(delayed: &mut Delayed, core: &RawNode<Entries>, index: u64, now_ms: u64) -> Vec<u64> {
        let others = 2..=core.store().members().1.voters.len() as u64;
        let sent = others.flat_map(|to| delayed.pass(append(core, to, index, 8), core, now_ms));
        sent.flatten().filter(|message| last_of(message) == index).map(|message| message.to).collect()
    }

    #[test]
    fn a_majority_is_served_at_once_and_the_others_get_all_together() {
        for (count, served) in [(3, vec![2]), (4, vec![2, 3]), (5, vec![2, 3]), (7, vec![2, 3, 4])] {
            let (mut delayed, mut core) = leader_of(count);
            assert_eq!(at_once(&mut delayed, &core, 1, 100), served);
            assert_eq!(at_once(&mut delayed, &core, 2, 101), served);
            assert_eq!(delayed.due_ms(), Some(105), "they are not committed");
            commit(&mut core, 2, &served);
            assert!(delayed.take_due(&core, 109).is_empty());
            assert_eq!(delayed.due_ms(), Some(110));
            let sent = delayed.take_due(&core, 110);
            let said = sent.iter().map(|message| (message.index, last_of(message), message.commit));
            assert_eq!(said.collect::<Vec<_>>(), vec![(0, 2, 2); count as usize - 1 - served.len()]);
            assert_eq!(delayed.due_ms(), None);
        }
        let (mut delayed, core) = leader_of(2);
        assert_eq!(at_once(&mut delayed, &core, 1, 100), [2]);
    }

    #[test]
    fn what_is_not_committed_soon_goes_to_all() {
        let (mut delayed, core) = leader_of(3);
        assert_eq!(at_once(&mut delayed, &core, 1, 100), [2]);
        assert!(delayed.take_due(&core, 104).is_empty());
        assert_eq!(delayed.take_due(&core, 105).len(), 1);
    }

    #[test]
    fn a_follower_that_asks_or_is_sent_something_else_has_all_at_once() {
        let (mut delayed, core) = leader_of(3);
        assert_eq!(at_once(&mut delayed, &core, 1, 100), [2]);
        let mut heartbeat = Message { to: 3, term: core.raft.term, ..Message::default() };
        heartbeat.set_msg_type(MessageType::MsgHeartbeat);
        let sent = delayed.pass(heartbeat, &core, 101).map(|message| message.unwrap().get_msg_type());
        assert_eq!(sent, [MessageType::MsgAppend, MessageType::MsgHeartbeat], "in this order");
        assert_eq!(at_once(&mut delayed, &core, 2, 102), [2]);
        delayed.on_question(3, 103);
        let sent = delayed.pass(append(&core, 3, 3, 8), &core, 103);
        let sent: Vec<_> = sent.iter().flatten().map(|message| (message.index, last_of(message))).collect();
        assert_eq!(sent, [(1, 3)], "what was delayed is in the same message");
        assert_eq!(at_once(&mut delayed, &core, 4, 104), [3], "it makes the majority");
        delayed.on_question(2, 105);
        assert_eq!(at_once(&mut delayed, &core, 5, 105), [2, 3]);
        assert_eq!(at_once(&mut delayed, &core, 6, 204), [2]);
    }

    #[test]
    fn bytes_and_messages_that_are_delayed_have_a_bound() {
        let (mut delayed, core) = leader_of(3);
        let mut pass = |index, bytes| {
            let sent = delayed.pass(append(&core, 3, index, bytes), &core, 100);
            let due = delayed.take_due(&core, 100);
            let sent = sent.into_iter().flatten().chain(due);
            sent.map(|message| (message.index + 1, last_of(&message))).collect::<Vec<_>>()
        };
        for index in 1..MESSAGES_MAX as u64 {
            assert_eq!(pass(index, 8), []);
        }
        assert_eq!(pass(32, 8), [(1, 32)]);
        assert_eq!(pass(33, BYTES_MAX - 1), []);
        assert_eq!(pass(34, 1), [(33, 34)]);
        assert_eq!(pass(35, 8), []);
        assert_eq!(pass(36, 19 << 20), [(35, 35), (36, 36)], "it has no room beside others in a message");
    }

    #[test]
    fn a_former_leader_sends_nothing_of_it() {
        let (mut delayed, mut core) = leader_of(3);
        assert_eq!(at_once(&mut delayed, &core, 1, 100), [2]);
        let term = core.raft.term;
        core.raft.become_follower(term + 1, 2);
        let mut vote = Message { to: 3, term: term + 1, ..Message::default() };
        vote.set_msg_type(MessageType::MsgRequestVoteResponse);
        assert_eq!(delayed.pass(vote.clone(), &core, 101), [None, Some(vote)]);
        assert_eq!(at_once(&mut delayed, &core, 2, 102), [2, 3]);
        assert_eq!(delayed.due_ms(), None);
    }

    #[test]
    fn a_follower_that_is_late_again_and_again_is_served_later() {
        let (mut delayed, mut core) = leader_of(3);
        for index in 1..=u64::from(LATE_MAX) {
            assert_eq!(at_once(&mut delayed, &core, index, 100 * index), [2]);
            commit(&mut core, index, &[3]);
            delayed.take_due(&core, 100 * index + 50);
        }
        assert_eq!(at_once(&mut delayed, &core, 9, 2_000), [3]);
        commit(&mut core, 9, &[2, 3]);
        delayed.take_due(&core, 2_050);
        // A follower that is not known to have all before it is asked for that first.
        core.raft.mut_prs().get_mut(3).unwrap().become_probe();
        assert_eq!(at_once(&mut delayed, &core, 10, 2_100), [2, 3]);
    }

    #[test]
    fn nothing_is_delayed_while_members_change_nor_for_one_without_a_vote() {
        let (mut delayed, mut core) = leader_of(3);
        let mut members = Members::of_voters([1, 2].map(ReplicaId));
        members.learners.push(ReplicaId(3));
        core.mut_store().on_members(1, members.clone());
        let sent = delayed.pass(append(&core, 3, 1, 8), &core, 100);
        assert!(sent.iter().any(Option::is_some), "a learner");
        members = Members::of_voters([1, 2, 3].map(ReplicaId));
        members.outgoing = [1, 2].map(ReplicaId).into();
        core.mut_store().on_members(2, members);
        assert_eq!(at_once(&mut delayed, &core, 2, 100), [2, 3]);
    }
}
