//! Collective attributes (RFC 3671): which entries a subentry of class collectiveAttributeSubentry is about.
//!
//! Nothing of it is stored in these entries. The ids of such subentries are kept ([`crate::kinds`]), as those of aliases are, so a directory without any
//! pays one look at an empty set. What a subentry says of its entries is made ready by who reads its specification ([`Collection`]), at one read point: names
//! are ids there, and asking whether an entry is among its entries is a walk up from it.
//!
//! ```text
//! collective_subentries   which subentries there are at a read point
//! is_in_collection        is an entry among the entries of one?
//! collective_exclusions   what the entry keeps away
//! may_collect             both an exclusion and a stored value keep an attribute away
//! ```
//! No list of members is kept: it would have to follow each add, rename and change of classes. The walk is as long as the entry is deep below the superior, and
//! each step looks at the shape of an entry alone, unless that has a role of its own.

use crate::record::EntryRef;
use crate::shape::Kind;
use crate::shard::{ReadPoint, Shard, Writer};
use model::{ClassId, Description, EntryId, TypeId};
use schema::Schema;
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// Descriptor and OID that exclude all collective attributes from an entry (RFC 3671 section 2.3).
const ALL: [&[u8]; 2] = [b"excludeAllCollectiveAttributes", b"2.5.18.0"];
/// Roles of an entry at which another area of collective attributes begins: autonomousArea and collectiveAttributeSpecificArea (RFC 3672 section 2.2). An inner area
/// lies within the one around it, and is no end of it.
const AREAS: [[&[u8]; 2]; 2] =
    [[b"autonomousArea", b"2.5.23.1"], [b"collectiveAttributeSpecificArea", b"2.5.23.5"]];

/// The entries of a subentry of collective attributes, at one read point (RFC 3672 section 2.1).
pub struct Collection {
    /// The subentry.
    pub subentry: EntryId,
    /// Its DN.
    pub dn: Vec<u8>,
    /// The entry that it is directly below.
    pub superior: EntryId,
    /// Where its entries begin: the superior, or an entry below that.
    pub base: EntryId,
    /// Levels below the base from which on entries are meant, and up to which, if there is an end.
    pub levels: (u32, Option<u32>),
    /// Entries that are cut off with all below them.
    pub before: Vec<EntryId>,
    /// Entries below which all is cut off.
    pub after: Vec<EntryId>,
    /// What else they are.
    pub meant: Meant,
    /// The collective attributes that it has, in the order of its record.
    pub attributes: Vec<Description>,
}

impl fmt::Debug for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entries of {:?}", self.subentry)
    }
}

/// A collective attribute of a subentry, with values that an item of a filter is true of (`search/collected.rs`).
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) collection: Arc<Collection>,
    pub(crate) description: Description,
    /// One at least.
    pub(crate) values: Vec<Box<[u8]>>,
}

impl Source {
    /// Bytes of memory, without those of the collection, which searches share.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of::<Source>()
            + self.values.iter().map(|value| value.len() + size_of::<Box<[u8]>>()).sum::<usize>()
    }
}

/// Is an entry meant?
pub type MeantTest = Box<dyn Fn(&EntryRef<'_>, ReadPoint<'_>) -> bool + Send + Sync>;

/// Which entries of a subtree are meant.
pub enum Meant {
    /// All of them.
    All,
    /// Those of certain object classes.
    Classes(Refinement),
    /// Those that pass a test. It knows no collective attributes.
    Test(MeantTest),
}

/// Which object classes an entry has (RFC 3672 section 2.1.4).
#[derive(Debug)]
pub enum Refinement {
    /// This one; `None`: one that the schema does not know, which no entry has.
    Item(Option<ClassId>),
    /// All are true.
    And(Vec<Refinement>),
    /// One is true.
    Or(Vec<Refinement>),
    /// It is not true.
    Not(Box<Refinement>),
}

impl Refinement {
    /// The depth is that of a text that was read, which is bounded.
    fn is_true(&self, schema: &Schema, classes: &[Box<[u8]>]) -> bool {
        match self {
            Refinement::Item(None) => false,
            Refinement::Item(Some(asked)) => {
                let mut own = classes.iter().filter_map(|name| schema.find_class(name));
                own.any(|own| schema.is_subclass(own, *asked))
            }
            Refinement::And(all) => all.iter().all(|one| one.is_true(schema, classes)),
            Refinement::Or(all) => all.iter().any(|one| one.is_true(schema, classes)),
            Refinement::Not(one) => !one.is_true(schema, classes),
        }
    }
}

/// Which collective attributes an entry does not show, though it is among the entries of their subentry.
#[derive(Debug, PartialEq, Eq)]
pub enum Exclusions {
    /// All of them.
    All,
    /// Those of these types. Nearly always there is none.
    Types(SmallVec<[TypeId; 4]>),
}

impl Exclusions {
    /// Is this attribute excluded?
    pub fn have(&self, attribute_type: TypeId) -> bool {
        match self {
            Exclusions::All => true,
            Exclusions::Types(types) => types.contains(&attribute_type),
        }
    }
}

impl Shard {
    /// Are there subentries of collective attributes, or were there lately? One load, which is all that others pay.
    #[inline]
    pub fn has_collective(&self) -> bool {
        self.kinds.collective.len() > 0
    }

    /// Number of subentries of collective attributes, with some that were some lately.
    pub fn collective_subentries(&self) -> usize {
        self.kinds.collective.len() as usize
    }
}

impl<'a> ReadPoint<'a> {
    /// The subentries of collective attributes, by rising id.
    pub fn collective_subentries(self) -> Vec<EntryRef<'a>> {
        let mut ids = Vec::new();
        self.shard.kinds.collective.push_from(0, usize::MAX, self, &mut ids);
        let entries = ids.into_iter().filter_map(|id| self.entry(EntryId(id)));
        entries.filter(|entry| entry.shape.is_collective).collect()
    }

    /// Is an entry among those of a subentry? No subentry is (RFC 3671 section 1.1).
    ///
    /// The walk ends at the superior of the subentry, and as soon as the entry is found to be in another area or cut off.
    pub fn is_in_collection(self, collection: &Collection, entry: &EntryRef<'_>) -> bool {
        if entry.shape.kind == Kind::Subentry {
            return false;
        }
        // Levels are counted from the entry upwards, so the base tells how deep below it the entry is.
        let (mut at, mut count, mut below_base) = (*entry, 0, None);
        while at.id != collection.superior {
            let is_cut =
                collection.before.contains(&at.id) || (count > 0 && collection.after.contains(&at.id));
            if is_cut || self.begins_area(&at) {
                return false;
            }
            if at.id == collection.base {
                below_base = Some(count);
            }
            let Some(above) = self.entry(at.parent()) else { return false };
            (at, count) = (above, count + 1);
        }
        if collection.base == collection.superior {
            below_base = Some(count);
        }
        // An exclusion may name the base itself, by an empty name.
        let is_cut = collection.before.contains(&at.id) || (count > 0 && collection.after.contains(&at.id));
        let (minimum, maximum) = collection.levels;
        let is_within = below_base
            .is_some_and(|count| count >= minimum && maximum.is_none_or(|maximum| count <= maximum));
        is_within
            && !is_cut
            && match &collection.meant {
                Meant::All => true,
                Meant::Classes(refinement) => {
                    refinement.is_true(&self.shard.schema, &entry.shape.class_values)
                }
                Meant::Test(test) => test(entry, self),
            }
    }

    /// May an entry show this attribute, if it is among the entries of a subentry that has it? Not if it is excluded, nor if the entry stores it, as
    /// an earlier version let it: then it has that one. Which subentries an entry is among is excluded by nothing.
    pub fn may_collect(
        self,
        entry: &EntryRef<'_>,
        description: Description,
        exclusions: &Exclusions,
    ) -> bool {
        let subentries = self.shard.schema.well_known().collective_attribute_subentries;
        (description.attribute_type == subentries || !exclusions.have(description.attribute_type))
            && entry.shape.position(description).is_none()
    }

    /// Does another area begin at an entry, which is none of those around it?
    fn begins_area(self, entry: &EntryRef<'_>) -> bool {
        let role = self.shard.schema.well_known().administrative_role;
        let mut begins = false;
        self.each_of_type(entry, role, &mut |value| {
            begins |= AREAS.iter().flatten().any(|area| value.eq_ignore_ascii_case(area));
        });
        begins
    }

    /// Which collective attributes an entry excludes. An attribute is excluded that is named, and none that is derived from it: a value names "a particular
    /// collective attribute" (RFC 3671 section 2.3).
    pub fn collective_exclusions(self, entry: &EntryRef<'_>) -> Exclusions {
        let schema = &self.shard.schema;
        let (mut is_all, mut types) = (false, SmallVec::new());
        self.each_of_type(entry, schema.well_known().collective_exclusions, &mut |value| {
            is_all |= ALL.iter().any(|all| value.eq_ignore_ascii_case(all));
            types.extend(schema.find_type(value));
        });
        if is_all { Exclusions::All } else { Exclusions::Types(types) }
    }

    /// Hands all values of an attribute to `each`, whatever its options are.
    fn each_of_type(self, entry: &EntryRef<'_>, attribute_type: TypeId, each: &mut dyn FnMut(&[u8])) {
        // Nearly no entry has it, and the shape says so.
        if entry.shape.slots.iter().all(|slot| slot.description.attribute_type != attribute_type) {
            return;
        }
        for (slot, values) in entry.shape.slots.iter().zip(entry.slots()) {
            if slot.description.attribute_type == attribute_type {
                self.each_value(values, &mut *each);
            }
        }
    }
}

impl Writer<'_> {
    /// Forgets that an entry was a subentry of collective attributes, unless a version that a reader may see is.
    pub(crate) fn forget_collective(&mut self, id: u32, oldest: u64) {
        let (shard, view) = (self.shard, self.view());
        if !self.any_version(id, oldest, |_, entry| entry.shape.is_collective) {
            shard.kinds.collective.remove(id, view, &mut self.state.garbage);
        }
    }
}
