//! What a replica says of its disk and its clock, and from where on they are bad.

/// Microseconds of a sync below which a disk is never slow.
pub(super) const SLOW_US: u64 = 10_000;
/// Milliseconds by which a clock is apart.
pub(super) const APART_MS: i64 = 500;

/// What a replica says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// What it was asked with: the monotonic clock of the one that asked.
    pub(crate) asked_ms: u64,
    /// Microseconds of a sync, on average since the last report; 0 if there was none.
    pub(crate) sync_us: u64,
    /// Its wall clock, in milliseconds since 1970.
    pub(crate) wall_ms: u64,
}

/// Both clocks of this replica at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Now {
    pub(crate) monotonic_ms: u64,
    pub(crate) wall_ms: u64,
}
