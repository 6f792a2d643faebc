//! The stream of changes, as the writer puts events into it and followers take them.

use super::{ReadPoint, Shard, Writer};
use crate::record::{EntryRef, Values};
use crate::search::work::{CANDIDATE, LOOKUP};
use crate::stream::{Before, Behind, ENTRIES_UNKNOWN, EntryChange, EntryChangeKind, Noted, Reached};
use crate::sync::{Ordering, lock};
use model::{Csn, Description, EntryId};
use roaring::RoaringBitmap;
use std::sync::Arc;
use std::task::Waker;

/// Subordinates that are looked at in one go: some microseconds.
const CHILDREN: usize = 256;

impl Shard {
    /// Read points that are taken from now on show all that was changed up to this state.
    pub fn reached(&self) -> Reached {
        let csn = Csn(self.stream.csn.load(Ordering::Acquire));
        // Of a later batch, perhaps: then it belongs to no state with this CSN, and is found to be another one.
        Reached { csn, entries: self.stream.entries.load(Ordering::Acquire) }
    }

    /// Follows the stream from now on: a read point that is taken behind this call shows all that no event will tell. What it shows beyond
    /// that, [`Follower::begin_at`] passes over. `None` if there are `max` followers.
    pub fn follow(self: &Arc<Self>, max: usize) -> Option<Follower> {
        let mut ring = loop {
            // The role, so that no batch is half noted.
            let writer = (!self.stream.is_followed()).then(|| self.writer());
            let mut ring = lock(&self.stream.ring);
            if self.stream.is_followed() {
                break ring;
            }
            // Else the last batch has ended the stream just now: it begins anew.
            if let Some(writer) = writer {
                ring.reached = Reached { csn: writer.last_csn(), entries: self.entries() };
                ring.shown = ring.end();
                self.stream.is_followed.store(true, Ordering::Relaxed);
                break ring;
            }
        };
        if ring.followers >= max {
            return None;
        }
        ring.followers += 1;
        // Events of a batch that is not published yet are still to come.
        let (position, began, calls) = (ring.shown, ring.reached, ring.calls);
        drop(ring);
        Some(Follower { shard: Arc::clone(self), position, began, reached: began, calls })
    }

    /// Makes a batch visible, with its events: not before these are in the ring, so that a reader of the batch finds them there.
    #[inline]
    pub(super) fn publish(&self, sequence: u64, noted: &mut Noted) {
        let reached = Reached { csn: self.last_csn(), entries: self.entries() };
        let has_events = self.stream.note(noted, (sequence, reached));
        self.readers.publish(sequence);
        self.stream.published(reached, has_events);
    }

    /// Keeps events up to so many bytes from the next batch on.
    pub fn keep_events(&self, bytes: usize) {
        self.stream.bytes_max.store(bytes, Ordering::Relaxed);
    }

    /// Wakes all who follow, though no entry was changed: what they may see has, perhaps. Each finds once that it has something to do.
    pub fn wake_followers(&self) {
        let mut ring = lock(&self.stream.ring);
        ring.calls += 1;
        let wakers = std::mem::take(&mut ring.wakers);
        drop(ring);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// How many follow.
    pub fn followers(&self) -> usize {
        lock(&self.stream.ring).followers
    }
}

/// One who follows the stream. It keeps its place and nothing else.
pub struct Follower {
    shard: Arc<Shard>,
    position: u64,
    began: Reached,
    /// The state up to which it has all events.
    reached: Reached,
    /// The calls of [`Shard::wake_followers`] that it knows of.
    calls: u64,
}

impl Follower {
    /// The state that it began at: all that was changed since comes as events.
    pub fn began_at(&self) -> Reached {
        self.began
    }

    /// Passes over what a read point shows, which was taken behind [`Shard::follow`]: the events of what was changed since come next.
    ///
    /// # Errors
    /// When so much was changed meanwhile that events are forgotten.
    pub fn begin_at(&mut self, read_point: ReadPoint<'_>) -> Result<(), Behind> {
        self.pass((read_point.sequence, usize::MAX), None)?;
        self.began = self.reached;
        Ok(())
    }

    /// Takes some `max` events of what this read point shows and none of what is later. If it has now all of them, returns the state that they
    /// lead to.
    ///
    /// # Errors
    /// When some are forgotten that it has not taken.
    pub fn take(
        &mut self,
        read_point: ReadPoint<'_>,
        max: usize,
        events: &mut Vec<EntryChange>,
    ) -> Result<Option<Reached>, Behind> {
        let has_all = self.pass((read_point.sequence, max), Some(events))?;
        Ok(has_all.then_some(self.reached))
    }

    /// Goes on by `max` events, up to a sequence. Has it all of them?
    fn pass(
        &mut self,
        (sequence, max): (u64, usize),
        into: Option<&mut Vec<EntryChange>>,
    ) -> Result<bool, Behind> {
        let ring = lock(&self.shard.stream.ring);
        let from = self.position;
        if from < ring.first {
            return Err(Behind);
        }
        let end = ring.end_of(sequence);
        let to = end.min(from.saturating_add(max as u64)).max(from);
        if let Some(into) = into {
            ring.take(from..to, into);
        }
        self.position = to;
        if to < end {
            return Ok(false);
        }
        if to == ring.end() {
            self.reached = ring.reached;
        } else if let Some(last) = to.checked_sub(1).and_then(|last| ring.batch_of(last)) {
            // How many entries there were then is not known.
            self.reached = Reached { csn: last.csn, entries: ENTRIES_UNKNOWN };
        }
        Ok(true)
    }

    /// Are there events that it has not taken, or was it called since it looked last?
    pub fn has_more(&mut self) -> bool {
        let ring = lock(&self.shard.stream.ring);
        let is_called = std::mem::replace(&mut self.calls, ring.calls) != ring.calls;
        is_called || ring.shown > self.position
    }

    /// Are events forgotten that it has not taken?
    pub fn is_behind(&self) -> bool {
        lock(&self.shard.stream.ring).first > self.position
    }

    /// Wakes this one with the next event or call. Whether there is one already, as [`Follower::has_more`] says: then nobody is woken.
    /// Several that are woken by the same waker cost who publishes no more than one, and it is kept until it is called.
    pub fn wake_with(&mut self, waker: &Waker) -> bool {
        let mut ring = lock(&self.shard.stream.ring);
        let is_called = std::mem::replace(&mut self.calls, ring.calls) != ring.calls;
        if is_called || ring.shown > self.position {
            return true;
        }
        if !ring.wakers.iter().any(|known| known.will_wake(waker)) {
            ring.wakers.push(waker.clone());
        }
        false
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut ring = lock(&self.shard.stream.ring);
        ring.followers -= 1;
        ring.alone_bytes = 0;
    }
}

impl Writer<'_> {
    /// An entry was changed by this batch, and has a new CSN.
    #[inline]
    pub(crate) fn note_change(&mut self, id: EntryId, kind: EntryChangeKind) {
        self.shard.stream.recent.put(id, self.last_csn());
        if self.is_followed {
            self.state.noted.push(id, kind);
        }
    }

    /// An entry was renamed by this batch. Its new name is noted, for commands of this very batch may rename it again.
    pub(crate) fn note_rename(&mut self, id: EntryId, before: Option<Box<Before>>) {
        self.shard.stream.recent.put(id, self.last_csn());
        if let Some(before) = before {
            self.note_rename_from(id, before);
        }
    }

    #[cold]
    fn note_rename_from(&mut self, id: EntryId, mut before: Box<Before>) {
        let view = self.view();
        self.state.cache.refresh(view);
        let entry = view.entry(id).expect("it was just renamed");
        before.new_dn = view.dn(&entry, &mut self.state.cache);
        self.state.noted.push_with(id, EntryChangeKind::Rename, before);
    }

    /// What cannot be found any more of an entry that is about to go or to be renamed, if somebody follows.
    #[inline]
    pub(crate) fn before(&mut self, entry: &EntryRef<'_>) -> Option<Box<Before>> {
        if !self.is_followed {
            return None;
        }
        let view = self.view();
        self.state.cache.refresh(view);
        let (uuid, dn) = (view.uuid(entry), view.dn(entry, &mut self.state.cache));
        Some(Box::new(Before { uuid, dn, new_dn: Vec::new() }))
    }
}

impl ReadPoint<'_> {
    /// The entryUUID of an entry: the one that it was stored with, or else the one that is derived.
    pub fn uuid(self, entry: &EntryRef<'_>) -> [u8; 16] {
        let derived = || self.shard.uuids.of(entry.id, entry.stamps().created);
        if !self.shard.has_foreign_uuids() {
            return derived();
        }
        let description = Description::plain(self.shard.schema.well_known().entry_uuid);
        let stored = entry.shape.position(description).and_then(|at| match entry.slot(at) {
            Values::Inline(mut values) => values.next(),
            Values::Set(_) => None,
        });
        stored.and_then(crate::uuid::parse).unwrap_or_else(derived)
    }

    /// When an entry was added or last changed.
    pub fn changed(self, entry: &EntryRef<'_>) -> Csn {
        let stamps = entry.stamps();
        stamps.modified.map_or(stamps.created, |(csn, _)| csn)
    }
}

/// The entries below some others, found a few at a time: a subtree may have millions.
#[derive(Default)]
pub struct Below {
    /// Those that were given, and behind them those that were found: the subordinates of each are looked for in turn.
    ids: Vec<u32>,
    given: usize,
    /// All of them: one that lies below two others is found once.
    known: RoaringBitmap,
    /// Whose subordinates are looked for, and from which id on.
    at: usize,
    from: u32,
}

impl Below {
    /// Those below these, which are named once each.
    pub fn new(ids: Vec<u32>) -> Below {
        let known = ids.iter().copied().collect();
        Below { given: ids.len(), ids, known, at: 0, from: 0 }
    }

    /// Looks for more until `work` is used up, which it takes from as [`crate::search::work`] has it. Are all found? It comes on by some
    /// subordinates of one entry at least.
    pub fn go_on(&mut self, read_point: ReadPoint<'_>, work: &mut u64) -> bool {
        let mut children = Vec::new();
        while let Some(parent) = self.ids.get(self.at) {
            let next = read_point.children(EntryId(*parent), self.from, CHILDREN, &mut children);
            // Those that have left the parent were looked at, too.
            let looked = if next.is_some() { CHILDREN } else { children.len() };
            *work = work.saturating_sub(LOOKUP + CANDIDATE * looked as u64);
            let known = &mut self.known;
            self.ids.extend(children.iter().copied().filter(|child| known.insert(*child)));
            match next {
                Some(next) => self.from = next,
                None => (self.at, self.from) = (self.at + 1, 0),
            }
            if *work == 0 {
                break;
            }
        }
        self.at == self.ids.len()
    }

    /// How many were found so far, without those that were given.
    pub fn found(&self) -> usize {
        self.ids.len() - self.given
    }

    /// Those that were given, and those that were found.
    pub fn into_ids(self) -> RoaringBitmap {
        self.known
    }

    /// Bytes that it takes.
    pub fn heap_bytes(&self) -> usize {
        self.ids.capacity() * size_of::<u32>() + self.known.serialized_size()
    }
}

#[cfg(test)]
mod tests;
