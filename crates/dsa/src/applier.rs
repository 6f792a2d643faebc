//! Applies the commands of the log, in order: the only one who changes a directory that is logged.

mod conditions;
mod report;

use crate::account_times;
use crate::audit::Trail;
use crate::behaviour::{FIRST_WITH_COLLECTIVE, FIRST_WITH_CONSTRAINTS, FIRST_WITH_LIFETIMES, OLDEST};
use crate::bundle;
use crate::bundle::transaction::{self, Ending, WriteSet};
use crate::chain::Chain;
use crate::constraints::ConstraintRule;
use crate::effective::Effective;
use crate::engine::Dsa;
use crate::faults;
use crate::journal::{self, Along, Command, Updates};
use crate::op::{configure, extend_schema};
use crate::parcel::{Envelope, Head, Times};
use crate::settings::Record;
use crate::worker::Worker;
use env::clock::Now;
use env::planted;
use schema::Schema;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The one who applies commands.
pub struct Applier {
    worker: Worker,
    /// What all commands came to.
    chain: Chain,
    /// Who wants to know what was applied.
    trail: Option<Arc<Trail>>,
    /// The version by which commands are applied.
    behaviour: u32,
    /// A record, and how many of its updates were applied or refused.
    reported: (u64, u32),
}

/// What a command came to.
enum Outcome<'a> {
    /// All of its updates to this code.
    All(u32),
    /// Each to what its answer says.
    Each(&'a [u8]),
}

/// Why a command cannot be applied as it was, or will be, at another time: the directory must not be used on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyError {
    /// It brings an id that another entry has, or that there is no room for.
    Id(u32),
    /// The address space that is reserved ran out, which is more than the machine has memory, or a transaction was larger than
    /// any may be. How much there is differs from start to start, so that is no outcome that a log can rely on.
    Memory,
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ApplyError::Id(id) => write!(f, "it adds an entry with the id {id}, which cannot be"),
            ApplyError::Memory => f.write_str("memory ran out: allow the directory more"),
        }
    }
}

impl std::error::Error for ApplyError {}

impl Applier {
    /// For a directory; `None` when there are too many readers of it. From then on the memory limit is for who logs the
    /// commands: what is logged is applied, whatever memory that takes ([`store::Shard::waive_limit`]).
    pub fn new(dsa: &Arc<Dsa>) -> Option<Applier> {
        if !planted::is(faults::holes::MEMORY_STOPS_FOLLOWER) {
            dsa.shard.waive_limit();
        }
        let mut worker = Worker::new(dsa)?;
        let trail = dsa.trail.get().cloned();
        worker.scratch.notes = trail.as_ref().map(|_| Box::default());
        // Changes have their places in the log, so they are kept where there is one.
        let now = Now { wall_ms: dsa.config.started_ms, monotonic_ns: 0 };
        let choices = dsa.chosen.now().change_log;
        dsa.change_log.begin(&dsa.system, (choices, dsa.shard.last_csn()), now);
        let chain = Chain::new(dsa.shard().settings().key[0], 0, 0);
        let mut applier = Applier { worker, chain, trail, behaviour: OLDEST, reported: (0, 0) };
        applier.behave(OLDEST);
        // What file and flags say counts from its place in the log on.
        applier.put_constraints(Vec::new());
        Some(applier)
    }

    /// The directory is what the log says up to the record `index`, where the outcome chain has this value.
    pub fn stands_at(&mut self, index: u64, chain: u64) {
        self.chain = Chain::new(self.worker.dsa.shard().settings().key[0], index, chain);
        let dsa = &self.worker.dsa;
        dsa.change_log.begin_behind(index, dsa.shard.last_csn());
        if let Some(trail) = &self.trail {
            trail.from(index);
        }
    }

    /// Commands are applied by this version of the behaviour from here on.
    pub fn behave(&mut self, behaviour: u32) {
        let before = std::mem::replace(&mut self.behaviour, behaviour);
        let dsa = &self.worker.dsa;
        dsa.behaviour.store(behaviour, Ordering::Relaxed);
        dsa.shard.keep_dynamic(behaviour < FIRST_WITH_LIFETIMES);
        dsa.shard.schema().keep_collective_apart(behaviour >= FIRST_WITH_COLLECTIVE);
        // Writes that were prepared before are judged by no constraint.
        if before < FIRST_WITH_CONSTRAINTS && behaviour >= FIRST_WITH_CONSTRAINTS && dsa.constraints.is_any()
        {
            let mut writer = dsa.shard.writer();
            writer.invalidate_prepared_writes();
            writer.publish();
        }
    }

    /// The schema of the directory.
    pub fn schema(&self) -> &Schema {
        self.worker.dsa.shard().schema()
    }

    /// What all commands came to.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// As [`Applier::chain`].
    pub fn chain_mut(&mut self) -> &mut Chain {
        &mut self.chain
    }

    /// Applies the commands of a parcel from here on, which is the record `index` and has this head.
    pub fn begin_parcel(&mut self, index: u64, head: &Head) {
        self.chain.begin(index);
        self.keep_superclasses(head.keeps_superclasses);
    }

    /// Applies commands as [`Head::keeps_superclasses`] says from here on, which those of records before there were parcels are.
    pub fn keep_superclasses(&mut self, keeps: bool) {
        self.worker.scratch.keeps_superclasses = keeps;
    }

    /// All commands of the parcel were applied.
    pub fn end_parcel(&mut self, index: u64) {
        let shard = self.worker.dsa.shard();
        let last_csn = shard.last_csn();
        self.chain.end(index, last_csn.0, shard.entries());
        self.report_end(index);
    }

    /// A record was passed that changes nothing, or whose outcome is not part of the chain.
    pub fn pass(&mut self, index: u64) {
        self.chain.pass(index);
        self.report_end(index);
    }

    /// A record of a program before the outcome chain was applied: the chain begins behind it.
    pub fn begin_after(&mut self, index: u64) {
        self.chain.begin_after(index);
        self.report_end(index);
    }

    /// Puts the settings of a parcel in force, whose time is `wall_ms`. Of them the constraints alone decide what the commands behind it
    /// come to. The outcome chain does not know of them.
    ///
    /// # Errors
    /// In words, which setting this program does not take: nothing is changed.
    pub fn change_settings(&mut self, record: Record, wall_ms: u64) -> Result<(), String> {
        let constraints = record.constraints();
        configure::put(&self.worker.dsa, record, Now { wall_ms, monotonic_ns: 0 })?;
        self.put_constraints(constraints);
        Ok(())
    }

    /// The log, or the snapshot that it begins with, has these settings here: what the commands behind them come to is decided by the
    /// constraints among them. All others are put in force when a start is through with its log.
    pub fn constrain(&mut self, record: &Record) {
        self.put_constraints(record.constraints());
    }

    /// Puts constraints in force from the next command of the log on.
    fn put_constraints(&mut self, rules: Vec<ConstraintRule>) {
        let dsa = &self.worker.dsa;
        dsa.constraints.put(rules, &dsa.shard);
    }

    /// As [`Applier::change_settings`], of updates that are a change of settings: what they ask of indexes is asked for, too.
    ///
    /// # Errors
    /// As [`Applier::change_settings`].
    pub fn apply_settings(&mut self, updates: &Updates, wall_ms: u64) -> Result<(), String> {
        let Some(record) = updates.settings() else { return Ok(()) };
        self.change_settings(record.clone(), wall_ms)?;
        self.settings_hold(updates, wall_ms);
        Ok(())
    }

    /// The settings that these updates are about are in force: what they ask of indexes is asked for, and that they were changed is reported. To be
    /// called while their record is applied.
    pub fn settings_hold(&mut self, updates: &Updates, wall_ms: u64) {
        let Worker { dsa, reader, .. } = &mut self.worker;
        // Others may have asked for the same meanwhile: then it is on its way.
        let _ = dsa.indexing.ask(updates.indexes(), reader.pin().read_point());
        self.report_settings(updates, wall_ms);
    }

    /// Applies times of accounts. The outcome chain does not know of them, and the audit log lists none: they are no changes of entries.
    ///
    /// # Errors
    /// [`ApplyError::Memory`].
    pub fn apply_times(&mut self, times: Times<'_>) -> Result<(), ApplyError> {
        match account_times::apply(self.worker.dsa.shard(), times.iter()) {
            true => Err(ApplyError::Memory),
            false => Ok(()),
        }
    }

    /// What was applied so far was a recovery and does not count.
    pub fn forget_operations(&self) {
        self.worker.counters.forget_operations();
    }

    /// What is applied next are the commands of the record with this index, before which the ids of entries are free that
    /// records before `free_before` deleted. Once for each record that says so, before its commands.
    ///
    /// # Errors
    /// [`ApplyError::Id`] where a reader may still look at one of those entries: nothing was done.
    pub fn begin_record(&mut self, index: u64, free_before: u64) -> Result<(), ApplyError> {
        let mut writer = self.worker.dsa.shard().writer();
        writer.at_index(index);
        writer.free_before(free_before).map_err(ApplyError::Id)
    }

    /// Applies a command, makes it visible and appends the answers to its updates. The outcome depends on nothing but
    /// the directory and the command. Of a transaction nothing is appended: who ended it is not in the command.
    ///
    /// # Errors
    /// See [`ApplyError`]: what was done of it counts for nothing.
    pub fn apply(&mut self, command: &Command<'_>, answers: &mut Vec<u8>) -> Result<(), ApplyError> {
        self.apply_with(command, &Envelope::default(), None, None, answers)
    }

    /// As [`Applier::apply`], of a command with what comes with it.
    ///
    /// # Errors
    /// See [`Applier::apply`].
    pub fn apply_enveloped(
        &mut self,
        command: &Command<'_>,
        envelope: &Envelope<'_>,
        answers: &mut Vec<u8>,
    ) -> Result<(), ApplyError> {
        self.apply_with(command, envelope, None, None, answers)
    }

    /// As [`Applier::apply`], of the command that these updates are when it is given at a time: what was prepared of them
    /// when they came is made use of as far as it still holds.
    ///
    /// # Errors
    /// See [`Applier::apply`].
    pub fn apply_updates(
        &mut self,
        updates: &mut Updates,
        wall_ms: u64,
        answers: &mut Vec<u8>,
    ) -> Result<(), ApplyError> {
        let (end, is_schema) = (updates.end(), updates.is_schema());
        let (command, conditions, along) = updates.command_along(wall_ms);
        along.marks.begin();
        let envelope = Envelope { conditions, is_schema, ..Envelope::default() };
        self.apply_with(&command, &envelope, Some(along), end, answers)
    }

    /// As [`Applier::apply_enveloped`], of the command that these updates of a client here are in the log, which another server
    /// proposed: their answers have the entries that the client may read.
    ///
    /// # Errors
    /// See [`Applier::apply`].
    pub fn apply_returned(
        &mut self,
        command: &Command<'_>,
        envelope: &Envelope<'_>,
        updates: &mut Updates,
        answers: &mut Vec<u8>,
    ) -> Result<(), ApplyError> {
        let end = updates.end();
        let (_, _, along) = updates.command_along(command.wall_ms);
        along.marks.begin();
        self.apply_with(command, envelope, Some(along), end, answers)
    }

    fn apply_with(
        &mut self,
        command: &Command<'_>,
        envelope: &Envelope<'_>,
        along: Option<Along<'_>>,
        end: Option<i32>,
        answers: &mut Vec<u8>,
    ) -> Result<(), ApplyError> {
        self.chain.behave(self.behaviour);
        self.worker.tick(Now { wall_ms: command.wall_ms, monotonic_ns: 0 });
        // The committer has classes of its own. A number that came with the session would be that of somebody else here.
        let reader = self.worker.reader_of(along.as_ref().and_then(|along| along.reader));
        let effective = Effective::of_log(command.actor, reader);
        let shard = Arc::clone(self.worker.dsa.shard());
        if !command.ids.is_empty() {
            shard.writer().give_ids(&command.ids).map_err(ApplyError::Id)?;
        }
        let before = answers.len();
        let is_put = self.worker.dsa.change_log.begin_command();
        let sequence = shard.sequence() + 1;
        self.begin_notes();
        // Cloned only where somebody wants to know.
        let origin = self.trail.as_ref().and_then(|_| along.as_ref().map(|along| along.origin.clone()));
        let failed = conditions::first_false(&mut self.worker, envelope.conditions);
        let outcome = if let Some(code) = failed {
            self.chain.update(code);
            conditions::refuse(command, end, code, answers);
            Outcome::All(code)
        } else if envelope.is_schema {
            let now = Now { wall_ms: command.wall_ms, monotonic_ns: 0 };
            extend_schema::run(&self.worker.dsa, command.messages, now, answers);
            self.chain.updates(&answers[before..]);
            self.note_schema();
            Outcome::Each(&answers[before..])
        } else if command.is_transaction {
            let (messages, ids) = (command.messages, &command.ids[..]);
            let ending = end.map(|id| Ending { id, out: answers });
            let together = WriteSet { effective, messages, ids };
            // One that came from another server has none.
            let prepared_writes = along.map(|along| along.prepared_writes).filter(|writes| writes.len() > 0);
            let code = transaction::apply(&mut self.worker, together, prepared_writes, ending);
            self.chain.update(code);
            Outcome::All(code)
        } else {
            let applied = applied_of(command.messages);
            bundle::apply(&mut self.worker, effective, applied, along, answers);
            self.chain.updates(&answers[before..]);
            Outcome::Each(&answers[before..])
        };
        if self.worker.scratch.notes.is_some() {
            self.report(command, origin, &outcome, sequence);
        }
        if is_put {
            self.worker.dsa.change_log.end_command();
        }
        assert!(answers.len() >= before, "answers stand behind those to earlier commands");
        if !command.ids.is_empty() {
            shard.writer().end_given_ids();
        }
        match std::mem::take(&mut self.worker.scratch.lacked_memory) {
            true => Err(ApplyError::Memory),
            false => Ok(()),
        }
    }
}

/// The messages to apply: all, but for a fault that is injected.
fn applied_of(messages: &[u8]) -> &[u8] {
    if !planted::is_at_replay(faults::OUTCOME_OTHER) {
        return messages;
    }
    let lengths: Vec<usize> = journal::messages(messages).map(<[u8]>::len).collect();
    &messages[..lengths[..lengths.len().max(2) - 1].iter().sum()]
}
