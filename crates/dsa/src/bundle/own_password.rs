//! A modify by which a user changes its own password, before it goes to the writer or the log.

use super::group::{Group, Pending, gather};
use super::{Parts, acting, count_operation, permission, refuse_malformed, transaction};
use crate::access::Rights;
use crate::control::{self, ControlError};
use crate::dispatch::Reading;
use crate::identity::Identity;
use crate::op::own_password::{asked, may_be_asked};
use crate::op::password_modify::prepare_own;
use crate::outcome;
use crate::session::Session;
use proto::tag;

/// The first update that is perhaps one. Of those who need no such way, and of identities that are no entries, none is.
#[inline]
pub(super) fn first_likely(parts: &Parts<'_>, identity: &Identity, updates: &[Pending<'_>]) -> Option<usize> {
    if identity.rights == Rights::Root || identity.entry.is_none() {
        return None;
    }
    updates.iter().position(|update| {
        update.outline.as_ref().is_some_and(|outline| {
            outline.op_tag == tag::MODIFY && may_be_asked(parts.dsa.shard.schema(), outline.rest)
        })
    })
}

/// Runs an update if it is one. `false` if it is not: then nothing was done.
#[cold]
pub(super) fn run(
    session: &mut Session,
    identity: &Identity,
    parts: &mut Parts<'_>,
    update: &Pending<'_>,
    out: &mut Vec<u8>,
) -> bool {
    let message = match update.decode() {
        Ok(message) => message,
        Err(error) => {
            refuse_malformed(session, &error, out);
            return true;
        }
    };
    let Some((modify, steps)) = asked(parts.dsa.shard.schema(), &message) else { return false };
    let pin = parts.reader.pin();
    let read_point = pin.read_point();
    parts.scratch.evaluator.cache.refresh(read_point);
    let mut reading = Reading { dsa: parts.dsa, read_point, scratch: parts.scratch, now: parts.now };
    let prepared = match prepare_own(&mut reading, identity, message.id, modify.dn, &steps) {
        Ok(None) => return false,
        Ok(Some(change)) => Ok(change),
        Err(refusal) => Err(refusal),
    };
    drop(pin);
    count_operation(parts.counters, &message.request);
    let controls =
        control::requested(&message.request, message.controls).and_then(|requested| {
            match requested.rare.as_ref().and_then(|rare| rare.critical()) {
                None => Ok(()),
                Some(oid) => Err(ControlError::UnavailableCritical(oid)),
            }
        });
    if let Err(error) = controls {
        control::refuse(&message, error, out);
        return true;
    }
    let prepared = prepared.and_then(|change| {
        permission::of_name(parts.dsa, identity)?;
        transaction::clear_way_to(parts.dsa, identity, change.dn())?;
        Ok(change)
    });
    match prepared {
        Err((code, text)) => outcome::say(out, message.id, tag::MODIFY_RESPONSE, code, text),
        Ok(mut change) => {
            let message = std::mem::take(&mut change.message);
            let mut group = Group::new();
            gather(&message, 0, &mut group);
            acting::carry_out(session, parts, &group, change, out);
        }
    }
    true
}
