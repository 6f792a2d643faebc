//! What is asked, what comes of it, and the time that it may take.

use super::target::Target;
use env::clock::{Clock, SystemClock};
use model::ResultCode;
use model::limits::{CHAIN_SEARCHES_MAX, CHAIN_TEXT_BYTES_MAX};
use proto::result::LdapResult;

/// A request, and where it goes on.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// The request: a search, a compare or an update of an entry, as a message whose controls do not count.
    pub message: &'a [u8],
    /// Who asks: a DN, empty for nobody.
    pub who: &'a [u8],
    /// Where it goes on, each by URLs of which one is enough: one place, but for a search that [`Asking::is_each`].
    pub places: &'a [Vec<Vec<u8>>],
    /// Of a rename, the new superior by each of these URLs; empty without one.
    pub superiors: &'a [Vec<u8>],
    /// Are the places those of references that a search has found? One that fails ends nothing then, and none of its entries count.
    pub is_each: bool,
}

/// What came of a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Messages of entries, and of references that were not followed.
    pub messages: Vec<u8>,
    /// Bases of the searches that were made.
    pub bases: Vec<Vec<u8>>,
    /// Is it all that is there?
    pub is_whole: bool,
}

/// What a request came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// Of a search, what came of each place.
    pub parts: Vec<Part>,
    /// Number of the result code.
    pub code: u32,
    /// The text of the result. That of another server, if it was asked in the name of the client: what it says to this server may be for this server alone.
    pub text: String,
    /// URLs of a referral that was not followed.
    pub urls: Vec<Vec<u8>>,
    /// By how many RDNs matchedDN is shorter than the name that was asked for. Known of a server that was asked in the name of the client.
    pub unmatched: Option<usize>,
    /// Which servers could not be asked that could be before, and why: for the operator.
    pub failures: Vec<String>,
}

impl Followed {
    pub(super) fn failed(code: ResultCode, text: String) -> Followed {
        Followed { code: code as u32, text, ..Followed::default() }
    }
}

/// The time for all of a request.
pub(super) struct Time {
    clock: SystemClock,
    end_ns: u64,
}

impl Time {
    pub(super) fn of(seconds: u64) -> Time {
        let clock = SystemClock::start();
        Time { clock, end_ns: clock.monotonic_ns().saturating_add(seconds.saturating_mul(1_000_000_000)) }
    }

    pub(super) fn is_over(&self) -> bool {
        self.clock.monotonic_ns() >= self.end_ns
    }

    /// What is left, one second at least.
    pub(super) fn seconds_left(&self) -> u64 {
        self.end_ns.saturating_sub(self.clock.monotonic_ns()).div_ceil(1_000_000_000).max(1)
    }
}

/// What a client gets of a server that cannot be asked, as the text of the result.
pub(super) const UNAVAILABLE: &str = "another server cannot be asked";

/// URLs of a list that are kept, no more than can be asked.
pub(super) fn kept<'u>(urls: impl Iterator<Item = &'u [u8]>) -> Vec<Vec<u8>> {
    urls.take(CHAIN_SEARCHES_MAX).map(<[u8]>::to_vec).collect()
}

/// The text of a result, or its beginning.
pub(super) fn text_of(result: &LdapResult<'_>, target: &Target) -> String {
    if !target.is_proxied {
        return String::new();
    }
    let text = result.diagnostic;
    String::from_utf8_lossy(&text[..text.len().min(CHAIN_TEXT_BYTES_MAX)]).into_owned()
}

/// The code of a result as its client gets it. One that says nothing to a client of this server, or that no such request has, is `other`
/// (RFC 4511 section 4.1.9).
pub(super) fn passed_on(result: &LdapResult<'_>, is_compare: bool) -> u32 {
    let is_fit = match result.result_code() {
        None | Some(ResultCode::SaslBindInProgress) => false,
        Some(ResultCode::Referral) => !result.referral.is_empty(),
        Some(ResultCode::CompareTrue | ResultCode::CompareFalse) => is_compare,
        Some(ResultCode::Success) => !is_compare,
        Some(_) => true,
    };
    if is_fit { result.code } else { ResultCode::Other as u32 }
}
