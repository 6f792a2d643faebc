//! The configured LDIF file into the directory, before the first client is served.

use crate::config::{Config, Fault};
use bulk::{Import, Input, Operational, Progress, Summary};
use env::clock::Clock;
use env::task;
use std::fs::File;
use std::io;
use store::Shard;

/// Loads the configured LDIF file, if there is one. Operational attributes are kept as they stand. `on_progress` is
/// told how far it is, and how many bytes there are; 0 if that cannot be told, of a pipe.
///
/// # Errors
/// The faults of the file, up to a bound, and behind them how far it came.
pub fn load(
    config: &Config,
    shard: &Shard,
    clock: &impl Clock,
    mut on_progress: impl FnMut(Progress, u64),
) -> Result<Option<Summary>, Vec<Fault>> {
    let Some(path) = &config.import else { return Ok(None) };
    let name = path.display().to_string();
    let fault =
        |place: Option<(usize, usize)>, message: String| Fault { file: Some(name.clone()), place, message };
    let unreadable = |error: io::Error| vec![fault(None, format!("cannot be read: {error}"))];
    let mut file = File::open(path).map_err(unreadable)?;
    let kind = file.metadata().map_err(unreadable)?;
    let threads = task::cores();
    let import = Import { shard, stamp_ms: clock.wall_ms(), operational: Operational::Keep, threads };
    let input = if kind.is_file() { Input::Seekable(&mut file) } else { Input::Stream(&mut file) };
    match bulk::ldif(import, input, &mut |progress| on_progress(progress, kind.len())) {
        Ok(summary) => Ok(Some(summary)),
        Err(error) => {
            let place = |line: u64| (line != 0).then_some((line as usize, 1));
            let message = |f: &bulk::Fault| bulk::Fault { line: 0, ..f.clone() }.to_string();
            let mut faults: Vec<Fault> =
                error.faults.iter().map(|f| fault(place(f.line), message(f))).collect();
            faults.push(fault(
                None,
                format!("not imported; {} entries went in before it was given up", error.done.entries),
            ));
            Err(faults)
        }
    }
}

#[cfg(test)]
mod tests;
