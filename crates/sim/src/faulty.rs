//! A disk that works, but for one kind of operation on some files, as long as somebody wants that.

use crate::hooked::{Hook, Kind, Operation, hooked};
use env::disk::{Disk, fault};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What fails.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Which operation.
    pub operation: Kind,
    /// On files, or the folder, of these names; of a rename, the old one.
    pub is_meant: fn(&str) -> bool,
    /// Operations of that kind that succeed before.
    pub skip: u32,
    /// The error of the system.
    pub errno: i32,
}

/// See the module. Clones have the same rule.
#[derive(Clone, Debug, Default)]
pub struct Faulty(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    rule: Option<Rule>,
    hits: u64,
}

impl Faulty {
    /// `disk`, of which nothing fails until a rule is set.
    pub fn over(&self, disk: Arc<dyn Disk>) -> Arc<dyn Disk> {
        hooked(disk, Arc::new(self.clone()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Whole after every statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on this fails, or nothing. Returns how often the rule before has hit.
    pub fn set(&self, rule: Option<Rule>) -> u64 {
        let state = &mut *self.state();
        state.rule = rule;
        std::mem::take(&mut state.hits)
    }

    fn allow(&self, operation: &Operation<'_>) -> io::Result<()> {
        let state = &mut *self.state();
        let (kind, path, what) = operation.parts();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some(rule) = &mut state.rule else { return Ok(()) };
        if rule.operation != kind || !(rule.is_meant)(name) {
            return Ok(());
        }
        if rule.skip > 0 {
            rule.skip -= 1;
            return Ok(());
        }
        state.hits += 1;
        Err(fault(io::Error::from_raw_os_error(rule.errno), path, what, None))
    }
}

impl Hook for Faulty {
    fn around(&self, operation: Operation<'_>, work: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        self.allow(&operation)?;
        work()
    }
}
