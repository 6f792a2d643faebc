//! Dynamic entries whose time is over are deleted (RFC 2589 section 6.2), by deletes like those of clients: the log has them, and so have all who follow it.
//! In a cluster the server that leads makes them.
//!
//! About once a second a part of the dynamic entries is looked through, in turn: so a look takes no longer the more there are. Each delete asserts
//! that the entry is the one that was looked at and was not refreshed meanwhile. An entry that has subordinates waits for them.

use super::group::{Group, gather};
use super::update::apply;
use crate::effective::Effective;
use crate::expiry::{Proposed, Round, Undeleted};
use crate::identity::Identity;
use crate::journal::{Reply, Sender, Updates};
use crate::marks::Marks;
use crate::worker::{Parts, Worker};
use ::access::AuthMethod;
use env::clock::Now;
use model::filter::Assertion;
use model::{EntryId, Filter};
use proto::control::{Control, assertion, manage_dsa_it};
use proto::message::Request;
use std::sync::Arc;
use store::derived::Derived;
use store::lifetimes::EXPIRES;
use store::{DnCache, EntryRef, ReadPoint, Values};

/// Entries that one look is about. A record is read of each, so a look takes about a millisecond of one thread, and others have their turn
/// between two of them.
const LOOKED_MAX: usize = 16_384;
/// Entries that are deleted by one look. They are one submission, which must not hold up those of clients for long; and while it has no answer
/// there is no other.
const DELETED_MAX: usize = 256;
/// Who has deleted them, as the audit log says. No client is called so: it would have to be the suffix.
const ACTOR: &[u8] = b"cn=Dynamic Entries";
/// The message id of the deletes, whose answers come in their order. What was refused waits ([`crate::expiry`]).
const ID: i32 = 1;

impl Worker {
    /// Deletes dynamic entries whose time is over, if it is time to look for some. To be called
    /// about once a second by any thread.
    pub fn delete_expired(&mut self, now: Now) {
        let dsa = Arc::clone(self.agent());
        if !dsa.shard.has_dynamic() {
            return;
        }
        self.tick(now);
        let Some(mut round) = dsa.expiry.begin(now.monotonic_ns) else { return };
        if !round.settle(now.monotonic_ns) {
            return;
        }
        // Deletes of another server would come to the one that leads, too, and be refused there as those of entries that are gone.
        if dsa.journal.get().is_some_and(|journal| !journal.leads()) {
            return;
        }
        let mut parts = self.parts();
        let messages = expired(&mut parts, &mut round);
        let count = round.proposed.len();
        if count == 0 {
            return;
        }
        // That of the initial owner is there in any case.
        let name = match dsa.shard.admits_name(ACTOR) {
            true => ACTOR,
            false => dsa.config.store.initial_owner.as_bytes(),
        };
        let identity = Identity::named(name.to_vec(), AuthMethod::None);
        let Some(journal) = dsa.journal.get() else {
            let answers = apply_all(&mut parts, &identity, &messages);
            return round.answered(&answers, now.monotonic_ns);
        };
        let mut submission = parts.scratch.buffers.take();
        submission.messages = messages;
        submission.prepared_writes.push_nones(count);
        let reply = Arc::<Reply>::default();
        round.outstanding = Some(Arc::clone(&reply));
        let sender = Sender { identity: &identity, client: None, via: None, connection: 0 };
        let mut updates = Updates::new(submission, Marks::default(), sender, reply);
        updates.admit(&dsa.throttle, 0);
        journal.submit(updates);
    }

    /// Dynamic entries that could not be deleted, each once until it is refreshed or the server starts again. To be called about once a second by any
    /// thread.
    pub fn undeleted(&self) -> Option<Undeleted> {
        self.agent().expiry.take_undeleted()
    }
}

/// Deletes of entries whose time is over, as whole messages, which are noted in the round. The next look goes on behind what was looked at.
fn expired(parts: &mut Parts<'_>, round: &mut Round) -> Vec<u8> {
    let Parts { reader, scratch, now, .. } = parts;
    let (pin, cache) = (reader.pin(), &mut scratch.evaluator.cache);
    let read_point = pin.read_point();
    cache.refresh(read_point);
    let (mut ids, mut messages, from) = (Vec::new(), Vec::new(), round.from);
    // A thread that panicked may have left some.
    round.proposed.clear();
    read_point.dynamic(from, LOOKED_MAX, &mut ids);
    let last = ids.last().copied().filter(|_| ids.len() == LOOKED_MAX);
    round.from = last.map_or(0, |last| last.saturating_add(1));
    round.keep_among((from, last.unwrap_or(u32::MAX)), &ids);
    for id in ids {
        let Some(entry) = read_point.entry(EntryId(id)) else { continue };
        let expired_ms = read_point.expires_ms(&entry).map(|(ms, _)| ms).filter(|ms| *ms <= now.wall_ms);
        let Some(expired_ms) = expired_ms else { continue };
        // The delete would be refused as long as something is below it. What is below is dynamic, and goes by itself.
        if read_point.subordinates(entry.id) > 0 || round.is_waiting(id, expired_ms, now.monotonic_ns) {
            continue;
        }
        if round.proposed.len() == DELETED_MAX {
            // The next look begins with it.
            round.from = id;
            break;
        }
        let dn = put_delete(&entry, read_point, cache, &mut messages);
        round.proposed.push(Proposed { id, expired_ms, dn });
    }
    messages
}

/// Appends the delete of an entry, which is done only if the entry is the same by then. Returns its DN.
fn put_delete(
    entry: &EntryRef<'_>,
    read_point: ReadPoint<'_>,
    cache: &mut DnCache,
    out: &mut Vec<u8>,
) -> Vec<u8> {
    let mut uuid = Vec::new();
    let has_uuid = read_point.derive(entry, Derived::EntryUuid, cache, &mut uuid);
    let expires = stored(entry, read_point);
    let mut same = Vec::new();
    // Without operational attributes an entry has none. Another one that got the name has another time by then, but for the same second.
    if has_uuid {
        same.push(Filter::Equality(Assertion { attribute: b"entryUUID", value: &uuid }));
    }
    // An equality by the rule of the attribute: the same time in another form is the same.
    match &expires {
        Some(value) => same.push(Filter::Equality(Assertion { attribute: EXPIRES, value })),
        None => same.push(Filter::Not(Box::new(Filter::Present(EXPIRES)))),
    }
    let asserted = assertion::encode(&Filter::And(same));
    let dn = read_point.dn(entry, cache);
    // A referral object is an entry here, too.
    let managed = Control { oid: manage_dsa_it::OID, critical: true, value: None };
    Request::Delete(&dn).encode(out, ID, &[assertion::control(&asserted, true), managed]);
    dn
}

/// What a refresh has stored.
fn stored(entry: &EntryRef<'_>, read_point: ReadPoint<'_>) -> Option<Vec<u8>> {
    let expires = read_point.shard().schema().find_type(EXPIRES)?;
    let at = entry.shape.position(model::Description::plain(expires))?;
    match entry.slot(at) {
        Values::Inline(mut values) => values.next().map(<[u8]>::to_vec),
        Values::Set(_) => None,
    }
}

/// Applies them where there is no log. Returns their answers.
fn apply_all(parts: &mut Parts<'_>, identity: &Identity, messages: &[u8]) -> Vec<u8> {
    let (mut at, mut answers) = (0, Vec::new());
    while at < messages.len() {
        let mut group = Group::new();
        let (end, _) = gather(messages, at, &mut group);
        assert!(end > at, "whole messages were put together");
        at = end;
        apply::apply(Effective::authorized(identity), parts, &group, &mut answers);
    }
    answers
}
