//! What must wait until no reader can need it: removals from indexes, and ids.
//!
//! A removal is put off by the batch that makes it necessary, and made by a later publication, on the writer's turn, when no
//! reader is older than that batch. Until then tables hold more than the newest entries have, which readers verify anyway. The
//! order is that of the batches, so that the first removal that must wait ends the look, and the id of an entry is free only
//! after every key under which it was found has gone.

use crate::index::key::Key;
use crate::record::EntryRef;
use crate::shard::{ReadPoint, Writer};
use std::collections::VecDeque;

/// Removals made per published batch at most, so that no batch pays for a great delete alone: the usual
/// [`crate::Settings::removals_max`].
pub const REMOVALS_MAX: usize = 20_000;

/// A removal that is due.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Later {
    /// The entry with this id is removed and unreachable: forget it.
    Forget(u32),
    /// The same, of a tree node, whose id is free then.
    ForgetNode(u32),
    /// The entry no longer has this DN.
    Dn { tag: u32, id: u32 },
    /// The entry is no longer below this superior.
    Child { parent: u32, id: u32 },
    /// The entry no longer is an alias, or a referral object.
    Kind { kind: crate::shape::Kind, id: u32 },
    /// The entry no longer has access rules.
    AccessRules(u32),
    /// The entry, a dynamic one, is not there any more.
    Dynamic(u32),
    /// The entry no longer is a subentry of collective attributes.
    Collective(u32),
    /// The entry no longer has this key in an attribute index.
    Key { index: u16, key: Key, id: u32 },
}

/// Removals in the order of their sequence.
#[derive(Default)]
pub(crate) struct Deferred {
    queue: VecDeque<(u64, Later)>,
}

impl Deferred {
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Removals from an index that was dropped are no longer due.
    pub(crate) fn forget_index(&mut self, number: u16) {
        self.queue.retain(|(_, what)| !matches!(what, Later::Key { index, .. } if *index == number));
    }

    /// Removals that are due from an index: keys and ids. Looks at all of the queue: for checks.
    pub(crate) fn keys_of(&self, number: u16) -> impl Iterator<Item = (Key, u32)> {
        self.queue.iter().filter_map(move |(_, what)| match what {
            Later::Key { index, key, id } if *index == number => Some((*key, *id)),
            _ => None,
        })
    }
}

impl Writer<'_> {
    /// Puts a removal off until no reader is older than this batch.
    pub(crate) fn later(&mut self, what: Later) {
        let last = self.state.deferred.queue.back().map_or(0, |(sequence, _)| *sequence);
        assert!(last <= self.sequence, "removals are put off in the order of their batches");
        self.state.deferred.queue.push_back((self.sequence, what));
    }

    /// Makes the removals that no reader stands against. An entry may have come back to a key and left it again
    /// meanwhile, which a younger reader sees: every version that a reader may see is looked at.
    pub(crate) fn run_deferred(&mut self) {
        if self.state.deferred.len() == 0 {
            return;
        }
        let oldest = self.shard.readers.oldest();
        for _ in 0..self.shard.settings.removals_max {
            if !self.run_next(oldest) {
                break;
            }
        }
    }

    /// Makes removals, however many, in their order, until it is done or a reader stands against the next. For ids that the log
    /// gives again, which must be free of what was there before.
    pub(crate) fn drain_until(&mut self, mut is_done: impl FnMut(&Self) -> bool) {
        let oldest = self.shard.readers.oldest();
        while !is_done(self) && self.run_next(oldest) {}
    }

    /// Makes the next removal; `false` if there is none that is due.
    fn run_next(&mut self, oldest: u64) -> bool {
        let queue = &mut self.state.deferred.queue;
        let is_due = queue.front().is_some_and(|(sequence, _)| *sequence <= oldest);
        let next = is_due.then(|| queue.pop_front()).flatten();
        if let Some((_, what)) = next {
            self.run_one(what, oldest);
        }
        is_due
    }

    fn run_one(&mut self, what: Later, oldest: u64) {
        let (shard, view) = (self.shard, self.view());
        match what {
            Later::Forget(id) => self.forget(id),
            Later::ForgetNode(id) => shard.heap.forget_node(&mut self.state.heap, id),
            // The entry may have been renamed and renamed back, and two names may share a tag.
            Later::Dn { tag, id } => {
                let still = self.any_version(id, oldest, |at, entry| {
                    let mut key = Vec::new();
                    at.key_of(entry, &mut key);
                    shard.dn_tag(entry.parent().0, &key) == tag
                });
                if !still {
                    shard.dn_table.remove(tag, id);
                }
            }
            Later::Child { parent, id } => {
                if !self.any_version(id, oldest, |_, entry| entry.parent().0 == parent) {
                    let (children, mut context) = Writer::context(&mut self.state, view);
                    shard.children.remove(children, &mut context, shard.child_tag(parent), id);
                }
            }
            Later::Kind { kind, id } => self.forget_kind(id, kind, oldest),
            Later::AccessRules(id) => self.forget_access_rules(id, oldest),
            Later::Dynamic(id) => self.forget_dynamic(id, oldest),
            Later::Collective(id) => self.forget_collective(id, oldest),
            Later::Key { index, key, id } => self.remove_key(index, key, id, oldest),
        }
    }

    /// Does `test` say yes to a version of an entry that a reader may see?
    pub(crate) fn any_version(
        &self,
        id: u32,
        oldest: u64,
        mut test: impl FnMut(ReadPoint<'_>, &EntryRef<'_>) -> bool,
    ) -> bool {
        let shard = self.shard;
        shard.heap.any_version(id, oldest, |object, sequence| {
            let at = ReadPoint { shard, sequence };
            test(at, &EntryRef::new(id, object.flags, object.payload, &shard.shapes))
        })
    }
}
