//! Dynamic entries (RFC 2589): which they are, and when the time of each is over. To delete them is not done here: that is a delete like any other, which
//! the log has.
//!
//! An entry is dynamic if it has the class dynamicObject, from its add on. It has a default time from then, until a refresh stores when it is over.

use crate::lifetimes::{EXPIRES, is_dynamic};
use crate::record::EntryRef;
use crate::refused::Refused;
use crate::shard::{ReadPoint, Shard, Writer};
use model::{Description, Entry, EntryId, read_generalized_time};
use schema::Checked;
use std::sync::atomic::Ordering;

impl Shard {
    /// Says what time it is, for entryTtl. It never goes back.
    pub fn note_time(&self, now_ms: u64) {
        self.kinds.lifetimes.now_ms.fetch_max(now_ms, Ordering::Relaxed);
    }

    /// Says whether dynamic entries are kept as others are, and nothing is asked of their places and classes.
    pub fn keep_dynamic(&self, are_kept: bool) {
        self.kinds.lifetimes.are_kept.store(are_kept, Ordering::Relaxed);
    }

    /// See [`Shard::keep_dynamic`].
    pub(crate) fn keeps_dynamic(&self) -> bool {
        self.kinds.lifetimes.are_kept.load(Ordering::Relaxed)
    }

    /// Says how long entries are kept that are never refreshed.
    pub fn set_default_ttl(&self, seconds: u64) {
        self.kinds.lifetimes.default_s.store(seconds, Ordering::Relaxed);
    }

    /// Are there dynamic entries that are not kept, or were there lately?
    #[inline]
    pub fn has_dynamic(&self) -> bool {
        self.kinds.dynamic.len() > 0 && !self.keeps_dynamic()
    }
}

impl ReadPoint<'_> {
    /// Dynamic entries whose ids are at least `from`, `max` at most, by rising id. Fewer means that there are no more.
    pub fn dynamic(self, from: u32, max: usize, ids: &mut Vec<u32>) {
        self.shard.kinds.dynamic.push_from(from, max, self, ids);
    }

    /// When the time of an entry is over, in milliseconds since 1970, and whether a refresh has said so. `None` of one that is not dynamic.
    pub fn expires_ms(self, entry: &EntryRef<'_>) -> Option<(u64, bool)> {
        if !entry.shape.is_dynamic {
            return None;
        }
        let stored = self.shard.schema.find_type(EXPIRES).and_then(|expires| {
            let at = entry.shape.position(Description::plain(expires))?;
            let mut ms = None;
            self.each_value(entry.slot(at), |value| ms = read_generalized_time(value));
            ms
        });
        let default_ms = self.shard.kinds.lifetimes.default_s.load(Ordering::Relaxed).saturating_mul(1000);
        let by_default = entry.stamps().created.unix_ms().saturating_add(default_ms);
        Some(stored.map_or((by_default, false), |ms| (ms, true)))
    }

    /// Seconds that an entry is still kept; 0 if it may be deleted. `None` of one that is not dynamic.
    pub(crate) fn entry_ttl(self, entry: &EntryRef<'_>) -> Option<u64> {
        let (expires_ms, _) = self.expires_ms(entry)?;
        // Where nobody says what time it is, it is at least that of the last change.
        let now_ms =
            self.shard.kinds.lifetimes.now_ms.load(Ordering::Relaxed).max(self.shard.last_csn().unix_ms());
        Some(expires_ms.saturating_sub(now_ms) / 1000)
    }
}

impl Writer<'_> {
    /// May an entry be below this superior? A static one not below a dynamic one. Looked up only if there is any dynamic entry.
    pub(crate) fn refuse_below_dynamic(&self, superior: u32, is_dynamic: bool) -> Result<(), Refused> {
        let is_below = || self.view().entry(EntryId(superior)).is_some_and(|entry| entry.shape.is_dynamic);
        match !is_dynamic && self.shard.has_dynamic() && is_below() {
            true => Err(Refused::BelowDynamic),
            false => Ok(()),
        }
    }

    /// As [`Writer::refuse_below_dynamic`], of an entry that is to be added.
    pub(crate) fn refuse_static_below(&self, superior: u32, entry: &Entry<Checked>) -> Result<(), Refused> {
        match self.shard.has_dynamic() {
            true => self.refuse_below_dynamic(superior, is_dynamic(&self.shard.schema, entry)),
            false => Ok(()),
        }
    }

    /// A dynamic entry is about to be seen.
    pub(crate) fn note_dynamic(&mut self, id: u32) {
        let (shard, view) = (self.shard, self.view());
        shard.kinds.dynamic.insert(id, view, &mut self.state.garbage);
    }

    /// Forgets that an entry was dynamic, unless a version that a reader may see is, or another entry that has its id.
    pub(crate) fn forget_dynamic(&mut self, id: u32, oldest: u64) {
        let (shard, view) = (self.shard, self.view());
        if !self.any_version(id, oldest, |_, entry| entry.shape.is_dynamic) {
            shard.kinds.dynamic.remove(id, view, &mut self.state.garbage);
        }
    }
}
