//! Faults of which each is found by one test: xtask/holes.toml says which.

env::faults! {
    /// Changes are dated by the clock of the machine, however far that is ahead.
    CLOCK_NOT_CLAMPED = "clock-not-clamped";
    /// A leader that was just elected, and has heard of nobody's readers, sets free the ids that its own readers need no more.
    FREE_BEFORE_AFTER_FAILOVER = "free-before-after-failover";
}
