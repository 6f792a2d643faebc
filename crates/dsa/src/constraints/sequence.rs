//! Default values, and sequential numbers: an entry that is added without one gets it. The
//! counter of a sequence goes on in the same step of the writer.
//!
//! The counter is an attribute of an entry, so it is as durable as any, and an administrator
//! may read and change it. A number is given once, also if the entry that had it is deleted.
//! Numbers that entries have from elsewhere are passed over.

use super::class::is_of_class;
use super::directory::Directory;
use super::given::put;
use super::in_force::{Lacking, Sequence};
use super::{Given, Judging};
use model::dn::{parse_rdn, split_first};
use model::{Description, Entry, EntryId};
use std::num::IntErrorKind;
use store::{EntryRef, ReadPoint, Refused, Values};

/// Numbers in a row that a sequence passes over because entries have them. Each is a look into
/// the index in the writer's role, and an add that is refused would look at them again.
const PASSED_MAX: u64 = 256;

/// What may be wrong with a counter, behind "its counter".
const NO_NUMBER: &str = "has no number";
const SEVERAL: &str = "has several values: it needs one, of digits alone";
const NOT_DIGITS: &str = "has a value that is not digits alone";
const TOO_LARGE: &str = "has a number that is too large: set it to a smaller one";

impl Judging<'_> {
    /// Gives an entry that is to be added the values that it lacks. One that was judged in an
    /// overlay gets those that it got there: what the updates behind it do with them comes to
    /// the same then.
    ///
    /// # Errors
    /// A counter that is not there, or has no number, or whose next numbers are taken.
    pub(crate) fn give(&self, dn: &[u8], entry: &mut Entry, at: ReadPoint<'_>) -> Result<Given, Refused> {
        if self.is_done() {
            let given = self.given();
            given.put(entry, self.in_force());
            return Ok(given);
        }
        let (mut given, directory) = (Given::default(), self.directory(at));
        for (place, default) in self.in_force().defaults.iter().enumerate() {
            if self.is_wanted(&default.of, dn, entry, directory) {
                put(entry, default.of.attribute, &default.value);
                given.defaults.push(place);
            }
        }
        for (place, sequence) in self.in_force().sequences.iter().enumerate() {
            if !self.is_wanted(&sequence.of, dn, entry, directory) {
                continue;
            }
            let counter = self.find(&sequence.counter, directory).and_then(|id| directory.entry(id));
            let first = match counter.map_or(Err(NO_NUMBER), |(entry, _)| number(sequence, &entry)) {
                Ok(first) => first,
                Err(why) => {
                    let text = format!("constraint {}: its counter {why}", sequence.numbers.name);
                    return Err(Refused::Constraint(text));
                }
            };
            // The counter goes on behind those that are passed over, so they are passed over
            // once.
            let Some(next) =
                (first..=first + PASSED_MAX).find(|number| self.is_free(sequence, *number, directory))
            else {
                let text = format!(
                    "constraint {}: {PASSED_MAX} numbers from {first} on are taken: set its counter to a free one",
                    sequence.numbers.name
                );
                return Err(Refused::Constraint(text));
            };
            put(entry, sequence.of.attribute, next.to_string().as_bytes());
            given.numbers.push((place, next));
        }
        self.note_given(&given);
        Ok(given)
    }

    /// Has no entry the number, nor a value that another constraint wants to differ from it?
    fn is_free(&self, sequence: &Sequence, number: u64, directory: Directory<'_>) -> bool {
        let value = number.to_string();
        let others =
            self.in_force().unique.iter().filter(|unique| unique.has(self.schema(), sequence.of.attribute));
        let mut all = std::iter::once(&sequence.numbers).chain(others);
        !all.any(|unique| self.is_taken(unique, None, value.as_bytes(), EntryId(0), directory))
    }

    /// Is the entry one of those that get a value, and has it none?
    fn is_wanted(&self, lacking: &Lacking, dn: &[u8], entry: &Entry, directory: Directory<'_>) -> bool {
        let (schema, (rdn, superior)) = (self.schema(), split_first(dn));
        // A value that the client gives is not replaced, whatever the options are.
        let is_attribute = |id| schema.is_subtype(id, lacking.attribute);
        let classes = || entry.values_of(Description::plain(schema.well_known().object_class));
        // The RDN is among the attributes only when the entry is stored.
        let names = || {
            parse_rdn(rdn).is_ok_and(|rdn| {
                rdn.iter().any(|ava| schema.find_type(ava.attribute_type).is_some_and(is_attribute))
            })
        };
        // The entry is not there yet, so its superior says where it will be.
        let is_in = |base: EntryId| {
            let superior = superior.and_then(|dn| self.find(dn, directory));
            superior.is_some_and(|superior| directory.is_within(superior, base))
        };
        !(0..entry.len()).any(|at| is_attribute(entry.description(at).attribute_type))
            && is_of_class(schema, lacking.class, classes())
            && !names()
            && lacking.subtree.as_ref().is_none_or(|subtree| match self.base(subtree, directory) {
                Some(base) => is_in(base),
                // The base itself may be what is added.
                None => subtree.is_named(dn, schema),
            })
    }
}

/// What a counter says.
///
/// # Errors
/// Why it says no number, in words behind "its counter".
pub(super) fn number(sequence: &Sequence, entry: &EntryRef<'_>) -> Result<u64, &'static str> {
    let slot = entry.shape.position(Description::plain(sequence.next)).ok_or(NO_NUMBER)?;
    let Values::Inline(mut values) = entry.slot(slot) else { return Err(SEVERAL) };
    let value = values.next().ok_or(NO_NUMBER)?;
    let parsed = std::str::from_utf8(value).ok().map(str::parse::<u64>);
    match parsed {
        // Far from where a sum has no place any more.
        Some(Ok(number)) if number < u64::MAX / 2 => Ok(number),
        Some(Ok(_)) => Err(TOO_LARGE),
        Some(Err(error)) if *error.kind() == IntErrorKind::PosOverflow => Err(TOO_LARGE),
        _ if values.next().is_some() => Err(SEVERAL),
        _ => Err(NOT_DIGITS),
    }
}
