//! `pando restore`: makes a data directory of a backup.

use crate::failed::Failed;
use crate::output::note;
use crate::progress::CopyBar;
use crate::serve_data::no_folder_above;
use clap::Args as ClapArgs;
use env::disk::{Disk, RealDisk};
use env::entropy::SystemEntropy;
use node::data::backup::{self, Restored, Until};
use std::path::PathBuf;
use std::sync::Arc;

/// Make a data directory from a backup, at the time of the backup or at a later point in time.
///
/// Takes the last backup in --from, or the last one before the given point. With a point, or with --archive, the log
/// of later backups and of the archive is added: every command up to the point, and none after it. A gap is an error
/// that names what is missing. An import, or a start with another schema, suffix or schema-check, cannot be passed:
/// use a backup that was taken after it.
///
/// Of a backup of a node of a cluster it makes the directory of a server by itself, with what was committed:
/// `pando serve --peer ... --init-cluster` makes the first node of a new cluster of it. The log that is added must be of the
/// same node.
///
/// Existing files are not touched: --data must not exist, or be empty. The new directory is assembled beside it, in a
/// folder whose name ends in `.restoring`; it gets its name after every checksum was verified. A restore that was
/// killed can be started again. Serve the directory with the settings that it had; the first start replays the log.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    /// The folder of backups, or one backup in it
    #[arg(long, value_name = "BACKUPS")]
    from: PathBuf,

    /// A folder that `pando serve --archive` fills, or the `log` folder of a lost server's data directory; may be
    /// repeated
    #[arg(long, value_name = "DIR")]
    archive: Vec<PathBuf>,

    /// Leave out changes after this time, such as 2026-11-21T10:00:00Z
    #[arg(long, value_name = "TIME", value_parser = Until::time, conflicts_with = "to_sequence")]
    to_time: Option<u64>,

    /// Leave out changes after this record of the log, or after a command in it, such as 812 or 812.3; `pando dump`
    /// names them
    #[arg(long, value_name = "N", value_parser = Until::sequence)]
    to_sequence: Option<Until>,

    /// The data directory to make
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

const AFTER: &str = "\
EXAMPLES:
  The last backup:
    pando restore --from /mnt/backups --data /var/lib/pando

  The directory as it was before somebody deleted a subtree at ten. The server goes on; a backup of now brings the log
  that no archive has yet:
    pando backup --data /var/lib/pando --to /mnt/backups
    pando restore --from /mnt/backups --archive /mnt/archive --to-time 2026-11-21T10:00:00Z --data /var/lib/pando.ten
    pando check --data /var/lib/pando.ten

EXIT CODES:
  0  it is whole and durable
  1  it is not: damage, no room, something missing, --data not empty; what and where is on standard error
  2  the command line is wrong";

/// Runs it.
pub(crate) fn run(args: &Args) -> Result<(), Failed> {
    env::host::raise_descriptor_limit();
    if let Some(text) = no_folder_above(&args.data) {
        return Err(Failed::at("--data", text));
    }
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let until = match (args.to_time, args.to_sequence) {
        (Some(ms), _) => Until::Time(ms),
        (None, Some(until)) => until,
        (None, None) => Until::End,
    };
    let mut bar = CopyBar::new("restoring");
    let mut on_bytes = |done, all| bar.show(done, all);
    let (from, archives) = (&args.from, &args.archive);
    let restored =
        backup::restore(&disk, from, archives, until, &args.data, &mut SystemEntropy, &mut on_bytes);
    drop(bar);
    tell(&restored.map_err(Failed::of)?, until);
    Ok(())
}

fn tell(restored: &Restored, until: Until) {
    let generation = restored.generation.name();
    note!("of backup {generation}: up to record {}, {} of them in the log", restored.last, restored.records);
    if let Some(ms) = restored.last_ms {
        note!("the last change was given at {}", model::timestamp(ms));
    }
    if restored.uncommitted > 0 {
        note!("{} entries of the node's log may not be committed; they are left out", restored.uncommitted);
    }
    if matches!(until, Until::Time(_)) && !restored.goes_on {
        note!(
            "no later change is in backups and archive: if there were any, they are not in the archive yet"
        );
    }
}
