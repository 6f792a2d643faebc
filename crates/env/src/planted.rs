//! Faults that are put in on purpose, for the tests of tests: each must be caught by the simulator. Without the feature
//! `planted`, which no product has, there is none.

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Fault {
    /// The log says that it has synced and has not.
    LogNotSynced = 1,
    /// The log reports a block as safe and leaves its sync for when there is nothing else to do.
    AnsweredBeforeSync,
    /// Commands are carried out, and so can be read, before they are safe.
    PublishedBeforeSync,
    /// A block is read though the checksum of its records is wrong.
    BlockChecksumSkipped,
    /// What was being written when the power went is read as if it were whole.
    TornTailRead,
    /// A file of a snapshot gets its name before its bytes are synced.
    SnapshotNotSynced,
    /// The manifest gets its name before its bytes are synced.
    ManifestNotSynced,
    /// A command that is carried out again chooses ids itself.
    IdsChosenAgain,
    /// A command that is carried out again leaves out some entries of indexes.
    IndexEntryForgotten,
    /// A piece of a snapshot's file is read though its checksum is wrong.
    SnapshotChecksumSkipped,
    /// A log file is copied, to a backup or an archive, and not synced.
    CopyNotSynced,
    /// A log file is used again before the archive has it.
    ReleasedBeforeArchived,
    /// A directory that is restored gets its name before its log is synced.
    RestoreNotSynced,
    /// A point in time is taken for the last one that there is.
    PointPassedOver,
    /// Changes while an index is built are not noted in it.
    IndexChangeMissed,
    /// What an entry has lost stays in an index up to the next start.
    IndexKeyKept,
    /// An index is told to be ready before the file that says so is sure to have its name.
    IndexNotKept,
    /// Each update of a transaction is published as it is carried out.
    PublishedInPieces,
    /// Others see an update of a transaction when it comes in.
    OverlayLeaked,
    /// A transaction is not judged again when it is carried out: what goes well of it stays.
    CommitNotJudged,
    /// Drafts of a transaction whose entries have changed are left out at its end.
    StaleDraftsDropped,
    /// Of a transaction that is carried out again only the first half is.
    HalfReplayed,
    /// Of several updates of one client that are applied again the last is left out.
    OutcomeOther,
    /// A transaction that was given up for one who goes before is committed all the same, and nobody told.
    PreemptedCommitted,
    /// One who goes before is told to try again, as who goes after is.
    PrecedenceIgnored,
    /// A read that stands between updates of its bundle sees those that follow it.
    LaterUpdateSeen,
    /// A replica takes what its own disk has for committed.
    AnsweredBeforeCommit,
    /// What is left of a deleted entry is not removed before its id is given again by a command that is carried out again.
    IdInTheWay,
    /// A recovery does not free the ids that the log says are free.
    FreeSetDiffers,
    /// A transaction that is carried out again is refused for its size.
    LimitAtApply,
    /// A replica takes whatever is committed where it has proposed something for its own.
    TermNotCompared,
    /// What the log has is applied again by the rules of this start, whatever it was decided by.
    RulesByRestart,
    /// A search is told to be ended so that its memory is free, and goes on.
    ReaderNotRevoked,
}

impl Fault {
    /// All there are.
    pub const ALL: [Fault; 33] = [
        Fault::LogNotSynced,
        Fault::AnsweredBeforeSync,
        Fault::PublishedBeforeSync,
        Fault::BlockChecksumSkipped,
        Fault::TornTailRead,
        Fault::SnapshotNotSynced,
        Fault::ManifestNotSynced,
        Fault::IdsChosenAgain,
        Fault::IndexEntryForgotten,
        Fault::SnapshotChecksumSkipped,
        Fault::CopyNotSynced,
        Fault::ReleasedBeforeArchived,
        Fault::RestoreNotSynced,
        Fault::PointPassedOver,
        Fault::IndexChangeMissed,
        Fault::IndexKeyKept,
        Fault::IndexNotKept,
        Fault::PublishedInPieces,
        Fault::OverlayLeaked,
        Fault::CommitNotJudged,
        Fault::StaleDraftsDropped,
        Fault::HalfReplayed,
        Fault::OutcomeOther,
        Fault::PreemptedCommitted,
        Fault::PrecedenceIgnored,
        Fault::LaterUpdateSeen,
        Fault::AnsweredBeforeCommit,
        Fault::IdInTheWay,
        Fault::FreeSetDiffers,
        Fault::LimitAtApply,
        Fault::TermNotCompared,
        Fault::RulesByRestart,
        Fault::ReaderNotRevoked,
    ];

    /// What it is called on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Fault::LogNotSynced => "log-not-synced",
            Fault::AnsweredBeforeSync => "answered-before-sync",
            Fault::PublishedBeforeSync => "published-before-sync",
            Fault::BlockChecksumSkipped => "block-checksum-skipped",
            Fault::TornTailRead => "torn-tail-read",
            Fault::SnapshotNotSynced => "snapshot-not-synced",
            Fault::ManifestNotSynced => "manifest-not-synced",
            Fault::IdsChosenAgain => "ids-chosen-again",
            Fault::IndexEntryForgotten => "index-entry-forgotten",
            Fault::SnapshotChecksumSkipped => "snapshot-checksum-skipped",
            Fault::CopyNotSynced => "copy-not-synced",
            Fault::ReleasedBeforeArchived => "released-before-archived",
            Fault::RestoreNotSynced => "restore-not-synced",
            Fault::PointPassedOver => "point-passed-over",
            Fault::IndexChangeMissed => "index-change-missed",
            Fault::IndexKeyKept => "index-key-kept",
            Fault::IndexNotKept => "index-not-kept",
            Fault::PublishedInPieces => "published-in-pieces",
            Fault::OverlayLeaked => "overlay-leaked",
            Fault::CommitNotJudged => "commit-not-judged",
            Fault::StaleDraftsDropped => "stale-drafts-dropped",
            Fault::HalfReplayed => "half-replayed",
            Fault::OutcomeOther => "outcome-other",
            Fault::PreemptedCommitted => "preempted-committed",
            Fault::PrecedenceIgnored => "precedence-ignored",
            Fault::LaterUpdateSeen => "later-update-seen",
            Fault::AnsweredBeforeCommit => "answered-before-commit",
            Fault::IdInTheWay => "id-in-the-way",
            Fault::FreeSetDiffers => "free-set-differs",
            Fault::LimitAtApply => "limit-at-apply",
            Fault::TermNotCompared => "term-not-compared",
            Fault::RulesByRestart => "rules-by-restart",
            Fault::ReaderNotRevoked => "reader-not-revoked",
        }
    }
}

/// A moment at which a test looks at the product from beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A transaction is about to be carried out.
    TransactionBegins,
    /// One of its updates was carried out; others may follow.
    UpdateDone,
}

#[cfg(feature = "planted")]
mod switch {
    use super::{Fault, Moment};
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;
    use std::sync::atomic::{AtomicU8, Ordering};

    /// Who is told of moments, if anybody is.
    type Watcher = Option<Rc<dyn Fn(Moment)>>;

    thread_local! {
        static NOW: Cell<Option<Fault>> = const { Cell::new(None) };
        static REPLAYS: Cell<bool> = const { Cell::new(false) };
        static WATCHER: RefCell<Watcher> = const { RefCell::new(None) };
    }

    /// Number of the fault that every thread has; 0 for none.
    static EVERYWHERE: AtomicU8 = AtomicU8::new(0);

    /// This thread has the fault from now on, or none.
    pub fn plant(fault: Option<Fault>) {
        NOW.set(fault);
    }

    /// Every thread of the process has it from now on, besides its own, or none has: for a test that is alone in its
    /// process.
    pub fn plant_everywhere(fault: Option<Fault>) {
        EVERYWHERE.store(fault.map_or(0, |fault| fault as u8), Ordering::SeqCst);
    }

    /// Does this thread have it?
    pub fn is(fault: Fault) -> bool {
        NOW.get() == Some(fault) || EVERYWHERE.load(Ordering::Relaxed) == fault as u8
    }

    /// Does this thread have it while it carries out again what a log says?
    pub fn is_at_replay(fault: Fault) -> bool {
        REPLAYS.get() && is(fault)
    }

    /// Who is told of moments on this thread from now on, or nobody.
    pub fn watch(watcher: Watcher) {
        WATCHER.set(watcher);
    }

    /// Tells who watches this thread.
    pub fn tell(moment: Moment) {
        let watcher = WATCHER.with_borrow(Clone::clone);
        watcher.iter().for_each(|watcher| watcher(moment));
    }

    /// Carries out again what a log says.
    pub fn replay<T>(work: impl FnOnce() -> T) -> T {
        REPLAYS.set(true);
        let done = work();
        REPLAYS.set(false);
        done
    }
}

#[cfg(feature = "planted")]
pub use switch::{is, is_at_replay, plant, plant_everywhere, replay, tell, watch};

/// Does this thread have it?
#[cfg(not(feature = "planted"))]
#[inline]
pub const fn is(_: Fault) -> bool {
    false
}

/// Does this thread have it while it carries out again what a log says?
#[cfg(not(feature = "planted"))]
#[inline]
pub const fn is_at_replay(_: Fault) -> bool {
    false
}

/// Tells who watches this thread.
#[cfg(not(feature = "planted"))]
#[inline]
pub fn tell(_: Moment) {}

/// Carries out again what a log says.
#[cfg(not(feature = "planted"))]
#[inline]
pub fn replay<T>(work: impl FnOnce() -> T) -> T {
    work()
}
