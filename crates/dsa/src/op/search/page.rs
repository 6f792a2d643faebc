//! Paged results (RFC 2696): the page that a search is on, and its cookie, of which the server keeps nothing.

use super::base::Base;
use crate::faults::holes;
use env::planted;
use model::{EntryId, ResultCode};
use proto::control::Control;
use proto::control::paged_results::{self, PagedResults};
use proto::op::Search;
use proto::result::encode_result;
use proto::tag;
use store::ReadPoint;

/// The page that a search is on.
pub(super) struct Page {
    /// Entries until it is full.
    pub(super) left: u32,
    /// What its cookie goes on from.
    pub(super) at: Position,
    search: SearchKey,
}

/// How far a search has come: what its cookie says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    /// The entry that was returned last, if any was.
    pub(super) last: Option<EntryId>,
    /// Entries that were returned, on all pages: the size limit is that of the search.
    pub(super) returned: u32,
}

/// What tells one search from others.
/// A keyed hash, so a client cannot make the cookie of another search.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchKey(u64);

impl Page {
    /// 0: of any size.
    pub(super) fn new(size: u32, at: Position, search: SearchKey) -> Page {
        if planted::is(holes::PAGE_RESERVED) {
            std::hint::black_box(Vec::<u8>::with_capacity(size as usize));
        }
        Page { left: if size == 0 { u32::MAX } else { size }, at, search }
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
        self.at = Position { last: Some(id), returned: self.at.returned.saturating_add(1) };
        true
    }

    /// The cookie to go on with: the last entry and the number of those returned, each in 4 bytes, then 8 bytes of a keyed
    /// hash of both and of the search.
    pub(super) fn cookie(&self, read_point: ReadPoint<'_>) -> [u8; COOKIE_BYTES] {
        let mut cookie = [0; COOKIE_BYTES];
        cookie[..4].copy_from_slice(&self.at.last.unwrap_or_default().0.to_be_bytes());
        cookie[4..POSITION_BYTES].copy_from_slice(&self.at.returned.to_be_bytes());
        let check = self.search.check(read_point, &cookie[..POSITION_BYTES]);
        cookie[POSITION_BYTES..].copy_from_slice(&check);
        cookie
    }
}

const POSITION_BYTES: usize = 8;
const COOKIE_BYTES: usize = POSITION_BYTES + 8;

/// The end of a page, with its cookie and with other controls if there are any.
pub(super) fn put_page_end(
    out: &mut Vec<u8>,
    id: i32,
    (code, text): (ResultCode, &str),
    cookie: &[u8],
    other: Option<Control<'_>>,
) {
    let mut value = Vec::new();
    PagedResults { size: 0, cookie }.encode(&mut value);
    let mut controls = vec![Control { oid: paged_results::OID, critical: false, value: Some(&value) }];
    controls.extend(other);
    encode_result(out, id, tag::SEARCH_DONE, code, b"", text, &controls);
}

impl SearchKey {
    /// That of a search. The limits are not part of it, nor is what is selected.
    pub(super) fn of(read_point: ReadPoint<'_>, base: &Base, request: &Search<'_>) -> SearchKey {
        let mut bytes = Vec::new();
        proto::filter::encode(&request.filter, &mut bytes);
        bytes.extend_from_slice(&base.id.0.to_be_bytes());
        bytes.push(request.scope as u8);
        SearchKey(read_point.shard().keyed_hash(&bytes))
    }

    /// What ties a position to this search, so that no client makes one up.
    /// The position is in the clear and protected by this.
    fn check(self, read_point: ReadPoint<'_>, position: &[u8]) -> [u8; 8] {
        let mut bytes = [0; 8 + POSITION_BYTES];
        bytes[..8].copy_from_slice(&self.0.to_be_bytes());
        bytes[8..].copy_from_slice(position);
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
        let (position, check) = cookie.split_at_checked(POSITION_BYTES).ok_or(())?;
        if *check != self.check(read_point, position) {
            return Err(());
        }
        let number = |at: usize| position[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        Ok(Position { last: Some(EntryId(number(0))), returned: number(4) })
    }
}
