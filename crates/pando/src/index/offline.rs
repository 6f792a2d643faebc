//! Of a data directory that nobody serves.

use super::{names, settings};
use crate::failed::Failed;
use crate::local;
use crate::output::{note, print};
use crate::versions;
use env::disk::RealDisk;
use node::data::{Data, View};
use server::config::Config;
use server::directory::{IndexName, IndexSettings};
use std::path::Path;
use std::sync::Arc;

/// Findings that are reported.
const FINDINGS_MAX: usize = 100;

/// Prints the indexes that are written down.
pub(super) fn list(dir: &Path) -> Result<(), Failed> {
    let data = Data::existing(Arc::new(RealDisk), dir).map(versions::known).map_err(Failed::of)?;
    let indexes = data.indexes().map_err(Failed::of)?;
    print(indexes.listed().iter().map(|index| format!("{index}\n")).collect::<String>())
}

/// Makes the directory with the indexes, looks through them, and writes them down.
pub(super) fn build(
    dir: &Path,
    config: &mut Config,
    indexes: &[IndexSettings],
    quiet: bool,
) -> Result<(), Failed> {
    let (data, schema) = local::open(dir, config)?;
    let mut file = data.indexes().map_err(Failed::of)?;
    let names = names(indexes, &schema)?;
    let texts: Vec<String> = names.iter().map(|name| name.text(&schema)).collect();
    let there = texts.iter().filter(|text| file.listed().contains(*text));
    Failed::all(there.map(|text| format!("{text}: there is one already"))).if_any()?;
    let mut all = settings(&names, &schema);
    file.add_to(&mut all, &schema);
    if let Some(view) = local::view(&data, &schema, config, &all, quiet)? {
        let (bytes, bytes_max) = (view.dsa.shard().memory().total(), config.memory_bytes_max());
        if bytes > bytes_max {
            let text = format!(
                "the directory would take {bytes} bytes and exceed memory-max, {bytes_max} bytes: nothing was changed"
            );
            return Err(Failed::of(text));
        }
        look_through(&view)?;
    }
    let failed = |error: std::io::Error| Failed::of(format!("the list of indexes cannot be saved: {error}"));
    file.make(texts).map_err(failed)
}

/// Takes indexes off those that are written down.
pub(super) fn drop(dir: &Path, config: &mut Config, indexes: &[IndexSettings]) -> Result<(), Failed> {
    let (data, schema) = local::open(dir, config)?;
    let mut file = data.indexes().map_err(Failed::of)?;
    let texts: Vec<String> = names(indexes, &schema)?.iter().map(|name| name.text(&schema)).collect();
    let missing = texts.iter().filter(|text| !file.listed().contains(*text));
    let fault = |text: &String| {
        format!(
            "{text}: it is not among those that were made; one of the key `index` goes by `pando serve` with another list, \
             `index = []` for none, or by a modify of cn=config that deletes its olcDbIndex"
        )
    };
    Failed::all(missing.map(fault)).if_any()?;
    file.unmake(&texts).map_err(Failed::of)
}

/// Compares indexes with entries: those that are written down and the `configured` ones, of them only `wanted` if any is.
pub(super) fn verify(
    dir: &Path,
    config: &mut Config,
    configured: &[IndexSettings],
    wanted: &[IndexSettings],
    quiet: bool,
) -> Result<(), Failed> {
    let (data, schema) = local::open(dir, config)?;
    let file = data.indexes().map_err(Failed::of)?;
    let wanted = names(wanted, &schema)?;
    let configured = names(configured, &schema)?;
    let text = |name: &IndexName| name.text(&schema);
    let is_there = |name: &&IndexName| configured.contains(name) || file.listed().contains(&text(name));
    let missing = wanted.iter().filter(|name| !is_there(name)).map(text);
    let fault =
        |text| format!("{text}: there is no such index; one that is configured is named with --index {text}");
    Failed::all(missing.map(fault)).if_any()?;
    let is_all = wanted.is_empty();
    let mut all = settings(if is_all { &configured } else { &wanted }, &schema);
    let lost = if is_all { file.add_to(&mut all, &schema) } else { Vec::new() };
    for index in lost {
        note!("pando index: {index}: the schema no longer has what it needs; a start does without it");
    }
    let Some(view) = local::view(&data, &schema, config, &all, quiet)? else { return Ok(()) };
    look_through(&view)?;
    let entries = view.dsa.shard().entries();
    print(format_args!("{} indexes over {entries} entries, all as they should be\n", all.len()))
}

fn look_through(view: &View) -> Result<(), Failed> {
    Failed::all(view.dsa.shard().writer().check(FINDINGS_MAX)).if_any()
}
