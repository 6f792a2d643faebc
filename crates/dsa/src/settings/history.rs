//! The last changes of settings: who changed what, and when. They belong to the record, so the log, its snapshots and backups have them.
//!
//! Each is a line of JSON for each key, which clients read in `cn=config`. Nothing here reads of a line more than its number.
//!
//! Why it is so: `docs/decisions/0100-the-record-of-settings-has-its-last-changes.md`.

use model::csn::write_generalized_time;
use model::limits::{SETTING_CHANGES_BYTES_MAX, SETTING_CHANGES_MAX};
use std::fmt::Write as _;

/// What each line begins with; the number follows.
const NUMBER: &str = "{\"number\":";

/// Who changes settings, and when.
#[derive(Clone, Copy, Debug)]
pub struct Author<'a> {
    /// The name of an identity, or what else it is.
    pub name: &'a str,
    /// Unix time in milliseconds.
    pub wall_ms: u64,
}

/// What a change does to a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The key.
    pub key: String,
    /// The values that held.
    pub before: Vec<String>,
    /// The values that hold from now on.
    pub after: Vec<String>,
    /// Were those that held recorded? If not, they were those of file and flags, or the default.
    pub was_recorded: bool,
}

/// Notes a change of several keys by one author behind those that are there. Keys with the values that they had are left out.
/// The oldest changes make room for it. A change is kept or dropped with all of its keys, for only so it can be undone.
pub(super) fn note(history: &mut Vec<String>, author: Author<'_>, differences: &[Difference]) {
    let next = history.last().map_or(0, |line| number(line)).saturating_add(1);
    let differ = differences.iter().filter(|difference| difference.before != difference.after);
    history.extend(differ.map(|difference| line(next, author, difference)));
    let mut bytes: usize = history.iter().map(String::len).sum();
    let (mut kept, mut dropped) = (history.len(), 0);
    // The change that is being noted is the last, and stays.
    while let Some(oldest) = history.get(dropped).map(|line| number(line)).filter(|oldest| *oldest < next) {
        if kept <= SETTING_CHANGES_MAX && bytes <= SETTING_CHANGES_BYTES_MAX {
            break;
        }
        let of_change = history[dropped..].iter().take_while(|line| number(line) == oldest);
        let (lines, lengths) = of_change.fold((0, 0), |(lines, all), line| (lines + 1, all + line.len()));
        assert!(lines > 0, "the oldest change has a line at least");
        (dropped, kept, bytes) = (dropped + lines, kept - lines, bytes - lengths);
    }
    history.drain(..dropped);
}

/// The number of the change that a line is about. A line without one is older than all others: a program that writes other lines has made it.
fn number(line: &str) -> u64 {
    let digits = line.strip_prefix(NUMBER).and_then(|rest| rest.split_once(','));
    digits.and_then(|(digits, _)| digits.parse().ok()).unwrap_or(0)
}

/// The members have names that clients know: others may be added behind them, and none goes.
fn line(number: u64, author: Author<'_>, difference: &Difference) -> String {
    let Difference { key, before, after, was_recorded } = difference;
    let mut line = format!("{NUMBER}{number},\"time\":\"");
    let mut time = Vec::new();
    write_generalized_time(author.wall_ms, &mut time);
    line.extend(time.into_iter().map(char::from));
    line.push_str("\",\"by\":");
    quote(author.name, &mut line);
    line.push_str(",\"key\":");
    quote(key, &mut line);
    for (name, values) in [("from", before), ("to", after)] {
        let _ = write!(line, ",\"{name}\":[");
        for (at, value) in values.iter().enumerate() {
            line.push_str(if at > 0 { "," } else { "" });
            quote(value, &mut line);
        }
        line.push(']');
    }
    let _ = write!(line, ",\"was-set\":{was_recorded}}}");
    line
}

/// Appends a text as JSON has it (RFC 8259 section 7).
fn quote(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\0'..='\x1f' => _ = write!(out, "\\u{:04x}", u32::from(letter)),
            _ => out.push(letter),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(key: &str, before: &[&str], after: &[&str]) -> Difference {
        let texts = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
        Difference { key: key.to_owned(), before: texts(before), after: texts(after), was_recorded: true }
    }

    const ADMIN: Author<'_> = Author { name: "cn=\"a\"", wall_ms: 1_767_323_045_123 };

    #[test]
    fn a_line_is_json_and_says_who_and_when() {
        let mut history = Vec::new();
        note(
            &mut history,
            ADMIN,
            &[difference("a", &["\\ \n"], &["x", "y"]), difference("b", &["1"], &["1"])],
        );
        assert_eq!(
            history,
            [
                r#"{"number":1,"time":"20260102030405Z","by":"cn=\"a\"","key":"a","from":["\\ \u000a"],"to":["x","y"],"was-set":true}"#
            ]
        );
        note(&mut history, ADMIN, &[difference("a", &["x"], &["x"])]);
        assert_eq!(history.len(), 1, "nothing was changed");
    }

    #[test]
    fn the_last_are_kept_each_with_all_of_its_keys() {
        let mut history = Vec::new();
        for _ in 0..SETTING_CHANGES_MAX {
            note(&mut history, ADMIN, &[difference("a", &[], &["x"]), difference("b", &[], &["x"])]);
        }
        assert_eq!(history.len(), SETTING_CHANGES_MAX);
        let first = SETTING_CHANGES_MAX as u64 / 2 + 1;
        let numbers: Vec<u64> = history.iter().map(|line| number(line)).collect();
        let expected: Vec<u64> = (first..first + first - 1).flat_map(|number| [number; 2]).collect();
        assert_eq!(numbers, expected);
        note(&mut history, ADMIN, &[difference("c", &[], &["x"])]);
        assert_eq!(history.len(), SETTING_CHANGES_MAX - 1);
        assert_eq!(number(&history[0]), first + 1);
    }

    #[test]
    fn a_long_change_is_kept_as_long_as_it_is_the_last() {
        let mut history = Vec::new();
        let long = "x".repeat(SETTING_CHANGES_BYTES_MAX);
        note(&mut history, ADMIN, &[difference("a", &[], &["x"])]);
        note(&mut history, ADMIN, &[difference("a", &["x"], &[&long])]);
        assert_eq!(history.len(), 1);
        assert!(history[0].starts_with("{\"number\":2,"));
        note(&mut history, ADMIN, &[difference("a", &["z"], &["x"])]);
        assert_eq!((history.len(), number(&history[0])), (1, 3));
    }
}
