//! Where an entry lies, relative to the DNs in rules. Each thread remembers it by superior, for most entries share one with others.
//!
//! What is remembered holds at a read point as long as no name has changed ([`ReadPoint::names_hold_since`]); a DN without an entry is looked for at
//! every read point anew.
//!
//! A place is a number of levels below a DN. Three are distinguished, for no rule asks for more: the entry itself, its subordinates,
//! and those of `*` patterns. All that lies deeper counts as one.
//!
//! A walk to the suffix looks at a record for each level. It is made for a superior and not for an entry, so the thousands of
//! entries of one container share it. 256 superiors of up to 16 DNs take 12 KiB of a thread.

use super::rules::Base;
use crate::system::{ROOT_DSES, is_root_dse};
use model::EntryId;
use smallvec::SmallVec;
use store::{DnCache, ReadPoint};

/// Superiors that are remembered: direct-mapped, so bounded.
const SUPERIORS: usize = 256;
/// A directory with a hundred rules of entries still finds nine in ten of the others without a bit.
const NAMED_BITS: usize = 1024;
/// An entry that lies so deep, or deeper, below a DN.
const DEEP: u8 = super::rules::Placed::DEEP;
/// An entry that does not lie below a DN.
const ELSEWHERE: u8 = u8::MAX;

/// The entries with a DN: one at most, but of the root DSE.
type Ids = SmallVec<[u32; 1]>;

/// Levels below each of the DNs.
type Levels = SmallVec<[u8; 16]>;

/// What is known of the DNs in rules, and of where entries lie.
#[derive(Default)]
pub(super) struct Places {
    /// Read point at which all of this was true.
    sequence: u64,
    /// The entries with the DNs: none where there is none, and all of them of the root DSE, which is kept under several names.
    ids: Vec<Ids>,
    superiors: Vec<(u32, Levels)>,
    /// Of the entry that was asked for last.
    levels: Levels,
    /// Changes with everything that is known of superiors. 0 is that of no place.
    generation: u64,
    /// A bit for the ids of entries with the DNs, modulo their number: an entry without a bit has none of the DNs.
    named: [u64; NAMED_BITS / 64],
}

impl Places {
    /// Forgets everything: there are other DNs.
    pub(super) fn forget(&mut self) {
        self.ids.clear();
        self.forget_superiors();
    }

    /// Forgets what is known of superiors; what follows from the ids that are left is made anew.
    fn forget_superiors(&mut self) {
        self.superiors.clear();
        self.generation += 1;
        self.named = [0; NAMED_BITS / 64];
        for id in self.ids.iter().flatten() {
            let bit = *id as usize % NAMED_BITS;
            self.named[bit / 64] |= 1 << (bit % 64);
        }
    }

    /// The number of what is known of superiors.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Is what was known in a generation true at a commit sequence?
    #[inline]
    pub(super) fn holds(&self, generation: u64, sequence: u64) -> bool {
        (self.generation, self.sequence) == (generation, sequence)
    }

    /// May an entry have one of the DNs?
    #[inline]
    pub(super) fn may_be_base(&self, id: EntryId) -> bool {
        let bit = id.0 as usize % NAMED_BITS;
        self.named[bit / 64] >> (bit % 64) & 1 == 1
    }

    /// Levels of an entry below each DN; [`u8::MAX`] where it does not lie below.
    pub(super) fn levels(
        &mut self,
        bases: &[Base],
        (id, superior): (EntryId, EntryId),
        read_point: ReadPoint<'_>,
        cache: &mut DnCache,
    ) -> &[u8] {
        self.refresh(bases, read_point, cache);
        self.put_superior(bases, superior, read_point);
        for (level, ids) in self.levels.iter_mut().zip(&self.ids) {
            *level = match *level {
                _ if id.0 != 0 && ids.contains(&id.0) => 0,
                ELSEWHERE => ELSEWHERE,
                level => (level + 1).min(DEEP),
            };
        }
        &self.levels
    }

    /// Puts the levels of the superior into `levels`, whose memory is used again: a request allocates nothing, however many DNs there are.
    fn put_superior(&mut self, bases: &[Base], superior: EntryId, read_point: ReadPoint<'_>) {
        self.levels.clear();
        // Above the naming contexts is the root DSE, if anything.
        if superior.0 == 0 {
            let is_root = |base: &Base| is_root_dse(base.dn.as_bytes());
            self.levels.extend(bases.iter().map(|base| if is_root(base) { DEEP } else { ELSEWHERE }));
            return;
        }
        if self.superiors.is_empty() {
            self.superiors.resize(SUPERIORS, (0, Levels::new()));
        }
        let slot = superior.0 as usize % SUPERIORS;
        if self.superiors[slot].0 != superior.0 {
            let mut levels: Levels = std::iter::repeat_n(ELSEWHERE, bases.len()).collect();
            for (at, base) in bases.iter().enumerate() {
                if is_root_dse(base.dn.as_bytes()) {
                    levels[at] = DEEP;
                }
            }
            let (mut id, mut level) = (superior, 0);
            while id.0 != 0 {
                for (at, ids) in self.ids.iter().enumerate() {
                    if ids.contains(&id.0) {
                        levels[at] = levels[at].min(level);
                    }
                }
                level = (level + 1).min(DEEP);
                let Some(entry) = read_point.entry(id) else { break };
                id = entry.parent();
            }
            self.superiors[slot] = (superior.0, levels);
        }
        self.levels.extend_from_slice(&self.superiors[slot].1);
    }

    /// Looks for the DNs where they may lead to other entries than before.
    /// Names are looked at in this order: has the read point moved at all? Then, has any name changed since? Only then are
    /// all DNs resolved again, and what is known of superiors is dropped. A DN without an entry is the exception: an add does not
    /// count as a change of names, and may give the DN its entry.
    fn refresh(&mut self, bases: &[Base], read_point: ReadPoint<'_>, cache: &mut DnCache) {
        let sequence = read_point.sequence();
        let is_known = self.ids.len() == bases.len();
        if is_known && sequence == self.sequence {
            return;
        }
        // At an older read point an entry may be missing that was there.
        let holds = is_known && sequence >= self.sequence && read_point.names_hold_since(self.sequence);
        let former = std::mem::take(&mut self.ids);
        for (at, base) in bases.iter().enumerate() {
            self.ids.push(match former.get(at) {
                Some(ids) if holds && !ids.is_empty() => ids.clone(),
                _ => find(base, read_point, cache),
            });
        }
        if !holds || self.ids != former {
            self.forget_superiors();
        }
        self.sequence = sequence;
    }
}

/// The root DSE is kept under several names, one for each state of a connection, and a rule on the empty DN is about all of
/// these: a rule that hides it must not be passed by StartTLS.
fn find(base: &Base, read_point: ReadPoint<'_>, cache: &mut DnCache) -> Ids {
    // It is the same entry by any name; when it is deleted, its rules go.
    if let Some(id) = base.entry {
        return std::iter::once(id.0).collect();
    }
    let mut id = |dn: &str| read_point.resolve(dn.as_bytes(), cache).map(|id| id.0).ok();
    match is_root_dse(base.dn.as_bytes()) {
        true => ROOT_DSES.into_iter().filter_map(id).collect(),
        false => id(&base.dn).into_iter().collect(),
    }
}
