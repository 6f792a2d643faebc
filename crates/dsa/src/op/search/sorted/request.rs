//! What a sorted list is found again by, and what comes of a request that is refused.

use super::super::query::Query;
use crate::control::Requested;
use proto::control::sort;
use proto::op::Search;

/// Bytes of most requests.
const REQUEST_BYTES: usize = 128;

/// The search was answered.
/// There is nothing more to say, so it has nothing in it.
pub(in super::super) struct Answered;

/// All that decides which entries are found, and in which order.
pub(super) fn list_request(query: &Query<'_>, request: &Search<'_>, requested: &Requested<'_>) -> Vec<u8> {
    // Most are short: they need no second allocation.
    let mut bytes = Vec::with_capacity(REQUEST_BYTES);
    proto::filter::encode(&request.filter, &mut bytes);
    bytes.extend_from_slice(&query.base.id.0.to_be_bytes());
    // All four decide which entries are found.
    let visible = requested.visible().map_or(2, |visible| visible as u8);
    bytes.extend_from_slice(&[
        request.scope as u8,
        request.deref_aliases as u8,
        requested.manage_dsa_it.into(),
        visible,
    ]);
    if let Some((keys, _)) = requested.rare.as_deref().and_then(|rare| rare.sort.as_ref()) {
        bytes.extend_from_slice(&sort::encode(keys));
    }
    bytes
}
