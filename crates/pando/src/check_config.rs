//! `pando check-config`: every fault of a configuration file, without serving it.

use crate::failed::Failed;
use crate::output::{note, print};
use clap::Args as ClapArgs;
use server::config::{self, Fault};
use server::directory;
use std::path::{Path, PathBuf};

/// List every fault of a configuration file, with file, line and column.
///
/// Reads FILE as `pando serve --config FILE` would and prints one line for each fault: unknown keys with the nearest
/// known one, invalid values, settings that contradict each other, files that cannot be read, faults in schema files,
/// attributes that the schema does not have. Nothing is served and nothing is changed.
///
/// Syntaxes and matching rules that this server does not know are not faults: values of such a syntax are treated as
/// octet strings, and such a rule is ignored. Standard error lists them.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    /// The file to check
    #[arg(value_name = "FILE", required_unless_present = "template")]
    file: Option<PathBuf>,

    /// Print a file that explains every key, all of them commented out, and check nothing
    #[arg(long, conflicts_with = "file")]
    template: bool,
}

const AFTER: &str = "\
EXAMPLES:
  pando check-config pando.toml
  pando check-config --template > pando.toml

EXIT CODES:
  0  the file has no fault
  1  it has faults; they are on standard output
  2  the command line is wrong";

/// Runs it.
pub(crate) fn run(args: &Args) -> Result<(), Failed> {
    let Some(file) = &args.file else { return print(config::template()) };
    let faults = faults(file);
    let text: String = faults.iter().map(|fault| format!("{fault}\n")).collect();
    print(text)?;
    if faults.is_empty() { Ok(()) } else { Err(Failed::printed()) }
}

fn faults(file: &Path) -> Vec<Fault> {
    match config::read_file(file) {
        Err(fault) => vec![fault],
        Ok(read) => {
            let mut faults = read.faults.clone();
            let mut problems = read.config.problems();
            match directory::schema(&read.config) {
                Ok(schema) => {
                    directory::warnings(&schema).iter().for_each(|warning| note!("{warning}"));
                    problems.extend(directory::unknown_to_schema(&read.config, &schema));
                }
                // A file that cannot be read is among the problems already.
                Err(of_schema) => faults.extend(of_schema.into_iter().filter(|fault| fault.place.is_some())),
            }
            // What is there but bad is a fault already, and not missing.
            problems.retain(|problem| !problem.missing.is_some_and(|key| read.is_bad(key)));
            faults.extend(problems.iter().map(|problem| read.locate(problem)));
            // In the order of the lines, file by file; schema files come last.
            let own = Some(file.display().to_string());
            faults.sort_by_key(|fault| (fault.file != own, fault.file.clone(), fault.place));
            faults
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_both_kinds_are_listed() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("p.toml");
        std::fs::write(&file, "suffix = \"dc=com\"\nroot-dn = \"cn=admin\"\nthread = 2\n").unwrap();
        let found: Vec<String> = faults(&file).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains(":2:1: a root DN without"));
        assert!(found[1].contains(":3:1: unknown key `thread`; did you mean `threads`?"));
        assert!(faults(Path::new("/nowhere/p.toml"))[0].message.contains("cannot be read"));
    }
}
