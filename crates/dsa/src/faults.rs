//! Faults of transactions and bundles that tests plant.

pub mod holes;

use env::planted::Moment;

/// A transaction is about to be applied.
pub const TRANSACTION_BEGINS: Moment = Moment("transaction-begins");

env::faults! {
    /// Others see an update of a transaction when it comes in.
    OVERLAY_LEAKED = "overlay-leaked";
    /// A transaction is not judged again when it is applied: those of its updates that succeed stay.
    COMMIT_NOT_JUDGED = "commit-not-judged";
    /// Prepared writes of a transaction whose entries have changed are left out at its end.
    STALE_PREPARED_WRITES_DROPPED = "stale-prepared-writes-dropped";
    /// Of a transaction that is applied again only the first half is.
    HALF_REPLAYED = "half-replayed";
    /// Of several updates of one client that are applied again the last is left out.
    OUTCOME_OTHER = "outcome-other";
    /// A transaction that was preempted by one of higher precedence is committed all the same, and its client not informed.
    PREEMPTED_COMMITTED = "preempted-committed";
    /// A transaction of higher precedence is asked to try again, as one of lower precedence is.
    PRECEDENCE_IGNORED = "precedence-ignored";
    /// A read that stands between updates of its bundle sees those that follow it.
    LATER_UPDATE_SEEN = "later-update-seen";
    /// The lock that wrong passwords lead to is not written.
    LOCK_NOT_WRITTEN = "lock-not-written";
    /// What the right to an update hung on is not looked at again when the update is applied.
    CONDITION_PASSED_OVER = "condition-passed-over";
    /// A session that has changed something reads without a barrier.
    OWN_WRITE_NOT_SEEN_AT_FOLLOWER = "own-write-not-seen-at-follower";
    /// A transaction that is applied again is refused for its size.
    LIMIT_AT_APPLY = "limit-at-apply";
    /// What has left the content of a consumer without being deleted is not reported.
    LEFT_NOT_REPORTED = "left-not-reported";
    /// A value that is to be unique is given though another entry has it.
    TAKEN_VALUE_GIVEN = "taken-value-given";
    /// The counter of a sequence stays where it was when its number is given, which is free again when its entry is deleted.
    NUMBER_GIVEN_AGAIN = "number-given-again";
    /// What refers to an entry that is deleted stays.
    REFERENCES_LEFT = "references-left";
}
