//! Rules about what requesters may take of the server. The first that fits a requester decides; nothing of it depends on an entry.

use crate::rule::Subject;
use std::fmt;

/// A rule that limits requesters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitRule {
    /// Unique among these rules.
    pub name: String,
    /// Whom it is for: any of these.
    pub subjects: Vec<Subject>,
    /// What it says.
    pub limits: Limits,
}

/// Limits that a rule names. What it does not name is as if there were no rule; 0 means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Entries that one search returns, on all its pages together.
    pub size: Option<u32>,
    /// Seconds that one search takes.
    pub time_s: Option<u32>,
    /// Candidates that one search looks at.
    pub look_through: Option<u32>,
    /// Entries of one page.
    pub page: Option<u32>,
    /// Searches in progress.
    pub searches: Option<u32>,
    /// Requests of a second, of one connection.
    pub rate: Option<u32>,
    /// Bytes of answers of a second, of one connection.
    pub bytes_per_second: Option<u32>,
    /// What becomes of searches that no index answers.
    pub unindexed: Option<Unindexed>,
}

impl Limits {
    /// Every key.
    pub const KEYS: [&str; 8] =
        ["size", "time", "look-through", "page", "searches", "rate", "bytes-per-second", "unindexed"];

    /// Keys with a number.
    pub(crate) const NUMBERS: [&str; 7] =
        ["size", "time", "look-through", "page", "searches", "rate", "bytes-per-second"];

    /// The limit with this key, if that has a number.
    pub(crate) fn number(&mut self, key: &str) -> Option<&mut Option<u32>> {
        Some(match key {
            "size" => &mut self.size,
            "time" => &mut self.time_s,
            "look-through" => &mut self.look_through,
            "page" => &mut self.page,
            "searches" => &mut self.searches,
            "rate" => &mut self.rate,
            "bytes-per-second" => &mut self.bytes_per_second,
            _ => return None,
        })
    }
}

/// What becomes of a search that looks at many candidates for want of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unindexed {
    /// It looks at all of them, whatever `look-through` says.
    Allow,
    /// It ends at `look-through`.
    #[default]
    Limit,
    /// It is refused.
    Refuse,
}

impl Unindexed {
    /// Each with its word.
    pub const WORDS: [(&'static str, Unindexed); 3] =
        [("allow", Unindexed::Allow), ("limit", Unindexed::Limit), ("refuse", Unindexed::Refuse)];

    fn word(self) -> &'static str {
        Unindexed::WORDS[self as usize].0
    }
}

impl fmt::Display for LimitRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.name)?;
        for (at, subject) in self.subjects.iter().enumerate() {
            write!(f, "{}{subject}", if at > 0 { " | " } else { "" })?;
        }
        write!(f, ";{}", self.limits)
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut own = *self;
        for key in Limits::NUMBERS {
            if let Some(Some(number)) = own.number(key) {
                write!(f, " {key}={number}")?;
            }
        }
        self.unindexed.map_or(Ok(()), |unindexed| write!(f, " unindexed={}", unindexed.word()))
    }
}
