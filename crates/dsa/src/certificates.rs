//! What the server that secures connections shows of its certificates in `cn=TLS,cn=Monitor`.
//!
//! The agent has no part in TLS. It asks the part that does when the monitor is looked at, so a handshake writes nothing for this.

/// What secures connections, as far as the monitor shows it.
pub trait Certificates: Send + Sync {
    /// How it fares now.
    fn metrics(&self) -> Metrics;
}

/// The certificates in force, and what became of their files. Times are in seconds since 1970.
/// There are no names of files: users may read the monitor, and only the root DN the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Certificates that are shown to clients, in the order of the configuration.
    pub in_force: Vec<Certificate>,
    /// When they were read.
    pub since_s: u64,
    /// When newer files were found to be faulty, if they still are.
    pub failed_s: Option<u64>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// DNS names that it is for, or its subject if there is none.
    pub names: String,
    /// The last second of its validity.
    pub not_after_s: u64,
}
