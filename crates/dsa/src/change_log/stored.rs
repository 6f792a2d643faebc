//! Changes as bytes of a snapshot's files, for the next start: `docs/formats/changes.md`.
//!
//! A snapshot releases the log, so what it would tell of changes goes with the snapshot. A file has the changes of some records. The files of a snapshot follow each other, and the
//! last ends with the snapshot's record; else none of them is good for anything.

use super::kept::Change;
use super::record::{ATTRIBUTES, UUID_AT, put_absent, put_value, values};
use super::{ENTRY_BYTES, dn_of, number_of};
use crate::engine::Dsa;
use model::Csn;
use std::io;
use std::sync::Arc;
use store::{DnCache, ReadPoint, Reader};

const MAGIC: [u8; 8] = *b"pandochg";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 32;
/// Behind the last change: its length, which is 0, and what is not there.
const TRAILER_BYTES: usize = 28;
/// Of a change: number, time, CSN and flags.
const FIXED_BYTES: usize = 25;
/// No change is longer: a record of the log is not.
const CHANGE_BYTES_MAX: usize = 1 << 30;
/// Changes that are written together, and bytes of those that are no entries.
const TOGETHER: usize = 256;
const BYTES_TOGETHER: usize = 1 << 20;
const RENAMES: u8 = 1;
const DELETES: u8 = 2;
impl Dsa {
    /// Are changes kept that a snapshot should have?
    pub fn keeps_changes(&self) -> bool {
        self.change_log.is_on()
    }

    /// Are changes to be kept by the settings, whether there is a log with places for them or not?
    pub fn wants_changes(&self) -> bool {
        self.chosen.now().change_log.bytes > 0
    }

    /// Changes that are entries now, for they were looked for.
    pub fn stored_changes(&self) -> usize {
        self.change_log.entries()
    }

    /// The record up to which no change is kept: one of a file up to it is good for nothing any more.
    pub fn changes_begin_behind(&self) -> u64 {
        // The first number that may be there is of the record behind it.
        ((self.change_log.kept().behind + 1) >> super::UPDATE_BITS).saturating_sub(1)
    }

    /// Bytes that the changes of the records after this one take in a file, about.
    pub fn change_bytes_behind(&self, record: u64) -> u64 {
        const OF_ONE: u64 = FIXED_BYTES as u64 + 4;
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
        let mut reader = Reader::register(self.system.shard())
            .ok_or_else(|| io::Error::other("there are too many readers"))?;
        let mut at = number_of(from + 1, 0) - 1;
        let end = number_of(to + 1, 0);
        let mut cache = DnCache::default();
        loop {
            let some: Vec<Change> = {
                let kept = self.change_log.kept();
                let next = kept.changes.partition_point(|change| change.number <= at);
                let mut bytes = 0;
                let mut has_room = |change: &&Change| {
                    let before = bytes;
                    bytes += change.values.as_ref().map_or(0, |values| values.len());
                    change.number < end && before < BYTES_TOGETHER
                };
                kept.changes
                    .range(next..)
                    .take_while(|change| has_room(change))
                    .take(TOGETHER)
                    .cloned()
                    .collect()
            };
            let Some(last) = some.last() else { break };
            at = last.number;
            // Those that have no bytes any more were visible as entries before.
            let pin = reader.pin();
            let read_point = pin.read_point();
            cache.refresh(read_point);
            for change in some {
                let begin = out.len();
                out.extend_from_slice(&[0; 4]);
                out.extend_from_slice(&change.number.to_le_bytes());
                out.extend_from_slice(&change.wall_ms.to_le_bytes());
                out.extend_from_slice(&change.csn.0.to_le_bytes());
                let flags = [(change.is_rename, RENAMES), (change.is_delete, DELETES)];
                out.push(flags.into_iter().map(|(is, flag)| u8::from(is) * flag).sum());
                match &change.values {
                    Some(values) => out.extend_from_slice(values),
                    None if put_entry(&mut out, change.number, read_point, &mut cache) => {}
                    // Gone meanwhile: what is behind says so.
                    None => {
                        out.truncate(begin);
                        continue;
                    }
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
            wall_ms,
            rest: Vec::new(),
            file: None,
            reached: None,
            behind: (0, Csn(0), Csn(0)),
        })
    }
}

/// Appends what the entry of a change has, as its bytes had it. `false` if it is not there any more.
fn put_entry(out: &mut Vec<u8>, number: u64, read_point: ReadPoint<'_>, cache: &mut DnCache) -> bool {
    let Ok(id) = read_point.resolve(dn_of(number).as_bytes(), cache) else { return false };
    let Some(entry) = read_point.entry(id) else { return false };
    let schema = read_point.shard().schema();
    for name in ATTRIBUTES {
        let mut values = Vec::new();
        schema
            .find_type(name.as_bytes())
            .iter()
            .for_each(|known| read_point.values_of(&entry, *known, &mut values));
        match values.pop() {
            Some(value) => put_value(out, &value),
            None => put_absent(out),
        }
    }
    true
}

/// Changes on their way from files of a snapshot. One that is dropped leaves some of them.
pub struct Loading<'d> {
    dsa: &'d Dsa,
    index: u64,
    wall_ms: u64,
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
        self.dsa.change_log.kept().begin_behind(behind, csn);
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

    /// They stay the bytes that they are: nobody has asked for an entry.
    fn put(&self, changes: &[&[u8]]) -> Result<(), String> {
        let mut kept = self.dsa.change_log.kept();
        for bytes in changes {
            let number = word(bytes, 0);
            if number <= kept.last() {
                return Err("its changes are not in their order".to_owned());
            }
            let (fixed, bytes) = bytes.split_at(FIXED_BYTES);
            let Some(each) = values(bytes) else { return Err("a change ends too early".to_owned()) };
            kept.push(Change {
                number,
                wall_ms: word(fixed, 8),
                csn: Csn(word(fixed, 16)),
                is_rename: fixed[24] & RENAMES != 0,
                is_delete: fixed[24] & DELETES != 0,
                bytes: bytes.len() as u64 + ENTRY_BYTES,
                values: Some(Arc::from(bytes)),
                sequence: 0,
                uuid: each[UUID_AT].and_then(store::uuid::parse),
            });
        }
        Ok(())
    }

    /// All files were read. If they do not lead to the record of the snapshot, the change log begins behind that.
    pub fn finish(mut self) {
        if self.reached != Some(self.index) {
            self.forget(self.index, self.dsa.shard().last_csn());
        }
        let (number, csn, unlisted) = self.behind;
        let log = &self.dsa.change_log;
        let mut kept = log.kept();
        kept.drop_oldest(|change, _| change.number <= number);
        kept.behind = kept.behind.max(number);
        kept.behind_csn = kept.behind_csn.max(csn);
        kept.unlisted = kept.unlisted.max(unlisted);
        kept.drop_oldest(log.goes(self.wall_ms));
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("the caller has looked that it has its length"))
}
