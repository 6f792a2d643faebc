//! Millions of entries without the front door: LDIF import and export.

mod aside;
mod batch;
mod export;
mod fields;
mod import;
mod operational;
pub mod remote;
mod source;

pub use export::{Export, ExportError, Exported, export, filter};
pub use import::{FAULTS_MAX, Fault, Import, ImportError, OnReject, Progress, Summary, Tell, ldif};
pub use operational::Operational;
pub use source::{Input, ReadSeek};
