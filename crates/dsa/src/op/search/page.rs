//! Paged results (RFC 2696): the page that a search is on, and its cookie, of which the server keeps nothing.

use super::{Base, limit_text};
use model::{EntryId, ResultCode};
use proto::control::Control;
use proto::control::paged_results::{self, PagedResults};
use proto::op::Search;
use proto::result::encode_result;
use proto::tag;
use store::ReadPoint;

/// How much of a page is left.
pub(super) struct Page {
    pub(super) left: u32,
    /// Ties the cookie to this search.
    pub(super) check: u64,
    pub(super) last: EntryId,
}

pub(super) fn put_page_end(out: &mut Vec<u8>, id: i32, code: ResultCode, cookie: &[u8]) {
    let mut value = Vec::new();
    PagedResults { size: 0, cookie }.encode(&mut value);
    let control = Control { oid: paged_results::OID, critical: false, value: Some(&value) };
    encode_result(out, id, tag::SEARCH_DONE, code, b"", limit_text(code), &[control]);
}

/// What a cookie must carry to be one of this search: nothing of it is kept in the server.
pub(super) fn page_check(read_point: ReadPoint<'_>, base: &Base, request: &Search<'_>) -> u64 {
    let mut bytes = Vec::new();
    proto::filter::encode(&request.filter, &mut bytes);
    bytes.extend_from_slice(&base.id.0.to_be_bytes());
    bytes.push(request.scope as u8);
    read_point.shard().keyed_hash(&bytes)
}

pub(super) fn read_cookie(cookie: &[u8], check: u64) -> Result<Option<EntryId>, ()> {
    match cookie {
        [] => Ok(None),
        [a, b, c, d, rest @ ..] if *rest == check.to_be_bytes() => {
            Ok(Some(EntryId(u32::from_be_bytes([*a, *b, *c, *d]))))
        }
        _ => Err(()),
    }
}
