//! A virtual list view by an ordering index: the positions of entries are looked up in the index, and only the part that is returned is gathered.
//!
//! ```text
//! whole    the index has all entries of the list, each once, or all but those without a value, which are at an end of it
//! place    the prefix of the first entry of the part, and how many entries come before those with this prefix
//! read     ids of the index from there on, all of each prefix
//! gather   as any sorted search; the list then is this part, and its first entry has a position
//! ```
//! Positions count entries, so all entries that they count must be those of the client: it may see every entry and read every value that the order is made of.
//! For any other client, and where one entry that was read is not returned after all, all entries are gathered.
//!
//! Numbers are those of the index as it is now, and entries those of the read point. They differ by what was changed in between, which is
//! what the specification calls an estimate: the position and the length may be off by that. The entries of a part follow each other in the list in any case.

use super::super::query::Query;
use super::super::running::Running;
use super::super::special::SpecialEntries;
use super::super::virtual_list_view::{ListTarget, ListView, by_offset};
use super::keys::{SortedBy, prefix};
use crate::access::{Requester, Views};
use crate::faults::holes;
use env::planted;
use roaring::RoaringBitmap;
use std::ops::Range;
use store::search::{Candidates, Cursor, InOrder, Listed, Whole};

/// Entries of a part that is read, at most: of more, or of a part that is most of the list, all are gathered.
const PART_MAX: usize = 1 << 16;
/// A part may have so many entries, or this share of the list.
const FEW: u64 = 1024;
const SHARE: u64 = 4;
/// Ids read of the index for a unit of work.
const IDS: u64 = 2;
/// Subentries that are looked at: a search does not find them.
const SUBENTRIES_MAX: usize = 64;

/// What came of reading.
/// A part is read in slices, as all that a search looks at.
/// One that is too long is no loss: the list is made without the index then.
pub(super) enum Read {
    /// The part is there, and its entries are looked at.
    Done,
    /// The work is used up before.
    Later,
    /// It has too many entries.
    TooMuch,
}

/// A part of a list.
/// It keeps numbers and ids of the part alone, whatever the length of the list.
/// The walk over the index is at the read point of the search; positions are those of the newest state.
/// Who looks at it again after a change of rights begins anew, with all entries.
pub(super) struct Window {
    keys: InOrder,
    /// Where the entries with a value are in the list.
    valued: Range<u64>,
    /// Entries of the list.
    len: u64,
    /// The position of the first entry that is read.
    first: u64,
    /// Entries that are still to be read, of a target by value behind its prefix.
    wanted: u64,
    /// The prefix of a target by value.
    by_value: Option<u64>,
    is_reverse: bool,
    ids: RoaringBitmap,
    /// How many there were when all were read.
    read: u64,
    /// The prefix that was read last.
    last: Option<u64>,
    /// The candidates of the search itself, while the part takes their place.
    own: Option<Candidates>,
    /// For whom it began.
    who: Requester,
}

impl Window {
    /// The part of a list by this key. `None` if no index tells positions in it, or if the part has entries that are not in the index.
    pub(super) fn open(
        views: &Views,
        query: &Query<'_>,
        (by, cursor): (&SortedBy, &Cursor),
        special: SpecialEntries,
        view: &ListView,
    ) -> Option<Box<Window>> {
        let order = by.plain().filter(|_| !query.base.is_system && !query.is_restricted)?;
        let read_point = query.read_point;
        let keys = InOrder::open(read_point, order, by.reverse)?.by_least();
        let reads_all = views.reads_all(query.who.class, order.0, read_point.shard().schema());
        if !reads_all && !planted::is(holes::POSITIONS_OF_HIDDEN) {
            return None;
        }
        // Entries outside of the scope have no position, and those of the others are counted without them. No number shows that there is one
        // then, and who looks here may read all of them anyway.
        let Listed { whole, outside } = cursor.listed(read_point, order.0)?;
        let keys = keys.without(read_point, &outside)?;
        let subentries = match special.is_none() {
            true => 0,
            // They are not returned, and have no place in the list.
            // How many of them are in the scope is not looked up.
            false if whole == Whole::All && !outside.is_empty() => return None,
            false if special.omits_subentries_alone() => {
                read_point.subentries_without(order.0, SUBENTRIES_MAX)?
            }
            false => return None,
        };
        let indexed = keys.len(read_point)?;
        let returned = read_point.shard().entries().checked_sub(subentries + outside.len() as u64)?;
        let valued = match whole {
            Whole::With(_) => 0..indexed,
            // Entries without a value come last, in reverse order first.
            Whole::All => {
                let others = returned.checked_sub(indexed)?;
                if by.reverse { others..others + indexed } else { 0..indexed }
            }
        };
        let len = match whole {
            Whole::With(_) => indexed,
            Whole::All => returned,
        };
        let mut window = Box::new(Window {
            keys,
            valued,
            len,
            first: 0,
            wanted: 0,
            by_value: None,
            is_reverse: by.reverse,
            ids: RoaringBitmap::new(),
            read: 0,
            last: None,
            own: None,
            who: query.who,
        });
        window.place(query, view).then_some(window)
    }

    /// By an offset the position is known and the entry looked up, by a value it is the other way round.
    /// Both are lookups in one tree: its depth, and not the length of the list, says what they cost.
    /// Finds out where the part begins. `false` if it is not in the index, or if all entries are to be gathered.
    fn place(&mut self, query: &Query<'_>, view: &ListView) -> bool {
        let (read_point, len) = (query.read_point, self.len());
        let part = match &view.target {
            ListTarget::ByOffset(offset, count) => {
                // What is said of an offset that is none of the list, or of a list without entries, needs none of them.
                let Ok(target) = by_offset((*offset, *count), len) else { return true };
                let part = view.part(target, len);
                let is_valued = self.valued.start <= part.start as u64 && part.end as u64 <= self.valued.end;
                if !is_valued {
                    return len == 0;
                }
                self.wanted = part.len() as u64;
                part
            }
            ListTarget::AtLeast(component) => {
                // In reverse order an entry without a value comes before any that has one.
                let Some(target) = prefix(component, self.is_reverse) else { return false };
                let Some(position) = self.keys.position(read_point, target) else { return false };
                let position = self.valued.start + position;
                let part = view.part(usize::try_from(position).unwrap_or(usize::MAX), len);
                if (part.start as u64) < self.valued.start {
                    return false;
                }
                (self.by_value, self.wanted) = (Some(target), (part.end as u64).saturating_sub(position));
                part
            }
        };
        if part.len() as u64 > FEW.max(self.len / SHARE) {
            return false;
        }
        let begin = part.start as u64;
        self.first = begin;
        let Some(at) = begin.checked_sub(self.valued.start) else { return false };
        if at == self.valued.end - self.valued.start {
            // Behind all: the target is greater than all values, and nothing before it is wanted.
            let Some(target) = self.by_value else { return true };
            self.keys.seek(target);
            return true;
        }
        let Some(prefix) = self.keys.prefix_at(read_point, at) else { return false };
        let Some(position) = self.keys.position(read_point, prefix) else { return false };
        self.keys.seek(prefix);
        self.first = self.valued.start + position;
        // Those with the prefix that come before the part are read too.
        if self.by_value.is_none() {
            self.wanted += begin.saturating_sub(self.first);
        }
        true
    }

    /// Entries of the list.
    pub(super) fn len(&self) -> usize {
        usize::try_from(self.len).unwrap_or(usize::MAX)
    }

    /// The position of the first entry of what is gathered.
    pub(super) fn first(&self) -> usize {
        usize::try_from(self.first).unwrap_or(usize::MAX)
    }

    /// Reads ids of the part. The last prefix is read to its end: which of its entries come first is for the order of whole keys to say.
    pub(super) fn read(&mut self, query: &Query<'_>, running: &mut Running, work: &mut u64) -> Read {
        let read_point = query.read_point;
        loop {
            let Window { keys, ids, last, by_value, wanted, is_reverse, .. } = self;
            let before = ids.len();
            let mut is_enough = *wanted == 0 && by_value.is_none();
            let is_more = !is_enough
                && keys.next(read_point, |prefix, id| {
                    // Of a target by value those count that cannot be before it.
                    let counts =
                        by_value.is_none_or(|of| if *is_reverse { prefix < of } else { prefix > of });
                    is_enough = *wanted == 0 && counts && *last != Some(prefix);
                    if is_enough {
                        return false;
                    }
                    if counts {
                        *wanted = wanted.saturating_sub(1);
                    }
                    *last = Some(prefix);
                    ids.insert(id);
                    true
                });
            *work = work.saturating_sub((ids.len() - before) / IDS + 1);
            if ids.len() > PART_MAX as u64 {
                return Read::TooMuch;
            }
            if is_enough || !is_more {
                self.read = self.ids.len();
                let part = Candidates::of(std::mem::take(&mut self.ids));
                let before = running.cursor.exchange(part);
                self.own.get_or_insert(before);
                return Read::Done;
            }
            if *work == 0 {
                return Read::Later;
            }
        }
    }

    /// Were so many entries read? If others were returned, positions are not what they seem to be.
    pub(super) fn has_read(&self, entries: usize) -> bool {
        self.read == entries as u64
    }

    /// Are all entries of a part of the list among those that were read? The target by value is known when these are in order.
    pub(super) fn holds(&self, part: &Range<usize>) -> bool {
        self.valued.start <= part.start as u64 && part.end as u64 <= self.valued.end
    }

    /// Did it begin for somebody with other rights?
    pub(super) fn is_of_another(&self, who: Requester) -> bool {
        self.who != who
    }

    /// All candidates are looked at from here on.
    pub(super) fn restore(&mut self, running: &mut Running) {
        if let Some(own) = self.own.take() {
            running.cursor.exchange(own);
        }
    }

    /// Bytes that it keeps.
    pub(super) fn bytes(&self) -> usize {
        self.ids.serialized_size() + self.own.as_ref().map_or(0, Candidates::heap_bytes)
    }
}
