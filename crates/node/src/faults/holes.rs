//! Faults of which each is found by one test: xtask/holes.toml says which.

env::faults! {
    /// Changes are dated by the clock of the machine, however far that is ahead.
    CLOCK_NOT_CLAMPED = "clock-not-clamped";
}
