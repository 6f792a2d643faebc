//! Collective attributes of an entry (RFC 3671): values that a subentry has and that the entry shows as if they were its own.
//!
//! They come beside the template of the entry, which knows nothing of them, as what an entry shows of groups does. The rights that count are those on the entry that
//! shows them, not those on the subentry (RFC 3671 section 4).
//!
//! ```text
//! asked for   by name, supertype, `*` or `+`: the selection says so, as of any attribute
//! readable    some value at least, by the view on the entry; else the entry is not looked at
//! shown       what its collections have, but for what it excludes and for values that may not be read
//! ```
//! Who follows changes by content synchronisation does not come here: a value of a subentry changes without a change of the entry, and the client would keep what was
//! true once. Nor do reads of the server's own entries, which no subentry is about.

use super::query::Query;
use crate::access::ViewId;
use crate::collective::{attributes, shown};
use crate::entry_writer::matched::Matching;
use crate::faults::holes;
use crate::worker::Scratch;
use ::access::Right;
use env::planted;
use store::EntryRef;

/// Units of asking whether an entry is among those of a subentry, and of taking a value.
const COLLECTION: u64 = 64;
const VALUE: u64 = 8;

impl Query<'_> {
    /// The entry that is written next shows its collective attributes, as far as they are asked for and may be read. Returns its view.
    #[cold]
    pub(super) fn bring_collective(
        &self,
        scratch: &mut Scratch,
        view: ViewId,
        entry: &EntryRef<'_>,
        mut matching: Option<&mut Matching>,
    ) -> ViewId {
        let (read_point, schema) = (self.read_point, self.read_point.shard().schema());
        let all = scratch.views.collections(read_point, &mut scratch.evaluator.cache);
        let Some(all) = all else { return view };
        let mut wanted = attributes(&all, read_point);
        let (templates, _, views) = scratch.writer(false);
        let chosen = templates.choose(self.selection(view), schema);
        let Some(selection) = templates.selection(chosen) else { return view };
        wanted.retain(|description| {
            selection.asks_for(*description, schema)
                && (views.on_attribute(view, *description, schema).some.has(Right::Read)
                    || planted::is(holes::COLLECTIVE_NOT_JUDGED))
        });
        // Nobody asks for any of them, or may read any: the entry is not looked at.
        if wanted.is_empty() {
            return view;
        }
        scratch.pay(COLLECTION * all.len() as u64);
        for (description, values) in shown(&all, &wanted, entry, read_point) {
            scratch.pay(VALUE * values.len() as u64);
            if planted::is(holes::COLLECTIVE_NOT_JUDGED) {
                let values = values.iter().map(|value| &value[..]).collect();
                self.show_all(scratch, description, values, matching.as_deref_mut());
                continue;
            }
            self.show(scratch, entry, description, &values, matching.as_deref_mut());
        }
        // Values were judged by the view of the entry, which is taken anew for each attribute.
        self.view_again(scratch, entry)
    }
}
