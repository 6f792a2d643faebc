//! What is wrong with a rule.

use std::fmt;

/// Why a text is not a rule, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Offset of the offending byte.
    pub at: usize,
    /// What is wrong there, and what would be right.
    pub text: String,
}

impl Error {
    pub(super) fn new(at: usize, text: impl Into<String>) -> Error {
        Error { at, text: text.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {} of the rule)", self.text, self.at)
    }
}

impl std::error::Error for Error {}
