//! The operator of the server: takes backups of it, restores them, exports the directory and imports that elsewhere. The
//! acknowledgements that it received outlive the server, whose disk it shares.

use crate::disk::SimDisk;
use crate::node::{NEXT, digest, recover, schema_in};
use crate::oracle::Held;
use bulk::{Callbacks, Export, Import, Input, Operational, Passwords};
use dsa::Dsa;
use env::disk::Disk;
use env::entropy::SeededEntropy;
use node::data::backup::{BackupError, Restored, TakenBackup, Until, restore, take};
use node::data::{Data, View};
use node::keep::keep_and_close;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::Shard;

/// Backups that are kept.
pub const KEEP: usize = 2;
/// The folder of backups, the archive of the log, and what comes of restores and imports.
pub const BACKUPS: &str = "backups";
/// See [`BACKUPS`].
pub const ARCHIVE: &str = "archive";
/// See [`BACKUPS`].
pub const TARGET: &str = "target";

/// Bytes of memory that a directory may take that is only looked at.
pub(crate) const MEMORY_BYTES_MAX: u64 = 48 << 20;

/// When it imports.
const NOW_MS: u64 = 1_750_000_000_000;

/// What it knows of its backups.
#[derive(Debug, Default)]
pub struct Operator {
    /// Those that were reported and not removed since, the oldest first.
    pub must: Vec<PathBuf>,
    /// What those hold that are there, or were, or may be.
    pub ever: BTreeMap<PathBuf, Held>,
    taken: u64,
}

impl Operator {
    /// Takes a backup of `data`, which holds `held`.
    ///
    /// # Errors
    /// As [`take`].
    pub fn back_up(
        &mut self,
        disk: &SimDisk,
        data: &Path,
        held: Held,
        on_bytes: &mut dyn FnMut(u64, u64),
    ) -> Result<TakenBackup, BackupError> {
        // A name of its own, whatever the clock says.
        self.taken += 1;
        let now_ms = 1_700_000_000_000 + self.taken;
        let name = model::timestamp(now_ms).replace(['-', ':'], "");
        self.ever.insert(Path::new(BACKUPS).join(name), held);
        // The oldest go once the new one is there, reported or not; so one that is whole, but whose taking failed, counts.
        let mut there = disk.folders(Path::new(BACKUPS));
        there.retain(|dir| self.ever.contains_key(dir));
        let stay = &there[there.len().saturating_sub(KEEP - 1)..];
        self.must.retain(|dir| stay.contains(dir));
        let disk: Arc<dyn Disk> = Arc::new(disk.clone());
        let taken = take(&disk, data, Path::new(BACKUPS), Some(KEEP), now_ms, 0, on_bytes)?;
        self.must.push(taken.generation.dir.clone());
        Ok(taken)
    }
}

/// Restores what `from` has, or that and the log of `data` and of the archive, to [`TARGET`].
///
/// # Errors
/// As [`restore`].
pub fn restored(
    disk: &SimDisk,
    from: &Path,
    data: &Path,
    until: Until,
    seed: u64,
) -> Result<Restored, BackupError> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let has_archive = disk.list(Path::new(ARCHIVE)).is_ok();
    let archives: Vec<PathBuf> = match until {
        Until::End => Vec::new(),
        _ => has_archive.then(|| ARCHIVE.into()).into_iter().chain([data.join("log")]).collect(),
    };
    let mut entropy = SeededEntropy::new(seed);
    restore(&disk, from, &archives, until, Path::new(TARGET), &mut entropy, &mut |_, _| ())
}

/// Loads LDIF into the directory `dir`, which is made if it is not there, past its log.
///
/// # Errors
/// In words.
pub fn import(disk: &SimDisk, dir: &Path, log: wal::Settings, text: &str, seed: u64) -> Result<(), String> {
    let recovered = recover(Arc::new(disk.clone()), dir, log, None, seed);
    let (_data, recovered) = recovered.map_err(|error| error.to_string())?;
    let (committer, mut snapshots) = (recovered.committer, recovered.snapshots);
    load(recovered.dsa.shard(), text)?;
    keep_and_close(committer, &mut snapshots, NOW_MS, 0).map_err(|error| error.to_string())
}

/// Loads LDIF into memory.
///
/// # Errors
/// In words.
pub fn load(shard: &Shard, text: &str) -> Result<(), String> {
    let import = Import {
        shard,
        stamp_ms: NOW_MS,
        operational: Operational::Keep,
        passwords: Passwords::Keep,
        threads: 1,
        streams: 1,
    };
    let callbacks = Callbacks { on_progress: &mut |_| (), on_reject: None, is_over: &AtomicBool::new(false) };
    let loaded = bulk::import(import, &mut [Input::Seekable(&mut Cursor::new(text))], callbacks);
    loaded.map(|_| ()).map_err(|error| error.to_string())
}

/// All entries as LDIF, with the server's own bookkeeping.
pub fn ldif(dsa: &Arc<Dsa>) -> String {
    let mut text = Vec::new();
    bulk::export(dsa.shard(), &Export::default(), &mut text, &mut |_| ()).expect("memory is plenty");
    String::from_utf8(text).expect("what clients send is text")
}

/// The directory or backup in `dir`, with nothing wrong in it; `None` if it was never initialised or served.
///
/// # Errors
/// In words, what is wrong.
pub fn look(disk: &SimDisk, dir: &Path) -> Result<Option<View>, String> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    if !disk.list(dir).is_ok_and(|names| names.iter().any(|name| name == "founding")) {
        return Ok(None);
    }
    let read = || {
        let data = Data::existing(disk, dir)?.knowing(NEXT);
        data.view(&schema_in(&data)?, MEMORY_BYTES_MAX, &mut |_| ())
    };
    let view = read().map_err(|error| error.to_string())?;
    let findings = view.iter().flat_map(|view| view.dsa.shard().writer().check(1)).next();
    findings.map_or(Ok(view), |finding| Err(finding.to_string()))
}

/// As [`look`]: what the directory holds, whichever record made it.
///
/// # Errors
/// See [`look`].
pub fn digest_of(disk: &SimDisk, dir: &Path) -> Result<Option<u128>, String> {
    Ok(look(disk, dir)?.map(|view| digest(&view.dsa)))
}
