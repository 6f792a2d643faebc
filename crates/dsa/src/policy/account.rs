//! The state of a password, as its entry has it.

use super::choice::{text, values};
use crate::context::Reading;
use model::parse_timestamp;
use store::EntryRef;

/// `pwdAccountLockedTime` of an account that is locked for good.
const FOR_EVER: &str = "000001010000Z";

/// What an entry says of its password.
pub(super) struct Account {
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
        let time = |name| text(entry, name, at).and_then(|text| time_ms(&text));
        let locked = text(entry, "pwdAccountLockedTime", at).map(|text| match time_ms(&text) {
            Some(ms) if text != FOR_EVER => Locked::Since(ms),
            // Also what cannot be read: it says that the account is locked, and not until when.
            _ => Locked::ForEver,
        });
        Account {
            changed_ms: time("pwdChangedTime"),
            locked,
            is_reset: text(entry, "pwdReset", at).is_some_and(|text| text == "TRUE"),
            grace_uses: values(entry, "pwdGraceUseTime", at).len(),
            start_ms: time("pwdStartTime"),
            end_ms: time("pwdEndTime"),
        }
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

/// The Unix time in milliseconds of a generalized time with seconds or minutes, with a fraction or without, in UTC. `None` of others.
fn time_ms(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(digits);
    let part = |from: usize| digits.get(from..from + 2);
    let second = match digits.len() {
        12 => "00",
        14 => part(12)?,
        _ => return None,
    };
    let (year, month, day, hour, minute) = (digits.get(..4)?, part(4)?, part(6)?, part(8)?, part(10)?);
    parse_timestamp(&format!("{year}-{month}-{day}T{hour}:{minute}:{second}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(time_ms("19700101000001Z"), Some(1000));
        assert_eq!(time_ms("19700101000001.5Z"), Some(1500));
        assert_eq!(time_ms("197001010001Z"), Some(60_000));
        for text in ["", "1970", FOR_EVER, "19700101000001", "19701301000001Z", "x"] {
            assert_eq!(time_ms(text), None, "{text}");
        }
    }

    #[test]
    fn locks_end_after_their_duration() {
        let account = |locked| Account {
            changed_ms: None,
            locked,
            is_reset: false,
            grace_uses: 0,
            start_ms: None,
            end_ms: None,
        };
        let since = account(Some(Locked::Since(5_000)));
        assert!(since.is_locked(10, 14_999) && !since.is_locked(10, 15_000) && since.is_locked(0, u64::MAX));
        assert!(account(Some(Locked::ForEver)).is_locked(10, u64::MAX));
        assert!(!account(None).is_locked(0, 0));
    }
}
