//! Millions of entries without the front door: LDIF import and export.

mod aside;
mod batch;
mod course;
mod export;
mod fields;
mod import;
mod operational;
pub mod remote;
mod report;
mod source;

pub use export::{Export, ExportError, Exported, export, filter};
pub use import::{Import, ldif};
pub use operational::Operational;
pub use report::{FAULTS_MAX, Fault, ImportError, OnReject, Progress, Summary, Tell};
pub use source::{Input, ReadSeek};
