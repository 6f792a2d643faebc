//! What replicas say to each other of their directories: `docs/formats/peers.md` has the bytes.

use crate::health::Report;

/// What replicas say to each other about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// That of the leader.
    pub(crate) term: u64,
    /// The entry.
    pub(crate) index: u64,
    pub(crate) said: Said,
}

/// What is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// What has the receiver made of all up to there?
    Asks {
        /// Directories differ, and nobody knows which is right.
        is_doubted: bool,
        /// The monotonic clock of the sender, which comes back with [`Said::Forgotten`].
        asked_ms: u64,
    },
    /// This has the sender made of it.
    Value(u64),
    /// What of the sender besides.
    Forgotten {
        /// No reader of it looks at entries that records of the log before this one deleted.
        before: u64,
        /// How its disk and its clock fare.
        report: Report,
    },
    /// The sender's directory is wrong. It needs a snapshot with this entry at least.
    Rebuilt(u64),
    /// A majority has this value, and the receiver has not: its directory is to be that of the sender.
    Wrong(u64),
    /// What has the receiver in the slice of the directory that begins with this id, when it has applied that entry and none after it?
    AsksSlice(u32),
    /// The first id of a slice that was asked for, and 32 bits of its digest.
    Slice(u64),
    /// As [`Said::Wrong`], of the slice.
    WrongSlice(u64),
}
