//! Modify of the subschema subentry (RFC 4512 section 4.4): definitions are added, changed and removed while the server runs.
//!
//! ```text
//! checked here as things are -> command of the log -> judged again and taken where it is applied, on every replica -> answered then
//! ```
//! What becomes of it depends on the definitions and the entries that there are, and on the message alone. What depends on one server, its
//! settings, is looked at here only.

mod config_form;
mod in_use;
mod rights;

pub(crate) use config_form::TranslatedChange;
pub(crate) use rights::may_change;

use crate::access::Requester;
use crate::behaviour::FIRST_WITH_SCHEMA_CHANGES;
use crate::context::Reading;
use crate::engine::Dsa;
use crate::outcome::{self, Refusal};
use crate::subschema;
use env::clock::Now;
use model::ResultCode;
use proto::message::{Message, Request};
use proto::op::modify::{Modify, ModifyKind};
use proto::tag::MODIFY_RESPONSE;
use schema::{Changes, Element, NotAdded, Plan, Schema};
use store::Reader;
use store::derived::SUBSCHEMA_DN;

/// Could a modify of the subschema be applied now?
///
/// # Errors
/// Its refusal. It names an entry only if the requester may read that.
#[cold]
pub(crate) fn judge(reading: &mut Reading<'_>, who: Requester, modify: &Modify<'_>) -> Result<(), Refusal> {
    let dsa = reading.dsa;
    let plan = proposed(dsa.shard.schema(), dsa.behaviour(), modify)?;
    in_use::by_settings(dsa, &plan, reading.read_point)?;
    in_use::by_entries_for(reading, who, &plan)
}

impl Dsa {
    /// May a change of the schema be proposed here, with this message? It may not if settings name what it removes.
    ///
    /// # Errors
    /// Code and text of the refusal. A message that is none is refused where it is applied.
    pub fn admit_schema(&self, message: &[u8]) -> Result<(), (ResultCode, String)> {
        admit(self, message)
    }
}

fn admit(dsa: &Dsa, message: &[u8]) -> Result<(), Refusal> {
    let Ok(Message { request: Request::Modify(modify), .. }) = Message::decode(message) else {
        return Ok(());
    };
    let plan = proposed(dsa.shard.schema(), dsa.behaviour(), &modify)?;
    if plan.only_adds() {
        return Ok(());
    }
    let Some(mut reader) = Reader::register(&dsa.shard) else {
        let (code, text) = outcome::NO_READER;
        return Err((code, text.to_owned()));
    };
    in_use::by_settings(dsa, &plan, reader.pin().read_point())
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
        _ => Err(outcome::unwilling("no modify")),
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
    let plan = plan(schema, dsa.behaviour(), modify)?;
    in_use::by_constraints(dsa, &plan)?;
    // Nobody prepares or applies a change before the indexes know of it.
    let mut writer = dsa.shard.writer();
    in_use::by_entries(&plan, writer.view())?;
    // While their names still lead to what is removed.
    writer.retire_shapes(plan.effects());
    schema.put(plan);
    dsa.constraints.renew(&mut writer, schema);
    for (name, why) in writer.take_added_types(&dsa.config().settings.later_indexes) {
        dsa.indexing.is_not_made(name, why.to_string());
    }
    writer.publish();
    // Settings are asked when it is proposed, and no change of them is on its way then. Where they name what was removed all the same, the rules that were in
    // force stay so.
    let _ = dsa.access.renew(schema);
    dsa.shard.wake_followers();
    subschema::show(dsa, now);
    Ok(())
}

/// Changes a schema as such a modify of the log changed that of a directory, or not at all if it was refused there.
///
/// There are no entries here. Whether one of them used what is removed is not known: none did when the modify was sent to the log, and to be wrong in
/// that costs a start the definitions that settings name, and no more.
///
/// # Errors
/// In words, when it is none.
pub fn extend(schema: &Schema, message: &[u8]) -> Result<(), String> {
    let message = Message::decode(message).map_err(|_| "a change of the schema is no message".to_owned())?;
    let Request::Modify(modify) = message.request else {
        return Err("a change of the schema is no modify".to_owned());
    };
    // Where it was applied it had the same outcome.
    if let Ok(plan) = plan(schema, crate::behaviour::NEWEST, &modify) {
        schema.put(plan);
    }
    Ok(())
}

/// What a modify of the log comes to. Whether entries go with it is not looked at.
///
/// # Errors
/// A refusal, if it does anything else than add and delete values of the attributes that have definitions, or these do not fit.
// The schema judges it as a whole, so one fault refuses all of a request.
// Entries and settings are looked at by those who have them.
fn plan(schema: &Schema, behaviour: u32, modify: &Modify<'_>) -> Result<Plan, Refusal> {
    schema.plan(&known_changes(schema, behaviour, modify)?).map_err(refusal)
}

/// What a modify would come to that no log has yet: definitions that the log may have are refused here ([`Schema::propose`]).
fn proposed(schema: &Schema, behaviour: u32, modify: &Modify<'_>) -> Result<Plan, Refusal> {
    schema.propose(&known_changes(schema, behaviour, modify)?).map_err(refusal)
}

/// What a modify adds and removes, if this behaviour knows such changes.
fn known_changes<'a>(schema: &Schema, behaviour: u32, modify: &Modify<'a>) -> Result<Changes<'a>, Refusal> {
    let changes = changes(schema, modify)?;
    let is_new = |element: &Element| !matches!(element, Element::AttributeType | Element::ObjectClass);
    let needs_new = !changes.removed.is_empty() || changes.added.iter().any(|(element, _)| is_new(element));
    if needs_new && behaviour < FIRST_WITH_SCHEMA_CHANGES {
        let text = "only attribute types and object classes can be added until all nodes of the cluster are upgraded (pando cluster upgrade finish)";
        return Err(outcome::unwilling(text));
    }
    Ok(changes)
}

/// What a modify adds and removes. The order of a client's changes does not count: what names another may come before it.
fn changes<'a>(schema: &Schema, modify: &Modify<'a>) -> Result<Changes<'a>, Refusal> {
    let elements = Element::ALL.map(|element| (schema.find_type(element.attribute().as_bytes()), element));
    let mut changes = Changes::default();
    for change in modify.changes.iter() {
        let description = change.modification.description;
        let kind = schema.find_type(description);
        let found = elements.iter().find(|(of, _)| of.is_some() && *of == kind);
        let Some((_, element)) = found else {
            let text = format!(
                "{}: values can be added to attributeTypes, objectClasses, dITContentRules, nameForms and dITStructureRules, and deleted there; the server makes matchingRuleUse of these, and what else the schema has comes with the program",
                outcome::quoted(description)
            );
            return Err(outcome::unwilling(text));
        };
        let list = match change.kind {
            ModifyKind::Add => &mut changes.added,
            ModifyKind::Delete => &mut changes.removed,
            ModifyKind::Replace | ModifyKind::Increment => {
                let text = "definitions are added and deleted one by one: to change one, delete it and add it in one modify";
                return Err(outcome::unwilling(text));
            }
        };
        let before = list.len();
        list.extend(change.modification.values.iter().map(|value| (*element, value)));
        if list.len() > before {
            continue;
        }
        let attribute = outcome::quoted(description);
        return Err(match change.kind {
            ModifyKind::Add => {
                (ResultCode::ProtocolError, format!("attribute {attribute}: no values to add"))
            }
            _ => {
                let text = format!("attribute {attribute}: name the definitions that are to be deleted");
                (ResultCode::UnwillingToPerform, text)
            }
        });
    }
    Ok(changes)
}

/// The code of RFC 4511 that says most: clients show it before they show the text.
fn refusal(why: NotAdded) -> Refusal {
    let code = match why {
        NotAdded::Syntax(_) => ResultCode::InvalidAttributeSyntax,
        NotAdded::Exists(_) => ResultCode::AttributeOrValueExists,
        NotAdded::Missing(_) => ResultCode::NoSuchAttribute,
        NotAdded::ChangesType(_) | NotAdded::ChangesRule(_) | NotAdded::Fixed(_) | NotAdded::Needed(_) => {
            ResultCode::UnwillingToPerform
        }
        NotAdded::ChangesClass(_) => ResultCode::ObjectClassModsProhibited,
        NotAdded::Unfit(_) => ResultCode::ConstraintViolation,
        NotAdded::TooMany(_) => ResultCode::AdminLimitExceeded,
    };
    (code, why.to_string())
}
