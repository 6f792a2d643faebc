//! Add (RFC 4511 section 4.7): a new entry.

use crate::dispatch::Writing;
use crate::outcome;
use model::{Entry, ResultCode};
use proto::Attributes;
use proto::op::add::Add;
use proto::tag::ADD_RESPONSE;
use schema::Schema;

/// Answers an add.
pub(crate) fn run(writing: &mut Writing<'_, '_>, id: i32, request: &Add<'_>, out: &mut Vec<u8>) {
    if !writing.may_write(out, id, ADD_RESPONSE) {
        return;
    }
    let mut entry = std::mem::take(&mut writing.scratch.entry).into_cleared();
    match fill(writing.dsa.shard.schema(), &mut entry, request.attributes) {
        Err((code, text)) => outcome::say(out, id, ADD_RESPONSE, code, &text),
        Ok(()) => {
            let stamp = writing.stamp();
            let add = store::Add { dn: request.dn, entry: &mut entry, keep_operational: false };
            match writing.writer.add(add, stamp) {
                Ok(_) => outcome::succeed(out, id, ADD_RESPONSE),
                Err(refused) => outcome::refuse_write(writing, out, id, ADD_RESPONSE, request.dn, &refused),
            }
        }
    }
    writing.scratch.entry = entry;
}

/// Takes the attributes of a request over, with their descriptions looked up.
fn fill(schema: &Schema, entry: &mut Entry, attributes: Attributes<'_>) -> Result<(), (ResultCode, String)> {
    for attribute in attributes {
        let text = attribute.description;
        let description =
            schema.intern_description(text).map_err(|error| outcome::undescribed(text, error))?;
        if entry.position(description).is_some() {
            let name = schema.describe(description);
            let message = format!("attribute {name} is given twice; list all its values at one place");
            return Err((ResultCode::AttributeOrValueExists, message));
        }
        entry.push_attribute(description);
        attribute.values.iter().for_each(|value| entry.push_value(value));
    }
    Ok(())
}
