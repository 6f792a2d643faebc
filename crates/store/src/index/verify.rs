//! An index is compared with the entries, both ways, while others read and write.
//!
//! *Every key of every entry must be in the index.* An index that answers has, for each read point, all that entries have
//! there: additions come before they can be seen, and removals after the last reader that may need them. So this way needs
//! a read point and nothing else, another one for each step.
//!
//! *Every key in the index must be of an entry.* An index has more than that: what entries have lost and older readers may
//! need, what is about to be added, and keys that values of big sets have stale. What seems to be too much is a doubt,
//! which is settled under the writer's role: who has it knows what is due to go. Whether a value of a big set has a key in a
//! substring or an ordering index only a walk through all of the set would tell; such keys are counted and passed over.
//!
//! What is lacking is looked at again in the same way. So what is reported was so at a moment when nobody wrote.

use super::AttributeIndex;
use super::held::HeldWalk;
use super::key::Key;
use super::keys::Keeps;
use super::settings::IndexName;
use super::walk::{KeyWalk, Taken};
use crate::check::{self, Finding};
use crate::shard::{ReadPoint, Writer};
use model::EntryId;
use std::sync::Arc;

/// Doubts from which on they are settled first.
const DOUBTS_MAX: usize = 256;
/// Doubts that are settled while others wait for the writer's role: each looks at all values that the entry has inline.
const SETTLED_MAX: usize = 32;
/// Findings that are reported; the others are counted.
const FINDINGS_MAX: usize = 16;
/// Removals that are due and that doubts are compared with under the writer's role, at most. When more are due, some must be
/// made first.
const DUE_MAX: usize = 10_000;

/// A comparison that is in progress.
pub struct IndexVerify {
    name: IndexName,
    /// The very index: when it is dropped, and another one made, that is another one.
    index: Arc<AttributeIndex>,
    entries: KeyWalk,
    /// Ids that came later are not followed: it comes to its end however many are added meanwhile.
    ids_end: u32,
    /// Once all entries were looked at.
    held: Option<HeldWalk>,
    is_through: bool,
    doubts: Vec<Doubt>,
    keys: u64,
    passed_over: u64,
    findings: Vec<Finding>,
    found: u64,
}

/// An index that seems to lack a key, or to have one that it should not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Doubt {
    id: u32,
    key: Key,
    is_lacking: bool,
}

/// What comes after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verified {
    /// Another step.
    More,
    /// Doubts are to be settled: [`Writer::index_settle`].
    Doubts,
    /// Nothing: all was compared.
    All,
    /// Nothing: the index was dropped.
    Gone,
}

/// What became of doubts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// There are less.
    Some,
    /// They are to be settled later: too much is due to be removed from indexes, which waits for older readers.
    Later,
}

impl IndexVerify {
    /// Begins to compare an index that answers; `None` if there is no such one.
    pub fn begin(now: ReadPoint<'_>, name: IndexName) -> Option<IndexVerify> {
        let index = Arc::clone(now.indexes().answering(name.attribute_type, name.kind)?);
        Some(IndexVerify {
            name,
            index,
            entries: KeyWalk::begin(),
            ids_end: now.shard.ids_end(),
            held: None,
            is_through: false,
            doubts: Vec::new(),
            keys: 0,
            passed_over: 0,
            findings: Vec::new(),
            found: 0,
        })
    }

    /// Which index.
    pub fn name(&self) -> IndexName {
        self.name
    }

    /// Entries that were looked at.
    pub fn entries(&self) -> u64 {
        self.entries.entries()
    }

    /// Keys in the index that were looked at.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Of these, keys of which only a walk through a big set would tell whether a value has them.
    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }

    /// Keys that the index lacks, or has and should not.
    pub fn found(&self) -> u64 {
        self.found
    }

    /// The first of them.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Is it the index that answers now?
    fn is_there(&self, view: ReadPoint<'_>) -> bool {
        let answering = view.indexes().answering(self.name.attribute_type, self.name.kind);
        answering.is_some_and(|index| Arc::ptr_eq(index, &self.index))
    }

    /// Compares about `keys_max` keys more, which must be 1 at least.
    pub fn step(&mut self, now: ReadPoint<'_>, keys_max: usize) -> Verified {
        if !self.is_there(now) {
            return Verified::Gone;
        }
        if self.doubts.len() >= DOUBTS_MAX {
            return Verified::Doubts;
        }
        match (&self.held, self.is_through) {
            (None, _) => self.look_at_entries(now, keys_max),
            (Some(_), false) => self.look_at_keys(now, keys_max),
            (Some(_), true) if self.doubts.is_empty() => return Verified::All,
            (Some(_), true) => return Verified::Doubts,
        }
        Verified::More
    }

    /// What seems to be missing may have been removed since: it is settled under the role.
    fn look_at_entries(&mut self, now: ReadPoint<'_>, keys_max: usize) {
        let mut keys = Vec::new();
        let mut room = self.entries.room(now, &self.index, keys_max);
        loop {
            match self.entries.take(now, &self.index, self.ids_end, &mut room, &mut keys) {
                Taken::Of(id) => {
                    let lacking = keys.iter().filter(|key| !check::has(now, &self.index, **key, id));
                    self.doubts.extend(lacking.map(|key| Doubt { id, key: *key, is_lacking: true }));
                    if self.doubts.len() >= DOUBTS_MAX {
                        return;
                    }
                }
                Taken::Full => return,
                Taken::End => break,
            }
        }
        self.held = Some(HeldWalk::begin(&self.index));
    }

    /// The other way round, when all entries were looked at.
    fn look_at_keys(&mut self, now: ReadPoint<'_>, keys_max: usize) {
        let (Some(walk), mut pairs) = (&mut self.held, Vec::new()) else { return };
        self.is_through = !walk.take(now, &self.index, keys_max, &mut pairs);
        assert!(self.doubts.len() < DOUBTS_MAX, "doubts are settled before there are more of them");
        self.keys += pairs.len() as u64;
        for (key, id) in pairs {
            let entry = if id < now.shard.ids_end() { now.entry(EntryId(id)) } else { None };
            match entry.map_or(Keeps::No, |entry| self.index.keeps(now, &entry, key)) {
                Keeps::Yes => {}
                Keeps::No => self.doubts.push(Doubt { id, key, is_lacking: false }),
                Keeps::Unknown => self.passed_over += 1,
            }
        }
    }

    fn find(&mut self, view: ReadPoint<'_>, doubt: Doubt) {
        assert!(
            self.findings.len() as u64 == self.found.min(FINDINGS_MAX as u64),
            "each difference is counted, and the first ones are described"
        );
        self.found += 1;
        if self.findings.len() < FINDINGS_MAX {
            let what = match doubt.is_lacking {
                true => "lacks it",
                // Searches look at it and drop it, so it costs time only.
                false => "has it under a value that it does not have",
            };
            let what = format!("{} {what}", check::described(view, &self.index));
            self.findings.push(check::finding(view, doubt.id, what));
        }
    }
}

impl Writer<'_> {
    /// Settles some doubts, or says that it must be tried again.
    pub fn index_settle(&mut self, verify: &mut IndexVerify) -> Settled {
        let (view, index) = (self.view(), Arc::clone(&verify.index));
        let number = self.view().indexes().number_answering(verify.name.attribute_type, verify.name.kind);
        let Some(number) = number.filter(|_| verify.is_there(view)) else { return Settled::Some };
        if self.state.deferred.len() > DUE_MAX {
            return Settled::Later;
        }
        let kept = verify.doubts.len().saturating_sub(SETTLED_MAX);
        let mut doubts = verify.doubts.split_off(kept);
        doubts.sort_unstable();
        doubts.dedup();
        for (key, id) in self.state.deferred.keys_of(number) {
            let too_much = Doubt { id, key, is_lacking: false };
            if let Ok(at) = doubts.binary_search(&too_much) {
                doubts.remove(at);
            }
        }
        let end = self.state.heap.ids.end();
        for doubt in doubts {
            let Doubt { id, key, is_lacking } = doubt;
            let has = check::has(view, &index, key, id);
            let is_real = match is_lacking {
                true => {
                    let entry = view.entry(EntryId(id));
                    !has && entry.is_some_and(|entry| index.keeps(view, &entry, key) != Keeps::No)
                }
                false => has && !(id < end && self.may_have(number, &index, id, key)),
            };
            if is_real {
                verify.find(view, doubt);
            }
        }
        Settled::Some
    }

    /// May an index have a key of an entry, which is not due to go?
    fn may_have(&self, number: u16, index: &AttributeIndex, id: u32, key: Key) -> bool {
        let oldest = self.shard.readers.oldest();
        self.state.stale_keys.has(number, id, key)
            || self.any_version(id, oldest, |at, entry| index.keeps(at, entry, key) != Keeps::No)
    }
}

#[cfg(test)]
mod tests;
