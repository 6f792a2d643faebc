//! The directory as it would be if a transaction were committed now, for one search or compare: what the updates make
//! different is in an overlay that is made for it, all else where it always is. The transaction does not notice.
//! Bounded in updates, bytes and entries below renamed ones, since each search pays for all of it again.

use super::{Evaluation, Transaction};
use crate::context::Reading;
use crate::control;
use crate::effective::Effective;
use crate::engine::Dsa;
use crate::journal;
use crate::outcome::{self, Refusal};
use crate::session::security::Security;
use crate::worker::Scratch;
use env::clock::Now;
use model::{EntryId, ResultCode};
use proto::message::{Message, Request};
use std::sync::Arc;
use store::overlay::Overlay;
use store::{ReadPoint, Refused, Shard};

/// Updates that a transaction may have if searches shall see them: each search carries all of them out.
const UPDATES_MAX: u64 = 1_000;
/// Bytes that these, and the entries they are about, may take for one search.
const BYTES_MAX: u64 = 32 << 20;
/// Entries below those that the transaction renamed.
const BELOW_MAX: usize = 1_000;

/// What a transaction would make of the directory.
pub(crate) struct View {
    overlay: Overlay,
    /// Ids of the entries that are to be looked for in the overlay, ascending.
    different: Vec<u32>,
    /// Numbers of shapes and ids of names are others in the overlay, so nothing that is remembered is shared.
    pub(crate) scratch: Scratch,
}

impl View {
    /// Why an entry is not looked at that [`View::is_partial`].
    pub(crate) const PARTIAL: &str =
        "the transaction changes an entry that has an attribute with too many values for a search in it";

    /// What it makes of `base`, ready for looking at `dn`. Else code and text of the refusal.
    pub(crate) fn of(
        transaction: &Transaction,
        dsa: &Dsa,
        base: ReadPoint<'_>,
        now: Now,
        dn: &[u8],
    ) -> Result<View, Refusal> {
        let limit = |text: &str| (ResultCode::AdminLimitExceeded, text.to_owned());
        // Both of these refuse the search alone. The transaction is as it was and can be ended.
        let refuse = |refused: Refused| (refused.result_code(), refused.to_string());
        if transaction.updates > UPDATES_MAX {
            return Err(limit("the transaction has more updates than a search can see"));
        }
        let Ok(mut overlay) = Overlay::new(&dsa.shard, BYTES_MAX) else {
            return Err((
                ResultCode::Busy,
                "there is no memory for a search in a transaction now".to_owned(),
            ));
        };
        // The thread's own scratch remembers shapes and names of the directory by number.
        let mut scratch = Scratch::default();
        // Rights were decided when the updates were accepted.
        let effective = Effective::of_transaction(&transaction.identity);
        let (mut answers, mut adds) = (Vec::new(), 0);
        let mut reading =
            Reading { dsa, read_point: base, scratch: &mut scratch, now, security: Security::INTERNAL };
        let mut evaluation = Evaluation::new(&mut reading, &mut overlay, effective, false);
        for frame in journal::messages(&transaction.submission.messages) {
            let message = Message::decode(frame).expect("it was accepted");
            // It was accepted. A control that an earlier behaviour ignored may be malformed to the one of now.
            let requested = control::requested(&message.request, message.controls, dsa.behaviour());
            let Ok(requested) = requested else {
                let text =
                    "updates are applied otherwise since the transaction began; it can only be aborted";
                return Err(outcome::unwilling(text));
            };
            // Behind all ids that are there, so results stay in order of ids when both shards are searched.
            let new_id = base.late_id(adds);
            adds += u32::from(matches!(message.request, Request::Add(_)));
            answers.clear();
            // Refused, not left out: a view without it would be a state that no commit can make.
            if !evaluation.run(&message, frame.len(), &requested, new_id, &mut answers) {
                let text = format!(
                    "another client changed the directory: the update with message id {} would now fail, and so would the commit",
                    message.id
                );
                return Err(outcome::unwilling(text));
            }
            if evaluation.overlay.bytes() > BYTES_MAX {
                return Err(limit("the entries of the transaction are too long for a search in it"));
            }
        }
        assert!(adds as usize == transaction.submission.adds, "adds were counted when they were accepted");
        overlay.bring(base, dn, &[]).map_err(refuse)?;
        // Entries below a renamed one have another DN, so they differ although no update named them.
        let different = overlay.complete(base, BELOW_MAX).map_err(refuse)?;
        assert!(different.is_sorted(), "the search looks ids up in them by halves");
        match overlay.bytes() > BYTES_MAX {
            true => Err(limit("the entries that the transaction renames are too long for a search in it")),
            false => Ok(View { overlay, different, scratch }),
        }
    }

    /// Where the entries are that are different.
    pub(crate) fn shard(&self) -> &Arc<Shard> {
        self.overlay.shard()
    }

    /// Their ids, also of those that are gone, ascending.
    pub(crate) fn different(&self) -> &[u32] {
        &self.different
    }

    /// Is an entry one of them?
    pub(crate) fn differs(&self, id: EntryId) -> bool {
        self.different.binary_search(&id.0).is_ok()
    }

    /// Has it a set of values of which only some are in the overlay?
    pub(crate) fn is_partial(&self, id: EntryId) -> bool {
        self.overlay.is_partial(id)
    }
}
