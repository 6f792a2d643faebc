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
}

impl Fault {
    /// All there are.
    pub const ALL: [Fault; 17] = [
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
        }
    }
}

#[cfg(feature = "planted")]
mod switch {
    use super::Fault;
    use std::cell::Cell;
    use std::sync::atomic::{AtomicU8, Ordering};

    thread_local! {
        static NOW: Cell<Option<Fault>> = const { Cell::new(None) };
        static REPLAYS: Cell<bool> = const { Cell::new(false) };
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

    /// Carries out again what a log says.
    pub fn replay<T>(work: impl FnOnce() -> T) -> T {
        REPLAYS.set(true);
        let done = work();
        REPLAYS.set(false);
        done
    }
}

#[cfg(feature = "planted")]
pub use switch::{is, is_at_replay, plant, plant_everywhere, replay};

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

/// Carries out again what a log says.
#[cfg(not(feature = "planted"))]
#[inline]
pub fn replay<T>(work: impl FnOnce() -> T) -> T {
    work()
}
