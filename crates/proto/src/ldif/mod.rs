//! LDIF (RFC 2849, increment RFC 4525): a reader that borrows values where they stand on one line, and a
//! writer. Sans-IO: the caller brings the bytes of whole records.
//!
//! More is accepted than the RFC allows where real files need it: UTF-8 that is not base64, values that end
//! with a space, any version line or none, a modification that ends without `-` at the end of its record.

mod line;
mod parser;
mod record;
mod write;

pub use parser::Parser;
pub use record::{
    Body, Line, Lines, Modification, Modifications, Record, RecordControl, RecordControls, Value,
};
pub use write::{FOLD_COLUMNS, put_base64, write_attribute, write_attribute_folded, write_control, write_dn};

use std::fmt;

/// Bytes of one record, as it stands in the file: 1 GiB.
pub const RECORD_BYTES_MAX: usize = 1 << 30;

/// What is wrong, on which line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LdifError {
    /// Line of the file, from 1; where a folded line begins.
    pub line: u64,
    /// What is wrong there.
    pub reason: &'static str,
}

impl fmt::Display for LdifError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for LdifError {}

#[cfg(test)]
mod tests;
