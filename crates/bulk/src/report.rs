//! Reports of an import: its progress, its faults, its result.

use std::fmt;
use std::io;
use std::sync::atomic::AtomicBool;

/// Faults after which an import gives up.
pub const FAULTS_MAX: usize = 20;

/// Progress of an import, or of one of its inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Entries stored.
    pub entries: u64,
    /// Bytes read, each counted once.
    pub bytes: u64,
}

/// The progress of an import, in all and of each input.
#[derive(Clone, Copy, Debug)]
pub struct ProgressReport<'p> {
    /// Of all inputs together.
    pub total: Progress,
    /// Each input, in their order.
    pub inputs: &'p [Progress],
}

/// What an import did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Entries stored.
    pub entries: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Entries that came before their superior.
    pub deferred_count: u64,
    /// Records that were not stored but handed out.
    pub rejected: u64,
}

/// One thing that is wrong with the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Number of the input, from 0.
    pub input: usize,
    /// Line of the input, from 1; 0 if it is about no line, or the input is BER.
    pub line: u64,
    /// Byte of the input, from 0, at which the record begins that it is about.
    pub offset: u64,
    /// DN of the entry, if it is about one; long ones are cut.
    pub dn: Option<String>,
    /// What is wrong.
    pub reason: String,
}

impl Fault {
    pub(crate) fn at(line: u64, reason: impl Into<String>) -> Fault {
        Fault { input: 0, line, offset: 0, dn: None, reason: reason.into() }
    }

    pub(crate) fn of(line: u64, dn: &[u8], reason: impl Into<String>) -> Fault {
        Fault::at(line, reason).with_dn(dn)
    }

    pub(crate) fn with_dn(self, dn: &[u8]) -> Fault {
        Fault { dn: Some(String::from_utf8_lossy(&dn[..dn.len().min(1024)]).into_owned()), ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line != 0 {
            write!(f, "{}: ", self.line)?;
        }
        match &self.dn {
            Some(dn) => write!(f, "{dn}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

/// Takes a record that cannot be stored: what is wrong, and its text as LDIF.
pub type OnReject<'r> = &'r mut dyn FnMut(&Fault, &[u8]) -> io::Result<()>;

/// Called with the progress of an import.
pub type OnProgress<'p> = &'p mut dyn FnMut(ProgressReport<'_>);

/// Callbacks of an import, and the flag that ends it.
pub struct Callbacks<'t> {
    /// Called after every piece.
    pub on_progress: OnProgress<'t>,
    /// Takes the records that cannot be stored; without it they make the import fail.
    pub on_reject: Option<OnReject<'t>>,
    /// Set when nothing more is going to be read: an input that waits for bytes need not wait on.
    pub is_over: &'t AtomicBool,
}

/// An import that failed. Entries that it had stored remain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// What is wrong, in order of input and line: 1 to [`FAULTS_MAX`] faults.
    pub faults: Vec<Fault>,
    /// What was done before it failed.
    pub done: Progress,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.faults.iter().try_for_each(|fault| writeln!(f, "{fault}"))?;
        write!(f, "{} entries were stored before", self.done.entries)
    }
}

impl std::error::Error for ImportError {}
