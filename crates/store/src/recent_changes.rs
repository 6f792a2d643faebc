//! The entries that were changed last, in the order of the numbers of their changes: where a search for later numbers looks.
//!
//! It is a ring in memory, written by the writer and read without a lock. Each change of an entry puts a number and an id into the next place;
//! nothing is ever moved. A search takes what stands behind the number that it asks for, and looks at these entries as at those of any index.
//! Of a number from before the ring it learns that the ring does not know.
//!
//! A place is written before the count says that it is, and the count is read again behind the places: so a reader that was overtaken by
//! the writer finds that out, and does without the ring.

use crate::sync::{AtomicU64, Ordering, Words};
use model::{Csn, EntryId};
use std::io;

/// Changes that are kept: a mebibyte, which takes memory as far as it is written.
const CHANGES_MAX: u64 = 1 << 16;

/// See the module.
pub(crate) struct RecentChanges {
    /// A number and an id for each place. None of a shard that keeps no changes.
    places: Option<Words>,
    /// How many changes were ever put.
    count: AtomicU64,
    /// All changes with a greater number were put. [`u64::MAX`] until that is true of any.
    complete_behind: AtomicU64,
}

/// Where the changes behind some number stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Since {
    /// The first of them.
    from: u64,
    /// How many there were.
    pub(crate) len: u64,
}

impl RecentChanges {
    /// Of a shard that has no entries yet; all that are added have later CSNs. A small shard is that of a transaction, and keeps none.
    pub(crate) fn reserve(is_small: bool, first: Csn) -> io::Result<RecentChanges> {
        let places = (!is_small).then(|| Words::reserve(2 * CHANGES_MAX as usize, false));
        let complete_behind = if is_small { u64::MAX } else { first.usn() };
        Ok(RecentChanges {
            places: places.transpose()?,
            count: AtomicU64::new(0),
            complete_behind: AtomicU64::new(complete_behind),
        })
    }

    /// Entries are stored that are not put here, until [`RecentChanges::begin_behind`].
    pub(crate) fn begin_load(&self) {
        self.complete_behind.store(u64::MAX, Ordering::Release);
    }

    /// What was changed up to this CSN is not here, and all that is changed later will be.
    pub(crate) fn begin_behind(&self, csn: Csn) {
        self.complete_behind.store(csn.usn(), Ordering::Release);
    }

    /// An entry was changed, with this CSN or an earlier one of its batch. In the writer's role.
    #[inline]
    pub(crate) fn put(&self, id: EntryId, csn: Csn) {
        let Some(places) = &self.places else { return };
        let count = self.count.load(Ordering::Relaxed);
        let at = place_of(count);
        // Released, so that a reader that sees one of them sees the count of before too.
        places[at].store(csn.usn(), Ordering::Release);
        places[at + 1].store(u64::from(id.0), Ordering::Release);
        self.count.store(count + 1, Ordering::Release);
    }

    /// Where the changes stand whose numbers are late enough; `None` if some may have been forgotten. Whatever is late enough, all that is later is.
    pub(crate) fn since(&self, is_late: &mut dyn FnMut(u64) -> bool) -> Option<Since> {
        let places = self.places.as_ref()?;
        let complete_behind = self.complete_behind.load(Ordering::Acquire);
        if complete_behind == u64::MAX || is_late(complete_behind) {
            return None;
        }
        let end = self.count.load(Ordering::Acquire);
        // The oldest place may be the one that is being written.
        let oldest = end.saturating_sub(CHANGES_MAX - 1);
        let (mut low, mut high) = (oldest, end);
        while low < high {
            let middle = low + (high - low) / 2;
            match is_late(places[place_of(middle)].load(Ordering::Acquire)) {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        // The first that is there is late: so may be one that was there before it.
        let may_lack = low == oldest && oldest > 0;
        (!may_lack && self.has_kept(oldest)).then_some(Since { from: low, len: end - low })
    }

    /// Appends the ids of these changes; `None` if some were forgotten meanwhile.
    pub(crate) fn take(&self, since: Since, ids: &mut Vec<u32>) -> Option<()> {
        let places = self.places.as_ref()?;
        let changes = since.from..since.from + since.len;
        ids.extend(changes.map(|count| places[place_of(count) + 1].load(Ordering::Acquire) as u32));
        self.has_kept(since.from).then_some(())
    }

    /// Is no place overwritten from this one on?
    fn has_kept(&self, from: u64) -> bool {
        from + CHANGES_MAX > self.count.load(Ordering::Acquire)
    }
}

#[inline]
fn place_of(count: u64) -> usize {
    2 * (count % CHANGES_MAX) as usize
}

#[cfg(all(test, not(pando_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn csn(number: u64) -> Csn {
        Csn(number << 8)
    }

    /// Ids of the changes from a number on.
    fn ids(ring: &RecentChanges, from: u64) -> Option<Vec<u32>> {
        let since = ring.since(&mut |number| number >= from)?;
        let mut ids = Vec::new();
        ring.take(since, &mut ids).map(|()| ids)
    }

    #[test]
    fn it_knows_what_it_does_not_know() {
        let ring = RecentChanges::reserve(false, csn(0)).unwrap();
        ring.begin_load();
        ring.put(EntryId(1), csn(5));
        assert_eq!(ids(&ring, 6), None, "nothing says what was before");
        ring.begin_behind(csn(5));
        assert_eq!((ids(&ring, 5), ids(&ring, 6)), (None, Some(vec![])));
        ring.put(EntryId(2), csn(7));
        assert_eq!(
            (ids(&ring, 6), ids(&ring, 7), ids(&ring, 8)),
            (Some(vec![2]), Some(vec![2]), Some(vec![]))
        );
    }

    #[test]
    fn a_reader_that_is_overtaken_finds_out() {
        let ring = RecentChanges::reserve(false, csn(0)).unwrap();
        ring.put(EntryId(1), csn(1));
        let since = ring.since(&mut |number| number >= 1).unwrap();
        (2..=CHANGES_MAX).for_each(|number| ring.put(EntryId(number as u32), csn(number)));
        assert_eq!(ring.take(since, &mut Vec::new()), None);
        assert_eq!(ids(&ring, 1), None);
        assert_eq!(ids(&ring, 3).map(|ids| ids.len() as u64), Some(CHANGES_MAX - 2));
    }

    proptest! {
        /// Changes come in the order of their numbers, several to a number.
        #[test]
        fn it_has_what_a_list_has(steps in prop::collection::vec(0_u64..3, 1..300), asked in prop::collection::vec(0_u64..700, 1..20)) {
            let ring = RecentChanges::reserve(false, csn(0)).unwrap();
            let (mut number, mut list) = (1, Vec::new());
            for (id, step) in (0..).zip(steps) {
                number += step;
                ring.put(EntryId(id), csn(number));
                list.push((number, id));
            }
            for from in asked {
                let expected = list.iter().filter(|(number, _)| *number >= from).map(|(_, id)| *id).collect();
                prop_assert_eq!(ids(&ring, from), (from > 0).then_some(expected));
            }
        }
    }
}
