//! Delete (RFC 4511 section 4.8): an entry without subordinates goes.

use crate::dispatch::Writing;
use crate::outcome;
use proto::tag::DELETE_RESPONSE;

/// Answers a delete of the entry with this DN.
pub(crate) fn run(writing: &mut Writing<'_, '_>, id: i32, request: &[u8], out: &mut Vec<u8>) {
    if !writing.may_write(out, id, DELETE_RESPONSE) {
        return;
    }
    match writing.writer.delete(request) {
        Ok(_) => outcome::succeed(out, id, DELETE_RESPONSE),
        Err(refused) => outcome::refuse_write(writing, out, id, DELETE_RESPONSE, request, &refused),
    }
}
