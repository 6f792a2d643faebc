//! Applies the records of a log again, and compares what they come to with what was answered.

use super::Rules;
use super::error::{DataError, OF_A_CLUSTER};
use super::recover::Stage;
use super::rules_epochs::{Decided, RulesEpochs};
use super::settings;
use super::snapshot::LogState;
use crate::faults;
use crate::parcels;
use dsa::behaviour::Versions;
use dsa::chain::Differs;
use dsa::journal::Command;
use dsa::parcel::Parcel;
use dsa::{Applier, ApplyError};
use env::planted;
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use wal::{Index, Kind, Record};

/// Differences that are remembered: one is a fault, many say no more.
const DIFFERENCES_MAX: usize = 100;

/// Applies records again.
pub(super) struct Replay {
    pub(super) applier: Applier,
    pub(super) epochs: RulesEpochs,
    /// What the directory is made by: only what was decided by them may be applied to it.
    made_by: Rules,
    versions: Versions,
    /// Why it does not know by what is applied from here on.
    unknown: Option<String>,
    /// The settings that are in force, as text, if snapshot or log have any.
    pub(super) settings: Option<Arc<str>>,
    pub(super) records: u64,
    /// Time of the last parcel.
    pub(super) time_ms: u64,
    /// Where the outcome was another than was answered.
    pub(super) differences: Vec<Differs>,
    /// An outcome that is another than was answered is noted and taken for true.
    pub(super) accepts: bool,
    /// That of the schema ([`schema::Schema::generation`]), and since when it is that, if definitions were added.
    generation: u64,
    pub(super) extended_ms: Option<u64>,
    answers: Vec<u8>,
    /// At which command it ended because other rules are in force, if it did: those of `epochs`. All before is applied.
    pub(super) stopped: Option<Decided>,
}

impl Replay {
    /// Of what follows a snapshot that holds all up to a record and came to this state. `applier` is of a directory that is made by
    /// `made_by`.
    pub(super) fn new(
        mut applier: Applier,
        (from, state): (Index, LogState),
        epochs: RulesEpochs,
        (made_by, versions): (Rules, Versions),
        settings: Option<Arc<str>>,
    ) -> Replay {
        applier.stands_at(from.0, state.chain);
        let generation = applier.schema().generation();
        Replay {
            generation,
            extended_ms: None,
            applier,
            epochs,
            made_by,
            versions,
            unknown: None,
            settings,
            records: 0,
            time_ms: state.time_ms,
            differences: Vec::new(),
            accepts: false,
            answers: Vec::new(),
            stopped: None,
        }
    }

    /// The last record that was applied, and what the log came to there.
    pub(super) fn state(&self) -> (Index, LogState) {
        let (index, chain) = self.applier.chain().last();
        (Index(index), LogState { chain, time_ms: self.time_ms })
    }

    /// Why the records of a directory were not applied, if that is known here; else the error.
    pub(super) fn reason(&self, error: DataError, dir: &Path) -> DataError {
        if let Some(what) = &self.unknown {
            return DataError::Behaviour(dir.to_owned(), what.clone());
        }
        let outcome = self.differences.first().filter(|_| !self.accepts);
        outcome.map_or(error, |differs| DataError::Outcome(*differs))
    }

    /// Applies a record.
    ///
    /// # Errors
    /// In words, why that cannot be.
    pub(super) fn apply(
        &mut self,
        record: Record<'_>,
        on_progress: &mut dyn FnMut(Stage),
    ) -> Result<(), String> {
        self.records += 1;
        let index = record.index.0;
        assert!(self.applier.chain().last().0 + 1 == index, "records are applied one after the other");
        if record.kind == Kind::Rules {
            self.applier.pass(index);
            // Alone it decides nothing: a start that was stopped before it was through has left it.
            return self.epochs.note(&record);
        }
        let is_parcel = record.kind == Kind::Parcel;
        let parcel = is_parcel.then(|| Parcel::decode(index, record.payload)).transpose()?;
        if let Some(parcel) = &parcel
            && let Some(text) = parcel.rules()?
        {
            self.epochs.change(text, parcel.head.time_ms, &record)?;
            return self.go_by_epoch(index, parcel);
        }
        if let Some(parcel) = &parcel
            && let Some(behaviour) = parcel.behaviour()?
        {
            self.epochs.raise(behaviour, parcel.head.time_ms, &record);
            return self.go_by_epoch(index, parcel);
        }
        if let Some(parcel) = &parcel
            && let Some((text, _)) = parcel.settings()?
        {
            // Nothing but constraints is decided by them: the others are put in force, as the last command has them, when all is applied.
            let record = settings::parse(text)
                .map_err(|what| format!("the settings from here on cannot be read: {what}"))?;
            if !planted::is(faults::CONSTRAINTS_NOT_REPLAYED) {
                self.applier.constrain(&record);
            }
            self.settings = Some(text.into());
            return self.apply_parcel(index, parcel.clone());
        }
        let decided = self.epochs.command();
        if decided != Decided::AsBefore
            && !self.epochs.rules().agree(&self.made_by)
            && !planted::is(faults::RULES_BY_RESTART)
        {
            self.stopped = Some(decided);
            return Err("other rules are in force".to_owned());
        }
        match (parcel, record.kind) {
            (Some(parcel), _) => {
                self.apply_parcel(index, parcel)?;
                self.keep_up_with_schema();
            }
            (None, Kind::Commands) => {
                let Replay { applier, answers, .. } = self;
                answers.clear();
                let command = Command::decode(record.payload)?;
                applier.keep_superclasses(true);
                let applied = again(applier, &command, |applier, command| applier.apply(command, answers));
                applied.map_err(|error| error.to_string())?;
                self.applier.begin_after(index);
            }
            (None, Kind::Ingest) => return Err("this version knows no ingested files".to_owned()),
            (None, kind) if kind.is_replicated() => return Err(OF_A_CLUSTER.to_owned()),
            // Of an import that did not come to its snapshot nothing became.
            (None, _) => self.applier.pass(index),
        }
        on_progress(Stage::Log(self.records));
        Ok(())
    }

    /// Applies a parcel that says by what the next ones are applied.
    fn go_by_epoch(&mut self, index: u64, parcel: &Parcel<'_>) -> Result<(), String> {
        let behaviour = self.epochs.rules().behaviour();
        if behaviour > self.versions.newest {
            self.unknown = self.versions.refusal(behaviour);
            return Err("this program does not know by what is applied from here on".to_owned());
        }
        self.apply_parcel(index, parcel.clone())?;
        self.applier.behave(behaviour);
        Ok(())
    }

    /// Takes notice of definitions that were added.
    fn keep_up_with_schema(&mut self) {
        let schema = self.applier.schema();
        if self.generation != schema.generation() {
            self.generation = schema.generation();
            self.extended_ms = Some(self.time_ms);
            self.made_by = self.made_by.with_schema(schema);
            self.epochs.extend(self.made_by.clone());
        }
    }

    fn apply_parcel(&mut self, index: u64, parcel: Parcel<'_>) -> Result<(), String> {
        let Replay { applier, answers, time_ms, differences, accepts, .. } = self;
        parcels::apply(
            applier,
            // Who asked for it is not known any more.
            (index, parcel, false),
            |applier, head| {
                if head.time_ms < *time_ms {
                    return Err("its time is before that of the parcel before".to_owned());
                }
                *time_ms = head.time_ms;
                let begun = planted::replay(|| parcels::begin(applier, index, head.free_before));
                begun.map_err(|error| error.to_string())?;
                let Some(checked) = head.checked else { return Ok(()) };
                compare(applier, checked, differences, *accepts)
            },
            |applier, command, envelope| {
                again(applier, command, |applier, command| {
                    answers.clear();
                    applier.apply_enveloped(command, envelope, answers)
                })
            },
        )
    }
}

/// Applies a command again.
fn again(
    applier: &mut Applier,
    command: &Command<'_>,
    apply: impl FnOnce(&mut Applier, &Command<'_>) -> Result<(), ApplyError>,
) -> Result<(), ApplyError> {
    if planted::is(faults::IDS_CHOSEN_AGAIN) {
        let command = Command { ids: Cow::Borrowed(&[]), ..command.clone() };
        return planted::replay(|| apply(applier, &command));
    }
    planted::replay(|| apply(applier, command))
}

/// Compares what was answered up to a record with what this replay came to.
fn compare(
    applier: &mut Applier,
    checked: (u64, u64),
    differences: &mut Vec<Differs>,
    accepts: bool,
) -> Result<(), String> {
    let Err(differs) = applier.chain().check(checked) else { return Ok(()) };
    if differences.len() < DIFFERENCES_MAX {
        differences.push(differs);
    }
    if !accepts {
        return Err(differs.to_string());
    }
    applier.chain_mut().accept(checked);
    Ok(())
}
