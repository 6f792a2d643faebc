//! Conditions that a command carries: judged when it is applied, at what all commands before it made of the directory. So the
//! rights of a client that depend on what an entry holds are decided in the order of the log, on every replica.
//!
//! They are checked before the command is applied, in the applier, where the state is that of the log up to this command.

use crate::faults;
use crate::journal::{Command, messages};
use crate::outcome;
use crate::parcel::Condition;
use crate::worker::Worker;
use env::planted;
use model::ResultCode;
use proto::{Outline, filter, tag};
use store::search::Compiled;
use store::search::evaluate::Truth;

/// The code of the first condition that is not true. One that cannot be read is not true, nor is one of an entry that is not
/// there: a command is logged with conditions that its maker could read.
pub(super) fn first_false(worker: &mut Worker, conditions: &[u8]) -> Option<u32> {
    if conditions.is_empty() || planted::is(faults::CONDITION_PASSED_OVER) {
        return None;
    }
    // The first in the order of the command, so that every replica comes to the same code.
    Condition::all(conditions).find_map(|condition| match condition {
        Ok(condition) if is_true(worker, &condition) => None,
        Ok(condition) => Some(condition.code),
        Err(_) => Some(ResultCode::Other as u32),
    })
}

/// Does a condition hold in the state that all commands before made?
fn is_true(worker: &mut Worker, condition: &Condition<'_>) -> bool {
    let Worker { reader, scratch, .. } = worker;
    let Ok(filter) = filter::decode(condition.filter) else { return false };
    // All commands before this one are published, so what is read now is the state of the log up to it.
    let pin = reader.pin();
    let read_point = pin.read_point();
    let evaluator = &mut scratch.evaluator;
    evaluator.cache.refresh(read_point);
    let found = read_point.resolve(condition.dn, &mut evaluator.cache).ok();
    // No access rule hides anything from it: a server made the condition, not a client, and a replay must come to the same under any rules.
    // What follows from the clock of a server is no part of the state, and entryUSN is not known to an earlier program that may apply the same log.
    let known = read_point.shard().schema().well_known();
    let hidden = [known.entry_ttl, known.entry_usn];
    let sees = |attribute_type| !hidden.contains(&Some(attribute_type));
    let compiled = Compiled::new(&filter, read_point.shard(), &sees);
    let entry = found.and_then(|id| read_point.entry(id));
    entry.is_some_and(|entry| evaluator.evaluate(&compiled, &entry, read_point) == Truth::True)
}

/// Answers each update of a command, or the end of the transaction that it is, with the code of a condition.
#[cold]
pub(super) fn refuse(command: &Command<'_>, end: Option<i32>, code: u32, answers: &mut Vec<u8>) {
    const TEXT: &str = "the entry has changed in the meantime; try again";
    let code = ResultCode::from_number(code).unwrap_or(ResultCode::Other);
    if command.is_transaction {
        // The end alone is answered. A replay has nobody to answer.
        if let Some(id) = end {
            outcome::say(answers, id, tag::EXTENDED_RESPONSE, code, TEXT);
        }
        return;
    }
    for outline in messages(command.messages).filter_map(Outline::of) {
        if let Some(response) = tag::response_to(outline.op_tag) {
            outcome::say(answers, outline.id, response, code, TEXT);
        }
    }
}
