//! Which rules are in force, record by record: a command in the log says which from there on. Earlier versions left notes, of
//! which the text of the schema cannot be had.

use super::Rules;
use model::timestamp;
use schema::Builder;
use wal::{Index, Place, Record};

/// See the module.
pub(super) struct RulesEpochs {
    rules: Rules,
    /// Where that stands, if it does not stand in the snapshot.
    noted: Option<Noted>,
    /// What the last command was decided by; at first what the snapshot has.
    decided: Rules,
    /// `rules` are others than those.
    changed: bool,
    /// There was a command.
    began: bool,
}

/// A note of a change of rules.
#[derive(Clone, Copy)]
pub(super) struct Noted {
    ms: u64,
    index: Index,
    place: Place,
}

/// What a command is decided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decided {
    /// By what the command before was.
    AsBefore,
    /// It is the first.
    First,
    /// By others than the command before.
    Otherwise,
}

impl Noted {
    /// Where it stands, and since when those rules hold.
    pub(super) fn place(&self) -> String {
        let (Place { file, offset }, at) = (self.place, timestamp(self.ms));
        format!("record {}, in log/{file:08x}.log offset {offset}, of {at}", self.index)
    }

    /// Since when they hold.
    pub(super) fn at(&self) -> String {
        timestamp(self.ms)
    }
}

impl RulesEpochs {
    /// Of a log that begins where `rules` are in force.
    pub(super) fn new(rules: Rules) -> RulesEpochs {
        RulesEpochs { decided: rules.clone(), rules, noted: None, changed: false, began: false }
    }

    /// Takes a note of an earlier version.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn note(&mut self, record: &Record<'_>) -> Result<(), String> {
        let (ms, rules) = Rules::of_note(record.payload)?;
        self.set(rules, ms, record);
        Ok(())
    }

    /// Takes a command of rules, of a parcel of this time.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn change(&mut self, text: &str, ms: u64, record: &Record<'_>) -> Result<(), String> {
        let rules = Rules::of_verified(text);
        self.set(rules.map_err(|what| format!("the rules from here on cannot be read: {what}"))?, ms, record);
        Ok(())
    }

    /// Takes a command that raises the version of the behaviour, of a parcel of this time.
    pub(super) fn raise(&mut self, behaviour: u32, ms: u64, record: &Record<'_>) {
        self.set(self.rules.clone().raised(behaviour), ms, record);
    }

    fn set(&mut self, rules: Rules, ms: u64, record: &Record<'_>) {
        self.changed = !rules.agree(&self.decided);
        self.noted = Some(Noted { ms, index: record.index, place: record.place });
        self.rules = rules;
    }

    /// The command that came last has added definitions: what comes is decided by these rules, in the same directory.
    pub(super) fn extend(&mut self, rules: Rules) {
        self.rules = rules.clone();
        self.decided = rules;
    }

    /// A command comes that adds definitions, of those for whom nothing is applied: as [`RulesEpochs::command`], and then
    /// [`RulesEpochs::extend`].
    ///
    /// # Errors
    /// When no schema can be made of the rules, or the command is no such one.
    pub(super) fn add(&mut self, message: &[u8]) -> Result<(), String> {
        let like = Builder::new().standard().build().map_err(|errors| errors.to_string())?;
        let schema = self.rules.schema(&like)?;
        dsa::extend(&schema, message)?;
        self.extend(self.rules.with_schema(&schema));
        Ok(())
    }

    /// A command comes.
    pub(super) fn command(&mut self) -> Decided {
        let decided = match (self.began, self.changed) {
            (true, false) => return Decided::AsBefore,
            (true, true) => Decided::Otherwise,
            (false, _) => Decided::First,
        };
        (self.began, self.changed) = (true, false);
        self.decided = self.rules.clone();
        decided
    }

    /// Those in force.
    pub(super) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Where they stand; `None` if not in the log.
    pub(super) fn noted(&self) -> Option<&Noted> {
        self.noted.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsa::behaviour::NEWEST;
    use wal::Kind;

    fn rules(suffix: &str) -> Rules {
        let schema = Builder::new().standard().build().expect("it is sound");
        Rules::of(&schema, &[suffix.to_owned()], true, NEWEST)
    }

    fn record(payload: &[u8]) -> Record<'_> {
        let place = Place { file: 0x2a, offset: 4096 };
        Record { index: Index(7), kind: Kind::Parcel, payload, place }
    }

    #[test]
    fn a_command_is_decided_by_the_last_rules_before_it() {
        let (a, b) = (rules("dc=a"), rules("dc=b"));
        let mut epochs = RulesEpochs::new(a.clone());
        assert!(epochs.noted().is_none());
        assert_eq!((epochs.command(), epochs.command()), (Decided::First, Decided::AsBefore));
        epochs.change(&b.text(), 1000, &record(b"")).expect("it was written");
        assert!(epochs.rules().agree(&b));
        epochs.change(&a.text(), 1500, &record(b"")).expect("it was written");
        assert_eq!(epochs.command(), Decided::AsBefore, "nothing was decided by the others");
        epochs.change(&b.text(), 1000, &record(b"")).expect("it was written");
        let noted = epochs.noted().expect("it stands in the log");
        assert_eq!(noted.place(), "record 7, in log/0000002a.log offset 4096, of 1970-01-01T00:00:01.000Z");
        assert_eq!((epochs.command(), epochs.command()), (Decided::Otherwise, Decided::AsBefore));
    }

    #[test]
    fn a_raised_behaviour_decides_what_comes_after() {
        let mut epochs = RulesEpochs::new(rules("dc=a"));
        assert_eq!(epochs.command(), Decided::First);
        epochs.raise(NEWEST + 1, 1, &record(b""));
        assert_eq!((epochs.command(), epochs.rules().behaviour()), (Decided::Otherwise, NEWEST + 1));
        epochs.raise(NEWEST, 1, &record(b""));
        assert_eq!((epochs.command(), epochs.rules().behaviour()), (Decided::AsBefore, NEWEST + 1));
    }

    #[test]
    fn rules_before_the_first_command_are_those_of_the_first() {
        let (a, b) = (rules("dc=a"), rules("dc=b"));
        let mut epochs = RulesEpochs::new(a);
        epochs.change(&b.text(), 1, &record(b"")).expect("it was written");
        assert_eq!(epochs.command(), Decided::First);
        assert!(epochs.rules().agree(&b));
    }

    #[test]
    fn a_change_of_the_text_shows() {
        let text = rules("dc=a").text();
        let mut epochs = RulesEpochs::new(rules("dc=b"));
        for at in (0..text.len()).step_by(501).chain([text.len() - 1]) {
            let mut changed = text.clone().into_bytes();
            changed[at] ^= 1;
            let changed = String::from_utf8_lossy(&changed);
            assert!(epochs.change(&changed, 1, &record(b"")).is_err(), "byte {at}");
            assert!(epochs.change(&text[..at], 1, &record(b"")).is_err(), "{at} bytes");
        }
    }
}
