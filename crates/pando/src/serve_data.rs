//! Serving from a data directory: recovery, the first import, and the server over it.

use crate::failed::Failed;
use crate::output::print_ready;
use crate::progress::RecoveryBar;
use crate::start::{self, cannot_serve, load};
use crate::versions;
use consensus::Members;
use dsa::settings::{Author, Difference};
use env::clock::{Clock as _, SystemClock};
use env::disk::{Disk as _, RealDisk};
use env::entropy::SystemEntropy;
use node::commit::Limits;
use node::data::snapshot::SnapshotStore;
use node::data::{self, Data, DataError, Recovered, Settled, Wanted};
use node::keep::keep;
use schema::Schema;
use server::config::{Change, Config, DEFAULT_DATA};
use server::logs::Auditor;
use server::{Endpoints, Logged, OwnSettings, directory};
use std::path::Path;
use std::sync::Arc;

/// Recovers the directory in `dir` and serves it. Without `schema` its schema is the recorded one.
pub(crate) fn serve(
    config: &Config,
    dir: &Path,
    schema: Option<Schema>,
    mut endpoints: Endpoints,
    clock: &SystemClock,
) -> Result<(), Failed> {
    let data = open(dir, refused)?;
    let (mut config, own) = take_own(config, &data, clock, false)?;
    let mut auditor = auditor(&config, &own, &data, clock)?;
    endpoints.own = own;
    data.made().map_err(refused)?.iter().for_each(|made| config.take_rules(made));
    let schema = Arc::new(schema.map_or_else(|| start::schema(&config, "serve"), Ok)?);
    let mut taken = take_up(&config, &data, &schema, clock, auditor.as_mut())?;
    if taken.is_none() {
        // A change was logged when the process was killed, and not yet copied to the file that a start goes by.
        taken = take_up(&config, &data, &schema, clock, auditor.as_mut())?;
    }
    let (config, mut recovered, changes) =
        taken.ok_or_else(|| Failed::at(dir.display(), "the settings in the log and in the file differ"))?;
    let config = &config;
    changes.iter().for_each(|change| tracing::warn!("{change}"));
    if let Some(auditor) = &mut auditor {
        let started_ms = recovered.dsa.config().started_ms;
        auditor.recovered(recovered.dsa.shard().schema(), recovered.committer.applied().0, started_ms);
    }
    endpoints.auditor = auditor;
    if !config.import.is_empty() {
        import(config, &mut recovered, clock)?;
    }
    let Recovered { committer, mut snapshots, .. } = recovered;
    archive(config, &mut snapshots)?;
    let indexes = data.indexes().map_err(refused)?;
    let logged = Logged { committer, snapshots, indexes, beside: None };
    let served = server::serve_logged(logged, endpoints, config.options, print_ready);
    served.map(|_| ()).map_err(cannot_serve)
}

/// Takes what was changed of the settings of this server while it ran. Returns the configuration that holds with that.
pub(crate) fn take_own(
    config: &Config,
    data: &Data,
    clock: &SystemClock,
    is_of_cluster: bool,
) -> Result<(Config, Arc<OwnSettings>), Failed> {
    let file = data.node_settings().map_err(refused)?;
    let author = Author { name: STARTED, wall_ms: clock.now().wall_ms };
    let settled = OwnSettings::settle(config, Some(file), author, is_of_cluster);
    let (own, config, changes) = settled.map_err(|what| Failed::at(data.dir().display(), what))?;
    changes.iter().for_each(|change| tracing::warn!("{}", change.of_server()));
    Ok((config, own))
}

/// Files of the log go to the archive, if there is one.
pub(crate) fn archive(config: &Config, snapshots: &mut SnapshotStore) -> Result<(), Failed> {
    if let Some(archive) = &config.archive {
        let made = RealDisk.create_dir(archive).and_then(|()| data::open_to_others(&RealDisk, archive));
        let wide = made.map_err(|error| Failed::at("--archive", error))?;
        wide.iter().for_each(|warning| tracing::warn!("{warning}"));
        snapshots.archive_to(Arc::new(RealDisk), archive);
    }
    Ok(())
}

/// Who writes the audit log, if there is to be one. It gets the changes that a recovery applies again, too.
pub(crate) fn auditor(
    config: &Config,
    own: &OwnSettings,
    data: &Data,
    clock: &SystemClock,
) -> Result<Option<Auditor>, Failed> {
    let Some(path) = &config.logs.audit_file else { return Ok(None) };
    let auditor = Auditor::open(path, own.logs(), *clock);
    let auditor = auditor.map_err(|error| Failed::at("log.audit-file", error))?;
    data.report_changes_to(Arc::clone(auditor.trail()));
    Ok(Some(auditor))
}

/// Who has changed a setting that file or flags say otherwise than before.
const STARTED: &str = "a start with another file or other flags";

/// Whether what a start does not name may be known from a data directory.
pub(crate) fn is_there(config: &Config) -> bool {
    let dir = config.data.as_deref().unwrap_or(Path::new(DEFAULT_DATA));
    config.memory != Some(true) && is_made(dir)
}

/// Whether a data directory was made there.
pub(crate) fn is_made(dir: &Path) -> bool {
    dir.join("founding").exists()
}

/// Settles the settings of the directory and recovers it. Returns the settings that are in force, and which of them are others than
/// before; `None` if the log has other settings than were known: they are known now.
fn take_up(
    config: &Config,
    data: &Data,
    schema: &Arc<Schema>,
    clock: &SystemClock,
    auditor: Option<&mut Auditor>,
) -> Result<Option<(Config, Recovered, Vec<Change>)>, Failed> {
    let file = data.settings().map_err(refused)?;
    let (mut config, mut record) = (config.clone(), file.record());
    let missing = config.problems().into_iter().find(|problem| problem.missing == Some("suffix"));
    missing.map_or(Ok(()), |problem| Err(Failed::configured([problem.message])))?;
    let changes = config.settle(&mut record, &mut SystemEntropy);
    let changes = changes.map_err(|what| Failed::at(data.dir().display(), what))?;
    let differences: Vec<Difference> = changes.iter().filter_map(Change::difference).collect();
    record.note(Author { name: STARTED, wall_ms: clock.now().wall_ms }, &differences);
    skip_recorded_indexes(&mut config, schema);
    start::fits(&config, schema)?;
    let settled = Some(Settled { file, record });
    let recovered = recover(&config, settled, data, Arc::clone(schema), (clock, auditor))?;
    Ok(recovered.map(|recovered| (config, recovered, changes)))
}

/// Leaves out the recorded indexes that the schema of this start has no attribute for, with a warning: no client loses an entry by it, and
/// the record keeps them for a start with the schema that they need. One that this start names itself is a fault, which is found later.
fn skip_recorded_indexes(config: &mut Config, schema: &Schema) {
    if config.given.contains_key("index") {
        return;
    }
    config.indexes.retain(|index| match index.attribute_type(schema) {
        Ok(_) => true,
        Err(reason) => {
            tracing::warn!(index.attribute, reason, "a recorded index is left out at this start; name the schema that it needs with --schema, or other indexes with --index");
            false
        }
    });
}

/// Can a node be made of the directory in `data`? Not if it is recorded that it does not sync what it answers: no start of a node could change
/// that, and nobody but a node could start.
pub(crate) fn may_replicate(config: &Config, data: &Data) -> Result<(), Failed> {
    let (mut config, mut record) = (config.clone(), data.settings().map_err(refused)?.record());
    let changes = config.settle(&mut record, &mut SystemEntropy);
    changes.map_err(|what| Failed::at(data.dir().display(), what))?;
    syncs(&config)
}

fn syncs(config: &Config) -> Result<(), Failed> {
    let text = "a node of a cluster syncs what it answers: give `--sync always` with this start";
    let is_always = config.sync == wal::Mode::Always;
    is_always.then_some(()).ok_or_else(|| Failed::at("the recorded setting `sync`", text))
}

/// Makes the directory in `data` the one from which each of `members` goes on.
pub(crate) fn replicate(
    config: &Config,
    data: &Data,
    clock: &SystemClock,
    members: Members,
) -> Result<(), Failed> {
    let mut config = config.clone();
    data.made().map_err(refused)?.iter().for_each(|made| config.take_rules(made));
    let schema = Arc::new(start::schema(&config, "serve")?);
    // A change may be in the log that is not copied yet to the file that a start goes by: then it is known afterwards.
    for _ in 0..2 {
        let file = data.settings().map_err(refused)?;
        let mut record = file.record();
        let changes = config.settle(&mut record, &mut SystemEntropy);
        changes.map_err(|what| Failed::at(data.dir().display(), what))?;
        syncs(&config)?;
        let settled = Some(Settled { file, record });
        let replicated =
            with_wanted(&config, settled, data, Arc::clone(&schema), clock, |wanted| {
                match data.begin_replication(wanted, members.clone()) {
                    Err(DataError::Settings) => Ok(false),
                    begun => begun.map(|()| true).map_err(refused),
                }
            })?;
        if replicated {
            return Ok(());
        }
    }
    Err(Failed::at(data.dir().display(), "the settings in the log and in the file differ"))
}

/// What is wrong with a place for a new data directory. It is made, but not what it lies in: a name that asks for that is more
/// likely a wrong one.
pub(crate) fn no_folder_above(dir: &Path) -> Option<String> {
    let above = dir.parent().filter(|above| !above.as_os_str().is_empty() && !above.exists())?;
    let (dir, above) = (dir.display(), above.display());
    Some(format!("{dir}: there is no folder {above}: make it first, or name another directory"))
}

/// Takes the data directory `dir` for this process, and tells when it is a new one. `refused` says what comes of an error.
pub(crate) fn open(dir: &Path, refused: fn(DataError) -> Failed) -> Result<Data, Failed> {
    if let Some(text) = no_folder_above(dir) {
        return Err(Failed::at("--data", text));
    }
    let is_new = !is_made(dir);
    let data = Data::open(Arc::new(RealDisk), dir).map(versions::known).map_err(refused)?;
    if is_new {
        tracing::info!("{}: a new data directory is made", dir.display());
    }
    warn_if_open_to_others(&data)?;
    Ok(data)
}

/// Warns where others than its owner may look into a directory.
pub(crate) fn warn_if_open_to_others(data: &Data) -> Result<(), Failed> {
    let wide = data.open_to_others().map_err(|error| Failed::at("--data", error))?;
    wide.iter().for_each(|warning| tracing::warn!("{warning}"));
    Ok(())
}

/// Takes up the directory in `data` as it is configured; a bar reports how far it is, and an auditor writes down what is reported. `None` if the log has other settings than the file
/// where they were found.
pub(crate) fn recover(
    config: &Config,
    settings: Option<Settled>,
    data: &Data,
    schema: Arc<Schema>,
    (clock, mut auditor): (&SystemClock, Option<&mut Auditor>),
) -> Result<Option<Recovered>, Failed> {
    with_wanted(config, settings, data, Arc::clone(&schema), clock, |wanted| {
        let mut bar = RecoveryBar::new(false);
        let mut on_progress = |stage| {
            bar.show(stage);
            if let Some(auditor) = &mut auditor {
                auditor.keep_up(&schema);
            }
        };
        let recovered = match data.recover(wanted, &mut on_progress) {
            Err(DataError::Settings) => return Ok(None),
            recovered => recovered.map_err(refused)?,
        };
        bar.finish(recovered.records, recovered.dsa.shard().entries());
        for differs in &recovered.differences {
            tracing::warn!("accepted: {differs}");
        }
        Ok(Some(recovered))
    })
}

/// Does something with what a start of the directory in `data` wants, as it is configured.
pub(crate) fn with_wanted<T>(
    config: &Config,
    settings: Option<Settled>,
    data: &Data,
    schema: Arc<Schema>,
    clock: &SystemClock,
    start: impl FnOnce(Wanted<'_>) -> Result<T, Failed>,
) -> Result<T, Failed> {
    let superblock = data.initialise(&directory::superblock(config, &mut SystemEntropy)).map_err(refused)?;
    let record = settings.as_ref().map(|settled| settled.record.clone()).unwrap_or_default();
    let agent = directory::agent(config, &record, clock, &superblock);
    let mut agent = agent.map_err(|error| Failed::at("the directory cannot be made", error))?;
    let indexes = data.indexes().map_err(refused)?;
    for index in indexes.add_to(&mut agent.store.indexes, &schema) {
        tracing::warn!(
            index,
            "the schema no longer has what this index needs: the directory is served without it"
        );
    }
    start(Wanted {
        config: agent,
        schema,
        log: wal::Settings { mode: config.sync, ..wal::Settings::default() },
        limits: limits(config),
        entropy: &mut SystemEntropy,
        accept_difference: config.accept_difference,
        settings,
    })
}

fn limits(config: &Config) -> Limits {
    Limits { snapshot_after: config.snapshot_after, snapshot_interval_ms: config.snapshot_interval_ms() }
}

/// Loads the configured file into an empty directory. It goes past the log: a snapshot makes it last.
fn import(config: &Config, recovered: &mut Recovered, clock: &SystemClock) -> Result<(), Failed> {
    let Recovered { dsa, committer, snapshots, .. } = recovered;
    if dsa.shard().entries() > 0 {
        let text = "the data directory is not empty; --import fills a new one. Start without it, or with another --data";
        return Err(Failed::at("import", text));
    }
    load(config, dsa, clock)?;
    let kept = keep(committer, snapshots, clock.wall_ms());
    kept.map(|_| ()).map_err(|error| Failed::at("the import cannot be kept", error))
}

/// Why a data directory cannot be used, and the exit code of that.
pub(crate) fn refused(error: DataError) -> Failed {
    Failed {
        code: if matches!(error, DataError::Differs { .. }) { 2 } else { 1 },
        ..Failed::at("--data", error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_folder_is_made() {
        let above = tempfile::tempdir().unwrap();
        let dir = above.path().join("not/there");
        let end = open(&dir, refused).expect_err("the folder above is missing");
        assert!(end.code == 1 && end.faults[0].contains("there is no folder"), "{:?}", end.faults);
        assert!(!above.path().join("not").exists());
        assert!(open(&above.path().join("new"), refused).is_ok());
        assert_eq!(no_folder_above(Path::new("new")), None);
    }
}
