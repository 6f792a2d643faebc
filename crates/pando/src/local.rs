//! A data directory that nobody serves, as `check`, `export` and `index` read it.

use crate::failed::Failed;
use env::disk::RealDisk;
use node::data::Data;
use schema::Schema;
use server::config::Config;
use server::directory;
use std::path::Path;
use std::sync::Arc;

/// Opens the data directory `dir` and builds its schema. What the command line does not name is as the directory has recorded it.
///
/// # Errors
/// When it is none, is in use or damaged; or, with exit code 2, the faults of schema files.
pub(crate) fn open(dir: &Path, config: &mut Config) -> Result<(Data, Arc<Schema>), Failed> {
    let data = Data::existing(Arc::new(RealDisk), dir).map_err(Failed::of)?;
    data.made().map_err(Failed::of)?.iter().for_each(|made| config.take_rules(made));
    Ok((data, Arc::new(schema(config)?)))
}

/// The schema that is configured.
///
/// # Errors
/// The faults of its files, with exit code 2.
pub(crate) fn schema(config: &Config) -> Result<Schema, Failed> {
    directory::schema(config).map_err(Failed::configured)
}
