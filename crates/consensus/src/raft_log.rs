//! One replica's end of a log that several agree on.

mod questions;
mod shard_log;

use crate::commit_notice::CommitNotice;
use crate::control::{Compared, Control, Extent};
use crate::delayed::Delayed;
use crate::entries::Entries;
use crate::lease::{OwnLease, Question};
use crate::links::Links;
use crate::member::ReplicaId;
use crate::message::{ENTRIES_BYTES, MESSAGES_ON_THEIR_WAY};
use crate::persist::{Persist, RECORD_BYTES};
use crate::promise::Promise;
use crate::reads::Reads;
use crate::record::{ENTRY_HEAD_BYTES, HardState};
use crate::recovery::Recovered;
use crate::ticks::{ELECTION_TICKS, HEARTBEAT_TICKS, SPREAD_TICKS, Ticks};
use crate::transfers::{Fetch, Retention, Transfers, WantedSnapshot};
use crate::{faults, message, trace};
use env::entropy::{Entropy as _, SeededEntropy};
use env::planted;
use raft::eraftpb::{Entry, Message, MessageType};
use raft::{CAMPAIGN_TRANSFER, Config, RawNode, ReadOnlyOption, SnapshotStatus, StateRole};
use std::collections::VecDeque;
use wal::{Index, Mode, Position, ReadMode, Refused, Writer};

/// Bytes of entries that are proposed and not committed: beyond it nothing is proposed, but one entry that is longer alone.
const UNCOMMITTED_BYTES_MAX: u64 = 32 << 20;
/// Bytes of committed entries that the core hands out at once.
const COMMITTED_BYTES: u64 = 4 << 20;
/// Bytes of entries, and entries, that are committed and not taken, for which this replica takes no more from the leader.
const UNTAKEN_BYTES_MAX: usize = 64 << 20;
const UNTAKEN_MAX: usize = 1 << 16;
/// A leader whose disk has no room transfers its leadership, and does so again after this many milliseconds at the earliest: where no disk
/// has room, leaders should not change all the time.
const TRANSFER_MS: u64 = 600_000;

/// See the module.
pub struct RaftLog {
    pub(crate) id: ReplicaId,
    pub(crate) core: RawNode<Entries>,
    pub(crate) persist: Persist,
    links: Box<dyn Links>,
    ticks: Ticks,
    pub(crate) reads: Reads,
    notice: CommitNotice,
    delayed: Delayed,
    read_mode: ReadMode,
    pub(crate) lease: OwnLease,
    promise: Promise,
    /// Committed, and not handed out.
    committed: VecDeque<Entry>,
    pub(crate) now_ms: u64,
    /// Something was not proposed for want of room.
    lacks_room: bool,
    /// When it last wanted another replica to lead, for want of room.
    transferred_ms: Option<u64>,
    retention: Retention,
    pub(crate) transfers: Transfers,
    /// The snapshot of the leader without which this replica cannot go on.
    pub(crate) wanted: Option<WantedSnapshot>,
    /// When it was last reported to the leader how its fetch fares.
    pub(crate) reported_ms: u64,
    /// The term to whose leader it was reported what this replica has.
    reported_term: u64,
    pub(crate) control: Control,
    /// What the comparison of replicas has come to.
    pub(crate) compared: Compared,
    /// The term, the leader and the members that were published last.
    pub(crate) published: (u64, Option<ReplicaId>, u64),
    pub(crate) published_ms: u64,
}

/// How a replica fares, for the one that looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The term that it knows of.
    pub term: u64,
    /// The replica that leads, as far as it knows.
    pub leader: Option<ReplicaId>,
    /// Does it lead itself?
    pub leads: bool,
    /// The last entry that it knows to be committed.
    pub commit: u64,
    /// The last entry that it has.
    pub last: u64,
}

impl RaftLog {
    /// The end of replica `id`, which goes on with what it recovered. `writer` writes the log that this was recovered from. Chance
    /// is that of `seed`.
    ///
    /// # Panics
    /// If the log is not synced always: another replica relies on what this one has said.
    pub fn new(
        id: ReplicaId,
        Recovered(entries): Recovered,
        writer: Writer,
        links: Box<dyn Links>,
        retention: Retention,
        seed: u64,
    ) -> RaftLog {
        assert!(writer.log().mode() == Mode::Always, "a replica syncs what it says that it has");
        let mut seeds = SeededEntropy::new(seed);
        let applied = raft::Storage::first_index(&entries).map_or(0, |first| first - 1);
        let config = Config {
            id: id.0,
            election_tick: ELECTION_TICKS,
            heartbeat_tick: HEARTBEAT_TICKS,
            applied,
            max_size_per_msg: ENTRIES_BYTES,
            max_inflight_msgs: MESSAGES_ON_THEIR_WAY,
            check_quorum: true,
            pre_vote: true,
            // What the core draws is replaced before each tick: chance is in `ticks`, from the seed.
            min_election_tick: ELECTION_TICKS,
            max_election_tick: ELECTION_TICKS + SPREAD_TICKS,
            read_only_option: ReadOnlyOption::Safe,
            // It would put all that a follower lacks into one message, however much that is.
            batch_append: false,
            // `CommitNotice` says it.
            skip_bcast_commit: true,
            max_uncommitted_size: UNCOMMITTED_BYTES_MAX,
            max_committed_size_per_ready: COMMITTED_BYTES,
            ..Config::default()
        };
        let core = RawNode::new(&config, entries, &trace::logger());
        let mut core = core.expect("the configuration is sound, and the entries are in memory");
        let started = Extent { term: core.raft.term, index: core.raft.raft_log.last_index() };
        let control = Control::default();
        control.publish(|view| (view.started, view.durable) = (started, started));
        if core.raft.prs().is_singleton() && core.raft.promotable() {
            // There is nobody to wait for.
            core.campaign().expect("a replica that votes may want to lead");
        }
        let mut log = RaftLog {
            id,
            core,
            persist: Persist::new(writer, started),
            links,
            ticks: Ticks::new(seeds.next_u64()),
            reads: Reads::new(id, seeds.next_u64()),
            notice: CommitNotice::default(),
            delayed: Delayed::default(),
            read_mode: ReadMode::default(),
            lease: OwnLease::default(),
            promise: Promise::of_start(),
            committed: VecDeque::new(),
            now_ms: 0,
            lacks_room: false,
            transferred_ms: None,
            retention,
            transfers: Transfers::default(),
            wanted: None,
            reported_ms: 0,
            reported_term: 0,
            control,
            compared: Compared::default(),
            published: (0, None, 0),
            published_ms: 0,
        };
        if planted::is(faults::CHANGES_APPLIED_AT_START) {
            log.apply_all_changes();
        }
        log.publish();
        log
    }

    /// What others see of this replica and ask of it.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// How it fares.
    pub fn status(&self) -> Status {
        let raft = &self.core.raft;
        Status {
            term: raft.term,
            leader: Some(ReplicaId(raft.leader_id)).filter(|leader| leader.0 != 0),
            leads: raft.state == StateRole::Leader,
            commit: raft.raft_log.committed,
            last: raft.raft_log.last_index(),
        }
    }

    /// Takes what came from other replicas.
    fn receive(&mut self) {
        while let Some((from, bytes)) = self.links.receive() {
            if self.persist.is_full() {
                // Who cannot answer does not listen.
                continue;
            }
            let message = match message::decode(&bytes) {
                Ok(message) if message.from == from.0 && message.to == self.id.0 => message,
                Ok(message) => {
                    let (sender, to) = (message.from, message.to);
                    tracing::warn!(%from, sender, to, "a message from another replica is not what its link says; it is ignored");
                    continue;
                }
                Err(malformed) => {
                    tracing::warn!(%from, ?malformed, "a message from another replica cannot be read; it is ignored");
                    continue;
                }
            };
            if let Some(reason) = self.reason_to_ignore(&message) {
                tracing::warn!(%from, reason, "a message from another replica is ignored");
                continue;
            }
            self.transfers.on_message(message.from, self.now_ms);
            if message.get_msg_type() == MessageType::MsgReadIndex {
                self.delayed.on_question(message.from, self.now_ms);
            }
            if self.is_of_leader(&message) {
                self.promise.renew();
            } else if self.is_against_promise(&message) {
                continue;
            }
            match message.get_msg_type() {
                MessageType::MsgSnapshot => self.on_snapshot(message),
                MessageType::MsgSnapStatus => self.on_fetch_of_follower(&message),
                MessageType::MsgTimeoutNow if self.is_rebuilt() => {}
                _ => {
                    if planted::is(faults::LEASE_BY_ANY_ANSWER) {
                        self.take_any_answer(&message);
                    }
                    let Some(message) = self.answer_question(message) else { continue };
                    let Some(message) = self.with_what_has_room(message) else { continue };
                    self.step(message);
                }
            }
        }
    }

    /// Is it what a leader sends to a follower? One of an earlier term is none.
    fn is_of_leader(&self, message: &Message) -> bool {
        let is_leaders = matches!(
            message.get_msg_type(),
            MessageType::MsgAppend | MessageType::MsgHeartbeat | MessageType::MsgSnapshot
        );
        is_leaders && message.term >= self.core.raft.term
    }

    /// Does somebody want a vote which the leader was promised that nobody gets? A replica that leads has promised nobody. One that
    /// was asked by its leader to lead may get it.
    fn is_against_promise(&self, message: &Message) -> bool {
        let wants_vote =
            matches!(message.get_msg_type(), MessageType::MsgRequestVote | MessageType::MsgRequestPreVote);
        let is_forced = message.context[..] == *CAMPAIGN_TRANSFER;
        wants_vote && !is_forced && self.promise.holds(self.now_ms)
    }

    fn step(&mut self, message: Message) {
        let from = message.from;
        if let Err(error) = self.core.step(message) {
            tracing::debug!(from, %error, "a message from another replica is ignored");
        }
    }

    /// The leader has not the entries any more that this replica needs. The core hears of that only if it has them after all: a
    /// snapshot counts when its files are there, and meanwhile heartbeats are answered.
    fn on_snapshot(&mut self, message: Message) {
        let raft = &self.core.raft;
        if message.term < raft.term {
            return;
        }
        let metadata = message.get_snapshot().get_metadata();
        let at = Position { index: Index(metadata.index), term: metadata.term };
        let is_early = planted::is(faults::holes::SNAPSHOT_STEPPED_EARLY);
        let log = &raft.raft_log;
        if log.match_term(at.index.0, at.term) || at.index.0 <= log.committed || is_early {
            return self.step(message);
        }
        let wanted = WantedSnapshot { from: ReplicaId(message.from), at };
        if self.wanted != Some(wanted) {
            tracing::info!(
                from = wanted.from.0,
                entry = at.index.0,
                "this replica is so far behind that it needs a snapshot"
            );
        }
        (self.wanted, self.published_ms) = (Some(wanted), 0);
        self.report_fetch(Fetch::Goes);
    }

    /// Tells the replica that has the snapshot how its fetch fares.
    pub(crate) fn report_fetch(&mut self, fetch: Fetch) {
        let Some(wanted) = self.wanted else { return };
        let mut message = Message { from: self.id.0, to: wanted.from.0, ..Message::default() };
        message.set_msg_type(MessageType::MsgSnapStatus);
        (message.term, message.index) = (self.core.raft.term, wanted.at.index.0);
        message.reject = fetch == Fetch::Failed;
        self.reported_ms = self.now_ms;
        self.send(vec![message]);
    }

    fn on_fetch_of_follower(&mut self, message: &Message) {
        match message.reject {
            true => self.core.report_snapshot(message.from, SnapshotStatus::Failure),
            false => self.transfers.on_heard(message.from, self.now_ms),
        }
    }

    /// Tells a leader of a term, once, what this replica certainly has of its log: one that has begun with a snapshot is asked by nobody. The term is
    /// on the disk by then: other replicas keep it, and refuse one that has forgotten it.
    fn tell_leader(&mut self) {
        let raft = &self.core.raft;
        let is_known = self.persist.synced().term == raft.term;
        if raft.leader_id == 0 || raft.leader_id == self.id.0 || self.reported_term == raft.term || !is_known
        {
            return;
        }
        self.reported_term = raft.term;
        let mut message =
            Message { from: self.id.0, to: raft.leader_id, term: raft.term, ..Message::default() };
        message.set_msg_type(MessageType::MsgAppendResponse);
        message.index = raft.raft_log.committed.min(raft.raft_log.persisted);
        message.commit = message.index;
        self.send(vec![message]);
    }

    /// Looks after followers that fetch a snapshot, and gives up entries that nobody needs.
    fn release_entries(&mut self) {
        let raft = &self.core.raft;
        let mut until = u64::MAX;
        if raft.state == StateRole::Leader {
            let last = raft.raft_log.last_index();
            let silent = self.transfers.look(raft.term, self.now_ms, raft.prs(), last);
            until = self.transfers.needed_by_none(self.id.0, self.now_ms, raft.prs());
            for id in silent {
                self.core.report_snapshot(id, SnapshotStatus::Failure);
            }
        } else {
            self.transfers = Transfers::default();
        }
        let Retention { bytes, bytes_for_followers } = self.retention;
        let is_waited_for = self.transfers.is_waited_for(self.now_ms);
        let entries = self.core.mut_store();
        entries.release(bytes, until);
        if !is_waited_for {
            entries.release(bytes_for_followers, u64::MAX);
        }
    }

    /// Why the core must not see a message, if it must not.
    fn reason_to_ignore(&self, message: &Message) -> Option<&'static str> {
        let raft = &self.core.raft;
        let is_beyond = message.commit > raft.raft_log.last_index();
        (message.get_msg_type() == MessageType::MsgHeartbeat && is_beyond)
            .then_some("it says that more is committed than was ever acknowledged here")
    }

    /// A message with as many of its entries as have a place in the files: the others come again. `None` if none has, and it is about
    /// nothing else.
    fn with_what_has_room(&self, mut message: Message) -> Option<Message> {
        if message.get_msg_type() != MessageType::MsgAppend || message.entries.is_empty() {
            return Some(message);
        }
        // What is committed and waits here is in memory. There is much of it only while it waits for a reader.
        let untaken: usize = self.committed.iter().map(|entry| entry.data.len()).sum();
        if untaken > UNTAKEN_BYTES_MAX || self.committed.len() > UNTAKEN_MAX {
            return None;
        }
        let (mut room, reserve) = (self.persist.room(self.unstable_bytes()), self.persist.reserve());
        let fits = message.entries.iter().take_while(|entry| {
            let bytes = ENTRY_HEAD_BYTES + entry.data.len() + RECORD_BYTES;
            // The entry with which a term begins has the room that is kept for votes.
            let kept = if entry.data.is_empty() { 0 } else { reserve };
            let has_room = bytes + kept < room;
            room = room.saturating_sub(bytes);
            has_room
        });
        let count = fits.count();
        message.entries.truncate(count);
        if planted::is(faults::holes::APPLIED_BEFORE_COMMITTED) {
            message.commit = u64::MAX;
        }
        (count > 0).then_some(message)
    }

    fn tick(&mut self) {
        let raft = &mut self.core.raft;
        // A replica that hears nothing, or whose directory is wrong, does not want to lead; one that leads is not kept from noticing that
        // it is alone. The only one that votes leads as soon as it wants to, and the core asks that its disk has all by then.
        let leads = raft.state == StateRole::Leader;
        let log = &raft.raft_log;
        let has_all = !raft.prs().is_singleton() || log.persisted == log.last_index();
        let hears = leads || (has_all && !self.persist.is_full() && !self.compared.standing.is_rebuilt());
        if self.ticks.is_due(self.now_ms) && hears {
            let timeout = self.ticks.timeout(raft.election_elapsed);
            if !leads && raft.election_elapsed + 1 >= timeout && self.promise.holds(self.now_ms) {
                return;
            }
            raft.set_randomized_election_timeout(timeout);
            self.core.tick();
        }
    }

    /// Bytes of entries that the core has and that are not written yet.
    fn unstable_bytes(&self) -> usize {
        let unstable = &self.core.raft.raft_log.unstable.entries;
        unstable.iter().map(|entry| ENTRY_HEAD_BYTES + entry.data.len() + RECORD_BYTES).sum()
    }

    /// Is there room for an entry with so many bytes?
    ///
    /// # Errors
    /// As [`Persist::must_have_room`].
    pub(crate) fn must_have_room(&mut self, bytes: usize) -> Result<(), Refused> {
        let has_room = self.persist.must_have_room(bytes, self.unstable_bytes());
        self.lacks_room |= matches!(has_room, Err(Refused::NoSpace(_)));
        has_room
    }

    /// Of the others that vote and were heard of, the one that has most of the log.
    pub(crate) fn next_leader(&self) -> Option<u64> {
        let votes = |id: u64| self.core.store().members().1.voters.contains(&ReplicaId(id));
        let others = self
            .core
            .raft
            .prs()
            .iter()
            .filter(|(id, progress)| **id != self.id.0 && progress.recent_active && votes(**id));
        others.max_by_key(|(id, progress)| (progress.matched, **id)).map(|(id, _)| *id)
    }

    /// A leader whose disk has no room for another file has one lead that has more of the log than others: it refuses every update, and
    /// the others may have room.
    fn transfer_for_room(&mut self) {
        let raft = &self.core.raft;
        let is_early = self.transferred_ms.is_some_and(|last| self.now_ms < last + TRANSFER_MS);
        if !std::mem::take(&mut self.lacks_room) || raft.state != StateRole::Leader || is_early {
            return;
        }
        let Some(next) = self.next_leader() else { return };
        tracing::warn!(to = next, "the disk has no room for the log: another replica is to lead");
        self.transferred_ms = Some(self.now_ms);
        self.core.transfer_leader(next);
    }

    /// Asks where the end of the log is, if somebody waits to know.
    fn ask(&mut self) {
        let raft = &self.core.raft;
        if self.persist.is_full() {
            return;
        }
        if planted::is(faults::BARRIER_NOT_AWAITED) {
            return self.reads.pass_unasked(raft.raft_log.committed);
        }
        // A question without a leader, or before its term has begun, is dropped without a word.
        let can_be_asked = match raft.state {
            StateRole::Leader => raft.commit_to_current_term(),
            _ => raft.leader_id != 0,
        };
        if !can_be_asked {
            return;
        }
        if self.reads.is_quiet() && self.is_question_due() {
            self.reads.ask();
        }
        if let Some(context) = self.reads.question(self.now_ms, raft.term) {
            self.core.read_index(context);
        }
    }

    /// Is something to be asked though nobody waits?
    fn is_question_due(&self) -> bool {
        (self.leads() && self.lease.is_due(self.now_ms))
            || (self.read_mode.knows_age && self.reads.is_old(self.now_ms))
    }

    /// A question was answered.
    fn on_answer(&mut self, context: &[u8], index: u64) {
        let answered = self.reads.on_answer(context, index);
        if let Some(question) = answered.filter(|question| question.term == self.core.raft.term)
            && self.leads()
        {
            self.lease.renew(question);
        }
        self.reads.on_applied(self.core.raft.raft_log.applied);
    }

    /// As a planted fault does.
    fn take_any_answer(&mut self, message: &Message) {
        let is_answer = message.get_msg_type() == MessageType::MsgHeartbeatResponse;
        if is_answer && self.leads() && self.core.raft.commit_to_current_term() {
            let (sent_ms, term) = (self.now_ms, self.core.raft.term);
            self.lease.renew(Question { number: u64::MAX, sent_ms, term });
        }
    }

    /// Publishes whether reads may be answered without a question. They may not while others may know of entries that are not applied here, nor
    /// while members change.
    fn publish_lease(&self) {
        let raft = &self.core.raft;
        let has_all = raft.raft_log.applied >= raft.raft_log.committed && !raft.has_pending_conf();
        let has_all = has_all && !self.compared.standing.is_rebuilt();
        self.lease.publish((self.leads() && has_all).then_some(raft.term));
    }

    fn send(&mut self, messages: Vec<Message>) {
        let transfers = |message: &&Message| message.get_msg_type() == MessageType::MsgTimeoutNow;
        if let Some(message) = messages.iter().find(transfers) {
            self.lease.forfeit(message.term);
        }
        let is_given_up = self.core.raft.lead_transferee.is_none();
        if is_given_up && planted::is(faults::LEASE_AFTER_ABORTED_TRANSFER) {
            self.lease.forget_transfer();
        }
        // Before anybody hears of another term, of another leader or of entries that are committed.
        self.publish_lease();
        for message in messages {
            let message = self.with_term_of_question(message);
            let sent = self.delayed.pass(message, &self.core, self.now_ms);
            sent.into_iter().flatten().for_each(|message| self.send_now(&message));
        }
    }

    fn send_now(&mut self, message: &Message) {
        if let Some(bytes) = message::encode(message, |bytes| self.links.buffer(bytes)) {
            self.links.send(ReplicaId(message.to), bytes);
        }
    }

    /// Sends what was delayed for so long, or is needed now.
    fn send_delayed(&mut self) {
        for message in self.delayed.take_due(&self.core, self.now_ms) {
            self.send_now(&message);
        }
    }

    /// Does what the core wants done, until it wants nothing that need not wait for the disk.
    fn run(&mut self) {
        loop {
            let (number, messages) = self.persist.take_synced();
            if let Some(number) = number {
                let synced = self.persist.synced();
                self.control.publish(|view| view.durable = synced);
                self.core.on_persist_ready(number);
            }
            self.send(messages);
            if !self.core.has_ready() {
                return;
            }
            self.handle_ready();
        }
    }

    fn handle_ready(&mut self) {
        let mut ready = self.core.ready();
        assert!(ready.snapshot().is_empty(), "a snapshot is installed before the start of a replica");
        // A leader's, which need not wait for its own disk.
        let messages = ready.take_messages();
        self.send(messages);
        for answer in ready.take_read_states() {
            self.on_answer(&answer.request_ctx, answer.index);
        }
        for entry in ready.take_entries() {
            let record = self.persist.push_entry(entry.clone());
            self.core.mut_store().append(entry, record);
        }
        if let Some(state) = ready.hs() {
            let state = HardState { term: state.term, vote: state.vote, commit: state.commit };
            self.core.mut_store().hard_state = state;
            match ready.must_sync() {
                true => self.persist.push_hard_state(state),
                false => self.persist.push_late(state),
            }
        }
        self.committed.extend(ready.take_committed_entries());
        let (now, later) = ready.take_persisted_messages().into_iter().partition(is_sent_early);
        self.send(now);
        let number = ready.number();
        let raft = &self.core.raft;
        let extent = Extent { term: raft.term, index: raft.raft_log.last_index() };
        self.persist.wait(number, extent, later);
        self.core.advance_append_async(ready);
        if planted::is(faults::OWN_COPY_COUNTED_BEFORE_SYNC) && self.core.raft.state == StateRole::Leader {
            self.core.on_persist_ready(number);
        }
    }
}

/// Is a fault planted by which this message does not wait for the disk?
fn is_sent_early(message: &Message) -> bool {
    match message.get_msg_type() {
        MessageType::MsgRequestVoteResponse => planted::is(faults::VOTE_NOT_SYNCED),
        MessageType::MsgAppendResponse => planted::is(faults::APPEND_ACKED_BEFORE_SYNC),
        _ => false,
    }
}
