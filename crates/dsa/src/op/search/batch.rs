//! A batch of changes: the entries that were changed between two read points of a search that follows, and what is known of each.
//!
//! It is gathered in slices, and pays for what it looks at: events may be some millions, and below a renamed entry there may be as many.
//!
//! The events of a batch are all that was changed between its read point and the one before, so the name that an entry had there follows from
//! them: each rename of the batch that led to the name which an event has is taken back. That is the name which the client may know. One that
//! the entry had in between was judged by nobody, and is never reported.

use super::renames::{COMPARED_NAME, NORMALISED_NAME, Name, Rename, Renames};
use crate::faults::LEFT_NOT_REPORTED;
use env::planted;
use model::{Csn, EntryId};
use roaring::RoaringBitmap;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use store::stream::{EntryChange, EntryChangeKind, Reached};
use store::{Below, Follower, ReadPoint};

/// Events that are taken at a time, at most: between two of these lots the work is looked at, and the output buffer.
const EVENTS_AT_ONCE: usize = 64;
/// Units of taking an event.
const TAKEN_EVENT: u64 = 16;
/// Units of finding out what has left the content, for each entry.
const LEFT_ENTRY: u64 = 32;
/// Entries below renamed ones that are looked at again; with more of them the client is to begin anew.
const RENAMED_MAX: usize = 1 << 16;
/// Renames of one batch that are taken back to find a name. Each is compared with each name.
const RENAMES_MAX: usize = 1 << 10;

/// What changed of an entry. It has no content: that is looked up when the batch runs.
///
/// Of several changes one stays: that it was added, that it was renamed, or the first.
pub(super) struct Changed<'b> {
    pub(super) kind: EntryChangeKind,
    /// After a rename: the name that the client knows, if it has the entry. Only kept for a search that tells of it.
    pub(super) previous: Option<&'b [u8]>,
}

/// What is known of the changes of a batch.
#[derive(Default)]
pub(super) struct Batch {
    /// Entries that were changed themselves. A bit or two bytes each: a client may read slowly, and they may be some millions.
    changed: RoaringBitmap,
    /// Those of them that were added.
    added: RoaringBitmap,
    /// Those that were changed, and the entries below renamed ones; complete when all events were taken.
    candidates: RoaringBitmap,
    /// Those that were renamed, whatever else was done to them.
    renamed: RoaringBitmap,
    /// Which of them are in the content now.
    pub(super) found: RoaringBitmap,
    /// Names before and after. Only kept for a search that tells of names.
    renames: Renames,
    /// Names that the client knows, of renamed entries. Only kept for a search that tells of names.
    previous: BTreeMap<u32, Box<[u8]>>,
    /// Bytes of these names.
    bytes: usize,
    /// All events were taken. The state that they lead to.
    reached: Option<Reached>,
    /// Looks for what is below renamed entries.
    below: Option<Below>,
    /// What was in the content and is not any more, while its entryUUIDs are looked for.
    left: Option<RoaringBitmap>,
    /// The entryUUIDs of what was deleted or has left the content. A set, for one that a client has given may come back with another entry.
    pub(super) gone: BTreeSet<[u8; 16]>,
}

/// A search that follows changes cannot go on. Its client does not learn why: that may be a thing which it may not know of.
#[derive(Debug)]
pub(super) struct Lost;

impl Batch {
    /// Takes some events of what this read point shows. Are there more?
    ///
    /// # Errors
    /// When some are forgotten.
    pub(super) fn take(
        &mut self,
        follower: &mut Follower,
        read_point: ReadPoint<'_>,
        work: &mut u64,
    ) -> Result<Vec<EntryChange>, Lost> {
        let mut events = Vec::new();
        if self.reached.is_none() {
            // As many as the work is enough for: the name of each may be compared with all renames.
            let of_each = TAKEN_EVENT + 2 * NORMALISED_NAME + COMPARED_NAME * self.renames.len() as u64;
            let max = (*work / of_each).clamp(1, EVENTS_AT_ONCE as u64) as usize;
            let taken = follower.take(read_point, max, &mut events);
            self.reached = taken.map_err(|_| Lost)?;
            *work = work.saturating_sub(TAKEN_EVENT * (1 + events.len() as u64));
        }
        Ok(events)
    }

    /// The state that its events lead to, if all of them were taken.
    pub(super) fn reached(&self) -> Option<Reached> {
        self.reached
    }

    /// Notes what changed of an entry, and the name before that its client knows, if it is to be notified of it.
    pub(super) fn note(&mut self, id: EntryId, kind: EntryChangeKind, previous: Option<Vec<u8>>) {
        self.changed.insert(id.0);
        if kind == EntryChangeKind::Add {
            self.added.insert(id.0);
        }
        if let Some(previous) = previous.filter(|_| !self.added.contains(id.0))
            && let Entry::Vacant(place) = self.previous.entry(id.0)
        {
            self.bytes += previous.len();
            place.insert(previous.into());
        }
    }

    /// An entry was deleted: it is no candidate.
    pub(super) fn forget(&mut self, id: EntryId) {
        for of in [&mut self.changed, &mut self.added, &mut self.renamed] {
            of.remove(id.0);
        }
        self.bytes -= self.previous.remove(&id.0).map_or(0, |previous| previous.len());
    }

    /// Notes a rename, if it concerns a search with this base. Does it?
    pub(super) fn note_rename(&mut self, id: EntryId, rename: &Rename, base: &Name) -> bool {
        let concerns = self.renames.concern(rename, base);
        if concerns {
            self.renamed.insert(id.0);
        }
        concerns
    }

    /// Keeps a rename, to take it back of names that come later.
    ///
    /// # Errors
    /// When there are too many.
    pub(super) fn keep_rename(&mut self, rename: Rename) -> Result<(), Lost> {
        if self.renames.len() == RENAMES_MAX {
            return Err(Lost);
        }
        self.renames.keep(rename);
        Ok(())
    }

    /// The DN that an entry had before the batch, given the one that it has behind the renames which are kept.
    pub(super) fn name_before(&self, name: &Name, work: &mut u64) -> Vec<u8> {
        self.renames.name_before(name, work)
    }

    /// Looks for entries below renamed ones, behind the last event. `None` if there are more to look for; else all candidates.
    ///
    /// # Errors
    /// When there are too many.
    pub(super) fn candidates(
        &mut self,
        read_point: ReadPoint<'_>,
        work: &mut u64,
    ) -> Result<Option<RoaringBitmap>, Lost> {
        let renamed = &self.renamed;
        let below = self.below.get_or_insert_with(|| Below::new(renamed.iter().collect()));
        let is_done = below.go_on(read_point, work);
        if below.found() > RENAMED_MAX {
            return Err(Lost);
        }
        if !is_done {
            return Ok(None);
        }
        self.candidates = std::mem::take(below).into_ids() | &self.changed;
        Ok(Some(self.candidates.clone()))
    }

    /// What changed of a candidate: `Some(None)` if an entry above it was renamed and it was not changed itself.
    pub(super) fn of(&self, id: EntryId) -> Option<Option<Changed<'_>>> {
        let changed = || {
            let kind = match id.0 {
                id if self.added.contains(id) => EntryChangeKind::Add,
                id if self.renamed.contains(id) => EntryChangeKind::Rename,
                _ => EntryChangeKind::Modify,
            };
            Changed { kind, previous: self.previous.get(&id.0).map(|previous| &**previous) }
        };
        self.candidates.contains(id.0).then(|| self.changed.contains(id.0).then(changed))
    }

    /// Takes what was not found out of the content. Are the entryUUIDs of what is gone complete?
    /// Nothing says why an entry has left it: it was changed, moved out of the scope, or hidden.
    /// `behind`: what was changed later is left to the next batch ([`super::follow::Following::behind`]).
    pub(super) fn leave(
        &mut self,
        content: &mut RoaringBitmap,
        (read_point, behind): (ReadPoint<'_>, Option<Csn>),
        work: &mut u64,
    ) -> bool {
        let left = self.left.get_or_insert_with(|| (&self.candidates & &*content) - &self.found);
        while let Some(id) = left.min() {
            if *work == 0 {
                return false;
            }
            *work = work.saturating_sub(LEFT_ENTRY);
            left.remove(id);
            // That an entry was deleted is an event of this batch, so it is there; or of the next one.
            let entry = read_point.entry(EntryId(id));
            if behind.is_some_and(|csn| entry.as_ref().is_none_or(|entry| read_point.changed(entry) > csn)) {
                continue;
            }
            content.remove(id);
            let entry = entry.filter(|_| !planted::is(LEFT_NOT_REPORTED));
            self.gone.extend(entry.map(|entry| read_point.uuid(&entry)));
        }
        true
    }

    /// Bytes that it takes.
    pub(super) fn heap_bytes(&self) -> usize {
        /// Of an entry of the map: what a node has for it, if half of the nodes is free.
        const OF_NAME: usize = 2 * size_of::<(u32, Box<[u8]>)>();
        self.previous.len() * OF_NAME
            + self.changed.serialized_size()
            + self.added.serialized_size()
            + self.bytes
            + self.gone.len() * 2 * size_of::<[u8; 16]>()
            + self.renames.heap_bytes()
            + self.renamed.serialized_size()
            + self.candidates.serialized_size()
            + self.found.serialized_size()
            + self.below.as_ref().map_or(0, Below::heap_bytes)
            + self.left.as_ref().map_or(0, RoaringBitmap::serialized_size)
    }
}
