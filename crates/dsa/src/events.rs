//! What an administrator must learn of: binds that failed, binds of the root DN, passwords that came in the clear, locks, changes of the
//! configuration. The server takes them and writes them down; none of them is decided here.
//!
//! Nothing is noted before somebody wants to know, which costs a request one look at a flag; and only where it is refused, or is rare.

use env::net::PeerAddress;
use model::ResultCode;
use model::limits::EVENTS_MAX;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// What has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A bind proved nothing.
    BindFailed,
    /// A bind was not looked at, for too many from this address had failed.
    BindRefused,
    /// The root DN has bound.
    RootBind,
    /// A password came on a connection that anybody can read.
    Cleartext,
    /// An account was locked.
    Locked,
    /// The configuration was changed, or somebody tried.
    Configuration,
}

impl EventKind {
    /// Its name in the log.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::BindFailed => "bind-failed",
            EventKind::BindRefused => "bind-refused",
            EventKind::RootBind => "root-bind",
            EventKind::Cleartext => "cleartext",
            EventKind::Locked => "locked",
            EventKind::Configuration => "configuration",
        }
    }
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What has happened.
    pub kind: EventKind,
    /// Where the client is.
    pub peer: Option<PeerAddress>,
    /// Who it was by then; empty for anonymous.
    pub who: Vec<u8>,
    /// The name that it is about, as it was sent. It may be no DN.
    pub name: Vec<u8>,
    /// What was answered.
    pub code: ResultCode,
    /// Which settings were changed.
    pub detail: String,
}

/// Events that were not taken yet.
///
/// The number is bounded, for nobody may make the server keep any number of them: of those beyond it only the number is known. Failed
/// binds are so few from one address that it takes thousands of addresses, or a disk that does not write.
#[derive(Default)]
pub struct Events {
    is_open: AtomicBool,
    waiting: Mutex<(VecDeque<Event>, u64)>,
}

impl Events {
    /// Events are noted from now on.
    pub fn open(&self) {
        self.is_open.store(true, Ordering::Relaxed);
    }

    /// Takes those that were noted, and the number of those that found no room.
    pub fn take(&self) -> (VecDeque<Event>, u64) {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes an event, if somebody wants to know.
    #[cold]
    pub(crate) fn note(&self, event: impl FnOnce() -> Event) {
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
