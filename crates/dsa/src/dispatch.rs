//! From a decoded update to its operation.
//! In the writer's role. Everything about the update that does not depend on the directory was decided before.

use crate::context::Writing;
use crate::control::Rare;
use crate::op;
use model::EntryId;
use proto::message::{Message, Request};

/// Applies an update with the controls that have a say in how. The assertion of an add is judged on the entry that it makes; that of any other
/// update was judged before. Returns the entry's id if it was done.
/// The answer is in `out` in any case.
pub(crate) fn update(
    writing: &mut Writing<'_, '_>,
    message: &Message<'_>,
    rare: Option<&Rare<'_>>,
    out: &mut Vec<u8>,
) -> Option<EntryId> {
    match &message.request {
        Request::Modify(modify) => {
            let flags = rare.map(|rare| rare.flags).unwrap_or_default();
            op::modify::run(writing, message.id, modify, flags, out)
        }
        Request::Add(add) => op::add::run(writing, message.id, add, rare, out),
        Request::Delete(dn) => op::delete::run(writing, message.id, dn, out),
        Request::ModifyDn(modify_dn) => op::modify_dn::run(writing, message.id, modify_dn, out),
        _ => unreachable!("only updates come here"),
    }
}
