//! How the server itself behaves, apart from the directory that it serves.

/// Threads and patience.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// IO threads, at least 1.
    pub threads: usize,
    /// Seconds that a connection may wait for its next request; 0: for ever.
    pub idle_timeout_s: u64,
    /// Seconds that a client may leave answers untaken; 0: for ever.
    pub write_timeout_s: u64,
    /// Seconds that connections have to finish when the server ends.
    pub shutdown_timeout_s: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            threads: env::task::cores(),
            idle_timeout_s: 0,
            write_timeout_s: 60,
            shutdown_timeout_s: 10,
        }
    }
}
