//! How the server itself behaves, apart from the directory that it serves.

/// Threads and patience.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// IO threads, at least 1.
    pub threads: usize,
    /// Seconds that a connection of a client that has bound may wait for its next request; 0: for ever.
    pub idle_timeout_s: u64,
    /// The same, of a client that has not bound.
    pub unbound_idle_timeout_s: u64,
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
    /// Seconds that a connection may wait for its next request; 0: for ever. Who has not bound has no more than others.
    pub(crate) fn idle_timeout(&self, is_bound: bool) -> u64 {
        match (self.idle_timeout_s, self.unbound_idle_timeout_s) {
            (all, _) if is_bound => all,
            (0, unbound) => unbound,
            (all, 0) => all,
            (all, unbound) => all.min(unbound),
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            threads: env::task::cores(),
            idle_timeout_s: 3600,
            unbound_idle_timeout_s: 900,
            message_timeout_s: 120,
            handshake_timeout_s: 10,
            connections_max: 0,
            write_timeout_s: 60,
            shutdown_timeout_s: 10,
        }
    }
}
