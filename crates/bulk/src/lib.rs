//! Millions of entries without the front door: import of LDIF and BER adds, export of LDIF.

mod batch;
mod deferred;
mod export;
mod fields;
mod import;
mod import_state;
mod operational;
mod record;
pub mod remote;
mod report;
mod source;
mod streams;
mod words;

pub use export::{Export, ExportError, Exported, export, filter};
pub use import::{Import, import};
pub use operational::Operational;
pub use report::{
    Callbacks, FAULTS_MAX, Fault, ImportError, OnProgress, OnReject, Progress, ProgressReport, Summary,
};
pub use source::{Input, ReadSeek};
pub use words::Passwords;
