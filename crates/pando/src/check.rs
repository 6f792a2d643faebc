//! `pando check`: looks through a data directory.

use crate::failed::Failed;
use crate::output::{note, print};
use clap::Args as ClapArgs;
use env::disk::RealDisk;
use node::data::{Data, Examined};
use schema::Schema;
use server::config::Config;
use server::directory::{self, IndexKind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Findings that are reported.
const FINDINGS_MAX: usize = 100;

/// Verify a data directory that is not being served.
///
/// Verifies every checksum of snapshot and log, replays the log after the snapshot in memory, and checks every entry,
/// name, value set and count of the result. Nothing is changed on the disk. A torn end of the log, as a power failure
/// leaves it, is reported and is not a fault.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    /// The data directory
    #[arg(long, value_name = "DIR")]
    data: PathBuf,

    /// The schema that the directory is served with, beyond the standard one: files, or names of built-in schemas
    #[arg(long, value_name = "FILE", num_args = 1..)]
    schema: Vec<String>,

    /// An index to build and compare with the entries, as `pando serve --index` has it; may be repeated. Indexes that
    /// were made while the directory was served are always compared
    #[arg(long, value_name = IndexKind::FORM)]
    index: Vec<String>,
}

const AFTER: &str = "\
EXAMPLES:
  pando check --data /var/lib/pando
  pando check --data people.pando --schema dvtds --index uid:eq --index cn:eq,sub

EXIT CODES:
  0  no faults
  1  the directory is damaged, in use, or inconsistent; standard error has the place and the reason
  2  the command line is wrong, or a schema file is";

/// Runs it.
pub(crate) fn run(args: Args) -> ExitCode {
    let (config, schema) = match prepared(&args) {
        Ok(prepared) => prepared,
        Err(faults) => {
            faults.iter().for_each(|fault| note!("pando check: {fault}"));
            return ExitCode::from(2);
        }
    };
    let indexes = config.indexes.clone();
    let examined = Data::existing(Arc::new(RealDisk), &args.data)
        .and_then(|data| data.examine(schema, indexes, config.memory_bytes_max(), FINDINGS_MAX));
    match examined {
        Ok(examined) => {
            let printed = Failed::exit(print(text(&examined)), "check");
            examined.findings.iter().for_each(|finding| note!("pando check: {finding}"));
            if examined.findings.is_empty() { printed } else { ExitCode::FAILURE }
        }
        Err(error) => {
            note!("pando check: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The settings that were given, and the schema; or every fault of them.
fn prepared(args: &Args) -> Result<(Config, Arc<Schema>), Vec<String>> {
    let mut config = Config { schema: args.schema.clone(), ..Config::default() };
    let of_index = |what: String| format!("--index: {what}");
    if !args.index.is_empty() {
        config.set("index", &args.index).map_err(|bad| bad.into_iter().map(of_index).collect::<Vec<_>>())?;
    }
    let schema = directory::schema(&config);
    let schema = schema.map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    let unknown = directory::unknown_to_schema(&config, &schema);
    match unknown.is_empty() {
        true => Ok((config, Arc::new(schema))),
        false => Err(unknown.into_iter().map(|problem| of_index(problem.message)).collect()),
    }
}

/// The outcome in lines.
fn text(examined: &Examined) -> String {
    let mut lines = Vec::new();
    lines.push(match examined.snapshot {
        Some(index) => {
            let mb = examined.snapshot_bytes as f64 / 1e6;
            format!("snapshot   whole, {mb:.1} MB, up to record {index}")
        }
        None => "snapshot   none yet".to_owned(),
    });
    lines.push(match examined.log.and_then(|log| log.indexes) {
        Some((first, next)) if next > first => {
            format!("log        whole, records {first} to {}", next.0 - 1)
        }
        _ => "log        no records".to_owned(),
    });
    if let Some(log) = examined.log.filter(|log| log.torn > 0) {
        lines.push(format!("           torn end after {}: the last end was no clean one", log.end));
    }
    lines.push(match examined.findings.len() {
        0 => format!("directory  {} entries, all as it should be", examined.entries),
        count => format!("directory  {} entries, {count} findings", examined.entries),
    });
    lines.join("\n") + "\n"
}
