//! From a DN to the entry that has it, and back.
//!
//! An RDN's key is what the DN hash is made from: `u8 number of AVAs | (u16 type | u32 length | normalised value)*`,
//! AVAs in ascending order, numbers big-endian. The root of a naming context has the keys of its whole DN, one
//! behind the other, and superior 0.
//!
//! The DN hash finds an entry by superior and RDN, so a DN takes one lookup if its superior is known, and one for each RDN
//! if it is not. A [`DnCache`] knows superiors: requests mostly name entries below a few of them. What the hash returns is
//! a candidate: its record at this read point is compared with the key, since the hash is one for all read points and
//! may lead to entries that have the name no longer, not yet, or never had.
//!
//! There are three ways to a [`Target`], each of which takes what the one before does not: the same superior and type as
//! last time and a short plain value; a superior that is remembered; and from the naming context down. They make the same
//! target, but for the likely entry and the raw value, which only save work. None of them takes a lock.

mod key;

use self::key::{avas_key, key_type, key_value, push_avas};
pub(crate) use self::key::{dn_key, known_type, push_rdn, rdn_key, short_key};
use crate::dn_cache::DnCache;
use crate::hash::{mix_word, tag};
use crate::record::EntryRef;
use crate::shard::{ReadPoint, Shard};
use model::{EntryId, dn};
use std::sync::atomic::Ordering;

/// Superiors whose texts are remembered with that of one further down.
const ENDS_REMEMBERED: usize = 8;

/// Why a DN leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unresolved {
    /// It is not a DN, or names an attribute type that the schema does not know.
    Invalid(String),
    /// The entry does not exist; its nearest existing superior, if there is one.
    NoSuchObject(Option<EntryId>),
}

/// Where an entry is to be found, or would be: its superior and the key of its RDN in the caller's buffer. Many targets of
/// a group share a buffer, so a target has offsets and no borrow. It holds at the read point that it was made at, and
/// longer as long as names do not change ([`ReadPoint::names_hold_since`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    pub(crate) parent: u32,
    /// The hash of superior and key: where the DN hash is searched.
    pub(crate) tag: u32,
    key_start: u32,
    key_end: u32,
    /// The RDN's value as it was sent; empty if the RDN is not a simple one.
    raw_start: u32,
    raw_end: u32,
    /// The entry that is likely to be there; 0 if that was not looked up.
    likely: u32,
}

impl Target {
    /// The superior; 0 for the root of a naming context.
    pub fn parent(&self) -> EntryId {
        EntryId(self.parent)
    }

    /// The entry that is likely to be there, if that was looked up and there is one.
    #[inline]
    pub fn likely(&self) -> Option<EntryId> {
        (self.likely != 0).then_some(EntryId(self.likely))
    }

    pub(crate) fn key<'k>(&self, keys: &'k [u8]) -> &'k [u8] {
        &keys[self.key_start as usize..self.key_end as usize]
    }

    /// The value as it was sent, if it stands in the DN as it is: without escapes, and of the only AVA.
    fn raw<'k>(&self, keys: &'k [u8]) -> &'k [u8] {
        &keys[self.raw_start as usize..self.raw_end as usize]
    }
}

/// A target that was worked out ahead, at a read point: it holds as long as nothing was renamed or deleted since.
#[derive(Clone, Copy, Debug)]
pub struct Known<'k> {
    /// The target.
    pub target: Target,
    /// The buffer that its key lies in.
    pub keys: &'k [u8],
    /// Commit sequence of the read point.
    pub sequence: u64,
}

/// The DN of an entry, in the pieces that it is put together from.
#[derive(Clone, Copy, Debug)]
pub struct DnParts<'a> {
    rdn_start: &'a [u8],
    value: &'a [u8],
    superior: &'a [u8],
}

impl DnParts<'_> {
    /// Bytes of the DN.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "no entry has an empty DN")]
    pub fn len(&self) -> usize {
        self.rdn_start.len() + self.value.len() + self.superior.len()
    }

    /// The DN, piece by piece.
    #[inline]
    pub fn pieces(&self) -> [&[u8]; 3] {
        [self.rdn_start, self.value, self.superior]
    }
}

impl<'a> ReadPoint<'a> {
    /// Works out where the entry with this DN is, as far as its superior; appends its RDN's key to `keys`.
    #[inline]
    pub fn target(self, dn: &[u8], cache: &mut DnCache, keys: &mut Vec<u8>) -> Result<Target, Unresolved> {
        match self.target_like_last(dn, cache, keys) {
            Some(target) => Ok(target),
            None => self.target_unlike_last(dn, cache, keys),
        }
    }

    /// As [`ReadPoint::target`], of a DN that [`ReadPoint::target_like_last`] knows nothing of.
    #[inline]
    pub fn target_unlike_last(
        self,
        dn: &[u8],
        cache: &mut DnCache,
        keys: &mut Vec<u8>,
    ) -> Result<Target, Unresolved> {
        let start = keys.len();
        let (first, rest) = dn::split_first(dn);
        // A superior is remembered by its bytes: the same DN in another spelling goes the long way and is remembered too.
        if let Some(parent) = rest.and_then(|rest| cache.superior(rest)) {
            cache.note_superior(rest.unwrap_or_default(), parent);
            let schema = &self.shard.schema;
            let raw = rdn_key(schema, first, keys, |name| cache.find_type(name, schema))
                .map_err(Unresolved::Invalid)?;
            // The raw value goes behind the key: an entry that spells its name in the same way need not be normalised.
            let mut target = self.shard.target(parent, keys, start);
            keys.extend_from_slice(raw);
            target.raw_end = keys.len() as u32;
            return Ok(target);
        }
        self.target_from_suffix(dn, rest, cache, keys)
    }

    /// As [`ReadPoint::target`], of a DN with the type and superior that were met last and a short value. `None`, and
    /// nothing, of any other.
    #[inline(always)]
    pub fn target_like_last(self, dn: &[u8], cache: &DnCache, keys: &mut Vec<u8>) -> Option<Target> {
        let (attribute_type, value, parent) = cache.like_last(dn)?;
        // A value that stands for itself in a DN is graphic ASCII.
        let form = self.shard.schema.graphic_form(attribute_type, value)?;
        let key = short_key(attribute_type, form);
        let tag = tag(mix_word(self.shard.dn_hash_key(parent), key));
        // One piece of fixed length: what lies between the key and the value does not count.
        let key_start = keys.len() as u32;
        let mut piece = [0; 64];
        piece[..32].copy_from_slice(&key.padded());
        piece[32..].copy_from_slice(&value.padded());
        keys.extend_from_slice(&piece);
        Some(Target {
            parent,
            tag,
            key_start,
            key_end: key_start + key.len as u32,
            raw_start: key_start + 32,
            raw_end: key_start + 32 + value.len as u32,
            likely: 0,
        })
    }

    /// As [`ReadPoint::target`], of a DN that was taken apart before: `rest` is its superior's DN, `key` the key of
    /// its RDN.
    #[inline]
    pub(crate) fn target_with_key(
        self,
        dn: &[u8],
        rest: Option<&[u8]>,
        key: &[u8],
        cache: &mut DnCache,
        keys: &mut Vec<u8>,
    ) -> Result<Target, Unresolved> {
        if let Some(parent) = rest.and_then(|rest| cache.superior(rest)) {
            let start = keys.len();
            keys.extend_from_slice(key);
            return Ok(self.shard.target(parent, keys, start));
        }
        self.target_from_suffix(dn, rest, cache, keys)
    }

    /// Asks for the cache line of the DN hash where such a DN would be, if its superior is remembered.
    #[inline]
    pub(crate) fn prefetch_key(self, rest: Option<&[u8]>, key: &[u8], cache: &DnCache) {
        if let Some(parent) = rest.and_then(|rest| cache.superior(rest)) {
            self.shard.dn_table.prefetch(self.shard.dn_tag(parent, key));
        }
    }

    /// The long way, from the naming context down. It remembers the superior, so the next DN below it takes the short one.
    #[cold]
    fn target_from_suffix(
        self,
        dn: &[u8],
        rest: Option<&[u8]>,
        cache: &mut DnCache,
        keys: &mut Vec<u8>,
    ) -> Result<Target, Unresolved> {
        let all = self.shard.rdn_keys(dn)?;
        let suffix = self.shard.suffixes.holding(&all).ok_or(Unresolved::NoSuchObject(None))?;
        assert!(suffix.rdns <= all.len(), "a naming context that holds a DN is no longer than it");
        let below = all.len() - suffix.rdns;
        let start = keys.len();
        if below == 0 {
            keys.extend_from_slice(&suffix.key);
            return Ok(self.shard.target(0, keys, start));
        }
        // From the top down, so that the entry which matched last is known: a result tells it as matchedDN (RFC 4511
        // section 4.1.9).
        let mut id = self.find(0, &suffix.key).ok_or(Unresolved::NoSuchObject(None))?;
        for key in all[1..below].iter().rev() {
            id = self.find(id.0, key).ok_or(Unresolved::NoSuchObject(Some(id)))?;
        }
        // Not if another naming context lies below it: its root would be looked for below this superior, and has none.
        if let Some(rest) = rest.filter(|_| !self.shard.suffixes.any_below(&all[1..])) {
            cache.remember(rest, id.0);
        }
        keys.extend_from_slice(&all[0]);
        Ok(self.shard.target(id.0, keys, start))
    }

    /// The entry with this key below a superior; 0 for the root of a naming context, whose key is that of its whole DN.
    pub(crate) fn find(self, parent: u32, key: &[u8]) -> Option<EntryId> {
        let tag = self.shard.dn_tag(parent, key);
        self.lookup_key(parent, tag, key, b"", &mut Vec::new()).map(|entry| entry.id)
    }

    /// The entry at a target, if it exists.
    #[inline]
    pub fn lookup(self, target: &Target, keys: &[u8], cache: &mut DnCache) -> Option<EntryId> {
        self.lookup_entry(target, keys, cache).map(|entry| entry.id)
    }

    /// As [`ReadPoint::lookup`], with the entry itself.
    #[inline]
    pub fn lookup_entry(self, target: &Target, keys: &[u8], cache: &mut DnCache) -> Option<EntryRef<'a>> {
        self.lookup_key(target.parent, target.tag, target.key(keys), target.raw(keys), &mut cache.value)
    }

    /// As [`ReadPoint::lookup_entry`], if the entry is where it was likely to be and is named by one value, spelled as
    /// in the request; with this value, which stands in a DN as it is. `None` says nothing.
    #[inline(always)]
    pub fn lookup_likely(self, target: &Target, keys: &[u8]) -> Option<(EntryRef<'a>, &'a [u8])> {
        let raw = target.raw(keys);
        // The likely entry comes from the hash alone. Superior, type and value as they were sent are compared here, so what
        // is left out is the normalisation, and only where it could not change the outcome.
        if target.likely == 0 || raw.is_empty() {
            return None;
        }
        let entry = self.entry(EntryId(target.likely)).filter(|entry| entry.parent().0 == target.parent)?;
        let value = entry.spelled_name(key_type(target.key(keys)), raw)?;
        Some((entry, value))
    }

    /// The entry below `parent` that has this key, among those that the DN hash has under `tag`. `raw` is the value as it
    /// was sent, if there is one: an entry that spells it in the same way need not be normalised.
    #[inline]
    pub(crate) fn lookup_key(
        self,
        parent: u32,
        tag: u32,
        key: &[u8],
        raw: &[u8],
        scratch: &mut Vec<u8>,
    ) -> Option<EntryRef<'a>> {
        let mut found = None;
        // Another entry may have the same tag, and an id may have become another entry's since: the record decides.
        self.shard.dn_table.find(tag, |id| {
            found = self
                .entry(EntryId(id))
                .filter(|entry| entry.parent().0 == parent && self.has_key(entry, key, raw, scratch));
            found.is_some()
        });
        found
    }

    /// The entry with this DN. It is remembered: bases of searches come again and again.
    #[inline]
    pub fn resolve(self, dn: &[u8], cache: &mut DnCache) -> Result<EntryId, Unresolved> {
        match cache.last_base(dn) {
            Some(id) => Ok(EntryId(id)),
            None => self.resolve_other(dn, cache),
        }
    }

    /// As [`ReadPoint::resolve`], of another base than the last.
    fn resolve_other(self, dn: &[u8], cache: &mut DnCache) -> Result<EntryId, Unresolved> {
        let id = match cache.superior(dn) {
            Some(id) => id,
            None => {
                let mut keys = Vec::new();
                let target = self.target(dn, cache, &mut keys)?;
                let id = self
                    .lookup(&target, &keys, cache)
                    .ok_or_else(|| Unresolved::NoSuchObject(self.matched(&target)))?;
                cache.remember(dn, id.0);
                id.0
            }
        };
        cache.note_base(dn, id);
        Ok(EntryId(id))
    }

    /// Is this the entry at a target?
    #[inline]
    pub(crate) fn is_at(
        self,
        entry: &EntryRef<'_>,
        target: &Target,
        keys: &[u8],
        cache: &mut DnCache,
    ) -> bool {
        entry.parent().0 == target.parent
            && self.has_key(entry, target.key(keys), target.raw(keys), &mut cache.value)
    }

    /// Is what was worked out at an earlier read point still true, as far as DNs go? Renames and deletes count, adds do not:
    /// a target that had no entry may have got one, which its lookup finds.
    #[inline]
    pub fn names_hold_since(self, sequence: u64) -> bool {
        self.shard.names_changed.load(Ordering::Acquire) <= sequence
    }

    /// Has no entry been added since an earlier read point? With [`ReadPoint::names_hold_since`], a name that led nowhere then still does.
    #[inline]
    pub fn nothing_added_since(self, sequence: u64) -> bool {
        self.shard.names_added.load(Ordering::Acquire) <= sequence
    }

    /// The nearest existing superior of a target that does not exist: a target is only made below one that exists.
    pub fn matched(self, target: &Target) -> Option<EntryId> {
        (target.parent != 0).then_some(EntryId(target.parent))
    }

    /// Is this the key of an entry's RDN? Keys are compared and not DNs, so spelling and the order of AVAs do not matter.
    #[inline]
    fn has_key(self, entry: &EntryRef<'_>, key: &[u8], raw: &[u8], scratch: &mut Vec<u8>) -> bool {
        if entry.parent().0 != 0 && key[0] == 1 && entry.shape.naming.len() == 1 {
            // Values of the same spelling match.
            if !raw.is_empty() && entry.spelled_name(key_type(key), raw).is_some() {
                return true;
            }
            let Some((at, value)) = entry.only_name() else { return false };
            let attribute_type = entry.shape.slots[at].description.attribute_type;
            if attribute_type != key_type(key) {
                return false;
            }
            scratch.clear();
            return self.shard.schema.normalise_equality(attribute_type, value, scratch).is_ok()
                && scratch[..] == *key_value(key);
        }
        // Several AVAs, or the root of a naming context: seldom enough to make the whole key.
        let mut own = Vec::new();
        self.key_of(entry, &mut own);
        own == key
    }

    /// The key of a stored entry's RDN, of a naming context's root that of its whole DN.
    pub(crate) fn key_of(self, entry: &EntryRef<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        let avas =
            entry.naming().map(|(at, value)| (entry.shape.slots[at].description.attribute_type, value));
        push_avas(&self.shard.schema, avas, out)
            .expect("the RDN of a stored entry was normalised when it was stored");
        // The record of a root has its RDN only. Which naming context it is the root of is known by its place in the DN
        // hash, since two contexts may begin with the same RDN.
        if entry.parent().0 == 0 {
            let own = out.split_off(start);
            let suffix = self
                .shard
                .suffixes
                .iter()
                .find(|s| s.key.starts_with(&own) && self.root_of(s) == Some(entry.id));
            match suffix {
                Some(suffix) => out.extend_from_slice(&suffix.key),
                None => out.extend_from_slice(&own),
            }
        }
    }

    /// The entry that a naming context's root would be found as.
    fn root_of(self, suffix: &crate::suffix::Suffix) -> Option<EntryId> {
        let tag = self.shard.dn_tag(0, &suffix.key);
        // Only roots have superior 0, and the tag is that of the suffix: what is found is a root with an RDN like it.
        self.shard
            .dn_table
            .find(tag, |id| self.entry(EntryId(id)).is_some_and(|e| e.parent().0 == 0))
            .map(EntryId)
    }

    /// Appends the DN of an entry: types by their first name, values as they were sent when the entry was named.
    ///
    /// # Panics
    /// If the entry does not exist at this read point.
    #[inline]
    pub fn write_dn(self, entry: &EntryRef<'_>, cache: &mut DnCache, out: &mut Vec<u8>) {
        let parent = entry.parent().0;
        if parent == 0 {
            return self.write_root_dn(entry, out);
        }
        self.write_rdn(entry, out);
        out.extend_from_slice(self.superior_text(parent, cache));
    }

    /// The DN of an entry, as [`ReadPoint::write_dn`] writes it.
    pub fn dn(self, entry: &EntryRef<'_>, cache: &mut DnCache) -> Vec<u8> {
        let mut dn = Vec::new();
        self.write_dn(entry, cache, &mut dn);
        dn
    }

    /// The DN of an entry in its canonical spelling as it lies in memory, if its RDN is one AVA that needs no escapes.
    #[inline]
    pub fn dn_parts<'c>(self, entry: &EntryRef<'a>, cache: &'c mut DnCache) -> Option<DnParts<'c>>
    where
        'a: 'c,
    {
        let (_, value) = entry.only_name()?;
        if dn::is_plain_value(value) { self.dn_with(entry, value, cache) } else { None }
    }

    /// The DN of an entry that is named by this one value, which needs no escapes. `None` of the root of a naming context: of what is above it
    /// there is no entry.
    #[inline(always)]
    pub fn dn_with<'c>(
        self,
        entry: &EntryRef<'a>,
        value: &'a [u8],
        cache: &'c mut DnCache,
    ) -> Option<DnParts<'c>>
    where
        'a: 'c,
    {
        let superior = entry.parent().0;
        if superior == 0 {
            return None;
        }
        let superior = self.superior_text(superior, cache);
        Some(DnParts { rdn_start: &entry.shape.rdn_start, value, superior })
    }

    /// A comma and the DN of a superior.
    #[inline(always)]
    fn superior_text(self, superior: u32, cache: &mut DnCache) -> &[u8] {
        if !cache.has_text(superior) {
            self.remember_text(superior, cache);
        }
        cache.text(superior)
    }

    /// Makes the text of a superior's DN, from below, up to the first superior above it whose text is remembered or to the
    /// root. A loop and no recursion: moves can make a tree deeper than any DN that a client can send, so deep that a
    /// recursion would overflow the stack. The texts of the superiors are ends of that one; the nearest to the root are remembered, too, for they are
    /// above most entries.
    #[cold]
    fn remember_text(self, superior: u32, cache: &mut DnCache) {
        let (mut text, mut above, mut ends) = (Vec::new(), superior, Vec::new());
        while above != 0 {
            if cache.has_text(above) {
                text.extend_from_slice(cache.text(above));
                break;
            }
            let entry = self.entry(EntryId(above)).expect("a superior exists as long as its subordinates");
            ends.push((above, text.len()));
            text.push(b',');
            above = entry.parent().0;
            match above {
                0 => self.write_root_dn(&entry, &mut text),
                _ => self.write_rdn(&entry, &mut text),
            }
        }
        // The superior itself last: another one may have its place in the cache.
        for &(id, end) in ends[1..].iter().rev().take(ENDS_REMEMBERED) {
            cache.remember_text(id, text[end..].to_vec());
        }
        cache.remember_text(superior, text);
    }

    /// The DN of the root of a naming context: its RDN as it was sent, and the rest as the settings spell it.
    fn write_root_dn(self, entry: &EntryRef<'_>, out: &mut Vec<u8>) {
        self.write_rdn(entry, out);
        let mut key = Vec::new();
        self.key_of(entry, &mut key);
        if let Some(rest) =
            self.shard.suffixes.with_key(&key).and_then(|suffix| dn::split_first(&suffix.text).1)
        {
            out.push(b',');
            out.extend_from_slice(rest.trim_ascii_start());
        }
    }

    /// Appends the RDN of an entry.
    #[inline]
    pub fn write_rdn(self, entry: &EntryRef<'_>, out: &mut Vec<u8>) {
        // The common case by its template; types of several AVAs are looked up one by one.
        if let Some((_, value)) = entry.only_name() {
            out.extend_from_slice(&entry.shape.rdn_start);
            return dn::escape_value(value, out);
        }
        for (count, (at, value)) in entry.naming().enumerate() {
            if count > 0 {
                out.push(b'+');
            }
            let attribute_type = entry.shape.slots[at].description.attribute_type;
            out.extend_from_slice(self.shard.schema.attribute_type(attribute_type).name().as_bytes());
            out.push(b'=');
            dn::escape_value(value, out);
        }
    }

    /// Is the entry `above` or below it? The way up ends: no command can make a circle, and a restore refuses one.
    pub fn is_within(self, mut id: EntryId, above: EntryId) -> bool {
        while id != above {
            match self.entry(id) {
                Some(entry) if entry.parent().0 != 0 => id = entry.parent(),
                _ => return false,
            }
        }
        true
    }

    /// Asks for the cache line where a lookup of the target will begin.
    #[inline]
    pub fn prefetch_tag(self, target: &Target) {
        self.shard.dn_table.prefetch(target.tag);
    }

    /// Finds the likely entry at the target, which remembers it.
    #[inline(always)]
    pub fn find_likely(self, target: &mut Target) {
        target.likely = self.shard.dn_table.peek(target.tag, |_| true);
    }

    /// Prefetches the slot of an entry.
    #[inline]
    pub fn prefetch_slot(self, id: EntryId) {
        self.shard.heap.prefetch_slot(id.0);
    }

    /// Prefetches the record of an entry.
    #[inline]
    pub fn prefetch_entry(self, id: EntryId) {
        self.shard.heap.prefetch_object(id.0);
    }
}

impl Shard {
    /// Is this a DN in one of the naming contexts? What is malformed is in none, unless it ends with one as that was configured: then who resolves it
    /// meets the fault.
    #[inline]
    pub fn may_hold(&self, dn: &[u8]) -> bool {
        self.suffixes.end(dn) || self.holds(dn)
    }

    /// Is this a DN in one of the naming contexts?
    pub fn holds(&self, dn: &[u8]) -> bool {
        self.rdn_keys(dn).is_ok_and(|keys| self.suffixes.holding(&keys).is_some())
    }

    /// The keys of a DN's RDNs, leftmost first.
    pub(crate) fn rdn_keys(&self, dn: &[u8]) -> Result<Vec<Vec<u8>>, Unresolved> {
        let parsed = dn::parse(dn).map_err(|e| Unresolved::Invalid(e.to_string()))?;
        let key_of = |rdn| {
            let mut key = Vec::new();
            avas_key(&self.schema, rdn, &mut key).map_err(Unresolved::Invalid).map(|()| key)
        };
        parsed.iter().map(key_of).collect()
    }

    /// The target below a superior whose key is what lies in `keys` from `start` on, up to the end.
    #[inline]
    pub(crate) fn target(&self, parent: u32, keys: &[u8], start: usize) -> Target {
        let tag = self.dn_tag(parent, &keys[start..]);
        let key_end = keys.len() as u32;
        Target {
            parent,
            tag,
            key_start: start as u32,
            key_end,
            raw_start: key_end,
            raw_end: key_end,
            likely: 0,
        }
    }
}
