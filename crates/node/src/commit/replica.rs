//! The half of a committer that applies what is committed: updates that were proposed here with their prepared writes, and
//! then they are answered; all others as they stand in the log.

use super::{Failed, LogEnd, Status};
use crate::data::snapshot::{LogState, Point};
use crate::data::{AddedFile, Rules, SettingsFile, settings};
use crate::faults::{self, holes};
use crate::forward::Forward;
use crate::parcels;
use dsa::audit::What;
use dsa::behaviour::Versions;
use dsa::chain::Chain;
use dsa::journal::{OUTCOME_UNKNOWN, Updates};
use dsa::parcel::{Head, Parcel};
use dsa::settings::Record;
use dsa::{Applier, ApplyError, Dsa, Waking};
use env::planted;
use model::ResultCode;
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use store::{Checkpoint, Shard};
use wal::{Committed, Index, Kind, Mark, Position};

/// Milliseconds that updates wait to learn what became of them when this replica leads no more.
const LIMBO_MS: u64 = 10_000;

/// What is said of updates that another replica may still commit.
const LEADER_LOST: &str = "another server took over while this was being written: the outcome is unknown";
/// What is said of updates that are known to be lost.
const LOST: &str = "another server took over before this was written: nothing was changed; try again";

/// Bytes of updates that are answered before threads are woken to tell their clients, while others are applied.
const WAKE_BYTES: usize = 16 << 10;

/// Buffers of commands that are kept.
const SPARES_MAX: usize = 8;

/// A parcel that was proposed here and is not applied.
struct Proposed {
    at: Position,
    head: Head,
    /// None when they were answered that their outcome is unknown.
    commands: Vec<Updates>,
    /// Ids of those, which are free again if it is lost.
    ids: Vec<u32>,
}

/// See the module.
pub(super) struct Replica {
    applier: Applier,
    shard: Arc<Shard>,
    /// In the order of their positions.
    proposed: VecDeque<Proposed>,
    /// Time of the last parcel that was applied.
    time_ms: u64,
    /// What commands are decided by, and that as text: what the directory is made with.
    rules: Rules,
    rules_text: Arc<str>,
    /// The versions of the behaviour that this program knows.
    versions: Versions,
    /// The settings that are in force, as text, if the log has any.
    settings: Option<Arc<str>>,
    /// Where they are copied to.
    settings_file: Option<SettingsFile>,
    /// Settings that are not copied yet.
    uncopied: Option<Record>,
    /// That has failed: it is tried again before the next snapshot.
    has_copy_failed: bool,
    /// That of the schema when `rules` was made.
    generation: u64,
    /// Where additions to it are copied to.
    added_file: Option<AddedFile>,
    /// Payload bytes of the records that were applied since the last checkpoint.
    pub(super) bytes_since_checkpoint: u64,
    /// When this replica was first seen to lead no more, while something that it proposed is open.
    limbo_since_ms: Option<u64>,
    /// Updates that were proposed here and are lost: nobody was answered.
    lost: Vec<Updates>,
    /// The term of the last record that was applied.
    term: u64,
    answers: Vec<u8>,
    /// Sessions that were answered.
    waking: Waking,
    /// Buffers of commands to be used again.
    spare: Vec<Vec<Updates>>,
}

impl Replica {
    /// Of a directory that holds everything that the applier has applied.
    pub(super) fn new(mut applier: Applier, shard: Arc<Shard>, end: LogEnd, log_bytes: u64) -> Replica {
        let is_mixed = planted::is(faults::BEHAVIOUR_MIXED);
        applier.behave(if is_mixed { end.versions.newest } else { end.behaviour });
        Replica {
            applier,
            generation: shard.schema().generation(),
            added_file: None,
            shard,
            proposed: VecDeque::new(),
            time_ms: end.time_ms,
            rules_text: end.rules.text().into(),
            rules: end.rules,
            versions: end.versions,
            settings: end.settings,
            settings_file: None,
            uncopied: None,
            has_copy_failed: false,
            bytes_since_checkpoint: log_bytes,
            limbo_since_ms: None,
            lost: Vec::new(),
            term: 0,
            answers: Vec::new(),
            waking: Waking::default(),
            spare: Vec::new(),
        }
    }

    /// The term of the last record that was applied.
    pub(super) fn term(&self) -> u64 {
        self.term
    }

    /// Takes the updates that were proposed here and are lost. Their ids are free.
    pub(super) fn take_lost(&mut self) -> Vec<Updates> {
        std::mem::take(&mut self.lost)
    }

    /// Answers those, where there is nobody to propose them again.
    pub(super) fn refuse_lost(&mut self) {
        self.lost.drain(..).for_each(|updates| updates.refuse(ResultCode::Busy, LOST));
    }

    /// Index of the last record that was applied.
    pub(super) fn applied(&self) -> Index {
        Index(self.chain().0)
    }

    /// The last record that was applied, and the outcome chain there.
    pub(super) fn chain(&self) -> (u64, u64) {
        self.applier.chain().last()
    }

    /// The entries.
    pub(super) fn shard(&self) -> &Arc<Shard> {
        &self.shard
    }

    /// The outcome chain.
    pub(super) fn outcomes(&self) -> &Chain {
        self.applier.chain()
    }

    /// What the log came to, as far as it is applied.
    pub(super) fn log_state(&self) -> LogState {
        LogState { chain: self.chain().1, time_ms: self.time_ms }
    }

    /// What commands are decided by, as text.
    pub(super) fn rules_text(&self) -> &Arc<str> {
        &self.rules_text
    }

    /// The version of the behaviour that commands are decided by.
    pub(super) fn behaviour(&self) -> u32 {
        self.rules.behaviour()
    }

    /// What a snapshot holds, of a checkpoint of what was applied so far.
    pub(super) fn point(&self, checkpoint: Checkpoint, mark: Mark, dsa: &Arc<Dsa>) -> Point {
        Point {
            changes: Some(Arc::clone(dsa)),
            mark,
            checkpoint,
            state: self.log_state(),
            rules: Arc::clone(&self.rules_text),
            settings: self.settings.clone(),
        }
    }

    /// An empty buffer for commands.
    pub(super) fn spare_commands(&mut self) -> Vec<Updates> {
        let commands = self.spare.pop().unwrap_or_default();
        assert!(
            commands.is_empty(),
            "the commands of a parcel were answered before their buffer is used again"
        );
        commands
    }

    /// Is nothing open that was proposed here?
    pub(super) fn is_settled(&self) -> bool {
        self.proposed.is_empty()
    }

    /// Bytes by which the directory grows at most when what was proposed here is applied.
    pub(super) fn bytes_needed(&self) -> u64 {
        self.proposed.iter().flat_map(|proposed| &proposed.commands).map(Updates::bytes_needed).sum()
    }

    /// Is one of the commands that are proposed, and not applied yet, such a one?
    pub(super) fn has_proposed(&self, is_it: impl Fn(&Updates) -> bool) -> bool {
        self.proposed.iter().any(|proposed| proposed.commands.iter().any(&is_it))
    }

    /// These commands stand in the log at a position that is not committed yet.
    pub(super) fn on_proposed(&mut self, at: Position, head: &Head, commands: Vec<Updates>) {
        assert!(self.proposed.back().is_none_or(|last| last.at < at), "positions go up");
        assert!(at.index > self.applied() || is_planted(), "what is proposed is not applied yet");
        assert!(head.time_ms >= self.time_ms, "times of parcels do not go back");
        assert!(!commands.is_empty(), "a parcel that is proposed has commands to be answered");
        self.proposed.push_back(Proposed { at, head: *head, commands, ids: Vec::new() });
    }

    /// Does a reader here still look at an entry whose id this record sets free? Then it is applied later. The leader waits for readers of
    /// others before it sets ids free, but for those of which it has not heard for a while ([`crate::compare::Compare::free_before`]).
    pub(super) fn waits_for_readers(&self, committed: &Committed<'_>) -> bool {
        let Committed { at, kind: Kind::Parcel, payload } = committed else { return false };
        // It was proposed by what readers here look at.
        if self.proposed.front().is_some_and(|own| own.at == *at) {
            return false;
        }
        // What cannot be read is refused where it is applied.
        let Ok(parcel) = Parcel::decode(at.index.0, payload) else { return false };
        parcel.head.free_before.is_some_and(|before| !self.shard.writer().can_free_before(before))
    }

    /// Applies a record that is committed, and answers it if it was proposed here, or forwarded by `forward`.
    ///
    /// # Errors
    /// It cannot be applied: nothing may be applied after it.
    pub(super) fn apply(
        &mut self,
        committed: Committed<'_>,
        forward: Option<&mut Forward>,
        status: &Status,
    ) -> Result<(), Failed> {
        let Committed { at, kind, payload } = committed;
        let applied = self.applied();
        if at.index <= applied && is_planted() {
            return Ok(());
        }
        assert!(at.index == applied.plus(1), "record {} follows record {applied}", at.index);
        let ignores_terms = planted::is(faults::TERM_NOT_COMPARED);
        if !ignores_terms {
            self.lose_before(at);
        }
        let is_own = |own: Position| own == at || (ignores_terms && own.index == at.index);
        let own = match self.proposed.front() {
            Some(front) if is_own(front.at) => self.proposed.pop_front(),
            _ => None,
        };
        if let Some(own) = &own
            && !own.ids.is_empty()
        {
            // They were kept for this very record, which brings them itself.
            self.return_ids(&own.ids);
        }
        match own {
            Some(own) if !own.commands.is_empty() => self.apply_own(own)?,
            _ => self.apply_other(at.index, kind, payload, forward, status)?,
        }
        assert!(self.applied() == at.index, "the chain of outcomes ends with the record that was applied");
        self.bytes_since_checkpoint += payload.len() as u64;
        self.term = at.term;
        status.on_applied(at.index);
        if !self.has_copy_failed {
            self.copy_settings();
        }
        self.keep_up_with_schema();
        Ok(())
    }

    fn apply_own(&mut self, mut own: Proposed) -> Result<(), Failed> {
        let applied = self.apply_commands(&mut own);
        self.waking.wake();
        applied?;
        self.time_ms = own.head.time_ms;
        if self.spare.len() < SPARES_MAX {
            self.spare.push(own.commands);
        }
        Ok(())
    }

    fn apply_commands(&mut self, own: &mut Proposed) -> Result<(), Failed> {
        let Proposed { at: Position { index, .. }, head, ref mut commands, .. } = *own;
        let begun = parcels::begin(&mut self.applier, index.0, head.free_before);
        // It says something of readers here, and nothing of the directory.
        begun.map_err(|error| Failed::Record(index, error.to_string()))?;
        self.applier.begin_parcel(index.0, &head);
        assert!(
            head.time_ms >= self.time_ms || planted::is(faults::TERM_NOT_COMPARED),
            "times of parcels do not go back"
        );
        let mut answered = 0;
        for mut updates in commands.drain(..) {
            if let Some(record) = updates.settings().cloned() {
                let put = self.applier.apply_settings(&updates, head.time_ms);
                put.map_err(|reason| Failed::Record(index, reason))?;
                self.note_settings(record);
                updates.succeed(&mut self.waking);
                continue;
            }
            let is_whole = updates.ids().len() == updates.adds();
            assert!(is_whole, "each entry that is added has the id that the log says");
            let mut answers = updates.answers_buffer();
            let applied = self.applier.apply_updates(&mut updates, head.time_ms, &mut answers);
            // Without an answer it is answered that the outcome is unknown.
            applied.map_err(|error| Failed::Apply(index, error))?;
            answered += updates.bytes();
            updates.answer(answers, &mut self.waking);
            if answered >= WAKE_BYTES {
                self.waking.wake();
                answered = 0;
            }
        }
        self.applier.end_parcel(index.0);
        Ok(())
    }

    fn apply_other(
        &mut self,
        index: Index,
        kind: Kind,
        payload: &[u8],
        mut forward: Option<&mut Forward>,
        status: &Status,
    ) -> Result<(), Failed> {
        if kind != Kind::Parcel {
            // Imports are in the snapshot that follows them: see `Committer::note_import`.
            if kind == Kind::Import {
                let wall_ms = super::import_ms(payload).map_err(|reason| Failed::Record(index, reason))?;
                self.applier.report_recovered(What::Import, wall_ms);
            }
            self.applier.pass(index.0);
            return Ok(());
        }
        let unread = |reason| Failed::Record(index, reason);
        let parcel = Parcel::decode(index.0, payload).map_err(unread)?;
        let has_rules = parcel.rules().map_err(unread)?;
        if has_rules.is_some_and(|text| *text != *self.rules_text) {
            return Err(unread("it has other rules than this server was started with".to_owned()));
        }
        let raised = parcel.behaviour().map_err(unread)?.filter(|raised| *raised > self.rules.behaviour());
        if let Some(what) = raised.and_then(|behaviour| self.versions.refusal(behaviour)) {
            return Err(Failed::Behaviour(index, what));
        }
        let mut is_reported = false;
        if let Some((text, front)) = parcel.settings().map_err(unread)? {
            let (record, wall_ms) = (settings::parse(text).map_err(unread)?, parcel.head.time_ms);
            let taken = forward.as_deref_mut().and_then(|forward| forward.take_logged(front));
            self.change_settings(index, record, wall_ms)?;
            // A client here has asked for it.
            if let (Some(updates), Some(forward)) = (taken, forward.as_deref_mut()) {
                self.applier.settings_hold(&updates, wall_ms);
                updates.succeed(forward.waking());
                is_reported = true;
            }
        }
        let Replica { applier, answers, time_ms, .. } = self;
        // What tells that the directory differs from that of others.
        let failed = Cell::new(None);
        let note = |error: &ApplyError| failed.set(Some(Failed::Apply(index, *error)));
        let applied = parcels::apply(
            applier,
            (index.0, parcel, is_reported),
            |applier, head| {
                *time_ms = head.time_ms;
                parcels::begin(applier, index.0, head.free_before).map_err(|error| error.to_string())?;
                let checked = head.checked.map_or(Ok(()), |checked| applier.chain().check(checked));
                checked.map_err(|differs| {
                    failed.set(Some(Failed::Outcome(differs)));
                    differs.to_string()
                })
            },
            |applier, command, envelope| {
                answers.clear();
                let Some(forward) = forward.as_deref_mut() else {
                    return applier.apply_enveloped(command, envelope, answers).inspect_err(note);
                };
                let Some(mut updates) = forward.take_logged(envelope.front) else {
                    return applier.apply_enveloped(command, envelope, answers).inspect_err(note);
                };
                // Without an answer it is answered that the outcome is unknown.
                let mut answers = updates.answers_buffer();
                applier.apply_returned(command, envelope, &mut updates, &mut answers).inspect_err(note)?;
                updates.answer(answers, forward.waking());
                Ok(())
            },
        );
        applied.map_err(|reason| failed.take().unwrap_or_else(|| unread(reason)))?;
        if has_rules.is_some() || raised.is_some() {
            self.change_behaviour(raised.unwrap_or(0), status);
        }
        Ok(())
    }

    /// A command says that this version of the behaviour is in force, if it is later than that of the rules.
    fn change_behaviour(&mut self, raised: u32, status: &Status) {
        let before = self.rules.behaviour();
        self.rules = self.rules.clone().raised(raised);
        let behaviour = self.rules.behaviour();
        if behaviour != before {
            self.rules_text = self.rules.text().into();
            tracing::info!(
                before,
                behaviour,
                "updates are applied by another version of the behaviour from here on"
            );
        }
        self.applier.behave(behaviour);
        status.on_behaviour(behaviour);
    }

    /// Puts settings in force.
    fn change_settings(&mut self, index: Index, record: Record, wall_ms: u64) -> Result<(), Failed> {
        let put = self.applier.change_settings(record.clone(), wall_ms);
        put.map_err(|reason| Failed::Record(index, reason))?;
        self.note_settings(record);
        Ok(())
    }

    /// These settings are in force.
    fn note_settings(&mut self, record: Record) {
        self.settings = Some(settings::text(&record).into());
        (self.uncopied, self.has_copy_failed) = (Some(record), false);
    }

    /// Copies settings that were changed, after their client was answered: they are durable already. False as long as the copy is
    /// older than what is in force.
    pub(super) fn copy_settings(&mut self) -> bool {
        let (Some(record), Some(file)) = (&self.uncopied, &self.settings_file) else { return true };
        if let Err(error) = file.write(record.clone()) {
            tracing::warn!(%error, "the file `settings` cannot be written; a replica tries again before its next snapshot");
            self.has_copy_failed = true;
            return false;
        }
        self.uncopied = None;
        true
    }

    /// Takes notice of definitions that were added to the schema, and copies them, after their client was answered: they are durable already.
    fn keep_up_with_schema(&mut self) {
        let schema = self.shard.schema();
        if self.generation == schema.generation() {
            return;
        }
        self.generation = schema.generation();
        self.rules = self.rules.with_schema(schema);
        self.rules_text = self.rules.text().into();
        let Some(file) = &self.added_file else { return };
        if let Err(error) = file.write(schema, self.time_ms) {
            tracing::warn!(%error, "the file `schema-added` cannot be written; the next start finds in the log what was added");
        }
    }

    /// From now on what is added to the schema is copied to a file.
    pub(super) fn copy_additions_to(&mut self, file: AddedFile) {
        self.added_file = Some(file);
    }

    /// From now on settings that are changed are copied to a file.
    pub(super) fn copy_settings_to(&mut self, file: SettingsFile) {
        self.settings_file = Some(file);
    }

    /// A record of a later term is committed at `at`: what was proposed there or behind it in an earlier term is lost.
    fn lose_before(&mut self, at: Position) {
        let is_lost = |proposed: &Proposed| proposed.at.index >= at.index && proposed.at.term < at.term;
        while self.proposed.front().is_some_and(is_lost)
            && let Some(lost) = self.proposed.pop_front()
        {
            let mut ids = lost.ids;
            for mut updates in lost.commands {
                ids.extend_from_slice(updates.ids());
                self.lost.push(updates);
            }
            self.return_ids(&ids);
        }
    }

    fn return_ids(&self, ids: &[u32]) {
        self.shard.writer().return_ids(ids);
    }

    /// This replica does not lead: what it proposed and is not committed within some time is answered.
    pub(super) fn on_follower(&mut self, now_ms: u64) {
        if self.proposed.iter().all(|proposed| proposed.commands.is_empty()) {
            self.limbo_since_ms = None;
            return;
        }
        if planted::is(holes::LIMBO_SENT_TWICE) {
            return self.lose_limbo();
        }
        let since_ms = *self.limbo_since_ms.get_or_insert(now_ms);
        if now_ms.saturating_sub(since_ms) < LIMBO_MS {
            return;
        }
        for proposed in &mut self.proposed {
            for mut updates in proposed.commands.drain(..) {
                proposed.ids.append(updates.ids());
                updates.refuse(ResultCode::Unavailable, LEADER_LOST);
            }
        }
    }

    /// For a planted fault: what is proposed here counts as lost.
    fn lose_limbo(&mut self) {
        for proposed in &mut self.proposed {
            for mut updates in proposed.commands.drain(..) {
                proposed.ids.append(updates.ids());
                self.lost.push(updates);
            }
        }
    }

    /// This replica leads.
    pub(super) fn on_leader(&mut self) {
        self.limbo_since_ms = None;
    }

    /// Nothing is applied any more: of what was proposed here nobody knows what becomes.
    pub(super) fn fail(&mut self) {
        self.refuse_lost();
        for updates in self.proposed.drain(..).flat_map(|proposed| proposed.commands) {
            updates.refuse(ResultCode::Unavailable, OUTCOME_UNKNOWN);
        }
    }

    /// For a planted fault: applies and answers what was proposed here up to `last`, committed or not.
    pub(super) fn apply_early(&mut self, last: Index, status: &Status) -> Result<(), Failed> {
        debug_assert!(is_planted());
        while self.proposed.front().is_some_and(|front| front.at.index <= last)
            && let Some(own) = self.proposed.pop_front()
        {
            let at = own.at;
            self.apply_own(own)?;
            status.on_applied(at.index);
        }
        Ok(())
    }
}

/// Is a fault planted by which records are applied before they are committed?
pub(super) fn is_planted() -> bool {
    planted::is(faults::PUBLISHED_BEFORE_SYNC) || planted::is(faults::ANSWERED_BEFORE_COMMIT)
}
