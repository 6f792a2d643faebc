//! `pando check`: looks through a data directory.

use clap::Args as ClapArgs;
use env::disk::RealDisk;
use server::config::Config;
use server::data::{Data, Examined};
use server::directory;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Findings that are told.
const FINDINGS_MAX: usize = 100;

/// Look through a data directory that nobody serves.
///
/// Every checksum of snapshot and log is compared, the log is carried out behind the snapshot in memory, and every entry,
/// name, value set and count of the outcome is checked. Nothing is changed on the disk. A torn end of the log, as a power
/// failure leaves it, is told and is no fault.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    /// The data directory
    #[arg(long, value_name = "DIR")]
    data: PathBuf,

    /// The schema that it is served with, beyond the standard one: files, or names of built-in schemas
    #[arg(long, value_name = "FILE", num_args = 1..)]
    schema: Vec<String>,
}

const AFTER: &str = "\
EXAMPLES:
  pando check --data /var/lib/pando
  pando check --data people.pando --schema dvtds

EXIT CODES:
  0  all is well
  1  it is damaged, in use, or not what it should be; what and where is on standard error
  2  the command line is wrong, or a schema file is";

/// Runs it.
pub(crate) fn run(args: Args) -> ExitCode {
    let config = Config { schema: args.schema.clone(), ..Config::default() };
    let schema = match directory::schema(&config) {
        Ok(schema) => Arc::new(schema),
        Err(faults) => {
            faults.iter().for_each(|fault| eprintln!("pando check: {fault}"));
            return ExitCode::from(2);
        }
    };
    let examined = Data::existing(Arc::new(RealDisk), &args.data)
        .and_then(|data| data.examine(schema, config.memory_bytes_max(), FINDINGS_MAX));
    match examined {
        Ok(examined) => {
            tell(&examined);
            examined.findings.iter().for_each(|finding| eprintln!("pando check: {finding}"));
            if examined.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("pando check: {error}");
            ExitCode::FAILURE
        }
    }
}

fn tell(examined: &Examined) {
    match examined.snapshot {
        Some(index) => {
            println!("snapshot   whole, {:.1} MB, up to record {index}", examined.snapshot_bytes as f64 / 1e6)
        }
        None => println!("snapshot   none yet"),
    }
    let indexes = examined.log.and_then(|log| log.indexes);
    match indexes {
        Some((first, next)) if next > first => {
            println!("log        whole, records {first} to {}", next.0 - 1);
        }
        _ => println!("log        no records"),
    }
    if let Some(log) = examined.log.filter(|log| log.torn > 0) {
        println!("           torn end after {}: the last end was no clean one", log.end);
    }
    match examined.findings.len() {
        0 => println!("directory  {} entries, all as it should be", examined.entries),
        count => println!("directory  {} entries, {count} findings", examined.entries),
    }
}
