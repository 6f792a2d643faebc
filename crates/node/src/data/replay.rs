//! Applies the records of a log again, and compares what they come to with what was answered.

use super::DataError;
use super::course::Course;
use super::recover::Stage;
use super::snapshot::LogState;
use crate::parcels;
use dsa::chain::Differs;
use dsa::journal::Command;
use dsa::{Applier, ApplyError};
use env::planted::{self, Fault};
use std::borrow::Cow;
use wal::{Index, Kind, Record};

/// Differences that are remembered: one is a fault, many say no more.
const DIFFERENCES_MAX: usize = 100;

/// Applies records again.
pub(super) struct Replay {
    pub(super) applier: Applier,
    pub(super) course: Course,
    pub(super) records: u64,
    /// Time of the last parcel.
    pub(super) time_ms: u64,
    /// Where the outcome was another than was answered.
    pub(super) differences: Vec<Differs>,
    accepts: bool,
    answers: Vec<u8>,
    /// Why nothing may be applied.
    refusal: Option<DataError>,
    /// Something was not applied for that.
    refused: bool,
}

impl Replay {
    /// Of what follows a snapshot that holds all up to a record and came to this state. With a refusal no record is applied.
    pub(super) fn new(
        mut applier: Applier,
        (from, state): (Index, LogState),
        course: Course,
        refusal: Option<DataError>,
    ) -> Replay {
        applier.stands_at(from.0, state.chain);
        Replay {
            applier,
            course,
            records: 0,
            time_ms: state.time_ms,
            differences: Vec::new(),
            accepts: false,
            answers: Vec::new(),
            refusal,
            refused: false,
        }
    }

    /// From now on an outcome that is another than was answered is noted and taken for true.
    pub(super) fn accept_differences(&mut self) {
        self.accepts = true;
    }

    /// Why the records were not applied, if that is known here; else the error.
    pub(super) fn reason(&mut self, error: DataError) -> DataError {
        match self.differences.first().filter(|_| !self.accepts) {
            Some(differs) => DataError::Outcome(*differs),
            None => self.refusal.take().filter(|_| self.refused).unwrap_or(error),
        }
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
        if record.kind == Kind::Rules {
            self.applier.chain_mut().pass(index);
            // Alone it decides nothing: a start that was stopped before it was through has left it.
            return self.course.note(&record).map(|_| ());
        }
        self.course.command().map_err(|noted| {
            format!(
                "it was decided by another schema or other settings ({}) than those in the file `rules`: they do not belong \
                 together. Keep a copy of the directory and restore a backup",
                noted.place()
            )
        })?;
        if let Some(refusal) = &self.refusal {
            self.refused = true;
            return Err(refusal.to_string());
        }
        match record.kind {
            Kind::Parcel => self.apply_parcel(index, record.payload)?,
            Kind::Commands => {
                let Replay { applier, answers, .. } = self;
                answers.clear();
                let command = Command::decode(record.payload)?;
                let applied = again(applier, &command, |applier, command| applier.apply(command, answers));
                applied.map_err(|error| error.to_string())?;
                self.applier.chain_mut().begin_after(index);
            }
            // Of an import that did not come to its snapshot nothing became.
            Kind::Checkpoint | Kind::Import | Kind::Rules => self.applier.chain_mut().pass(index),
            Kind::Ingest => return Err("this version knows no ingested files".to_owned()),
        }
        on_progress(Stage::Log(self.records));
        Ok(())
    }

    fn apply_parcel(&mut self, index: u64, payload: &[u8]) -> Result<(), String> {
        let Replay { applier, answers, time_ms, differences, accepts, .. } = self;
        parcels::apply(
            applier,
            (index, payload),
            |applier, head| {
                if head.time_ms < *time_ms {
                    return Err("its time is before that of the parcel before".to_owned());
                }
                *time_ms = head.time_ms;
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
    if planted::is(Fault::IdsChosenAgain) {
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
