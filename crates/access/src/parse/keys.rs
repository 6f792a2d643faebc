//! The keys of a rule, by the part that they stand in.

use crate::limit::Limits;
use crate::near::unknown;

/// The part of a rule that a key stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Target,
    Subject,
    Effect,
    /// Whom a limit is for.
    LimitSubject,
    Limits,
}

impl Part {
    /// Keys of the part.
    pub(super) const fn keys(self) -> &'static [&'static str] {
        match self {
            Part::Target => TARGET,
            Part::Subject | Part::LimitSubject => SUBJECT,
            Part::Effect => EFFECT,
            Part::Limits => &Limits::KEYS,
        }
    }

    /// What a key of this part is about.
    const fn place(self) -> &'static str {
        match self {
            Part::Target => "the first part, with what the rule is about",
            Part::Subject => "the second part, with whom the rule is for",
            Part::Effect => "the third part, with what the rule does",
            Part::LimitSubject => "the first part, with whom the limit is for",
            Part::Limits => "the second part, with the limits",
        }
    }

    /// What to say of a key that this part does not have.
    pub(super) fn unknown(self, key: &str) -> String {
        let parts = [Part::Target, Part::Subject, Part::Effect];
        match parts.into_iter().find(|part| part.keys().contains(&key)) {
            Some(part) => format!("`{key}` stands in {}", part.place()),
            None => unknown("key", key, self.keys().iter().copied()),
        }
    }
}

/// Keys of the first part.
const TARGET: &[&str] =
    &["all", "base", "one", "subtree", "children", "filter", "attrs", "values", "op", "control", "extended"];

/// Keys of the second part.
const SUBJECT: &[&str] = &[
    "anyone",
    "anonymous",
    "users",
    "self",
    "dn",
    "dn-one",
    "dn-subtree",
    "dn-children",
    "user-filter",
    "group",
    "nested",
    "auth",
    "ssf",
    "tls",
    "peer",
    "listener",
    "real-dn",
    "real-dn-one",
    "real-dn-subtree",
    "real-dn-children",
    "real-group",
    "real-nested",
    "parent",
    "dn-attr",
    "group-attr",
    "same",
];

/// Keys of the third part.
const EFFECT: &[&str] = &["allow", "deny", "rank"];
