//! The one-line form of a limit rule: `NAME: SUBJECT | SUBJECT; LIMIT ...`.

use super::error::Error;
use super::keys::Part;
use super::subject::has_placeholder;
use super::word::{Value, Words, number};
use super::{bounded, name, subjects};
use crate::limit::{LimitRule, Limits, Unindexed};
use crate::near::unknown;
use model::limits::REQUESTER_LIMIT_MAX;
use model::quantity;

/// Parses a limit rule.
///
/// # Errors
/// The first fault, its place, and what would be right.
pub fn parse_limit(text: &str) -> Result<LimitRule, Error> {
    bounded(text)?;
    let (name, start) = name(text, "a limit is written NAME: SUBJECT; size=N")?;
    let mut words = Words::new(text, start);
    let subjects = subjects(&mut words)?;
    words.end_part(Part::LimitSubject)?;
    // It is decided once, and not for each entry.
    for condition in subjects.iter().flat_map(|subject| &subject.0).map(|test| &test.condition) {
        if condition.depends_on_entry() || has_placeholder(condition) {
            let reason = format!(
                "`{}` depends on an entry, and limits are decided before any is looked at",
                condition.key()
            );
            return Err(Error::new(start, reason));
        }
    }
    let limits = limits(&mut words)?;
    words.end_part(Part::Limits)?;
    Ok(LimitRule { name, subjects, limits })
}

fn limits(words: &mut Words<'_>) -> Result<Limits, Error> {
    let (start, mut limits) = (words.at(), Limits::default());
    while let Some(word) = words.next()? {
        let (key, at) = (word.key, word.at);
        let is_second = match limits.number(key) {
            Some(limit) => {
                let value = word.value()?.plain(key)?;
                let bytes = (key == "bytes-per-second").then(|| bytes(&value)).transpose()?;
                let value = bytes.map_or_else(|| number(&value, key, 0, REQUESTER_LIMIT_MAX), Ok)?;
                limit.replace(value).is_some()
            }
            None if key == "unindexed" => {
                limits.unindexed.replace(unindexed(&word.value()?.plain(key)?)?).is_some()
            }
            None => return Err(Error::new(at, unknown("limit", key, Limits::KEYS))),
        };
        if is_second {
            return Err(Error::new(at, format!("`{key}` stands twice")));
        }
    }
    match limits == Limits::default() {
        true => Err(Error::new(start, format!("which limits? {}", Limits::KEYS.join(", ")))),
        false => Ok(limits),
    }
}

/// A number of bytes, in units if that reads better.
fn bytes(value: &Value) -> Result<u32, Error> {
    let bytes = quantity::bytes(&value.text).map_err(|reason| value.error(reason))?;
    let number = u32::try_from(bytes).ok().filter(|bytes| *bytes <= REQUESTER_LIMIT_MAX);
    number.ok_or_else(|| value.error(format!("`{}` is more than {REQUESTER_LIMIT_MAX} bytes", value.text)))
}

fn unindexed(value: &Value) -> Result<Unindexed, Error> {
    let found = Unindexed::WORDS.iter().find(|(word, _)| *word == value.text);
    found.map(|(_, meant)| *meant).ok_or_else(|| {
        value.error(unknown("value of `unindexed`", &value.text, Unindexed::WORDS.map(|(word, _)| word)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_limits;
    use model::limits::{ACCESS_RULE_BYTES_MAX, ACCESS_SUBJECTS_MAX, ACCESS_TESTS_MAX};

    #[test]
    fn a_written_rule_is_the_same_rule() {
        for text in [
            "all: anyone; size=10",
            "apps: dn-subtree=\"ou=Services,dc=x\" peer=10.0.0.0/8,ldapi tls=128 | group=\"!cn=a,dc=x\" nested=false; \
             size=0 time=30 look-through=5000 page=500 searches=2 rate=50 bytes-per-second=1048576 unindexed=refuse",
            "by-proxy: real-dn=\"uid=a,dc=x\" auth=SIMPLE; unindexed=allow",
        ] {
            let rule = parse_limit(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(parse_limit(&rule.to_string()), Ok(rule), "{text}");
        }
        let rule = parse_limit("a: users;size=1 unindexed=limit").expect("it is sound");
        assert_eq!(rule.to_string(), "a: users; size=1 unindexed=limit");
        let rule = parse_limit("a: users; bytes-per-second=1MiB").expect("it is sound");
        assert_eq!(rule.limits.bytes_per_second, Some(1 << 20));
    }

    #[test]
    fn faults_say_what_would_be_right() {
        for (text, said) in [
            ("users; size=1", "a limit is written NAME: SUBJECT; size=N"),
            ("a: ; size=1", "whom is the rule for?"),
            ("a: users", "expected `;` and the limits, as in size=1000"),
            ("a: users;", "which limits? size, time, look-through"),
            ("a: users; sise=1", "unknown limit `sise`; did you mean `size`?"),
            ("a: users; size=-1", "not a number from 0 to 2147483647"),
            ("a: users; size=2147483648", "not a number from 0 to 2147483647"),
            ("a: users; size=1 size=2", "`size` stands twice"),
            ("a: users; size", "`size` needs a value"),
            ("a: users; unindexed=refused", "did you mean `refuse`?"),
            ("a: users; rate=1KiB", "not a number from 0"),
            ("a: users; bytes-per-second=1kb", "`kb` is not a unit of bytes"),
            ("a: users; bytes-per-second=2GiB", "more than 2147483647 bytes"),
            ("a: users; size=1; page=2", "a limit has two parts"),
            ("a: self; size=1", "`self` depends on an entry"),
            ("a: dn-attr=manager; size=1", "`dn-attr` depends on an entry"),
            ("a: group=\"cn=a,$1\"; size=1", "`group` depends on an entry"),
        ] {
            let error = parse_limit(text).expect_err(text);
            assert!(error.text.contains(said) && error.at <= text.len(), "{text}: {error}");
        }
        let texts = ["a: users; size=1", "a: anyone; size=2"].map(str::to_owned);
        assert_eq!(parse_limits(&texts).expect_err("names are unique")[0].0, 1);
    }

    /// X12: a rule as large as may be is read, and one that is larger is refused before anything is made of it.
    #[test]
    fn x12_the_largest_rules() {
        let subject = vec!["users"; ACCESS_TESTS_MAX].join(" ");
        let subjects = |count: usize| vec![&subject[..]; count].join(" | ");
        let text = format!("a: {}; size=1", subjects(ACCESS_SUBJECTS_MAX));
        assert_eq!(parse_limit(&text).expect("it is sound").subjects.len(), ACCESS_SUBJECTS_MAX);
        for (text, said) in [
            (
                format!("a: {} | users; size=1", vec!["users"; ACCESS_SUBJECTS_MAX].join(" | ")),
                "subjects at most",
            ),
            (format!("a: {subject} users; size=1"), "conditions at most"),
            (format!("a: users; size=1{}", " ".repeat(ACCESS_RULE_BYTES_MAX)), "bytes at most"),
            (format!("a: user-filter=\"{}\"; size=1", "(!".repeat(30_000)), "filter"),
        ] {
            let error = parse_limit(&text).expect_err(said);
            assert!(error.text.contains(said), "{said}: {error}");
        }
    }
}
