//! Faults of commit, recovery, indexes, backup and restore that tests plant.

pub mod holes;

env::faults! {
    /// Commands are applied, and so can be read, before they are safe.
    PUBLISHED_BEFORE_SYNC = "published-before-sync";
    /// A replica takes what its own disk has for committed.
    ANSWERED_BEFORE_COMMIT = "answered-before-commit";
    /// A replica takes whatever is committed where it has proposed something for its own.
    TERM_NOT_COMPARED = "term-not-compared";
    /// A leader that was deposed sends updates again that it had from another server, as that server does.
    TWO_SENDERS = "two-senders";
    /// Updates that were lost keep the ids that they had, which are free again.
    IDS_KEPT_ON_RESEND = "ids-kept-on-resend";
    /// A command that is applied again chooses ids itself.
    IDS_CHOSEN_AGAIN = "ids-chosen-again";
    /// What the log has is applied again by the rules of this start, whatever it was decided by.
    RULES_BY_RESTART = "rules-by-restart";
    /// Constraints that the log puts in force decide nothing when what is behind them is applied again.
    CONSTRAINTS_NOT_REPLAYED = "constraints-not-replayed";
    /// The same of constraints that were in force at a snapshot.
    CONSTRAINTS_NOT_IN_SNAPSHOT = "constraints-not-in-snapshot";
    /// A replica applies by the newest version of the behaviour that its program knows, whatever the log says.
    BEHAVIOUR_MIXED = "behaviour-mixed";
    /// An index is reported as ready before the file that says so is sure to have its name.
    INDEX_NOT_KEPT = "index-not-kept";
    /// A log file is used again before the archive has it.
    RELEASED_BEFORE_ARCHIVED = "released-before-archived";
    /// A directory that is restored gets its name before its log is synced.
    RESTORE_NOT_SYNCED = "restore-not-synced";
    /// A point in time is taken for the last one that there is.
    POINT_PASSED_OVER = "point-passed-over";
    /// Log files are used again when the snapshot that is to replace them is begun.
    RELEASED_BEFORE_SNAPSHOT = "log-cleared-before-manifest";
    /// The leader is right, if replicas differ.
    MINORITY_CHAIN_WINS = "minority-chain-wins";
    /// A leader asks nobody what others have made of the log.
    NEVER_COMPARED = "replicas-never-compared";
    /// A leader asks nobody for digests of slices.
    SLICES_NOT_COMPARED = "slices-not-compared";
    /// A directory that is wrong is served again after a start.
    DIFFERENCE_NOT_WRITTEN = "difference-not-written";
    /// A leader whose disk is slow goes on leading.
    SLOW_LEADER_STAYS = "slow-leader-stays";
    /// A snapshot from another replica comes into the folder of the own one.
    INCOMING_OVER_OWN_FILES = "incoming-over-own-files";
}
