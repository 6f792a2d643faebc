//! Millions of entries without the front door: import of LDIF and BER adds, export of LDIF, comparison of two servers.

pub mod active_directory;
mod batch;
pub mod compare;
mod deferred;
mod export;
mod fields;
mod import;
mod import_state;
mod operational;
mod password_history;
mod record;
pub mod remote;
mod report;
mod source;
mod source_configuration;
mod source_indexes;
mod source_rest;
mod streams;
mod survey;
mod words;

pub use export::{Export, ExportError, Exported, export, filter};
pub use import::{Import, import};
pub use operational::Operational;
pub use report::{
    Callbacks, FAULTS_MAX, Fault, ImportError, OnProgress, OnReject, Progress, ProgressReport, Summary,
};
pub use source::{Input, ReadSeek};
pub use source_configuration::Configuration;
pub use source_indexes::{ProposedIndexes, proposed_indexes};
pub use source_rest::{SourceRest, source_rest};
pub use survey::{Definition, Fate, Missing, Survey, survey};
pub use words::Passwords;
