//! The directory as the updates so far have made it: a shard, or a shard with the overlay of a
//! transaction over it.
//!
//! Outside of a transaction it is the writer's own view, so what is found here is true until
//! the update is made. In an overlay it is what the commit would find if nobody else wrote
//! meanwhile; the commit asks again.

use model::{EntryId, TypeId};
use std::ops::ControlFlow;
use store::overlay::Overlay;
use store::overlay::merged::Merged;
use store::search::Holding;
use store::search::evaluate::Evaluator;
use store::{DnCache, EntryRef, ReadPoint};

/// What a judge looks at.
#[derive(Clone, Copy)]
pub(super) enum Directory<'d> {
    /// A shard, as this batch has made it so far.
    Shard(ReadPoint<'d>),
    /// The overlay of a transaction, and what it lies on. Entries that the transaction has
    /// looked at are in the overlay, all others only in the shard below.
    Merged(Merged<'d>),
}

impl<'d> Directory<'d> {
    /// The directory with what the batch at `at` has made so far, of the overlay if there is
    /// one.
    pub(super) fn new(at: ReadPoint<'d>, below: Option<(ReadPoint<'d>, &'d Overlay)>) -> Directory<'d> {
        match below {
            None => Directory::Shard(at),
            Some((base, overlay)) => Directory::Merged(Merged { overlay, here: at, base }),
        }
    }

    /// The shard, if nothing lies over it.
    pub(super) fn shard_alone(self) -> Option<ReadPoint<'d>> {
        match self {
            Directory::Shard(at) => Some(at),
            Directory::Merged(_) => None,
        }
    }

    /// Where the indexes are.
    pub(super) fn indexed(self) -> ReadPoint<'d> {
        match self {
            Directory::Shard(at) => at,
            Directory::Merged(merged) => merged.base,
        }
    }

    /// The entry with this DN.
    pub(super) fn resolve(self, dn: &[u8], cache: &mut DnCache) -> Option<EntryId> {
        match self {
            Directory::Shard(at) => {
                // Names may have changed in this very batch.
                cache.forget();
                at.resolve(dn, cache).ok()
            }
            Directory::Merged(merged) => merged.resolve(dn),
        }
    }

    /// The entry with this id, and where it lies.
    pub(super) fn entry(self, id: EntryId) -> Option<(EntryRef<'d>, ReadPoint<'d>)> {
        match self {
            Directory::Shard(at) => at.entry(id).map(|entry| (entry, at)),
            Directory::Merged(merged) => merged.entry(id),
        }
    }

    /// Is the entry `above` or below it?
    pub(super) fn is_within(self, id: EntryId, above: EntryId) -> bool {
        match self {
            Directory::Shard(at) => at.is_within(id, above),
            Directory::Merged(merged) => merged.is_within(id, above),
        }
    }

    /// The DN of an entry.
    pub(super) fn dn(self, id: EntryId) -> Vec<u8> {
        match self {
            Directory::Shard(at) => {
                at.entry(id).map_or(Vec::new(), |entry| at.dn(&entry, &mut DnCache::default()))
            }
            Directory::Merged(merged) => merged.dn(id),
        }
    }

    /// Gives the immediate subordinates of an entry, until it is enough.
    pub(super) fn children(self, parent: EntryId, found: &mut dyn FnMut(EntryId) -> ControlFlow<()>) {
        match self {
            Directory::Shard(at) => _ = at.each_child(parent, found),
            Directory::Merged(merged) => merged.children(parent, found),
        }
    }

    /// How many subordinates an entry has.
    pub(super) fn subordinates(self, id: EntryId) -> u32 {
        match self {
            Directory::Shard(at) => at.subordinates(id),
            Directory::Merged(merged) => merged.subordinates(id),
        }
    }

    /// Gives entries that have a value, until it is enough. The index gives candidates, and
    /// each is looked at: a key of it may be that of another value, or of one that the entry
    /// has lost.
    pub(super) fn holders(
        self,
        wanted: &Wanted<'_>,
        evaluator: &mut Evaluator,
        found: &mut dyn FnMut(EntryId) -> ControlFlow<()>,
    ) {
        let indexed = self.indexed();
        let holding = Holding::new(indexed, wanted.attribute_type, wanted.value);
        let hash = holding.hash(indexed);
        // The value where it is, and what else is asked where the entry is as it is now.
        let mut has = |id: EntryId, valued: ReadPoint<'_>, at: ReadPoint<'_>| {
            valued.entry(id).is_some_and(|entry| holding.is_true_of(&entry, valued, evaluator))
                && at.entry(id).is_some_and(|entry| {
                    wanted.filter.is_none_or(|filter| filter.is_true_of(&entry, at, evaluator))
                })
        };
        let mut is_enough = false;
        indexed.candidates_of(&holding, &mut |id| {
            // It costs less than a look at the value.
            let is_holder = (wanted.may_be)(id)
                && match self {
                    // Of a big set an overlay has some values only.
                    Directory::Merged(Merged { overlay, here, base }) if overlay.has_copied(id) => {
                        let is_open = |hash| overlay.leaves_open(here, id, (wanted.attribute_type, hash));
                        has(id, here, here) || (hash.is_some_and(is_open) && has(id, base, here))
                    }
                    _ => has(id, indexed, indexed),
                };
            let flow = if is_holder { found(id) } else { ControlFlow::Continue(()) };
            is_enough = flow.is_break();
            flow
        });
        if let (Directory::Merged(Merged { overlay, here, .. }), Some(hash), false) = (self, hash, is_enough)
        {
            let mut others = overlay.with_value(hash).iter().map(|id| EntryId(*id));
            _ = others.try_for_each(|id| match (wanted.may_be)(id) && has(id, here, here) {
                true => found(id),
                false => ControlFlow::Continue(()),
            });
        }
    }
}

/// The entries that are looked for.
pub(super) struct Wanted<'w> {
    /// They have a value of this type, or of a subtype.
    pub(super) attribute_type: TypeId,
    /// The value.
    pub(super) value: &'w [u8],
    /// Entries that are none of them, whatever their values are.
    pub(super) may_be: &'w dyn Fn(EntryId) -> bool,
    /// What else is true of them.
    pub(super) filter: Option<&'w Holding>,
}
