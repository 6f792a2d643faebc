//! The way of updates to the directory: proposed to the log, committed, applied, answered, in that order and one group at a
//! time. All that came in while one group was on its way is the next one.
//!
//! The log may be that of one replica or of several ([`ShardLog`]). `propose.rs` is what only the leader does; `replica.rs`
//! is what every replica does with what is committed.
//!
//! A [`Committer`] does nothing by itself, so that a simulator can take every step; [`Thread`] runs one.

mod checkpoint;
mod differing;
mod due;
mod failed;
mod pace;
mod propose;
mod queue;
mod readers;
mod replica;
mod room;
mod snapshotter;
mod status;
mod syncs;
mod thread;
mod wall;
mod watch;

pub use due::SnapshotLimits;
pub use failed::Failed;
pub use queue::Queue;
pub use status::Status;
pub use thread::{RunTask, Thread};

use crate::compare::Compare;
use crate::data::snapshot::Point;
use crate::data::{AddedFile, Rules, SettingsFile, settings};
use crate::faults;
use crate::forward::Forward;
use crate::health;
use consensus::ReplicaId;
use consensus::links::Links;
use dsa::behaviour::Versions;
use dsa::journal::Journal;
use dsa::parcel::{self, Envelope, Head};
use dsa::reads::{Reads, WithoutQuorum};
use dsa::settings::Record;
use dsa::{Applier, ApplyError, Dsa};
use env::planted;
use model::ResultCode;
use propose::Proposer;
use readers::Readers;
use replica::Replica;
use std::sync::Arc;
use wal::{
    Index, Kind, Log, Position, ReadMode, Refused, Role, ShardLog, Step, SyncDone, SyncJob, Ticket, Write,
};
use wall::Wall;

/// Milliseconds until it is looked again whether a reader has ended.
const READERS_RETRY_MS: u64 = 5;

/// Steps of one of several replicas at its end, at most: others send it something.
const LAST_STEPS_MAX: usize = 100;

/// The one who writes a logged directory.
pub struct Committer {
    dsa: Arc<Dsa>,
    log: Box<dyn ShardLog>,
    queue: Arc<Queue>,
    proposer: Proposer,
    replica: Replica,
    readers: Readers,
    /// To the replica that leads, and what others have made of the same log, if there are several.
    forward: Option<Forward>,
    compare: Option<Compare>,
    /// What is committed waits for a reader here: see [`Replica::waits_for_readers`].
    waits_for_readers: bool,
    snapshots: Arc<SnapshotLimits>,
    wall: Wall,
    /// When the last checkpoint was taken, and when the last step was: of the clock that steps are given.
    checkpoint_ms: Option<u64>,
    now_ms: u64,
    /// Both clocks, when they were last needed.
    clocks: health::Now,
}

/// What [`Committer::begin_step`] did.
#[derive(Debug)]
pub enum Begun {
    /// All that was to be done.
    Stepped(Step),
    /// This sync is to be run, on whatever thread; [`Committer::end_step`] takes its end.
    Syncs(SyncJob),
}

/// What a committer keeps to.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of log after which a snapshot is made, if not as many as the entries have.
    pub snapshot_after: Option<u64>,
    /// Milliseconds after which a snapshot is made, if something was written since the last.
    pub snapshot_interval_ms: Option<u64>,
}

/// What is known of a log at its end.
#[derive(Clone, Debug)]
pub struct LogEnd {
    /// Time of the last parcel, in milliseconds since 1970.
    pub time_ms: u64,
    /// What commands are decided by from there on.
    pub rules: Rules,
    /// The version of the behaviour that is in force there; that of the rules may be another one, if they are still to be logged.
    pub behaviour: u32,
    /// What this program knows.
    pub versions: Versions,
    /// The settings that are in force there, as text, if the log has any.
    pub settings: Option<Arc<str>>,
}

/// A checkpoint of the directory, and the last record of the log that it holds.
pub type Taken = (Point, Index);

impl Committer {
    /// The writer of `dsa`, which holds everything that the log has committed so far, or that `applier` has applied of it.
    pub fn new(
        dsa: Arc<Dsa>,
        applier: Applier,
        end: LogEnd,
        log: Box<dyn ShardLog>,
        queue: Arc<Queue>,
        limits: Limits,
    ) -> Committer {
        let files = log.files();
        let (applied, log_bytes) = (Index(applier.chain().last().0), files.live_bytes());
        queue.status().begin(files);
        queue.status().on_applied(applied);
        queue.status().on_behaviour(end.behaviour);
        let snapshots =
            Arc::new(SnapshotLimits::new(limits.snapshot_after, limits.snapshot_interval_ms, &queue));
        let proposer = Proposer::new(Arc::clone(&dsa), Arc::clone(&queue));
        let replica = Replica::new(applier, Arc::clone(dsa.shard()), end, log_bytes);
        let wall = Wall::new(dsa.shard().last_csn().unix_ms());
        Committer {
            dsa,
            log,
            queue,
            proposer,
            replica,
            readers: Readers::default(),
            forward: None,
            compare: None,
            waits_for_readers: false,
            snapshots,
            wall,
            checkpoint_ms: None,
            now_ms: 0,
            clocks: health::Now::default(),
        }
    }

    /// The same for replica `id` of several, before there are sessions: updates go to the one that leads, over links of
    /// [`consensus::links::Channel::Updates`], and reads wait for barriers. `seed`: by chance, another one for each run of the server.
    ///
    /// # Panics
    /// If the number of the replica has more than 16 bits.
    #[must_use]
    pub fn forwarding(mut self, id: ReplicaId, links: Box<dyn Links>, seed: u64) -> Committer {
        let forward = Forward::new(id, links, seed, self.dsa.trail().is_some());
        self.dsa.await_barriers();
        if let Some(lease) = self.log.lease() {
            self.queue.read_by(lease);
        }
        self.forward = Some(forward);
        self
    }

    /// The same over another log, which goes on where the one ends that it was made with.
    #[must_use]
    pub fn over(self, log: impl FnOnce(Box<dyn ShardLog>) -> Box<dyn ShardLog>) -> Committer {
        Committer { log: log(self.log), ..self }
    }

    /// Index of the last record that was applied.
    pub fn applied(&self) -> Index {
        self.replica.applied()
    }

    /// When snapshots are due, to be changed while it works.
    pub fn snapshot_limits(&self) -> &Arc<SnapshotLimits> {
        &self.snapshots
    }

    /// Where updates of its sessions go, and its status, to which snapshots are to be reported.
    pub fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// The directory.
    pub fn dsa(&self) -> &Arc<Dsa> {
        &self.dsa
    }

    /// The files of the log.
    pub fn log(&self) -> &Arc<Log> {
        self.log.files()
    }

    /// Asks for a barrier: see [`Committer::has_passed`].
    pub fn barrier(&mut self) -> Ticket {
        self.log.barrier()
    }

    /// Can everything be read that was answered anywhere before this barrier was asked for?
    pub fn has_passed(&self, barrier: Ticket) -> bool {
        let (passed, index) = self.log.passed();
        barrier <= passed && index <= self.applied()
    }

    /// Takes what came in, makes it durable as the mode asks, applies and answers it.
    ///
    /// # Errors
    /// See [`Failed`]: everything in progress was answered with "outcome unknown", everything later will be refused.
    pub fn step(&mut self, wall_ms: u64, monotonic_ms: u64) -> Result<Step, Failed> {
        self.step_at(|| wall_ms, monotonic_ms)
    }

    /// As [`Committer::step`]; the wall clock is read once it is decided what the step takes. So a command's time is not
    /// before it was sent, nor after it was answered: a restore to a point in time relies on it.
    ///
    /// # Errors
    /// See [`Committer::step`].
    pub fn step_at(&mut self, wall_ms: impl Fn() -> u64, monotonic_ms: u64) -> Result<Step, Failed> {
        match self.begin_step(wall_ms, monotonic_ms)? {
            Begun::Stepped(step) => Ok(step),
            Begun::Syncs(job) => self.end_step(job.run()),
        }
    }

    /// The first half of a step: takes what came in, writes it, applies and answers what is committed. While a sync runs
    /// that was handed out, other steps may begin; they hand out none.
    ///
    /// # Errors
    /// See [`Committer::step`].
    pub fn begin_step(&mut self, wall_ms: impl Fn() -> u64, monotonic_ms: u64) -> Result<Begun, Failed> {
        self.now_ms = monotonic_ms;
        self.checkpoint_ms.get_or_insert(monotonic_ms);
        if self.is_wrong() {
            self.listen();
            self.read_clocks(&wall_ms);
            return self.write().map_err(|failed| self.fail(failed));
        }
        let (wall, compare) = (&mut self.wall, &self.compare);
        let corrected = |own_ms| match compare {
            Some(compare) => compare.health.corrected(own_ms, monotonic_ms),
            None => own_ms,
        };
        let time = || wall.time(corrected(wall_ms()), monotonic_ms);
        // Of several replicas, what a majority has is what holds: this one may be wrong.
        let chain = self.replica.chain();
        self.proposer.checked = self.compare.as_ref().map_or(Some(chain), Compare::agreed);
        let free = |compare: &Compare| compare.free_before(monotonic_ms);
        self.proposer.free_elsewhere = self.compare.as_ref().map_or(u64::MAX, free);
        self.proposer.take(time, &mut *self.log, &mut self.replica, self.forward.as_mut(), monotonic_ms);
        self.read_clocks(&wall_ms);
        self.log.set_read_mode(ReadMode {
            by_lease: self.dsa.reads() == Reads::Lease,
            knows_age: self.dsa.without_quorum() == WithoutQuorum::Read,
        });
        if self.forward.as_mut().is_some_and(Forward::take_committed_elsewhere) {
            let _ = self.log.barrier();
        }
        self.readers.ask(&mut *self.log, &mut self.proposer.asked, monotonic_ms);
        if planted::is(faults::PUBLISHED_BEFORE_SYNC) {
            self.replica.apply_early(Index(u64::MAX), self.queue.status())?;
        }
        self.write().map_err(|failed| self.fail(failed))
    }

    /// The second half of a step, after a sync that was handed out: applies and answers what is committed by it.
    ///
    /// # Errors
    /// See [`Committer::step`].
    pub fn end_step(&mut self, done: SyncDone) -> Result<Step, Failed> {
        self.compare.iter_mut().for_each(|compare| compare.health.sync_done());
        let synced = self.log.sync_done(done).map_err(Failed::Log);
        let applied = synced.and_then(|()| self.apply());
        applied.map(|_| Step::Moved).map_err(|failed| self.fail(failed))
    }

    /// The same, where the sync has taken so many microseconds: another replica may have a faster disk.
    ///
    /// # Errors
    /// See [`Committer::step`].
    pub fn end_step_after(&mut self, (done, us): (SyncDone, u64)) -> Result<Step, Failed> {
        self.compare.iter_mut().for_each(|compare| compare.health.sync_took(us));
        self.end_step(done)
    }

    fn write(&mut self) -> Result<Begun, Failed> {
        self.log.snapshot_done(self.queue.status().snapshot());
        let begun = match self.log.write(self.now_ms).map_err(Failed::Log)? {
            Write::Sync(job) => {
                let now_ms = self.now_ms;
                self.compare.iter_mut().for_each(|compare| compare.health.sync_begun(now_ms));
                Begun::Syncs(job)
            }
            Write::Done => Begun::Stepped(Step::Moved),
            Write::Idle { due_ms } => Begun::Stepped(Step::Idle { due_ms }),
        };
        match self.log.role() {
            Role::Leader { .. } => self.replica.on_leader(),
            Role::Follower => self.replica.on_follower(self.now_ms),
        }
        self.queue.status().on_leading(self.leads());
        let has_applied = self.apply()?;
        Ok(match begun {
            Begun::Stepped(Step::Idle { .. }) if has_applied => Begun::Stepped(Step::Moved),
            Begun::Stepped(Step::Idle { due_ms }) if self.waits_for_readers => {
                let again_ms = Some(self.now_ms + READERS_RETRY_MS);
                Begun::Stepped(Step::Idle { due_ms: due_ms.into_iter().chain(again_ms).min() })
            }
            begun => begun,
        })
    }

    /// Applies and answers what is committed. Whether there was something.
    fn apply(&mut self) -> Result<bool, Failed> {
        if self.is_wrong() {
            // What is acknowledged stays in the log. Nothing may be made of it here.
            self.log.committed(&mut |_| true);
            self.exchange();
            return Ok(false);
        }
        let Committer { log, replica, queue, forward, compare, waits_for_readers: waits, .. } = self;
        let (before, status) = (replica.applied(), queue.status());
        *waits = false;
        if planted::is(faults::ANSWERED_BEFORE_COMMIT) {
            replica.apply_early(log.files().safe(), status)?;
        }
        let mut applied = Ok(());
        log.committed(&mut |committed| {
            if applied.is_ok() {
                if replica.waits_for_readers(&committed) {
                    *waits = true;
                    return false;
                }
                applied = replica.apply(committed, forward.as_mut(), status);
                if let Some(compare) = compare
                    && applied.is_ok()
                {
                    compare.on_applied(replica.applied().0, replica.shard());
                }
            }
            true
        });
        let has_applied = before < replica.applied();
        if let Err(failed) = applied {
            let differs = matches!(failed, Failed::Outcome(_) | Failed::Apply(_, ApplyError::Id(_)));
            if !differs || self.compare.is_none() {
                return Err(failed);
            }
            tracing::error!("{failed}");
            self.leave();
        }
        self.exchange();
        Ok(has_applied)
    }

    /// Tells sessions and other servers what follows from what is applied.
    fn exchange(&mut self) {
        let Committer { log, replica, readers, forward, now_ms, dsa, queue, .. } = self;
        readers.go_on(&**log, replica.applied(), *now_ms, dsa.without_quorum());
        queue.status().on_current(log.current_ms());
        if let Some(forward) = forward {
            forward.on_applied(replica.term(), *now_ms);
            let leader = log.leader().map(|(id, term)| (ReplicaId(id), term));
            forward.step(leader, replica.applied().0, *now_ms);
            queue.status().on_barriers(readers.count());
            queue.status().on_forwarded(forward.counts());
        }
        if self.compare() {
            self.leave();
        }
    }

    /// Writes down that something which is not in the log becomes part of the directory, before the snapshot that has it:
    /// so that nobody takes an earlier snapshot and the log for all there is. Nothing else may be in progress.
    ///
    /// # Errors
    /// See [`Failed`]; also when there is no room for it.
    pub fn note_import(&mut self, wall_ms: u64) -> Result<(), Failed> {
        self.write_alone(Kind::Import, &mut |_, out| out.extend_from_slice(&wall_ms.to_le_bytes()))
    }

    /// Writes down by what commands are decided from here on: the rules that this was made with. Durable when it returns.
    /// Nothing else may be in progress.
    ///
    /// # Errors
    /// See [`Failed`]; also when there is no room for it.
    pub(crate) fn change_rules(&mut self, wall_ms: u64) -> Result<(), Failed> {
        let head = self.head_alone(wall_ms);
        let rules = Arc::clone(self.replica.rules_text());
        self.write_alone(Kind::Parcel, &mut |at: Position, out| {
            head.encode(at.index.0, out);
            parcel::push_rules(&rules, out);
        })
    }

    /// Logs the settings that hold from here on. Durable and in force when it returns. Nothing else may be active.
    ///
    /// # Errors
    /// See [`Failed`]; also when there is no room for it.
    pub(crate) fn change_settings(&mut self, record: &Record, wall_ms: u64) -> Result<(), Failed> {
        let head = self.head_alone(wall_ms);
        let text = settings::text(record);
        self.write_alone(Kind::Parcel, &mut |at: Position, out| {
            head.encode(at.index.0, out);
            parcel::push_settings(&text, &Envelope::default(), out);
        })
    }

    /// From now on settings that are changed are copied to a file.
    pub(crate) fn copy_settings_to(&mut self, file: SettingsFile) {
        self.replica.copy_settings_to(file);
    }

    /// From now on what is added to the schema is copied to a file.
    pub(crate) fn copy_additions_to(&mut self, file: AddedFile) {
        self.replica.copy_additions_to(file);
    }

    /// The head of a parcel with one command that changes nothing in the directory.
    fn head_alone(&self, wall_ms: u64) -> Head {
        let time_ms = self.replica.log_state().time_ms.max(wall_ms);
        Head { time_ms, checked: Some(self.replica.chain()), ..Head::default() }
    }

    /// Writes a record that changes nothing in the directory: durable when it returns. Nothing else may be in progress.
    ///
    /// # Errors
    /// See [`Failed`]; also when there is no room for it.
    fn write_alone(
        &mut self,
        kind: Kind,
        append: &mut dyn FnMut(Position, &mut Vec<u8>),
    ) -> Result<(), Failed> {
        assert!(self.is_settled(), "nothing else is in progress");
        let mut noted = self.log.propose(kind, append);
        if let Err(Refused::Full) = noted {
            // Where there is no server, nobody prepares the next file.
            let files = self.log.files();
            while let Some(preparation) = files.wanted() {
                files.prepared(preparation.run());
                if files.no_space().is_some() {
                    break;
                }
            }
            noted = self.log.propose(kind, append);
        }
        let at = noted.map_err(|refused| self.fail(Failed::Refused(refused)))?;
        while self.applied() < at.index {
            if let Begun::Syncs(job) = self.write().map_err(|failed| self.fail(failed))? {
                self.end_step(job.run())?;
            }
        }
        let flushed = self.log.flush().map_err(|poisoned| self.fail(Failed::Log(poisoned)))?;
        assert!(flushed, "nothing else is in progress");
        assert!(self.applied() == at.index, "a record that is written alone is the last one");
        Ok(())
    }

    /// Writes and applies everything that came in, then closes the log. Returns a checkpoint of all of it. One of several replicas ends also if
    /// others go on sending to it.
    ///
    /// # Errors
    /// See [`Failed`].
    pub fn close(mut self, wall_ms: u64, monotonic_ms: u64) -> Result<Option<Taken>, Failed> {
        const TEXT: &str = "the server is shutting down";
        self.queue.refuse_from_now_on(ResultCode::Unavailable, TEXT);
        // Of a clean end nothing is lost.
        self.queue.times_wait();
        let steps_max = if self.forward.is_some() { LAST_STEPS_MAX } else { usize::MAX };
        for _ in 0..steps_max {
            if self.step(wall_ms, monotonic_ms)? != Step::Moved {
                break;
            }
        }
        self.proposer.refuse_rest(TEXT);
        self.replica.fail();
        self.end_waiting(TEXT);
        let taken = self.checkpoint()?;
        self.log.close().map_err(Failed::Log)?;
        Ok(taken)
    }

    /// What is in the log has an unknown outcome, everything else is refused.
    fn fail(&mut self, failed: Failed) -> Failed {
        self.replica.fail();
        self.proposer.refuse_rest(&failed.to_string());
        self.end_waiting(&failed.to_string());
        failed
    }

    /// Nobody waits any more for another server.
    fn end_waiting(&mut self, text: &str) {
        self.readers.end(&mut self.proposer.asked);
        if let Some(forward) = &mut self.forward {
            forward.end(text);
        }
    }

    /// Does this replica lead the log?
    pub fn leads(&self) -> bool {
        matches!(self.log.role(), Role::Leader { .. })
    }

    /// Does it lead, and has it applied everything of the terms before, so that updates are proposed?
    pub fn is_open(&self) -> bool {
        self.leads() && self.proposer.is_open()
    }

    /// Is nothing taken or proposed that is not answered?
    pub fn is_settled(&self) -> bool {
        self.proposer.is_settled()
            && self.replica.is_settled()
            && self.readers.is_settled()
            && self.forward.as_ref().is_none_or(Forward::is_settled)
    }

    /// Is there something that has no room in the log yet? Room comes with the next step, or with the next file.
    pub fn is_waiting_for_room(&self) -> bool {
        !self.proposer.is_settled()
    }
}

/// When an import was, in milliseconds since 1970, of the record that [`Committer::note_import`] leaves.
///
/// # Errors
/// When it is not that.
pub fn import_ms(payload: &[u8]) -> Result<u64, String> {
    let bytes = payload.try_into().map_err(|_| "the note of an import has not eight bytes".to_owned())?;
    Ok(u64::from_le_bytes(bytes))
}
