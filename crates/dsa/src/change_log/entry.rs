//! What an entry of the change log has of a change, with the attributes of good-ldap-changelog-04 and those that 389 Directory Server and OpenDJ add.
//!
//! It is worked out when the change is put: what the schema holds secret by then is never kept.

use super::record::{put_absent, put_made, put_value};
use crate::access::is_shown;
use crate::audit::Note;
use crate::faults::holes;
use crate::system::System;
use env::planted;
use model::attribute::split_options;
use model::csn::write_generalized_time;
use model::dn;
use proto::ldif::{write_attribute, write_attribute_folded};
use proto::list::Attribute;
use proto::message::{Message, Request};
use proto::op::ModifyKind;
use schema::Schema;

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Add,
    Modify,
    Delete,
    Rename,
}

/// What changes that follow each other mostly have in common.
#[derive(Debug, Default)]
pub(super) struct Recent {
    /// Number of the schema by which the names were judged.
    generation: u64,
    /// Names without a secret: what was above the last target, and who made the last change.
    superior: Vec<u8>,
    actor: Vec<u8>,
    /// The last time, in seconds since 1970 and as text.
    second: u64,
    time: Vec<u8>,
}

impl Recent {
    /// As [`names_secret`], of the name of an entry.
    fn names_secret(&mut self, schema: &Schema, name: &[u8]) -> bool {
        let (first, superior) = dn::split_first(name);
        let Some(superior) = superior else { return names_secret(schema, name) };
        if superior == self.superior {
            return rdn_names_secret(schema, first);
        }
        let names = names_secret(schema, name);
        if !names {
            keep(&mut self.superior, superior);
        }
        names
    }

    /// May it be known who has made a change?
    fn tells(&mut self, schema: &Schema, actor: &[u8]) -> bool {
        if actor != self.actor {
            if names_secret(schema, actor) {
                return false;
            }
            keep(&mut self.actor, actor);
        }
        !actor.is_empty()
    }

    /// A time as text.
    fn time(&mut self, wall_ms: u64) -> &[u8] {
        if self.second != wall_ms / 1000 || self.time.is_empty() {
            self.second = wall_ms / 1000;
            self.time.clear();
            write_generalized_time(wall_ms, &mut self.time);
        }
        &self.time
    }
}

fn keep(kept: &mut Vec<u8>, name: &[u8]) {
    kept.clear();
    kept.extend_from_slice(name);
}

/// Appends the values of a change, in the order of [`super::record::ATTRIBUTES`]. `None` of what is not listed: a change of the server's own entries, and
/// one whose name has a secret in it; then what was appended is no good.
pub(super) fn put_values(
    out: &mut Vec<u8>,
    recent: &mut Recent,
    system: &System,
    (actor, wall_ms): (&[u8], u64),
    message: &[u8],
    note: &Note,
) -> Option<Kind> {
    let schema = &**system.shard().schema();
    if recent.generation != schema.generation() {
        *recent = Recent { generation: schema.generation(), ..Recent::default() };
    }
    let message = Message::decode(message).ok()?;
    let (target, kind, name) = match &message.request {
        Request::Add(add) => (add.dn, Kind::Add, "add"),
        Request::Modify(modify) => (modify.dn, Kind::Modify, "modify"),
        Request::Delete(dn) => (*dn, Kind::Delete, "delete"),
        Request::ModifyDn(rename) => (rename.dn, Kind::Rename, "modrdn"),
        // Nothing else is applied by the log.
        _ => return None,
    };
    // The subschema is the only one of the server's own that the log changes, and the only entry without an entryUUID where entries have one.
    if recent.names_secret(schema, target) || (note.uuid.is_empty() && system.holds(target)) {
        return None;
    }
    put_value(out, target);
    put_value(out, name.as_bytes());
    // What a deleted entry had is not said: a reader of the changes before knows it.
    put_made(out, |out| match &message.request {
        Request::Add(add) => put_added(schema, add.attributes.iter(), out),
        Request::Modify(modify) => {
            modify
                .changes
                .iter()
                .for_each(|change| put_change(schema, change.kind, change.modification, out));
        }
        _ => {}
    });
    match &message.request {
        Request::ModifyDn(rename) => {
            let superior = rename.new_superior.unwrap_or_default();
            if names_secret(schema, rename.new_rdn) || names_secret(schema, superior) {
                return None;
            }
            put_value(out, rename.new_rdn);
            put_value(out, if rename.delete_old_rdn { b"TRUE" } else { b"FALSE" });
            match rename.new_superior {
                Some(superior) => put_value(out, superior),
                None => put_absent(out),
            }
        }
        _ => (0..3).for_each(|_| put_absent(out)),
    }
    match recent.tells(schema, actor) {
        true => put_value(out, actor),
        false => put_absent(out),
    }
    match &note.uuid[..] {
        [] => put_absent(out),
        uuid => put_value(out, uuid),
    }
    put_value(out, recent.time(wall_ms));
    Some(kind)
}

/// Appends the attributes of a new entry as LDIF.
/// They are those that the client has sent: what the server adds by itself a reader's own server adds too.
fn put_added<'a>(schema: &Schema, attributes: impl Iterator<Item = Attribute<'a>>, out: &mut Vec<u8>) {
    for attribute in attributes.filter(|attribute| is_listed(schema, attribute.description)) {
        for value in attribute.values.iter() {
            write_attribute(out, attribute.description, value);
        }
    }
}

/// A change of a modify as LDIF, as RFC 2849 has it.
/// One of an attribute that is not listed is left out as a whole: how many values a password has is nobody's business either.
fn put_change(schema: &Schema, kind: ModifyKind, change: Attribute<'_>, out: &mut Vec<u8>) {
    if !is_listed(schema, change.description) {
        return;
    }
    let word = match kind {
        ModifyKind::Add => "add",
        ModifyKind::Delete => "delete",
        ModifyKind::Replace => "replace",
        ModifyKind::Increment => "increment",
    };
    write_attribute_folded(out, word.as_bytes(), change.description, 0);
    for value in change.values.iter() {
        write_attribute(out, change.description, value);
    }
    out.extend_from_slice(b"-\n");
}

/// Is an attribute one that a star of a rule selects? The others have passwords, keys, rules, or the state of passwords.
fn is_listed(schema: &Schema, description: &[u8]) -> bool {
    let found = schema.find_type(split_options(description).0);
    found.is_some_and(|id| is_shown(schema, id) || planted::is(holes::SECRET_IN_CHANGE_LOG))
}

/// As [`names_secret`], of one RDN. Mostly it has one part, whose type is a plain word: nothing else of it need be looked at.
fn rdn_names_secret(schema: &Schema, rdn: &[u8]) -> bool {
    let equals = rdn.iter().position(|&byte| byte == b'=').filter(|_| !rdn.contains(&b'+'));
    match equals.map(|at| &rdn[..at]) {
        Some(word) if word.iter().all(u8::is_ascii_alphanumeric) => !is_listed(schema, word),
        _ => names_secret(schema, rdn),
    }
}

/// Has a DN a value of an attribute in it whose values are not shown?
fn names_secret(schema: &Schema, name: &[u8]) -> bool {
    let mut names = false;
    let parsed = dn::parse_each(name, |rdn| {
        names |= rdn.iter().any(|ava| !is_listed(schema, ava.attribute_type));
    });
    parsed.is_ok() && names
}
