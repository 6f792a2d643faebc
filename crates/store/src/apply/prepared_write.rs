//! A modify whose part that needs no writer is done: the entry found, the values checked, the record of its next
//! version prepared. The writer installs the prepared write as it is if the entry is still the version that it was prepared from,
//! and no name changed. If not, the modify is applied as if there had been no prepared write, which is always possible and
//! decides the same.
//!
//! That it decides the same is what makes this safe with a log: a replay may have other prepared writes than the leader
//! had, or none. So a modify that might be refused, or that an index has to know of, is not prepared at all.
//!
//! Two things can be wrong by the time it is installed. The entry may have changed, was deleted, or was moved by the
//! cleaner: its slot then holds another address, or its segment another serial. And the DN may lead to another entry:
//! `names_changed` is then later than the read point. Both are looked at under the writer's role, where neither can change.

use super::Stamp;
use super::replace::place_of;
use crate::dn_cache::DnCache;
use crate::record::{self, NEXT_BYTES};
use crate::resolve::Known;
use crate::segment::{NODE, PREPARED_HEADER, Place, prepared_flags, prepared_header};
use crate::shard::{ReadPoint, Shard, Writer};
use crate::stream::EntryChangeKind;
use crate::{EntryRef, Refused};
use model::{Description, EntryId};
use schema::CheckOptions;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Replacements of one modify; more of them are left to the writer.
pub const REPLACEMENTS_MAX: usize = 4;

/// What a single modify asks for beyond its prepared write at most, so that room for all is room for each.
const RESERVE_SLACK: usize = 72 << 10;

/// A new value for an attribute that has one value.
#[derive(Clone, Copy, Debug)]
pub struct Replacement<'v> {
    /// The attribute.
    pub description: Description,
    /// Its value from then on.
    pub value: &'v [u8],
}

/// A modify that is ready to be installed. It stays valid: what happens meanwhile is noticed when it is used.
#[derive(Clone, Copy, Debug)]
pub struct PreparedWrite {
    id: u32,
    /// What it was prepared from.
    place: Place,
    /// Where the prepared write lies in the caller's buffer.
    start: u32,
    end: u32,
    /// Its name leads to the entry unless names changed after this commit sequence.
    names: u64,
    /// Another prepared write is made of this one: that is installed, not this.
    is_followed: bool,
}

/// A new value and the bytes of the record that it replaces.
#[derive(Clone, Copy, Default)]
struct Placed<'v> {
    start: usize,
    end: usize,
    value: &'v [u8],
}

impl PreparedWrite {
    /// The entry that it is about.
    #[inline]
    pub fn id(&self) -> EntryId {
        EntryId(self.id)
    }

    /// Is another prepared write made of this one ([`ReadPoint::prepare_after`])? Then that one is to be installed.
    #[inline]
    pub fn is_followed(&self) -> bool {
        self.is_followed
    }

    /// Where the prepared write lies in the buffer that it was appended to.
    #[inline]
    pub fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl Shard {
    /// Prefetches the memory that installing a prepared write looks at first.
    #[inline]
    pub fn prefetch_prepared(&self, ready: &PreparedWrite) {
        self.heap.prefetch_slot(ready.id);
    }
}

impl<'a> ReadPoint<'a> {
    /// Prepares what a modify makes of the entry that it is about; appends to `prepared_writes`. `None` if the modify does more
    /// than to give new values to attributes that have one value and keep one, with no index that knows the value, or
    /// would be refused, or if the entry is just being changed: then it is the writer's.
    pub fn prepare(
        self,
        known: &Known<'_>,
        replacements: &[Replacement<'_>],
        cache: &mut DnCache,
        prepared_writes: &mut Vec<u8>,
    ) -> Option<PreparedWrite> {
        if !self.names_hold_since(known.sequence) {
            return None;
        }
        let (entry, place) = self.newest_at(known, cache)?;
        self.prepare_from(&entry, place, known.sequence, replacements, prepared_writes)
    }

    /// As [`ReadPoint::prepare`], of the entry as it is seen here, though it may be changing just now. It cannot be installed,
    /// but tells what a modify comes to: it is to be prepared again.
    pub fn prepare_as_seen(
        self,
        known: &Known<'_>,
        replacements: &[Replacement<'_>],
        cache: &mut DnCache,
        prepared_writes: &mut Vec<u8>,
    ) -> Option<PreparedWrite> {
        if !self.names_hold_since(known.sequence) {
            return None;
        }
        let entry = self.lookup_entry(&known.target, known.keys, cache)?;
        self.prepare_from(&entry, Place::NONE, known.sequence, replacements, prepared_writes)
    }

    /// Prepares what becomes of an entry at a place whose name leads there unless names changed after `names`.
    #[inline]
    fn prepare_from(
        self,
        entry: &EntryRef<'_>,
        place: Place,
        names: u64,
        replacements: &[Replacement<'_>],
        prepared_writes: &mut Vec<u8>,
    ) -> Option<PreparedWrite> {
        let mut placed = [Placed::default(); REPLACEMENTS_MAX];
        let placed = placed.get_mut(..replacements.len())?;
        self.place_all(entry, replacements, placed)?;
        let start = prepared_writes.len() as u32;
        write_next(entry, place, placed, prepared_writes)?;
        assert!(prepared_writes.len() <= u32::MAX as usize, "ranges of prepared writes have 32 bits");
        let end = prepared_writes.len() as u32;
        Some(PreparedWrite { id: entry.id.0, place, start, end, names, is_followed: false })
    }

    /// As [`ReadPoint::prepare`], of a modify that comes after another one of the same entry, whose prepared write is `before`: what
    /// both come to.
    pub fn prepare_after(
        self,
        before: &mut PreparedWrite,
        replacements: &[Replacement<'_>],
        prepared_writes: &mut Vec<u8>,
    ) -> Option<PreparedWrite> {
        assert!(!before.is_followed, "of the prepared writes of one entry each follows the last");
        // Copied: the next one is appended to the buffer that it is made from.
        let made = prepared_writes[before.range()].to_vec();
        let flags = prepared_flags(&made);
        let entry = EntryRef::new(before.id, flags, &made[PREPARED_HEADER..], &self.shard.shapes);
        let ready = self.prepare_from(&entry, before.place, before.names, replacements, prepared_writes)?;
        before.is_followed = true;
        Some(ready)
    }

    /// The entry at a target, if its newest version is the one to see here.
    #[inline]
    fn newest_at(self, known: &Known<'_>, cache: &mut DnCache) -> Option<(EntryRef<'a>, Place)> {
        let (shard, target) = (self.shard, &known.target);
        let mut newest = |id| {
            let (object, place) = shard.heap.newest(id, self.sequence)?;
            // In test builds only: this runs for each modify, and slots of entries never hold nodes.
            debug_assert!(object.flags & NODE == 0, "a name leads to an entry");
            let entry = EntryRef::new(id, object.flags, object.payload, &shard.shapes);
            self.is_at(&entry, target, known.keys, cache).then_some((entry, place))
        };
        if let Some(found) = target.likely().and_then(|id| newest(id.0)) {
            return Some(found);
        }
        let mut found = None;
        shard.dn_table.find(target.tag, |id| {
            found = newest(id);
            found.is_some()
        });
        found
    }

    /// Where each new value goes, in the order of the record.
    #[inline]
    fn place_all<'v>(
        self,
        entry: &EntryRef<'_>,
        replacements: &[Replacement<'v>],
        placed: &mut [Placed<'v>],
    ) -> Option<()> {
        let shard = self.shard;
        // Stored stamps of an import go with the first change, which changes the shape: that is the writer's.
        if replacements.is_empty() || entry.shape.stores_stamps {
            return None;
        }
        for (Replacement { description, value }, placed) in replacements.iter().zip(placed.iter_mut()) {
            let place = place_of(&shard.schema, entry.shape, *description)?;
            if !self.indexes().outlast_values(description.attribute_type) {
                return None;
            }
            if shard.settings.schema_check {
                shard.schema.check_attribute_value(*description, value, CheckOptions::COMPLETE).ok()?;
            }
            let range = entry.one_range(place);
            *placed = Placed { start: range.start, end: range.end, value };
        }
        placed.sort_unstable_by_key(|placed| placed.start);
        // An attribute may come up once.
        placed.windows(2).all(|two| two[0].end <= two[1].start).then_some(())
    }
}

/// Appends the next version of an entry: all but who changes it and when.
#[inline]
fn write_next(entry: &EntryRef<'_>, place: Place, placed: &[Placed<'_>], out: &mut Vec<u8>) -> Option<()> {
    let (begin, mut from, flags) = entry.begin_next();
    let old = entry.payload();
    let gone: usize = placed.iter().map(|placed| placed.end - placed.start).sum();
    let come: usize = placed.iter().map(|placed| record::value_len(placed.value)).sum();
    let len = NEXT_BYTES + old.len() - from - gone + come;
    let header = prepared_header(entry.id.0, flags, place, len)?;
    let mut start = [0; PREPARED_HEADER + NEXT_BYTES];
    *start.first_chunk_mut().expect("it is longer") = header;
    *start.last_chunk_mut().expect("it is longer") = begin;
    out.reserve(PREPARED_HEADER + len);
    out.extend_from_slice(&start);
    for Placed { start, end, value } in placed {
        out.extend_from_slice(&old[from..*start]);
        record::push_value(out, value);
        from = *end;
    }
    out.extend_from_slice(&old[from..]);
    Some(())
}

impl Writer<'_> {
    /// Makes sure that there is room for prepared writes of so many bytes; without it none is installed.
    ///
    /// # Errors
    /// When there is not. Each alone may still fit.
    pub fn reserve(&mut self, bytes: usize) -> Result<(), Refused> {
        self.claim(bytes + RESERVE_SLACK)?;
        self.reserved += bytes;
        Ok(())
    }

    /// Would this be installed now, as far as the entry and its name go?
    #[inline]
    pub fn can_install(&self, ready: &PreparedWrite) -> bool {
        self.shard.names_changed.load(Ordering::Relaxed) <= ready.names
            && !self.loading
            && self.shard.heap.is_newest(ready.id, ready.place)
    }

    /// Applies a modify that is ready. `false` if that cannot be done, because the entry or names changed
    /// meanwhile or there is no room: nothing was done then, and [`Writer::modify`] knows what is to be.
    #[inline]
    pub fn install(&mut self, ready: &PreparedWrite, prepared_writes: &mut [u8], stamp: Stamp) -> bool {
        let bytes = &mut prepared_writes[ready.range()];
        let Some(reserved) = self.reserved.checked_sub(bytes.len()) else { return false };
        // Whatever becomes of it, the room for it is needed no more: if it is refused, the modify claims its own.
        self.reserved = reserved;
        if self.shard.names_changed.load(Ordering::Relaxed) > ready.names || self.loading {
            return false;
        }
        record::set_modified(&mut bytes[PREPARED_HEADER..], stamp.csn, stamp.actor);
        let heap = &self.shard.heap;
        let is_put = heap.put_prepared(&mut self.state.heap, ready.id, ready.place, bytes, self.sequence);
        if is_put {
            self.note_change(EntryId(ready.id), EntryChangeKind::Modify);
        }
        is_put
    }
}
