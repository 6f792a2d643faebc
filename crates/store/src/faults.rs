//! Faults of the store that tests plant.

pub mod holes;

use env::planted::Moment;

/// One of several updates that are published together was applied; others may follow.
pub const UPDATE_DONE: Moment = Moment("update-done");

env::faults! {
    /// A command that is applied again leaves out some entries of indexes.
    INDEX_ENTRY_FORGOTTEN = "index-entry-forgotten";
    /// Changes while an index is built are not noted in it.
    INDEX_CHANGE_MISSED = "index-change-missed";
    /// What an entry has lost stays in an index up to the next start.
    INDEX_KEY_KEPT = "index-key-kept";
    /// Each update of a transaction is published as it is applied.
    PUBLISHED_IN_PIECES = "published-in-pieces";
    /// What is left of a deleted entry is not removed before its id is given again by a command that is applied again.
    ID_TAKEN = "id-in-the-way";
    /// A recovery does not free the ids that the log says are free.
    FREE_SET_DIFFERS = "free-set-differs";
    /// A search is asked to end so that its memory is free, and goes on.
    READER_NOT_REVOKED = "reader-not-revoked";
}
