//! From a DN to the entry that has it, and back.
//!
//! An RDN's key is what the DN hash is made from: `u8 number of AVAs | (u16 type | u32 length | normalised value)*`,
//! AVAs in ascending order, numbers big-endian. The root of a naming context has the keys of its whole DN, one
//! behind the other, and superior 0.

use crate::dn_cache::DnCache;
use crate::record::EntryRef;
use crate::shard::{ReadPoint, Shard};
use model::{EntryId, TypeId, dn};
use schema::Schema;
use std::fmt;
use std::sync::atomic::Ordering;

/// Why a DN leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unresolved {
    /// It is not a DN, or names an attribute type that the schema does not know.
    Invalid(String),
    /// The entry does not exist; its nearest existing superior, if there is one.
    NoSuchObject(Option<EntryId>),
}

/// Where an entry is to be found, or would be: its superior and the key of its RDN in the caller's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    pub(crate) parent: u32,
    pub(crate) tag: u32,
    key_start: u32,
    key_end: u32,
    /// End of the RDN's value as it was sent, behind the key; the same as `key_end` if the RDN is not a simple one.
    raw_end: u32,
}

impl Target {
    /// The superior; 0 for the root of a naming context.
    pub fn parent(&self) -> EntryId {
        EntryId(self.parent)
    }

    pub(crate) fn key<'k>(&self, keys: &'k [u8]) -> &'k [u8] {
        &keys[self.key_start as usize..self.key_end as usize]
    }

    fn raw<'k>(&self, keys: &'k [u8]) -> &'k [u8] {
        &keys[self.key_end as usize..self.raw_end as usize]
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

    /// Appends the DN.
    #[inline]
    pub fn append(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.rdn_start);
        out.extend_from_slice(self.value);
        out.extend_from_slice(self.superior);
    }
}

impl<'a> ReadPoint<'a> {
    /// Works out where the entry with this DN is, as far as its superior; appends its RDN's key to `keys`.
    #[inline]
    pub fn target(self, dn: &[u8], cache: &mut DnCache, keys: &mut Vec<u8>) -> Result<Target, Unresolved> {
        let start = keys.len();
        if let Some((attribute_type, value, parent)) = cache.like_last(dn)
            && simple_key(&self.shard.schema, attribute_type, value, keys)
        {
            let mut target = self.shard.target(parent, keys, start);
            keys.extend_from_slice(value);
            target.raw_end = keys.len() as u32;
            return Ok(target);
        }
        let (first, rest) = dn::split_first(dn);
        if let Some(parent) = rest.and_then(|rest| cache.superior(rest)) {
            cache.note_superior(rest.unwrap_or_default(), parent);
            let schema = &self.shard.schema;
            let raw = rdn_key(schema, first, keys, |name| cache.find_type(name, schema))
                .map_err(Unresolved::Invalid)?;
            let mut target = self.shard.target(parent, keys, start);
            keys.extend_from_slice(raw);
            target.raw_end = keys.len() as u32;
            return Ok(target);
        }
        self.target_from_suffix(dn, rest, cache, keys)
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

    #[cold]
    fn target_from_suffix(
        self,
        dn: &[u8],
        rest: Option<&[u8]>,
        cache: &mut DnCache,
        keys: &mut Vec<u8>,
    ) -> Result<Target, Unresolved> {
        let parsed = dn::parse(dn).map_err(|e| Unresolved::Invalid(e.to_string()))?;
        let mut rdns = Vec::with_capacity(parsed.len());
        for rdn in &parsed {
            let mut key = Vec::new();
            avas_key(&self.shard.schema, rdn, &mut key).map_err(Unresolved::Invalid)?;
            rdns.push(key);
        }
        let all: Vec<&[u8]> = rdns.iter().map(Vec::as_slice).collect();
        let suffix = self.shard.suffixes.holding(&all).ok_or(Unresolved::NoSuchObject(None))?;
        let below = all.len() - suffix.rdns;
        let start = keys.len();
        if below == 0 {
            keys.extend_from_slice(&suffix.key);
            return Ok(self.shard.target(0, keys, start));
        }
        let mut id = self.find(0, &suffix.key).ok_or(Unresolved::NoSuchObject(None))?;
        for key in all[1..below].iter().rev() {
            id = self.find(id.0, key).ok_or(Unresolved::NoSuchObject(Some(id)))?;
        }
        if let Some(rest) = rest.filter(|_| !self.shard.suffixes.any_below(&all[1..])) {
            cache.remember(rest, id.0);
        }
        keys.extend_from_slice(all[0]);
        Ok(self.shard.target(id.0, keys, start))
    }

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

    #[inline]
    fn lookup_key(
        self,
        parent: u32,
        tag: u32,
        key: &[u8],
        raw: &[u8],
        scratch: &mut Vec<u8>,
    ) -> Option<EntryRef<'a>> {
        let mut found = None;
        self.shard.dn_table.find(tag, |id| {
            found = self
                .entry(EntryId(id))
                .filter(|entry| entry.parent().0 == parent && self.has_key(entry, key, raw, scratch));
            found.is_some()
        });
        found
    }

    /// The entry with this DN. It is remembered: bases of searches come again and again.
    pub fn resolve(self, dn: &[u8], cache: &mut DnCache) -> Result<EntryId, Unresolved> {
        if let Some(id) = cache.last_superior(dn) {
            return Ok(EntryId(id));
        }
        if let Some(id) = cache.superior(dn) {
            return Ok(EntryId(id));
        }
        let mut keys = Vec::new();
        let target = self.target(dn, cache, &mut keys)?;
        let id = self
            .lookup(&target, &keys, cache)
            .ok_or_else(|| Unresolved::NoSuchObject(self.matched(&target)))?;
        cache.remember(dn, id.0);
        Ok(id)
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

    /// Is what was worked out at an earlier read point still true, as far as DNs go?
    #[inline]
    pub fn names_hold_since(self, sequence: u64) -> bool {
        self.shard.names_changed.load(Ordering::Acquire) <= sequence
    }

    /// The nearest existing superior of a target that does not exist.
    pub fn matched(self, target: &Target) -> Option<EntryId> {
        (target.parent != 0).then_some(EntryId(target.parent))
    }

    #[inline]
    fn has_key(self, entry: &EntryRef<'_>, key: &[u8], raw: &[u8], scratch: &mut Vec<u8>) -> bool {
        if entry.parent().0 != 0 && key[0] == 1 && entry.shape.naming.len() == 1 {
            let Some((at, value)) = entry.naming().next() else { return false };
            let attribute_type = entry.shape.slots[at].description.attribute_type;
            if attribute_type.0.to_be_bytes() != key[1..3] {
                return false;
            }
            // Values that are spelled alike match.
            if value == raw && !raw.is_empty() {
                return true;
            }
            scratch.clear();
            return self.shard.schema.normalise_equality(attribute_type, value, scratch).is_ok()
                && scratch[..] == key[7..];
        }
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

    fn root_of(self, suffix: &crate::suffix::Suffix) -> Option<EntryId> {
        let tag = self.shard.dn_tag(0, &suffix.key);
        // Only roots have superior 0, and the tag is that of the suffix: what is found is a root with an RDN like it.
        self.shard
            .dn_table
            .find(tag, |id| self.entry(EntryId(id)).is_some_and(|e| e.parent().0 == 0))
            .map(EntryId)
    }

    /// Appends the DN of an entry in its canonical spelling: types by their first name, values as stored.
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

    /// The DN of an entry in its canonical spelling as it lies in memory, if its RDN is one AVA that needs no escapes.
    #[inline]
    pub fn dn_parts<'c>(self, entry: &EntryRef<'a>, cache: &'c mut DnCache) -> Option<DnParts<'c>>
    where
        'a: 'c,
    {
        let parent = entry.parent().0;
        if parent == 0 || entry.shape.naming.len() != 1 {
            return None;
        }
        let (_, value) = entry.naming().next()?;
        dn::is_plain_value(value).then(|| DnParts {
            rdn_start: &entry.shape.rdn_start,
            value,
            superior: self.superior_text(parent, cache),
        })
    }

    /// A comma and the DN of a superior.
    #[inline]
    fn superior_text(self, superior: u32, cache: &mut DnCache) -> &[u8] {
        if !cache.has_text(superior) {
            self.remember_text(superior, cache);
        }
        cache.text(superior)
    }

    #[cold]
    fn remember_text(self, superior: u32, cache: &mut DnCache) {
        let entry = self.entry(EntryId(superior)).expect("a superior exists as long as its subordinates");
        let mut text = vec![b','];
        self.write_dn(&entry, cache, &mut text);
        cache.remember_text(superior, text);
    }

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
        if let (Some((_, value)), 1) = (entry.naming().next(), entry.shape.naming.len()) {
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

    /// Is the entry `above` or below it?
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

    /// Asks for the slot of the likely entry at the target. Returns its id for [`ReadPoint::prefetch_entry`].
    #[inline]
    pub fn prefetch_slot(self, target: &Target) -> Option<EntryId> {
        let id = self.shard.dn_table.find(target.tag, |_| true)?;
        self.shard.heap.prefetch_slot(id);
        Some(EntryId(id))
    }

    /// Asks for the record of an entry.
    #[inline]
    pub fn prefetch_entry(self, id: EntryId) {
        self.shard.heap.prefetch_object(id.0);
    }
}

impl Shard {
    /// Is this a DN in one of the naming contexts?
    pub fn holds(&self, dn: &[u8]) -> bool {
        let Ok(parsed) = dn::parse(dn) else { return false };
        let keys: Option<Vec<Vec<u8>>> = parsed
            .iter()
            .map(|rdn| {
                let mut key = Vec::new();
                avas_key(&self.schema, rdn, &mut key).ok().map(|()| key)
            })
            .collect();
        let keys = keys.unwrap_or_default();
        self.suffixes.holding(&keys.iter().map(Vec::as_slice).collect::<Vec<_>>()).is_some()
    }

    #[inline]
    pub(crate) fn target(&self, parent: u32, keys: &[u8], start: usize) -> Target {
        let tag = self.dn_tag(parent, &keys[start..]);
        let key_end = keys.len() as u32;
        Target { parent, tag, key_start: start as u32, key_end, raw_end: key_end }
    }
}

/// Appends the key of an RDN in its string form. Returns its value as sent, if nothing in it needed to be resolved.
#[inline]
pub(crate) fn rdn_key<'r>(
    schema: &Schema,
    rdn: &'r [u8],
    out: &mut Vec<u8>,
    find_type: impl FnOnce(&[u8]) -> Option<TypeId>,
) -> Result<&'r [u8], String> {
    // The common case: one AVA, nothing escaped, no old forms.
    if let Some(equals) = rdn.iter().position(|&b| b == b'=') {
        let (name, value) = (&rdn[..equals], &rdn[equals + 1..]);
        let simple = !value.is_empty() && dn::is_plain_value(value);
        if simple && let Some(attribute_type) = find_type(name) {
            out.push(1);
            return push_ava(schema, attribute_type, value, out).map(|()| value);
        }
    }
    let parsed = dn::parse_rdn(rdn).map_err(|e| e.to_string())?;
    avas_key(schema, &parsed, out).map(|()| &b""[..])
}

/// Appends the key of an RDN that is one AVA. `false`, and nothing, if its value is not valid.
#[inline]
fn simple_key(schema: &Schema, attribute_type: TypeId, value: &[u8], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let [high, low] = attribute_type.0.to_be_bytes();
    out.extend_from_slice(&[1, high, low, 0, 0, 0, 0]);
    let value_at = out.len();
    if schema.normalise_equality(attribute_type, value, out).is_err() {
        out.truncate(start);
        return false;
    }
    let len = (out.len() - value_at) as u32;
    out[value_at - 4..value_at].copy_from_slice(&len.to_be_bytes());
    true
}

fn avas_key(schema: &Schema, rdn: &dn::Rdn<'_>, out: &mut Vec<u8>) -> Result<(), String> {
    let mut avas = Vec::with_capacity(rdn.len());
    for ava in rdn {
        avas.push((known_type(schema, ava.attribute_type)?, &ava.value[..]));
    }
    push_avas(schema, avas.into_iter(), out)
}

pub(crate) fn known_type(schema: &Schema, name: &[u8]) -> Result<TypeId, String> {
    schema.find_type(name).ok_or_else(|| {
        format!("the attribute type \"{}\" is not in the schema", String::from_utf8_lossy(name))
    })
}

fn push_avas<'v>(
    schema: &Schema,
    avas: impl Iterator<Item = (TypeId, &'v [u8])>,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let mut keys = Vec::new();
    for (attribute_type, value) in avas {
        let mut key = Vec::new();
        push_ava(schema, attribute_type, value, &mut key)?;
        keys.push(key);
    }
    keys.sort();
    out.push(keys.len() as u8);
    keys.iter().for_each(|key| out.extend_from_slice(key));
    Ok(())
}

/// Appends the key of a stored entry's RDN, whatever was stored.
pub(crate) fn push_rdn(schema: &Schema, entry: &EntryRef<'_>, out: &mut Vec<u8>) -> Result<(), String> {
    let type_at = |at: usize| entry.shape.slots[at].description.attribute_type;
    match (entry.naming().next(), entry.shape.naming.len()) {
        (Some((at, value)), 1) => {
            out.push(1);
            push_ava(schema, type_at(at), value, out)
        }
        _ => push_avas(schema, entry.naming().map(|(at, value)| (type_at(at), value)), out),
    }
}

#[inline]
fn push_ava(schema: &Schema, attribute_type: TypeId, value: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    out.extend_from_slice(&attribute_type.0.to_be_bytes());
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    schema
        .normalise_equality(attribute_type, value, out)
        .map_err(|e| invalid_value(schema, attribute_type, &e))?;
    let len = (out.len() - length_at - 4) as u32;
    out[length_at..length_at + 4].copy_from_slice(&len.to_be_bytes());
    Ok(())
}

#[cold]
fn invalid_value(schema: &Schema, attribute_type: TypeId, reason: &dyn fmt::Display) -> String {
    format!("the value of {} is not valid: {reason}", schema.attribute_type(attribute_type).name())
}

/// Appends the keys of all RDNs of a DN; returns how many there are.
pub(crate) fn dn_key(schema: &Schema, text: &[u8], out: &mut Vec<u8>) -> Result<usize, String> {
    let parsed = dn::parse(text).map_err(|e| e.to_string())?;
    for rdn in &parsed {
        avas_key(schema, rdn, out)?;
    }
    Ok(parsed.len())
}
