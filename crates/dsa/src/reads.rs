//! How reads are answered in a directory that several servers have: settings of the directory. A server by itself knows them, and
//! they change nothing there.

use std::sync::atomic::{AtomicBool, Ordering};

/// By what a server knows that it reads nothing old.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// By an answer of a majority to a question that was asked after the read had come.
    #[default]
    Quorum,
    /// The server that leads also by the time that has passed since the last such answer.
    Lease,
}

/// What becomes of reads while no majority answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WithoutQuorum {
    /// They are refused.
    #[default]
    Refuse,
    /// They are answered with what is here, and with its age.
    Read,
}

impl Reads {
    /// Each by its word.
    pub(crate) const WORDS: [(&'static str, Reads); 2] = [("quorum", Reads::Quorum), ("lease", Reads::Lease)];
}

impl WithoutQuorum {
    /// Each by its word.
    pub(crate) const WORDS: [(&'static str, WithoutQuorum); 2] =
        [("refuse", WithoutQuorum::Refuse), ("read", WithoutQuorum::Read)];
}

/// As they were chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// See [`Reads`].
    pub reads: Reads,
    /// See [`WithoutQuorum`].
    pub without_quorum: WithoutQuorum,
}

/// As they are in force.
#[derive(Debug, Default)]
pub(crate) struct ReadSettings {
    by_lease: AtomicBool,
    without_quorum: AtomicBool,
}

impl ReadSettings {
    pub(crate) fn new(choices: Choices) -> ReadSettings {
        let settings = ReadSettings::default();
        settings.put(choices);
        settings
    }

    /// Puts others in force.
    pub(crate) fn put(&self, choices: Choices) {
        self.by_lease.store(choices.reads == Reads::Lease, Ordering::Relaxed);
        self.without_quorum.store(choices.without_quorum == WithoutQuorum::Read, Ordering::Relaxed);
    }

    /// How a node sees to it that what it answers is current.
    pub(crate) fn reads(&self) -> Reads {
        if self.by_lease.load(Ordering::Relaxed) { Reads::Lease } else { Reads::Quorum }
    }

    /// What a node answers that has no majority.
    pub(crate) fn without_quorum(&self) -> WithoutQuorum {
        match self.without_quorum.load(Ordering::Relaxed) {
            true => WithoutQuorum::Read,
            false => WithoutQuorum::Refuse,
        }
    }
}
