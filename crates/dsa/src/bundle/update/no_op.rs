//! An update with the control no-op: it is checked as if it were made, in an overlay that is thrown away. It is not
//! logged, so no replica and no replay knows of it.

use crate::context::Reading;
use crate::control::Requested;
use crate::control::update::response_to;
use crate::effective::Effective;
use crate::identity::Identity;
use crate::outcome;
use crate::session::security::Security;
use crate::transaction::Evaluation;
use crate::worker::Parts;
use model::ResultCode;
use proto::message::Message;
use store::overlay::{OVERLAY_BYTES_MAX, Overlay};

/// Answers an update that passed the stages before. `frame` is the message as which it would be logged.
/// The overlay is one of its own, so nothing of it is seen by another request, nor by a transaction of the session.
pub(super) fn run(
    parts: &mut Parts<'_>,
    identity: &Identity,
    frame: &[u8],
    requested: &Requested<'_>,
    out: &mut Vec<u8>,
) {
    let message = Message::decode(frame).expect("it was decoded before, or just encoded");
    let response = response_to(&message.request);
    let Parts { dsa, reader, scratch, now, .. } = parts;
    // Nothing of the session is on its way to the log, so the read point has all updates before this one.
    let pin = reader.pin();
    let base = pin.read_point();
    scratch.evaluator.cache.refresh(base);
    // Bounded as that of a transaction: copies of the entries that the update is about.
    let Ok(mut overlay) = Overlay::new(&dsa.shard, OVERLAY_BYTES_MAX) else {
        let text = "there is no memory to check this update now; try again later";
        return outcome::say(out, message.id, response, ResultCode::Busy, text);
    };
    let mut reading = Reading { dsa, read_point: base, scratch, now: *now, security: Security::INTERNAL };
    let effective = Effective::authorized(identity);
    let mut evaluation = Evaluation::new(&mut reading, &mut overlay, effective, true);
    // What it answers is not the client's answer if it goes well: nothing was done.
    let mut answer = Vec::new();
    match evaluation.run(&message, frame.len(), requested, base.late_id(0), &mut answer) {
        false => out.extend_from_slice(&answer),
        // What was read of the entry is of an update that was not made.
        true => outcome::check(out, message.id, response),
    }
}
