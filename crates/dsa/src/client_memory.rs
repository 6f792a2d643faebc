//! The memory that the server keeps for its clients beyond the directory: input that is not a whole message yet or waits
//! for its turn, answers that were not taken, filters of suspended searches, open transactions. It has one bound for all
//! clients, and a small share of it is for those that have not bound.
//!
//! Everybody who keeps something for a client counts it by a [`Kept`], which gives it back when it is dropped: a connection that dies gives back all
//! of it. What the system keeps in socket buffers is not in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is less than this is kept for any client and not counted.
pub const UNCOUNTED_BYTES: usize = 4 << 10;
/// Part of the bound that clients have together that have not bound.
/// Strangers together cannot take the room that users need.
const UNBOUND_SHARE: u64 = 8;

/// Counts the bytes that are kept for clients.
#[derive(Debug)]
pub struct ClientMemory {
    bytes_max: AtomicU64,
    bytes: AtomicU64,
    /// Those of clients that have not bound.
    unbound: AtomicU64,
}

impl ClientMemory {
    /// Nothing is kept yet.
    pub fn new(bytes_max: u64) -> Arc<ClientMemory> {
        let (bytes, unbound) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(ClientMemory { bytes_max: AtomicU64::new(bytes_max), bytes, unbound })
    }

    /// Bytes that may be kept for clients.
    #[inline]
    pub(crate) fn bytes_max(&self) -> u64 {
        self.bytes_max.load(Ordering::Relaxed)
    }

    /// Sets another bound. What is kept beyond a lower one stays until its clients give it back.
    pub(crate) fn put(&self, bytes_max: u64) {
        self.bytes_max.store(bytes_max, Ordering::Relaxed);
    }

    /// Bytes that are kept for clients.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether as much is kept as may be, of all clients or of those that have not bound.
    /// Three loads at most, before each read from a socket.
    #[inline]
    pub fn is_used_up(&self, is_bound: bool) -> bool {
        let bytes_max = self.bytes_max();
        self.bytes() >= bytes_max
            || (!is_bound && self.unbound.load(Ordering::Relaxed) >= bytes_max / UNBOUND_SHARE)
    }
}

/// What is kept for one client. It is given back when this is dropped.
#[derive(Debug)]
pub struct Kept {
    memory: Arc<ClientMemory>,
    bytes: u64,
    is_bound: bool,
}

impl Kept {
    /// Nothing yet.
    pub fn new(memory: &Arc<ClientMemory>) -> Kept {
        Kept { memory: Arc::clone(memory), bytes: 0, is_bound: false }
    }

    /// The bytes that are counted.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// See [`ClientMemory::is_used_up`].
    #[inline]
    pub fn is_used_up(&self, is_bound: bool) -> bool {
        self.memory.is_used_up(is_bound)
    }

    /// So many bytes are kept now, whatever the bound says.
    /// For what is there already: it must be counted, also if it is too much. [`Kept::try_set`] asks first.
    pub fn set(&mut self, bytes: usize, is_bound: bool) {
        let bytes = if bytes < UNCOUNTED_BYTES { 0 } else { bytes as u64 };
        if (self.bytes, self.is_bound) == (bytes, is_bound) {
            return;
        }
        // What is less than zero goes round.
        let all = self.memory.bytes.fetch_add(bytes.wrapping_sub(self.bytes), Ordering::Relaxed);
        assert!(all >= self.bytes, "what is counted for a client is part of what is counted for all");
        let (before, now) = (if self.is_bound { 0 } else { self.bytes }, if is_bound { 0 } else { bytes });
        if before != now {
            let unbound = self.memory.unbound.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
            assert!(
                unbound >= before,
                "what is counted for an unbound client is part of what is counted for all of them"
            );
        }
        (self.bytes, self.is_bound) = (bytes, is_bound);
    }

    /// So many bytes will be kept, if there is room for them. One client alone may have as much as the bound, so that the
    /// longest message has room.
    /// Two clients may find room at the same moment, so the bound may be passed by what some threads take at once.
    pub fn try_set(&mut self, bytes: usize, is_bound: bool) -> bool {
        let before = (self.bytes, self.is_bound);
        self.set(0, before.1);
        let more = bytes as u64;
        let has_room = |used: u64, max: u64| used == 0 || used.saturating_add(more) <= max;
        let memory = &self.memory;
        let bytes_max = memory.bytes_max();
        let is_free = has_room(memory.bytes(), bytes_max)
            && (is_bound || has_room(memory.unbound.load(Ordering::Relaxed), bytes_max / UNBOUND_SHARE));
        match is_free || bytes < UNCOUNTED_BYTES {
            true => self.set(bytes, is_bound),
            false => self.set(before.0 as usize, before.1),
        }
        is_free || bytes < UNCOUNTED_BYTES
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.set(0, self.is_bound);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1 << 10;

    #[test]
    fn clients_that_have_not_bound_have_a_share() {
        let memory = ClientMemory::new(800 << 10);
        let (mut first, mut second, mut user) = (Kept::new(&memory), Kept::new(&memory), Kept::new(&memory));
        assert!(first.try_set(60 * KIB, false));
        assert!(!second.try_set(60 * KIB, false), "a hundred are their share");
        assert!(second.try_set(KIB, false), "little is kept for any client");
        second.set(60 * KIB, false);
        assert!(memory.is_used_up(false) && !memory.is_used_up(true));
        assert!(user.try_set(600 * KIB, true));
        assert!(!user.try_set(700 * KIB, true));
        assert_eq!((user.bytes(), memory.bytes()), (600 << 10, 720 << 10));
        // A client that binds does so with all that it has.
        first.set(60 * KIB, true);
        assert!(!memory.is_used_up(false));
        drop((first, second, user));
        assert_eq!((memory.bytes(), memory.unbound.load(Ordering::Relaxed)), (0, 0));
    }

    #[test]
    fn one_client_may_have_all() {
        let memory = ClientMemory::new(64 << 10);
        let (mut one, mut other) = (Kept::new(&memory), Kept::new(&memory));
        assert!(one.try_set(16 << 20, true));
        assert!(!other.try_set(8 * KIB, true));
        memory.put(32 << 20);
        assert!(other.try_set(8 * KIB, true));
        memory.put(64 << 10);
        assert!(memory.is_used_up(true) && !other.try_set(9 * KIB, true));
        drop(one);
        assert!(other.try_set(8 * KIB, true));
    }
}
