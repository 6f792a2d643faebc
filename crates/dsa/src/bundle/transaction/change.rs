//! An extended operation that writes, in a transaction: it sees what the transaction has made of its entry, and is kept as the modify
//! that it comes to.
//! So the log has modifies only: a replay comes to the same entry without knowing the operation, and a password is hashed once.

use super::member::CONTENT;
use super::{CONFLICT, member};
use crate::context::Reading;
use crate::control;
use crate::control::update::target;
use crate::engine::Dsa;
use crate::extension::{Change, Writes};
use crate::op::password_values::{self, Needs};
use crate::outcome::{self, Refusal};
use crate::policy;
use crate::session::security::Security;
use crate::transaction::Transaction;
use crate::worker::{Parts, Scratch};
use env::clock::Now;
use model::ResultCode;
use proto::message::{Message, Request};
use proto::tag;
use store::Reader;
use store::overlay::Overlay;

/// Accepts an extended operation as the modify that it comes to, and answers it.
/// The client sees an extended response now; at the end of the transaction the modify counts as any other update.
pub(super) fn accept(
    transaction: &mut Transaction,
    parts: &mut Parts<'_>,
    message: &Message<'_>,
    operation: (&Writes, Option<&[u8]>),
    out: &mut Vec<u8>,
) -> bool {
    let change = match prepare(transaction, parts, message.id, operation) {
        Ok(change) => change,
        Err((code, text)) => {
            outcome::say(out, message.id, tag::EXTENDED_RESPONSE, code, &text);
            return false;
        }
    };
    if !change.conditions.is_empty() {
        outcome::say(out, message.id, tag::EXTENDED_RESPONSE, CONTENT.0, CONTENT.1);
        return false;
    }
    // From here on it is a modify that the client might have sent, judged by the same code.
    let modify = Message::decode(&change.message).expect("it was just encoded");
    assert!(matches!(modify.request, Request::Modify(_)), "an extended operation comes to a modify");
    let mut modified = Vec::new();
    let requested = control::requested(&modify.request, modify.controls, parts.dsa.behaviour())
        .expect("it was just encoded");
    let effective = change.effective();
    let evaluated = (&modify, &change.message[..], &requested);
    let accepted = member::evaluate(transaction, effective, parts, evaluated, &mut modified);
    // A refusal too: it comes as the response that the client waits for, not as that to a modify.
    change.answer(&modified, out);
    accepted
}

/// Works out what a request comes to on top of the transaction's updates, and takes the way to the entry.
/// The overlay is made even if all updates so far were prepared: a prepared write cannot be looked at as an entry.
fn prepare(
    transaction: &mut Transaction,
    parts: &mut Parts<'_>,
    id: i32,
    (writes, value): (&Writes, Option<&[u8]>),
) -> Result<Change, Refusal> {
    let own_words = |(code, text): (ResultCode, &str)| (code, text.to_owned());
    let Parts { dsa, reader, scratch, now, .. } = parts;
    // As whom the transaction began. A bind ends all transactions, so this is also who asks now, but for a proxied begin.
    let identity = transaction.identity.clone();
    let pin = reader.pin();
    let base = pin.read_point();
    // DNs that the thread remembers hold for a read point before, and a rename may have come since.
    scratch.evaluator.cache.refresh(base);
    let mut reading = Reading { dsa, read_point: base, scratch, now: *now, security: Security::INTERNAL };
    let target = (writes.target)(&mut reading, &identity, value).map_err(own_words)?;
    // The target is found in the directory first: an operation may name an identity (dn: or u:), which is looked for by its index.
    member::ensure_overlay(transaction, &mut reading).map_err(own_words)?;
    let overlay = transaction.overlay.as_mut().expect("there is one now");
    // An entry that the transaction has added or renamed is there by now.
    let own = identity.own_entry(base).map(|entry| base.dn(&entry, &mut reading.scratch.evaluator.cache));
    // A reader of the overlay sees copies only. An entry that is not brought would seem not to be there.
    for dn in target.iter().chain(&own).filter(|dn| !dn.is_empty()) {
        let brought = overlay.bring(base, dn, &[]);
        brought.map_err(|refused| (refused.result_code(), refused.to_string()))?;
    }
    note_policy(&mut reading, target.as_deref().or(own.as_deref()));
    let change = in_overlay(dsa, overlay, scratch, *now, |reading| {
        (writes.prepare)(reading, &identity, id, value, target.as_deref()).map_err(own_words)
    })?;
    // Held at the end: only now is it known which entry the operation changes.
    match transaction.hold(dsa, change.dn()) {
        Ok(()) => Ok(change),
        Err(_) => Err((ResultCode::Busy, CONFLICT.to_owned())),
    }
}

/// Finds the policy of an entry in the directory. The overlay may lack it, and an entry that the transaction has added has the default one.
fn note_policy(reading: &mut Reading<'_>, dn: Option<&[u8]>) {
    let (read_point, cache) = (reading.read_point, &mut reading.scratch.evaluator.cache);
    let entry = dn.and_then(|dn| read_point.resolve(dn, cache).ok()).and_then(|id| read_point.entry(id));
    reading.scratch.passwords.policy = Some(policy::policy_of(reading, entry.as_ref()));
}

/// The message as which an update is kept that brings passwords or takes some away; `None` if it is kept as it was sent.
pub(super) fn hashed(
    transaction: &mut Transaction,
    parts: &mut Parts<'_>,
    message: &Message<'_>,
) -> Result<Option<Vec<u8>>, Refusal> {
    let own_words = |(code, text): (ResultCode, &str)| (code, text.to_owned());
    let Parts { dsa, reader, scratch, now, .. } = parts;
    let needs = password_values::needs(dsa, &transaction.identity, &message.request);
    if needs == Needs::Nothing {
        return Ok(None);
    }
    let pin = reader.pin();
    let base = pin.read_point();
    scratch.evaluator.cache.refresh(base);
    let mut reading = Reading { dsa, read_point: base, scratch, now: *now, security: Security::INTERNAL };
    // As whom the transaction began: whether it is an administrator of passwords is asked of that identity.
    let identity = transaction.identity.clone();
    if needs == Needs::Update {
        return password_values::rewrite(&mut reading, &identity, message).map(Some).map_err(own_words);
    }
    // Which values there are the updates before this one have a say in.
    member::ensure_overlay(transaction, &mut reading).map_err(own_words)?;
    let overlay = transaction.overlay.as_mut().expect("there is one now");
    if let Some(dn) = target(&message.request) {
        let brought = overlay.bring(base, dn, &[]);
        brought.map_err(|refused| (refused.result_code(), refused.to_string()))?;
    }
    note_policy(&mut reading, target(&message.request));
    let rewrite =
        |reading: &mut Reading<'_>| password_values::rewrite(reading, &identity, message).map_err(own_words);
    in_overlay(dsa, overlay, scratch, *now, rewrite).map(Some)
}

/// An overlay has copies of the entries that the transaction has looked at or changed, and no others. Ids there are not those of the directory.
/// Looks at an overlay like at a directory of its own, by a reader that is registered there for this one time.
fn in_overlay<T>(
    dsa: &Dsa,
    overlay: &Overlay,
    of_thread: &mut Scratch,
    now: Now,
    look: impl FnOnce(&mut Reading<'_>) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    let shard = std::sync::Arc::clone(overlay.shard());
    // Slots of readers are bounded, and an overlay has a table of its own: only its own readers count there.
    let Some(mut reader) = Reader::register(&shard) else {
        let (code, text) = outcome::NO_READER;
        return Err((code, text.to_owned()));
    };
    let pin = reader.pin();
    // Nothing of the thread is used but what it knows of passwords: what else it remembers are numbers of the directory.
    // Ids of names are others in the overlay.
    let (passwords, views) = (std::mem::take(&mut of_thread.passwords), std::mem::take(&mut of_thread.views));
    let mut scratch = Scratch { passwords, views, ..Scratch::default() };
    let read_point = pin.read_point();
    let looked =
        look(&mut Reading { dsa, read_point, scratch: &mut scratch, now, security: Security::INTERNAL });
    (of_thread.passwords, of_thread.views) = (scratch.passwords, scratch.views);
    looked
}
