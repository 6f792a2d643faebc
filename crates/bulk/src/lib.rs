//! Millions of entries without the front door: LDIF import.

mod aside;
mod batch;
mod fields;
mod import;
mod source;

pub use import::{FAULTS_MAX, Fault, Import, ImportError, Operational, Progress, Summary, ldif};
pub use source::{Input, ReadSeek};
