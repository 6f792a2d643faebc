//! A cursor: yields the entries of a search in ascending order of id, in slices, and can be put down between them.
//! Results are never collected.

use super::evaluate::{Evaluator, Truth};
use super::filter::{Compiled, FewCandidates};
use super::plan::{LiveKey, Source};
use super::scopes::Scopes;
use super::work::{CANDIDATE, Paused};
use crate::index::kind::IndexKind;
use crate::postings::{Found, Postings};
use crate::record::EntryRef;
use crate::shape::Kind;
use crate::shard::ReadPoint;
use model::{EntryId, Scope, TypeId};
use roaring::RoaringBitmap;

/// Ids looked at in advance: their slots and records are asked for together.
/// About as many cache misses as a core has in flight.
const AHEAD: usize = 16;
/// Ids read from a long list at a time.
/// A slice is four cache lines of ids; finding its place in a long list again is paid once for all of it.
const SLICE: usize = 256;

/// A suspended search. It holds no borrow; each step is given the same read point.
/// Its state is the next id and a slice of ids: a search of millions of entries keeps a kilobyte.
pub struct Cursor {
    pub(super) scopes: Scopes,
    pub(super) filter: Compiled,
    pub(super) source: Source,
    /// The next id to look at is at least this.
    next: u32,
    /// Ids of the current slice, descending: taken from the back.
    pub(super) slice: Vec<u32>,
    exhausted: bool,
    /// Entries that it may still look at.
    left: u64,
    /// Entries that it might look at in all.
    allowed: u64,
    /// Entries that it has looked at among other candidates.
    before: u64,
    /// It came to its end because there was one more.
    is_cut: bool,
    /// Where the evaluation stands on the id that is next.
    paused: Paused,
}

/// Where a cursor finds its candidates, which another place of them can be put for, and how many of them it might look at.
pub struct Candidates {
    pub(super) source: Source,
    allowed: u64,
}

impl Candidates {
    /// These ids, which a cursor reads in slices, however many they are. Who puts them for others bounds how many.
    pub fn of(ids: RoaringBitmap) -> Candidates {
        Candidates { source: Source::Bitmap(ids), allowed: u64::MAX }
    }

    /// These ids, which a cursor looks at in this order. They are taken into one slice, so they are few.
    pub fn in_order(ids: Vec<u32>) -> Candidates {
        Candidates { source: Source::Ids(ids), allowed: u64::MAX }
    }

    /// Entries that a cursor might look at in all.
    pub fn allowed(&self) -> u64 {
        self.allowed
    }
}

/// What a step of a cursor found.
/// The entry borrows from the read point, not from the cursor.
pub enum Step<'a> {
    /// An entry that matches.
    Entry(EntryRef<'a>),
    /// Enough was looked at for now; call again.
    Pause,
    /// There are no more.
    End,
}

impl<'a> ReadPoint<'a> {
    /// The candidates of a filter that is one equality assertion on an indexed attribute, if they are few.
    /// Up to four lie in the table's own line, so they are copied and not borrowed. Or those of a filter that is one membership of so few.
    #[inline]
    pub fn few_candidates(self, filter: &Compiled) -> Option<FewCandidates> {
        let Some((attribute_type, normal)) = filter.as_equality() else { return filter.few_members() };
        match self.equality_candidates(attribute_type, self.shard.value_hash(normal))? {
            Found::Few(ids) => Some(ids),
            Found::Many(_) => None,
        }
    }

    /// Where an equality assertion on this type will look, if the type is indexed, given [`crate::Shard::value_hash`] of
    /// the value.
    #[inline]
    pub fn equality_hint(self, attribute_type: TypeId, hash: u64) -> Option<EqualityHint> {
        let index = self.indexes().number_answering(attribute_type, IndexKind::Equality)?;
        Some(EqualityHint { index, tag: crate::hash::tag(hash), likely: 0 })
    }

    /// Prefetches the hash bucket that an equality assertion will look at.
    #[inline]
    pub fn prefetch_equality(self, hint: &EqualityHint) {
        if let Some(postings) = self.postings(hint.index) {
            postings.prefetch(hint.tag);
        }
    }

    /// Finds the likely entry of an equality assertion, which the hint remembers. Asks for what else the search will read.
    #[inline]
    pub fn find_candidate(self, hint: &mut EqualityHint) {
        if let Some(postings) = self.postings(hint.index) {
            hint.likely = postings.peek(hint.tag);
        }
    }

    /// The candidates of an equality assertion that was hinted at, if they are few.
    #[inline]
    pub fn hinted_candidates(self, hint: &EqualityHint) -> Option<FewCandidates> {
        match self.postings(hint.index)?.find(hint.tag) {
            Found::Few(ids) => Some(ids),
            Found::Many(_) => None,
        }
    }

    /// The only candidate of an equality assertion that was hinted at, or none; `Err` if there are more, or may be.
    #[inline]
    #[expect(
        clippy::result_unit_err,
        reason = "the error says nothing but that the others are to be asked for"
    )]
    pub fn only_candidate(self, hint: &EqualityHint) -> Result<Option<EntryId>, ()> {
        let only = self.postings(hint.index).ok_or(())?.find_only(hint.tag).ok_or(())?;
        Ok((only != 0).then_some(EntryId(only)))
    }

    #[inline]
    fn postings(self, index: u16) -> Option<&'a Postings> {
        self.indexes().get(index)?.postings()
    }

    /// Is an entry within a scope?
    #[inline]
    pub fn is_in_scope(self, entry: &EntryRef<'_>, base: EntryId, scope: Scope) -> bool {
        match scope {
            Scope::Base => entry.id == base,
            Scope::One => entry.parent() == base,
            Scope::Subtree => entry.parent() == base || self.is_within(entry.id, base),
            Scope::Subordinates => entry.id != base && self.is_within(entry.id, base),
        }
    }
}

/// Where an equality assertion will look.
#[derive(Clone, Copy, Debug)]
pub struct EqualityHint {
    /// Number of the attribute's index. One that is dropped meanwhile is found no more; its number is not given again
    /// as long as the read point is held.
    index: u16,
    tag: u32,
    /// The entry that is likely to be found; 0 if that was not looked up.
    likely: u32,
}

impl EqualityHint {
    /// The entry that is likely to be found, if there is one.
    #[inline]
    pub fn likely(&self) -> Option<EntryId> {
        (self.likely != 0).then_some(EntryId(self.likely))
    }
}

impl Cursor {
    /// Plans a search within existing scopes. `after` goes on behind an entry that an earlier page ended with.
    /// Planned once. Where it goes on later is an id, so it need not know the plan again.
    pub fn open(
        read_point: ReadPoint<'_>,
        scopes: Scopes,
        filter: Compiled,
        after: Option<EntryId>,
    ) -> Cursor {
        let source = read_point.plan(&filter, &scopes);
        let next = after.map_or(0, |id| id.0.saturating_add(1));
        Cursor::from(scopes, filter, source, next)
    }

    /// Over the candidates of a source from this id on.
    fn from(scopes: Scopes, filter: Compiled, source: Source, next: u32) -> Cursor {
        let (slice, paused) = (Vec::new(), Paused::default());
        Cursor {
            scopes,
            filter,
            source,
            next,
            slice,
            exhausted: false,
            left: u64::MAX,
            allowed: u64::MAX,
            before: 0,
            is_cut: false,
            paused,
        }
    }

    /// Bounds the entries that it looks at. With one more it is at its end.
    pub fn look_at_most(&mut self, entries: u64) {
        (self.left, self.allowed) = (entries, entries);
    }

    /// Goes back to the first candidate. What it may look at is what it was.
    pub fn rewind(&mut self) {
        self.slice.clear();
        (self.next, self.exhausted, self.is_cut) = (0, false, false);
        (self.left, self.before) = (self.allowed, 0);
        self.paused = Paused::default();
    }

    /// Begins with other candidates. Returns those that it had. It may look at as many of each as is said with them.
    pub fn exchange(&mut self, candidates: Candidates) -> Candidates {
        self.before = self.looked();
        self.slice.clear();
        (self.next, self.exhausted, self.paused) = (0, false, Paused::default());
        let source = std::mem::replace(&mut self.source, candidates.source);
        let allowed = std::mem::replace(&mut self.allowed, candidates.allowed);
        self.left = self.allowed;
        Candidates { source, allowed }
    }

    /// Entries that it has looked at.
    pub fn looked(&self) -> u64 {
        self.before + (self.allowed - self.left)
    }

    /// Entries that it might look at in all, of the candidates that it has.
    pub fn allowed(&self) -> u64 {
        self.allowed
    }

    /// Is to look at no more: who finds candidates for it has looked at as many as may be.
    pub fn cut(&mut self) {
        (self.is_cut, self.exhausted) = (true, true);
        self.slice.clear();
    }

    /// Is it in the middle of an entry? Then it must go on at the read point that it began with.
    pub fn is_within_entry(&self) -> bool {
        self.paused.is_begun()
    }

    /// Is it at its end because it was to look at no more entries?
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// A cursor over known candidates, ascending.
    /// For candidates that were found without a plan: the rest of a search that began as a short one.
    pub fn over(base: EntryId, scope: Scope, filter: Compiled, candidates: &[u32]) -> Cursor {
        let (scopes, source) = (Scopes::new(base, scope), Source::Ids(candidates.to_vec()));
        Cursor::from(scopes, filter, source, 0)
    }

    /// A cursor over known candidates that may be very many.
    pub fn over_many(base: EntryId, scope: Scope, filter: Compiled, candidates: RoaringBitmap) -> Cursor {
        Cursor::from(Scopes::new(base, scope), filter, Source::Bitmap(candidates), 0)
    }

    /// A cursor over the referral objects within scopes.
    pub fn referrals(scopes: Scopes) -> Cursor {
        let source = Source::Live(LiveKey::Kind(Kind::Referral));
        let filter = Compiled::of_kind(Kind::Referral);
        Cursor::from(scopes, filter, source, 0)
    }

    /// Looks at candidates until `work` is used up, which it takes from: units as [`super::work`] has them. It comes on by
    /// a candidate at least, or by a value of one.
    /// An id that has no entry at the read point, or is outside the scope, is passed over.
    pub fn step<'a>(
        &mut self,
        read_point: ReadPoint<'a>,
        evaluator: &mut Evaluator,
        work: &mut u64,
    ) -> Step<'a> {
        loop {
            if let Source::Members(gathering) = &mut self.source {
                match gathering.go_on(read_point, &mut evaluator.cache, work) {
                    Some(ids) => self.source = Source::Bitmap(ids),
                    None => return Step::Pause,
                }
            }
            if self.slice.is_empty() && !self.refill(read_point) {
                return Step::End;
            }
            while let Some(id) = self.slice.pop() {
                let is_begun = self.paused.is_begun();
                if !is_begun {
                    self.prefetch_next(read_point);
                    *work = work.saturating_sub(CANDIDATE);
                }
                self.next = id.saturating_add(1);
                let entry = read_point.entry(EntryId(id));
                // Ids without an entry are many in a list of all ids, and cost next to nothing.
                if entry.is_some() && !is_begun {
                    if self.left == 0 {
                        self.is_cut = true;
                        return Step::End;
                    }
                    self.left -= 1;
                }
                if let Some(entry) = entry
                    && (is_begun || self.scopes.hold(read_point, &entry))
                {
                    match evaluator.go_on(&self.filter, &entry, read_point, &mut self.paused, work) {
                        Some(Truth::True) => return Step::Entry(entry),
                        Some(_) => {}
                        None => {
                            self.slice.push(id);
                            return Step::Pause;
                        }
                    }
                }
                if *work == 0 {
                    return Step::Pause;
                }
            }
        }
    }

    /// Asks for what the next candidates will need, a few of them ahead.
    /// Slots far ahead, records nearer: a record's address is in its slot.
    fn prefetch_next(&self, read_point: ReadPoint<'_>) {
        let left = self.slice.len();
        if let Some(far) = left.checked_sub(AHEAD) {
            read_point.shard.heap.prefetch_slot(self.slice[far]);
        }
        if let Some(near) = left.checked_sub(AHEAD / 2) {
            read_point.shard.heap.prefetch_object(self.slice[near]);
        }
    }

    /// Asks for what the first candidates of a slice need, which are wherever their entries came. In a short slice these are all there are.
    fn prefetch_first(&self, read_point: ReadPoint<'_>) {
        let first = |count: usize| self.slice.iter().rev().take(count);
        first(AHEAD).for_each(|id| read_point.shard.heap.prefetch_slot(*id));
        first(AHEAD / 2).for_each(|id| read_point.shard.heap.prefetch_object(*id));
    }

    /// The slice is turned round, for taking from the end of a vector moves nothing.
    fn refill(&mut self, read_point: ReadPoint<'_>) -> bool {
        if self.exhausted {
            return false;
        }
        let from = self.next;
        match &self.source {
            Source::Ids(ids) => {
                self.slice.extend(ids.iter().copied().filter(|id| *id >= from));
                self.exhausted = true;
            }
            Source::Bitmap(ids) => {
                self.slice.extend(ids.range(from..).take(SLICE));
                self.exhausted = self.slice.len() < SLICE;
            }
            Source::Live(key) => {
                read_point.live_slice(key, from, SLICE, &mut self.slice);
                self.exhausted = self.slice.len() < SLICE;
            }
            Source::Members(_) => unreachable!("they are gathered before the first slice"),
            Source::All => {
                // Ids without an entry cost a look at their slot.
                let end = read_point.shard.ids_end().min(from.max(1).saturating_add(SLICE as u32));
                self.slice.extend(from.max(1)..end);
                self.exhausted = self.slice.is_empty();
            }
        }
        self.slice.reverse();
        if !matches!(self.source, Source::All) {
            self.prefetch_first(read_point);
        }
        assert!(self.slice.last().is_none_or(|id| *id >= from), "a cursor goes on in ascending order of ids");
        !self.slice.is_empty()
    }
}
