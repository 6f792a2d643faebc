//! Faults of which each is found by one test: xtask/holes.toml says which.

env::faults! {
    /// A start gives votes at once, though it has forgotten what it promised.
    VOTE_RIGHT_AFTER_START = "vote-right-after-start";
    /// Term and vote that stand in the mark of a snapshot alone are forgotten, when the files that had them are gone.
    HEADS_NOT_CARRIED_OVER = "heads-not-carried-over";
    /// Behind a snapshot of another replica the log goes on with entries that are of another history.
    TAIL_OF_OTHER_HISTORY = "tail-of-other-history";
    /// The core hears of a snapshot before its files are there.
    SNAPSHOT_STEPPED_EARLY = "snapshot-stepped-early";
    /// A leader answers a question before it has committed anything in its term.
    READ_BEFORE_OWN_TERM = "read-before-own-term";
    /// The number of a node that was removed is given to the next one that joins.
    REPLICA_ID_USED_AGAIN = "replica-id-used-again";
    /// A follower takes for committed what the leader has sent it.
    APPLIED_BEFORE_COMMITTED = "applied-before-committed";
    /// A lease has no end but that its leader takes it back, which one that stands still does not.
    LEASE_OVER_FREEZE = "lease-over-freeze";
    /// A change of members is taken that was made of other members than there are, or while another one is in progress.
    TWO_CHANGES_AT_ONCE = "two-changes-at-once";
}
