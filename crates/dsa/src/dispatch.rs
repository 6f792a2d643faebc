//! From a decoded update to its operation.
//! In the writer's role. Everything about the update that does not depend on the directory was decided before.

use crate::context::Writing;
use crate::op;
use model::{EntryId, Filter};
use proto::message::{Message, Request};

/// Applies an update, if `condition` is true of the entry that an add makes. Returns the entry's id if it was done.
/// The answer is in `out` in any case.
pub(crate) fn update(
    writing: &mut Writing<'_, '_>,
    message: &Message<'_>,
    condition: Option<&Filter<'_>>,
    out: &mut Vec<u8>,
) -> Option<EntryId> {
    match &message.request {
        Request::Modify(modify) => op::modify::run(writing, message.id, modify, out),
        Request::Add(add) => op::add::run(writing, message.id, add, condition, out),
        Request::Delete(dn) => op::delete::run(writing, message.id, dn, out),
        Request::ModifyDn(modify_dn) => op::modify_dn::run(writing, message.id, modify_dn, out),
        _ => unreachable!("only updates come here"),
    }
}
