//! The updates of a bundle: neighbours share one batch of the writer.

use super::group::{Group, Hint};
use super::{Parts, count_operation, refuse_controls, refuse_malformed};
use crate::dispatch::{self, Writing};
use crate::identity::Identity;
use crate::monitor::Counters;
use crate::op;
use crate::session::Session;
use model::ResultCode;
use proto::message::{Message, Request};
use proto::tag;
use store::{Known, Writer};

/// Updates in one batch of the writer at most, so that other threads' updates do not wait long.
const BATCH_MAX: usize = 256;

/// Updates that are published together.
pub(super) struct Batch<'w> {
    writer: Writer<'w>,
    len: usize,
}

impl Parts<'_> {
    /// Ends the batch: others may write, and what was written is seen.
    pub(super) fn publish(&mut self) {
        if let Some(batch) = self.batch.take() {
            batch.writer.publish();
        }
    }
}

/// Runs the updates from `next` on, in the batch that is open or a new one. Returns where the first other request is.
pub(super) fn run(
    session: &mut Session,
    parts: &mut Parts<'_>,
    group: &Group<'_>,
    mut next: usize,
    out: &mut Vec<u8>,
) -> usize {
    let may_write = parts.dsa.rules.may_write(session.identity.rights);
    let keys = std::mem::take(&mut parts.scratch.keys);
    while next < group.len() && group[next].is_update() && !session.closing {
        let pending = &group[next];
        next += 1;
        let decoded = pending.decode();
        let message = match &decoded {
            Ok(message) => message,
            Err(error) => {
                refuse_malformed(session, error, out);
                continue;
            }
        };
        let known = match (&pending.hint, parts.hinted_at) {
            (Hint::Target(target), Some(sequence)) => Some(Known { target: *target, keys: &keys, sequence }),
            _ => None,
        };
        if !may_write {
            refuse_update(message, &session.identity, parts.counters, out);
            continue;
        }
        count_operation(parts.counters, &message.request);
        if parts.batch.as_ref().is_some_and(|batch| batch.len == BATCH_MAX) {
            parts.publish();
        }
        let Parts { dsa, scratch, now, batch, .. } = parts;
        let batch = batch.get_or_insert_with(|| Batch { writer: dsa.shard.writer(), len: 0 });
        batch.len += 1;
        let identity = &session.identity;
        let mut writing = Writing { dsa, writer: &mut batch.writer, scratch, now: *now, identity, known };
        run_update(&mut writing, message, out);
    }
    parts.scratch.keys = keys;
    next
}

fn refuse_update(message: &Message<'_>, identity: &Identity, counters: &Counters, out: &mut Vec<u8>) {
    count_operation(counters, &message.request);
    if let Err(error) = dispatch::requested(&message.request, message.controls) {
        return refuse_controls(message, error, out);
    }
    let Some(response) = tag::response_to(message.request.tag()) else { return };
    let text = match identity.dn.is_empty() {
        true => "anonymous clients may not change the directory; bind first",
        false => "this identity may not change the directory",
    };
    crate::outcome::say(out, message.id, response, ResultCode::InsufficientAccessRights, text);
}

fn run_update(writing: &mut Writing<'_, '_>, message: &Message<'_>, out: &mut Vec<u8>) {
    if let Err(error) = dispatch::requested(&message.request, message.controls) {
        return refuse_controls(message, error, out);
    }
    match &message.request {
        Request::Modify(modify) => op::modify::run(writing, message.id, modify, out),
        Request::Add(add) => op::add::run(writing, message.id, add, out),
        Request::Delete(dn) => op::delete::run(writing, message.id, dn, out),
        Request::ModifyDn(modify_dn) => op::modify_dn::run(writing, message.id, modify_dn, out),
        _ => unreachable!("only updates come here"),
    }
}
