//! Why a stored value matches no password at all.

use std::fmt;

/// Why a stored value stands for no password. The text has nothing of the value but the name of its scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is empty or blank.
    Blank,
    /// Nobody knows the scheme of this name here.
    UnknownScheme(String),
    /// The scheme is known, what follows its name is not what it should be.
    Malformed {
        /// Name of the scheme.
        scheme: String,
        /// What would be right.
        expected: &'static str,
    },
    /// It is well formed, and to verify it would take more than a bound allows.
    Beyond {
        /// Name of the scheme.
        scheme: String,
        /// The bound.
        bound: &'static str,
    },
}

/// What a scheme finds wrong with what follows its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Malformed(&'static str),
    Beyond(&'static str),
}

impl Fault {
    pub(crate) fn of(self, scheme: &[u8]) -> Refused {
        let scheme = String::from_utf8_lossy(scheme).into_owned();
        match self {
            Fault::Malformed(expected) => Refused::Malformed { scheme, expected },
            Fault::Beyond(bound) => Refused::Beyond { scheme, bound },
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Blank => f.write_str("it is empty or blank"),
            Refused::UnknownScheme(scheme) => {
                write!(f, "the scheme {{{scheme}}} is not known; docs/passwords.md has those that are")
            }
            Refused::Malformed { scheme, expected } => write!(f, "after {{{scheme}}} {expected} is needed"),
            Refused::Beyond { scheme, bound } => {
                write!(f, "a value of {{{scheme}}} is verified only with {bound}, and this one has more")
            }
        }
    }
}

impl std::error::Error for Refused {}
