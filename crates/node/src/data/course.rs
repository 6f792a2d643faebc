//! Which rules hold, record by record. A start that changes them leaves a note in the log, so that nobody carries out by one
//! what the other decided.

use super::Rules;
use model::timestamp;
use wal::{Index, Place, Record};

/// See the module.
pub(super) struct Course {
    /// By which commands are carried out.
    rules: Rules,
    /// A note says that others hold.
    others: Option<Noted>,
    /// There was a command.
    began: bool,
}

/// A note of a change of rules.
pub(super) struct Noted {
    rules: Rules,
    ms: u64,
    index: Index,
    place: Place,
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

impl Course {
    /// Of a log of which the first command was decided by `rules`, unless a note before it says otherwise.
    pub(super) fn new(rules: Rules) -> Course {
        Course { rules, others: None, began: false }
    }

    /// Takes a note; returns its time.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn note(&mut self, record: &Record<'_>) -> Result<u64, String> {
        let (ms, rules) = Rules::of_note(record.payload)?;
        let (index, place) = (record.index, record.place);
        self.others = (rules != self.rules).then_some(Noted { rules, ms, index, place });
        Ok(ms)
    }

    /// What the last note says holds for all, if nothing was decided yet by anything else.
    pub(super) fn adopt(&mut self) {
        if !self.began
            && let Some(noted) = self.others.take()
        {
            self.rules = noted.rules;
        }
    }

    /// A command comes.
    ///
    /// # Errors
    /// When it was decided by other rules, since that note.
    pub(super) fn command(&mut self) -> Result<(), &Noted> {
        self.began = true;
        self.others.as_ref().map_or(Ok(()), Err)
    }

    /// By which commands are carried out.
    pub(super) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Those that hold after the last record.
    pub(super) fn last(&self) -> &Rules {
        self.others.as_ref().map_or(&self.rules, |noted| &noted.rules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::Builder;
    use wal::Kind;

    const PLACE: Place = Place { file: 0x2a, offset: 4096 };

    fn rules(suffix: &str) -> Rules {
        let schema = Builder::new().standard().build().expect("it is sound");
        Rules::of(&schema, &[suffix.to_owned()], true)
    }

    fn note(course: &mut Course, payload: &[u8]) -> Result<u64, String> {
        course.note(&Record { index: Index(7), kind: Kind::Rules, payload, place: PLACE })
    }

    #[test]
    fn a_command_after_a_note_of_other_rules_is_refused_until_they_are_back() {
        let (a, b) = (rules("dc=a"), rules("dc=b"));
        let mut course = Course::new(a.clone());
        assert!(course.command().is_ok());
        assert_eq!(note(&mut course, &b.note(1000)), Ok(1000));
        assert_eq!(course.last(), &b);
        let refused = course.command().expect_err("it was decided by others").place();
        assert_eq!(refused, "record 7, in log/0000002a.log offset 4096, of 1970-01-01T00:00:01.000Z");
        // It was not at the beginning.
        course.adopt();
        assert!(course.command().is_err());
        assert_eq!(note(&mut course, &a.note(2000)), Ok(2000));
        assert!(course.command().is_ok() && course.last() == &a);
    }

    #[test]
    fn what_the_first_note_says_may_hold_for_all() {
        let (a, b) = (rules("dc=a"), rules("dc=b"));
        let mut course = Course::new(a.clone());
        assert_eq!(note(&mut course, &b.note(1)), Ok(1));
        course.adopt();
        assert!(course.command().is_ok() && course.rules() == &b);
        let mut course = Course::new(a);
        assert_eq!(note(&mut course, &b.note(1)), Ok(1));
        assert!(course.command().is_err(), "not without being asked");
    }

    #[test]
    fn a_note_comes_back_and_a_change_of_its_text_shows() {
        let whole = rules("dc=a").note(123);
        assert_eq!(Rules::of_note(&whole), Ok((123, rules("dc=a"))));
        for len in 0..whole.len() {
            assert!(Rules::of_note(&whole[..len]).is_err(), "{len} bytes");
        }
        for at in 8..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert!(Rules::of_note(&changed).is_err(), "byte {at}");
        }
    }
}
