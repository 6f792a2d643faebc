//! An update with an assertion, a pre-read or a post-read: all of it happens in the writer's role, so nothing comes
//! in between. Each part is a function of a read point and an entry, wherever these come from.
//!
//! The order is that of RFC 4527 and RFC 4528 together: the assertion is judged on the entry as it is; then it is read; then it changes; then it is
//! read again. Whether all of the answer can be sent is known before the change.

use super::read_entry::{ReadEntry, read};
use super::{ControlError, Rare, assertion};
use crate::access::{Action, Requester};
use crate::context::Writing;
use crate::dispatch;
use crate::faults::holes;
use crate::op::modify_dn::new_dn;
use crate::worker::Scratch;
use ::access::Operation;
use env::planted;
use model::limits::READ_ENTRY_BYTES_MAX;
use model::{EntryId, Filter, ResultCode};
use proto::control::{Control, read_entry};
use proto::message::{Message, Request};
use proto::result::{LdapResult, encode_response};
use proto::tag;
use std::borrow::Cow;
use store::{EntryRef, ReadPoint};

/// DN of the entry that an update is about, if it is there before the update.
/// An add has none, and an extended operation is a modify by now.
pub(crate) fn target<'a>(request: &Request<'a>) -> Option<&'a [u8]> {
    match request {
        Request::Modify(modify) => Some(modify.dn),
        Request::Delete(dn) => Some(dn),
        Request::ModifyDn(modify_dn) => Some(modify_dn.dn),
        _ => None,
    }
}

/// The name that an update is for, and whether it is to be given to a new entry.
pub(crate) fn place<'a>(request: &Request<'a>) -> Option<(&'a [u8], bool)> {
    match request {
        Request::Add(add) => Some((add.dn, true)),
        request => target(request).map(|dn| (dn, false)),
    }
}

/// The tag of the answer to an update.
pub(crate) fn response_to(request: &Request<'_>) -> u8 {
    proto::tag::response_to(request.tag()).expect("updates have answers")
}

/// Names of the entries that an update is about. A change of a password says it in its own way.
/// A rename is about two: the entry, and the name that it takes, which an open transaction may be about to add.
pub(crate) fn names<'a>(request: &Request<'a>) -> impl Iterator<Item = Cow<'a, [u8]>> {
    let (first, second) = match request {
        Request::Add(add) => (Some(add.dn), None),
        Request::ModifyDn(modify_dn) => (Some(modify_dn.dn), Some(new_dn(modify_dn))),
        request => (target(request), None),
    };
    first.map(Cow::Borrowed).into_iter().chain(second.map(Cow::Owned))
}

/// Applies an update of `message_len` bytes with the controls that it has. Returns the entry's id if it was done.
#[cold]
pub(crate) fn run(
    writing: &mut Writing<'_, '_>,
    message: &Message<'_>,
    message_len: usize,
    rare: &Rare<'_>,
    out: &mut Vec<u8>,
) -> Option<EntryId> {
    let response_tag = tag::response_to(message.request.tag())?;
    // The assertion of an add is judged by the store, when the entry is made.
    let found = target(&message.request).and_then(|dn| writing.writer.nearest(dn));
    let entry = found.filter(|(_, is_there)| *is_there).map(|(id, _)| id);
    if let (Some(id), Some((filter, _))) = (entry, &rare.assertion)
        && !assertion::passes(Some(writing.asserts(id, filter)), out, message.id, response_tag)
    {
        return None;
    }
    // Read and judged before the change: after it there is no way back.
    let mut reads = Reads::default();
    if let Err(oid) = reads.begin(writing, entry, rare, message_len) {
        super::refuse(message, ControlError::TooLong(oid), out);
        return None;
    }
    let begin = out.len();
    // The assertion goes along for adds; of others it was judged above and is true.
    let id = dispatch::update(writing, message, Some(rare), out)?;
    reads.end(writing, id);
    let controls = reads.controls();
    // The plain answer that the update has written is replaced by one with controls.
    if !controls.is_empty() {
        out.truncate(begin);
        let result = LdapResult::new(ResultCode::Success);
        encode_response(out, message.id, response_tag, &result, |_| {}, &controls);
    }
    Some(id)
}

/// The entries that an answer brings.
#[derive(Default)]
struct Reads<'a> {
    before: Option<Vec<u8>>,
    wanted_after: Option<ReadEntry<'a>>,
    after: Option<Vec<u8>>,
}

impl<'a> Reads<'a> {
    /// Reads the entry as it is before the update, and settles whether it can be returned as it will be after it: an update
    /// is not undone because its answer is too long. A critical control that cannot be honoured is the error.
    /// The bound leaves room for the update itself: the entry grows by its message at most.
    fn begin(
        &mut self,
        writing: &mut Writing<'_, '_>,
        entry: Option<EntryId>,
        rare: &Rare<'a>,
        message_len: usize,
    ) -> Result<(), &'static [u8]> {
        if let (Some(id), Some(wanted)) = (entry, rare.pre_read) {
            let fits = writing.whole_len(id, wanted).is_some();
            if !fits && wanted.critical {
                return Err(read_entry::PRE_OID);
            }
            self.before = writing.read(id, wanted).filter(|_| fits);
        }
        if let Some(wanted) = rare.post_read {
            let len = match entry {
                Some(id) => writing.whole_len(id, wanted),
                None => Some(0),
            };
            let fits = len.is_some_and(|len| len + message_len <= READ_ENTRY_BYTES_MAX);
            if !fits && wanted.critical {
                return Err(read_entry::POST_OID);
            }
            self.wanted_after = rare.post_read.filter(|_| fits);
        }
        Ok(())
    }

    /// Reads the entry as it is after the update.
    /// It fits, as was found out before; should it not after all, the control is left out of the answer.
    fn end(&mut self, writing: &mut Writing<'_, '_>, id: EntryId) {
        self.after = self.wanted_after.and_then(|wanted| writing.read(id, wanted));
    }

    /// Pre-read first, as the RFC lists them; clients find them by their OIDs.
    fn controls(&self) -> Vec<Control<'_>> {
        let control = |oid, value| Control { oid, critical: false, value: Some(value) };
        let before = self.before.iter().map(|entry| control(read_entry::PRE_OID, entry));
        before.chain(self.after.iter().map(|entry| control(read_entry::POST_OID, entry))).collect()
    }
}

impl Writing<'_, '_> {
    /// An entry as this batch has made it so far, and what it is looked at with.
    /// The role makes sure that nothing comes in between two looks.
    fn look_at(&mut self, id: EntryId) -> (ReadPoint<'_>, EntryRef<'_>, &mut Scratch) {
        let read_point = self.writer.view();
        let entry = read_point.entry(id).expect("it was just found or made");
        // Names may have changed in this very batch.
        self.scratch.updating.cache.forget();
        (read_point, entry, self.scratch)
    }

    fn asserts(&mut self, id: EntryId, filter: &Filter<'_>) -> bool {
        let (read_point, entry, scratch) = self.look_at(id);
        assertion::is_true_for_update(filter, &entry, read_point, &mut scratch.updating)
    }

    /// Length of a SearchResultEntry of everything in the entry that is wanted, whether its client may read it or not; `None` if it is longer
    /// than [`READ_ENTRY_BYTES_MAX`]. Whether an update can be answered is judged by this length: rights belong to the settings of a start, and a
    /// command of the log has the same outcome whatever they are when it is replayed.
    fn whole_len(&mut self, id: EntryId, wanted: ReadEntry<'_>) -> Option<usize> {
        self.read_as(Requester::ROOT, id, wanted).map(|entry| entry.len())
    }

    /// What the client may read of what it wants.
    fn read(&mut self, id: EntryId, wanted: ReadEntry<'_>) -> Option<Vec<u8>> {
        let who = match planted::is(holes::READ_ENTRY_NOT_JUDGED) {
            true => Requester::ROOT,
            false => self.effective.reader(),
        };
        self.read_as(who, id, wanted)
    }

    /// Where nobody is known as the reader, as at a replay, nothing is read: the answer goes to nobody.
    fn read_as(&mut self, who: Requester, id: EntryId, wanted: ReadEntry<'_>) -> Option<Vec<u8>> {
        let (read_point, entry, Scratch { templates, views, updating, .. }) = self.look_at(id);
        let view = views.of(who, Action::of(Operation::Search), &entry, read_point, updating);
        if !views.may_return(view) {
            return None;
        }
        read(wanted, &entry, read_point, (views, who, view), templates, &mut updating.cache)
    }
}
