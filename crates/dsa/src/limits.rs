//! Limits that the server sets its clients, as they are in force: numbers that any thread reads without a lock, written when a change of settings
//! is applied. None decides what comes of an update that the log has.
//!
//! ```text
//! chosen      file, flags and changes of `cn=config` -> [`Choices`]
//! in force    numbers here, one relaxed load for each use; what depends on other settings is worked out when it is put in force
//! from when   the next request for most of them; the next connection for what counts connections and handshakes
//! ```
//! A search takes its limits of size and time with the rules ([`crate::access`]); what one address may do is with the addresses ([`crate::peers`]).

use access::Network;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Seconds for which a search holds old versions, if nothing else is chosen.
const HELD_SECONDS_MAX: u32 = 60;
/// Bytes that are kept for all clients together, at least.
const CLIENT_MEMORY_MIN: u64 = 64 << 10;
/// Part of the directory's memory that old versions may take, if nothing else is chosen.
const HELD_SHARE: u64 = 4;

/// Limits of the server's own on searches; a client can only ask for less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchLimits {
    /// Entries that one search returns, 0 for no limit. The root DN is not bound by it.
    pub size_max: u32,
    /// Seconds that one search takes, 0 for no limit. The root DN is not bound by it.
    pub time_max_s: u32,
    /// Bytes of old versions that suspended searches hold, `None` for a quarter of the directory's memory: beyond it the oldest search
    /// is ended.
    pub held_bytes_max: Option<u64>,
    /// Seconds that a search holds old versions, 0 for no limit.
    pub held_seconds_max: u32,
}

impl Default for SearchLimits {
    fn default() -> SearchLimits {
        SearchLimits { size_max: 0, time_max_s: 0, held_bytes_max: None, held_seconds_max: HELD_SECONDS_MAX }
    }
}

/// What clients may take of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientLimits {
    /// Bytes of updates, with what was prepared of them, that all sessions together have on their way through the log.
    pub update_bytes_max: u64,
    /// Bytes that are kept for all clients together: input, answers, filters. An eighth of it is for those that have not
    /// bound. `None`: a share of what the directory may occupy.
    pub memory_bytes_max: Option<u64>,
    /// Bytes of one message of a client that has not bound.
    pub unbound_message_bytes_max: usize,
    /// Entries that a tree delete takes at a time: 1 to [`model::limits::TREE_DELETE_MAX`].
    pub tree_delete_max: u64,
    /// Bytes of the keys of one sorted search: [`model::limits::SORT_BYTES_MIN`] to [`model::limits::SORT_BYTES_MAX`].
    pub sort_bytes_max: usize,
    /// Connections of one address; 0: any number.
    pub address_connections_max: u32,
    /// Binds of one address that may fail in a second; 0: any number.
    pub failed_binds_per_second: u32,
    /// Handshakes of TLS that one address may make in a second; 0: any number.
    pub handshakes_per_second: u32,
    /// Networks for whose addresses none of these three holds.
    pub trusted: Vec<Network>,
}

impl Default for ClientLimits {
    fn default() -> ClientLimits {
        ClientLimits {
            update_bytes_max: 256 << 20,
            memory_bytes_max: None,
            unbound_message_bytes_max: 64 << 10,
            tree_delete_max: 1000,
            sort_bytes_max: model::limits::SORT_BYTES_DEFAULT,
            address_connections_max: 1000,
            failed_binds_per_second: 10,
            handshakes_per_second: 50,
            trusted: Vec::new(),
        }
    }
}

/// How long the server waits for clients, and how many it takes, as chosen. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// That a connection of a client that has bound may wait for its next request; 0: for ever.
    pub idle_timeout_s: u64,
    /// The same, of a client that has not bound.
    pub unbound_idle_timeout_s: u64,
    /// That a connection may wait with its first request; 0: as long as with any other.
    pub first_request_s: u64,
    /// That a message may take from its first byte to its last; 0: any time.
    pub message_timeout_s: u64,
    /// That a TLS handshake may take; 0: any time.
    pub handshake_timeout_s: u64,
    /// That a client may leave answers untaken; 0: for ever.
    pub write_timeout_s: u64,
    /// That connections have to finish when the server ends.
    pub shutdown_timeout_s: u64,
    /// Connections at once; 0: as many as the process may have descriptors, less some.
    pub connections_max: u64,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            idle_timeout_s: 3600,
            unbound_idle_timeout_s: 900,
            first_request_s: 30,
            message_timeout_s: 120,
            handshake_timeout_s: 10,
            write_timeout_s: 60,
            shutdown_timeout_s: 10,
            connections_max: 0,
        }
    }
}

/// All of them, as chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// What one search may take.
    pub search: SearchLimits,
    /// What clients may take of the server.
    pub clients: ClientLimits,
    /// How long the server waits for them, and how many it takes.
    pub patience: Patience,
}

/// Bytes that are kept for all clients together: as chosen, or an eighth of what the directory may occupy, within bounds. With less than
/// [`CLIENT_MEMORY_MIN`] nobody could bind who might choose more.
pub fn client_memory(chosen: Option<u64>, memory_bytes_max: u64) -> u64 {
    chosen.map_or((memory_bytes_max / 8).clamp(64 << 20, 4 << 30), |chosen| chosen.max(CLIENT_MEMORY_MIN))
}

/// Bytes of old versions that active searches may hold: as chosen, or a quarter of what the directory may occupy.
pub fn held_bytes(chosen: Option<u64>, memory_bytes_max: u64) -> u64 {
    chosen.unwrap_or(memory_bytes_max / HELD_SHARE)
}

/// A number that is in force.
/// Relaxed, for each stands for itself: a thread that reads an old one allows what was allowed a moment ago.
#[derive(Debug, Default)]
pub struct Number(AtomicU64);

impl Number {
    /// The number.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn put(&self, number: u64) {
        self.0.store(number, Ordering::Relaxed);
    }
}

/// That this node goes by less memory than was chosen for the directory, for it has no address space for that.
/// Each chosen number is reported once.
#[derive(Debug, Default)]
pub struct MemoryNotReserved {
    /// What was chosen in bytes; 0 while that is in force.
    chosen: AtomicU64,
    is_due: AtomicBool,
}

impl MemoryNotReserved {
    pub(crate) fn note(&self, chosen: u64, in_force: u64) {
        let noted = if chosen > in_force { chosen } else { 0 };
        if self.chosen.swap(noted, Ordering::Relaxed) != noted {
            self.is_due.store(noted != 0, Ordering::Release);
        }
    }

    /// What was chosen in bytes, if that is to be reported.
    pub fn take(&self) -> Option<u64> {
        let is_due = self.is_due.load(Ordering::Relaxed) && self.is_due.swap(false, Ordering::Acquire);
        is_due.then(|| self.chosen.load(Ordering::Relaxed))
    }
}

/// Limits in force. See [`Patience`], [`ClientLimits`] and [`SearchLimits`] for what each means.
#[derive(Debug, Default)]
pub struct Limits {
    /// Seconds.
    pub idle_timeout_s: Number,
    /// Seconds.
    pub unbound_idle_timeout_s: Number,
    /// Seconds.
    pub first_request_s: Number,
    /// Seconds.
    pub message_timeout_s: Number,
    /// Seconds.
    pub handshake_timeout_s: Number,
    /// Seconds.
    pub write_timeout_s: Number,
    /// Seconds.
    pub shutdown_timeout_s: Number,
    /// Connections.
    pub connections_max: Number,
    /// Bytes of one message.
    pub(crate) unbound_message_bytes_max: Number,
    /// Entries of one part of a tree delete.
    pub(crate) tree_delete_max: Number,
    /// Bytes of the keys of one search.
    pub(crate) sort_bytes_max: Number,
    /// Bytes of old versions.
    pub(crate) held_bytes_max: Number,
    /// Seconds for which they are held.
    pub(crate) held_seconds_max: Number,
}

impl Limits {
    /// In force as they were chosen, in a directory that may occupy so many bytes.
    pub(crate) fn new(choices: &Choices, memory_bytes_max: u64) -> Limits {
        let limits = Limits::default();
        limits.put(choices, memory_bytes_max);
        limits
    }

    /// Puts others in force.
    pub(crate) fn put(&self, choices: &Choices, memory_bytes_max: u64) {
        let Choices { patience, clients, search } = choices;
        self.idle_timeout_s.put(patience.idle_timeout_s);
        self.unbound_idle_timeout_s.put(patience.unbound_idle_timeout_s);
        self.first_request_s.put(patience.first_request_s);
        self.message_timeout_s.put(patience.message_timeout_s);
        self.handshake_timeout_s.put(patience.handshake_timeout_s);
        self.write_timeout_s.put(patience.write_timeout_s);
        self.shutdown_timeout_s.put(patience.shutdown_timeout_s);
        self.connections_max.put(patience.connections_max);
        self.unbound_message_bytes_max.put(clients.unbound_message_bytes_max as u64);
        self.tree_delete_max.put(clients.tree_delete_max);
        self.sort_bytes_max.put(clients.sort_bytes_max as u64);
        self.held_bytes_max.put(held_bytes(search.held_bytes_max, memory_bytes_max));
        self.held_seconds_max.put(search.held_seconds_max.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_not_reserved_is_reported_once() {
        let memory = MemoryNotReserved::default();
        memory.note(7, 7);
        assert_eq!(memory.take(), None);
        // Each change of any setting notes it again.
        memory.note(9, 7);
        memory.note(9, 7);
        assert_eq!((memory.take(), memory.take()), (Some(9), None));
        memory.note(9, 7);
        assert_eq!(memory.take(), None);
        memory.note(7, 7);
        memory.note(9, 7);
        assert_eq!(memory.take(), Some(9));
    }

    #[test]
    fn what_nobody_has_chosen_is_a_share_of_the_memory_of_the_directory() {
        let mut choices = Choices::default();
        let limits = Limits::new(&choices, 8 << 30);
        assert_eq!(limits.held_bytes_max.get(), 2 << 30);
        choices.search.held_bytes_max = Some(5);
        limits.put(&choices, 8 << 30);
        assert_eq!(limits.held_bytes_max.get(), 5);
        assert_eq!((client_memory(None, 1 << 20), client_memory(Some(7), 1 << 20)), (64 << 20, 64 << 10));
        assert_eq!((client_memory(None, 1 << 40), client_memory(Some(7 << 20), 1 << 40)), (4 << 30, 7 << 20));
    }
}
