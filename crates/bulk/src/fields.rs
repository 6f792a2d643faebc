//! The lines of a record as attributes of an entry.

use crate::import::Fault;
use crate::operational::Operational;
use model::limits::VALUE_BYTES_MAX;
use model::{Description, Entry};
use proto::ldif::{Line, Lines, Value};
use schema::Schema;
use std::collections::BTreeMap;

/// Descriptions remembered by their place in the record: records of a file are much alike.
const REMEMBERED_MAX: usize = 64;

/// What becomes of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Keep(Description),
    /// The server works it out itself, or the import does without it.
    Drop,
}

/// Turns lines into attributes.
pub(crate) struct Fields<'s> {
    schema: &'s Schema,
    operational: Operational,
    remembered: Vec<(Vec<u8>, Fate)>,
}

impl<'s> Fields<'s> {
    pub(crate) fn new(schema: &'s Schema, operational: Operational) -> Fields<'s> {
        Fields { schema, operational, remembered: Vec::new() }
    }

    /// Fills an empty entry. The values of an attribute become neighbours, attributes stay in the order in which
    /// they are first named.
    pub(crate) fn fill(&mut self, entry: &mut Entry, lines: Lines<'_>) -> Result<(), Fault> {
        let (mut last, mut fate): (&[u8], Fate) = (b"", Fate::Drop);
        for (at, line) in lines.iter().enumerate() {
            let value = value_of(&line)?;
            let begins = line.description != last;
            if begins {
                (last, fate) = (line.description, self.fate(at, &line)?);
            }
            let Fate::Keep(description) = fate else { continue };
            if begins && entry.position(description).is_some() {
                *entry = std::mem::take(entry).into_cleared();
                return self.fill_scattered(entry, lines);
            }
            if begins {
                entry.push_attribute(description);
            }
            entry.push_value(value);
        }
        Ok(())
    }

    /// Of a record whose attributes come apart: gathers the values of each before it fills the entry.
    #[cold]
    fn fill_scattered(&mut self, entry: &mut Entry, lines: Lines<'_>) -> Result<(), Fault> {
        let mut places = BTreeMap::new();
        let mut attributes: Vec<(Description, Vec<&[u8]>)> = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let value = value_of(&line)?;
            if let Fate::Keep(description) = self.fate(at, &line)? {
                let place = *places.entry(description).or_insert(attributes.len());
                if place == attributes.len() {
                    attributes.push((description, Vec::new()));
                }
                attributes[place].1.push(value);
            }
        }
        for (description, values) in attributes {
            entry.push_attribute(description);
            values.into_iter().for_each(|value| entry.push_value(value));
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
        let fate = match self.schema.intern_description(line.description) {
            Ok(description) => self.decide(description),
            // Bookkeeping of a provider of content synchronisation (RFC 4533), in exports of whole databases.
            Err(_) if line.description.eq_ignore_ascii_case(b"contextCSN") => Fate::Drop,
            Err(error) => {
                let shown = String::from_utf8_lossy(line.description);
                let like = self.schema.nearest_type(line.description);
                let like = like.map(|name| format!("; is {name} meant?")).unwrap_or_default();
                return Err(Fault::at(line.line, format!("{shown}: {error}{like}")));
            }
        };
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

    fn decide(&self, description: Description) -> Fate {
        let (kind, known) = (description.attribute_type, self.schema.well_known());
        let always_derived = [
            known.structural_object_class,
            known.has_subordinates,
            known.num_subordinates,
            known.subschema_subentry,
            known.entry_dn,
        ];
        let attribute = self.schema.attribute_type(kind);
        let is_stripped = self.operational == Operational::Strip && attribute.no_user_modification;
        let is_context_csn = attribute.name().eq_ignore_ascii_case("contextCSN");
        match is_stripped || is_context_csn || always_derived.contains(&kind) {
            true => Fate::Drop,
            false => Fate::Keep(description),
        }
    }
}

#[inline]
fn value_of<'v>(line: &Line<'v>) -> Result<&'v [u8], Fault> {
    match line.value {
        Value::Bytes(value) if value.len() < VALUE_BYTES_MAX => Ok(value),
        Value::Bytes(_) => Err(Fault::at(line.line, "the value has 16 MiB or more".to_owned())),
        Value::Url(_) => {
            let reason = "a value that lies elsewhere (`:<`) is not read; put it here in base64";
            Err(Fault::at(line.line, reason.to_owned()))
        }
    }
}
