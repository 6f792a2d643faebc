//! Settings of the change log.
//! They are apart from it, for the table of settings must not know of the server's own entries.

use model::limits::CHANGE_LOG_SECONDS_DEFAULT;

/// As they were chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choices {
    /// Bytes of changes that are kept; 0: there is no change log.
    pub bytes: u64,
    /// Seconds for which a change is kept.
    pub seconds: u32,
}

impl Default for Choices {
    fn default() -> Choices {
        Choices { bytes: 0, seconds: CHANGE_LOG_SECONDS_DEFAULT }
    }
}
