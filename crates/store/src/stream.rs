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
    /// The commit sequence of its batch.
    pub(crate) sequence: u64,
    /// The last CSN of its batch.
    pub(crate) csn: Csn,
    /// What cannot be found any more of an entry that was deleted or renamed.
    pub before: Option<Box<Before>>,
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

impl EntryChange {
    fn bytes(&self) -> usize {
        size_of::<EntryChange>() + self.before.as_ref().map_or(0, |before| before.bytes())
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

#[derive(Default)]
pub(crate) struct Ring {
    pub(crate) events: VecDeque<EntryChange>,
    /// Number of the first of them; of the next one if there is none.
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
}

impl Ring {
    pub(crate) fn end(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    /// Takes the events of a batch. Whether anybody follows, or may come again.
    fn put(
        &mut self,
        events: &mut Vec<EntryChange>,
        (sequence, reached): (u64, Reached),
        bytes_max: usize,
    ) -> bool {
        let last = self.events.back().map_or(0, |event| event.sequence);
        assert!(last < sequence, "the events of a batch are put behind those of the batch before");
        self.reached = reached;
        let csn = reached.csn;
        let bytes: usize = events.iter().map(EntryChange::bytes).sum();
        self.events.extend(events.drain(..).map(|event| EntryChange { sequence, csn, ..event }));
        self.bytes += bytes;
        while self.bytes > bytes_max {
            let Some(forgotten) = self.events.pop_front() else { break };
            self.bytes -= forgotten.bytes();
            self.first += 1;
        }
        if self.followers > 0 {
            return true;
        }
        self.alone_bytes += bytes;
        if self.alone_bytes > bytes_max {
            self.first = self.end();
            (self.events, self.bytes) = (VecDeque::new(), 0);
            return false;
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
    pub(crate) fn note(&self, events: &mut Vec<EntryChange>, batch: (u64, Reached)) -> bool {
        let has_events = !events.is_empty();
        if has_events {
            self.put(events, batch);
        }
        has_events
    }

    #[cold]
    fn put(&self, events: &mut Vec<EntryChange>, batch: (u64, Reached)) {
        if !lock(&self.ring).put(events, batch, self.bytes_max.load(Ordering::Relaxed)) {
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
