//! One-time codes that were used, so that none is taken twice.
//!
//! A code holds for three half minutes, so no more is remembered than the last step of each account that has bound in these. After a start nothing is
//! known of the codes that were used before it: none of them is taken then, which are those of the first minute.

use super::values::first;
use super::{Later, Passwords};
use crate::own_entry::OwnEntry;
use ::password::one_time::{OneTime, STEPS_APART, split_code, step_at};
use model::limits::ONE_TIMES_MAX;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::{EntryRef, ReadPoint};

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

/// What a password is of an entry that asks for a code.
pub(crate) struct Right {
    pub(crate) stored: Vec<u8>,
    /// The step of the code.
    pub(crate) step: u64,
}

impl Passwords {
    /// The value of an entry that asks for a code, if password and code are right. Whether the code was used is not looked at.
    ///
    /// # Errors
    /// [`Later`] as of [`Passwords::verify`].
    pub(crate) fn find_one_time(
        &mut self,
        read_point: ReadPoint<'_>,
        entry: &EntryRef<'_>,
        password: &[u8],
        now_ms: u64,
    ) -> Result<Option<Right>, Later> {
        // Of several the first counts.
        let Some(value) = first(read_point, entry, |value| OneTime::of(value).is_some()) else {
            return Ok(None);
        };
        let Some(one_time) = OneTime::of(&value) else { return Ok(None) };
        let (word, code) = split_code(password);
        // Worked out whatever the password is.
        let step = code.and_then(|code| one_time.step(code, now_ms));
        let is_right = self.verify(one_time.stored, word)?;
        drop(one_time);
        Ok(step.filter(|_| is_right).map(|step| Right { stored: value, step }))
    }
}
