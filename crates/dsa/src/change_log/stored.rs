//! Changes as bytes of a snapshot's files, for the next start: `docs/formats/changes.md`.
//!
//! A snapshot releases the log, so what it would tell of changes goes with the snapshot. A file has the changes of some records. The files of a snapshot follow each other, and the
//! last ends with the snapshot's record; else none of them is good for anything.

use super::kept::{Change, Kept};
use super::{CHANGE_LOG_ENTRY, ENTRY_BYTES, dn_of, drop_oldest, number_of};
use crate::engine::Dsa;
use crate::system::put_all;
use env::clock::Now;
use model::{Csn, Entry};
use std::io;
use store::{DnCache, Reader};

const MAGIC: [u8; 8] = *b"pandochg";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 32;
/// Behind the last change: its length, which is 0, and what is not there.
const TRAILER_BYTES: usize = 28;
/// Of a change: number, time, CSN and flags.
const FIXED_BYTES: usize = 25;
/// No change is longer: a record of the log is not.
const CHANGE_BYTES_MAX: usize = 1 << 30;
/// Changes that are read at one read point.
const TOGETHER: usize = 256;
const RENAMES: u8 = 1;
const DELETES: u8 = 2;
/// The attributes of a change, in their order. The number is what it begins with.
const ATTRIBUTES: [&str; 9] = [
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
const UUID_AT: usize = 7;

impl Dsa {
    /// Are changes kept that a snapshot should have?
    pub fn keeps_changes(&self) -> bool {
        self.change_log.is_on()
    }

    /// Are changes to be kept by the settings, whether there is a log with places for them or not?
    pub fn wants_changes(&self) -> bool {
        self.chosen.now().change_log.bytes > 0
    }

    /// The record up to which no change is kept: one of a file up to it is good for nothing any more.
    pub fn changes_begin_behind(&self) -> u64 {
        // The first number that may be there is of the record behind it.
        ((self.change_log.kept().behind + 1) >> super::UPDATE_BITS).saturating_sub(1)
    }

    /// Bytes that the changes of the records after this one take in a file, about.
    pub fn change_bytes_behind(&self, record: u64) -> u64 {
        const OF_ONE: u64 = (FIXED_BYTES + 4 * (1 + ATTRIBUTES.len())) as u64;
        let behind = number_of(record + 1, 0) - 1;
        let kept = self.change_log.kept();
        let changes = kept.changes.iter().rev().take_while(|change| change.number > behind);
        changes.map(|change| change.bytes - ENTRY_BYTES + OF_ONE).sum()
    }

    /// Hands out the bytes of a file with the changes of the records after `from`, up to `to`. While it is read changes may come and the oldest may
    /// go.
    ///
    /// # Errors
    /// What `put` says, or that there are too many readers.
    pub fn write_changes(
        &self,
        (from, to): (u64, u64),
        put: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut out = Vec::with_capacity(HEADER_BYTES);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&from.to_le_bytes());
        out.extend_from_slice(&to.to_le_bytes());
        let shard = self.system.shard();
        let schema = shard.schema();
        let types = ATTRIBUTES.map(|name| schema.find_type(name.as_bytes()));
        let mut reader =
            Reader::register(shard).ok_or_else(|| io::Error::other("there are too many readers"))?;
        let mut at = number_of(from + 1, 0) - 1;
        let end = number_of(to + 1, 0);
        let mut cache = DnCache::default();
        loop {
            let some: Vec<Change> = {
                let kept = self.change_log.kept();
                let next = kept.changes.partition_point(|change| change.number <= at);
                kept.changes
                    .range(next..)
                    .take_while(|change| change.number < end)
                    .take(TOGETHER)
                    .copied()
                    .collect()
            };
            let Some(last) = some.last() else { break };
            at = last.number;
            let pin = reader.pin();
            let read_point = pin.read_point();
            cache.refresh(read_point);
            for change in some {
                let dn = dn_of(change.number);
                // Gone meanwhile: what is behind says so.
                let Ok(id) = read_point.resolve(dn.as_bytes(), &mut cache) else { continue };
                let Some(entry) = read_point.entry(id) else { continue };
                let begin = out.len();
                out.extend_from_slice(&[0; 4]);
                out.extend_from_slice(&change.number.to_le_bytes());
                out.extend_from_slice(&change.wall_ms.to_le_bytes());
                out.extend_from_slice(&change.csn.0.to_le_bytes());
                let flags = [(change.is_rename, RENAMES), (change.is_delete, DELETES)];
                out.push(flags.into_iter().map(|(is, flag)| u8::from(is) * flag).sum());
                for attribute in types {
                    let mut values = Vec::new();
                    attribute.iter().for_each(|known| read_point.values_of(&entry, *known, &mut values));
                    let value = values.pop();
                    out.extend_from_slice(&value.as_ref().map_or(0, |v| v.len() as u32 + 1).to_le_bytes());
                    out.extend_from_slice(value.as_deref().unwrap_or_default());
                }
                let len = (out.len() - begin - 4) as u32;
                out[begin..begin + 4].copy_from_slice(&len.to_le_bytes());
            }
            put(&out)?;
            out.clear();
        }
        let kept = self.change_log.kept();
        out.extend_from_slice(&0_u32.to_le_bytes());
        for number in [kept.behind, kept.behind_csn.0, kept.unlisted.0] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        drop(kept);
        put(&out)
    }

    /// Takes the files of a snapshot that holds all up to the record `index`. `None` if no changes are kept.
    pub fn load_changes(&self, index: u64, wall_ms: u64) -> Option<Loading<'_>> {
        self.change_log.is_on().then(|| Loading {
            dsa: self,
            index,
            now: Now { wall_ms, monotonic_ns: 0 },
            rest: Vec::new(),
            file: None,
            reached: None,
            behind: (0, Csn(0), Csn(0)),
        })
    }
}

/// Changes on their way from files of a snapshot. One that is dropped leaves some of them.
pub struct Loading<'d> {
    dsa: &'d Dsa,
    index: u64,
    now: Now,
    /// Bytes that are no whole change yet.
    rest: Vec<u8>,
    /// The last record of the file that is read, and whether it has ended.
    file: Option<(u64, bool)>,
    /// The last record of the files before.
    reached: Option<u64>,
    /// What is not there, as the files have it: see [`Kept`].
    behind: (u64, Csn, Csn),
}

impl Loading<'_> {
    /// Takes the next bytes of a file.
    ///
    /// # Errors
    /// In words, what is wrong with it.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut all = std::mem::take(&mut self.rest);
        all.extend_from_slice(bytes);
        let mut unread = &all[..];
        if self.file.is_none() {
            let Some((header, others)) = unread.split_at_checked(HEADER_BYTES) else {
                self.rest = all;
                return Ok(());
            };
            self.begin(header)?;
            unread = others;
        }
        let mut changes = Vec::new();
        while let Some((length, others)) = unread.split_first_chunk::<4>() {
            if self.file.is_none_or(|(_, has_ended)| has_ended) {
                return Err("it goes on behind its end".to_owned());
            }
            let length = u32::from_le_bytes(*length) as usize;
            if length == 0 {
                let Some((_, others)) = unread.split_at_checked(TRAILER_BYTES) else { break };
                self.end(unread);
                unread = others;
                continue;
            }
            if !(FIXED_BYTES..CHANGE_BYTES_MAX).contains(&length) {
                return Err(format!("a change has {length} bytes"));
            }
            let Some((change, others)) = others.split_at_checked(length) else { break };
            changes.push(change);
            unread = others;
        }
        self.put(&changes)?;
        self.rest = unread.to_vec();
        Ok(())
    }

    fn begin(&mut self, header: &[u8]) -> Result<(), String> {
        if header[..8] != MAGIC {
            return Err("it does not begin as one with changes".to_owned());
        }
        match u32::from_le_bytes(*header[8..].first_chunk().expect("it has its length")) {
            VERSION => {}
            other => return Err(format!("changes of version {other}; this program reads version {VERSION}")),
        }
        let (from, to) = (word(header, 16), word(header, 24));
        // Of files that do not follow each other only the last ones are without a gap.
        if self.reached != Some(from) {
            // What was changed in between was perhaps changed at the last CSN that there was.
            let csn = if self.reached.is_some() { self.dsa.shard().last_csn() } else { Csn(0) };
            self.forget(from, csn);
        }
        self.file = Some((to, false));
        Ok(())
    }

    /// Nothing up to this record, and up to this CSN, is there.
    fn forget(&mut self, record: u64, csn: Csn) {
        let behind = number_of(record + 1, 0) - 1;
        self.behind = (behind, csn, csn);
        self.dsa.system.update(self.now, |update| {
            let mut kept = self.dsa.change_log.kept();
            drop_oldest(update, &mut kept, |_, _| true);
            *kept = Kept { shown: kept.shown, ..Kept::none_up_to(behind, csn) };
        });
    }

    fn end(&mut self, trailer: &[u8]) {
        let (number, csn, unlisted) = self.behind;
        self.behind = (
            number.max(word(trailer, 4)),
            csn.max(Csn(word(trailer, 12))),
            unlisted.max(Csn(word(trailer, 20))),
        );
        if let Some((to, has_ended)) = &mut self.file {
            *has_ended = true;
            self.reached = Some(*to);
        }
    }

    /// A file was read to its end.
    ///
    /// # Errors
    /// In words, when it ends too early.
    pub fn end_file(&mut self) -> Result<(), String> {
        match self.file.take() {
            Some((_, true)) if self.rest.is_empty() => Ok(()),
            _ => Err("it ends too early".to_owned()),
        }
    }

    fn put(&self, changes: &[&[u8]]) -> Result<(), String> {
        let mut result = Ok(());
        self.dsa.system.update(self.now, |update| {
            let schema = self.dsa.system.shard().schema();
            let mut kept = self.dsa.change_log.kept();
            for bytes in changes {
                let mut entry = Entry::new();
                let mut change = Change {
                    number: word(bytes, 0),
                    wall_ms: word(bytes, 8),
                    csn: Csn(word(bytes, 16)),
                    is_rename: bytes[24] & RENAMES != 0,
                    is_delete: bytes[24] & DELETES != 0,
                    bytes: ENTRY_BYTES,
                    sequence: 0,
                    uuid: None,
                };
                if change.number <= kept.last() {
                    result = Err("its changes are not in their order".to_owned());
                    return;
                }
                let number = change.number.to_string();
                put_all(&mut entry, schema, "changeNumber", [&number]);
                change.bytes += number.len() as u64;
                let mut rest = &bytes[FIXED_BYTES..];
                for (at, attribute) in ATTRIBUTES.into_iter().enumerate() {
                    let Some(value) = take_value(&mut rest) else {
                        result = Err("a change ends too early".to_owned());
                        return;
                    };
                    let Some(value) = value else { continue };
                    put_all(&mut entry, schema, attribute, [value]);
                    change.bytes += value.len() as u64;
                    if at == UUID_AT {
                        change.uuid = store::uuid::parse(value);
                    }
                }
                put_all(&mut entry, schema, "objectClass", ["top", CHANGE_LOG_ENTRY]);
                kept.push(change);
                if !update.add(&dn_of(change.number), &mut entry) {
                    drop_oldest(update, &mut kept, |_, _| true);
                }
            }
        });
        result
    }

    /// All files were read. If they do not lead to the record of the snapshot, the change log begins behind that.
    pub fn finish(mut self) {
        if self.reached != Some(self.index) {
            self.forget(self.index, self.dsa.shard().last_csn());
        }
        let (number, csn, unlisted) = self.behind;
        self.dsa.system.update(self.now, |update| {
            let mut kept = self.dsa.change_log.kept();
            drop_oldest(update, &mut kept, |change, _| change.number <= number);
            kept.behind = kept.behind.max(number);
            kept.behind_csn = kept.behind_csn.max(csn);
            kept.unlisted = kept.unlisted.max(unlisted);
            self.dsa.change_log.make_room(update, &mut kept, self.now.wall_ms);
        });
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("the caller has looked that it has its length"))
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
