//! What clients know of settings: each has one of its own that it gives higher and higher numbers, at any replica. One that is made of
//! settings which hold no more is refused, so no change takes back another.

use super::sessions::SESSIONS;
use crate::answers::Attributes;
use std::collections::BTreeSet;

/// Settings on which nothing hangs that the clients do, and what each is above at any time after it was set.
const SETTINGS: [(&str, u64); SESSIONS] =
    [("pandoTxnOpenMax", 2_000), ("pandoTxnUpdatesMax", 100), ("pandoTxnBytesMax", 5_000_000)];

/// See the module.
#[derive(Default)]
pub(super) struct Settings {
    /// By client: what its setting was given last, and what it is known to be at least.
    given: [u64; SESSIONS],
    pub(super) acknowledged: [u64; SESSIONS],
    /// What was answered not to be in force.
    refused: [BTreeSet<u64>; SESSIONS],
}

impl Settings {
    /// A client's setting, and its next value.
    pub(super) fn next(&mut self, session: usize) -> (&'static str, u64) {
        self.given[session] += 1;
        let (name, above) = SETTINGS[session];
        (name, above + self.given[session])
    }

    pub(super) fn names() -> [&'static str; SESSIONS] {
        SETTINGS.map(|(name, _)| name)
    }

    pub(super) fn acknowledge(&mut self, session: usize, value: u64) {
        self.acknowledged[session] = self.acknowledged[session].max(value);
    }

    pub(super) fn refuse(&mut self, session: usize, value: u64) {
        self.refused[session].insert(value);
    }

    /// Looks at what a client read. `floor`: what each had been acknowledged to be before.
    pub(super) fn look_at(&self, read: &Attributes, floor: &[u64; SESSIONS]) -> Result<(), String> {
        for (of, (name, _)) in SETTINGS.iter().enumerate() {
            let value: u64 = read.get(*name).and_then(|values| values.first()?.parse().ok()).unwrap_or(0);
            if self.refused[of].contains(&value) {
                return Err(format!(
                    "{name} is {value}, and the client had the answer that it is not changed"
                ));
            }
            // Before it is set for the first time it is what was configured.
            if floor[of] > 0 && value < floor[of] {
                return Err(format!("{name} is {value}, and had been acknowledged to be {}", floor[of]));
            }
        }
        Ok(())
    }
}
