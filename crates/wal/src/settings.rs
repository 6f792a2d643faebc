//! What the operator may choose, with its bounds.

use crate::format::FILE_HEADER_BYTES;

/// When a record counts as safe, so that it may be acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// After a sync that began after it was written: it outlives power loss.
    #[default]
    Always,
    /// When it is written; a sync follows after this many milliseconds at most. It outlives the process; power loss may
    /// take what was acknowledged in that time.
    Interval {
        /// Milliseconds between syncs.
        ms: u64,
    },
    /// When it is written; nothing is synced but at the end and for a snapshot. It outlives the process only.
    None,
}

/// How a log is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// When a record is safe.
    pub mode: Mode,
    /// Bytes of a new log file. Files that are there keep their size.
    pub file_bytes: u32,
    /// Bytes that may wait to be written, so the largest block: beyond that an append is refused as `Full`.
    pub waiting_bytes_max: usize,
    /// Files that are prepared ahead of their use. At least 1.
    pub ready_files: usize,
    /// Files kept for use again after a release; more are removed. They spare writing zeros to new ones.
    pub spare_files_max: usize,
}

/// Bytes that a record may have: a message of 16 MiB, and what a command adds to it.
pub(crate) const WAITING_BYTES_MAX: usize = 20 << 20;

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            mode: Mode::Always,
            file_bytes: 64 << 20,
            waiting_bytes_max: WAITING_BYTES_MAX,
            ready_files: 2,
            spare_files_max: 16,
        }
    }
}

impl Settings {
    /// Checks the bounds between them.
    ///
    /// # Errors
    /// In words, what is wrong.
    pub fn check(&self) -> Result<(), String> {
        let room = (self.file_bytes as usize).saturating_sub(FILE_HEADER_BYTES);
        if self.file_bytes > 1 << 30 {
            return Err("a log file may have 1 GiB at most".to_owned());
        }
        if self.waiting_bytes_max < 4096 || self.waiting_bytes_max > room {
            return Err("waiting_bytes_max must be at least 4096 and fit in a log file".to_owned());
        }
        if self.ready_files == 0 {
            return Err("at least one file must be prepared ahead".to_owned());
        }
        if self.mode == (Mode::Interval { ms: 0 }) {
            return Err("an interval has at least one millisecond".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_sound_and_nonsense_is_not() {
        Settings::default().check().unwrap();
        assert!(Settings { ready_files: 0, ..Settings::default() }.check().is_err());
        assert!(Settings { file_bytes: 1 << 20, ..Settings::default() }.check().is_err());
        assert!(Settings { mode: Mode::Interval { ms: 0 }, ..Settings::default() }.check().is_err());
    }
}
