//! Why a subcommand did nothing, or not all of it.

use crate::output::note;
use std::fmt::Display;
use std::process::ExitCode;

/// What is reported on standard error, and the exit code.
pub(crate) struct Failed {
    pub(crate) code: u8,
    pub(crate) faults: Vec<String>,
}

impl Failed {
    /// For one reason that is not in the command line.
    pub(crate) fn of(fault: impl ToString) -> Failed {
        Failed { code: 1, faults: vec![fault.to_string()] }
    }

    /// For reasons that are not in the command line.
    pub(crate) fn all(faults: impl IntoIterator<Item = impl ToString>) -> Failed {
        Failed { code: 1, ..Failed::configured(faults) }
    }

    /// For one reason, and what it is about.
    pub(crate) fn at(what: impl Display, why: impl Display) -> Failed {
        Failed::of(format!("{what}: {why}"))
    }

    /// The command line is wrong.
    pub(crate) fn usage(fault: impl ToString) -> Failed {
        Failed::configured([fault])
    }

    /// The command line or the configuration is wrong.
    pub(crate) fn configured(faults: impl IntoIterator<Item = impl ToString>) -> Failed {
        Failed { code: 2, faults: faults.into_iter().map(|fault| fault.to_string()).collect() }
    }

    /// The configuration is wrong, for one reason.
    pub(crate) fn configured_one(fault: impl ToString) -> Failed {
        Failed::configured([fault])
    }

    /// What is wrong was printed already.
    pub(crate) fn printed() -> Failed {
        Failed { code: 1, faults: Vec::new() }
    }

    /// Nothing failed if there is no reason.
    pub(crate) fn if_any(self) -> Result<(), Failed> {
        if self.faults.is_empty() { Ok(()) } else { Err(self) }
    }

    /// Tells what came of a subcommand.
    pub(crate) fn exit(done: Result<(), Failed>, command: &str) -> ExitCode {
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(Failed { code, faults }) => {
                faults.iter().for_each(|fault| note!("pando {command}: {fault}"));
                ExitCode::from(code)
            }
        }
    }
}
