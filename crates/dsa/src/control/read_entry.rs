//! Pre-read and post-read (RFC 4527): an update brings back its entry, as it was or is, in the same atomic action. What
//! the client may not read is not in it.

use crate::access::{Requester, ViewId, Views};
use crate::entry_writer::Templates;
use crate::selection::RequestedSelection;
use model::limits::READ_ENTRY_BYTES_MAX;
use proto::control::read_entry::entry_of_message;
use proto::list::Octets;
use proto::{Frame, frame};
use store::{DnCache, EntryRef, ReadPoint};

/// What a client wants to read.
/// `critical` decides what happens when the entry is too long to be returned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadEntry<'a> {
    pub(crate) selectors: Octets<'a>,
    pub(crate) critical: bool,
}

/// A SearchResultEntry of an entry; `None` if it is longer than [`READ_ENTRY_BYTES_MAX`].
/// The view is the reader's, which is not that of the update: who may change an entry need not be able to read it.
pub(crate) fn read(
    wanted: ReadEntry<'_>,
    entry: &EntryRef<'_>,
    read_point: ReadPoint<'_>,
    (views, who, view): (&mut Views, Requester, ViewId),
    templates: &mut Templates,
    cache: &mut DnCache,
) -> Option<Vec<u8>> {
    let mut message = Vec::new();
    let asked = RequestedSelection { selectors: wanted.selectors, types_only: false, follows: false, view };
    // The templates of searches serve here as well: the answer has an entry in the form of a search result.
    let chosen = templates.choose(asked, read_point.shard().schema());
    let rest = templates.write(&mut message, 1, read_point, entry, chosen, (views, who), cache, false);
    let len = match frame(&message) {
        Ok(Frame::Complete { len } | Frame::Incomplete { needed: len }) => len,
        // Longer than any message may be.
        Err(_) => return None,
    };
    if len > READ_ENTRY_BYTES_MAX {
        return None;
    }
    if let Some(mut rest) = rest {
        let is_whole = rest.go_on(read_point, &mut message, usize::MAX);
        assert!(is_whole, "nothing ends it before its end");
    }
    Some(entry_of_message(&message).expect("an entry was just written").to_vec())
}
