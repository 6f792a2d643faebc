//! What a transaction makes of a shard before anybody else sees it: a small shard of its own, into which entries are
//! copied when an update is about them, under their own ids, and on which updates are applied by the code that
//! applies them for good. The one that asks it gets the answers that the shard would give if the updates so far had happened.
//!
//! Of a value set with a million members a copy would cost more than the transaction. Of such a set only those values
//! are there that updates name, and some others, so that it is not taken for empty. [`Overlay::is_partial`] tells.

mod complete;
pub mod merged;

use crate::dn_cache::DnCache;
use crate::refused::Refused;
use crate::resolve::Unresolved;
use crate::shard::{ReadPoint, Settings, Shard};
use crate::values::SetPosition;
use model::{Csn, Description, EntryId, TypeId};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

/// Bytes of entries that one transaction may look at or make before it takes no more updates: judged when they come, so before they are
/// logged.
pub const OVERLAY_BYTES_MAX: u64 = 256 << 20;

/// Address space for them, with what is written and replaced again.
const HEAP_BYTES: usize = 4 * OVERLAY_BYTES_MAX as usize;

/// Address space for the updates of a transaction that is logged: no limit may refuse it any more.
const LOGGED_HEAP_BYTES: usize = 1 << 38;

/// Values of one attribute that are copied whole.
const SET_WHOLE_MAX: u32 = 1000;

/// Values that a partial set has beyond those that updates name.
const SET_SPARE: usize = 128;

/// The overlay of one transaction.
pub struct Overlay {
    /// Bytes that may be written here.
    bytes_max: u64,
    shard: Arc<Shard>,
    /// What was copied, with its superior there: also what is gone from here since.
    copied: BTreeMap<u32, Copied>,
    /// What updates have changed, made or taken away.
    changed: BTreeSet<u32>,
    /// Entries that got a value here of which there may be one, by the hash of the value.
    values: BTreeMap<u64, Vec<u32>>,
}

/// An entry that was copied.
struct Copied {
    /// Its superior where it comes from.
    parent: u32,
    /// Its sets of which not all values were copied.
    partial: Vec<Partial>,
}

/// A set of which some values were copied.
pub(crate) struct Partial {
    pub(crate) description: Description,
    /// Root of its tree here: with another root it is another set, which is whole.
    pub(crate) root: u32,
    /// How far the values were copied that nobody asked for.
    pub(crate) position: SetPosition,
    /// Hashes of the values that were asked for.
    pub(crate) asked: BTreeSet<u64>,
}

/// Values that an update names: of those it depends on whether they are there.
pub type Named<'n> = &'n [(Description, &'n [u8])];

impl Overlay {
    /// An overlay of a shard, with nothing in it; it is full when so many bytes, [`OVERLAY_BYTES_MAX`] at most, were
    /// written there.
    ///
    /// # Errors
    /// When address space cannot be reserved.
    pub fn new(base: &Shard, bytes_max: u64) -> io::Result<Overlay> {
        Overlay::with(base, bytes_max.min(OVERLAY_BYTES_MAX), HEAP_BYTES)
    }

    /// An overlay for updates that were taken for good, which is never full.
    ///
    /// # Errors
    /// When address space cannot be reserved.
    pub fn unlimited(base: &Shard) -> io::Result<Overlay> {
        let mut heap_bytes = LOGGED_HEAP_BYTES;
        loop {
            // Where there is little address space, most transactions need far less.
            match Overlay::with(base, u64::MAX, heap_bytes) {
                Err(_) if heap_bytes > HEAP_BYTES => heap_bytes /= 4,
                made => return made,
            }
        }
    }

    fn with(base: &Shard, bytes_max: u64, heap_bytes: usize) -> io::Result<Overlay> {
        // What it may hold is bounded here, and is the same whatever memory the directory may have.
        let settings = Settings { indexes: Vec::new(), memory_bytes_max: 1 << 50, ..base.settings.clone() };
        let shard = Shard::build_small(settings, Arc::clone(&base.schema), heap_bytes, base.entries_max())?;
        shard.keep_dynamic(base.keeps_dynamic());
        let shard = Arc::new(shard);
        Ok(Overlay {
            bytes_max,
            shard,
            copied: BTreeMap::new(),
            changed: BTreeSet::new(),
            values: BTreeMap::new(),
        })
    }

    /// The shard in which updates are applied. Each batch is to be published.
    pub fn shard(&self) -> &Arc<Shard> {
        &self.shard
    }

    /// An update has changed this entry here, made it or taken it away.
    pub fn note_changed(&mut self, id: EntryId) {
        self.changed.insert(id.0);
    }

    /// An entry got a value with this hash here.
    pub fn note_value(&mut self, id: EntryId, hash: u64) {
        self.values.entry(hash).or_default().push(id.0);
    }

    /// Entries that got a value with this hash here, and may have lost it since.
    pub fn with_value(&self, hash: u64) -> &[u32] {
        self.values.get(&hash).map_or(&[], Vec::as_slice)
    }

    /// Is this entry of the shard below to be looked for here?
    pub fn has_copied(&self, id: EntryId) -> bool {
        self.copied.contains_key(&id.0)
    }

    /// The next change here is stamped as the next in `base` would be.
    pub fn stamp_like(&self, last: Csn) {
        self.shard.writer().restore_csn(last);
    }

    /// Copies what there is of the way from the naming context to `dn`, the entry itself included, as far as it is not
    /// here yet and was not renamed or deleted here.
    ///
    /// # Errors
    /// When the transaction looks at too much. A DN that leads nowhere is none: the update will tell.
    pub fn bring(&mut self, base: ReadPoint<'_>, dn: &[u8], named: Named<'_>) -> Result<(), Refused> {
        let Ok(path) = base.path(dn) else { return Ok(()) };
        let mut parent = 0;
        for key in path {
            let here = { self.shard.writer().view().find(parent, &key) };
            parent = match here {
                Some(id) => id.0,
                None => match base.find(parent, &key).filter(|id| !self.copied.contains_key(&id.0)) {
                    Some(id) => self.copy(base, id)?,
                    None => return Ok(()),
                },
            };
        }
        self.extend(base, EntryId(parent), named)
    }

    /// As [`Overlay::bring`], of an entry that no update names: with the superiors that it has there.
    ///
    /// # Errors
    /// As there.
    pub fn bring_entry(&mut self, base: ReadPoint<'_>, id: EntryId, named: Named<'_>) -> Result<(), Refused> {
        let (mut way, mut above) = (Vec::new(), id);
        while above.0 != 0
            && !self.has_copied(above)
            && let Some(entry) = base.entry(above)
        {
            way.push(above);
            above = entry.parent();
        }
        for id in way.into_iter().rev() {
            self.copy(base, id)?;
        }
        self.extend(base, id, named)
    }

    fn copy(&mut self, base: ReadPoint<'_>, id: EntryId) -> Result<u32, Refused> {
        let entry = base.entry(id).expect("it was just found");
        let mut writer = self.shard.writer();
        let partial = writer.copy_entry(base, &entry, SET_WHOLE_MAX, SET_SPARE)?;
        writer.publish();
        let former = self.copied.insert(id.0, Copied { parent: entry.parent().0, partial });
        assert!(former.is_none(), "an entry is copied once: later copies would undo changes");
        Ok(id.0)
    }

    /// Is there room for another update?
    ///
    /// # Errors
    /// When more is written here than may be.
    pub fn refuse_if_full(&self) -> Result<(), Refused> {
        match self.bytes() > self.bytes_max {
            true => Err(Refused::StoreLimit("bytes of entries that a transaction may look at")),
            false => Ok(()),
        }
    }

    /// Copies the named values of an entry's partial sets.
    fn extend(&mut self, base: ReadPoint<'_>, id: EntryId, named: Named<'_>) -> Result<(), Refused> {
        let Some(copied) = self.copied.get_mut(&id.0).filter(|copied| !copied.partial.is_empty()) else {
            return Ok(());
        };
        let mut writer = self.shard.writer();
        copied.partial.retain(|partial| writer.view().has_set(id, partial));
        let Some(entry) = base.entry(id) else { return Ok(()) };
        for partial in &mut copied.partial {
            let wanted = partial.description;
            let of_it = named.iter().filter(|(description, _)| *description == wanted);
            writer.extend(base, &entry, partial, of_it.map(|(_, value)| *value))?;
        }
        writer.publish();
        Ok(())
    }

    /// Are some values of this entry not here?
    pub fn is_partial(&self, id: EntryId) -> bool {
        self.copied.get(&id.0).is_some_and(|copied| !copied.partial.is_empty())
    }

    /// May an entry that is `here` have a value of this type, or of a subtype, that is not here, and that no update has named? Then the shard below tells.
    pub fn leaves_open(&self, here: ReadPoint<'_>, id: EntryId, (of, hash): (TypeId, u64)) -> bool {
        let Some(copied) = self.copied.get(&id.0) else { return false };
        copied.partial.iter().any(|partial| {
            self.shard.schema.is_subtype(partial.description.attribute_type, of)
                && !partial.asked.contains(&hash)
                && here.has_set(id, partial)
        })
    }

    /// How many subordinates an entry has that are not here: they are to be there still if it is deleted.
    pub fn subordinates_elsewhere(&self, base: ReadPoint<'_>, id: EntryId) -> u32 {
        if base.subordinates(id) == 0 {
            return 0;
        }
        let below = self.copied.values().filter(|copied| copied.parent == id.0).count() as u32;
        base.subordinates(id).saturating_sub(below)
    }

    /// The entry with this DN here, if there is one.
    pub fn find(&self, dn: &[u8]) -> Option<EntryId> {
        self.shard.writer().view().resolve(dn, &mut DnCache::default()).ok()
    }

    /// Bytes written here so far.
    pub fn bytes(&self) -> u64 {
        self.shard.writer().state.heap.appended
    }
}

impl ReadPoint<'_> {
    /// An id that no entry will get soon: for what is added in an overlay before it is known which it will have.
    pub fn late_id(self, number: u32) -> u32 {
        (self.shard.entries_max() as u32).saturating_sub(2 + number)
    }

    /// Keys of the way from the root of the naming context to the entry with this DN.
    fn path(self, dn: &[u8]) -> Result<Vec<Vec<u8>>, Unresolved> {
        let mut rdns = self.shard.rdn_keys(dn)?;
        let suffix = self.shard.suffixes.holding(&rdns).ok_or(Unresolved::NoSuchObject(None))?;
        rdns.truncate(rdns.len() - suffix.rdns);
        rdns.push(suffix.key.clone());
        rdns.reverse();
        Ok(rdns)
    }
}
