//! How the server itself behaves, apart from the directory that it serves.

use dsa::faults::holes;
use dsa::limits::Limits;
use dsa::refusals::Limit;
use env::planted;

/// How it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// IO threads, at least 1.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { threads: env::task::cores() }
    }
}

/// Seconds that a connection may wait for its next request, 0 for ever, and by which limit. A client that has not bound waits no longer than
/// others, and one that has sent nothing yet (`is_silent`) no longer than those.
pub(crate) fn idle_timeout(limits: &Limits, is_silent: bool, is_bound: bool) -> (u64, Limit) {
    let least = |one: u64, other: u64| if one == 0 || other == 0 { one.max(other) } else { one.min(other) };
    let unbound = if is_bound { 0 } else { limits.unbound_idle_timeout_s.get() };
    let idle = least(limits.idle_timeout_s.get(), unbound);
    let is_silent = is_silent && !planted::is(holes::SILENT_KEPT);
    let first = if is_silent { least(idle, limits.first_request_s.get()) } else { idle };
    (first, if first == idle { Limit::Idle } else { Limit::FirstRequest })
}
