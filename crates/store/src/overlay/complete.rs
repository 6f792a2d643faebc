//! What makes an overlay, once all updates were applied in it, and the shard that it lies on one directory for those who
//! look: each entry is in one of the two as it is after the updates, name and number of subordinates included.
//!
//! An entry that no update changed can still differ: its DN, if an entry above it was renamed; its numSubordinates, if
//! entries were added, deleted or moved below it. The first are copied, up to a bound, as a rename of a great subtree
//! would copy all of it. The second only get another count, since most of their subordinates are in the shard below.

use super::Overlay;
use crate::dn_cache::DnCache;
use crate::refused::Refused;
use crate::shard::ReadPoint;
use model::EntryId;
use std::collections::{BTreeMap, BTreeSet};

/// Subordinates that are looked up at a time.
const SLICE: usize = 256;

impl Overlay {
    /// Copies what else the updates have made different: up to `below_max` entries below those that have another name now.
    /// Returns the ids, ascending, of the entries that are to be looked for here, and are gone if they are not here. All
    /// others are as they are in `base`. No update must be applied here any more.
    ///
    /// # Errors
    /// When there are more, or no memory.
    pub fn complete(&mut self, base: ReadPoint<'_>, below_max: usize) -> Result<Vec<u32>, Refused> {
        let mut different = self.changed.clone();
        // Copies first: they are counted as subordinates that are here.
        self.bring_below(base, self.renamed(base), below_max, &mut different)?;
        self.count_subordinates(base, &mut different)?;
        let writer = self.shard.writer();
        for (id, copied) in &mut self.copied {
            copied.partial.retain(|partial| writer.view().has_set(EntryId(*id), partial));
        }
        Ok(different.into_iter().collect())
    }

    /// The changed entries that lie elsewhere than before or are spelled otherwise, and so do all entries below them. Where one
    /// lies is known by its superior, not by the name alone: another entry may have got the old superior's name.
    fn renamed(&self, base: ReadPoint<'_>) -> Vec<u32> {
        let here = self.shard.writer().view();
        let (mut cache, mut base_cache) = (DnCache::default(), DnCache::default());
        let mut is_renamed = |id: u32| {
            let (mut now, mut before) = (Vec::new(), Vec::new());
            // Below one that was added or deleted lies nothing but what updates added or moved there: that is among the
            // changed ones itself.
            let (Some(entry), Some(was)) = (here.entry(EntryId(id)), base.entry(EntryId(id))) else {
                return false;
            };
            here.write_dn(&entry, &mut cache, &mut now);
            base.write_dn(&was, &mut base_cache, &mut before);
            entry.parent() != was.parent() || now != before
        };
        self.changed.iter().copied().filter(|id| is_renamed(*id)).collect()
    }

    /// Copies what lies below these entries in the shard, at any depth. An update may have moved one of them elsewhere or
    /// deleted it here: what was copied once is not copied again.
    fn bring_below(
        &mut self,
        base: ReadPoint<'_>,
        mut above: Vec<u32>,
        max: usize,
        different: &mut BTreeSet<u32>,
    ) -> Result<(), Refused> {
        let (mut seen, mut subordinates, mut count) = (BTreeSet::new(), Vec::new(), 0);
        while let Some(superior) = above.pop() {
            if !seen.insert(superior) {
                continue;
            }
            let mut next = Some(0);
            while let Some(from) = next {
                next = base.children(EntryId(superior), from, SLICE, &mut subordinates);
                count += subordinates.len();
                if count > max {
                    return Err(Refused::StoreLimit("entries below those that the transaction renames"));
                }
                for id in &subordinates {
                    if !self.copied.contains_key(id) {
                        self.copy(base, EntryId(*id))?;
                        self.refuse_if_full()?;
                    }
                }
                different.extend(&subordinates);
                above.extend(&subordinates);
            }
        }
        Ok(())
    }

    /// Counts the subordinates that are not here, too.
    fn count_subordinates(
        &mut self,
        base: ReadPoint<'_>,
        different: &mut BTreeSet<u32>,
    ) -> Result<(), Refused> {
        let mut copied_below = BTreeMap::<u32, u32>::new();
        self.copied.values().for_each(|copied| *copied_below.entry(copied.parent).or_default() += 1);
        let mut writer = self.shard.writer();
        for id in self.copied.keys() {
            let (superior, view) = (EntryId(*id), writer.view());
            if view.entry(superior).is_none() {
                continue;
            }
            let before = base.subordinates(superior);
            let elsewhere = before.saturating_sub(copied_below.get(id).copied().unwrap_or(0));
            let count = elsewhere + view.subordinates(superior);
            if count != before {
                different.insert(*id);
            }
            if elsewhere > 0 && different.contains(id) {
                writer.tell_subordinates(superior, count)?;
            }
        }
        writer.publish();
        Ok(())
    }
}
