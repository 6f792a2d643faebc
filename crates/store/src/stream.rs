//! The stream of changes: which entries each published batch has changed, in the order of the batches.
//!
//! It is a ring of bounded size beside the directory and no part of it. It says what an entry's id is, and what was done to the entry, but
//! not what the entry had before or has since: who follows the stream looks at the entry at a read point. So an event is small, and what a
//! follower may see is decided where all rights are decided.
//!
//! ```text
//! writer     notes events of its batch, if somebody follows      puts the events into the ring | publishes the batch | stores the CSN | wakes
//! follower   pins a read point | takes the events up to it       so the read point shows what the events tell of, and nothing later
//! ```
//! An event takes eight bytes, and what is the same for all events of a batch is kept once: the ring of a writer that is quick would else be
//! more than the caches hold, and each event would wait for memory.
//!
//! So what an entry was at the read point before and what it is at this one differ by these events and no others. Who follows may conclude from
//! them which name the entry had at the read point before.
//!
//! Without followers the writer pays one comparison for each update. The ring goes on for a while after the last follower has gone, until it
//! has forgotten as many bytes as it keeps, so that one who comes again soon finds what was missed.

use crate::recent_changes::RecentChanges;
use crate::sync::{AtomicU64, Mutex, Ordering, lock};
use model::limits::STREAM_BYTES_DEFAULT;
use model::{Csn, EntryId};
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::task::Waker;

/// What was done to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryChangeKind {
    /// It was added.
    Add,
    /// Its attributes were changed.
    Modify,
    /// It has another RDN or another superior, and so have all below it another name.
    Rename,
    /// It was deleted.
    Delete,
}

/// An event of the stream.
#[derive(Clone, Debug)]
pub struct EntryChange {
    /// The entry. Its id may be another entry's later, behind the event of its deletion.
    pub id: EntryId,
    /// What was done.
    pub kind: EntryChangeKind,
    /// What cannot be found any more of an entry that was deleted or renamed.
    pub before: Option<Box<Before>>,
}

/// An event as the ring has it: the kind above the id.
#[derive(Clone, Copy)]
pub(crate) struct Packed(u64);

impl Packed {
    const KINDS: [EntryChangeKind; 4] =
        [EntryChangeKind::Add, EntryChangeKind::Modify, EntryChangeKind::Rename, EntryChangeKind::Delete];

    #[inline]
    fn of(id: EntryId, kind: EntryChangeKind) -> Packed {
        Packed((kind as u64) << 32 | u64::from(id.0))
    }

    fn id(self) -> EntryId {
        EntryId(self.0 as u32)
    }

    fn kind(self) -> EntryChangeKind {
        Packed::KINDS[(self.0 >> 32) as usize]
    }
}

/// An entry before it was deleted or renamed.
#[derive(Clone, Debug)]
pub struct Before {
    /// Its entryUUID.
    pub uuid: [u8; 16],
    /// Its DN.
    pub dn: Vec<u8>,
    /// The DN that it was renamed to; empty if it was deleted.
    pub new_dn: Vec<u8>,
}

impl Before {
    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        size_of::<Before>() + self.dn.len() + self.new_dn.len()
    }
}

/// The events of a batch that is not published yet.
#[derive(Default)]
pub(crate) struct Noted {
    events: Vec<Packed>,
    /// Of those that have some, by their place.
    before: Vec<(usize, Box<Before>)>,
}

impl Noted {
    /// An entry was added or changed.
    #[inline]
    pub(crate) fn push(&mut self, id: EntryId, kind: EntryChangeKind) {
        self.events.push(Packed::of(id, kind));
    }

    /// An entry was deleted or renamed.
    pub(crate) fn push_with(&mut self, id: EntryId, kind: EntryChangeKind, before: Box<Before>) {
        self.before.push((self.events.len(), before));
        self.push(id, kind);
    }
}

/// Why a follower cannot go on: events that it has not taken are forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behind;

/// A state of the directory. A delete has no CSN, so the number of entries belongs to it: two states with one CSN and as many entries are
/// the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// The last CSN that was given.
    pub csn: Csn,
    /// The number of entries; [`ENTRIES_UNKNOWN`] if it is not known.
    pub entries: u64,
}

/// In place of a number of entries: no state is known to be the same as one with this.
pub const ENTRIES_UNKNOWN: u64 = u64::MAX;

impl Reached {
    /// The number of entries, if it is known.
    pub fn known_entries(self) -> Option<u64> {
        (self.entries != ENTRIES_UNKNOWN).then_some(self.entries)
    }
}

/// What a shard keeps of its changes.
pub(crate) struct Stream {
    /// For searches by entryUSN. Unlike events it is always kept, and says neither what was done nor what is gone.
    pub(crate) recent: RecentChanges,
    pub(crate) ring: Mutex<Ring>,
    /// Bytes of events that are kept.
    pub(crate) bytes_max: AtomicUsize,
    /// Are events noted? Changed in the writer's role only.
    pub(crate) is_followed: AtomicBool,
    /// The state of the last published batch whose events are in the ring.
    pub(crate) csn: AtomicU64,
    pub(crate) entries: AtomicU64,
}

/// What the events of a batch have in common.
#[derive(Clone, Copy)]
pub(crate) struct Batch {
    /// The number behind its last event.
    pub(crate) end: u64,
    /// Its commit sequence.
    pub(crate) sequence: u64,
    /// Its last CSN.
    pub(crate) csn: Csn,
}

/// Bytes that are counted of an event, of a batch, and of what was before, beside what it points to.
const EVENT: usize = size_of::<Packed>();
const BATCH: usize = size_of::<Batch>();
const BEFORE: usize = size_of::<(u64, Box<Before>)>();

#[derive(Default)]
pub(crate) struct Ring {
    pub(crate) events: VecDeque<Packed>,
    /// By number of the event.
    before: VecDeque<(u64, Box<Before>)>,
    /// The batches of these events, whole.
    pub(crate) batches: VecDeque<Batch>,
    /// Number of the first event; of the next one if there is none.
    pub(crate) first: u64,
    /// Events before this number are of batches that are published.
    pub(crate) shown: u64,
    pub(crate) bytes: usize,
    pub(crate) followers: usize,
    /// Bytes that were put since the last follower has gone.
    pub(crate) alone_bytes: usize,
    /// The state behind the batch that was put last.
    pub(crate) reached: Reached,
    /// Who is to be woken, each once: as many as threads have followers.
    pub(crate) wakers: Vec<Waker>,
    /// How often all were woken without an event.
    pub(crate) calls: u64,
}

impl Ring {
    pub(crate) fn end(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    /// The number behind the last event of what a commit sequence shows.
    pub(crate) fn end_of(&self, sequence: u64) -> u64 {
        let batches = self.batches.partition_point(|batch| batch.sequence <= sequence);
        batches.checked_sub(1).map_or(self.first, |last| self.batches[last].end)
    }

    /// The batch of an event that is kept.
    pub(crate) fn batch_of(&self, number: u64) -> Option<&Batch> {
        let at = self.batches.partition_point(|batch| batch.end <= number);
        self.batches.get(at).filter(|_| self.first <= number)
    }

    /// Appends the events with these numbers, which are kept.
    pub(crate) fn take(&self, numbers: Range<u64>, into: &mut Vec<EntryChange>) {
        let from = self.before.partition_point(|(number, _)| *number < numbers.start);
        let mut before = self.before.range(from..).peekable();
        let place = |number: u64| (number - self.first) as usize;
        let events = self.events.range(place(numbers.start)..place(numbers.end));
        into.extend(numbers.zip(events).map(|(number, event)| EntryChange {
            id: event.id(),
            kind: event.kind(),
            before: before.next_if(|(of, _)| *of == number).map(|(_, before)| before.clone()),
        }));
    }

    /// Takes the events of a batch. Whether anybody follows, or may come again.
    fn put(&mut self, noted: &mut Noted, (sequence, reached): (u64, Reached), bytes_max: usize) -> bool {
        let last = self.batches.back().map_or(0, |batch| batch.sequence);
        assert!(last < sequence, "the events of a batch are put behind those of the batch before");
        self.reached = reached;
        let of_before: usize = noted.before.iter().map(|(_, before)| BEFORE + before.bytes()).sum();
        let bytes = BATCH + noted.events.len() * EVENT + of_before;
        // Before there are more of them, so that the memory for them never grows beyond the bound.
        while self.bytes + bytes > bytes_max && self.forget() {}
        let end = self.end();
        self.before.extend(noted.before.drain(..).map(|(place, before)| (end + place as u64, before)));
        self.events.extend(&noted.events);
        noted.events.clear();
        self.batches.push_back(Batch { end: self.end(), sequence, csn: reached.csn });
        self.bytes += bytes;
        // It may be too large by itself.
        while self.bytes > bytes_max && self.forget() {}
        if self.followers > 0 {
            return true;
        }
        self.alone_bytes += bytes;
        if self.alone_bytes > bytes_max {
            self.first = self.end();
            (self.events, self.before, self.batches, self.bytes) = Default::default();
            return false;
        }
        true
    }

    /// Forgets the first batch. Was there one?
    fn forget(&mut self) -> bool {
        let Some(batch) = self.batches.pop_front() else { return false };
        let events = (batch.end - self.first) as usize;
        self.events.drain(..events);
        self.first = batch.end;
        self.bytes -= BATCH + events * EVENT;
        while let Some((number, before)) = self.before.front()
            && *number < batch.end
        {
            self.bytes -= BEFORE + before.bytes();
            self.before.pop_front();
        }
        true
    }
}

impl Stream {
    /// Of a shard that has nothing yet; a small one keeps no recent changes.
    pub(crate) fn reserve(is_small: bool, first: Csn) -> io::Result<Stream> {
        Ok(Stream {
            recent: RecentChanges::reserve(is_small, first)?,
            ring: Mutex::default(),
            bytes_max: AtomicUsize::new(STREAM_BYTES_DEFAULT),
            is_followed: AtomicBool::default(),
            csn: AtomicU64::new(0),
            entries: AtomicU64::new(0),
        })
    }

    #[inline]
    pub(crate) fn is_followed(&self) -> bool {
        self.is_followed.load(Ordering::Relaxed)
    }

    /// A batch is about to be published. Its events go into the ring, where nobody takes them before that. Were there any?
    #[inline]
    pub(crate) fn note(&self, noted: &mut Noted, batch: (u64, Reached)) -> bool {
        let has_events = !noted.events.is_empty();
        if has_events {
            self.put(noted, batch);
        }
        has_events
    }

    #[cold]
    fn put(&self, noted: &mut Noted, batch: (u64, Reached)) {
        if !lock(&self.ring).put(noted, batch, self.bytes_max.load(Ordering::Relaxed)) {
            self.is_followed.store(false, Ordering::Relaxed);
        }
    }

    /// A batch was published: all changes up to this state. Those who wait for its events are woken.
    #[inline]
    pub(crate) fn published(&self, reached: Reached, has_events: bool) {
        self.entries.store(reached.entries, Ordering::Release);
        self.csn.store(reached.csn.0, Ordering::Release);
        if has_events {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        let mut ring = lock(&self.ring);
        ring.shown = ring.end();
        let wakers = std::mem::take(&mut ring.wakers);
        drop(ring);
        wakers.into_iter().for_each(Waker::wake);
    }
}
