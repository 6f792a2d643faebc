//! The half of a committer that proposes: it takes updates from the queue, admits them, makes commands of them and appends
//! those to the log, if this replica leads it.

use super::Queue;
use super::replica::Replica;
use super::room::Room;
use crate::data::settings;
use crate::faults;
use crate::forward::Forward;
use consensus::ReplicaId;
use dsa::Dsa;
use dsa::barrier::Barrier;
use dsa::journal::Updates;
use dsa::parcel::{self, Envelope, Head, PARCEL_BYTES_SOFT_MAX};
use env::planted;
use model::ResultCode;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use wal::{Kind, Position, Refused, Role, ShardLog, Ticket};

/// Times of accounts in one command, and such commands in one step of the committer: a few milliseconds of its time.
const TIMES_MAX: usize = 1024;
const TIMES_COMMANDS_MAX: usize = 4;
/// Bytes that must be free for them: by as much entries grow, and so much their new versions take before the old ones are cleaned away.
const TIMES_ROOM_BYTES: u64 = 4 << 20;
/// Bytes of the head of a parcel or of a command with its envelope, about.
const ENVELOPE_BYTES: usize = 128;

/// See the module.
pub(super) struct Proposer {
    dsa: Arc<Dsa>,
    queue: Arc<Queue>,
    /// Not in the log yet, for want of room in the block that fills, or because a term has just begun.
    coming: VecDeque<Updates>,
    /// Who wants to read.
    pub(super) asked: Vec<Arc<Barrier>>,
    /// The term for which updates of other servers were taken, if this replica leads.
    taken_in: Option<u64>,
    /// Do times of accounts wait?
    times_wait: bool,
    /// The version of the behaviour that is to be in force, if that is asked for.
    behaviour: Option<u32>,
    /// What the next parcels say of one that was applied: see [`Head::checked`].
    pub(super) checked: Option<(u64, u64)>,
    /// The record before which ids of deleted entries are free for the readers of other replicas.
    pub(super) free_elsewhere: u64,
    /// Time of the last parcel that was proposed, in milliseconds since 1970: that of the next is no earlier.
    time_ms: u64,
    term: Term,
}

/// Whether something may be proposed: ids and times follow from what was applied, so all of the terms before must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Term {
    /// This replica does not lead.
    None,
    /// This one has begun; when this barrier is passed and what it stands for is applied, all of earlier terms is.
    Begins(u64, Ticket),
    /// Of this one may be proposed.
    Open(u64),
}

const ON_ITS_WAY: &str = "a change of the settings or of the schema is being written; try again";

impl Proposer {
    /// For a directory.
    pub(super) fn new(dsa: Arc<Dsa>, queue: Arc<Queue>) -> Proposer {
        Proposer {
            dsa,
            queue,
            coming: VecDeque::new(),
            asked: Vec::new(),
            taken_in: None,
            times_wait: false,
            behaviour: None,
            checked: None,
            free_elsewhere: u64::MAX,
            time_ms: 0,
            term: Term::None,
        }
    }

    /// Is nothing taken that waits to be proposed?
    pub(super) fn is_settled(&self) -> bool {
        self.coming.is_empty() && !self.times_wait && self.behaviour.is_none()
    }

    /// May something be proposed in the term that this replica leads?
    pub(super) fn is_open(&self) -> bool {
        matches!(self.term, Term::Open(_))
    }

    /// Proposes what came in, as far as the log has room, or refuses it where this replica does not lead. The wall clock is
    /// read once it is decided what is taken.
    pub(super) fn take(
        &mut self,
        wall_ms: impl FnOnce() -> u64,
        log: &mut dyn ShardLog,
        replica: &mut Replica,
        forward: Option<&mut Forward>,
        now_ms: u64,
    ) {
        self.times_wait |= self.queue.drain(&mut self.coming, &mut self.asked);
        self.behaviour = self.queue.take_behaviour().or(self.behaviour);
        match forward {
            Some(forward) => self.exchange(forward, log, replica, now_ms),
            None => replica.refuse_lost(),
        }
        let may_propose = self.follow_term(log, replica);
        if self.is_settled() {
            return;
        }
        if self.term == Term::None {
            // Who leads has times of its own, and is asked itself.
            (self.times_wait, self.behaviour) = (false, None);
            return self.refuse_coming(&Refused::NotLeader);
        }
        // Who writes the audit log comes first.
        if !may_propose || self.dsa.trail().is_some_and(|trail| trail.is_full()) {
            return;
        }
        assert!(matches!(self.term, Term::Open(_)), "only who leads, and has applied all before, proposes");
        self.time_ms = self.time_ms.max(replica.log_state().time_ms).max(wall_ms());
        self.raise_behaviour(log, replica);
        self.take_times(log, replica);
        let (dsa, mut bytes_max) = (Arc::clone(&self.dsa), PARCEL_BYTES_SOFT_MAX);
        let mut room = Room::new(dsa.shard(), dsa.shard().memory_bytes_max(), replica.bytes_needed());
        while !self.coming.is_empty() {
            let commands = self.next_commands(&mut room, bytes_max, replica);
            if commands.is_empty() {
                continue;
            }
            let head = self.head(replica);
            match propose(log, &head, &commands) {
                Ok(at) => replica.on_proposed(at, &head, commands),
                Err(Refused::Full) => return self.put_back(commands),
                // The log has room for each of them, if not for all together.
                Err(Refused::TooLong) if commands.len() > 1 => {
                    bytes_max = 0;
                    commands.iter().for_each(|updates| room.take_back(updates.bytes_needed()));
                    self.put_back(commands);
                }
                Err(refused) => {
                    let (code, text) = (code_of(&refused), refused.to_string());
                    commands.into_iter().for_each(|updates| self.reject(updates, code, &text));
                }
            }
        }
    }

    /// Takes what other servers sent, and gives those that lead what came here.
    fn exchange(&mut self, forward: &mut Forward, log: &dyn ShardLog, replica: &mut Replica, now_ms: u64) {
        let leads = match log.role() {
            Role::Leader { term } => Some(term),
            Role::Follower => None,
        };
        let leader = log.leader().map(|(id, term)| (ReplicaId(id), term));
        let keeps_ids = planted::is(faults::IDS_KEPT_ON_RESEND);
        for mut updates in replica.take_lost() {
            if updates.front().is_some() && planted::is(faults::TWO_SENDERS) {
                forward.take_again(&updates, now_ms);
            }
            if !keeps_ids {
                updates.ids().clear();
            }
            match updates.front() {
                // Who took them from their client sends them again, and nobody else.
                Some(_) => updates.return_unproposed(),
                None => self.coming.push_front(updates),
            }
        }
        if leads != self.taken_in {
            self.taken_in = leads;
            self.return_remote();
        }
        let times = self.dsa.account_times();
        self.times_wait |= forward.receive(leads, leader, &mut self.coming, times, now_ms);
        if leads.is_some() {
            return forward.give(&mut self.coming);
        }
        // Ids follow from what is applied when a term begins.
        for updates in &mut self.coming {
            if !updates.ids().is_empty() {
                self.dsa.shard().writer().return_ids(updates.ids());
                updates.ids().clear();
            }
        }
        self.refuse_unaudited();
        forward.take(&mut self.coming, now_ms);
        if std::mem::take(&mut self.times_wait) {
            forward.send_times(leader, self.dsa.account_times());
        }
    }

    /// Refuses what clients here ask for while the audit log of this server cannot be written, and is to have no gap: the server that leads
    /// looks at its own.
    fn refuse_unaudited(&mut self) {
        let Some(text) = self.dsa.trail().and_then(|trail| trail.refusal()) else { return };
        for _ in 0..self.coming.len() {
            let Some(updates) = self.coming.pop_front() else { break };
            match updates.front() {
                Some(_) => self.coming.push_back(updates),
                None => self.reject(updates, ResultCode::UnwillingToPerform, text),
            }
        }
    }

    /// Updates of other servers are for the term in which they were taken.
    fn return_remote(&mut self) {
        for _ in 0..self.coming.len() {
            let Some(mut updates) = self.coming.pop_front() else { break };
            if updates.front().is_none() {
                self.coming.push_back(updates);
                continue;
            }
            self.dsa.shard().writer().return_ids(updates.ids());
            updates.return_unproposed();
        }
    }

    /// The head of the next parcel.
    fn head(&self, replica: &Replica) -> Head {
        Head {
            time_ms: self.time_ms,
            epoch: 0,
            free_before: Some(self.free_before(replica)),
            keeps_superclasses: false,
            checked: self.checked,
        }
    }

    /// Proposes the version of the behaviour that is asked for. It is in force when it is applied; if it is lost, somebody asks again.
    fn raise_behaviour(&mut self, log: &mut dyn ShardLog, replica: &Replica) {
        let Some(behaviour) = self.behaviour.filter(|asked| *asked > replica.behaviour()) else {
            self.behaviour = None;
            return;
        };
        let head = self.head(replica);
        let proposed = log.propose(Kind::Parcel, &mut |at, out| {
            head.encode(at.index.0, out);
            parcel::push_behaviour(behaviour, out);
        });
        if !matches!(proposed, Err(Refused::Full)) {
            self.behaviour = None;
        }
    }

    /// Proposes times of accounts, as many as hold up updates for no longer than some of those would. They are applied when they are committed,
    /// like what another replica has proposed: nobody waits for an answer.
    fn take_times(&mut self, log: &mut dyn ShardLog, replica: &Replica) {
        let times = self.dsa.account_times();
        // An entry that has one for the first time is larger then. They wait for memory, and for room in the table of shapes.
        let shard = self.dsa.shard();
        let has_room = !shard.has_too_many_shapes()
            && shard.memory().total() + TIMES_ROOM_BYTES + replica.bytes_needed() <= shard.memory_bytes_max();
        for _ in 0..TIMES_COMMANDS_MAX {
            let taken = if self.times_wait && has_room { times.take(TIMES_MAX) } else { Vec::new() };
            if taken.is_empty() {
                self.times_wait = false;
                return;
            }
            let head = self.head(replica);
            let proposed = log.propose(Kind::Parcel, &mut |at, out| {
                head.encode(at.index.0, out);
                parcel::push_times(&taken, out);
            });
            if let Err(refused) = proposed {
                times.put_back(&taken);
                // Room comes with the next file. All else ends this log, or comes again with the next batch.
                self.times_wait = matches!(refused, Refused::Full);
                return;
            }
        }
        self.times_wait = !times.is_empty();
    }

    /// The commands of the next parcel: one at least, if not all are refused, and no more than have so many bytes together. Settings
    /// and definitions stand in a parcel of their own.
    fn next_commands(
        &mut self,
        room: &mut Room<'_>,
        bytes_max: usize,
        replica: &mut Replica,
    ) -> Vec<Updates> {
        let (mut commands, mut bytes) = (replica.spare_commands(), 0);
        // Looked at where they are, and moved once: they are a few hundred bytes each.
        while let Some(updates) = self.coming.front_mut() {
            let is_alone = updates.settings().is_some() || updates.is_schema();
            if is_alone && !commands.is_empty() {
                break;
            }
            // Each is judged by the other, so one of them is on its way at a time.
            let others = is_alone
                && replica.has_proposed(|other| match updates.is_schema() {
                    true => other.settings().is_some(),
                    false => other.is_schema(),
                });
            let admitted = match others {
                true => Err((ResultCode::Busy, ON_ITS_WAY.into())),
                false => admit(&self.dsa, updates, room),
            };
            if let Err((code, text)) = admitted {
                if let Some(updates) = self.coming.pop_front() {
                    self.reject(updates, code, &text);
                }
                continue;
            }
            bytes += parcel::command_bytes(&updates.command(self.time_ms)) + updates.conditions().len();
            if bytes > bytes_max && !commands.is_empty() {
                break;
            }
            room.promise(updates.bytes_needed());
            commands.extend(self.coming.pop_front());
            if is_alone {
                break;
            }
        }
        commands
    }

    /// The record before which the ids of deleted entries are free: nothing is left of those here or elsewhere. The next record cannot free
    /// what the last one deleted, for a head says how many records back it is.
    fn free_before(&self, replica: &Replica) -> u64 {
        self.dsa.shard().forgotten_up_to().min(replica.applied().0).min(self.free_elsewhere)
    }

    /// They wait for room, before all others.
    fn put_back(&mut self, commands: Vec<Updates>) {
        commands.into_iter().rev().for_each(|updates| self.coming.push_front(updates));
    }

    /// Whether this replica leads and has applied everything of the terms before.
    fn follow_term(&mut self, log: &mut dyn ShardLog, replica: &Replica) -> bool {
        let Role::Leader { term } = log.role() else {
            self.term = Term::None;
            return false;
        };
        let known = match self.term {
            Term::None => 0,
            Term::Begins(term, _) | Term::Open(term) => term,
        };
        assert!(known <= term, "terms go up: a leader of term {known} cannot lead term {term}");
        match self.term {
            Term::Open(open) if open == term => return true,
            Term::Begins(begun, _) if begun == term => {}
            _ => self.term = Term::Begins(term, log.barrier()),
        }
        let (passed, index) = log.passed();
        let is_open = matches!(self.term, Term::Begins(_, barrier) if barrier <= passed)
            && index <= replica.applied()
            && replica.is_settled();
        if is_open {
            self.term = Term::Open(term);
        }
        is_open
    }

    fn reject(&self, mut updates: Updates, code: ResultCode, text: &str) {
        self.dsa.shard().writer().return_ids(updates.ids());
        updates.refuse(code, text);
    }

    fn refuse_coming(&mut self, refused: &Refused) {
        while let Some(updates) = self.coming.pop_front() {
            self.reject(updates, code_of(refused), &refused.to_string());
        }
    }

    /// Refuses what is not in the log, now and later.
    pub(super) fn refuse_rest(&mut self, text: &str) {
        self.queue.refuse_from_now_on(ResultCode::Unavailable, text);
        self.queue.drain(&mut self.coming, &mut self.asked);
        (self.times_wait, self.behaviour) = (false, None);
        for updates in self.coming.drain(..) {
            updates.refuse(ResultCode::Unavailable, text);
        }
    }
}

/// Gives updates the ids that they need. Judged before they are logged, since how much memory there is must not decide what becomes
/// of them later.
///
/// # Errors
/// Code and text of the refusal, for want of memory, of shapes or of ids.
fn admit(
    dsa: &Dsa,
    updates: &mut Updates,
    room: &mut Room<'_>,
) -> Result<(), (ResultCode, Cow<'static, str>)> {
    if let Some(text) = dsa.trail().and_then(|trail| trail.refusal()) {
        return Err((ResultCode::UnwillingToPerform, text.into()));
    }
    if updates.settings().is_some() {
        // They take nothing of the directory's memory, and may be what gives it more.
        return dsa.admit_settings(updates).map_err(|(code, text)| (code, text.into()));
    }
    if updates.is_schema() {
        dsa.admit_schema(updates.messages()).map_err(|(code, text)| (code, text.into()))?;
    }
    room.find(updates).map_err(|text| (ResultCode::AdminLimitExceeded, text.into()))?;
    if dsa.shard().has_too_many_shapes() && updates.may_need_shapes() {
        let text = "the limit of distinct combinations of attributes is reached";
        return Err((ResultCode::AdminLimitExceeded, text.into()));
    }
    assert!(updates.ids().len() <= updates.adds(), "each add has one id at most");
    let adds = updates.adds() - updates.ids().len();
    if adds > 0 {
        let reserved = dsa.shard().writer().reserve_ids(adds, updates.ids());
        reserved.map_err(|refused| (refused.result_code(), refused.to_string().into()))?;
    }
    assert!(updates.ids().len() == updates.adds(), "each add has an id by now");
    Ok(())
}

/// Makes a parcel of commands, and proposes it.
fn propose(log: &mut dyn ShardLog, head: &Head, commands: &[Updates]) -> Result<Position, Refused> {
    assert!(!commands.is_empty(), "a parcel has a command");
    // Grown step by step, a long parcel is copied each time.
    let bytes: usize = commands.iter().map(|updates| ENVELOPE_BYTES + updates.bytes()).sum();
    log.propose(Kind::Parcel, &mut |at, out| {
        out.reserve(bytes);
        head.encode(at.index.0, out);
        for updates in commands {
            let (front, conditions) = (updates.front(), updates.conditions());
            let envelope = Envelope { front, conditions, ..Envelope::default() };
            match updates.settings() {
                Some(record) => parcel::push_settings(&settings::text(record), &envelope, out),
                None => {
                    let envelope = Envelope { is_schema: updates.is_schema(), ..envelope };
                    parcel::push_updates(&updates.command(head.time_ms), &envelope, out);
                }
            }
        }
    })
}

fn code_of(refused: &Refused) -> ResultCode {
    match refused {
        // It waits instead, or comes again.
        Refused::Full | Refused::NotLeader => ResultCode::Busy,
        Refused::TooLong => ResultCode::AdminLimitExceeded,
        Refused::NoSpace(_) => ResultCode::UnwillingToPerform,
        Refused::Poisoned(_) | Refused::Closed => ResultCode::Unavailable,
    }
}
