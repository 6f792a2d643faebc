//! Modify of the subschema subentry (RFC 4512 section 4.4): definitions are added while the server runs. Anything else would need all
//! entries to be judged anew, and is refused.
//!
//! ```text
//! checked here as things are -> command of the log -> judged again and taken where it is applied, on every replica -> answered then
//! ```
//! What becomes of it depends on the definitions that there are and on the message alone.

mod rights;

pub(crate) use rights::may_change;

use crate::engine::Dsa;
use crate::outcome::{self, Refusal};
use crate::subschema;
use env::clock::Now;
use model::ResultCode;
use proto::message::{Message, Request};
use proto::op::modify::{Modify, ModifyKind};
use proto::tag::MODIFY_RESPONSE;
use schema::{NotAdded, ONLY_ADDITIONS, Schema};
use store::derived::SUBSCHEMA_DN;

/// Could a modify of the subschema be applied now?
///
/// # Errors
/// Its refusal.
#[cold]
pub(crate) fn judge(dsa: &Dsa, modify: &Modify<'_>) -> Result<(), Refusal> {
    let schema = dsa.shard.schema();
    let (types, classes) = definitions(schema, modify)?;
    schema.judge(&types, &classes).map_err(refusal)
}

/// Such a modify as the log has it, and other servers are sent it: under this name, and without controls.
pub(crate) fn message(id: i32, modify: &Modify<'_>) -> Vec<u8> {
    let mut message = Vec::new();
    let modify = Modify { dn: SUBSCHEMA_DN.as_bytes(), changes: modify.changes };
    Request::Modify(modify).encode(&mut message, id, &[]);
    message
}

/// Applies a modify of the subschema, in the only place where entries are changed, and answers it.
#[cold]
pub(crate) fn run(dsa: &Dsa, message: &[u8], now: Now, out: &mut Vec<u8>) {
    let message = match Message::decode(message) {
        Ok(message) => message,
        Err(error) => {
            outcome::answer_malformed(&error, out);
            return;
        }
    };
    let done = match message.request {
        Request::Modify(modify) => take(dsa, &modify, now),
        _ => Err((ResultCode::UnwillingToPerform, ONLY_ADDITIONS.to_owned())),
    };
    match done {
        Ok(()) => outcome::succeed(out, message.id, MODIFY_RESPONSE),
        Err((code, text)) => outcome::say(out, message.id, MODIFY_RESPONSE, code, &text),
    }
}

/// Puts the definitions in force, in an order in which nothing that runs meanwhile sees half of it: the schema and the indexes under the writer's
/// role, then access rules, whose classes name types, and last what clients see of the subschema.
fn take(dsa: &Dsa, modify: &Modify<'_>, now: Now) -> Result<(), Refusal> {
    let schema = dsa.shard.schema();
    let (types, classes) = definitions(schema, modify)?;
    // Nobody prepares or applies a change of a new attribute before the indexes know of it.
    let mut writer = dsa.shard.writer();
    schema.add(&types, &classes).map_err(refusal)?;
    for (name, why) in writer.take_added_types(&dsa.config().settings.later_indexes) {
        dsa.indexing.is_not_made(name, why.to_string());
    }
    writer.publish();
    let renewed = dsa.access.renew(schema);
    debug_assert!(renewed.is_ok(), "rules that fitted the schema fit it with more in it: {renewed:?}");
    subschema::show(dsa, now);
    Ok(())
}

/// Adds to a schema what such a modify of the log added to that of a directory, or nothing if it was refused there.
///
/// # Errors
/// In words, when it is none.
pub fn extend(schema: &Schema, message: &[u8]) -> Result<(), String> {
    let message = Message::decode(message).map_err(|_| "a change of the schema is no message".to_owned())?;
    let Request::Modify(modify) = message.request else {
        return Err("a change of the schema is no modify".to_owned());
    };
    // Where it was applied it had the same outcome.
    let _ = definitions(schema, &modify)
        .and_then(|(types, classes)| schema.add(&types, &classes).map_err(refusal));
    Ok(())
}

/// The definitions that a modify adds: of attribute types, and of object classes.
type Definitions<'a> = (Vec<&'a [u8]>, Vec<&'a [u8]>);

/// What a modify adds, of either kind. Types come before classes, since these may name them: the order of a client's changes need not say so.
///
/// # Errors
/// A refusal, if it does anything else than add values to these two attributes. Whether the definitions fit is not looked at.
fn definitions<'a>(schema: &Schema, modify: &Modify<'a>) -> Result<Definitions<'a>, Refusal> {
    let known = schema.well_known();
    let (mut types, mut classes) = (Vec::new(), Vec::new());
    for change in modify.changes.iter() {
        let description = change.modification.description;
        let list = match schema.find_type(description) {
            Some(id) if id == known.attribute_types => &mut types,
            Some(id) if id == known.object_classes => &mut classes,
            _ => {
                let text = format!(
                    "{}: values can be added to attributeTypes and objectClasses alone; the server makes matchingRuleUse of these, and what else the schema has comes with the program",
                    outcome::quoted(description)
                );
                return Err((ResultCode::UnwillingToPerform, text));
            }
        };
        if change.kind != ModifyKind::Add {
            return Err((ResultCode::UnwillingToPerform, ONLY_ADDITIONS.to_owned()));
        }
        let before = list.len();
        list.extend(change.modification.values.iter());
        if list.len() == before {
            let text = format!("attribute {}: no values to add", outcome::quoted(description));
            return Err((ResultCode::ProtocolError, text));
        }
    }
    Ok((types, classes))
}

/// The code of RFC 4511 that says most: clients show it before they show the text.
fn refusal(why: NotAdded) -> Refusal {
    let code = match why {
        NotAdded::Syntax(_) => ResultCode::InvalidAttributeSyntax,
        NotAdded::Exists(_) => ResultCode::AttributeOrValueExists,
        NotAdded::ChangesType(_) => ResultCode::UnwillingToPerform,
        NotAdded::ChangesClass(_) => ResultCode::ObjectClassModsProhibited,
        NotAdded::Unfit(_) => ResultCode::ConstraintViolation,
        NotAdded::TooMany(_) => ResultCode::AdminLimitExceeded,
    };
    (code, why.to_string())
}
