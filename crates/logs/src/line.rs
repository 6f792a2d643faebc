//! What lines of the access log are made of, whatever their form.

use crate::open::{Open, Pending};
use crate::record::Annotation;
use std::fmt::Debug;

/// The server whose operations they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Unix time in milliseconds at which it was started; it tells operations of one process from those of another.
    pub started_ms: u64,
    /// Number of its process.
    pub process: u32,
    /// Name of its machine.
    pub host: String,
    /// Its version.
    pub version: String,
}

/// A connection that has lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// Its number, from 1 on.
    pub(crate) connection: u64,
    pub(crate) open: &'a Open,
}

/// An operation that has lines: it is over, or its connection is.
#[derive(Debug)]
pub(crate) struct Operation<'a> {
    pub(crate) place: Place<'a>,
    pub(crate) pending: &'a Pending,
    /// None if it has no answer.
    pub(crate) outcome: Option<Outcome<'a>>,
    /// When it was over, in Unix milliseconds.
    pub(crate) ended_ms: u64,
    /// Of a bind: was the session somebody before it?
    pub(crate) was_bound: bool,
}

/// What came of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome<'a> {
    pub(crate) code: u16,
    pub(crate) text: &'a [u8],
    pub(crate) entries: u32,
    pub(crate) bytes: u64,
    /// Nanoseconds from the read that brought the request to the answer.
    pub(crate) ns: u64,
    pub(crate) annotation: Annotation<'a>,
}

/// What a form makes of what happens. Each appends whole lines, or nothing.
pub(crate) trait Lines: Debug + Send {
    /// What a file begins with, and what a start puts behind what is there.
    fn header(&self, out: &mut Vec<u8>);

    /// Does a connection begin with its first operation, since its line says whether it began with TLS?
    fn begins_late(&self) -> bool;

    /// A connection has begun, at the time that it keeps.
    fn begin(&self, place: Place<'_>, out: &mut Vec<u8>);

    /// A connection that has begun is secured by TLS.
    fn secured(&self, wall_ms: u64, place: Place<'_>, out: &mut Vec<u8>);

    /// An operation is over.
    fn operation(&self, operation: &Operation<'_>, out: &mut Vec<u8>);

    /// A connection is over that has begun.
    fn end(&self, wall_ms: u64, place: Place<'_>, out: &mut Vec<u8>);

    /// So many records were lost, because they came faster than lines are written.
    fn lost(&self, wall_ms: u64, count: u64, out: &mut Vec<u8>);
}
