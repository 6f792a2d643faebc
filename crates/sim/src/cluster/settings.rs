//! Clients change a setting of the directory at any replica, and read it at any other. All replicas have what the log says last.

use super::sent::{Next, Sent};
use crate::answers::Answer;
use crate::random::Random;
use crate::requests::{Bundle, CONFIG, Sent as Request};
use model::{ResultCode, Scope};
use proto::op::ModifyKind;
use std::collections::BTreeSet;

/// The setting, in a file and in `cn=config`.
const KEY: &str = "txn-open-max";
const ATTRIBUTE: &str = "pandoTxnOpenMax";
/// What it is at first. Every change gives it a value that it never had.
const FIRST: u64 = 1_000;
/// Of 1,000 bundles, those that change or read it.
const OF_1000: u64 = 120;

/// See the module.
pub(super) struct Settings {
    /// Does somebody change settings in this world?
    pub(super) are_changed: bool,
    random: Random,
    /// The value that was sent last.
    last: u64,
    /// Values in the order of the log.
    logged: Vec<u64>,
    /// So many of them are known to have been acknowledged, up to the last that was.
    acknowledged: usize,
    /// Values that were answered to have changed nothing.
    refused: BTreeSet<u64>,
}

impl Settings {
    pub(super) fn new(seed: u64, are_changed: bool) -> Settings {
        let random = Random::new(seed.rotate_left(16));
        Settings {
            are_changed,
            random,
            last: FIRST,
            logged: vec![FIRST],
            acknowledged: 1,
            refused: BTreeSet::new(),
        }
    }

    /// How often the log has changed it.
    pub(super) fn changes(&self) -> u64 {
        self.logged.len() as u64 - 1
    }

    /// The value that the log has last.
    pub(super) fn value(&self) -> u64 {
        self.logged.last().copied().unwrap_or(FIRST)
    }

    /// See [`Sent::settings_floor`].
    pub(super) fn floor(&self) -> usize {
        self.acknowledged
    }

    /// The log has these settings.
    pub(super) fn on_logged(&mut self, text: &str) -> Result<(), String> {
        let value = value_of(text)?;
        if self.refused.contains(&value) {
            return Err(format!("the value {value} was answered to have changed nothing"));
        }
        match self.logged.last() == Some(&value) || self.logged.contains(&value) {
            true => Err(format!("the value {value} is there again")),
            false => {
                self.logged.push(value);
                Ok(())
            }
        }
    }

    /// What a client changes, or reads, if it does that next.
    pub(super) fn next(&mut self) -> Option<Next> {
        if !self.are_changed || !self.random.chance(OF_1000) {
            return None;
        }
        let (mut next, reads) = (Next::default(), self.random.below(3));
        if reads != 1 {
            self.last += 1;
            next.setting = Some(self.last);
            let value = self.last.to_string();
            next.bundle.modify(CONFIG, ModifyKind::Replace, ATTRIBUTE, &[&value], Request::Other);
        }
        if reads > 0 {
            read(&mut next.bundle);
        }
        Some(next)
    }

    /// A client has all answers to what it sent.
    pub(super) fn look_at(&mut self, sent: &Sent) -> Result<(), String> {
        if let Some(value) = sent.setting {
            let place = self.logged.iter().position(|logged| *logged == value);
            match (sent.code_of(1), place) {
                (Some(ResultCode::Success), None) => {
                    return Err(format!("the value {value} was acknowledged, and the log has not got it"));
                }
                (Some(ResultCode::Success), Some(place)) => {
                    self.acknowledged = self.acknowledged.max(place + 1);
                }
                (Some(ResultCode::Busy), Some(_)) => {
                    return Err(format!(
                        "the value {value} was answered to have changed nothing, and is there"
                    ));
                }
                (Some(ResultCode::Busy), None) => _ = self.refused.insert(value),
                // Nobody knows.
                _ => {}
            }
        }
        let read = sent.answers.iter().find_map(|answer| match answer {
            Answer::Entry(id, dn, attributes) if dn == CONFIG => Some((*id, attributes)),
            _ => None,
        });
        let Some((id, attributes)) = read.filter(|(id, _)| sent.age_of(*id).is_none()) else { return Ok(()) };
        let text = attributes.get(ATTRIBUTE).and_then(|values| values.first());
        let value = text.and_then(|text| text.parse().ok()).unwrap_or(FIRST);
        let own = sent.setting.filter(|_| id > 1 && sent.code_of(1) == Some(ResultCode::Success));
        let own = own.and_then(|own| self.logged.iter().position(|logged| *logged == own));
        match self.logged.iter().position(|logged| *logged == value) {
            None => Err(format!("the value {value} was read, and the log has not got it")),
            Some(place) if place + 1 < sent.settings_floor || own.is_some_and(|own| place < own) => {
                Err(format!("the value {value} was read, and a later one had been acknowledged"))
            }
            Some(_) => Ok(()),
        }
    }
}

/// The value in a text of settings.
fn value_of(text: &str) -> Result<u64, String> {
    let line = text.lines().take_while(|line| !line.starts_with('[')).find_map(|line| line.strip_prefix(KEY));
    let Some(line) = line else { return Ok(FIRST) };
    let digits: String = line.chars().filter(char::is_ascii_digit).collect();
    digits.parse().map_err(|_| format!("there is no number in the settings: {line}"))
}

fn read(bundle: &mut Bundle) {
    bundle.search(CONFIG, Scope::Base, "(objectClass=*)", &[ATTRIBUTE], Request::Other);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_that_of_the_directory() {
        assert_eq!(value_of("# a\ntxn-open-max = [\"1007\"]\n\n[file]\ntxn-open-max = [\"3\"]\n"), Ok(1007));
        assert_eq!(value_of("# a\n[file]\ntxn-open-max = [\"3\"]\n"), Ok(FIRST));
        assert!(value_of("txn-open-max = []\n").is_err());
    }
}
