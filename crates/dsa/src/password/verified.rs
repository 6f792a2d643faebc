//! Passwords that were right not long ago, so that a client that binds again and again does not cost the time of a slow scheme each time.
//!
//! What is remembered is a tag of the entry, the stored value and the password, by a key that this process draws and keeps in memory. A changed
//! value, another password, and an entry that has come in the place of another have other tags, so nothing must be forgotten at a change. Only
//! that the password is right is remembered: whether the account may bind is judged each time.

use super::values::first;
use crate::own_entry::OwnEntry;
use ::password::{Stored, TAG_BYTES, TAG_KEY_BYTES, tag};
use model::limits::VERIFIED_MAX;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use store::{EntryRef, ReadPoint};

type Tag = [u8; TAG_BYTES];

/// What is remembered, by all threads. Nothing, unless it is switched on.
#[derive(Default)]
pub(crate) struct Verified {
    seconds: AtomicU64,
    key: OnceLock<[u8; TAG_KEY_BYTES]>,
    tags: Mutex<Tags>,
}

/// Tags, and until when each counts, in nanoseconds of the clock of the threads.
#[derive(Default)]
struct Tags {
    until_ns: BTreeMap<Tag, u64>,
    /// In the order in which they came. One that came again is there twice, and goes with the first.
    order: VecDeque<Tag>,
}

impl Tags {
    fn has(&self, tag: &Tag, now_ns: u64) -> bool {
        self.until_ns.get(tag).is_some_and(|until_ns| now_ns < *until_ns)
    }

    /// The oldest one makes room.
    fn put(&mut self, tag: Tag, until_ns: u64) {
        if self.order.len() >= VERIFIED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.until_ns.remove(&oldest);
        }
        self.order.push_back(tag);
        self.until_ns.insert(tag, until_ns);
        assert!(self.until_ns.len() <= self.order.len(), "each tag is in the order");
    }
}

impl Verified {
    /// For how many seconds passwords are remembered from now on; 0: not at all, and what was is forgotten.
    pub(crate) fn set(&self, seconds: u64) {
        self.seconds.store(seconds, Ordering::Relaxed);
        if seconds == 0 {
            *self.lock() = Tags::default();
        }
    }

    /// Is anything remembered? Mostly not, and a bind finds that out at the price of a load.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.seconds.load(Ordering::Relaxed) != 0
    }

    /// The slow value of an entry that was verified with this password, if that is remembered.
    pub(crate) fn find(
        &self,
        read_point: ReadPoint<'_>,
        entry: &EntryRef<'_>,
        password: &[u8],
        now_ns: u64,
    ) -> Option<Vec<u8>> {
        let key = self.key.get()?;
        let own = OwnEntry::of(entry).octets();
        first(read_point, entry, |value| {
            is_slow(value) && {
                let tag = tag(key, &[&own, value, password]);
                self.lock().has(&tag, now_ns)
            }
        })
    }

    /// Remembers that a password was right for a value of an entry. Fast ones cost less than this does. `draw`: fills the key, when there is none yet.
    pub(crate) fn remember(
        &self,
        entry: &EntryRef<'_>,
        (value, password): (&[u8], &[u8]),
        now_ns: u64,
        draw: impl FnOnce(&mut [u8]),
    ) {
        let lasts_ns = self.seconds.load(Ordering::Relaxed) * 1_000_000_000;
        if lasts_ns == 0 || !is_slow(value) {
            return;
        }
        let key = self.key.get_or_init(|| {
            let mut key = [0; TAG_KEY_BYTES];
            draw(&mut key);
            key
        });
        let tag = tag(key, &[&OwnEntry::of(entry).octets(), value, password]);
        self.lock().put(tag, now_ns.saturating_add(lasts_ns));
    }

    fn lock(&self) -> MutexGuard<'_, Tags> {
        // Whatever a panic has interrupted, a tag that is there was of a right password.
        self.tags.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Is it stored in a form that takes long to verify? Of a fast one nothing is remembered.
fn is_slow(value: &[u8]) -> bool {
    Stored::read(value).is_ok_and(|stored| !stored.is_fast())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_have_an_end_and_a_number() {
        let (mut tags, of) = (Tags::default(), |number: u32| {
            let mut tag = Tag::default();
            tag[..4].copy_from_slice(&number.to_be_bytes());
            tag
        });
        tags.put(of(0), 100);
        assert!(tags.has(&of(0), 99) && !tags.has(&of(0), 100) && !tags.has(&of(1), 0));
        tags.put(of(0), 200);
        assert!(tags.has(&of(0), 199));
        (1..VERIFIED_MAX as u32).for_each(|number| tags.put(of(number), 100));
        assert!(!tags.has(&of(0), 0), "it was the oldest");
        assert!(tags.has(&of(1), 0) && tags.order.len() == VERIFIED_MAX);
        (0..2 * VERIFIED_MAX as u32).for_each(|_| tags.put(of(7), 100));
        assert_eq!((tags.order.len(), tags.until_ns.len()), (VERIFIED_MAX, 1));
    }
}
