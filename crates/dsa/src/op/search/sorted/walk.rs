//! A sorted search by an ordering index: it finds its entries in the order of their first sort key, and need not find all of them before it
//! returns the first.
//!
//! ```text
//! part     ids of the index in the order of prefixes of keys, as many as a page has; those with one prefix stay together
//! gather   those of them that match, with their keys, as of any sorted search
//! return   the part in order; then the next one
//! last     entries without a value that may be read: these are in no part, and come behind all others
//! ```
//! The order of a part is made by whole keys, so the index decides only in which part an entry is. An entry is in that of its own key: the least value
//! that the requester may read. The index has it there, whatever other values it has it by. So what is returned is what sorting all entries would
//! give, and a page may go on with the other way.
//!
//! A part in which no two entries have one prefix is in order as it is read. If the index tells as well by which of its values an entry is sorted, and the
//! requester may read them all, then the entries of the part are judged and returned one by one, and no keys are made.
//!
//! Parts have entries that the search's own plan would not look at. They count in no limit of candidates but have one of their own, and where that is
//! reached before an entry is returned, all are gathered.

use super::super::page::Page;
use super::super::query::Query;
use super::super::running::{Running, TooMuch};
use super::keys::{SortedBy, prefix};
use crate::access::{Requester, Searchable, Views};
use model::Description;
use roaring::RoaringBitmap;
use std::borrow::Cow;
use store::IndexKind;
use store::search::{Candidates, Cursor, InOrder};

/// Ids of the first part at least, and of any at most, if not more have one prefix. Parts grow, for their entries may not match.
/// Most of them match where the index serves at all, so the first part is what a page needs.
const PART_MIN: usize = 8;
const PART_MAX: usize = 1024;
/// Ids read of the index for a unit of work.
const IDS: u64 = 2;
/// With so few candidates for each entry of a page, or where the plan leaves one in so many entries, all are gathered.
const WORTH: u64 = 4;
const SHARE: u64 = 8;

/// Said of a search that there is no room for.
const TOO_MUCH: &str = "the entries take more memory than may be used for sorting; search for fewer of them";
/// Said besides, where an index would serve it.
const ADD_ONE: &str = ", or add an index: pando index build --url URL ";

/// Said of a search whose client has other rights in the middle of it.
pub(super) const RIGHTS_CHANGED: &str =
    "the rights of the client were changed while its entries were sorted; try again";

/// What came of reading the next part.
pub(super) enum Part {
    /// Its ids are looked at.
    Read,
    /// The same, and its entries are found in the order of the list.
    InOrder,
    /// The work is used up before.
    Later,
    /// There is too much to look at.
    TooMuch(TooMuch),
}

/// Ids of a part.
enum Ids {
    /// No two of them have one prefix, and each is there by the value that it is sorted by. So this is the order of the list.
    InOrder(Vec<u32>),
    /// Which comes first is for whole keys to say.
    Any(RoaringBitmap),
}

impl Ids {
    fn put(&mut self, id: u32, is_another_prefix: bool) {
        match self {
            Ids::InOrder(ids) if is_another_prefix => ids.push(id),
            Ids::InOrder(ids) => {
                let others = std::mem::take(ids);
                *self = Ids::Any(others.into_iter().chain([id]).collect());
            }
            Ids::Any(ids) => {
                ids.insert(id);
            }
        }
    }

    /// Takes out the id that was put last, if they are in order and not too few for a part.
    fn cut(&mut self) -> bool {
        match self {
            Ids::InOrder(ids) if ids.len() > PART_MIN => ids.pop().is_some(),
            _ => false,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Ids::InOrder(ids) => ids.capacity() * size_of::<u32>(),
            Ids::Any(ids) => ids.serialized_size(),
        }
    }
}

/// How far a search has come with the index.
pub(super) struct Walk {
    keys: InOrder,
    /// Ids of the part that is read, and between which prefixes they are.
    ids: Ids,
    /// How many were read for it: of several values an entry may be among them several times.
    read: usize,
    between: Option<(u64, u64)>,
    /// Is an entry in the index by the value that it is sorted by, and by no other?
    is_ranked: bool,
    /// Is the part shorter than wanted, for what comes behind it is in order, or is not?
    is_short: bool,
    /// How many it shall have, and how many if they are to be sorted.
    wanted: usize,
    wanted_any: usize,
    /// And how many at most, also if all of them have one prefix: they have the memory that keys may have.
    bound: usize,
    /// The candidates of the search itself, while those of a part take their place.
    own: Option<Candidates>,
    /// Is it at those without a value?
    is_last: bool,
    /// Are there none of these?
    is_complete: bool,
    is_reverse: bool,
    /// For whom it began. With other rights an entry may have another key, and be in a part that was returned, or in none that comes.
    who: Requester,
    /// Ids of all parts so far.
    looked: u64,
    /// Candidates of the search itself.
    candidates: u64,
    /// Is less than all of the list wanted? If not, it is faster to gather, as long as there is memory for that.
    pub(super) is_worth: bool,
    /// The page goes on behind an entry of the first part.
    pub(super) resumes: bool,
}

impl Walk {
    /// Of a search by this key that returns so many entries at most; 0: any number. `None` if no index serves it, or if that has far more entries.
    /// In reverse order the entries without a value come first: it must be known that there are none. A page after one without a key goes on by number.
    pub(super) fn open(
        views: &Views,
        query: &Query<'_>,
        (by, cursor): (&SortedBy, &Cursor),
        page: Option<&Page>,
        (limit, bytes_max): (u32, usize),
    ) -> Option<Box<Walk>> {
        let order = by.plain().filter(|_| !query.base.is_system)?;
        let after = page.filter(|page| page.at.returned > 0).map(|page| &page.at.key[..]);
        if after.is_some_and(<[u8]>::is_empty) {
            return None;
        }
        let read_point = query.read_point;
        let mut keys = InOrder::open(read_point, order, by.reverse)?;
        let schema = read_point.shard().schema();
        let reads_all = views.reads_all(query.who.class, order.0, schema);
        let is_complete = keys.has_all_of(cursor) && reads_all;
        if by.reverse && !is_complete {
            return None;
        }
        // Where no value is hidden, the least of all is the one that counts. The index knows it as long as it has positions.
        let is_ranked = reads_all && keys.len(read_point).is_some();
        if is_ranked {
            keys = keys.by_least();
        }
        // One more tells whether there is another page. A later page begins with the last entry of the page before, which is not returned again.
        let limit = if limit == 0 { u32::MAX } else { limit };
        let wanted = page.map_or(limit, |page| page.left.min(limit)) as usize;
        let wanted = wanted.saturating_add(1 + usize::from(after.is_some())).max(PART_MIN);
        let candidates = cursor.candidates(read_point);
        if candidates < read_point.shard().entries() / SHARE {
            return None;
        }
        let (is_worth, wanted) = (candidates >= WORTH * wanted as u64, wanted.min(PART_MAX));
        let mut is_last = false;
        match after.map(|key| prefix(key, by.reverse)) {
            None => {}
            Some(Some(prefix)) => keys.seek(prefix),
            // Those with a value are behind it in reverse order, and before it in any other.
            Some(None) => is_last = !by.reverse,
        }
        let resumes = after.is_some();
        Some(Box::new(Walk {
            keys,
            ids: no_ids(is_ranked),
            read: 0,
            between: None,
            is_ranked,
            is_short: false,
            wanted,
            // Behind a short part that is sorted may come one that is in order.
            wanted_any: if is_ranked { PART_MIN } else { PART_MAX },
            bound: bytes_max / size_of::<u32>(),
            own: None,
            is_last,
            is_complete,
            is_reverse: by.reverse,
            who: query.who,
            looked: 0,
            candidates,
            is_worth,
            resumes,
        }))
    }

    /// The index that a search by this key lacks, as it is named in settings: it is not there, and would serve the search. That it is not there is said to
    /// those who may test the attribute in every entry, as of any index ([`super::super::unindexed`]).
    pub(super) fn lacks(
        views: &mut Views,
        query: &Query<'_>,
        (by, cursor): (&SortedBy, &Cursor),
        is_view: bool,
    ) -> Option<Box<str>> {
        let (attribute_type, rule) = by.plain().filter(|_| !query.base.is_system)?;
        let (read_point, class) = (query.read_point, query.who.class);
        let schema = read_point.shard().schema();
        let is_own = schema.attribute_type(attribute_type).order() == Some(rule);
        let is_there = || InOrder::open(read_point, (attribute_type, rule), false).is_some();
        let serves = match (is_view, by.reverse) {
            (true, _) => cursor.listed(read_point, attribute_type).is_some(),
            (false, true) => cursor.asks_for(attribute_type),
            (false, false) => true,
        };
        if !is_own || !serves || is_there() {
            return None;
        }
        let needs_all = is_view || by.reverse;
        let is_known = query.who.is_root()
            || (!schema.is_secret(attribute_type)
                && views.searchable(class, (attribute_type, false), schema) == Searchable::Always
                && (!needs_all || views.reads_all(class, attribute_type, schema)));
        let name = schema.describe(Description::plain(attribute_type));
        is_known.then(|| format!("{name}:{}", IndexKind::Ordering).into())
    }

    /// Reads the next part, and has its ids looked at.
    /// The plan leaves one in [`SHARE`] entries at least: so many times what may be looked at is enough where gathering them all would be done.
    /// A part that has more ids than the search has candidates is too much, if the index `may_leave` the search.
    pub(super) fn read(
        &mut self,
        query: &Query<'_>,
        running: &mut Running,
        may_leave: bool,
        work: &mut u64,
    ) -> Part {
        let read_point = query.read_point;
        while !self.is_last {
            let Walk { keys, ids, between, wanted, read, is_ranked, .. } = self;
            let (before, mut is_whole, mut again) = (*read, false, None);
            let of_some = (*wanted).min(self.wanted_any);
            // Only a part that is read takes memory: a page mostly ends with the first.
            if *read == 0
                && let Ids::InOrder(ids) = ids
            {
                ids.reserve(*wanted);
            }
            let is_more = keys.next(read_point, |prefix, id| {
                let (first, last) = between.unwrap_or((prefix, prefix));
                let is_another = between.is_none() || prefix != last;
                let enough = if matches!(ids, Ids::InOrder(_)) { *wanted } else { of_some };
                is_whole = *read >= enough && is_another;
                if !is_another && ids.cut() {
                    // Those with this prefix begin the next part.
                    (is_whole, again) = (true, Some(prefix));
                }
                if !is_whole {
                    ids.put(id, is_another);
                    *between = Some((first, prefix));
                    *read += 1;
                }
                !is_whole
            });
            if let Some(prefix) = again {
                keys.seek(prefix);
            }
            *work = work.saturating_sub((*read - before) as u64 / IDS + 1);
            // To look at all candidates is less, or there is no memory for more of them.
            if *read as u64 > self.candidates && may_leave || *read > self.bound {
                return Part::TooMuch(TooMuch::Memory);
            }
            if is_whole || (!is_more && between.is_some()) {
                let part = std::mem::replace(ids, no_ids(*is_ranked));
                self.is_short = *read < *wanted;
                *read = 0;
                let is_in_order = matches!(part, Ids::InOrder(_));
                if self.is_ranked {
                    self.wanted_any =
                        if is_in_order { PART_MIN } else { (2 * self.wanted_any).min(PART_MAX) };
                }
                let (len, part) = match part {
                    Ids::InOrder(ids) => (ids.len() as u64, Candidates::in_order(ids)),
                    Ids::Any(ids) => (ids.len(), Candidates::of(ids)),
                };
                self.looked += len;
                let allowed = self.own.as_ref().map_or_else(|| running.cursor.allowed(), Candidates::allowed);
                if self.looked > allowed.saturating_mul(SHARE) {
                    running.cursor.cut();
                    return Part::TooMuch(TooMuch::LookThrough);
                }
                let before = running.cursor.exchange(part);
                self.own.get_or_insert(before);
                return if is_in_order { Part::InOrder } else { Part::Read };
            }
            self.is_last = !is_more;
            if *work == 0 && !self.is_last {
                return Part::Later;
            }
        }
        match self.is_complete {
            true => {
                let before = running.cursor.exchange(Candidates::of(RoaringBitmap::new()));
                self.own.get_or_insert(before);
            }
            false => self.restore(running),
        }
        Part::Read
    }

    /// Did it begin for somebody with other rights?
    pub(super) fn is_of_another(&self, who: Requester) -> bool {
        self.who != who
    }

    /// Is an entry with this key in the part?
    pub(super) fn has(&self, key: &[u8]) -> bool {
        match (prefix(key, self.is_reverse), self.between) {
            (Some(prefix), Some((first, last))) if !self.is_last => {
                (first.min(last)..=first.max(last)).contains(&prefix)
            }
            (None, _) => self.is_last,
            _ => false,
        }
    }

    /// The entries of the part were returned. `false` if it was the last one.
    pub(super) fn go_on(&mut self) -> bool {
        (self.between, self.resumes) = (None, false);
        if !self.is_short {
            self.wanted = (2 * self.wanted).min(PART_MAX);
        }
        !self.is_last
    }

    /// All candidates are looked at from here on.
    pub(super) fn restore(&mut self, running: &mut Running) {
        if let Some(own) = self.own.take() {
            running.cursor.exchange(own);
        }
    }

    /// Bytes that it keeps.
    pub(super) fn bytes(&self) -> usize {
        self.ids.bytes() + self.own.as_ref().map_or(0, Candidates::heap_bytes)
    }
}

/// Before the first id of a part.
fn no_ids(is_ranked: bool) -> Ids {
    match is_ranked {
        true => Ids::InOrder(Vec::new()),
        false => Ids::Any(RoaringBitmap::new()),
    }
}

/// What is said of a search that is refused for its order, and lacks this index.
/// Of one that has looked at too much it is said elsewhere, as of any other.
pub(super) fn refusal(why: TooMuch, lacks: Option<&str>) -> Cow<'static, str> {
    match (why, lacks) {
        (TooMuch::Memory, None) => TOO_MUCH.into(),
        (TooMuch::Memory, Some(index)) => [TOO_MUCH, ADD_ONE, index].concat().into(),
        (TooMuch::LookThrough, _) => "".into(),
    }
}
