//! Is somebody a member of a group? From the group down, as far as groups are members of it.

use crate::evaluate::{evaluate, normal};
use crate::name::Name;
use crate::rule::Reach;
use crate::truth::Truth;
use crate::world::{Entry, World};
use model::{Scope, TypeId, percent};
use proto::ldap_url::LdapUrl;
use schema::{Rule, Schema};
use std::collections::BTreeSet;

/// How deep groups in groups are looked at.
pub const DEPTH_MAX: usize = 32;

/// Classes of groups, and the attribute that names members of each.
const CLASSES: [(&str, &str); 5] = [
    ("groupOfNames", "member"),
    ("groupOfMembers", "member"),
    ("groupOfUniqueNames", "uniqueMember"),
    ("posixGroup", "memberUid"),
    ("groupOfURLs", "memberURL"),
];

/// One who may be a member.
pub struct Candidate<'c> {
    /// Its name.
    pub name: &'c Name,
    /// Its entry, if it has one.
    pub entry: Option<&'c Entry>,
}

/// Is somebody a member of the group? Undefined if there is no such group.
pub fn is_member<W: World + ?Sized>(world: &W, group: &Name, is_nested: bool, who: &Candidate<'_>) -> Truth {
    let Some(first) = world.entry(group).filter(|entry| !kinds(world, entry).is_empty()) else {
        return Truth::Undefined;
    };
    let (mut level, mut seen) = (vec![first], BTreeSet::from([group.clone()]));
    let mut doubt = Truth::False;
    for _ in 0..=DEPTH_MAX {
        let mut next = Vec::new();
        for group in &level {
            match has_member(world, group, who) {
                Truth::True => return Truth::True,
                truth => doubt = Truth::any([doubt, truth]),
            }
            let below = names(world, group).filter(|name| is_nested && seen.insert(name.clone()));
            next.extend(
                below.filter_map(|name| world.entry(&name)).filter(|entry| !kinds(world, entry).is_empty()),
            );
        }
        level = next;
    }
    doubt
}

/// The attributes that name members of a group, by its classes.
fn kinds<W: World + ?Sized>(world: &W, entry: &Entry) -> Vec<&'static str> {
    let schema = world.schema();
    let of_entry: Vec<_> =
        entry.values(schema, "objectClass").filter_map(|value| schema.find_class(value)).collect();
    let is = |class: &str| {
        let class = schema.find_class(class.as_bytes());
        class.is_some_and(|class| of_entry.iter().any(|own| schema.is_subclass(*own, class)))
    };
    CLASSES.iter().filter(|(class, _)| is(class)).map(|(_, attribute)| *attribute).collect()
}

/// The DNs of members that a group lists.
fn names<W: World + ?Sized>(world: &W, group: &Entry) -> impl Iterator<Item = Name> {
    let schema = world.schema();
    let by_dn = kinds(world, group).into_iter().filter(|kind| matches!(*kind, "member" | "uniqueMember"));
    let mut names = Vec::new();
    for kind in by_dn {
        names.extend(group.values(schema, kind).filter_map(|value| Name::parse(schema, dn_of(value))));
    }
    names.into_iter()
}

/// The DN in a value of an attribute: of a name with an optional UID, without the UID.
pub fn name_in<'v>(schema: &Schema, attribute_type: TypeId, value: &'v [u8]) -> &'v [u8] {
    match schema.attribute_type(attribute_type).equality {
        Some(Rule::UniqueMember) => dn_of(value),
        _ => value,
    }
}

/// The DN of a value that may have a unique identifier behind it (RFC 4517, 3.3.21).
pub(crate) fn dn_of(value: &[u8]) -> &[u8] {
    let is_bits = |text: &[u8]| {
        text.strip_prefix(b"'")
            .and_then(|text| text.strip_suffix(b"'B"))
            .is_some_and(|bits| bits.iter().all(|bit| matches!(bit, b'0' | b'1')))
    };
    match value.iter().rposition(|byte| *byte == b'#') {
        Some(at) if is_bits(&value[at + 1..]) => &value[..at],
        _ => value,
    }
}

/// Is somebody a member of this one group, not of groups in it?
fn has_member<W: World + ?Sized>(world: &W, group: &Entry, who: &Candidate<'_>) -> Truth {
    let schema = world.schema();
    if names(world, group).any(|name| name == *who.name) {
        return Truth::True;
    }
    let kinds = kinds(world, group);
    let by_uid = kinds.contains(&"memberUid") && who.entry.is_some_and(|entry| has_uid(world, group, entry));
    let urls = group.values(schema, "memberURL").filter(|_| kinds.contains(&"memberURL"));
    Truth::any(urls.map(|url| matches_url(schema, url, who)).chain([Truth::of(by_uid)]))
}

/// Is one of the names of an account listed?
fn has_uid<W: World + ?Sized>(world: &W, group: &Entry, who: &Entry) -> bool {
    let schema = world.schema();
    let rule = schema.find_type(b"memberUid").and_then(|id| schema.attribute_type(id).equality);
    let Some(rule) = rule else { return false };
    let own: Vec<_> = who.values(schema, "uid").filter_map(|uid| normal(schema, rule, uid)).collect();
    group
        .values(schema, "memberUid")
        .filter_map(|uid| normal(schema, rule, uid))
        .any(|uid| own.contains(&uid))
}

/// Is somebody found by a URL of a search (RFC 4516)? Undefined if it is none, or one of another server.
pub fn matches_url(schema: &Schema, url: &[u8], who: &Candidate<'_>) -> Truth {
    let Some(MemberUrl { base, reach, filter, .. }) = MemberUrl::parse(schema, url) else {
        return Truth::Undefined;
    };
    if !who.name.is_within(reach, &base) {
        return Truth::False;
    }
    let Some(entry) = who.entry else { return Truth::False };
    evaluate(schema, &filter.filter(), entry)
}

/// The search that a URL is. It is one of this directory: a URL with a host is none.
pub struct MemberUrl {
    /// Its base, as the URL has it.
    pub dn: Vec<u8>,
    /// Names of attributes, with commas between them.
    pub attributes: String,
    /// Its base.
    pub base: Name,
    /// Where it looks from there.
    pub reach: Reach,
    /// Its filter.
    pub filter: proto::filter_string::FilterBuf,
}

impl MemberUrl {
    /// Reads a URL (RFC 4516); `None` if it is none, is one of another server, or has a critical extension (section 2): none is known here.
    pub fn parse(schema: &Schema, url: &[u8]) -> Option<MemberUrl> {
        let url = LdapUrl::of_this_directory(url.trim_ascii()).filter(|url| !url.has_critical_extension())?;
        let dn = url.dn()?;
        let reach = match url.scope()? {
            None | Some(Scope::Base) => Reach::Base,
            Some(Scope::One) => Reach::One,
            Some(_) => Reach::Subtree,
        };
        let filter = match url.filter {
            b"" => b"(objectClass=*)".to_vec(),
            text => percent::decoded(text)?,
        };
        let filter = proto::filter_string::parse(&filter).ok()?;
        let base = Name::parse(schema, &dn)?;
        let attributes = String::from_utf8(percent::decoded(url.attributes)?).ok()?;
        Some(MemberUrl { dn, attributes, base, reach, filter })
    }
}

#[cfg(test)]
mod tests;
