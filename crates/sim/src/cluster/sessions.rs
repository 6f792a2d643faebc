//! How many clients a simulated cluster has.

/// Clients of a world.
pub(super) const SESSIONS: usize = 3;
