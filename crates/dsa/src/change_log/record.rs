//! A change as bytes: what its entry will have, one value of each attribute, as a file of a snapshot has it (`docs/formats/changes.md`).
//!
//! A change is kept in this form until somebody reads the change log, and is written to snapshots and taken from them as it is.

use crate::system::put_all;
use model::Entry;
use schema::Schema;

/// The object class of its entry.
const CHANGE_LOG_ENTRY: &str = "changeLogEntry";
/// The attributes of a change, in their order. The number is what it begins with.
pub(super) const ATTRIBUTES: [&str; 9] = [
    "targetDN",
    "changeType",
    "changes",
    "newRDN",
    "deleteOldRDN",
    "newSuperior",
    "changeInitiatorsName",
    "targetEntryUUID",
    "changeTime",
];
/// Which of them has the entryUUID.
pub(super) const UUID_AT: usize = 7;

/// Appends a value.
pub(super) fn put_value(out: &mut Vec<u8>, value: &[u8]) {
    out.extend_from_slice(&(value.len() as u32 + 1).to_le_bytes());
    out.extend_from_slice(value);
}

/// Appends that there is no value.
pub(super) fn put_absent(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0; 4]);
}

/// Appends what is made in place as a value, or that there is none if nothing is made.
pub(super) fn put_made(out: &mut Vec<u8>, make: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    put_absent(out);
    make(out);
    let length = out.len() - begin - 4;
    if length > 0 {
        out[begin..begin + 4].copy_from_slice(&(length as u32 + 1).to_le_bytes());
    }
}

/// A value from the front, if there is one; `None` if the bytes end too early.
fn take_value<'b>(bytes: &mut &'b [u8]) -> Option<Option<&'b [u8]>> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let Some(length) = u32::from_le_bytes(*length).checked_sub(1) else {
        *bytes = rest;
        return Some(None);
    };
    let (value, rest) = rest.split_at_checked(length as usize)?;
    *bytes = rest;
    Some(Some(value))
}

/// The values of a change, by [`ATTRIBUTES`]. `None` if the bytes end too early.
pub(super) fn values(mut bytes: &[u8]) -> Option<[Option<&[u8]>; ATTRIBUTES.len()]> {
    let mut values = [None; ATTRIBUTES.len()];
    for value in &mut values {
        *value = take_value(&mut bytes)?;
    }
    Some(values)
}

/// The entry of the change with this number and these values.
pub(super) fn entry_of(schema: &Schema, number: u64, bytes: &[u8]) -> Entry {
    let mut entry = Entry::new();
    put_all(&mut entry, schema, "changeNumber", [number.to_string()]);
    let values = values(bytes).expect("they were looked at, or made here");
    for (attribute, value) in ATTRIBUTES.into_iter().zip(values) {
        put_all(&mut entry, schema, attribute, value);
    }
    put_all(&mut entry, schema, "objectClass", ["top", CHANGE_LOG_ENTRY]);
    entry
}
