//! How the server itself behaves, apart from the directory that it serves.

use dsa::faults::holes;
use dsa::refusals::Limit;
use env::planted;

/// Threads and patience.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// IO threads, at least 1.
    pub threads: usize,
    /// Seconds that a connection of a client that has bound may wait for its next request; 0: for ever.
    pub idle_timeout_s: u64,
    /// The same, of a client that has not bound.
    pub unbound_idle_timeout_s: u64,
    /// Seconds that a connection may wait with its first request; 0: as long as with any other.
    pub first_request_s: u64,
    /// Seconds that a message may take from its first byte to its last; 0: any time.
    pub message_timeout_s: u64,
    /// Seconds that a TLS handshake may take; 0: any time.
    pub handshake_timeout_s: u64,
    /// Connections at once; 0: as many as the process may have descriptors, less some.
    pub connections_max: u64,
    /// Seconds that a client may leave answers untaken; 0: for ever.
    pub write_timeout_s: u64,
    /// Seconds that connections have to finish when the server ends.
    pub shutdown_timeout_s: u64,
}

impl Options {
    /// Seconds that a connection may wait for its next request, 0 for ever, and by which limit. A client that has not bound waits no longer than
    /// others, and one that has sent nothing yet (`is_silent`) no longer than those.
    pub(crate) fn idle_timeout(&self, is_silent: bool, is_bound: bool) -> (u64, Limit) {
        let least =
            |one: u64, other: u64| if one == 0 || other == 0 { one.max(other) } else { one.min(other) };
        let unbound = if is_bound { 0 } else { self.unbound_idle_timeout_s };
        let idle = least(self.idle_timeout_s, unbound);
        let is_silent = is_silent && !planted::is(holes::SILENT_KEPT);
        let first = if is_silent { least(idle, self.first_request_s) } else { idle };
        (first, if first == idle { Limit::Idle } else { Limit::FirstRequest })
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            threads: env::task::cores(),
            idle_timeout_s: 3600,
            unbound_idle_timeout_s: 900,
            first_request_s: 30,
            message_timeout_s: 120,
            handshake_timeout_s: 10,
            connections_max: 0,
            write_timeout_s: 60,
            shutdown_timeout_s: 10,
        }
    }
}
