//! What the entries of a search are written with, where that is not what they have
//! and the client may read: some of the values alone (RFC 3876), or attributes of
//! other entries besides.
//!
//! It is put together before the entry is counted and written, and may take more than
//! a slice: then the search goes on with the same entry. The filter is not evaluated
//! again meanwhile, for that may take a slice by itself. It is as the requester's
//! class may read it; with another class it begins anew.

use super::base::Base;
use crate::access::{ClassId, Requester};
use crate::control::Requested;
use crate::control::dereference::Dereferencing;
use crate::entry_writer::matched::{Chose, Matching};
use crate::selection::RequestedSelection;
use crate::worker::Scratch;
use model::{EntryId, ResultCode};
use proto::control::dereference;
use proto::op::Search;
use store::search::work::COMPILED_ITEM;
use store::{EntryRef, ReadPoint, Shard};

/// Why a control cannot be used: the code and the text of the answer.
type Misfit = (ResultCode, &'static str);

/// What is asked for of each entry. Few searches have it, so it lies behind a
/// pointer, and all that such a search does more lies behind one branch.
pub(super) struct Contents {
    matching: Option<Matching>,
    dereferencing: Option<Dereferencing>,
    /// An entry has more values than may wait in memory.
    is_too_much: bool,
    /// The entry that was begun with, and the class of the requester.
    begun: Option<(EntryId, ClassId)>,
}

impl Contents {
    /// What a search asks for; nearly always nothing.
    ///
    /// # Errors
    /// Why a control cannot be understood, or used.
    #[inline]
    pub(super) fn new(
        request: &Search<'_>,
        requested: &Requested<'_>,
        scratch: &mut Scratch,
        (shard, is_system): (&Shard, bool),
    ) -> Result<Option<Box<Contents>>, Misfit> {
        match requested.asks_for_contents() {
            false => Ok(None),
            true => Contents::asked(request, requested, scratch, (shard, is_system)),
        }
    }

    #[cold]
    fn asked(
        request: &Search<'_>,
        requested: &Requested<'_>,
        scratch: &mut Scratch,
        (shard, is_system): (&Shard, bool),
    ) -> Result<Option<Box<Contents>>, Misfit> {
        // Whether a control can be used is known by the schema, so it is decided here
        // and not when it is read.
        let Some(rare) = &requested.rare else { return Ok(None) };
        let dereferencing = match &rare.dereference {
            None => None,
            // Entries of the server's own name none that a client would read by them.
            Some((_, is_critical)) if is_system => match is_critical {
                false => None,
                true => {
                    let text = "names in the server's own entries are not dereferenced";
                    return Err((ResultCode::UnavailableCriticalExtension, text));
                }
            },
            Some(specs) => Dereferencing::new(specs, requested.manage_dsa_it, shard.schema())
                .map_err(|text| (ResultCode::ProtocolError, text))?,
        };
        let matching = rare.matched_values.as_ref().and_then(|items| {
            scratch.pay(items.len() as u64 * COMPILED_ITEM);
            Matching::new(items, (request.selection, request.types_only), shard)
        });
        let is_nothing = matching.is_none() && dereferencing.is_none();
        Ok((!is_nothing)
            .then(|| Box::new(Contents { matching, dereferencing, is_too_much: false, begun: None })))
    }

    /// The entry that it has begun with.
    pub(super) fn waiting(&self) -> Option<EntryId> {
        self.begun.map(|(id, _)| id)
    }

    /// The entry that it has begun with is not returned after all.
    pub(super) fn forget(&mut self) {
        self.begun = None;
    }

    /// Has it begun with an entry, for this requester? What was put together is by
    /// the rights of a class: with another one of it nothing may be used.
    pub(super) fn has_begun(&self, entry: &EntryRef<'_>, who: Requester) -> bool {
        self.begun == Some((entry.id, who.class))
    }

    /// Has an entry more values than may wait in memory?
    pub(super) fn is_too_much(&self) -> bool {
        self.is_too_much
    }

    /// Bytes that it holds while its search is suspended.
    pub(super) fn heap_bytes(&self) -> usize {
        let of_matching = self.matching.as_ref().map_or(0, Matching::heap_bytes);
        of_matching + self.dereferencing.as_ref().map_or(0, Dereferencing::heap_bytes)
    }

    /// Puts together what an entry is written with, from where it was paused. Values
    /// come first: those that are discarded must not be brought back by what is
    /// dereferenced (RFC 3876 section 4).
    pub(super) fn prepare(
        &mut self,
        scratch: &mut Scratch,
        (read_point, base, who): (ReadPoint<'_>, &Base, Requester),
        asked: RequestedSelection<'_>,
        entry: &EntryRef<'_>,
        work: &mut u64,
    ) -> Chose {
        let (at, view) = ((read_point, entry), asked.view);
        if !self.has_begun(entry, who) {
            self.begun = Some((entry.id, who.class));
            self.matching.iter_mut().for_each(Matching::forget);
            self.dereferencing.iter_mut().for_each(Dereferencing::forget);
        }
        if let Some(matching) = &mut self.matching {
            let (templates, cache, views) = scratch.writer(base.is_system);
            let is_root_dse = base.is_root_dse;
            // Of an entry that is done, only what is dereferenced was paused: then
            // this finds no attribute left.
            let chose =
                templates.choose_values(matching, (asked, who), at, (views, cache), is_root_dse, work);
            if chose != Chose::All {
                self.is_too_much |= chose == Chose::TooMuch;
                return chose;
            }
        }
        if let Some(dereferencing) = &mut self.dereferencing {
            let matching = self.matching.as_mut();
            if !dereferencing.prepare(scratch, at, (who, view), matching, work) {
                return Chose::Paused;
            }
        }
        Chose::All
    }

    /// The entry that was prepared is written: it comes with the control of what was
    /// dereferenced. Returns the values that were chosen, if some were to be.
    pub(super) fn bring(&mut self, scratch: &mut Scratch, is_system: bool) -> Option<&mut Matching> {
        // The next entry begins anew, also if it is this one again.
        self.begun = None;
        let value = self.dereferencing.as_mut().and_then(Dereferencing::take);
        if let Some(value) = &value {
            scratch.writer(is_system).0.bring(dereference::control(value, false));
        }
        self.matching.as_mut()
    }
}
