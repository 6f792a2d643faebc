//! Exports of Active Directory, in the LDIF of ldifde or ldapsearch, as LDIF that an import takes.
//!
//! Lines keep their numbers, so that what is said of a record fits the file: what is left out becomes empty comments.

mod attributes;
mod lines;

use crate::operational::{END_TIME, LOCKED, LOCKED_TIME};
use crate::record::{Record, Records};
use crate::report::Fault;
use crate::source::{Form, Input, Piece, Source, Whole};
use crate::survey::{Fate, Survey};
use attributes::{Attribute, attribute, entry_uuid, expiry, is_disabled, is_name};
use lines::Lines;
use model::csn::write_generalized_time;
use model::dn::split_first;
use model::read_generalized_time;
use proto::ldif::{Line, Value};
use schema::Schema;
use std::io::{self, Read};

/// Containers below the entry of a domain that have what its controllers need, and application partitions.
const SYSTEM: [&str; 17] = [
    "CN=Builtin",
    "CN=Configuration",
    "CN=Deleted Objects",
    "CN=ForeignSecurityPrincipals",
    "CN=Infrastructure",
    "CN=Keys",
    "CN=LostAndFound",
    "CN=Managed Service Accounts",
    "CN=Microsoft Exchange System Objects",
    "CN=NTDS Quotas",
    "CN=Operations",
    "CN=Program Data",
    "CN=System",
    "CN=TPM Devices",
    "DC=DomainDnsZones",
    "DC=ForestDnsZones",
    "OU=Domain Controllers",
];

/// A stream of translated records, over an export.
pub struct Translation<'r, 'i, 's> {
    source: Whole<'r, 'i>,
    piece: Piece,
    schema: &'s Schema,
    survey: Survey,
    /// Translated text, of which `taken` bytes were read.
    out: Vec<u8>,
    taken: usize,
}

impl<'r, 'i, 's> Translation<'r, 'i, 's> {
    /// The translation of an input. Attributes that the schema lacks are left out.
    pub fn new(input: &'r mut Input<'i>, schema: &'s Schema) -> Translation<'r, 'i, 's> {
        let (piece, survey) = (Piece::default(), Survey::default());
        Translation { source: Whole::new(input), piece, schema, survey, out: Vec::new(), taken: 0 }
    }

    /// Translates the next records. Returns whether there were some.
    fn advance(&mut self) -> Result<bool, Fault> {
        let mut piece = std::mem::take(&mut self.piece);
        let is_there = self.source.next(&mut piece)?;
        if is_there && piece.form == Form::Ber {
            return Err(Fault::at(0, "an export of Active Directory is LDIF"));
        }
        (self.taken, self.piece) = (0, piece);
        self.out.clear();
        if is_there {
            self.translate();
        }
        Ok(is_there)
    }

    fn translate(&mut self) {
        let (piece, out) = (std::mem::take(&mut self.piece), std::mem::take(&mut self.out));
        let mut lines = Lines::new(out, piece.line);
        let mut records = Records::of(&piece);
        while let Some(record) = records.next() {
            match record {
                Ok(record) => self.record(&record, &mut lines),
                // The import reports what is wrong with it.
                Err((_, range)) => {
                    self.survey.faults += 1;
                    lines.copy(&piece.bytes, range);
                }
            }
        }
        self.out = lines.finish(&piece.bytes);
        self.piece = piece;
    }

    fn record(&mut self, record: &Record<'_>, lines: &mut Lines) {
        self.survey.entries += 1;
        if let Some(container) = system_container(record.dn) {
            let why = "what domain controllers need";
            return self.survey.put(&format!("entries at and below {container}"), Fate::Left(why));
        }
        let mut has = Has::default();
        let _: Result<(), Fault> = record.content.try_each(|_, line| {
            has.entry_uuid |= is_name(line.description, "entryUUID");
            has.created |= is_name(line.description, "createTimestamp");
            has.changed |= is_name(line.description, "modifyTimestamp");
            Ok(())
        });
        lines.begin(record.place.line);
        lines.put(record.place.line, b"dn", record.dn);
        let _: Result<(), Fault> = record.content.try_each(|_, line| {
            match line.value {
                Value::Bytes(value) => self.line(&line, value, has, lines),
                Value::Url(url) => lines.put_url(line.line, line.description, url),
            }
            Ok(())
        });
    }

    /// Translates one value.
    fn line(&mut self, line: &Line<'_>, value: &[u8], has: Has, lines: &mut Lines) {
        let name = line.description.split(|byte| *byte == b';').next().unwrap_or_default();
        let (shown, survey) = (String::from_utf8_lossy(name), &mut self.survey);
        let mut put = |name: &[u8], value: &[u8]| lines.put(line.line, name, value);
        match attribute(name, self.schema) {
            Attribute::Kept => {
                put(line.description, value);
                survey.count(line.description, value, self.schema);
            }
            Attribute::Useless(why) => {
                put(line.description, value);
                survey.put(&shown, Fate::Useless(why));
            }
            Attribute::Left(why) => survey.put(&shown, Fate::Left(why)),
            Attribute::Guid => {
                put(line.description, value);
                if let Some(uuid) = entry_uuid(value).filter(|_| !has.entry_uuid) {
                    put(b"entryUUID", uuid.as_bytes());
                    survey.put(&shown, Fate::Translated("entryUUID; they are kept as well"));
                }
            }
            Attribute::Time(_, to) if has.time(to) => {
                survey.put(&shown, Fate::Left("the entry has the standard attribute too"));
            }
            Attribute::Time(why, to) => {
                put(to.as_bytes(), &time(value));
                survey.put(&shown, Fate::Translated(why));
            }
            Attribute::Control => {
                put(line.description, value);
                let why = "Active Directory exports none: these accounts need new ones";
                survey.put("passwords of accounts", Fate::Left(why));
                if is_disabled(value) {
                    put(LOCKED_TIME, LOCKED);
                    let why = "pwdAccountLockedTime: nobody binds as them; the number is kept as well";
                    survey.put("userAccountControl of disabled accounts", Fate::Translated(why));
                }
            }
            Attribute::Expiry => match expiry(value) {
                Some(end) => {
                    put(END_TIME, &end);
                    survey.put(&shown, Fate::Translated("pwdEndTime"));
                }
                None => survey.put(&shown, Fate::Left("they say that the account does not expire")),
            },
        }
    }
}

impl Read for Translation<'_, '_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.out.len() {
            if !self.advance().map_err(|fault| io::Error::other(fault.to_string()))? {
                return Ok(0);
            }
        }
        let bytes = buffer.len().min(self.out.len() - self.taken);
        buffer[..bytes].copy_from_slice(&self.out[self.taken..self.taken + bytes]);
        self.taken += bytes;
        Ok(bytes)
    }
}

/// What becomes of the values of exports of Active Directory. Reads the inputs to their ends.
///
/// # Errors
/// When one cannot be read.
pub fn survey(inputs: &mut [Input<'_>], schema: &Schema) -> Result<Survey, Fault> {
    let mut survey = Survey::default();
    for (number, input) in inputs.iter_mut().enumerate() {
        let mut translation = Translation { survey, ..Translation::new(input, schema) };
        while translation.advance().map_err(|fault| Fault { input: number, ..fault })? {}
        survey = translation.survey;
    }
    Ok(survey)
}

/// Which attributes that others become a record has by itself.
#[derive(Clone, Copy, Default)]
struct Has {
    entry_uuid: bool,
    created: bool,
    changed: bool,
}

impl Has {
    fn time(self, name: &str) -> bool {
        if name == "createTimestamp" { self.created } else { self.changed }
    }
}

/// The container of the system in which an entry is.
fn system_container(dn: &[u8]) -> Option<&'static str> {
    let mut rest = dn;
    while let (rdn, Some(above)) = split_first(rest) {
        let is_below_domain = above.get(..3).is_some_and(|begin| begin.eq_ignore_ascii_case(b"DC="));
        let is_it = |name: &&&str| name.as_bytes().eq_ignore_ascii_case(rdn.trim_ascii());
        if let Some(container) = SYSTEM.iter().find(is_it).filter(|_| is_below_domain) {
            return Some(container);
        }
        rest = above.trim_ascii_start();
    }
    None
}

/// A time without its fraction, which is always zero there; what is no time as it is, for the import to report.
fn time(value: &[u8]) -> Vec<u8> {
    let Some(unix_ms) = read_generalized_time(value) else { return value.to_vec() };
    let mut text = Vec::new();
    write_generalized_time(unix_ms, &mut text);
    text
}

#[cfg(test)]
mod tests;
