//! `pando backup`: copies a data directory, served or not.

use crate::cluster;
use crate::failed::Failed;
use crate::output::{note, print};
use crate::progress::CopyBar;
use crate::serve_cluster::is_node;
use clap::Args as ClapArgs;
use env::clock::{Clock, SystemClock};
use env::disk::{Disk, RealDisk};
use node::data::{
    self,
    backup::{self, TakenBackup},
};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Copy a data directory, while it is served or not.
///
/// Every change that was acknowledged before this command was started is in the backup. The server continues
/// meanwhile. A node of a cluster is asked what is committed, by its peer port; one that is stopped, or finds no majority,
/// gives what it knew to be. Each backup is a folder of its own below --to, named after the time, and complete by itself. Files that
/// the previous backup has too are shared, not copied: a further backup takes the space of what has changed.
///
/// Every checksum of the copy is verified before the backup gets its name. A backup that is killed, or runs out of
/// space, leaves a folder whose name ends in `.new`; the next backup removes it. Earlier backups are not touched.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    /// The data directory
    #[arg(long, value_name = "DIR")]
    data: PathBuf,

    /// The folder of backups; it is created if missing. Use another disk, best on another machine
    #[arg(long, value_name = "BACKUPS")]
    to: PathBuf,

    /// Keep the newest N backups there and remove older ones, after this one is complete [default: keep all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,
}

const AFTER: &str = "\
EXAMPLES:
  Every hour, the last two days:
    pando backup --data /var/lib/pando --to /mnt/backups --keep 48

  Verify the last one, entry by entry:
    pando check --data \"$(ls -d /mnt/backups/*Z | tail -1)\"

SEE ALSO:
  pando restore, which makes a data directory from a backup; `pando serve --archive`, which keeps the changes between backups

EXIT CODES:
  0  the backup is complete and durable; its folder is on standard output
  1  there is no backup: no space, damage, or another backup running; standard error has the reason
  2  the command line is wrong";

/// Runs it.
pub(crate) fn run(args: &Args) -> Result<(), Failed> {
    env::host::raise_descriptor_limit();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let now_ms = SystemClock::start().wall_ms();
    let keep = args.keep.map(|keep| keep as usize);
    let committed = is_node(&args.data).then(|| committed(&args.data));
    let is_known = committed.is_none_or(|entry| entry > 0);
    let mut bar = CopyBar::new("copying");
    let mut on_bytes = |done, all| bar.show(done, all);
    let taken =
        backup::take(&disk, &args.data, &args.to, keep, now_ms, committed.unwrap_or(0), &mut on_bytes);
    drop(bar);
    if let Ok(Some(warning)) = data::open_to_others(&*disk, &args.to) {
        note!("pando backup: {warning}");
    }
    tell(&taken.map_err(Failed::of)?, is_known);
    Ok(())
}

/// The last entry that the node with the directory `data` has applied, when it has all that was acknowledged before; 0, and a note, if it does not
/// answer.
fn committed(data: &Path) -> u64 {
    match cluster::ask(data, &json!({ "command": "applied" })) {
        Ok(answer) => answer["entry"].as_u64().unwrap_or(0),
        Err(failed) => {
            let why = failed.faults.join("; ");
            note!(
                "pando backup: the node does not answer ({why}): the backup has what its log says is committed"
            );
            0
        }
    }
}

fn tell(taken: &TakenBackup, is_known: bool) {
    // The backup is made, whether or not its report can be printed.
    if let Err(failed) = print(format_args!("{}\n", taken.generation.dir.display())) {
        let (dir, faults) = (taken.generation.dir.display(), failed.faults.join("; "));
        note!("pando backup: {dir} is whole, but its name cannot be printed: {faults}");
    }
    let mb = |bytes: u64| bytes as f64 / 1e6;
    if !is_known && taken.uncommitted > 0 {
        note!("{} entries of the log may not be committed; a restore leaves them out", taken.uncommitted);
    }
    let (record, committed) = (taken.generation.last, taken.generation.committed);
    let last = if committed > 0 { format!("entry {committed}") } else { format!("record {record}") };
    note!(
        "backup up to {last}: {:.1} MB written, {:.1} MB shared with the backup before, all checksums compared",
        mb(taken.bytes),
        mb(taken.shared_bytes)
    );
    if taken.removed > 0 {
        note!("{} older backups removed", taken.removed);
    }
}
