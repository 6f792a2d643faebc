//! Members of groups, as a filter asks for them: `(memberOf=G)`, and the rule that follows groups in groups.
//!
//! No entry stores what groups it is in. So such an item is answered from the other side: what makes the filter ready finds the
//! groups and says who is in them ([`super::filter::FindMembers`]), since it knows the rights of the one who asks. Members of small groups are ids. Those of a
//! large group stay in its set: an entry is looked for there by its name, and candidates are read from it a leaf at a time.
//!
//! All of it is true at the read point at which it was found, so a filter that has it is for searches at that read point alone.

use crate::record::ValueSet;
use model::{Description, TypeId};
use schema::Schema;
use std::fmt;
use std::sync::Arc;

/// OID of LDAP_MATCHING_RULE_IN_CHAIN. It is no row of the table of matching rules: it compares no values.
pub const IN_CHAIN: &[u8] = b"1.2.840.113556.1.4.1941";

/// An item of a filter about members.
#[derive(Clone, Debug)]
pub(crate) struct Membership {
    /// The attribute that the filter names.
    pub(crate) attribute_type: TypeId,
    /// The value that is asserted; empty if it is none.
    pub(crate) value: Box<[u8]>,
    /// Is it for the caller of the evaluation to say whether the value may be tested?
    pub(crate) is_judged: bool,
    pub(crate) members: Arc<Members>,
}

/// What a filter asks about memberships.
#[derive(Clone, Copy, Debug)]
pub enum MembersQuery<'f> {
    /// The members of the group with this DN, and with `in_chain` those of the groups in it.
    Members {
        /// DN of the group.
        group: &'f [u8],
        /// Whether groups in it count, however these are configured.
        in_chain: bool,
    },
    /// The members of all groups.
    AnyGroup,
    /// The groups that list this DN in an attribute, and those that list these groups.
    Groups {
        /// The attribute that the filter names.
        attribute_type: TypeId,
        /// DN of the member.
        member: &'f [u8],
    },
    /// The groups whose searches find the entry with this DN; nothing where there can be no such group.
    Finding {
        /// DN of the entry.
        member: &'f [u8],
    },
}

/// May the one who asks test this value of a group?
pub type MayTest = Arc<dyn Fn(&Schema, &[u8]) -> bool + Send + Sync>;

/// Entries that are members, or groups.
#[derive(Default)]
pub struct Members {
    /// Ascending.
    pub(super) ids: Vec<u32>,
    pub(super) sets: Vec<SetOfMembers>,
    /// Are all entries members whose names may be tested?
    pub(super) any: Option<Option<MayTest>>,
}

/// Members of a large group.
pub struct SetOfMembers {
    /// The values.
    pub set: ValueSet,
    /// The attribute that has them.
    pub description: Description,
    /// Which of them may be tested; `None`: all.
    pub may: Option<MayTest>,
}

impl fmt::Debug for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?} {}", self.ids, self.sets, self.any.is_some())
    }
}

impl fmt::Debug for SetOfMembers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} values of {:?}", self.set.count, self.description)
    }
}

impl Members {
    /// These entries, in any order, and those in the sets.
    pub fn new(mut ids: Vec<u32>, sets: Vec<SetOfMembers>) -> Members {
        ids.sort_unstable();
        ids.dedup();
        Members { ids, sets, any: None }
    }

    /// All entries whose names may be tested.
    pub(super) fn of_all(may: Option<MayTest>) -> Members {
        Members { any: Some(may), ..Members::default() }
    }

    /// How many there are at most.
    pub(super) fn len(&self) -> u64 {
        self.ids.len() as u64 + self.sets.iter().map(|set| u64::from(set.set.count)).sum::<u64>()
    }

    /// Those of small groups, ascending, if there are no others.
    pub(super) fn only_ids(&self) -> Option<&[u32]> {
        self.sets.is_empty().then_some(&self.ids[..])
    }

    /// Bytes of memory.
    pub(super) fn heap_bytes(&self) -> usize {
        self.ids.capacity() * size_of::<u32>() + self.sets.capacity() * size_of::<SetOfMembers>()
    }
}
