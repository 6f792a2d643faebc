//! The state of a password, as its entry has it.

use super::entry::{text, values};
use crate::account_times::{Field, stored, stored_failures};
use crate::context::Reading;
use crate::generalized_time;
use store::{EntryRef, ReadPoint};

/// `pwdAccountLockedTime` of an account that is locked for good.
const FOR_EVER: &str = "000001010000Z";

/// What an entry says of its password.
pub(crate) struct Account {
    /// Unix time in milliseconds of the last change.
    pub(super) changed_ms: Option<u64>,
    /// Whether an administrator or failures have locked it.
    pub(super) locked: Option<Locked>,
    /// Must it be changed before anything else?
    pub(super) is_reset: bool,
    /// Binds with it after its end.
    pub(super) grace_uses: usize,
    /// Before this time nobody binds.
    pub(super) start_ms: Option<u64>,
    /// From this time on nobody binds.
    pub(super) end_ms: Option<u64>,
    /// Up to this time failures delay the next try.
    pub(super) delay_end_ms: Option<u64>,
    /// When somebody bound last, as far as it is noted.
    pub(super) last_success_ms: Option<u64>,
    /// When binds failed since, as far as it is written.
    pub(super) failures_ms: Vec<u64>,
}

/// Since when an account is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Locked {
    Since(u64),
    ForEver,
}

impl Account {
    /// Reads it of an entry. What cannot be read counts as if it were not there, but for a lock.
    pub(super) fn of(reading: &Reading<'_>, entry: &EntryRef<'_>) -> Account {
        let at = reading.read_point;
        let time = |name| text(entry, name, at).and_then(|text| generalized_time::read(text.as_bytes()));
        let waiting = |field| reading.dsa.account_times.get(entry, field);
        let locked = text(entry, "pwdAccountLockedTime", at).map(|text| {
            match generalized_time::read(text.as_bytes()) {
                Some(ms) if text != FOR_EVER => Locked::Since(ms),
                // Also what cannot be read: it says that the account is locked, and not until when.
                _ => Locked::ForEver,
            }
        });
        Account {
            changed_ms: time("pwdChangedTime"),
            locked,
            is_reset: text(entry, "pwdReset", at).is_some_and(|text| text == "TRUE"),
            grace_uses: values(entry, "pwdGraceUseTime", at).len(),
            start_ms: time("pwdStartTime"),
            end_ms: time("pwdEndTime"),
            // What was noted in the last seconds is not in the entry yet.
            delay_end_ms: stored(at, entry, "pwdAccountTmpLockoutEnd").max(waiting(Field::DelayEnd)),
            last_success_ms: stored(at, entry, "pwdLastSuccess").max(waiting(Field::LastSuccess)),
            failures_ms: stored_failures(at, entry),
        }
    }

    /// Has nobody bound for so many seconds, nor changed the password? An account of which neither is known is not idle: else an import
    /// would lock everybody out.
    pub(super) fn is_idle(&self, max_idle: u64, now_ms: u64) -> bool {
        let last_ms = self.last_success_ms.max(self.changed_ms);
        max_idle > 0
            && last_ms.is_some_and(|last| now_ms > last.saturating_add(max_idle.saturating_mul(1000)))
    }

    /// Is it locked now? `duration`: seconds after which a lock ends by itself; 0 for never.
    pub(super) fn is_locked(&self, duration: u64, now_ms: u64) -> bool {
        match self.locked {
            None => false,
            Some(Locked::ForEver) => true,
            Some(Locked::Since(_)) if duration == 0 => true,
            Some(Locked::Since(ms)) => now_ms < ms.saturating_add(duration.saturating_mul(1000)),
        }
    }
}

/// Has an administrator locked the account of an entry, so that no time ends it?
pub(crate) fn is_locked_for_good(entry: &EntryRef<'_>, read_point: ReadPoint<'_>) -> bool {
    text(entry, "pwdAccountLockedTime", read_point).is_some_and(|text| text == FOR_EVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Account = Account {
        changed_ms: None,
        locked: None,
        is_reset: false,
        grace_uses: 0,
        start_ms: None,
        end_ms: None,
        delay_end_ms: None,
        last_success_ms: None,
        failures_ms: Vec::new(),
    };

    #[test]
    fn locks_end_after_their_duration() {
        let account = |locked| Account { locked, ..NONE };
        let since = account(Some(Locked::Since(5_000)));
        assert!(since.is_locked(10, 14_999) && !since.is_locked(10, 15_000) && since.is_locked(0, u64::MAX));
        assert!(account(Some(Locked::ForEver)).is_locked(10, u64::MAX));
        assert!(!account(None).is_locked(0, 0));
    }

    #[test]
    fn accounts_are_idle_after_the_last_bind_or_the_last_change() {
        let mut account = Account { last_success_ms: Some(5_000), ..NONE };
        assert!(!account.is_idle(10, 15_000) && account.is_idle(10, 15_001) && !account.is_idle(0, u64::MAX));
        account.changed_ms = Some(6_000);
        assert!(!account.is_idle(10, 16_000) && account.is_idle(10, 16_001));
        assert!(!NONE.is_idle(1, u64::MAX), "nothing is known of it");
    }
}
