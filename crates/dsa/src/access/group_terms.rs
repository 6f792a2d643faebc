//! The types and classes that make a group of an entry, as numbers of the schema.
//!
//! To look them up by name takes as long as the rest of a search for the members of a small group. A thread remembers them while the schema
//! is the same ([`super::Views::group_terms`]).

use super::candidate::MEMBERS;
use super::member_urls::MEMBER_URL;
use model::{ClassId, TypeId};
use schema::Schema;
use store::EntryRef;

/// Classes of groups.
const CLASSES: [&str; 5] =
    ["groupOfNames", "groupOfMembers", "groupOfUniqueNames", "posixGroup", "groupOfURLs"];

/// What a schema calls groups. What it does not know is none.
#[derive(Clone, Copy)]
pub(super) struct GroupTerms {
    members: [Option<TypeId>; MEMBERS.len()],
    member_url: Option<TypeId>,
    classes: [Option<ClassId>; CLASSES.len()],
}

impl GroupTerms {
    /// Looks them up.
    pub(super) fn of(schema: &Schema) -> GroupTerms {
        GroupTerms {
            members: MEMBERS.map(|name| schema.find_type(name.as_bytes())),
            member_url: schema.find_type(MEMBER_URL.as_bytes()),
            classes: CLASSES.map(|name| schema.find_class(name.as_bytes())),
        }
    }

    /// The attributes that list members. Both count in groups of all classes, as for access rules.
    pub(super) fn members(self) -> impl Iterator<Item = TypeId> + Clone {
        self.members.into_iter().flatten()
    }

    /// Is it one of these attributes, and no subtype?
    pub(super) fn lists_in(self, attribute_type: TypeId) -> bool {
        self.members.contains(&Some(attribute_type))
    }

    /// The attribute whose values are searches for members.
    pub(super) fn member_url(self) -> Option<TypeId> {
        self.member_url
    }

    /// Has an entry an attribute with such searches? The shape says so, without a look at values.
    pub(super) fn has_urls(self, entry: &EntryRef<'_>) -> bool {
        let mut types = entry.shape.slots.iter().map(|slot| slot.description.attribute_type);
        self.member_url.is_some_and(|member_url| types.any(|of| of == member_url))
    }

    /// Is an entry a group? One of another class is none, whatever attributes it has.
    /// Its classes and their superclasses are asked, so that a class of one's own below groupOfNames counts.
    pub(super) fn is_group(self, entry: &EntryRef<'_>, schema: &Schema) -> bool {
        let is_of = |own: ClassId| self.classes.iter().flatten().any(|known| schema.is_subclass(own, *known));
        // The structural class mostly says it, and is known by its number.
        entry.shape.structural.is_some_and(is_of)
            || entry.shape.class_values.iter().filter_map(|name| schema.find_class(name)).any(is_of)
    }
}
