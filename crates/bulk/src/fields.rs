//! The values of a record as attributes of an entry.

use crate::operational::{
    END_TIME, Foreign, LOCKED, LOCKED_TIME, Operational, foreign, locks, uuid_of, without_state,
};
use crate::password_history;
use crate::record::Content;
use crate::report::Fault;
use crate::words::{Passwords, Words};
use model::limits::VALUE_BYTES_MAX;
use model::{Description, Entry};
use proto::ldif::{Line, Value};
use schema::{BinaryTransfer, Schema};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Descriptions remembered by their place in the record: records of a file mostly have the same attributes.
const REMEMBERED_MAX: usize = 64;

/// What becomes of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Keep(Description),
    /// Former passwords: each value is put into the form of this server.
    History(Description),
    /// The same of 389 Directory Server: what has another form is none.
    HistoryOf389(Description),
    /// The server works it out itself, or the import does without it.
    Drop,
    /// Another server's name for entryUUID.
    Uuid,
    /// It says whether the account is locked.
    Lock,
}

impl Fate {
    /// The attribute that the values go into.
    #[inline]
    fn kept(self) -> Option<Description> {
        match self {
            Fate::Keep(description) | Fate::History(description) | Fate::HistoryOf389(description) => {
                Some(description)
            }
            Fate::Drop | Fate::Uuid | Fate::Lock => None,
        }
    }
}

/// Why an entry cannot be filled in one go.
enum Halt {
    Fault(Fault),
    /// An attribute goes on behind another one.
    Scattered,
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Halt {
        Halt::Fault(fault)
    }
}

/// Turns lines into attributes.
pub(crate) struct Fields<'s> {
    schema: &'s Schema,
    operational: Operational,
    remembered: Vec<(Vec<u8>, Fate)>,
    /// Of the current record: what another server calls its entry, as an entryUUID.
    uuid: Option<[u8; 36]>,
    /// Of the current record: does another server's attribute lock its account?
    is_locked: bool,
    /// What locks an account here; a schema may be without it.
    locked_time: Option<Description>,
    pub(crate) words: Words,
}

impl<'s> Fields<'s> {
    pub(crate) fn new(schema: &'s Schema, operational: Operational, passwords: Passwords) -> Fields<'s> {
        let words = Words::new(schema, passwords);
        let locked_time = schema.find_description(LOCKED_TIME);
        Fields {
            schema,
            operational,
            remembered: Vec::new(),
            uuid: None,
            is_locked: false,
            locked_time,
            words,
        }
    }

    /// Fills an empty entry. The values of an attribute become neighbours, attributes stay in the order in which
    /// they are first named.
    pub(crate) fn fill(&mut self, entry: &mut Entry, content: Content<'_>) -> Result<(), Fault> {
        (self.uuid, self.is_locked) = (None, false);
        match self.fill_listed(entry, content) {
            Ok(()) => {}
            Err(Halt::Fault(fault)) => return Err(fault),
            Err(Halt::Scattered) => {
                *entry = std::mem::take(entry).into_cleared();
                self.fill_scattered(entry, content)?;
            }
        }
        if let Some(uuid) = self.uuid.take() {
            let description = Description::plain(self.schema.well_known().entry_uuid);
            if entry.position(description).is_none() {
                entry.push_attribute(description);
                entry.push_value(&uuid);
            }
        }
        // Instead of a lock of the entry's own, which may end.
        if let Some(locked_time) = self.locked_time.filter(|_| self.is_locked) {
            entry.replace(locked_time, [LOCKED]);
        }
        Ok(())
    }

    fn fill_listed(&mut self, entry: &mut Entry, content: Content<'_>) -> Result<(), Halt> {
        let (mut last, mut fate): (&[u8], Fate) = (b"", Fate::Drop);
        content.try_each(|at, line| {
            let value = value_of(&line)?;
            let begins = line.description != last;
            if begins {
                (last, fate) = (line.description, self.fate(at, &line)?);
            }
            let Some(description) = fate.kept() else { return Ok(self.note(fate, &line, value)?) };
            // Of those of 389 it may be that not all are kept.
            let may_be_none = matches!(fate, Fate::HistoryOf389(_));
            if begins && (may_be_none || entry.position(description).is_some()) {
                return Err(Halt::Scattered);
            }
            if begins {
                entry.push_attribute(description);
            }
            entry.push_value(&self.stored(fate, &line, value)?);
            Ok(())
        })
    }

    /// Of a record whose attributes come apart: gathers the values of each before it fills the entry.
    #[cold]
    fn fill_scattered(&mut self, entry: &mut Entry, content: Content<'_>) -> Result<(), Fault> {
        let mut places = BTreeMap::new();
        let mut attributes: Vec<(Description, Vec<Cow<'_, [u8]>>)> = Vec::new();
        content.try_each(|at, line| {
            let value = value_of(&line)?;
            let fate = self.fate(at, &line)?;
            let Some(description) = fate.kept() else { return self.note(fate, &line, value) };
            if matches!(fate, Fate::HistoryOf389(_)) && password_history::of_389(value).is_none() {
                return Ok(());
            }
            let value = self.stored(fate, &line, value)?;
            let place = *places.entry(description).or_insert(attributes.len());
            if place == attributes.len() {
                attributes.push((description, Vec::new()));
            }
            // Earlier versions wrote the values of a certificate twice: with the option `binary` and without it.
            let kind = self.schema.attribute_type(description.attribute_type);
            let values = &mut attributes[place].1;
            if kind.binary == BinaryTransfer::None || !values.contains(&value) {
                values.push(value);
            }
            Ok(())
        })?;
        for (description, values) in attributes {
            entry.push_attribute(description);
            values.into_iter().for_each(|value| entry.push_value(&value));
        }
        Ok(())
    }

    /// What is stored of a value that goes into the entry.
    #[inline]
    fn stored<'v>(&mut self, fate: Fate, line: &Line<'_>, value: &'v [u8]) -> Result<Cow<'v, [u8]>, Fault> {
        if let Fate::History(_) | Fate::HistoryOf389(_) = fate {
            return Ok(password_history::translated(value));
        }
        self.words.stored(line.description, value).map_err(|reason| Fault::at(line.line, reason))
    }

    /// Takes note of a value that does not go into the entry as it stands.
    fn note(&mut self, fate: Fate, line: &Line<'_>, value: &[u8]) -> Result<(), Fault> {
        match fate {
            Fate::Uuid => {
                let uuid = uuid_of(value);
                let reason = "the value of nsUniqueId has not the form 8-8-8-8 of hexadecimal digits";
                self.uuid = Some(uuid.ok_or_else(|| Fault::at(line.line, reason))?);
            }
            Fate::Lock => self.is_locked |= locks(value),
            Fate::Keep(_) | Fate::History(_) | Fate::HistoryOf389(_) | Fate::Drop => {}
        }
        Ok(())
    }

    #[inline]
    fn fate(&mut self, at: usize, line: &Line<'_>) -> Result<Fate, Fault> {
        match self.remembered.get(at) {
            Some((description, fate)) if description == line.description => Ok(*fate),
            _ => self.look_up(at, line),
        }
    }

    fn look_up(&mut self, at: usize, line: &Line<'_>) -> Result<Fate, Fault> {
        let fate = self.decide(line)?;
        if at < REMEMBERED_MAX {
            if self.remembered.len() <= at {
                self.remembered.resize(at + 1, (Vec::new(), Fate::Drop));
            }
            let (text, known) = &mut self.remembered[at];
            text.clear();
            text.extend_from_slice(line.description);
            *known = fate;
        }
        Ok(fate)
    }

    fn decide(&self, line: &Line<'_>) -> Result<Fate, Fault> {
        if self.operational == Operational::Keep {
            return self.decide_known(line, line.description);
        }
        match without_state(line.description) {
            Some(description) => self.decide_known(line, &description),
            None => Ok(Fate::Drop),
        }
    }

    fn decide_known(&self, line: &Line<'_>, text: &[u8]) -> Result<Fate, Fault> {
        let name = text.split(|byte| *byte == b';').next().unwrap_or_default();
        let description = self.schema.intern_description(text);
        // By any of its names.
        let known = description.as_ref().ok().map(|d| self.schema.attribute_type(d.attribute_type));
        let special = foreign(known.map_or(name, |attribute| attribute.name().as_bytes()));
        // A file may define memberOf as an attribute that is stored.
        let is_stored = known.is_some_and(|attribute| !attribute.definition.no_user_modification);
        let special = special.filter(|special| *special != Foreign::Derived || !is_stored);
        match (special, self.operational) {
            (Some(Foreign::Derived), _) => return Ok(Fate::Drop),
            (Some(Foreign::Uuid), Operational::Map) => return Ok(Fate::Uuid),
            (Some(Foreign::Lock), Operational::Map | Operational::Strip) => {
                let reason = "it locks an account, for which the schema has no pwdAccountLockedTime";
                return self.locked_time.map(|_| Fate::Lock).ok_or_else(|| Fault::at(line.line, reason));
            }
            (Some(Foreign::End), Operational::Map | Operational::Strip) => {
                let end_time = self.schema.find_description(END_TIME);
                let reason = "it ends an account, for which the schema has no pwdEndTime";
                return end_time.map(Fate::Keep).ok_or_else(|| Fault::at(line.line, reason));
            }
            (Some(Foreign::History), Operational::Map) => {
                let history = self.schema.find_description(password_history::ATTRIBUTE);
                return Ok(history.map_or(Fate::Drop, Fate::HistoryOf389));
            }
            (Some(_), Operational::Map | Operational::Strip) => return Ok(Fate::Drop),
            (None, Operational::Map)
                if known.is_some_and(|of| of.name().as_bytes() == password_history::ATTRIBUTE) =>
            {
                if let Ok(description) = description {
                    return Ok(Fate::History(description));
                }
            }
            _ => {}
        }
        let is_stripped = self.operational == Operational::Strip;
        match (description, known) {
            (Ok(_), Some(attribute)) if is_stripped && attribute.definition.no_user_modification => {
                Ok(Fate::Drop)
            }
            (Ok(description), _) => Ok(Fate::Keep(description)),
            (Err(error), _) => {
                let like =
                    self.schema.nearest_type(line.description).map(|name| format!("; is {name} meant?"));
                let hint = match special {
                    Some(_) => {
                        "; it is another server's own, which is left out or translated when those are mapped"
                            .to_owned()
                    }
                    None => like.unwrap_or_default(),
                };
                let shown = String::from_utf8_lossy(line.description);
                Err(Fault::at(line.line, format!("{shown}: {error}{hint}")))
            }
        }
    }
}

#[inline]
fn value_of<'v>(line: &Line<'v>) -> Result<&'v [u8], Fault> {
    match line.value {
        Value::Bytes(value) if value.len() < VALUE_BYTES_MAX => Ok(value),
        Value::Bytes(_) => Err(Fault::at(line.line, "the value has 16 MiB or more")),
        Value::Url(_) => {
            let reason = "a value that lies elsewhere (`:<`) is not read; put it here in base64";
            Err(Fault::at(line.line, reason))
        }
    }
}
