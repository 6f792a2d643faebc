//! What the applier reports to the audit log: the updates of a command that were applied. It is reported after their outcome is certain, and that
//! depends on none of this.

use super::{Applier, Outcome};
use crate::audit::{Carried, Note, Origin, What};
use crate::change_log::Applied;
use crate::journal::{Command, Updates, messages};
use model::ResultCode;
use proto::result::result_code;

impl Outcome<'_> {
    /// Were its updates applied, one after the other?
    fn successes(&self) -> impl Iterator<Item = bool> {
        const SUCCESS: u32 = ResultCode::Success as u32;
        let (mut answers, together) = match self {
            Outcome::All(code) => (&[][..], Some(*code)),
            Outcome::Each(answers) => (*answers, None),
        };
        // Answers are read one after the other as they were written: entries that they carry are part of their message. The members of a
        // transaction share one outcome, for as many as are asked.
        std::iter::from_fn(move || match together {
            Some(code) => Some(code == SUCCESS),
            None => {
                let (code, rest) = result_code(answers)?;
                answers = rest;
                Some(code == SUCCESS)
            }
        })
    }
}

impl Applier {
    /// The record that is applied now.
    fn index(&self) -> u64 {
        self.chain.last().0 + 1
    }

    /// Number of the first of so many updates among those of the record.
    fn count(&mut self, updates: u32) -> u32 {
        let index = self.index();
        let before = if self.reported.0 == index { self.reported.1 } else { 0 };
        self.reported = (index, before + updates);
        before + 1
    }

    /// Reports what became of a command.
    /// `sequence` is the first commit sequence with which it can have become visible with.
    pub(super) fn report(
        &mut self,
        command: &Command<'_>,
        origin: Option<Origin>,
        outcome: &Outcome<'_>,
        sequence: u64,
    ) {
        let notes = self.worker.scratch.notes.as_mut().map(|notes| notes.take()).unwrap_or_default();
        // Refused updates count too, so that a replay comes to the same numbers.
        let first = self.count(messages(command.messages).count() as u32);
        let notes: Vec<Option<Note>> = notes
            .into_iter()
            .zip(outcome.successes())
            .map(|(note, is_done)| note.filter(|_| is_done))
            .collect();
        // Nothing is reported of a command of which nothing was applied: the audit log lists changes, and refusals are in the log of operations.
        let what = if command.is_transaction { What::Transaction } else { What::Updates };
        if notes.iter().all(Option::is_none) {
            return;
        }
        let (index, wall_ms) = (self.index(), command.wall_ms);
        let dsa = &self.worker.dsa;
        if dsa.change_log.is_on() {
            let applied = Applied {
                index,
                first,
                wall_ms,
                actor: command.actor,
                messages: command.messages,
                notes: &notes,
                sequence,
                // A constraint may change what refers to the entry, or count.
                changes_others: dsa.constraints.is_any(),
            };
            dsa.change_log.put(&dsa.system, &applied);
        }
        if let Some(trail) = &self.trail {
            let (actor, messages) = (command.actor.to_vec(), command.messages.to_vec());
            trail.carried(Carried { index, first, wall_ms, what, actor, origin, messages, notes });
        }
    }

    /// Somebody wants to know of the next command, or nobody does.
    pub(super) fn begin_notes(&mut self) {
        let is_wanted = self.trail.is_some() || self.worker.dsa.change_log.is_on();
        let notes = &mut self.worker.scratch.notes;
        match is_wanted {
            true => _ = notes.get_or_insert_default(),
            false => *notes = None,
        }
    }

    /// Notes a change of the schema, if it was made. It is of no entry and has no CSN of its own.
    pub(super) fn note_schema(&mut self) {
        let csn = self.worker.dsa.shard().last_csn();
        if let Some(notes) = &mut self.worker.scratch.notes {
            notes.schema(csn);
        }
    }

    /// Reports that settings were changed by these updates.
    pub(super) fn report_settings(&mut self, updates: &Updates, wall_ms: u64) {
        if self.trail.is_some() {
            let command = updates.command(wall_ms);
            let (actor, messages) = (command.actor.to_vec(), command.messages.to_vec());
            self.report_alone(What::Settings, wall_ms, Some(updates.origin().clone()), (actor, messages));
        }
    }

    /// Reports that all of a record was reported.
    pub(super) fn report_end(&self, index: u64) {
        let dsa = &self.worker.dsa;
        dsa.change_log.end(index, dsa.shard.last_csn());
        if let Some(trail) = &self.trail {
            trail.ends(index);
        }
    }

    /// Reports of what the log alone knows: a change of settings, or an import. To be called while its record is applied.
    pub fn report_recovered(&mut self, what: What, wall_ms: u64) {
        if self.trail.is_some() {
            self.report_alone(what, wall_ms, None, (Vec::new(), Vec::new()));
        }
    }

    fn report_alone(
        &mut self,
        what: What,
        wall_ms: u64,
        origin: Option<Origin>,
        (actor, messages): (Vec<u8>, Vec<u8>),
    ) {
        let (first, index) = (self.count(1), self.index());
        let notes = vec![None];
        if let Some(trail) = &self.trail {
            trail.carried(Carried { index, first, wall_ms, what, actor, origin, messages, notes });
        }
    }
}
