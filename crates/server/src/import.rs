//! LDIF files into a directory that nobody reads yet: before the first client is served, or without a server.

mod keep;
mod rejects;

pub use keep::{KeepError, keep, keep_and_close};

use crate::config::{Config, Fault};
use bulk::remote::{self, Server};
use bulk::{Import, ImportError, Input, OnReject, Operational, Progress, Summary, Tell};
use env::clock::Clock;
use env::task;
use rejects::Rejects;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use store::Shard;

/// What to load, and how.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// LDIF files; `-` is standard input. An entry may come before its superior, in another file too.
    pub files: Vec<PathBuf>,
    /// What becomes of operational attributes.
    pub operational: Operational,
    /// Where records go that cannot be stored; without it they make the import fail.
    pub rejects: Option<PathBuf>,
}

/// Loads the configured LDIF file, if there is one. Operational attributes are kept as they stand. `on_progress` is
/// told how far it is, and how many bytes there are; 0 if that cannot be told, of a pipe.
///
/// # Errors
/// As [`load_files`].
pub fn load(
    config: &Config,
    shard: &Shard,
    clock: &impl Clock,
    mut on_progress: impl FnMut(Progress, u64),
) -> Result<Option<Summary>, Vec<Fault>> {
    let Some(path) = &config.import else { return Ok(None) };
    let job = Job { files: vec![path.clone()], ..Job::default() };
    load_files(&job, shard, clock, &mut on_progress).map(Some)
}

/// Loads LDIF files.
///
/// # Errors
/// The faults of the files, up to a bound, and behind them how far it came.
pub fn load_files(
    job: &Job,
    shard: &Shard,
    clock: &impl Clock,
    on_progress: &mut dyn FnMut(Progress, u64),
) -> Result<Summary, Vec<Fault>> {
    let import =
        Import { shard, stamp_ms: clock.wall_ms(), operational: job.operational, threads: task::cores() };
    let given_up = "not imported; given up after";
    read_files(job, on_progress, given_up, &mut |inputs, tell| bulk::ldif(import, inputs, tell))
}

/// Adds LDIF files to a server that runs, over so many connections.
///
/// # Errors
/// As [`load_files`], but that what was added stays; and what the server or the network says.
pub fn add_files(
    job: &Job,
    server: &Server,
    connections: usize,
    on_progress: &mut dyn FnMut(Progress, u64),
) -> Result<Summary, Vec<Fault>> {
    let given_up = "given up; added, and kept, were";
    read_files(job, on_progress, given_up, &mut |inputs, tell| remote::add(server, connections, inputs, tell))
}

/// What takes entries from LDIF.
type Take<'t> = &'t mut dyn FnMut(&mut [Input<'_>], Tell<'_>) -> Result<Summary, ImportError>;

/// Opens the files of a job and has them taken.
fn read_files(
    job: &Job,
    on_progress: &mut dyn FnMut(Progress, u64),
    given_up: &str,
    take: Take<'_>,
) -> Result<Summary, Vec<Fault>> {
    let mut sources = job.files.iter().map(|path| Source::open(path)).collect::<Result<Vec<_>, _>>()?;
    let bytes = sources.iter().map(Source::bytes).sum::<Option<u64>>().unwrap_or(0);
    let mut rejects = match &job.rejects {
        Some(path) => {
            Some(Rejects::create(path, &job.files).map_err(|error| vec![fault(path, 0, error.to_string())])?)
        }
        None => None,
    };
    let mut inputs: Vec<Input<'_>> = sources.iter_mut().map(Source::input).collect();
    let mut write = rejects.as_mut().map(|rejects| {
        |fault: &bulk::Fault, record: &[u8]| rejects.write(&job.files[fault.input], fault, record)
    });
    let tell = Tell {
        on_progress: &mut |progress| on_progress(progress, bytes),
        on_reject: write.as_mut().map(|write| write as OnReject<'_>),
    };
    let taken = take(&mut inputs, tell).map_err(|error| faults(job, &error, given_up));
    // Also of an import that was given up: what is in there is known to be wrong.
    let finished = match (rejects, &job.rejects) {
        (Some(rejects), Some(path)) => {
            rejects.finish().map_err(|error| vec![fault(path, 0, error.to_string())])
        }
        _ => Ok(()),
    };
    taken.and_then(|summary| finished.map(|()| summary))
}

fn faults(job: &Job, error: &ImportError, given_up: &str) -> Vec<Fault> {
    let message = |f: &bulk::Fault| bulk::Fault { line: 0, ..f.clone() }.to_string();
    let mut faults: Vec<Fault> =
        error.faults.iter().map(|f| fault(&job.files[f.input], f.line, message(f))).collect();
    let given_up = format!("{given_up} {} entries", error.done.entries);
    let last = error.faults.last().map_or(0, |f| f.input);
    faults.push(fault(&job.files[last], 0, given_up));
    faults
}

fn fault(path: &Path, line: u64, message: String) -> Fault {
    let place = (line != 0).then_some((line as usize, 1));
    Fault { file: Some(path.display().to_string()), place, message }
}

/// An open input.
enum Source {
    File(File, u64),
    Pipe(File),
    Standard(io::Stdin),
}

impl Source {
    fn open(path: &Path) -> Result<Source, Vec<Fault>> {
        if path == Path::new("-") {
            return Ok(Source::Standard(io::stdin()));
        }
        let open = || {
            let file = File::open(path)?;
            let about = file.metadata()?;
            Ok(if about.is_file() { Source::File(file, about.len()) } else { Source::Pipe(file) })
        };
        open().map_err(|error: io::Error| vec![fault(path, 0, format!("cannot be read: {error}"))])
    }

    /// How many bytes will come, if that is known.
    fn bytes(&self) -> Option<u64> {
        match self {
            Source::File(_, bytes) => Some(*bytes),
            _ => None,
        }
    }

    fn input(&mut self) -> Input<'_> {
        match self {
            Source::File(file, _) => Input::Seekable(file),
            Source::Pipe(file) => Input::Stream(file),
            Source::Standard(stdin) => Input::Stream(stdin),
        }
    }
}

#[cfg(test)]
mod tests;
