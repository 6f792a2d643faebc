//! `pando check`: looks through a data directory.

use crate::failed::Failed;
use crate::local;
use crate::output::print;
use clap::Args as ClapArgs;
use node::data::{Examined, LogRead};
use server::config::{Config, Problem};
use server::directory::{self, IndexKind};
use std::path::PathBuf;

/// Findings that are reported.
const FINDINGS_MAX: usize = 100;

/// Verify a data directory that is not being served.
///
/// Verifies every checksum of snapshot and log, replays the log after the snapshot in memory, and checks every entry,
/// name, value set and count of the result. Nothing is changed on the disk. A torn end of the log, as a power failure
/// leaves it, is reported and is not a fault. Entries of a node of a cluster that may not be committed are left out and reported.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    /// The data directory
    #[arg(long, value_name = "DIR")]
    data: PathBuf,

    /// The schema beyond the standard one, if it is to be another than the directory is served with: files, or names of
    /// built-in schemas
    #[arg(long, value_name = "FILE", num_args = 1..)]
    schema: Vec<String>,

    /// An index to build and compare with the entries, as `pando serve --index` has it; may be repeated. Indexes that
    /// were made while the directory was served are always compared
    #[arg(long, value_name = IndexKind::FORM)]
    index: Vec<String>,

    /// Also look whether all entries satisfy the constraints that are in force; each needs its indexes, by --index if the
    /// configuration file has them
    #[arg(long)]
    constraints: bool,
}

const AFTER: &str = "\
EXAMPLES:
  pando check --data /var/lib/pando
  pando check --data people.pando --schema dvtds --index uid:eq --index cn:eq,sub
  pando check --data restored --constraints --index mail:eq

EXIT CODES:
  0  no faults
  1  the directory is damaged, in use, or inconsistent, or entries violate constraints; standard error has the place and
     the reason
  2  the command line is wrong, or a schema file is";

/// Runs it.
pub(crate) fn run(args: &Args) -> Result<(), Failed> {
    let mut config = Config::default();
    for (key, values) in [("schema", &args.schema), ("index", &args.index)] {
        if !values.is_empty() {
            let of_flag = |what: String| format!("--{key}: {what}");
            let set = config.set(key, values);
            set.map_err(|bad| Failed::configured(bad.into_iter().map(of_flag)))?;
        }
    }
    let (data, schema) = local::open(&args.data, &mut config)?;
    let unknown = directory::unknown_to_schema(&config, &schema);
    let fault = |problem: Problem| format!("--{}: {}", problem.key, problem.message);
    Failed::configured(unknown.into_iter().map(fault)).if_any()?;
    let examined = data.examine(
        schema,
        config.indexes.clone(),
        config.memory_bytes_max(),
        FINDINGS_MAX,
        args.constraints,
    );
    let examined = examined.map_err(Failed::of)?;
    print(text(&examined))?;
    Failed::all(&examined.findings).if_any()
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
    let LogRead { found, uncommitted } = examined.log;
    lines.push(match found.and_then(|log| log.indexes) {
        Some((first, next)) if next > first => {
            format!("log        whole, records {first} to {}", next.0 - 1)
        }
        _ => "log        no records".to_owned(),
    });
    if let Some(log) = found.filter(|log| log.torn > 0) {
        lines.push(format!("           torn end after {}: the last end was no clean one", log.end));
    }
    if uncommitted > 0 {
        lines.push(format!("           {}", local::left_out(uncommitted)));
    }
    lines.push(match examined.findings.len() {
        0 => format!("directory  {} entries, all as it should be", examined.entries),
        count => format!("directory  {} entries, {count} findings", examined.entries),
    });
    lines.join("\n") + "\n"
}
