//! What an administrator must learn of: binds that failed, binds of the root DN, passwords that came in the clear, locks, changes of the
//! configuration, limits, rights over others that were used. The server takes them and writes them down; none of them is decided here.
//!
//! Nothing is noted before somebody wants to know, which costs a request one look at a flag; and only where it is refused, or is rare.

mod event;
mod uses;

pub use self::event::{Event, EventKind};
use self::uses::Uses;
use model::limits::EVENTS_MAX;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Events that were not taken yet.
///
/// The number is bounded, for nobody may make the server keep any number of them: of those beyond it only the number is known. Failed
/// binds are so few from one address that it takes thousands of addresses, or a disk that does not write.
#[derive(Default)]
pub struct Events {
    is_open: AtomicBool,
    waiting: Mutex<(VecDeque<Event>, u64)>,
    uses: Mutex<Uses>,
    losses: Losses,
}

/// What no log has, since the start: for the monitor. The thread that writes counts, seldom.
#[derive(Debug, Default)]
pub struct Losses {
    /// Records of the access log that found no room.
    pub access: AtomicU64,
    /// Events that found no room.
    pub events: AtomicU64,
    /// Writes that failed. What was to be written waits.
    pub failures: AtomicU64,
}

impl Events {
    /// Events are noted from now on.
    /// It is not taken back: the log is there as long as the server.
    pub fn open(&self) {
        self.is_open.store(true, Ordering::Relaxed);
    }

    /// What no log has.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Takes those that were noted, and the number of those that found no room. `now_ns`: a clock that never goes back.
    pub fn take(&self, now_ns: u64) -> (VecDeque<Event>, u64) {
        let repeated = self.uses.lock().unwrap_or_else(PoisonError::into_inner).take(now_ns);
        repeated.into_iter().for_each(|event| self.note(|| event));
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes that somebody has used a right over others, if somebody wants to know. A client may do that with each request: the first time is
    /// noted at once, and what follows within some seconds by its number.
    #[cold]
    pub(crate) fn note_use(&self, now_ns: u64, event: impl FnOnce() -> Event) {
        if self.is_open.load(Ordering::Relaxed) {
            // The lock is held for one look into a map; two at a time would be one inside the other.
            let first = self.uses.lock().unwrap_or_else(PoisonError::into_inner).note(now_ns, event());
            first.into_iter().for_each(|event| self.note(|| event));
        }
    }

    /// Notes an event, if somebody wants to know.
    #[cold]
    pub fn note(&self, event: impl FnOnce() -> Event) {
        if !self.is_open.load(Ordering::Relaxed) {
            return;
        }
        let event = event();
        // Pushed or counted: nobody leaves it half done.
        let (events, lost) = &mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match events.len() < EVENTS_MAX {
            true => events.push_back(event),
            false => *lost += 1,
        }
    }
}
