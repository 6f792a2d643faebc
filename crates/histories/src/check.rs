//! `pando-histories check`, and what both subcommands say of a history.

use clap::{Args as ClapArgs, ValueEnum};
use histories::{History, Outcome, Verdict, history, lists, registers, transfers};
use std::path::PathBuf;
use std::process::ExitCode;

/// Steps of the search for an order of the operations on a register.
const STEPS_MAX: u64 = 50_000_000;

/// Check recorded histories.
///
/// A file has one event a line, as docs/testing.md tells.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    /// What the files tell of
    #[arg(long, value_enum)]
    of: Kind,

    /// The sum of all accounts, for transfers
    #[arg(long, default_value_t = 0)]
    total: i64,

    /// The files
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

const AFTER: &str = "\
EXAMPLES:
  pando-histories check --of registers target/histories/registers.jsonl
  pando-histories check --of transfers --total 600 transfers.jsonl

EXIT CODES:
  0  there is an order that explains all
  1  there is none: what is wrong is on standard output
  2  the command line is wrong, or a file is no history
  3  the search was given up";

/// What a history tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Registers: linearizable, each for itself
    Registers,
    /// Transactions on lists: strict serialisable
    Lists,
    /// Transfers: every scan has the same sum, balances are what transfers make
    Transfers,
}

impl Kind {
    /// What the check says.
    pub(crate) fn check(self, history: &History, total: i64) -> Verdict {
        match self {
            Kind::Registers => registers::check(history, STEPS_MAX),
            Kind::Lists => lists::check(history),
            Kind::Transfers => transfers::check(history, total),
        }
    }

    /// Its name in files and on lines.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Registers => "registers",
            Kind::Lists => "lists",
            Kind::Transfers => "transfers",
        }
    }
}

/// Runs it.
pub(crate) fn run(args: Args) -> ExitCode {
    let mut worst = 0;
    for path in &args.files {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("{}: {error}", path.display());
                return ExitCode::from(2);
            }
        };
        let history = match history::parse(&text).and_then(History::of) {
            Ok(history) => history,
            Err(error) => {
                eprintln!("{}: {error}", path.display());
                return ExitCode::from(2);
            }
        };
        let verdict = args.of.check(&history, args.total);
        println!("{}: {}: {verdict}", path.display(), counts(&history));
        worst = worse(worst, code(&verdict));
    }
    ExitCode::from(worst)
}

/// The worse of two exit codes: that something is broken is worse than no answer.
pub(crate) fn worse(one: u8, other: u8) -> u8 {
    if one == 1 || other == 1 { 1 } else { one.max(other) }
}

/// Exit code of a verdict.
pub(crate) fn code(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Holds => 0,
        Verdict::Broken(_) => 1,
        Verdict::GaveUp(_) => 3,
    }
}

/// How many operations there are, and how they came out.
pub(crate) fn counts(history: &History) -> String {
    let count = |outcome| history.operations.iter().filter(|operation| operation.outcome == outcome).count();
    let [ok, failed, unknown] = [Outcome::Ok, Outcome::Fail, Outcome::Unknown].map(count);
    format!("{} operations, {ok} ok, {failed} failed, {unknown} unknown", history.operations.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_broken_is_worst() {
        for (one, other, worst) in [(0, 0, 0), (0, 3, 3), (3, 1, 1), (1, 3, 1), (0, 1, 1)] {
            assert_eq!((worse(one, other), worse(other, one)), (worst, worst));
        }
    }
}
