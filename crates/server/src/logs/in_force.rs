//! What is logged, as it is in force: the threads that write look at their next turn whether it was changed.

use super::settings::Settings;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The settings of logs, which may change.
#[derive(Debug, Default)]
pub struct InForce {
    settings: Mutex<Settings>,
    /// Counts changes.
    version: AtomicU64,
}

impl InForce {
    /// These hold from the start on.
    pub fn new(settings: Settings) -> InForce {
        InForce { settings: Mutex::new(settings), version: AtomicU64::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, Settings> {
        // They are replaced whole, so one who panicked left nothing half done.
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What holds now.
    pub fn now(&self) -> Settings {
        self.lock().clone()
    }

    /// These hold from now on.
    pub(crate) fn put(&self, settings: Settings) {
        *self.lock() = settings;
        self.version.fetch_add(1, Ordering::Release);
    }

    /// What holds, if it was changed since the version `seen`, which becomes that of now.
    pub(super) fn newer(&self, seen: &mut u64) -> Option<Settings> {
        let version = self.version.load(Ordering::Acquire);
        (std::mem::replace(seen, version) != version).then(|| self.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logs::hide::Values;

    #[test]
    fn a_change_is_seen_once() {
        let (in_force, mut seen) = (InForce::default(), 0);
        assert_eq!(in_force.newer(&mut seen), None);
        in_force.put(Settings { values: Values::None, ..Settings::default() });
        assert_eq!(in_force.newer(&mut seen).map(|settings| settings.values), Some(Values::None));
        assert_eq!(in_force.newer(&mut seen), None);
    }
}
