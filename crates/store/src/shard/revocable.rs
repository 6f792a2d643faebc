//! Readers that may be revoked: searches that go on from slice to slice, and reads between updates that wait for their client, hold back
//! the cleaner, and when memory is short the oldest of them is ended. The one that pins for a moment, or must come to its end (checkpoints, builds, exports), cannot be.

use super::look::Look;
use super::reader::{LongReadPoint, Reader};
use super::{ReadPoint, Shard};
use crate::faults;
use crate::readers::Revoke;
use crate::sync::{AtomicU64, Mutex, Ordering, lock};
use env::net::PeerAddress;
use env::planted;

/// Whose reader it is, for the one that is informed of its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// When it began, in nanoseconds of the clock that its owner goes by.
    pub since_ns: u64,
    /// The client that it reads for, if it does for one.
    pub peer: Option<PeerAddress>,
}

/// A reader that was revoked, or could be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revoked {
    /// Whose it is.
    pub holder: Holder,
    /// The commit sequence that it stands at.
    pub sequence: u64,
    /// Bytes of old versions and of emptied segments that wait since it began.
    pub bytes: u64,
}

/// Those that there are.
#[derive(Default)]
pub(crate) struct Revocables {
    list: Mutex<List>,
    count: AtomicU64,
}

#[derive(Default)]
struct List {
    /// By slot.
    readers: Vec<Option<Entry>>,
    /// Revoked and not reported yet. There are no more than slots were given.
    reported: Vec<Revoked>,
}

#[derive(Clone, Copy)]
struct Entry {
    holder: Holder,
    sequence: u64,
    /// What [`crate::memory_use::MemoryGauges::dead_bytes`] was when it began.
    dead_bytes: u64,
    /// What it held when it was revoked.
    revoked: Option<u64>,
}

/// Revocations that wait to be reported: beyond them the oldest are forgotten.
const REPORTED_MAX: usize = 256;

/// A look at the shard that may last and that may be revoked. Nothing can be seen without [`RevocableReadPoint::enter`].
pub struct RevocableReadPoint {
    reader: Reader,
    sequence: u64,
}

/// The right to look: as long as it lasts nothing is freed that can be seen.
pub struct Entered<'p>(&'p RevocableReadPoint);

impl Look<'_> {
    /// A look at the very same state that may outlive this one and may be revoked. `None` when there are too many readers.
    pub fn extend_revocable(self, holder: Holder) -> Option<RevocableReadPoint> {
        let (shard, sequence) = (self.shard(), self.read_point().sequence());
        let reader = Reader::register(shard)?;
        // While another slot protects this sequence nothing that it needs is freed.
        shard.readers.pin_away_at(reader.slot, sequence);
        let dead_bytes = shard.memory.dead_bytes();
        Some(RevocableReadPoint::listed(reader, sequence, holder, dead_bytes))
    }
}

impl LongReadPoint {
    /// The same point, which may be revoked from now on.
    pub fn into_revocable(self, holder: Holder) -> RevocableReadPoint {
        let LongReadPoint { reader, sequence, dead_bytes } = self;
        // It is found by who revokes once it is listed.
        reader.shard.readers.leave(reader.slot, sequence);
        RevocableReadPoint::listed(reader, sequence, holder, dead_bytes)
    }
}

impl RevocableReadPoint {
    /// Of a reader whose slot is *away*: who revokes finds it from now on. So much was marked dead when it began.
    fn listed(reader: Reader, sequence: u64, holder: Holder, dead_bytes: u64) -> RevocableReadPoint {
        let shard = &reader.shard;
        let entry = Entry { holder, sequence, dead_bytes, revoked: None };
        let at = usize::from(reader.slot);
        let mut list = lock(&shard.revocables.list);
        let len = list.readers.len().max(at + 1);
        list.readers.resize(len, None);
        let former = list.readers[at].replace(entry);
        assert!(former.is_none(), "a slot has one reader at a time");
        shard.revocables.count.fetch_add(1, Ordering::Relaxed);
        drop(list);
        RevocableReadPoint { reader, sequence }
    }

    /// The right to look for a moment; `None` once it was revoked.
    #[inline]
    pub fn enter(&mut self) -> Option<Entered<'_>> {
        let is_in = self.reader.shard.readers.enter(self.reader.slot, self.sequence);
        // Not `then_some`: one who may not look must not leave either.
        is_in.then(|| Entered(self))
    }

    /// Bytes that it held when it was revoked, if it was.
    pub fn revoked_bytes(&self) -> Option<u64> {
        lock(&self.reader.shard.revocables.list).readers[usize::from(self.reader.slot)]?.revoked
    }
}

impl Entered<'_> {
    /// What there is to see.
    #[inline]
    pub fn read_point(&self) -> ReadPoint<'_> {
        ReadPoint { shard: &self.0.reader.shard, sequence: self.0.sequence }
    }

    /// As [`LongReadPoint::look_at`].
    ///
    /// # Panics
    /// If the sequence is older than the point, or not published yet.
    pub fn look_at(&self, sequence: u64) -> Look<'_> {
        self.0.reader.shard.look_between(self.0.sequence, sequence)
    }
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.reader.shard.readers.leave(self.0.reader.slot, self.0.sequence);
    }
}

impl Drop for RevocableReadPoint {
    fn drop(&mut self) {
        let shard = &self.reader.shard;
        let mut list = lock(&shard.revocables.list);
        list.readers[usize::from(self.reader.slot)] = None;
        shard.revocables.count.fetch_sub(1, Ordering::Relaxed);
        // The slot is unpinned when the reader is dropped, behind this.
    }
}

impl Shard {
    /// Are there readers that may be revoked?
    #[inline]
    pub fn has_revocable_readers(&self) -> bool {
        self.revocables.count.load(Ordering::Relaxed) > 0
    }

    /// The oldest reader that may be revoked and was not.
    pub fn oldest_revocable(&self) -> Option<Revoked> {
        if !self.has_revocable_readers() {
            return None;
        }
        let list = lock(&self.revocables.list);
        self.standing(&list).min_by_key(|(_, revoked)| revoked.sequence).map(|(_, revoked)| revoked)
    }

    /// Revokes the oldest reader that may be revoked: what it holds is free with the next batch that is published, or when who
    /// looks with it right now is done.
    pub fn revoke_oldest(&self) -> Option<Revoked> {
        let oldest = self.oldest_revocable()?;
        self.revoke_before(oldest.sequence + 1).into_iter().next()
    }

    /// Revokes all readers that may be revoked and stand at an earlier sequence than this. What they hold is free as after
    /// [`Shard::revoke_oldest`].
    pub fn revoke_before(&self, sequence: u64) -> Vec<Revoked> {
        let mut list = lock(&self.revocables.list);
        let mut due: Vec<(usize, Revoked)> =
            self.standing(&list).filter(|(_, r)| r.sequence < sequence).collect();
        due.sort_unstable_by_key(|(_, revoked)| revoked.sequence);
        // Under the lock of the list: a reader that is dropped meanwhile takes itself out of it before its slot is given to
        // another, so the slot and the entry are of the same reader.
        due.retain(|(slot, revoked)| self.revoke(*slot as u16, revoked.sequence));
        for (slot, revoked) in &due {
            list.readers[*slot].as_mut().expect("it stands").revoked = Some(revoked.bytes);
        }
        let due: Vec<Revoked> = due.into_iter().map(|(_, revoked)| revoked).collect();
        list.reported.extend(&due);
        let surplus = list.reported.len().saturating_sub(REPORTED_MAX);
        list.reported.drain(..surplus);
        due
    }

    fn revoke(&self, slot: u16, sequence: u64) -> bool {
        planted::is(faults::READER_NOT_REVOKED) || self.readers.revoke(slot, sequence) != Revoke::Gone
    }

    fn standing<'l>(&'l self, list: &'l List) -> impl Iterator<Item = (usize, Revoked)> + 'l {
        let dead_bytes = self.memory.dead_bytes();
        list.readers.iter().enumerate().filter_map(move |(slot, entry)| {
            let Entry { holder, sequence, dead_bytes: before, .. } =
                entry.filter(|entry| entry.revoked.is_none())?;
            Some((slot, Revoked { holder, sequence, bytes: dead_bytes.wrapping_sub(before) }))
        })
    }

    /// Bytes that only readers hold which may be revoked: what died since the oldest began.
    pub fn bytes_held(&self) -> u64 {
        self.oldest_revocable().map_or(0, |oldest| oldest.bytes)
    }

    /// What was revoked since the last call, so that somebody is informed.
    pub fn take_revoked(&self) -> Vec<Revoked> {
        std::mem::take(&mut lock(&self.revocables.list).reported)
    }

    /// Revokes the oldest reader for want of memory, if something is gained by it: nobody who cannot be revoked is older.
    pub(super) fn revoke_for_room(&self) -> bool {
        let least = crate::segment::SEGMENT as u64;
        let oldest = self.oldest_revocable().filter(|oldest| oldest.bytes >= least);
        let Some(oldest) = oldest.filter(|oldest| self.readers.oldest() == oldest.sequence) else {
            return false;
        };
        !self.revoke_before(oldest.sequence + 1).is_empty()
    }
}
