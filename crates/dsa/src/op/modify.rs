//! Modify (RFC 4511 section 4.6, RFC 4525): attributes of an entry change, all as asked or none.

use crate::dispatch::Writing;
use crate::outcome;
use model::ResultCode;
use proto::op::modify::{Change, Changes, Modify, ModifyKind};
use proto::tag::MODIFY_RESPONSE;
use schema::Schema;
use smallvec::SmallVec;
use store::ChangeKind;

/// Changes of a usual request: they lie in place, as does the one value of each.
type StoreChanges<'a> = SmallVec<[store::Change<'a>; 4]>;

/// Answers a modify.
pub(crate) fn run(writing: &mut Writing<'_, '_>, id: i32, request: &Modify<'_>, out: &mut Vec<u8>) {
    if !writing.may_write(out, id, MODIFY_RESPONSE) {
        return;
    }
    let changes = match changes(writing.dsa.shard.schema(), request.changes) {
        Ok(changes) => changes,
        Err((code, text)) => return outcome::say(out, id, MODIFY_RESPONSE, code, &text),
    };
    let stamp = writing.stamp();
    let modify = store::Modify { dn: request.dn, changes: &changes, keep_operational: false };
    match writing.writer.modify(modify, stamp) {
        Ok(_) => outcome::succeed(out, id, MODIFY_RESPONSE),
        Err(refused) => outcome::refuse_write(writing, out, id, MODIFY_RESPONSE, request.dn, &refused),
    }
}

fn changes<'a>(schema: &Schema, changes: Changes<'a>) -> Result<StoreChanges<'a>, (ResultCode, String)> {
    changes.iter().map(|change| translate(schema, &change)).collect()
}

/// Looks the description up and holds the number of values to what the kind of change allows.
fn translate<'a>(schema: &Schema, change: &Change<'a>) -> Result<store::Change<'a>, (ResultCode, String)> {
    let text = change.modification.description;
    let description = schema.intern_description(text).map_err(|error| outcome::undescribed(text, error))?;
    let values: SmallVec<[&[u8]; 1]> = change.modification.values.iter().collect();
    let kind = match (change.kind, values.len()) {
        (ModifyKind::Add, 0) => return Err(wrong_count(text, "no values to add")),
        (ModifyKind::Increment, 0) => return Err(wrong_count(text, "no number to increment by")),
        (ModifyKind::Increment, 2..) => return Err(wrong_count(text, "an increment takes one number")),
        (ModifyKind::Add, _) => ChangeKind::Add,
        (ModifyKind::Delete, _) => ChangeKind::Delete,
        (ModifyKind::Replace, _) => ChangeKind::Replace,
        (ModifyKind::Increment, _) => ChangeKind::Increment,
    };
    Ok(store::Change { kind, description, values })
}

#[cold]
fn wrong_count(description: &[u8], what: &str) -> (ResultCode, String) {
    (ResultCode::ProtocolError, format!("attribute {}: {what}", outcome::quoted(description)))
}
