//! Faults of which each is found by one test: xtask/holes.toml says which.

env::faults! {
    /// Changes are dated by the clock of the machine, however far that is ahead.
    CLOCK_NOT_CLAMPED = "clock-not-clamped";
    /// A leader that was just elected, and has heard of nobody's readers, sets free the ids that its own readers need no more.
    FREE_BEFORE_AFTER_FAILOVER = "free-before-after-failover";
    /// What became of updates that an earlier run of this server has sent, or another server, is the answer to those of this run with the same
    /// number, which are of another session.
    ANSWER_OF_ANOTHER_SESSION = "answer-of-another-session";
    /// A leader that was deposed sends what it has proposed and not seen committed, though the next one may commit it.
    LIMBO_SENT_TWICE = "limbo-sent-twice";
}
