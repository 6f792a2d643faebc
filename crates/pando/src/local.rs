//! A data directory that nobody serves, as `check`, `export` and `index` read it.

use crate::failed::Failed;
use crate::output::note;
use crate::progress::RecoveryBar;
use crate::versions;
use env::disk::RealDisk;
use node::data::{Data, View};
use schema::Schema;
use server::config::Config;
use server::directory::{self, IndexSettings};
use std::path::Path;
use std::sync::Arc;

/// Opens the data directory `dir` and builds its schema. What the command line does not name is as the directory has recorded it.
///
/// # Errors
/// When it is none, is in use or damaged; or, with exit code 2, the faults of schema files.
pub(crate) fn open(dir: &Path, config: &mut Config) -> Result<(Data, Arc<Schema>), Failed> {
    let data = Data::existing(Arc::new(RealDisk), dir).map(versions::known).map_err(Failed::of)?;
    data.made().map_err(Failed::of)?.iter().for_each(|made| config.take_rules(made));
    Ok((data, Arc::new(schema(config)?)))
}

/// The directory with these indexes, in memory; `None` if it was never served. A bar shows how far it is.
pub(crate) fn view(
    data: &Data,
    schema: &Arc<Schema>,
    config: &Config,
    indexes: &[IndexSettings],
    quiet: bool,
) -> Result<Option<View>, Failed> {
    let mut bar = RecoveryBar::new(quiet);
    let view = data.view_with(schema, config.memory_bytes_max(), indexes, &mut |stage| bar.show(stage));
    let view = view.map_err(Failed::of)?;
    if let Some(uncommitted) = view.as_ref().map(|view| view.log.uncommitted).filter(|count| *count > 0) {
        note!("{}: {}", data.dir().display(), left_out(uncommitted));
    }
    Ok(view)
}

/// What to tell of entries of a node's log that nobody knows to be committed.
pub(crate) fn left_out(uncommitted: u64) -> String {
    format!("{uncommitted} entries of the log may not be committed; they are left out")
}

/// The schema that is configured.
///
/// # Errors
/// The faults of its files, with exit code 2.
pub(crate) fn schema(config: &Config) -> Result<Schema, Failed> {
    directory::schema(config).map_err(Failed::configured)
}
