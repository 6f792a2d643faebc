//! `pando load`: several streams of entries at the same time, into a data directory that nobody serves, or into a server
//! that runs.

use crate::fill::{self, Doing, Target};
use crate::output::note;
use clap::{Args as ClapArgs, ValueEnum};
use server::import::{Job, OnFault};
use std::path::PathBuf;
use std::process::ExitCode;

/// Fill a data directory, or a server that runs, from streams of adds that are read at the same time.
///
/// A stream is a file, a FIFO, or - for standard input. Its first byte tells what it is: LDIF (content records and
/// `changetype: add`), or BER adds one after the other, each a whole LDAPMessage with an AddRequest or an AddRequest alone;
/// other requests are faults, also the ModifyRequests in which `pando gen --format ber` has the members of a group that is too big for one
/// message: such groups come as LDIF.
/// Its end is the end of the file, or of its last writer; a FIFO that nobody writes to yet is waited for. Nothing is stored
/// on its way, and indexes are ready when the load ends.
///
/// Streams may depend on each other: an entry that comes before its superior, in whatever stream that is, waits for it, up to
/// 256 MiB of each FIFO. In which order entries come does not matter to the outcome. Sorted and subdivided order are the
/// fastest.
///
/// All entries are made in memory and become the directory's in one step at the end: whatever ends the load, all of them are
/// there or none. The directory is made if it is not there; one that has entries is filled with --add only. A directory that
/// is being served is filled with --url; there each add stands for itself: what was added stays.
#[derive(ClapArgs, Default)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    /// Files and FIFOs; - is standard input
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    /// So many of them are read at the same time, the others after those that end [default: all, at most 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    streams: Option<u16>,

    /// What a duplicate, an entry without a superior, or one that breaks the schema does: end the load, with nothing loaded;
    /// or be left out, the first 20 told of [default: stop; skip with --rejects]
    #[arg(long, value_name = "POLICY", value_enum)]
    on_error: Option<OnError>,

    /// Write what is left out to FILE as LDIF, each record below a comment with stream, byte and reason; put right, FILE can
    /// be loaded again
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,

    #[command(flatten)]
    target: Target,
}

/// What a record does of which no entry can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OnError {
    /// The load ends, and nothing is loaded
    Stop,
    /// It is left out, and the rest is loaded
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
  A fault is told as `PATH: byte N: DN: reason`, of LDIF as `PATH:LINE:1: byte N: DN: reason`. N counts from 0 and is
  where the record begins. A stream that ends inside an add, or that nobody can follow any further, ends the load
  with --on-error skip too: how much of it is lost is not known. LDIF that is cut off between two lines looks whole.

EXIT CODES:
  0  all was loaded
  1  nothing was loaded: a record has a fault, the directory has entries, is damaged or in use; or, where faults are
     skipped, all was loaded but those; with --url, what was added before the fault stays. What and where is on
     standard error
  2  the command line or the configuration is wrong, or a schema file is";

/// Runs it.
pub(crate) fn run(args: Args) -> ExitCode {
    let doing = Doing { command: "load", now: "loading", done: "loaded", tells_streams: true };
    let on_fault = match (args.on_error, args.rejects) {
        (Some(OnError::Stop), Some(_)) => {
            note!("pando load: --rejects is for --on-error skip: with stop nothing is left out");
            return ExitCode::from(2);
        }
        (_, Some(path)) => OnFault::Reject(path),
        (Some(OnError::Skip), None) => OnFault::Skip,
        (Some(OnError::Stop) | None, None) => OnFault::Stop,
    };
    let streams = args.streams.map_or(args.paths.len(), usize::from);
    let job = Job { files: args.paths, streams, on_fault, tells_bytes: true, ..Job::default() };
    fill::run(&args.target, doing, job)
}
