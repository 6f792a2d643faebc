//! Entries that a leader sends later to followers which no majority needs. An entry is committed as soon as a majority has it, so the leader serves as many
//! followers at once as make a majority with it. The others get the entries of several messages as one, some milliseconds later: one message,
//! one sync and one answer in place of many. (The literature of Paxos calls a leader *thrifty* that sends to no more replicas than it needs.)
//!
//! An entry that is committed is on a majority as before. A follower that asks something is served at once, for its clients wait; so are all where those
//! that come first do not commit soon. Once in a second, and when those lacked what was committed, all are served at once for some commits: that is
//! the trial by which it is known who comes first.

use crate::entries::Entries;
use crate::faults;
use crate::member::ReplicaId;
use crate::message::{ENTRIES_BYTES, MESSAGES_ON_THEIR_WAY};
use env::planted;
use raft::eraftpb::{Message, MessageType};
use raft::{ProgressState, RawNode, StateRole};
use std::collections::{BTreeMap, VecDeque};

/// Milliseconds that entries are delayed at most.
const WAIT_MS: u64 = 10;
/// The same while they are not committed: then they may be needed.
const UNCOMMITTED_WAIT_MS: u64 = 5;
/// Bytes of entries that are delayed for a follower at most.
const BYTES_MAX: usize = 512 << 10;
/// Messages that are delayed for a follower at most: fewer than the core lets be on their way.
const MESSAGES_MAX: usize = MESSAGES_ON_THEIR_WAY / 2;
/// Milliseconds in which a follower that has asked something is served at once.
const ASKED_MS: u64 = 500;
/// Milliseconds from one trial to the next.
const TRIAL_MS: u64 = 1_000;
/// Commits of a trial.
const TRIAL_COMMITS: u32 = 8;
/// Of these, by so many more a follower must have had in time what was committed to come before one that came first.
const TRIAL_MARGIN: u32 = 4;

/// What is delayed for a follower: several messages as one.
#[derive(Debug)]
struct Held {
    message: Message,
    bytes: usize,
    /// The last entry of each message, and since when it is delayed: one at least.
    each: VecDeque<(u64, u64)>,
}

/// A trial of who is first.
#[derive(Debug, Default)]
struct Trial {
    commits: u32,
    /// How often each follower had what was committed when that was noticed.
    had: BTreeMap<u64, u32>,
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
    trial: Option<Trial>,
    /// When the last one began.
    tried_ms: u64,
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
        if message.get_msg_type() == MessageType::MsgHeartbeat {
            // It says no more of the log than what the follower is known to have, so it may overtake entries.
            return [None, Some(message)];
        }
        let (to, is_append) = (message.to, message.get_msg_type() == MessageType::MsgAppend);
        let mut held = self.held.remove(&to).filter(|held| held.is_of_leader(core));
        let rest = match &mut held {
            Some(held) if is_append => held.append(message, now_ms),
            _ => Some(message),
        };
        let can_wait = is_append && self.may_wait(to, core, now_ms);
        let (earlier, rest, waits) = match rest {
            None if can_wait => (None, None, held),
            Some(message) if can_wait && !message.entries.is_empty() => {
                (held, None, Some(Held::new(message, now_ms)))
            }
            rest => (held, rest, None),
        };
        if let Some(waits) = waits {
            self.held.insert(to, waits);
        }
        [earlier.map(|held| held.into_message(core)), rest]
    }

    /// What was delayed and is to be sent now.
    pub(crate) fn take_due(&mut self, core: &RawNode<Entries>, now_ms: u64) -> Vec<Message> {
        if core.raft.state != StateRole::Leader {
            *self = Delayed::default();
            return Vec::new();
        }
        self.look(core, now_ms);
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
        let is_asking = self.asked_ms.get(&to).is_some_and(|asked_ms| now_ms < asked_ms + ASKED_MS);
        let is_steady = core.raft.state == StateRole::Leader
            && core.raft.lead_transferee.is_none()
            && !core.store().members().1.is_joint();
        is_steady
            && self.trial.is_none()
            && !is_asking
            && self.order.contains(&to)
            && follows(core, to)
            && !self.first(core).any(|first| first == to)
    }

    /// The followers that make a majority with the leader, of those that can be sent entries.
    fn first(&self, core: &RawNode<Entries>) -> impl Iterator<Item = u64> {
        let needed = core.store().members().1.voters.len() / 2;
        self.order.iter().copied().filter(|id| follows(core, *id)).take(needed)
    }

    /// Looks at who has what is committed.
    fn look(&mut self, core: &RawNode<Entries>, now_ms: u64) {
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
        let has = |id: u64| progress.get(id).is_some_and(|progress| progress.matched >= committed);
        if let Some(trial) = &mut self.trial {
            trial.commits += 1;
            self.order.iter().filter(|id| has(**id)).for_each(|id| *trial.had.entry(*id).or_default() += 1);
            if trial.commits == TRIAL_COMMITS {
                self.end_trial(core);
            }
        } else if now_ms >= self.tried_ms + TRIAL_MS || !self.first(core).all(has) {
            (self.trial, self.tried_ms) = (Some(Trial::default()), now_ms);
        }
    }

    /// Followers that often had in time what others lacked come first from now on.
    fn end_trial(&mut self, core: &RawNode<Entries>) {
        let Some(Trial { had, .. }) = self.trial.take() else { return };
        let first: Vec<u64> = self.first(core).collect();
        let score = |id: &u64| {
            let margin = if first.contains(id) { TRIAL_MARGIN } else { 0 };
            had.get(id).map_or(0, |had| had + margin)
        };
        self.order.sort_by_key(|id| std::cmp::Reverse(score(id)));
    }
}

/// Does a follower vote, and can it be sent entries that follow those that it was sent?
fn follows(core: &RawNode<Entries>, id: u64) -> bool {
    let progress = core.raft.prs().get(id);
    progress.is_some_and(|progress| progress.state == ProgressState::Replicate)
        && core.store().members().1.voters.contains(&ReplicaId(id))
}

impl Held {
    fn new(message: Message, now_ms: u64) -> Held {
        let (bytes, each) = (bytes_of(&message), VecDeque::from([(last_of(&message), now_ms)]));
        Held { message, bytes, each }
    }

    /// Does the replica still lead in the term of the message? Otherwise it sends nothing of it: what it knows to be committed by now may be other
    /// entries.
    fn is_of_leader(&self, core: &RawNode<Entries>) -> bool {
        core.raft.state == StateRole::Leader && core.raft.term == self.message.term
    }

    /// Appends the entries of a message that follows; returns it if it does not follow, or is too long for that.
    fn append(&mut self, mut message: Message, now_ms: u64) -> Option<Message> {
        let bytes = self.bytes + bytes_of(&message);
        let follows = message.term == self.message.term && message.index == last_of(&self.message);
        if !follows || bytes as u64 > ENTRIES_BYTES {
            return Some(message);
        }
        if !message.entries.is_empty() {
            self.bytes = bytes;
            self.each.push_back((last_of(&message), now_ms));
            self.message.entries.extend(message.take_entries());
        }
        None
    }

    fn is_due(&self, now_ms: u64, committed: u64) -> bool {
        now_ms >= self.due_ms(committed) || self.bytes >= BYTES_MAX || self.each.len() >= MESSAGES_MAX
    }

    fn due_ms(&self, committed: u64) -> u64 {
        let first_ms = self.each.front().map(|(_, since_ms)| since_ms + WAIT_MS);
        let uncommitted = self.each.iter().find(|(last, _)| *last > committed);
        let needed_ms = uncommitted.map(|(_, since_ms)| since_ms + UNCOMMITTED_WAIT_MS);
        first_ms.into_iter().chain(needed_ms).min().expect("there is a message")
    }

    /// The message, which says how much is committed now, as the core would.
    fn into_message(mut self, core: &RawNode<Entries>) -> Message {
        self.message.commit = match planted::is(faults::DELAYED_SAYS_ALL_IS_COMMITTED) {
            true => last_of(&self.message),
            false => core.raft.raft_log.committed,
        };
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
        let sent = core.raft.prs().iter().map(|(id, _)| *id).filter(|id| *id != 1);
        let sent = sent.collect::<std::collections::BTreeSet<_>>().into_iter();
        let sent = sent.flat_map(|to| delayed.pass(append(core, to, index, 8), core, now_ms));
        sent.flatten().filter(|message| last_of(message) == index).map(|message| message.to).collect()
    }

    /// The entry before the first, the last, and the commit index of messages.
    fn said(messages: impl IntoIterator<Item = Message>) -> Vec<(u64, u64, u64)> {
        messages.into_iter().map(|message| (message.index, last_of(&message), message.commit)).collect()
    }

    /// Commits entries from `index` on, one in 5 ms from `now_ms`, which `by` have in time, until a trial has ended.
    fn trial(
        delayed: &mut Delayed,
        core: &mut RawNode<Entries>,
        index: u64,
        now_ms: u64,
        by: impl Fn(u64) -> Vec<u64>,
    ) {
        for count in 0..=u64::from(TRIAL_COMMITS) {
            commit(core, index + count, &by(count));
            assert_eq!(delayed.trial.is_some(), count > 0);
            delayed.take_due(core, now_ms + 5 * count);
        }
        assert!(delayed.trial.is_none());
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
            let sent = said(delayed.take_due(&core, 110));
            assert_eq!(sent, vec![(0, 2, 2); count as usize - 1 - served.len()]);
            assert_eq!(delayed.due_ms(), None);
        }
        let (mut delayed, core) = leader_of(2);
        assert_eq!(at_once(&mut delayed, &core, 1, 100), [2]);
    }

    #[test]
    fn what_is_not_committed_soon_goes_to_all_and_is_not_said_to_be_committed() {
        let (mut delayed, mut core) = leader_of(3);
        for (index, now_ms) in [(1, 100), (2, 103), (3, 104)] {
            assert_eq!(at_once(&mut delayed, &core, index, now_ms), [2]);
        }
        commit(&mut core, 1, &[2]);
        assert!(delayed.take_due(&core, 107).is_empty(), "the second has not waited long");
        assert_eq!(said(delayed.take_due(&core, 108)), [(0, 3, 1)]);
    }

    #[test]
    fn a_follower_that_asks_has_all_at_once_and_another_one_that_comes_first_too() {
        let (mut delayed, core) = leader_of(3);
        assert_eq!(at_once(&mut delayed, &core, 1, 100), [2]);
        assert_eq!(at_once(&mut delayed, &core, 2, 100), [2]);
        delayed.on_question(3, 103);
        assert_eq!(said(delayed.pass(append(&core, 3, 3, 8), &core, 103).into_iter().flatten()), [(0, 3, 0)]);
        assert_eq!(at_once(&mut delayed, &core, 4, 602), [2, 3]);
        assert_eq!(at_once(&mut delayed, &core, 5, 603), [2]);
    }

    #[test]
    fn another_message_takes_with_it_what_was_delayed_and_a_heartbeat_does_not() {
        let (mut delayed, core) = leader_of(3);
        let mut other = Message { to: 3, term: core.raft.term, ..Message::default() };
        other.set_msg_type(MessageType::MsgHeartbeat);
        assert_eq!(at_once(&mut delayed, &core, 1, 100), [2]);
        assert_eq!(delayed.pass(other.clone(), &core, 101), [None, Some(other.clone())]);
        let mut empty = append(&core, 3, 2, 0);
        empty.entries.clear();
        assert_eq!(delayed.pass(empty.clone(), &core, 101), [None, None], "what was delayed says as much");
        other.set_msg_type(MessageType::MsgReadIndexResp);
        let sent = delayed.pass(other, &core, 101).map(|message| message.unwrap().get_msg_type());
        assert_eq!(sent, [MessageType::MsgAppend, MessageType::MsgReadIndexResp], "in this order");
        assert_eq!(delayed.pass(empty.clone(), &core, 101), [None, Some(empty)]);
    }

    #[test]
    fn nothing_is_delayed_while_another_one_is_to_lead() {
        let (mut delayed, mut core) = leader_of(3);
        assert_eq!(at_once(&mut delayed, &core, 1, 100), [2]);
        core.raft.lead_transferee = Some(3);
        let mut empty = append(&core, 3, 2, 0);
        empty.entries.clear();
        assert_eq!(said(delayed.pass(empty, &core, 101).into_iter().flatten()), [(0, 1, 0)]);
        assert_eq!(at_once(&mut delayed, &core, 2, 101), [2, 3]);
    }

    #[test]
    fn only_entries_that_follow_become_one_message() {
        let (mut delayed, mut core) = leader_of(3);
        let mut pass = |core: &RawNode<Entries>, index| {
            said(delayed.pass(append(core, 3, index, 8), core, 100).into_iter().flatten())
        };
        assert_eq!(pass(&core, 5), []);
        assert_eq!(pass(&core, 7), [(4, 5, 0)], "there is a gap");
        assert_eq!(pass(&core, 8), []);
        assert_eq!(pass(&core, 8), [(6, 8, 0)], "it was sent before");
        // It leads again, and has taken no step meanwhile.
        core.raft.term += 2;
        assert_eq!(pass(&core, 9), [], "what was delayed in the former term is dropped");
        assert_eq!(pass(&core, 20), [(8, 9, 0)]);
    }

    #[test]
    fn bytes_and_messages_that_are_delayed_have_a_bound() {
        let (mut delayed, core) = leader_of(3);
        let mut pass = |index, bytes| {
            let sent = delayed.pass(append(&core, 3, index, bytes), &core, 100);
            let due = delayed.take_due(&core, 100);
            said(sent.into_iter().flatten().chain(due))
        };
        for index in 1..MESSAGES_MAX as u64 {
            assert_eq!(pass(index, 8), []);
        }
        assert_eq!(pass(32, 8), [(0, 32, 0)]);
        assert_eq!(pass(33, BYTES_MAX - 1), []);
        assert_eq!(pass(34, 1), [(32, 34, 0)]);
        assert_eq!(pass(35, 8), []);
        assert_eq!(pass(36, 19 << 20), [(34, 35, 0), (35, 36, 0)], "no message has room for both");
    }

    #[test]
    fn a_former_leader_sends_nothing_of_it() {
        for leads_again in [false, true] {
            let (mut delayed, mut core) = leader_of(3);
            assert_eq!(at_once(&mut delayed, &core, 1, 100), [2]);
            let term = core.raft.term;
            core.raft.become_follower(term + 1, 2);
            if leads_again {
                core.raft.state = StateRole::Leader;
                assert!(delayed.take_due(&core, 200).is_empty());
                continue;
            }
            let mut vote = Message { to: 3, term: term + 1, ..Message::default() };
            vote.set_msg_type(MessageType::MsgRequestVoteResponse);
            assert_eq!(delayed.pass(vote.clone(), &core, 101), [None, Some(vote)]);
            assert_eq!(at_once(&mut delayed, &core, 2, 102), [2, 3]);
            assert!(delayed.take_due(&core, 200).is_empty());
            assert_eq!(delayed.due_ms(), None);
        }
    }

    #[test]
    fn a_follower_that_lacks_what_others_have_comes_first_no_more() {
        let (mut delayed, mut core) = leader_of(3);
        // It stands still: what it lacks begins a trial.
        trial(&mut delayed, &mut core, 1, 100, |_| vec![3]);
        assert_eq!(at_once(&mut delayed, &core, 10, 200), [3]);
        // A follower that is not known to have all before it is asked for that first, and is none that comes first.
        core.raft.mut_prs().get_mut(3).unwrap().become_probe();
        assert_eq!(at_once(&mut delayed, &core, 11, 300), [2, 3]);
    }

    #[test]
    fn once_in_a_second_a_faster_follower_can_come_first() {
        let (mut delayed, mut core) = leader_of(3);
        commit(&mut core, 1, &[2]);
        delayed.take_due(&core, TRIAL_MS - 1);
        assert_eq!(at_once(&mut delayed, &core, 2, TRIAL_MS - 1), [2]);
        // Nearly as fast as the first one, it comes behind it.
        trial(&mut delayed, &mut core, 2, TRIAL_MS, |count| if count < 5 { vec![2, 3] } else { vec![3] });
        assert_eq!(at_once(&mut delayed, &core, 11, TRIAL_MS + 50), [2]);
        trial(
            &mut delayed,
            &mut core,
            11,
            2 * TRIAL_MS,
            |count| {
                if count < 4 { vec![2, 3] } else { vec![3] }
            },
        );
        assert_eq!(at_once(&mut delayed, &core, 20, 2 * TRIAL_MS + 50), [3]);
    }

    #[test]
    fn in_a_trial_all_are_served_at_once() {
        let (mut delayed, mut core) = leader_of(5);
        commit(&mut core, 1, &[2, 4]);
        delayed.take_due(&core, 100);
        assert_eq!(at_once(&mut delayed, &core, 2, 100), [2, 3, 4, 5]);
    }

    #[test]
    fn nothing_is_delayed_while_members_change_nor_for_one_without_a_vote_which_comes_never_first() {
        let (mut delayed, mut core) = leader_of(4);
        let mut members = Members::of_voters([1, 3, 4].map(ReplicaId));
        members.learners.push(ReplicaId(2));
        core.mut_store().on_members(1, members.clone());
        assert_eq!(at_once(&mut delayed, &core, 1, 100), [2, 3]);
        // A learner that has all says nothing of the voters.
        trial(&mut delayed, &mut core, 1, 100, |_| vec![2, 4]);
        assert_eq!(at_once(&mut delayed, &core, 10, 200), [2, 4]);
        members.outgoing = [1, 2].map(ReplicaId).into();
        core.mut_store().on_members(2, members);
        assert_eq!(at_once(&mut delayed, &core, 11, 300), [2, 3, 4]);
    }
}
