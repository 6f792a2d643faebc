//! What a thread remembers of DNs, so that nearly none is looked up twice.
//!
//! Each thread has its own, so nothing here is shared and nothing is locked. A name once remembered is believed until
//! [`DnCache::refresh`] forgets all: that compares two sequences of the shard with the read point's, once for each read point, and
//! so needs no note of which names a change touched. Renames and deletes are rare beside searches.
//!
//! DNs are compared byte by byte, as they were sent. One spelled in another way is looked up, and remembered beside the first.

use crate::shard::{ReadPoint, Shard};
use model::short::{self, Word};
use model::{TypeId, dn};
use schema::Schema;
use std::sync::atomic::Ordering;

/// Remembered superiors and texts: direct-mapped, so bounded.
const CACHE_SLOTS: usize = 256;
/// Longer DNs are not remembered.
const CACHE_DN_BYTES_MAX: usize = 512;

/// What one thread remembers of DNs. Any rename or delete makes it forget.
///
/// Id 0 is no entry's: it marks a place without a name. The places are made when there is something to remember: many a cache is made for one
/// question, or for a batch that asks none.
#[derive(Default)]
pub struct DnCache {
    /// Sequence of the read point that it was refreshed for last. All that is remembered is true there.
    valid_from: u64,
    /// By the hash of the DN as it was sent: that DN and its entry.
    superiors: Vec<(Vec<u8>, u32)>,
    /// By id: the entry and what DNs of its subordinates end with.
    texts: Vec<(u32, Vec<u8>)>,
    /// A buffer for normal forms.
    pub(crate) value: Vec<u8>,
    /// The attribute type of the last RDN: most are named by the same one.
    last_type: (Vec<u8>, Option<TypeId>),
    /// The superior met last, and its id: many have the same one.
    last_superior: (Vec<u8>, u32),
    /// The base resolved last, and its id: searches that follow each other have the same one.
    last_base: (Vec<u8>, u32),
}

/// Can an entry that was there at `known` not have been added yet at `sequence`?
#[inline]
fn is_too_new(shard: &Shard, known: u64, sequence: u64) -> bool {
    sequence < known && shard.names_added.load(Ordering::Acquire) > sequence
}

impl DnCache {
    /// Forgets what may not be true at a read point. To be called whenever the read point is another one, be it
    /// newer or older.
    ///
    /// A name that is remembered may be wrong if it changed between the two read points, whichever is older; or, at an older
    /// one, if its entry was added in between. An add makes nothing wrong at a newer one: what does not exist is not remembered.
    #[inline]
    pub fn refresh(&mut self, read_point: ReadPoint<'_>) {
        let (shard, known, sequence) = (read_point.shard, self.valid_from, read_point.sequence);
        let changed = shard.names_changed.load(Ordering::Acquire);
        if known != sequence && (changed > known.min(sequence) || is_too_new(shard, known, sequence)) {
            self.forget();
        }
        self.valid_from = sequence;
    }

    /// As [`DnCache::refresh`], of the writer's own view, in whose role it is called before each look: a name that was changed in a batch may have been changed
    /// since the last look, which saw the same sequence.
    #[inline]
    pub fn refresh_own(&mut self, view: ReadPoint<'_>) {
        if view.shard.names_changed.load(Ordering::Acquire) >= self.valid_from {
            self.forget();
        }
        self.valid_from = view.sequence;
    }

    /// Forgets everything. To be called before the writer's own view is looked at: its changes have no sequence of their
    /// own that would tell.
    pub fn forget(&mut self) {
        self.superiors.iter_mut().for_each(|(_, id)| *id = 0);
        self.texts.iter_mut().for_each(|(id, _)| *id = 0);
        self.last_superior.1 = 0;
        self.last_base.1 = 0;
    }

    /// The place of a DN. The hash needs no key: one that falls onto another costs a lookup, on the thread of its sender.
    #[inline]
    fn slot(dn: &[u8]) -> usize {
        crate::hash::mix(0, dn) as usize % CACHE_SLOTS
    }

    /// The attribute type of this name. It stays true for as long as the cache, since a shard's schema does not change.
    #[inline]
    pub(crate) fn find_type(&mut self, name: &[u8], schema: &Schema) -> Option<TypeId> {
        if self.last_type.0 == name {
            return self.last_type.1;
        }
        let found = schema.find_type(name)?;
        name.clone_into(&mut self.last_type.0);
        self.last_type.1 = Some(found);
        Some(found)
    }

    /// The entry with this DN, if that is remembered.
    #[inline]
    pub(crate) fn superior(&self, dn: &[u8]) -> Option<u32> {
        let (text, id) = self.superiors.get(DnCache::slot(dn))?;
        (*id != 0 && text == dn).then_some(*id)
    }

    /// Takes `type=value,superior` apart, if type and superior are those met last and the value is short and stands for itself.
    #[inline(always)]
    pub(crate) fn like_last(&self, dn: &[u8]) -> Option<(TypeId, Word, u32)> {
        let (superior, id) = &self.last_superior;
        let (name, attribute_type) = &self.last_type;
        // A value without anything special has no comma either: the RDN ends where it ends.
        let value_len = dn.len().checked_sub(name.len() + 1 + 1 + superior.len())?;
        let (start, rest) = dn.split_at(name.len());
        let (value, end) = rest[1..].split_at(value_len);
        let is_like = *id != 0
            && rest[0] == b'='
            && end[0] == b','
            && short::equal(&end[1..], superior)
            && short::equal(start, name)
            && dn::is_plain_value(value);
        attribute_type.filter(|_| is_like).and_then(|known| Some((known, Word::of(value)?, *id)))
    }

    /// Remembers the entry with this DN in place of another. A long DN is not remembered, so that the cache has a bound.
    pub(crate) fn remember(&mut self, dn: &[u8], id: u32) {
        assert!(id != 0, "a name that is remembered is an entry's");
        if dn.len() <= CACHE_DN_BYTES_MAX {
            let (text, slot_id) = place(&mut self.superiors, DnCache::slot(dn));
            dn.clone_into(text);
            *slot_id = id;
        }
    }

    /// The id of a base, if it is the one resolved last.
    #[inline(always)]
    pub(crate) fn last_base(&self, dn: &[u8]) -> Option<u32> {
        let (text, id) = &self.last_base;
        (*id != 0 && short::equal(text, dn)).then_some(*id)
    }

    /// A base was resolved.
    pub(crate) fn note_base(&mut self, dn: &[u8], id: u32) {
        assert!(id != 0, "a base that was resolved is an entry");
        if dn.len() <= CACHE_DN_BYTES_MAX {
            dn.clone_into(&mut self.last_base.0);
            self.last_base.1 = id;
        }
    }

    /// A superior was met. The same one keeps the spelling that it was met with first.
    #[inline]
    pub(crate) fn note_superior(&mut self, dn: &[u8], id: u32) {
        if self.last_superior.1 != id {
            dn.clone_into(&mut self.last_superior.0);
            self.last_superior.1 = id;
        }
    }

    /// Is the text of a superior remembered?
    #[inline]
    pub(crate) fn has_text(&self, superior: u32) -> bool {
        self.texts.get(superior as usize % CACHE_SLOTS).is_some_and(|(id, _)| *id == superior)
    }

    /// A comma and the DN of a superior whose text is remembered.
    #[inline(always)]
    pub(crate) fn text(&self, superior: u32) -> &[u8] {
        let (id, text) = &self.texts[superior as usize % CACHE_SLOTS];
        assert!(*id == superior, "the text of another entry would give a wrong DN");
        text
    }

    /// Remembers a comma and the DN of a superior.
    pub(crate) fn remember_text(&mut self, superior: u32, text: Vec<u8>) {
        assert!(superior != 0, "the root of a naming context is written without what is above it");
        *place(&mut self.texts, superior as usize % CACHE_SLOTS) = (superior, text);
    }
}

/// The place of what is remembered next. The first time all of them are made.
#[inline]
fn place<T: Clone + Default>(slots: &mut Vec<T>, at: usize) -> &mut T {
    if slots.is_empty() {
        slots.resize(CACHE_SLOTS, T::default());
    }
    &mut slots[at]
}
