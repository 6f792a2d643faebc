//! Modify of `cn=config`: the settings that can be changed while the server runs. They are in no log; what must outlive
//! the process is written down by whoever carries it out.

mod setting;

use crate::access::Rights;
use crate::config_entry;
use crate::engine::Dsa;
use crate::indexing::{Asked, NotTaken, parse};
use crate::outcome;
use crate::settings;
use env::clock::Now;
use model::ResultCode;
use proto::message::{Message, Request};
use proto::op::modify::{Modify, ModifyKind};
use proto::tag;
use schema::Schema;
use store::{IndexName, Reader};

type Refusal = (ResultCode, String);

/// Answers an update of `cn=config`, of one who may change entries.
#[cold]
pub(crate) fn run(dsa: &Dsa, rights: Rights, message: &Message<'_>, now: Now, out: &mut Vec<u8>) {
    let Some(response) = tag::response_to(message.request.tag()) else { return };
    let done = match &message.request {
        _ if rights < Rights::Root => Err((
            ResultCode::InsufficientAccessRights,
            "only the root DN may change the configuration".to_owned(),
        )),
        Request::Modify(modify) => change(dsa, modify, now),
        _ => Err(unwilling("entries below cn=config can be modified, but not added, deleted or renamed")),
    };
    dsa.system.outdate();
    match done {
        Ok(()) => outcome::succeed(out, message.id, response),
        Err((code, text)) => outcome::say(out, message.id, response, code, &text),
    }
}

fn unwilling(text: &str) -> Refusal {
    (ResultCode::UnwillingToPerform, text.to_owned())
}

fn change(dsa: &Dsa, modify: &Modify<'_>, now: Now) -> Result<(), Refusal> {
    if !dsa.system.is_config(modify.dn) {
        return Err((ResultCode::NoSuchObject, "the configuration has no such entry".to_owned()));
    }
    let described = || modify.changes.iter().map(|change| change.modification.description);
    if let Some(fixed) = described().find_map(|description| setting::fixed(dsa, description)) {
        return Err(unwilling(&format!(
            "{} cannot be changed while the server runs: set `{}` in the configuration file or as a flag, and restart",
            fixed.attribute, fixed.key
        )));
    }
    let schema = dsa.shard.schema();
    let settings = described().filter(|description| setting::find(schema, description).is_some()).count();
    match settings {
        0 => change_indexes(dsa, modify),
        _ if settings == described().count() => setting::change(dsa, modify, now),
        _ => Err(unwilling("one request can change settings or indexes, not both")),
    }
}

fn change_indexes(dsa: &Dsa, modify: &Modify<'_>) -> Result<(), Refusal> {
    let asked = asked(dsa.shard.schema(), modify)?;
    if asked.is_empty() {
        return Ok(());
    }
    let brings = asked.iter().any(|asked| matches!(asked, Asked::Add(_) | Asked::Replace(_)));
    if brings && dsa.shard.memory().total() > dsa.memory_bytes_max() {
        let text = "memory-max is reached: no index can be built; raise memory-max";
        return Err((ResultCode::AdminLimitExceeded, text.to_owned()));
    }
    let Some(mut reader) = Reader::register(&dsa.shard) else {
        return Err((ResultCode::Busy, "the limit of concurrent readers is reached; try again".to_owned()));
    };
    dsa.indexing.ask(&asked, reader.pin().read_point()).map_err(|refused| refusal(dsa, &refused))
}

fn asked(schema: &Schema, modify: &Modify<'_>) -> Result<Vec<Asked>, Refusal> {
    let mut asked = Vec::new();
    for change in modify.changes.iter() {
        let description = change.modification.description;
        let is = |name: &str| {
            let known = schema.find_type(name.as_bytes());
            known.is_some() && schema.find_type(description) == known
        };
        let is_verify = is(config_entry::VERIFY);
        if !is_verify && !is(settings::INDEX) {
            let text = format!("{} is not a setting", outcome::quoted(description));
            return Err((ResultCode::UnwillingToPerform, text));
        }
        let values = change.modification.values.iter().map(|value| parse(schema, value));
        let names: Vec<IndexName> = values.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        match change.kind {
            ModifyKind::Add if is_verify => asked.extend(names.into_iter().map(Asked::Verify)),
            ModifyKind::Delete if is_verify && !names.is_empty() => {
                asked.extend(names.into_iter().map(Asked::Leave));
            }
            ModifyKind::Delete | ModifyKind::Replace if is_verify => {
                asked.push(Asked::LeaveAll);
                asked.extend(names.into_iter().map(Asked::Verify));
            }
            ModifyKind::Add => asked.extend(names.into_iter().map(Asked::Add)),
            ModifyKind::Delete if names.is_empty() => asked.push(Asked::Replace(names.into_iter().collect())),
            ModifyKind::Delete => asked.extend(names.into_iter().map(Asked::Delete)),
            ModifyKind::Replace => asked.push(Asked::Replace(names.into_iter().collect())),
            ModifyKind::Increment => return Err(unwilling("the values of indexes cannot be incremented")),
        }
    }
    Ok(asked)
}

fn refusal(dsa: &Dsa, refused: &NotTaken) -> Refusal {
    let text = |name: &IndexName| name.text(dsa.shard.schema());
    match refused {
        NotTaken::Busy => {
            (ResultCode::Busy, "the limit of waiting index builds is reached; try again later".to_owned())
        }
        NotTaken::TooMany => (
            ResultCode::AdminLimitExceeded,
            format!("a directory has {} indexes at most", model::limits::INDEXES_MAX),
        ),
        NotTaken::Exists(name) => (
            ResultCode::AttributeOrValueExists,
            format!("{}: this index exists or is being built", text(name)),
        ),
        NotTaken::Verified(name) => (
            ResultCode::AttributeOrValueExists,
            format!("{}: the index is being verified, or waits for it", text(name)),
        ),
        NotTaken::NotVerified(name) => {
            (ResultCode::NoSuchAttribute, format!("{}: the index is not being verified", text(name)))
        }
        NotTaken::Missing(name) => (ResultCode::NoSuchAttribute, format!("{}: no such index", text(name))),
    }
}
