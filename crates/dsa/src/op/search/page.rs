//! Paged results (RFC 2696): the page that a search is on, and its cookie, of which the server keeps nothing.

use super::base::Base;
use crate::access::{Bounds, tighter};
use crate::faults::holes;
use crate::monitor::Counters;
use crate::refusals::Limit;
use env::planted;
use model::{EntryId, ResultCode};
use proto::control::Control;
use proto::control::paged_results::{self, PagedResults};
use proto::op::Search;
use proto::result::encode_result;
use proto::tag;
use smallvec::SmallVec;
use store::ReadPoint;

/// A longer key of the last entry of a page is not put into its cookie: the next page goes on by number.
pub(super) const COOKIE_KEY_BYTES_MAX: usize = 512;

/// The page that a search is on.
pub(super) struct Page {
    /// Entries until it is full.
    pub(super) left: u32,
    /// What its cookie goes on from.
    pub(super) at: Position,
    search: SearchKey,
    /// The same without an order.
    plain: SearchKey,
}

/// How far a search has come: what its cookie says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    /// The entry that was returned last, if any was.
    pub(super) last: Option<EntryId>,
    /// Entries that were returned, on all pages: the size limit is that of the search.
    pub(super) returned: u32,
    /// The key of that entry in a sorted list. Empty without one, or if it is long: then a list goes on by the number.
    pub(super) key: Vec<u8>,
}

/// What tells one search from others.
/// A keyed hash, so a client cannot make the cookie of another search.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchKey(u64);

impl Page {
    /// The page that a request asks for. `None` if the search was answered here: its cookie is not of this search, or its client gives
    /// it up (RFC 2696 section 3).
    pub(super) fn begin(
        id: i32,
        (read_point, counters): (ReadPoint<'_>, &Counters),
        bounds: &Bounds,
        (paged, plain, sorted): (&PagedResults<'_>, SearchKey, Option<SearchKey>),
        goes_on_unsorted: impl FnOnce() -> bool,
        out: &mut Vec<u8>,
    ) -> Option<Page> {
        // The cookie is bound to base, scope, filter and order by a keyed hash, so it is good for this very search alone.
        let mut search = sorted.unwrap_or(plain);
        let mut position = search.read(read_point, paged.cookie);
        if position.is_err() && sorted.is_some() {
            search = plain;
            position = search
                .read(read_point, paged.cookie)
                .and_then(|at| goes_on_unsorted().then_some(at).ok_or(()));
        }
        let Ok(at) = position else {
            let text = "the paged results cookie does not belong to this search";
            encode_result(out, id, tag::SEARCH_DONE, ResultCode::UnwillingToPerform, b"", text, &[]);
            return None;
        };
        if paged.size == 0 && !paged.cookie.is_empty() {
            put_page_end(out, id, (ResultCode::Success, ""), &[], &[]);
            return None;
        }
        let size = bounded(counters, bounds, paged.size);
        if planted::is(holes::PAGE_RESERVED) {
            std::hint::black_box(Vec::<u8>::with_capacity(size as usize));
        }
        Some(Page { left: if size == 0 { u32::MAX } else { size }, at, search, plain })
    }

    /// Its search has no order any more.
    /// The cookie says so to the next page, by the key of the search without one.
    pub(super) fn forget_order(&mut self) {
        self.search = self.plain;
    }

    /// Takes an entry that is returned. `false` if it belongs to the next page.
    /// The search ends there, and the entry is found again by the next page, which begins behind the last one that was taken.
    #[inline]
    pub(super) fn take(&mut self, id: EntryId) -> bool {
        if self.left == 0 {
            return false;
        }
        assert!(
            self.at.last.is_none_or(|last| last.0 < id.0),
            "a page goes on behind the last entry, so entries come in the order of their ids"
        );
        self.left -= 1;
        (self.at.last, self.at.returned) = (Some(id), self.at.returned.saturating_add(1));
        true
    }

    /// Takes an entry of a sorted list, of a page that is not full. The last one has its key.
    pub(super) fn take_sorted(&mut self, id: EntryId, key: Vec<u8>) {
        assert!(self.left > 0, "whether a page is full is asked before");
        self.left -= 1;
        self.at = Position { last: Some(id), returned: self.at.returned.saturating_add(1), key };
    }

    /// The cookie to go on with: 8 bytes of a keyed hash of the search and of what follows, which is the last entry and the
    /// number of those returned, each in 4 bytes, and the key of the last entry.
    pub(super) fn cookie(&self, read_point: ReadPoint<'_>) -> Vec<u8> {
        // The check comes first, for the key has any length.
        let mut cookie = Vec::with_capacity(CHECK_BYTES + POSITION_BYTES + self.at.key.len());
        cookie.extend_from_slice(&[0; CHECK_BYTES]);
        cookie.extend_from_slice(&self.at.last.unwrap_or_default().0.to_be_bytes());
        cookie.extend_from_slice(&self.at.returned.to_be_bytes());
        cookie.extend_from_slice(&self.at.key);
        let (check, position) = cookie.split_at_mut(CHECK_BYTES);
        check.copy_from_slice(&self.search.check(read_point, position));
        cookie
    }
}

/// Entries of a page; 0: any number. One that is larger than the requester may have is cut, which the cookie tells the client.
fn bounded(counters: &Counters, bounds: &Bounds, asked: i32) -> u32 {
    let asked = u32::try_from(asked).unwrap_or(0);
    let size = tighter(asked, bounds.page);
    if size != asked {
        counters.limited(Limit::Page);
    }
    size
}

const POSITION_BYTES: usize = 8;
const CHECK_BYTES: usize = 8;

/// Bytes that are hashed: of most searches they need no memory of their own.
type Hashed = SmallVec<[u8; HASHED_BYTES]>;
const HASHED_BYTES: usize = 128;

/// The last message of a search that has pages.
/// The end of a page, with its cookie and with other controls if there are any.
pub(super) fn put_page_end(
    out: &mut Vec<u8>,
    id: i32,
    (code, text): (ResultCode, &str),
    cookie: &[u8],
    others: &[Control<'_>],
) {
    let mut value = Vec::new();
    PagedResults { size: 0, cookie }.encode(&mut value);
    let mut controls = vec![Control { oid: paged_results::OID, critical: false, value: Some(&value) }];
    controls.extend_from_slice(others);
    encode_result(out, id, tag::SEARCH_DONE, code, b"", text, &controls);
}

impl SearchKey {
    /// That of a search. The limits are not part of it, nor is what is selected.
    pub(super) fn of(read_point: ReadPoint<'_>, base: &Base, request: &Search<'_>) -> SearchKey {
        let mut bytes = Vec::with_capacity(HASHED_BYTES);
        proto::filter::encode(&request.filter, &mut bytes);
        bytes.extend_from_slice(&base.id.0.to_be_bytes());
        bytes.push(request.scope as u8);
        SearchKey(read_point.shard().keyed_hash(&bytes))
    }

    /// That of a search that has a sorted list.
    pub(super) fn of_list(self, read_point: ReadPoint<'_>, request: &[u8]) -> SearchKey {
        let bytes = self.with(request);
        SearchKey(read_point.shard().keyed_hash(&bytes))
    }

    /// The key with what follows it.
    fn with(self, bytes: &[u8]) -> Hashed {
        let mut all = Hashed::from_slice(&self.0.to_be_bytes());
        all.extend_from_slice(bytes);
        all
    }

    /// What ties a position to this search, so that no client makes one up.
    /// The position is in the clear and protected by this.
    fn check(self, read_point: ReadPoint<'_>, position: &[u8]) -> [u8; CHECK_BYTES] {
        let bytes = self.with(position);
        read_point.shard().keyed_hash(&bytes).to_be_bytes()
    }

    /// Where a cookie says that this search goes on.
    ///
    /// # Errors
    /// When it is none of this search.
    pub(super) fn read(self, read_point: ReadPoint<'_>, cookie: &[u8]) -> Result<Position, ()> {
        if cookie.is_empty() {
            return Ok(Position::default());
        }
        // Any other length or content is refused: the server has made none such.
        let (check, position) = cookie.split_at_checked(CHECK_BYTES).ok_or(())?;
        let key = position.get(POSITION_BYTES..).ok_or(())?;
        if *check != self.check(read_point, position) {
            return Err(());
        }
        let number = |at: usize| position[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        Ok(Position { last: Some(EntryId(number(0))), returned: number(4), key: key.to_vec() })
    }
}
