//! From a decoded request to its operation, and what operations are given.

use crate::access::Effective;
use crate::engine::Dsa;
use crate::op;
use crate::worker::Scratch;
use env::clock::Now;
use model::{EntryId, Filter};
use proto::message::{Message, Request};
use store::{Known, ReadPoint, Stamp};

/// A request that looks: everything at one read point.
pub(crate) struct Reading<'r> {
    pub(crate) dsa: &'r Dsa,
    pub(crate) read_point: ReadPoint<'r>,
    pub(crate) scratch: &'r mut Scratch,
    pub(crate) now: Now,
}

/// A request that changes: in the writer's role, several requests of a bundle in one batch.
pub(crate) struct Writing<'w, 's> {
    pub(crate) dsa: &'w Dsa,
    pub(crate) writer: &'w mut store::Writer<'s>,
    pub(crate) scratch: &'w mut Scratch,
    pub(crate) now: Now,
    pub(crate) effective: Effective<'w>,
    /// Number of the name that entries record ([`store::Writer::name`]).
    pub(crate) actor: u32,
    /// A stamp that was made for this update and not used. An update takes one, however it comes to be carried out.
    pub(crate) spare: Option<Stamp>,
    /// Where the entry is, if the group's look-ahead found out.
    pub(crate) known: Option<Known<'w>>,
}

/// Carries out an update, if `condition` is true of the entry that an add makes. Returns the entry's id if it was done.
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
