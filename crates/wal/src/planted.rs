//! Faults that are put in on purpose, for the tests of tests: each must be caught by the simulator. Without the feature
//! `planted`, which no product has, there is none.

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The log says that it has synced and has not.
    LogNotSynced,
    /// Commands are carried out before they are safe.
    AppliedBeforeSafe,
    /// A block is read though the checksum of its records is wrong.
    TornBlockRead,
    /// A file of a snapshot gets its name before its bytes are synced.
    SnapshotNotSynced,
    /// A command that is carried out again chooses ids itself.
    IdsChosenAgain,
}

#[cfg(feature = "planted")]
thread_local! {
    static NOW: std::cell::Cell<Option<Fault>> = const { std::cell::Cell::new(None) };
}

/// This thread has the fault from now on, or none.
#[cfg(feature = "planted")]
pub fn plant(fault: Option<Fault>) {
    NOW.set(fault);
}

/// Does this thread have it?
#[cfg(feature = "planted")]
pub fn is(fault: Fault) -> bool {
    NOW.get() == Some(fault)
}

/// Does this thread have it?
#[cfg(not(feature = "planted"))]
#[inline]
pub const fn is(_: Fault) -> bool {
    false
}
