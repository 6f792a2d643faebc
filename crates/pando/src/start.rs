//! What starts of all kinds of servers share: the schema, the import, and why one cannot serve.

use crate::failed::Failed;
use crate::output::note;
use crate::progress::Bar;
use dsa::Dsa;
use env::clock::SystemClock;
use schema::Schema;
use server::config::Config;
use server::{directory, import};
use std::io;

/// The schema of this configuration, which fits it. What is worth telling of it is reported as by `command`.
pub(crate) fn schema(config: &Config, command: &str) -> Result<Schema, Failed> {
    let schema = directory::schema(config).map_err(Failed::configured)?;
    directory::warnings(&schema).iter().for_each(|warning| note!("pando {command}: {warning}"));
    fits(config, &schema)?;
    Ok(schema)
}

/// Whether what is configured fits the schema.
pub(crate) fn fits(config: &Config, schema: &Schema) -> Result<(), Failed> {
    let unknown = directory::unknown_to_schema(config, schema);
    Failed::configured(unknown.iter().map(|p| format!("{}: {}", p.key, p.message))).if_any()
}

pub(crate) fn cannot_serve(error: io::Error) -> Failed {
    Failed::at("cannot serve", error)
}

/// Loads the configured file.
pub(crate) fn load(config: &Config, dsa: &Dsa, clock: &SystemClock) -> Result<(), Failed> {
    let mut bar = Bar::new("importing", "imported", &[], false);
    let loaded = import::load(config, dsa.shard(), clock, &mut |progress, total| bar.show(progress, total));
    if let Some(summary) = loaded.map_err(Failed::all)? {
        bar.finish(summary);
    }
    Ok(())
}
