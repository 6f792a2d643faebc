//! How long dynamic entries are kept (RFC 2589), as settings of the directory.

use proto::ext::refresh::TTL_MAX;
use std::sync::atomic::{AtomicU32, Ordering};
use store::Shard;

/// Seconds to which a time that a client asks for may be cut, at least: RFC 2589 section 4.2.
pub(crate) const CUT_MIN: u32 = 86_400;

/// As they were chosen, in seconds. Each is within what a client may ask for, so no sum of one with a time overflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choices {
    /// Of entries that are never refreshed.
    pub default: u32,
    /// A refresh gives so many at least.
    pub min: u32,
    /// And so many at most.
    pub max: u32,
}

impl Default for Choices {
    fn default() -> Choices {
        Choices { default: CUT_MIN, min: 1, max: TTL_MAX }
    }
}

/// As they are in force. The default is the store's, which works entryTtl out.
#[derive(Debug, Default)]
pub(crate) struct Lifetimes {
    min: AtomicU32,
    max: AtomicU32,
}

impl Lifetimes {
    /// Settings of a directory.
    pub(crate) fn new(choices: Choices, shard: &Shard) -> Lifetimes {
        let lifetimes = Lifetimes::default();
        lifetimes.put(choices, shard);
        lifetimes
    }

    /// Puts others in force.
    pub(crate) fn put(&self, choices: Choices, shard: &Shard) {
        shard.set_default_ttl(choices.default.into());
        self.min.store(choices.min, Ordering::Relaxed);
        self.max.store(choices.max, Ordering::Relaxed);
    }

    /// The seconds that an entry gets whose client asks for so many.
    pub(crate) fn of(&self, asked: u32) -> u32 {
        // The least wins over the most: a client is never given less than it needs, but by the bound of the RFC.
        asked.min(self.max.load(Ordering::Relaxed)).max(self.min.load(Ordering::Relaxed))
    }
}
