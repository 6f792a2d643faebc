//! Faults of a replica that tests plant.

pub mod holes;

env::faults! {
    /// A vote is given before it is on the disk.
    VOTE_NOT_SYNCED = "vote-not-synced";
    /// A follower says that it has entries before they are on its disk.
    APPEND_ACKED_BEFORE_SYNC = "append-acked-before-sync";
    /// A leader counts its own copy before it is on its disk.
    OWN_COPY_COUNTED_BEFORE_SYNC = "own-copy-counted-before-sync";
    /// An entry that replaces another is ignored at a start, and what it replaced is kept.
    OVERWRITTEN_TAIL_KEPT = "overwritten-tail-kept";
    /// The hard state is written when the next entries are, behind what it allowed to be sent.
    HARD_STATE_IN_LATER_BLOCK = "hard-state-in-later-block";
    /// After a snapshot of another replica the log goes on where it went on after the own one.
    MANIFEST_DOES_NOT_WIN = "manifest-does-not-win";
    /// A snapshot says that the members are those of the snapshot before it.
    SNAPSHOT_WITHOUT_MEMBERS = "snapshot-without-members";
    /// A joint state is left by nobody but the core.
    JOINT_NOT_LEFT = "joint-not-left";
    /// A replica that does not lead goes on counting one that is no member any more.
    REMOVED_STILL_COUNTED = "removed-node-still-votes";
    /// A start applies changes of members that the log has, whether they are committed or not.
    CHANGES_APPLIED_AT_START = "conf-of-heads";
    /// Entries that were delayed are said to be committed when they are sent.
    DELAYED_SAYS_ALL_IS_COMMITTED = "delayed-says-all-is-committed";
    /// A barrier is passed without a question.
    BARRIER_NOT_AWAITED = "barrier-not-awaited";
    /// A question of a replica that was started again has the name of one that it sent before.
    READ_CONTEXT_AGAIN = "read-context-again";
    /// A lease is counted from whatever a follower answers.
    LEASE_BY_ANY_ANSWER = "lease-renewed-by-any-answer";
    /// A leader has leases when it has asked another replica to lead.
    LEASE_OVER_TRANSFER = "lease-over-transfer";
    /// It has leases again when it has given that up.
    LEASE_AFTER_ABORTED_TRANSFER = "lease-after-aborted-transfer";
    /// A replica that stood still makes up for its ticks, and by those it counts its promise.
    TICK_DEBT = "tick-debt";
    /// A leader that is drained leads on.
    DRAINED_LEADS_AGAIN = "drained-node-leads-again";
    /// A replica that another one has taken the place of keeps its vote.
    REPLACED_KEEPS_VOTE = "replaced-node-keeps-its-vote";
    /// A learner gets a vote though an even number votes then.
    TWO_VOTERS = "two-voters";
}
