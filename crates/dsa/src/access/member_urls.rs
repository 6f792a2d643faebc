//! The values of `memberURL`: searches of this directory that find members of a group.
//!
//! They are read for each use. A group has few, and what a search finds may change with every update, so there is nothing that is worth to be
//! kept.

use super::candidate::each_value;
use ::access::Reach;
use ::access::group::MemberUrl;
use model::{EntryId, Scope};
use store::search::members::MayTest;
use store::{EntryRef, ReadPoint};

/// The attribute that has the URLs.
pub(in crate::access) const MEMBER_URL: &str = "memberURL";

/// A search for members, as it is to be a part of a filter.
pub(in crate::access) struct UrlSearch {
    pub(in crate::access) base: EntryId,
    pub(in crate::access) scope: Scope,
    pub(in crate::access) url: MemberUrl,
    pub(in crate::access) may: Option<MayTest>,
}

/// The searches that find members of a group. What is no URL of this directory is left out.
pub(crate) fn urls(group: &EntryRef<'_>, read_point: ReadPoint<'_>) -> Vec<MemberUrl> {
    let schema = read_point.shard().schema();
    let mut found = Vec::new();
    if let Some(attribute_type) = schema.find_type(MEMBER_URL.as_bytes()) {
        each_value(group, attribute_type, read_point, &mut |url| found.extend(MemberUrl::parse(schema, url)));
    }
    found
}

/// The scope of a search. A URL that names none has the base alone (RFC 4516 section 2).
pub(crate) fn scope(url: &MemberUrl) -> Scope {
    match url.reach {
        Reach::Base => Scope::Base,
        Reach::One => Scope::One,
        Reach::Subtree => Scope::Subtree,
        Reach::Children => Scope::Subordinates,
    }
}
