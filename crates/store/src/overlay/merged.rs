//! An overlay and the shard that it lies on, looked at as one directory between two updates: names, superiors and counts. Unlike
//! [`Overlay::complete`] nothing is copied for it. Entries have the same ids in both, so a superior that was renamed in
//! the overlay is the superior of entries that no update has touched, too.

use super::Overlay;
use crate::dn_cache::DnCache;
use crate::record::EntryRef;
use crate::shard::ReadPoint;
use model::EntryId;
use std::ops::ControlFlow;

/// An overlay over its shard. The updates of the overlay may still have the writer's role.
#[derive(Clone, Copy)]
pub struct Merged<'m> {
    /// The overlay.
    pub overlay: &'m Overlay,
    /// What its updates have made so far.
    pub here: ReadPoint<'m>,
    /// The shard that it lies on.
    pub base: ReadPoint<'m>,
}

impl<'m> Merged<'m> {
    /// The entry with this DN.
    pub fn resolve(self, dn: &[u8]) -> Option<EntryId> {
        let mut id = EntryId(0);
        for key in self.base.path(dn).ok()? {
            let here = self.here.find(id.0, &key);
            id = match here {
                Some(found) => found,
                None => self.base.find(id.0, &key).filter(|found| !self.overlay.has_copied(*found))?,
            };
        }
        Some(id)
    }

    /// The entry with this id, and where it lies.
    pub fn entry(self, id: EntryId) -> Option<(EntryRef<'m>, ReadPoint<'m>)> {
        let at = match self.overlay.has_copied(id) || self.here.entry(id).is_some() {
            true => self.here,
            false => self.base,
        };
        at.entry(id).map(|entry| (entry, at))
    }

    /// Is the entry `above` or below it?
    pub fn is_within(self, mut id: EntryId, above: EntryId) -> bool {
        while id != above {
            match self.entry(id) {
                Some((entry, _)) if entry.parent().0 != 0 => id = entry.parent(),
                _ => return false,
            }
        }
        true
    }

    /// The DN of an entry: of superiors that were renamed here, too.
    pub fn dn(self, mut id: EntryId) -> Vec<u8> {
        let mut dn = Vec::new();
        while let Some((entry, at)) = self.entry(id) {
            if entry.parent().0 == 0 {
                at.write_dn(&entry, &mut DnCache::default(), &mut dn);
                break;
            }
            at.write_rdn(&entry, &mut dn);
            dn.push(b',');
            id = entry.parent();
        }
        dn
    }

    /// Gives the immediate subordinates of an entry, until it is enough.
    pub fn children(self, parent: EntryId, found: &mut dyn FnMut(EntryId) -> ControlFlow<()>) {
        let is_moved = |id: EntryId| self.overlay.has_copied(id);
        let flow = self.base.each_child(parent, &mut |id| match is_moved(id) {
            true => ControlFlow::Continue(()),
            false => found(id),
        });
        if flow.is_continue() {
            _ = self.here.each_child(parent, found);
        }
    }

    /// How many subordinates an entry has.
    pub fn subordinates(self, id: EntryId) -> u32 {
        self.here.subordinates(id) + self.overlay.subordinates_elsewhere(self.base, id)
    }
}
