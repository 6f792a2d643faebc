//! Why a value is not what its syntax or matching rule wants.

use std::fmt;

/// A value that does not fit. It holds no part of the value, so it costs nothing to return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// What is wrong, as the end of a sentence: "not an integer".
    pub reason: &'static str,
    /// Offset of the offending byte, if one can be named.
    pub at: Option<usize>,
}

impl Invalid {
    /// Wrong as a whole.
    pub const fn new(reason: &'static str) -> Invalid {
        Invalid { reason, at: None }
    }

    /// Wrong at one byte.
    pub const fn at(reason: &'static str, at: usize) -> Invalid {
        Invalid { reason, at: Some(at) }
    }
}

/// The text that a value is.
pub(crate) fn utf8(value: &[u8]) -> Result<&str, Invalid> {
    std::str::from_utf8(value).map_err(|e| Invalid::at("not UTF-8", e.valid_up_to()))
}

/// A value of ASCII alone.
#[inline]
pub(crate) fn ia5(value: &[u8]) -> Result<&[u8], Invalid> {
    match value.iter().position(|b| !b.is_ascii()) {
        None => Ok(value),
        Some(at) => Err(Invalid::at("not an IA5 (ASCII) string", at)),
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            None => f.write_str(self.reason),
            Some(at) => write!(f, "{} at byte {at}", self.reason),
        }
    }
}

impl std::error::Error for Invalid {}
