//! One-time codes that were used, so that none is taken twice.
//!
//! A code holds for three half minutes, so no more is remembered than the last step of each account that has bound in these. After a start nothing is
//! known of the codes that were used before it: none of them is taken then, which are those of the first minute.

use crate::own_entry::OwnEntry;
use ::password::one_time::{STEPS_APART, step_at};
use model::limits::ONE_TIMES_MAX;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The last step of which an account has used the code.
#[derive(Default)]
pub(crate) struct OneTimes(Mutex<BTreeMap<Vec<u8>, u64>>);

impl OneTimes {
    /// May the code of a step be taken? Not if it was, or a later one, or may have been before the start.
    pub(crate) fn is_new(&self, own: OwnEntry, step: u64, started_ms: u64) -> bool {
        // Codes of one step to come are taken, so before the start they may have been.
        let is_known = step > step_at(started_ms) + STEPS_APART;
        is_known && self.lock().get(&own.octets()).is_none_or(|last| *last < step)
    }

    /// Takes it. False if somebody else was first.
    pub(crate) fn take(&self, own: OwnEntry, step: u64, now_ms: u64) -> bool {
        let mut used = self.lock();
        if used.len() >= ONE_TIMES_MAX {
            let oldest = step_at(now_ms).saturating_sub(STEPS_APART);
            used.retain(|_, last| *last >= oldest);
        }
        let is_new = used.get(&own.octets()).is_none_or(|last| *last < step);
        // What cannot be remembered is not taken.
        if !is_new || used.len() >= ONE_TIMES_MAX {
            return false;
        }
        used.insert(own.octets(), step);
        true
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, u64>> {
        // An insert is whole, or there is none.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
