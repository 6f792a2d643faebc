//! Who reads at which commit sequence. A reader stores the published sequence in a slot of its own before it looks
//! at anything; the writer frees nothing that the smallest stored sequence could still reach.
//!
//! Protocol (checked with loom): the reader stores its sequence and then looks at the published one again; the
//! writer publishes and then looks at the slots. Both with sequential consistency: either the reader sees the new
//! sequence and starts over, or the writer sees the reader.
//!
//! A reader that lasts may be revoked while it does not look: its slot says whether it does, and goes from *away* to
//! *revoked*, or to *looking*, by one compare-and-swap.
//!
//! ```text
//! resting --pin--> looking --rest--> resting                               a reader of a moment
//! resting --pin_away_at--> away <--leave, enter--> looking                 one that lasts
//! away --revoke--> revoked;  looking --revoke--> wanted --leave--> revoked
//! any --unregister--> resting
//! ```
//! Only the owner of a slot takes it out of *resting*; only who revokes (the writer, or who runs short of memory) makes
//! it *wanted*, or *revoked* while the owner is away.

use crate::sync::{AtomicU64, Mutex, Ordering::SeqCst, Padded, lock, sequential};

/// Readers at the same time: one per IO thread and one per search that outlives its bundle.
pub const READERS_MAX: usize = if cfg!(pando_loom) { 2 } else { 4096 };

const RESTING: u64 = u64::MAX;
/// In the slot of a reader that was revoked: it counts as unpinned.
const REVOKED: u64 = u64::MAX - 1;
/// Set while the slot's owner looks at nothing and may be revoked.
const AWAY: u64 = 1 << 63;
/// Set when an owner that looks right now is to be revoked as soon as it is done.
const WANTED: u64 = 1 << 62;

/// What became of a revocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Revoke {
    /// The reader looks at nothing any more.
    Done,
    /// It looks right now, and not again.
    WhenLeft,
    /// It does not stand at that sequence.
    Gone,
}

/// The sequence that a slot protects, or [`RESTING`].
#[inline]
fn standing(word: u64) -> u64 {
    if word >= REVOKED { RESTING } else { word & !(AWAY | WANTED) }
}

/// The published sequence and the readers' slots.
pub(crate) struct Readers {
    published: Padded<AtomicU64>,
    slots: Box<[Padded<AtomicU64>]>,
    free: Mutex<Vec<u16>>,
    /// Slots from here on were never used: nobody need look at them.
    used_end: AtomicU64,
    /// Counts the times that a slot took over the sequence of another.
    extensions: AtomicU64,
}

impl Readers {
    pub(crate) fn new() -> Readers {
        Readers {
            published: Padded(sequential(0)),
            slots: (0..READERS_MAX).map(|_| Padded(sequential(RESTING))).collect(),
            free: Mutex::new((0..READERS_MAX as u16).rev().collect()),
            used_end: sequential(0),
            extensions: sequential(0),
        }
    }

    /// A slot of one's own, or `None` if all are taken.
    pub(crate) fn register(&self) -> Option<u16> {
        self.register_beyond(0)
    }

    /// As [`Readers::register`], but `None` already when less than half of them are free: for one who can do without.
    pub(crate) fn register_spare(&self) -> Option<u16> {
        self.register_beyond(READERS_MAX / 2)
    }

    /// A slot, if more than so many are free.
    fn register_beyond(&self, kept: usize) -> Option<u16> {
        let mut free = lock(&self.free);
        let slot = if free.len() > kept { free.pop()? } else { return None };
        drop(free);
        self.used_end.fetch_max(u64::from(slot) + 1, SeqCst);
        Some(slot)
    }

    /// Gives a slot back; it must rest.
    pub(crate) fn unregister(&self, slot: u16) {
        self.rest(slot);
        let mut free = lock(&self.free);
        // The lowest slot is given out first, so that few are looked at.
        let at = free.partition_point(|other| *other > slot);
        assert!(free.get(at) != Some(&slot), "a slot has one owner, who gives it back once");
        free.insert(at, slot);
    }

    /// Makes a slot active at the published sequence, and returns that.
    #[inline]
    pub(crate) fn pin(&self, slot: u16) -> u64 {
        loop {
            let sequence = self.published.0.load(SeqCst);
            self.slots[slot as usize].0.store(sequence, SeqCst);
            if self.published.0.load(SeqCst) == sequence {
                return sequence;
            }
        }
    }

    /// Makes a slot active at a sequence that another active slot protects, which may rest from then on.
    pub(crate) fn pin_at(&self, slot: u16, sequence: u64) {
        self.slots[slot as usize].0.store(sequence, SeqCst);
        self.extensions.fetch_add(1, SeqCst);
    }

    /// As [`Readers::pin_at`], for a reader that looks at nothing yet and may be revoked.
    pub(crate) fn pin_away_at(&self, slot: u16, sequence: u64) {
        self.pin_at(slot, sequence | AWAY);
    }

    /// The owner of a slot that may be revoked is about to look. `false` if it was revoked: then it must not.
    #[inline]
    pub(crate) fn enter(&self, slot: u16, sequence: u64) -> bool {
        self.slots[slot as usize].0.compare_exchange(sequence | AWAY, sequence, SeqCst, SeqCst).is_ok()
    }

    /// It has looked, and may be revoked again.
    #[inline]
    pub(crate) fn leave(&self, slot: u16, sequence: u64) {
        let word = &self.slots[slot as usize].0;
        if let Err(now) = word.compare_exchange(sequence, sequence | AWAY, SeqCst, SeqCst) {
            // Nothing else changes the slot of an owner who looks, so a plain store cannot lose anything.
            assert_eq!(now, sequence | WANTED, "a reader that looks can be asked to end, and nothing else");
            word.store(REVOKED, SeqCst);
        }
    }

    /// Revokes the reader in a slot that stands at a sequence: at once, or when it has looked.
    pub(crate) fn revoke(&self, slot: u16, sequence: u64) -> Revoke {
        let word = &self.slots[slot as usize].0;
        loop {
            match word.compare_exchange(sequence | AWAY, REVOKED, SeqCst, SeqCst) {
                Ok(_) => return Revoke::Done,
                Err(now) if now == sequence | WANTED => return Revoke::WhenLeft,
                Err(now) if now != sequence => return Revoke::Gone,
                Err(_) => {}
            }
            if word.compare_exchange(sequence, sequence | WANTED, SeqCst, SeqCst).is_ok() {
                return Revoke::WhenLeft;
            }
        }
    }

    /// The slot's owner looks at nothing any more.
    #[inline]
    pub(crate) fn rest(&self, slot: u16) {
        self.slots[slot as usize].0.store(RESTING, SeqCst);
    }

    /// The newest sequence that readers may see.
    #[inline]
    pub(crate) fn published(&self) -> u64 {
        self.published.0.load(SeqCst)
    }

    /// Makes everything up to `sequence` visible at once. Writer only. The same sequence may come again, with nothing new.
    pub(crate) fn publish(&self, sequence: u64) {
        assert!(self.published() <= sequence, "batches are published in order");
        self.published.0.store(sequence, SeqCst);
    }

    /// The smallest active sequence, or [`RESTING`].
    ///
    /// A sequence may pass from one slot to another while they are looked at, from one not yet looked at to one that
    /// was. The one that sees the former rest sees the extension counted, too, and looks again.
    fn smallest(&self) -> u64 {
        loop {
            let before = self.extensions.load(SeqCst);
            // A slot that is registered after this load is pinned later still, at what is published by then.
            let used = &self.slots[..self.used_end.load(SeqCst) as usize];
            let smallest = used.iter().map(|s| standing(s.0.load(SeqCst))).min().unwrap_or(RESTING);
            if self.extensions.load(SeqCst) == before {
                return smallest;
            }
        }
    }

    /// Is nobody active?
    pub(crate) fn all_rest(&self) -> bool {
        self.smallest() == RESTING
    }

    /// No active reader is older than this, and no later one will be. Writer only.
    pub(crate) fn oldest(&self) -> u64 {
        let published = self.published();
        self.smallest().min(published)
    }
}
