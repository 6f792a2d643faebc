//! A log of which one replica is simulated; what the others do is what a seed picks. Records are committed late, or before
//! this replica has synced or even written them; leaders change, and what was not committed is lost or comes true later;
//! other leaders write too. What is committed is kept here, beside the disk: the others have it, whatever becomes of this one.

use crate::random::Random;
use crate::requests::{Bundle, ROOT, SUFFIX, Sent};
use dsa::journal::Command;
use dsa::parcel::{self, Envelope, Head, Parcel};
use proto::op::ModifyKind;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wal::{
    Committed, Encode, Index, Kind, Log, Mark, Poisoned, Position, Refused, Role, ShardLog, SyncDone, Ticket,
    Write,
};

/// Bytes of a block besides the payload of its only record, at most.
const BESIDE_PAYLOAD: usize = 256;
/// Chances of 1,000. Of a proposal: that it, and so all after it, will be lost.
const ABORT_ONLY: u64 = 30;
/// Of a turn: that a leader is deposed which has nothing to lose, and one that has.
const DEPOSED: (u64, u64) = (15, 400);
/// Of a turn: that a barrier is passed that can be.
const BARRIER: u64 = 500;

/// All replicas, and what they have agreed on. It outlives every incarnation of the simulated one.
#[derive(Clone, Debug)]
pub struct Group(Arc<Mutex<State>>);

/// What the replicas have agreed on, and what they will.
#[derive(Debug)]
struct State {
    random: Random,
    /// Payloads that the files of a replica take.
    payload_bytes_max: usize,
    /// The first has index 1.
    committed: Vec<Entry>,
    /// Proposed by the simulated replica and not committed: the front follows what is.
    tail: VecDeque<Entry>,
    /// The last term that began.
    term: u64,
    /// Time of the last record, in milliseconds since 1970.
    time_ms: u64,
    leader: Leader,
    others: Others,
    /// What is proposed will be lost.
    next_is_abort_only: bool,
    tally: GroupTally,
}

/// What the other replicas do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// Whatever the seed picks.
    Any,
    /// They follow the simulated replica, and have at once what it proposes.
    Follow,
    /// Nothing, but what a test asks for.
    Nothing,
}

/// Who leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leader {
    Nobody,
    Simulated,
    Other,
}

#[derive(Clone, Debug)]
struct Entry {
    at: Position,
    payload: Vec<u8>,
    /// Did the simulated replica propose it for one of its clients?
    is_own: bool,
    /// It will be lost.
    is_abort_only: bool,
}

/// What happened in a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupTally {
    /// How often the simulated replica was deposed.
    pub deposed: u64,
    /// What it had proposed and was lost.
    pub lost: u64,
    /// What it had proposed and another leader has committed.
    pub inherited: u64,
    /// Writes of clients of other replicas.
    pub others: u64,
}

impl Group {
    /// Of replicas that have nothing yet; blocks of their files have at most so many bytes.
    pub fn new(seed: u64, block_bytes_max: usize) -> Group {
        Group(Arc::new(Mutex::new(State {
            random: Random::new(seed),
            payload_bytes_max: block_bytes_max.saturating_sub(BESIDE_PAYLOAD),
            committed: Vec::new(),
            tail: VecDeque::new(),
            term: 0,
            time_ms: 0,
            leader: Leader::Nobody,
            others: Others::Any,
            next_is_abort_only: false,
            tally: GroupTally::default(),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Index of the last record that is committed.
    pub fn committed(&self) -> u64 {
        self.lock().committed.len() as u64
    }

    /// The payload of a committed record, and whether a client of the simulated replica sent it.
    pub fn record(&self, index: u64) -> Option<(Vec<u8>, bool)> {
        let state = self.lock();
        let entry = state.committed.get(usize::try_from(index.checked_sub(1)?).ok()?)?;
        Some((entry.payload.clone(), entry.is_own))
    }

    /// The payload of a record that is committed or will be.
    pub fn decided(&self, index: u64) -> Option<Vec<u8>> {
        self.lock().entry(Index(index)).map(|entry| entry.payload.clone())
    }

    /// What the others do from now on.
    pub fn set_others(&self, others: Others) {
        self.lock().others = others;
    }

    /// The simulated replica is deposed, and nobody leads yet.
    pub fn depose(&self) {
        self.lock().leader = Leader::Nobody;
    }

    /// What is proposed from now on will be lost.
    pub fn make_abort_only(&self) {
        self.lock().next_is_abort_only = true;
    }

    /// Another replica leads.
    pub fn take_over(&self) {
        let mut state = self.lock();
        (state.leader, state.next_is_abort_only) = (Leader::Nobody, false);
        state.other_leads();
    }

    /// See [`GroupTally`].
    pub fn tally(&self) -> GroupTally {
        self.lock().tally
    }
}

impl State {
    fn next_index(&self) -> Index {
        Index((self.committed.len() + self.tail.len()) as u64 + 1)
    }

    /// The entry with an index that is committed or will be.
    fn entry(&self, index: Index) -> Option<&Entry> {
        let at = usize::try_from(index.0 - 1).ok()?;
        let entry = self.committed.get(at).or_else(|| self.tail.get(at - self.committed.len()))?;
        (!entry.is_abort_only).then_some(entry)
    }

    /// Commits the next entry of the tail, if that will not be lost.
    fn commit_next(&mut self) -> bool {
        if self.tail.front().is_none_or(|entry| entry.is_abort_only) {
            return false;
        }
        self.tally.inherited += u64::from(self.leader != Leader::Simulated);
        self.committed.extend(self.tail.pop_front());
        true
    }

    /// Another replica leads: it has of the tail what will not be lost, and begins its term with a record of its own.
    fn other_leads(&mut self) {
        if self.leader == Leader::Other {
            return;
        }
        self.leader = Leader::Other;
        while self.commit_next() {}
        self.tally.lost += self.tail.iter().filter(|entry| entry.is_own).count() as u64;
        self.tail.clear();
        self.term += 1 + self.random.below(2);
        self.write_elsewhere(&[]);
    }

    /// The simulated replica leads, which begins its term with a record of its own too.
    fn lead(&mut self) {
        if self.tail.iter().any(|entry| entry.is_abort_only) {
            self.other_leads();
        }
        self.leader = Leader::Simulated;
        self.term += 1;
        let at = Position { index: self.next_index(), term: self.term };
        self.tail.push_back(Entry {
            at,
            payload: record(at.index, self.time_ms, &[]),
            is_own: false,
            is_abort_only: false,
        });
    }

    /// A leader that is not the simulated replica commits something.
    fn write_elsewhere(&mut self, messages: &[u8]) {
        assert!(self.leader == Leader::Other && self.tail.is_empty(), "it leads");
        let at = Position { index: self.next_index(), term: self.term };
        self.committed.push(Entry {
            at,
            payload: record(at.index, self.time_ms, messages),
            is_own: false,
            is_abort_only: false,
        });
    }

    /// A client of another replica sets the description of the root.
    fn client_elsewhere(&mut self) {
        self.other_leads();
        self.tally.others += 1;
        let mut bundle = Bundle::default();
        let text = format!("elsewhere {}", self.tally.others);
        bundle.modify(SUFFIX, ModifyKind::Replace, "description", &[&text], Sent::Other);
        self.write_elsewhere(&bundle.updates);
    }

    /// Something happens among the replicas.
    fn turn(&mut self) {
        if self.others == Others::Nothing {
            return;
        }
        if self.others == Others::Follow {
            if self.leader != Leader::Simulated {
                self.lead();
            }
            while self.commit_next() {}
            return;
        }
        if self.leader != Leader::Simulated {
            match self.random.below(10) {
                0..=1 => _ = self.commit_next(),
                2 => self.client_elsewhere(),
                3..=6 => self.lead(),
                _ => {}
            }
            return;
        }
        for _ in 0..self.random.below(4) {
            self.commit_next();
        }
        let has_abort_only = self.tail.iter().any(|entry| entry.is_abort_only);
        if self.random.chance(if has_abort_only { DEPOSED.1 } else { DEPOSED.0 }) {
            self.leader = Leader::Nobody;
            self.tally.deposed += 1;
        }
    }
}

/// The record at `index` of updates by [`ROOT`] that bring no ids; without any it is the one that begins a term.
fn record(index: Index, time_ms: u64, messages: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    Head { time_ms, free_before: Some(0), ..Head::default() }.encode(index.0, &mut payload);
    match messages {
        [] => parcel::push_nothing(&mut payload),
        messages => {
            let (actor, ids) = (ROOT.as_bytes(), Cow::Borrowed(&[][..]));
            let command = Command { wall_ms: time_ms, actor, ids, messages, is_transaction: false };
            parcel::push_updates(&command, &Envelope::default(), &mut payload);
        }
    }
    payload
}

/// The simulated replica's end of the log of a [`Group`]: see the module.
pub struct LateLog {
    /// Its own files, as a log by themselves.
    disk: Box<dyn ShardLog>,
    group: Group,
    /// The last record that its files got.
    appended: Index,
    /// The last record that it knows to be committed, and the last that it handed out.
    known: Index,
    handed: Index,
    asked: Ticket,
    passed: (Ticket, Index),
    is_syncing: bool,
    now_ms: u64,
}

impl LateLog {
    /// Goes on with the files of `disk`. Whatever the replica had on its way before, the others have decided about it.
    pub fn new(disk: Box<dyn ShardLog>, group: &Group) -> LateLog {
        let last = disk.files().safe();
        let mut state = group.lock();
        state.leader = Leader::Nobody;
        state.other_leads();
        assert!(last.0 <= state.committed.len() as u64, "files have what is committed only");
        drop(state);
        LateLog {
            disk,
            group: group.clone(),
            appended: last,
            known: last,
            handed: last,
            asked: Ticket(0),
            passed: (Ticket(0), Index(0)),
            is_syncing: false,
            now_ms: 0,
        }
    }

    /// Gives the files the next record, if there is one that will not be lost, and room for it.
    fn append(&mut self) -> Result<bool, Refused> {
        let state = self.group.lock();
        let Some(entry) = state.entry(self.appended.plus(1)) else { return Ok(false) };
        let append = &mut |_: Position, out: &mut Vec<u8>| out.extend_from_slice(&entry.payload);
        let at = self.disk.propose(Kind::Parcel, append)?;
        assert!(at.index == entry.at.index, "the files have all in order");
        self.appended = at.index;
        Ok(true)
    }

    /// Barriers are passed by asking the leader, which has a record of its term by then.
    fn pass_barrier(&mut self) {
        let mut state = self.group.lock();
        let term = state.committed.last().map_or(0, |entry| entry.at.term);
        let has_leader = state.leader != Leader::Nobody && term == state.term;
        if self.asked > self.passed.0
            && has_leader
            && (state.others != Others::Any || state.random.chance(BARRIER))
        {
            self.passed = (self.asked, Index(state.committed.len() as u64));
        }
    }

    /// Learns of some more that is committed.
    fn learn(&mut self) {
        let mut state = self.group.lock();
        let unknown = state.committed.len() as u64 - self.known.0;
        let learned = if state.others == Others::Any { state.random.below(unknown + 1) } else { unknown };
        self.known = self.known.plus(learned);
    }

    /// Gives the files' own answers to nobody, so that their buffers are used again.
    fn ignore_disk(&mut self) {
        self.disk.committed(&mut |_| true);
    }

    /// Writes and syncs what the files were given.
    fn write_disk(&mut self) -> Result<(), Poisoned> {
        while let Write::Sync(job) = self.disk.write(self.now_ms)? {
            self.disk.sync_done(job.run())?;
            self.ignore_disk();
        }
        Ok(())
    }
}

impl ShardLog for LateLog {
    fn role(&self) -> Role {
        let state = self.group.lock();
        match state.leader {
            Leader::Simulated => Role::Leader { term: state.term },
            Leader::Other | Leader::Nobody => Role::Follower,
        }
    }

    fn propose(&mut self, kind: Kind, encode: Encode<'_>) -> Result<Position, Refused> {
        assert!(kind == Kind::Parcel, "nothing else is proposed while it is served");
        let mut state = self.group.lock();
        if state.leader != Leader::Simulated {
            return Err(Refused::NotLeader);
        }
        let at = Position { index: state.next_index(), term: state.term };
        let mut payload = Vec::new();
        encode(at, &mut payload);
        if payload.len() > state.payload_bytes_max {
            return Err(Refused::TooLong);
        }
        state.time_ms =
            Parcel::decode(at.index.0, &payload).expect("it was made by this program").head.time_ms;
        let is_after_lost = state.tail.back().is_some_and(|entry| entry.is_abort_only);
        let is_unlucky = state.others == Others::Any && state.random.chance(ABORT_ONLY);
        let is_abort_only = is_after_lost || state.next_is_abort_only || is_unlucky;
        state.tail.push_back(Entry { at, payload, is_own: true, is_abort_only });
        Ok(at)
    }

    fn write(&mut self, now_ms: u64) -> Result<Write, Poisoned> {
        self.now_ms = now_ms;
        let appends = {
            let mut state = self.group.lock();
            // The disk may have a record long before it is committed, or long after.
            let (before, after) = (state.random.below(4), state.random.below(4));
            state.turn();
            (before, after)
        };
        for _ in 0..appends.0 + appends.1 {
            if !matches!(self.append(), Ok(true)) {
                break;
            }
        }
        self.pass_barrier();
        self.learn();
        let written = self.disk.write(now_ms)?;
        self.is_syncing |= matches!(written, Write::Sync(_));
        self.ignore_disk();
        Ok(written)
    }

    fn sync_done(&mut self, done: SyncDone) -> Result<(), Poisoned> {
        self.is_syncing = false;
        self.disk.sync_done(done)?;
        self.ignore_disk();
        Ok(())
    }

    fn committed(&mut self, each: &mut dyn FnMut(Committed<'_>) -> bool) {
        while self.handed < self.known {
            self.handed = self.handed.plus(1);
            let entry = self.group.lock().entry(self.handed).cloned();
            let entry = entry.expect("what is committed stays");
            let is_taken = each(Committed { at: entry.at, kind: Kind::Parcel, payload: &entry.payload });
            assert!(is_taken, "there is one replica");
        }
    }

    fn barrier(&mut self) -> Ticket {
        self.asked.0 += 1;
        self.asked
    }

    fn passed(&self) -> (Ticket, Index) {
        self.passed
    }

    fn durable(&self) -> Index {
        self.disk.durable()
    }

    fn mark(&self, at: Index) -> Mark {
        self.disk.mark(at)
    }

    fn snapshot_done(&mut self, _: Index) {}

    fn flush(&mut self) -> Result<bool, Poisoned> {
        if self.is_syncing {
            return Ok(false);
        }
        while self.appended < self.handed {
            match self.append() {
                Ok(_) => {}
                Err(Refused::Poisoned(poisoned)) => return Err(poisoned),
                Err(_) => {
                    let (before, files) = (self.appended, Arc::clone(self.disk.files()));
                    files.wanted().into_iter().for_each(|preparation| files.prepared(preparation.run()));
                    self.write_disk()?;
                    if !matches!(self.append(), Ok(true)) && before == self.appended {
                        return Ok(false);
                    }
                }
            }
        }
        self.write_disk()?;
        self.disk.flush()
    }

    fn close(self: Box<Self>) -> Result<(), Poisoned> {
        self.disk.close()
    }

    fn files(&self) -> &Arc<Log> {
        self.disk.files()
    }
}
