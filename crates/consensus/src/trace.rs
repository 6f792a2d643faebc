//! What the core reports goes where all reports go.

use slog::{Drain, Level, Logger, Never, OwnedKVList, Record, o};

/// Passes on warnings and worse: an election is no event for an operator by itself.
struct Tracing;

impl Drain for Tracing {
    type Ok = ();
    type Err = Never;

    fn log(&self, record: &Record<'_>, _: &OwnedKVList) -> Result<(), Never> {
        match record.level() {
            Level::Critical | Level::Error => tracing::error!("{}", record.msg()),
            Level::Warning => tracing::warn!("{}", record.msg()),
            _ => tracing::debug!("{}", record.msg()),
        }
        Ok(())
    }

    /// Called before a message is made.
    fn is_enabled(&self, level: Level) -> bool {
        level.is_at_least(Level::Warning) || tracing::enabled!(tracing::Level::DEBUG)
    }
}

/// A logger for the core.
pub(crate) fn logger() -> Logger {
    Logger::root(Tracing, o!())
}
