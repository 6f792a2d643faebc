//! What a reader of the change log waits for: a request that looks there is given up, its session waits, and it is run again when what it is to find is
//! there, at a read point of then.

/// What the request that runs knows of the change log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Changes {
    /// It has not asked.
    #[default]
    Unasked,
    /// It may read them, and has done nothing yet: they are to be stored first.
    Wanted,
    /// All that it is to find are entries at its read point.
    Stored,
}

/// What a session waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Awaited {
    #[default]
    Nothing,
    /// Changes up to this number are to be stored, for the request that comes next.
    UpTo(u64),
    /// They are: the request is to be run again.
    Stored,
}

impl Awaited {
    /// Is there something to be waited for?
    #[inline]
    pub(crate) fn is_pending(self) -> bool {
        matches!(self, Awaited::UpTo(_))
    }
}
