//! An entry of the change log, with the attributes of good-ldap-changelog-04 and those that 389 Directory Server and OpenDJ add.

use crate::access::is_shown;
use crate::audit::{Carried, Note};
use crate::faults::holes;
use crate::system::{System, put_all};
use env::planted;
use model::Entry;
use model::attribute::split_options;
use model::csn::write_generalized_time;
use model::dn;
use proto::ldif::{write_attribute, write_attribute_folded};
use proto::list::Attribute;
use proto::message::{Message, Request};
use proto::op::ModifyKind;
use schema::Schema;

/// Its object class.
pub(super) const CHANGE_LOG_ENTRY: &str = "changeLogEntry";

/// Fills the entry of a change. How many bytes its values have; `None` of what is not listed: a change of the server's own entries, and one whose
/// name has a secret in it.
pub(super) fn fill(
    entry: &mut Entry,
    system: &System,
    (number, carried): (u64, &Carried),
    message: &[u8],
    note: &Note,
) -> Option<usize> {
    let schema = &**system.shard().schema();
    let message = Message::decode(message).ok()?;
    let mut bytes = 0;
    let mut give = |attribute: &str, value: &[u8]| {
        bytes += value.len();
        put_all(entry, schema, attribute, [value]);
    };
    // One value of each attribute: all of them are single-valued but the object class.
    give("changeNumber", number.to_string().as_bytes());
    let (target, kind, changes) = match &message.request {
        Request::Add(add) => (add.dn, "add", added(schema, add.attributes.iter())),
        Request::Modify(modify) => {
            let mut changes = Vec::new();
            for change in modify.changes.iter() {
                put_change(schema, change.kind, change.modification, &mut changes);
            }
            (modify.dn, "modify", changes)
        }
        // What it had is not said: a reader of the changes before knows it.
        Request::Delete(dn) => (*dn, "delete", Vec::new()),
        Request::ModifyDn(rename) => {
            let superior = rename.new_superior.unwrap_or_default();
            if names_secret(schema, rename.new_rdn) || names_secret(schema, superior) {
                return None;
            }
            give("newRDN", rename.new_rdn);
            give("deleteOldRDN", if rename.delete_old_rdn { b"TRUE" } else { b"FALSE" });
            if rename.new_superior.is_some() {
                give("newSuperior", superior);
            }
            (rename.dn, "modrdn", Vec::new())
        }
        // Nothing else is applied by the log.
        _ => return None,
    };
    // The subschema is the only one of the server's own that the log changes.
    if names_secret(schema, target) || system.holds(target) {
        return None;
    }
    give("targetDN", target);
    give("changeType", kind.as_bytes());
    if !changes.is_empty() {
        give("changes", &changes);
    }
    if !note.uuid.is_empty() {
        give("targetEntryUUID", &note.uuid);
    }
    if !names_secret(schema, &carried.actor) && !carried.actor.is_empty() {
        give("changeInitiatorsName", &carried.actor);
    }
    let mut time = Vec::new();
    write_generalized_time(carried.wall_ms, &mut time);
    give("changeTime", &time);
    put_all(entry, schema, "objectClass", ["top", CHANGE_LOG_ENTRY]);
    Some(bytes)
}

/// The attributes of a new entry as LDIF.
/// They are those that the client has sent: what the server adds by itself a reader's own server adds too.
fn added<'a>(schema: &Schema, attributes: impl Iterator<Item = Attribute<'a>>) -> Vec<u8> {
    let mut out = Vec::new();
    for attribute in attributes.filter(|attribute| is_listed(schema, attribute.description)) {
        for value in attribute.values.iter() {
            write_attribute(&mut out, attribute.description, value);
        }
    }
    out
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

/// Has a DN a value of an attribute in it whose values are not shown?
fn names_secret(schema: &Schema, name: &[u8]) -> bool {
    dn::parse(name).is_ok_and(|rdns| rdns.iter().flatten().any(|ava| !is_listed(schema, ava.attribute_type)))
}
