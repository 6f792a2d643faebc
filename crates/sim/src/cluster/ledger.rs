//! What any replica was given as committed. All must get the same, and no term may have two leaders.

use consensus::ReplicaId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wal::{
    Committed, Encode, Index, Kind, Lease, Log, Mark, Poisoned, Position, ReadMode, Refused, Role, ShardLog,
    SyncDone, Ticket, Write,
};

/// See the module. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Ledger(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// The first is that of the entry after `base`: its term, and its payload.
    entries: Vec<(u64, Vec<u8>)>,
    base: u64,
    leaders: BTreeMap<u64, ReplicaId>,
    /// Of each replica's last process.
    leases: BTreeMap<ReplicaId, Arc<Lease>>,
    broken: Option<String>,
}

impl Ledger {
    /// Of replicas that all begin with everything up to entry `base`.
    pub(super) fn new(base: u64) -> Ledger {
        let (entries, leaders) = (Vec::new(), BTreeMap::new());
        let leases = BTreeMap::new();
        Ledger(Arc::new(Mutex::new(State { entries, base, leaders, leases, broken: None })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last entry that some replica has got as committed.
    pub(super) fn last(&self) -> u64 {
        let state = self.lock();
        state.base + state.entries.len() as u64
    }

    /// The payload of an entry.
    pub(super) fn payload(&self, index: u64) -> Vec<u8> {
        let state = self.lock();
        state.entries[(index - state.base - 1) as usize].1.clone()
    }

    /// Terms that had a leader.
    pub(super) fn terms(&self) -> u64 {
        self.lock().leaders.len() as u64
    }

    /// Does a replica that runs have a lease, by its clock?
    pub(super) fn has_lease(&self, id: ReplicaId, now_ns: u64) -> bool {
        self.lock().leases.get(&id).is_some_and(|lease| lease.is_there(now_ns))
    }

    /// What was wrong, if something was.
    pub(super) fn broken(&self) -> Option<String> {
        self.lock().broken.clone()
    }

    /// What replica `id` gets is written down here.
    pub(super) fn watch(&self, id: ReplicaId, log: Box<dyn ShardLog>) -> Box<dyn ShardLog> {
        if let Some(lease) = log.lease() {
            self.lock().leases.insert(id, lease);
        }
        Box::new(Watched { log, id, ledger: self.clone() })
    }
}

impl State {
    fn on_committed(&mut self, id: ReplicaId, at: Position, payload: &[u8]) {
        let place = (at.index.0 - self.base - 1) as usize;
        match self.entries.get(place) {
            Some((term, known)) if (*term, &known[..]) != (at.term, payload) => {
                let what = format!(
                    "replica {id} has got entry {} of term {} as committed, and another has it of term {term}",
                    at.index, at.term
                );
                self.broken.get_or_insert(what);
            }
            Some(_) => {}
            None if place == self.entries.len() => self.entries.push((at.term, payload.to_vec())),
            None => {
                let what =
                    format!("replica {id} has got entry {} as committed, and none the one before", at.index);
                self.broken.get_or_insert(what);
            }
        }
    }

    fn on_leader(&mut self, id: ReplicaId, term: u64) {
        let leader = *self.leaders.entry(term).or_insert(id);
        if leader != id {
            self.broken.get_or_insert(format!("replicas {leader} and {id} both lead in term {term}"));
        }
    }
}

/// A log of which is written down what it says.
struct Watched {
    log: Box<dyn ShardLog>,
    id: ReplicaId,
    ledger: Ledger,
}

impl ShardLog for Watched {
    fn role(&self) -> Role {
        let role = self.log.role();
        if let Role::Leader { term } = role {
            self.ledger.lock().on_leader(self.id, term);
        }
        role
    }

    fn leader(&self) -> Option<(u64, u64)> {
        self.log.leader()
    }

    fn propose(&mut self, kind: Kind, encode: Encode<'_>) -> Result<Position, Refused> {
        self.log.propose(kind, encode)
    }

    fn write(&mut self, now_ms: u64) -> Result<Write, Poisoned> {
        self.log.write(now_ms)
    }

    fn sync_done(&mut self, done: SyncDone) -> Result<(), Poisoned> {
        self.log.sync_done(done)
    }

    fn committed(&mut self, each: &mut dyn FnMut(Committed<'_>) -> bool) {
        let Watched { log, id, ledger } = self;
        log.committed(&mut |committed| {
            ledger.lock().on_committed(*id, committed.at, committed.payload);
            each(committed)
        });
    }

    fn barrier(&mut self) -> Ticket {
        self.log.barrier()
    }

    fn passed(&self) -> (Ticket, Index) {
        self.log.passed()
    }

    fn set_read_mode(&mut self, mode: ReadMode) {
        self.log.set_read_mode(mode);
    }

    fn lease(&self) -> Option<Arc<Lease>> {
        self.log.lease()
    }

    fn current_ms(&self) -> Option<u64> {
        self.log.current_ms()
    }

    fn durable(&self) -> Index {
        self.log.durable()
    }

    fn mark(&self, at: Index) -> Mark {
        self.log.mark(at)
    }

    fn snapshot_done(&mut self, at: Index) {
        self.log.snapshot_done(at);
    }

    fn flush(&mut self) -> Result<bool, Poisoned> {
        self.log.flush()
    }

    fn close(self: Box<Self>) -> Result<(), Poisoned> {
        self.log.close()
    }

    fn files(&self) -> &Arc<Log> {
        self.log.files()
    }
}
