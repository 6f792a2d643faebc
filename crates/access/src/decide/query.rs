//! A question, and why a rule does not answer it.

use crate::right::Right;
use crate::rule::Operation;
use crate::world::Entry;

/// What of an entry is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'q> {
    /// The entry as a whole.
    Entry,
    /// An attribute.
    Attribute(&'q str),
    /// A value of an attribute.
    Value(&'q str, &'q [u8]),
    /// No entry, but a control.
    Control(&'q str),
    /// No entry, but an extended operation.
    Extended(&'q str),
}

/// A question.
#[derive(Clone, Copy, Debug)]
pub struct Query<'q> {
    /// In which operation.
    pub operation: Operation,
    /// About which entry: as it is, or of an add as it would be.
    pub entry: &'q Entry,
    /// About what of it.
    pub item: Item<'q>,
    /// About which right.
    pub right: Right,
}

/// What of a rule does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The key.
    pub key: String,
    /// Which subject has it, from 0, if it is the key of one.
    pub subject: Option<usize>,
    /// It could not be evaluated, which is not enough for a rule that allows.
    pub undefined: bool,
}

impl Failure {
    pub(super) fn of_target(key: &str) -> Failure {
        Failure { key: key.to_owned(), subject: None, undefined: false }
    }
}
