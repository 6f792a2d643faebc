//! Why a subcommand did nothing, or not all of it.

use crate::output::note;
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

    /// The command line is wrong.
    pub(crate) fn usage(fault: impl ToString) -> Failed {
        Failed { code: 2, ..Failed::of(fault) }
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
