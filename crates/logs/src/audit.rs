//! Lines of the audit log: a change of an entry, with the values that it brought. Values of secrets are hidden.

use crate::hide::{self, Hider};
use crate::object::Object;
use crate::tracking;
use model::Csn;
use password::base64;
use proto::control::session_tracking;
use proto::list::Attribute;
use proto::message::{Message, Request};
use proto::op::ModifyKind;
use schema::Schema;

/// Where a line of the audit log stands: a record of the log, and a change within it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The record.
    pub index: u64,
    /// The change, from 1 on; [`Place::WHOLE`] after the last.
    pub number: u32,
}

impl Place {
    /// Stands for the whole record. In a line it is written as 0.
    pub const WHOLE: u32 = u32::MAX;

    /// All of a record.
    pub fn whole(index: u64) -> Place {
        Place { index, number: Place::WHOLE }
    }

    /// The place of a line, by its first octets. `None` if it is no line of an audit log.
    pub fn of_line(line: &[u8]) -> Option<Place> {
        let text = String::from_utf8_lossy(line);
        let (index, rest) = text.strip_prefix("{\"index\":")?.split_once(",\"n\":")?;
        let (number, _) = rest.split_once(',')?;
        let number = number.parse().ok()?;
        Some(Place { index: index.parse().ok()?, number: if number == 0 { Place::WHOLE } else { number } })
    }

    /// Octets of a line that have its place.
    pub const BYTES_MAX: usize = 64;

    fn put<'o>(self, out: &'o mut Vec<u8>, wall_ms: u64) -> Object<'o> {
        let mut object = Object::begin(out);
        let number = if self.number == Place::WHOLE { 0 } else { self.number };
        object.number("index", self.index).number("n", number.into()).time("t", wall_ms);
        object
    }
}

/// What there is to say of a change besides its message.
#[derive(Clone, Debug, Default)]
pub struct Change<'a> {
    /// When it was applied, in milliseconds since 1970.
    pub wall_ms: u64,
    /// Its number; `None` of what changes no entry.
    pub csn: Option<Csn>,
    /// The connection that it came on, as in the access log.
    pub connection: Option<String>,
    /// Who asked for it: a DN, empty for anonymous.
    pub who: &'a [u8],
    /// As whom it was applied, if that is another.
    pub acting: Option<&'a [u8]>,
    /// Where the client was; empty if nobody knows.
    pub peer: String,
    /// The load balancer that it came by; empty if by none.
    pub via: String,
    /// entryUUID of the entry; empty if it has none.
    pub uuid: &'a [u8],
    /// The first change of its transaction.
    pub transaction: Option<Place>,
    /// Does only the log know of it?
    pub is_recovered: bool,
}

/// Appends the line of a change. `message`: the request; empty of settings that only the log knows.
pub fn put_change(
    out: &mut Vec<u8>,
    (schema, hider): (&Schema, &Hider),
    place: Place,
    change: &Change<'_>,
    message: &[u8],
) {
    let mut object = place.put(out, change.wall_ms);
    if let Some(csn) = change.csn {
        object.text("csn", csn.to_string());
    }
    object.text_if("id", change.connection.as_deref().unwrap_or_default());
    let message = Message::decode(message).ok();
    if let Some(message) = message.as_ref().filter(|_| !change.is_recovered) {
        object.number("msgid", message.id.unsigned_abs().into());
    }
    // A name that the server has is a DN, but it may have a secret among its values.
    object.text_if("dn", hide::name(schema, change.who));
    if let Some(acting) = change.acting {
        object.text("as", hide::name(schema, acting));
    }
    object.text_if("peer", &change.peer).text_if("via", &change.via);
    if let Some(message) = &message
        && let Some(control) = message.controls.find(session_tracking::OID)
    {
        tracking::put(&mut object, &tracking::kept(control.value.unwrap_or_default()));
    }
    match &message {
        Some(message) => put_request(&mut object, (schema, hider), &message.request, change.uuid),
        None => _ = object.text("op", "settings"),
    }
    if let Some(Place { index, number }) = change.transaction {
        object.text("txn", format!("{index}.{number}"));
    }
    if change.is_recovered {
        object.flag("recovered");
    }
    object.end();
}

fn put_request(
    object: &mut Object<'_>,
    (schema, hider): (&Schema, &Hider),
    request: &Request<'_>,
    uuid: &[u8],
) {
    let mut begin = |op: &str, dn: &[u8]| {
        object.text("op", op).text("entry", hide::name(schema, dn)).text_if("entryUUID", uuid);
    };
    match request {
        Request::Add(add) => {
            begin("add", add.dn);
            object.objects("changes", add.attributes.iter(), |object, attribute| {
                put_values(object, (schema, hider), "add", attribute);
            });
        }
        Request::Modify(modify) => {
            begin("modify", modify.dn);
            object.objects("changes", modify.changes.iter(), |object, change| {
                put_values(object, (schema, hider), word_of(change.kind), change.modification);
            });
        }
        Request::Delete(dn) => begin("delete", dn),
        Request::ModifyDn(rename) => {
            begin("rename", rename.dn);
            object.text("newrdn", hide::name(schema, rename.new_rdn));
            if rename.delete_old_rdn {
                object.flag("deleteoldrdn");
            }
            if let Some(superior) = rename.new_superior {
                object.text("superior", hide::name(schema, superior));
            }
        }
        // Nothing else is applied by the log.
        _ => {}
    }
}

fn word_of(kind: ModifyKind) -> &'static str {
    match kind {
        ModifyKind::Add => "add",
        ModifyKind::Delete => "delete",
        ModifyKind::Replace => "replace",
        ModifyKind::Increment => "increment",
    }
}

/// Appends what is done with an attribute. What is no text comes in base64.
fn put_values(
    object: &mut Object<'_>,
    (schema, hider): (&Schema, &Hider),
    word: &str,
    attribute: Attribute<'_>,
) {
    object.text("do", word).text("attr", attribute.description);
    let is_hidden = hide::is_hidden(schema, attribute.description);
    let (mut texts, mut others) = (Vec::new(), Vec::new());
    for value in attribute.values.iter() {
        match std::str::from_utf8(value) {
            _ if is_hidden => texts.push(hide::secret(value)),
            _ if hider.hides() => texts.extend(hider.of(value)),
            Ok(text) => texts.push(text.to_owned()),
            Err(_) => others.push(base64::encode(value)),
        }
    }
    object.list("values", texts.iter().map(String::as_str));
    object.list("base64", others.iter().map(String::as_str));
}

/// Appends a line that is about the audit log itself: `what` is `begin`, where one begins that goes on behind a place; `snapshot`, up to where
/// the lines before are all there is; `import`, entries that came from a file.
pub fn put_mark(out: &mut Vec<u8>, wall_ms: u64, place: Place, what: &str) {
    place.put(out, wall_ms).text("op", what).end();
}

/// Appends a line that reports of records, some changes of which are in no line.
pub fn put_lost(out: &mut Vec<u8>, wall_ms: u64, (from, to): (u64, u64)) {
    Place::whole(to).put(out, wall_ms).text("op", "lost").number("from", from).number("to", to).end();
}

#[cfg(test)]
mod tests;
