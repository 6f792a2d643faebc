//! `pando load`: several streams of entries at the same time, into a data directory that nobody serves, or into a server
//! that runs.

use crate::failed::Failed;
use crate::fill::{self, Doing, Target};
use clap::{Args as ClapArgs, ValueEnum};
use server::import::{Job, OnFault};
use std::path::PathBuf;

/// Fill a data directory, or a running server, from streams of adds that are read at the same time.
///
/// A stream is a file, a FIFO, or - for standard input. Its first byte decides which format it has: LDIF (content
/// records and `changetype: add`), or BER adds one after the other, each an LDAPMessage with an AddRequest or an
/// AddRequest alone. Other requests are faults. This includes the ModifyRequests in which `pando gen --format ber`
/// has the members of a group that is too big for one message: load such groups as LDIF.
///
/// A stream ends with the file, or with the last writer of a FIFO; a FIFO without a writer is waited for. Data goes
/// straight to memory, and indexes are ready when the load ends.
///
/// Streams may depend on each other: an entry that comes before its superior waits for it, whatever stream has the
/// superior, up to 256 MiB of each FIFO. The order of entries does not change the result. Sorted and subdivided order
/// are the fastest.
///
/// All entries are made in memory and added to the directory in one step at the end: if the load fails, none of them
/// is there. The directory is created if missing. A directory that has entries is changed only with --add. A
/// directory that is being served is filled with --url; there each add is independent, and what was added remains.
#[derive(ClapArgs, Default)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    /// Files and FIFOs; - is standard input
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    /// Streams that are read at the same time; the others follow as these end [default: all, at most 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    streams: Option<u16>,

    /// What to do with a duplicate, an entry without a superior, or one that violates the schema: stop, with nothing
    /// loaded; or skip it, and report the first 20 [default: stop; skip with --rejects]
    #[arg(long, value_name = "POLICY", value_enum)]
    on_error: Option<OnError>,

    /// Write skipped records to FILE as LDIF, each below a comment with stream, byte and reason. After correction
    /// FILE can be loaded again
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,

    #[command(flatten)]
    target: Target,
}

/// What a record does of which no entry can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OnError {
    /// Stop the load; nothing is loaded
    Stop,
    /// Skip the record and load the rest
    Skip,
}

const AFTER: &str = "\
EXAMPLES:
  Four FIFOs, filled by a generator while they are read:
    mkfifo f-0 f-1 f-2 f-3
    pando gen --template dvtds --suffix dc=com --count 4000000 --order subdivided --format ber \\
        --streams 4 -o f-%d &
    pando load --schema dvtds --data dvtds.pando --suffix dc=com f-0 f-1 f-2 f-3

  An export in four files, what does not fit is looked at later:
    pando load --data people.pando --suffix dc=example,dc=com --rejects rejects.ldif part-*.ldif

  The same while it is served:
    pando load --url ldap://127.0.0.1:3389 --bind-dn cn=admin,dc=example,dc=com --password-file root.password \\
        part-*.ldif

FAULTS:
  A fault is reported as `PATH: byte N: DN: reason`, of LDIF as `PATH:LINE:1: byte N: DN: reason`. N counts from 0 and is
  where the record begins. A stream that ends inside an add, or that nobody can follow any further, ends the load
  with --on-error skip too: how much of it is lost is not known. LDIF that is cut off between two lines looks whole.

EXIT CODES:
  0  all was loaded
  1  nothing was loaded: a record has a fault, the directory has entries, is damaged or in use; or, where faults are
     skipped, all was loaded but those; with --url, what was added before the fault stays. What and where is on
     standard error
  2  the command line or the configuration is wrong, or a schema file is";

/// Runs it.
pub(crate) fn run(args: Args) -> Result<(), Failed> {
    let doing = Doing { command: "load", now: "loading", done: "loaded", tells_streams: true };
    let on_fault = match (args.on_error, args.rejects) {
        (Some(OnError::Stop), Some(_)) => {
            let text = "--rejects is for --on-error skip: with stop nothing is left out";
            return Err(Failed::usage(text));
        }
        (_, Some(path)) => OnFault::Reject(path),
        (Some(OnError::Skip), None) => OnFault::Skip,
        (Some(OnError::Stop) | None, None) => OnFault::Stop,
    };
    let streams = args.streams.map_or(args.paths.len(), usize::from);
    let job = Job { files: args.paths, streams, on_fault, tells_bytes: true, ..Job::default() };
    fill::run(&args.target, doing, job)
}
