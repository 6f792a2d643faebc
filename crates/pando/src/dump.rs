//! `pando dump`: what a data directory holds, to be read by people.

use crate::failed::Failed;
use crate::local;
use clap::Args as ClapArgs;
use env::disk::RealDisk;
use node::data::{Data, DataError, LogRead, dump};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes that are written at once.
const PIECE_BYTES: usize = 1 << 20;

/// Print the log of a data directory that is not being served, as LDIF change records.
///
/// A comment before each command has the number of the record, its place, its time, the client's name and the ids of
/// new entries. Files of the snapshot are listed first, as comments; log records that the snapshot replaced may be
/// gone. Updates are printed as clients sent them, also those that were refused, and with their passwords. Nothing is
/// changed on the disk.
///
/// Of a node of a cluster, entries behind the snapshot that are known to be committed are printed.
///
/// Controls are printed as `control:` lines (RFC 2849), which ldapmodify sends: an update with an assertion is
/// refused again where the assertion is false. Only the transaction specification control is left out. `pando import`
/// accepts adds only, and none with a critical control.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    /// The data directory
    #[arg(long, value_name = "DIR")]
    data: PathBuf,

    /// The first record to print
    #[arg(long, value_name = "N", default_value_t = 1)]
    from: u64,
}

const AFTER: &str = "\
EXAMPLES:
  pando dump --data /var/lib/pando | less
  pando dump --data /var/lib/pando --from 120000 > changes.ldif

EXIT CODES:
  0  the whole log was printed
  1  the directory is damaged or in use; standard error has the place and the reason
  2  the command line is wrong";

/// Runs it.
pub(crate) fn run(args: &Args) -> Result<(), Failed> {
    match print(args, &mut io::stdout().lock()) {
        // Who reads has enough.
        Err(DataError::Disk(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done.map_err(Failed::of),
    }
}

fn print(args: &Args, to: &mut dyn Write) -> Result<(), DataError> {
    let data = Data::existing(Arc::new(RealDisk), &args.data)?;
    match data.contents()? {
        Some(contents) => {
            writeln!(to, "# snapshot up to record {}", contents.index)?;
            for file in contents.files {
                writeln!(to, "#   {} with {} bytes", file.id.name(), file.bytes)?;
            }
            writeln!(to)?;
        }
        None => writeln!(to, "# no snapshot\n")?,
    }
    let group = data.group()?;
    let (mut out, mut failed) = (Vec::new(), None);
    let read = data.read_log(&mut |record| {
        if record.index.0 < args.from {
            return Ok(());
        }
        dump::write(group, record, &mut out)?;
        if out.len() >= PIECE_BYTES {
            let written = to.write_all(&out);
            out.clear();
            written.map_err(|error| failed.insert(error).to_string())?;
        }
        Ok(())
    });
    if let Some(error) = failed {
        return Err(error.into());
    }
    // What comes before damage is printed too.
    to.write_all(&out)?;
    let LogRead { found, uncommitted } = read?;
    if let Some(log) = found.filter(|log| log.torn > 0) {
        writeln!(to, "# torn end after {}: the last end was no clean one", log.end)?;
    }
    if uncommitted > 0 {
        writeln!(to, "# {}", local::left_out(uncommitted))?;
    }
    Ok(())
}
