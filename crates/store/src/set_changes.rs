//! The last changes of the largest sets of names, as the members of a group are: which values came and went. Who remembers something of such a
//! set looks at these, and not at a million values. Changes of other sets are not kept: those are looked through.
//!
//! They are kept beside the directory and are no part of it. Whether all that a reader asks for are still here is known by what a set has after
//! the last of them; if not, it looks through the set.

use crate::record::ValueSet;
use std::collections::VecDeque;

/// Sets of fewer values are looked through as fast.
pub(crate) const VALUES_MIN: u32 = 4_096;
/// Changes that are kept.
pub(crate) const CHANGES_MAX: usize = 4_096;
/// Bytes of their values.
const BYTES_MAX: usize = 1 << 20;

/// A change of a set.
pub(crate) struct Changed {
    pub(crate) sequence: u64,
    /// The set as it is then.
    pub(crate) set: ValueSet,
    /// What came, and what went.
    pub(crate) values: Vec<Box<[u8]>>,
}

/// The last changes, by rising sequence.
#[derive(Default)]
pub(crate) struct SetChanges {
    kept: VecDeque<Changed>,
    bytes: usize,
    /// Changes of this sequence and of earlier ones may have been dropped.
    dropped_up_to: u64,
}

impl SetChanges {
    pub(crate) fn put(&mut self, changed: Changed) {
        self.bytes += changed.bytes();
        self.kept.push_back(changed);
        while self.kept.len() > CHANGES_MAX || self.bytes > BYTES_MAX {
            let Some(dropped) = self.kept.pop_front() else { break };
            self.bytes -= dropped.bytes();
            self.dropped_up_to = dropped.sequence;
        }
    }

    /// What came or went between two states of a set. `None` if it is not known.
    pub(crate) fn between(
        &self,
        (before, since): (&ValueSet, u64),
        (now, until): (&ValueSet, u64),
    ) -> Option<Vec<Box<[u8]>>> {
        if self.dropped_up_to > since || before.root != now.root || before.count < VALUES_MIN {
            return None;
        }
        let is_between = |changed: &&Changed| {
            changed.set.root == now.root && changed.sequence > since && changed.sequence <= until
        };
        let mut last = before;
        let mut values = Vec::new();
        for changed in self.kept.iter().filter(is_between) {
            // From a smaller set on there may be changes that are not here.
            if changed.set.count < VALUES_MIN {
                return None;
            }
            last = &changed.set;
            values.extend(changed.values.iter().cloned());
        }
        (last == now).then_some(values)
    }
}

impl Changed {
    fn bytes(&self) -> usize {
        let values = self.values.iter().map(|value| value.len() + size_of::<Box<[u8]>>());
        size_of::<Changed>() + values.sum::<usize>()
    }
}
