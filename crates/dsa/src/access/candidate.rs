//! Somebody of whom it is asked where its name lies, and in which groups it is: the questions of a bind, and of entries that name groups.
//!
//! A bind asks all of them of the same name. So its normal form is made once, and a filter on groups by uid only if a group lists members by
//! uid. Names lie within each other as their normal forms do: that of a superior is the end of that of its subordinates.

use super::class::on_values::OwnName;
use ::access::Reach;
use model::filter::Assertion;
use model::{Filter, TypeId};
use schema::Schema;
use std::cell::OnceCell;
use store::search::Compiled;
use store::search::evaluate::Truth;
use store::{EntryRef, ReadPoint, Values};

/// Attributes whose values are DNs of members, and the one whose values are their uids.
pub(super) const MEMBERS: [&str; 2] = ["member", "uniqueMember"];
pub(super) const MEMBER_UID: &str = "memberUid";
const UID: &str = "uid";

/// Somebody of whom it is asked where its name lies, and in which groups it is. What these questions have in common is worked out once.
/// It is there as long as a bind, or as the look at one entry: nothing of it has to notice that a name or an entry changes.
pub(super) struct Candidate<'a> {
    /// Empty of anonymous.
    dn: &'a [u8],
    own: Option<EntryRef<'a>>,
    name: OnceCell<Option<OwnName>>,
    /// True of the groups that it is a member of by its uid.
    by_uid: OnceCell<Compiled>,
}

impl<'a> Candidate<'a> {
    /// `own`: its entry, if there is one at the read point at which it is asked.
    pub(super) fn new(dn: &'a [u8], own: Option<EntryRef<'a>>) -> Candidate<'a> {
        Candidate { dn, own, name: OnceCell::new(), by_uid: OnceCell::new() }
    }

    /// Is it a client that did not bind? It lies nowhere, and is a member of nothing.
    pub(super) fn is_nobody(&self) -> bool {
        self.dn.is_empty()
    }

    /// The name by which it is bound, as it was sent.
    pub(super) fn dn(&self) -> &'a [u8] {
        self.dn
    }

    /// Its entry. A bound name need not have one: it may have been deleted since.
    pub(super) fn entry(&self) -> Option<&EntryRef<'a>> {
        self.own.as_ref()
    }

    /// The name, ready to be compared; `None` of what is no name. It is made at the first question that needs it.
    pub(super) fn name(&self, schema: &Schema) -> Option<&OwnName> {
        self.name.get_or_init(|| OwnName::new(schema, self.dn.to_vec())).as_ref()
    }

    /// A filter that is true of groups that list it. It is for groups that have members by uid: uids are values of the own entry.
    pub(super) fn by_uid(&self, read_point: ReadPoint<'_>) -> &Compiled {
        self.by_uid.get_or_init(|| asks_for(self.dn, self.own.as_ref(), read_point))
    }

    /// Does its name lie there? Undefined if one of the two is no name. The base need not be an entry, nor need the candidate have one.
    pub(super) fn lies(&self, schema: &Schema, reach: Reach, base: Option<&[u8]>) -> Truth {
        if self.is_nobody() {
            return Truth::False;
        }
        let (Some(base), Some(own)) = (base, self.name(schema)) else { return Truth::Undefined };
        match is_within(own.key(), reach, base) {
            true => Truth::True,
            false => Truth::False,
        }
    }
}

/// Does a name lie there? By normal forms of both.
pub(super) fn is_within(own: &[u8], reach: Reach, base: &[u8]) -> bool {
    let mut superiors = std::iter::successors(superior(own), |own| superior(own));
    match reach {
        Reach::Base => own == base,
        Reach::One => superiors.next() == Some(base),
        Reach::Subtree => own == base || superiors.any(|above| above == base),
        Reach::Children => superiors.any(|above| above == base),
    }
}

/// The normal form of a name's superior, in which it ends. None of one below the root.
fn superior(key: &[u8]) -> Option<&[u8]> {
    let (parts, mut rest) = key.split_first()?;
    for _ in 0..*parts {
        let (len, behind) = rest.get(2..)?.split_first_chunk::<2>()?;
        rest = behind.get(usize::from(u16::from_be_bytes(*len))..)?;
    }
    Some(rest).filter(|rest| !rest.is_empty())
}

/// True of the groups that a requester is a direct member of.
/// One search for all kinds of groups, instead of one for each: what a requester is a member of by DN, and by its uid in groups of POSIX.
pub(crate) fn asks_for(dn: &[u8], own: Option<&EntryRef<'_>>, read_point: ReadPoint<'_>) -> Compiled {
    let schema = read_point.shard().schema();
    let uids = own.map_or(Vec::new(), |own| values_of(own, UID, schema, read_point));
    let equality = |attribute: &'static str, value| {
        Filter::Equality(Assertion { attribute: attribute.as_bytes(), value })
    };
    let mut items: Vec<Filter<'_>> = MEMBERS.iter().map(|name| equality(name, dn)).collect();
    items.extend(uids.iter().map(|uid| equality(MEMBER_UID, uid)));
    Compiled::new(&Filter::Or(items), read_point.shard(), &|_| true)
}

/// Values of an attribute of an entry that are no big set.
fn values_of(entry: &EntryRef<'_>, name: &str, schema: &Schema, read_point: ReadPoint<'_>) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    if let Some(attribute_type) = schema.find_type(name.as_bytes()) {
        each_value(entry, attribute_type, read_point, &mut |value| found.push(value.to_vec()));
    }
    found
}

/// Calls `each` with every value of an attribute, whatever its options are.
/// Of a large set a leaf at a time, so that nothing of the tree stays borrowed while `each` runs.
pub(crate) fn each_value(
    entry: &EntryRef<'_>,
    attribute_type: TypeId,
    read_point: ReadPoint<'_>,
    each: &mut dyn FnMut(&[u8]),
) {
    for (slot, values) in entry.shape.slots.iter().zip(entry.slots()) {
        match values {
            _ if slot.description.attribute_type != attribute_type => {}
            Values::Inline(values) => values.for_each(&mut *each),
            Values::Set(set) => {
                let mut position = Default::default();
                while read_point.set_values(&set, &mut position, &mut *each) {}
            }
        }
    }
}
