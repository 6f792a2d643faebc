//! The trail of changes: what was applied, by whom and whence, in the order of the log. The server writes the audit log of it.
//!
//! The applier reports of each command, when it is applied first and at a replay. So a change that was logged and not yet written down when the
//! process ended is reported again by the next start. A snapshot makes that impossible; it waits until the trail up to its record is written.
//!
//! Nothing of this changes what a command comes to, and nothing is noted before somebody wants to know.

mod notes;

pub(crate) use notes::Notes;
pub use notes::{Note, Origin};

use crate::journal;
use model::limits::TRAIL_BYTES_MAX;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes that a command takes here besides its messages, about.
const CARRIED_BYTES: usize = 256;

/// What a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Updates, each for itself.
    Updates,
    /// Updates that were applied together.
    Transaction,
    /// A change of settings. Only the one who took it has its message.
    Settings,
    /// Entries that were read from a file, past the log.
    Import,
}

/// A command of which something was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Its record in the log.
    pub index: u64,
    /// Number of its first update among those of the record, from 1 on.
    pub first: u32,
    /// When it was given, in milliseconds since 1970.
    pub wall_ms: u64,
    /// What it is.
    pub what: What,
    /// As whom it was applied: a DN, empty for anonymous.
    pub actor: Vec<u8>,
    /// Where it came from; `None` if only the log knows of it.
    pub origin: Option<Origin>,
    /// Its updates, whole messages.
    pub messages: Vec<u8>,
    /// One for each of them; `None` for those that were refused.
    pub notes: Vec<Option<Note>>,
}

impl Carried {
    /// The updates that were applied: their numbers in the record, their messages and what was noted of them.
    pub fn updates(&self) -> impl Iterator<Item = (u32, &[u8], &Note)> {
        let numbered = (self.first..).zip(journal::messages(&self.messages)).zip(&self.notes);
        numbered.filter_map(|((number, message), note)| Some((number, message, note.as_ref()?)))
    }

    fn bytes(&self) -> usize {
        CARRIED_BYTES + self.messages.len() + self.actor.len() + self.notes.len() * size_of::<Option<Note>>()
    }
}

/// What is reported, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// Of the records up to this one nothing is reported: a start has them from a snapshot.
    From(u64),
    /// A command.
    Carried(Box<Carried>),
}

/// What was reported since the last time.
#[derive(Debug, Default)]
pub struct Taken {
    /// In order.
    pub reported: VecDeque<Report>,
    /// Records behind those of which something found no room: the first and the last.
    pub lost: Option<(u64, u64)>,
    /// All up to this record was reported by now.
    pub up_to: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Trail {
    waiting: Mutex<Taken>,
    /// Bytes of what waits.
    bytes: AtomicUsize,
    /// The last record up to which all is safe in the audit log.
    safe: AtomicU64,
    /// The record up to which somebody wants it to be safe.
    wanted: AtomicU64,
    is_failing: AtomicBool,
    /// Are updates refused while the audit log cannot be written?
    refuses: AtomicBool,
}

impl Trail {
    /// Of a directory. `refuses`: no update is taken while the audit log cannot be written.
    pub fn new(refuses: bool) -> Trail {
        Trail { refuses: refuses.into(), ..Trail::default() }
    }

    fn waiting(&self) -> MutexGuard<'_, Taken> {
        // What is reported is pushed or counted: nobody leaves it half done.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what was reported.
    pub fn take(&self) -> Taken {
        let mut waiting = self.waiting();
        self.bytes.store(0, Ordering::Relaxed);
        let up_to = waiting.up_to;
        std::mem::replace(&mut *waiting, Taken { up_to, ..Taken::default() })
    }

    /// Bytes of what waits to be taken.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Is so much reported that no more updates should be taken? Not while it cannot be written, for that may take long.
    pub fn is_full(&self) -> bool {
        self.bytes() > TRAIL_BYTES_MAX / 2 && !self.is_failing.load(Ordering::Relaxed)
    }

    /// It can, or cannot, be written from now on.
    pub fn set_failing(&self, is_failing: bool) {
        self.is_failing.store(is_failing, Ordering::Release);
    }

    /// Updates are refused, or not, while it cannot be written, from now on.
    pub fn set_refuses(&self, refuses: bool) {
        self.refuses.store(refuses, Ordering::Relaxed);
    }

    /// Why updates are refused, if they are.
    pub fn refusal(&self) -> Option<&'static str> {
        let refuses = self.is_failing.load(Ordering::Acquire) && self.refuses.load(Ordering::Relaxed);
        refuses.then_some("log.audit-file cannot be written: nothing is changed until it can")
    }

    /// All up to this record is safe in the audit log.
    pub fn on_safe(&self, index: u64) {
        self.safe.fetch_max(index, Ordering::Release);
    }

    /// Whether a snapshot may have everything up to this record; if not, it is asked for. An audit log that may have gaps, and cannot be
    /// written, holds up no snapshot: the log would grow without end.
    pub fn may_keep(&self, index: u64) -> bool {
        self.wanted.fetch_max(index, Ordering::Release);
        self.safe.load(Ordering::Acquire) >= index
            || (!self.refuses.load(Ordering::Relaxed) && self.is_failing.load(Ordering::Acquire))
    }

    /// Can it not be written?
    pub fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Acquire)
    }

    /// Does somebody wait until it is safe?
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Acquire) > self.safe.load(Ordering::Acquire)
    }

    /// A start has everything up to this record.
    pub(crate) fn from(&self, index: u64) {
        let mut waiting = self.waiting();
        waiting.reported.push_back(Report::From(index));
        waiting.up_to = waiting.up_to.max(index);
    }

    /// A command was applied.
    pub(crate) fn carried(&self, carried: Carried) {
        let (index, bytes) = (carried.index, carried.bytes());
        let mut waiting = self.waiting();
        // What was lost is one range, so all is lost until somebody takes what there is.
        if waiting.lost.is_some() || self.bytes() + bytes > TRAIL_BYTES_MAX {
            let first = waiting.lost.map_or(index, |(first, _)| first);
            waiting.lost = Some((first, index));
            return;
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        waiting.reported.push_back(Report::Carried(Box::new(carried)));
    }

    /// All of a record was reported.
    pub(crate) fn ends(&self, index: u64) {
        let mut waiting = self.waiting();
        waiting.up_to = waiting.up_to.max(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(index: u64, bytes: usize) -> Carried {
        Carried {
            index,
            first: 1,
            wall_ms: 0,
            what: What::Updates,
            actor: Vec::new(),
            origin: None,
            messages: vec![0; bytes],
            notes: Vec::new(),
        }
    }

    #[test]
    fn what_finds_no_room_is_one_range() {
        let trail = Trail::new(false);
        let bytes = TRAIL_BYTES_MAX / 4;
        for index in 1..=6 {
            trail.carried(carried(index, bytes));
            trail.ends(index);
        }
        assert!(trail.is_full());
        let taken = trail.take();
        assert_eq!((taken.reported.len(), taken.lost, taken.up_to), (3, Some((4, 6)), 6));
        trail.carried(carried(7, 1));
        let taken = trail.take();
        assert_eq!((taken.reported.len(), taken.lost, taken.up_to, trail.bytes()), (1, None, 6, 0));
    }

    #[test]
    fn a_snapshot_waits_unless_gaps_are_allowed() {
        for refuses in [false, true] {
            let trail = Trail::new(refuses);
            assert!(!trail.may_keep(3) && trail.is_wanted() && trail.refusal().is_none());
            trail.set_failing(true);
            assert_eq!((trail.may_keep(3), trail.refusal().is_some()), (!refuses, refuses));
            trail.set_failing(false);
            trail.on_safe(3);
            assert!(trail.may_keep(3) && !trail.is_wanted() && trail.refusal().is_none());
        }
    }
}
