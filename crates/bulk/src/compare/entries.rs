//! The two servers of a comparison, and how their entries are read.

use client::ClientError;
use proto::list::Attributes;
use std::fmt;

/// One of the two servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that is named first.
    First,
    /// The other one.
    Second,
}

/// Where entries come from.
pub trait Entries {
    /// Hands out all entries, with their attributes, or for `names_only` without. False if there is nothing to begin at.
    ///
    /// # Errors
    /// When they cannot be read.
    fn each(
        &mut self,
        names_only: bool,
        each: &mut dyn FnMut(&[u8], Attributes<'_>),
    ) -> Result<bool, ClientError>;

    /// One entry, as the list of its attributes; `None` if there is none.
    ///
    /// # Errors
    /// When it cannot be read.
    fn read(&mut self, dn: &[u8]) -> Result<Option<Vec<u8>>, ClientError>;
}

/// Why two servers cannot be compared.
#[derive(Debug)]
pub enum CompareError {
    /// What one of them, or the network, says.
    Client(Side, ClientError),
    /// Neither has the base.
    NoBase,
}

impl fmt::Display for CompareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompareError::Client(Side::First, error) => write!(f, "server 1: {error}"),
            CompareError::Client(Side::Second, error) => write!(f, "server 2: {error}"),
            CompareError::NoBase => f.write_str("neither server has the base"),
        }
    }
}

impl std::error::Error for CompareError {}
