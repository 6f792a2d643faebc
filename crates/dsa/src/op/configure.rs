//! Modify of `cn=config`: the settings that can be changed while the server runs. A change of settings goes through the log,
//! indexes are asked for and written down by the one that builds them.
//!
//! ```text
//! a setting                    checked here -> command of the log -> put in force where updates are applied -> answered then
//! a setting of this server     checked, recorded in a file and put in force at once, answered then
//! an index                     asked for at once, answered at once, built by the indexer
//! dropping a configured index  the list without it goes through the log first, then the drop is asked for
//! ```
//! A modify is about settings, about those of this server or about indexes, never two of these: what goes through the log is taken or refused as a whole.

mod of_node;
mod setting;

pub(crate) use setting::put;

use crate::config_entry::{self, NODE_DN};
use crate::engine::Dsa;
use crate::identity::Identity;
use crate::indexing::{IndexChange, NotTaken, parse};
use crate::outcome::{self, FixedRefusal, Refusal, unwilling};
use crate::settings::{self, Author, SettingsChange};
use env::clock::Now;
use model::ResultCode;
use proto::message::{Message, Request};
use proto::op::modify::{Modify, ModifyKind};
use proto::tag;
use schema::Schema;
use store::{IndexName, ReadPoint, Reader};

/// How an update of the configuration is refused that is not the root DN's.
pub(crate) const NO_SETTINGS: FixedRefusal =
    (ResultCode::InsufficientAccessRights, "only the root DN may change the configuration");

/// What becomes of entries with definitions.
const NOT_KEPT: &str = "names of entries below cn=schema,cn=config are not kept: delete definitions by a modify of cn=Subschema, which shows them, or of the entry that they came with";

/// Answers an update of `cn=config`, of one who may change entries; or returns the change of settings that is to go through the log and is
/// answered when it holds. With the control no-op (`is_checked_only`) nothing is changed, and it is answered that it would be.
/// It runs where reads run, with nothing of the session on its way before it, so the settings that it sees are those that the client knows.
#[cold]
pub(crate) fn run(
    dsa: &Dsa,
    identity: &Identity,
    (message, is_checked_only): (&Message<'_>, bool),
    now: Now,
    out: &mut Vec<u8>,
) -> Option<SettingsChange> {
    let response = tag::response_to(message.request.tag())?;
    let done = match &message.request {
        _ if !identity.is_root => Err((NO_SETTINGS.0, NO_SETTINGS.1.to_owned())),
        Request::Modify(modify) => change(dsa, modify, (identity, now), is_checked_only),
        Request::Delete(dn) if dsa.system.is_of_schema_config(dn) => Err(unwilling(NOT_KEPT)),
        Request::ModifyDn(modify_dn) if dsa.system.is_of_schema_config(modify_dn.dn) => {
            Err(unwilling(NOT_KEPT))
        }
        _ => Err(unwilling("entries below cn=config can be modified, but not added, deleted or renamed")),
    };
    // What cn=config shows was made before this change.
    dsa.system.invalidate();
    match done {
        Ok(_) if is_checked_only => outcome::check(out, message.id, response),
        Ok(Some(change)) => return Some(change),
        Ok(None) => outcome::succeed(out, message.id, response),
        Err((code, text)) => outcome::say(out, message.id, response, code, &text),
    }
    None
}

/// The settings that hold as long as the process does are named in the refusal with what to do instead: an administrator need not look it up.
fn change(
    dsa: &Dsa,
    modify: &Modify<'_>,
    (identity, now): (&Identity, Now),
    is_checked_only: bool,
) -> Result<Option<SettingsChange>, Refusal> {
    // Other entries are there to be read.
    if is_node_entry(dsa.shard.schema(), modify.dn) {
        return Err(unwilling("changes of settings are made in cn=config"));
    }
    if !dsa.system.is_config(modify.dn) {
        return Err((ResultCode::NoSuchObject, "the configuration has no such entry".to_owned()));
    }
    let name = String::from_utf8_lossy(&identity.dn);
    let author = Author { name: &name, wall_ms: now.wall_ms };
    let described = || modify.changes.iter().map(|change| change.modification.description);
    let mut fixed = described().filter_map(|description| setting::fixed(dsa, description));
    if let Some(fixed) = fixed.find(|fixed| !of_node::has(dsa, fixed.key)) {
        return Err(unwilling(format!(
            "{} cannot be changed while the server runs: set `{}` in the configuration file or as a flag, and restart",
            fixed.attribute, fixed.key
        )));
    }
    if let Some(done) = of_node::change(dsa, modify, author, is_checked_only) {
        return done.map(|()| None);
    }
    let schema = dsa.shard.schema();
    // Both kinds of attribute stand in the one entry, so a client may well send both.
    let settings = described().filter(|description| setting::find(schema, description).is_some()).count();
    match settings {
        0 => change_indexes(dsa, modify, author, is_checked_only),
        _ if settings == described().count() => setting::change(dsa, modify, (author, now), is_checked_only),
        _ => Err(unwilling("one request can change settings or indexes, not both")),
    }
}

/// Is this the name of the entry that has the changes of settings of this server?
fn is_node_entry(schema: &Schema, dn: &[u8]) -> bool {
    let (mut asked, mut own) = (Vec::new(), Vec::new());
    let are_names =
        schema.normalise_dn(dn, &mut asked).and(schema.normalise_dn(NODE_DN.as_bytes(), &mut own));
    are_names.is_ok() && asked == own
}

/// Asks for indexes. Where one that is configured is dropped, that goes through the log first: the next start is not to build it again.
///
/// A request that comes to nothing is a success, as a modify without changes is.
fn change_indexes(
    dsa: &Dsa,
    modify: &Modify<'_>,
    author: Author<'_>,
    is_checked_only: bool,
) -> Result<Option<SettingsChange>, Refusal> {
    let asked = asked(dsa.shard.schema(), modify)?;
    // All values were empty, or each change undid another.
    if asked.is_empty() {
        return Ok(None);
    }
    let brings = asked.iter().any(|asked| matches!(asked, IndexChange::Add(_) | IndexChange::Replace(_)));
    // A build would be given up at its first step: better refused now.
    if brings && dsa.shard.memory().total() > dsa.memory_bytes_max() {
        let text = "memory-max is reached: no index can be built; raise memory-max";
        return Err((ResultCode::AdminLimitExceeded, text.to_owned()));
    }
    // A moment's shortage: searches that are suspended hold the others.
    let Some(mut reader) = Reader::register(&dsa.shard) else {
        let (code, text) = outcome::NO_READER;
        return Err((code, text.to_owned()));
    };
    // Which indexes there are depends on the read point; a reader of its own, for the thread's is at another one.
    let pin = reader.pin();
    refuse_needed(dsa, &asked, pin.read_point())?;
    if is_checked_only {
        let planned = dsa.indexing.dropped_by(&asked, pin.read_point());
        return planned.map(|_| None).map_err(|refused| refusal(dsa, &refused));
    }
    // Without a log nothing is recorded, and the next start builds what its flags say.
    if dsa.journal.get().is_some() {
        // Only what the record lists is changed in it; an index that was built on line is not in the record.
        let dropped = dsa.indexing.dropped_by(&asked, pin.read_point());
        let dropped = dropped.map_err(|refused| refusal(dsa, &refused))?;
        if let Some(change) = dsa.chosen.drop_indexes(author, &dropped, &asked, dsa.shard.schema())? {
            return Ok(Some(change));
        }
    }
    // All or nothing: the request is taken as a whole.
    let taken = dsa.indexing.ask(&asked, pin.read_point());
    taken.map(|()| None).map_err(|refused| refusal(dsa, &refused))
}

/// An index that a constraint needs is not dropped.
fn refuse_needed(dsa: &Dsa, asked: &[IndexChange], read_point: ReadPoint<'_>) -> Result<(), Refusal> {
    let Some(in_force) = dsa.constraints.now(dsa.behaviour()) else { return Ok(()) };
    let dropped = dsa.indexing.dropped_by(asked, read_point).map_err(|refused| refusal(dsa, &refused))?;
    let is_dropped =
        |attribute_type| dropped.contains(&IndexName { attribute_type, kind: store::IndexKind::Equality });
    match in_force.indexed().find(|(_, attribute_type)| is_dropped(*attribute_type)) {
        Some((name, _)) => Err(unwilling(format!("constraint {name} needs the index"))),
        None => Ok(()),
    }
}

/// The changes in their order. A delete without values is of all.
fn asked(schema: &Schema, modify: &Modify<'_>) -> Result<Vec<IndexChange>, Refusal> {
    let mut asked = Vec::new();
    for change in modify.changes.iter() {
        let description = change.modification.description;
        let is = |name: &str| {
            let known = schema.find_type(name.as_bytes());
            known.is_some() && schema.find_type(description) == known
        };
        // Two attributes of the entry are about indexes: which there are, and which are to be compared.
        let is_verify = is(config_entry::VERIFY);
        if !is_verify && !is(settings::INDEX) {
            let text = format!("{} is not a setting", outcome::quoted(description));
            return Err((ResultCode::UnwillingToPerform, text));
        }
        let values = change.modification.values.iter().map(|value| parse(schema, value));
        // Each value may name several kinds of one attribute.
        let names: Vec<IndexName> = values.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        match change.kind {
            ModifyKind::Add if is_verify => asked.extend(names.into_iter().map(IndexChange::Verify)),
            ModifyKind::Delete if is_verify && !names.is_empty() => {
                asked.extend(names.into_iter().map(IndexChange::Leave));
            }
            ModifyKind::Delete | ModifyKind::Replace if is_verify => {
                asked.push(IndexChange::LeaveAll);
                asked.extend(names.into_iter().map(IndexChange::Verify));
            }
            ModifyKind::Add => asked.extend(names.into_iter().map(IndexChange::Add)),
            ModifyKind::Delete if !names.is_empty() => {
                asked.extend(names.into_iter().map(IndexChange::Delete));
            }
            ModifyKind::Delete | ModifyKind::Replace => {
                asked.push(IndexChange::Replace(names.into_iter().collect()));
            }
            ModifyKind::Increment => return Err(unwilling("the values of indexes cannot be incremented")),
        }
    }
    Ok(asked)
}

/// Code and text for indexes that are not taken.
fn refusal(dsa: &Dsa, refused: &NotTaken) -> Refusal {
    const EXISTS: ResultCode = ResultCode::AttributeOrValueExists;
    const MISSING: ResultCode = ResultCode::NoSuchAttribute;
    let (code, name, what) = match refused {
        NotTaken::Busy => {
            let text = "the limit of waiting index builds is reached; try again later";
            return (ResultCode::Busy, text.to_owned());
        }
        NotTaken::TooMany => {
            let text = format!("a directory has {} indexes at most", model::limits::INDEXES_MAX);
            return (ResultCode::AdminLimitExceeded, text);
        }
        NotTaken::Exists(name) => (EXISTS, name, "this index exists or is being built"),
        NotTaken::Verified(name) => (EXISTS, name, "the index is being verified, or waits for it"),
        NotTaken::NotVerified(name) => (MISSING, name, "the index is not being verified"),
        NotTaken::Missing(name) => (MISSING, name, "no such index"),
    };
    (code, format!("{}: {what}", name.text(dsa.shard.schema())))
}
