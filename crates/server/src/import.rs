//! Files and streams of entries into a directory that no reader pins yet: before the first client is served, or without a
//! server; or into a server that runs.

mod rejects;

use crate::config::{Config, Fault};
use bulk::active_directory::Translation;
use bulk::remote::{self, Ways};
use bulk::{
    Callbacks, Import, ImportError, Input, OnReject, Operational, Passwords, ProgressReport, Summary,
};
use client::Server;
use env::clock::Clock;
use env::stream::Stream;
use env::task;
use rejects::Rejects;
use schema::Schema;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::Shard;

/// The path that means standard input.
const STDIN: &str = "-";

/// What to load, and how.
#[derive(Clone, Debug)]
pub struct Job {
    /// Files and FIFOs of LDIF or of BER adds; `-` is standard input. An entry may come before its superior, in another
    /// one too.
    pub files: Vec<PathBuf>,
    /// So many of them are read at the same time.
    pub streams: usize,
    /// What becomes of operational attributes.
    pub operational: Operational,
    /// What becomes of passwords in the clear.
    pub passwords: Passwords,
    /// What becomes of records that cannot be stored.
    pub on_fault: OnFault,
    /// The files are exports of Active Directory, which are translated; attributes that this schema lacks are left out.
    pub active_directory: Option<Arc<Schema>>,
    /// Do faults tell the byte at which a record begins?
    pub tells_bytes: bool,
}

impl Default for Job {
    fn default() -> Job {
        let (operational, on_fault) = (Operational::Keep, OnFault::default());
        let passwords = Passwords::default();
        let (files, active_directory) = (Vec::new(), None);
        Job { files, streams: 1, operational, passwords, on_fault, active_directory, tells_bytes: false }
    }
}

/// What becomes of records that cannot be stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OnFault {
    /// They make the import fail.
    #[default]
    Stop,
    /// The first of them are logged; all of them are left out.
    Skip,
    /// They go to this file.
    Reject(PathBuf),
}

/// Called with how far an import is, and how many bytes there are; 0 if that cannot be known, of a pipe.
pub type OnProgress<'p> = &'p mut dyn FnMut(ProgressReport<'_>, u64);

/// Loads the configured files, if there are any, all of them at the same time. Operational attributes are kept as they
/// stand.
///
/// # Errors
/// As [`load_files`].
pub fn load(
    config: &Config,
    shard: &Shard,
    clock: &impl Clock,
    on_progress: OnProgress<'_>,
) -> Result<Option<Summary>, Vec<Fault>> {
    if config.import.is_empty() {
        return Ok(None);
    }
    let files = config.import.clone();
    let job = Job { streams: files.len(), files, ..Job::default() };
    load_files(&job, shard, clock, on_progress).map(Some)
}

/// Loads files.
///
/// # Errors
/// The faults of the files, up to a bound, and behind them how far it came.
pub fn load_files(
    job: &Job,
    shard: &Shard,
    clock: &impl Clock,
    on_progress: OnProgress<'_>,
) -> Result<Summary, Vec<Fault>> {
    let (stamp_ms, operational, passwords) = (clock.wall_ms(), job.operational, job.passwords);
    let (threads, streams) = (task::cores(), job.streams);
    let import = Import { shard, stamp_ms, operational, passwords, threads, streams };
    let given_up = "not imported; given up after";
    read_files(job, on_progress, given_up, &mut |inputs, callbacks| bulk::import(import, inputs, callbacks))
}

/// Adds files to a server that runs, over so many connections.
///
/// # Errors
/// As [`load_files`], but that what was added stays; and what the server or the network says.
pub fn add_files(
    job: &Job,
    server: &Server,
    connections: usize,
    on_progress: OnProgress<'_>,
) -> Result<Summary, Vec<Fault>> {
    let ways = Ways { connections, streams: job.streams };
    let given_up = "given up; added, and kept, were";
    read_files(job, on_progress, given_up, &mut |inputs, callbacks| {
        remote::add(server, ways, inputs, callbacks)
    })
}

/// What takes entries from files.
type Take<'t> = &'t mut dyn FnMut(&mut [Input<'_>], Callbacks<'_>) -> Result<Summary, ImportError>;

/// Opens the files of a job and has them taken.
fn read_files(
    job: &Job,
    on_progress: OnProgress<'_>,
    given_up: &str,
    take: Take<'_>,
) -> Result<Summary, Vec<Fault>> {
    refuse_twice(&job.files)?;
    let is_over = Arc::new(AtomicBool::new(false));
    let open = |path: &PathBuf| Source::open(path, &is_over);
    let mut sources = job.files.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let bytes = sources.iter().map(Source::bytes).sum::<Option<u64>>().unwrap_or(0);
    let mut rejects = rejects_of(job)?;
    let mut opened: Vec<Input<'_>> = sources.iter_mut().map(Source::input).collect();
    let mut translations: Vec<Translation<'_, '_, '_>> = Vec::new();
    let mut inputs: Vec<Input<'_>> = match &job.active_directory {
        Some(schema) => {
            translations.extend(opened.iter_mut().map(|input| Translation::new(input, schema)));
            translations.iter_mut().map(|translation| Input::Stream(translation)).collect()
        }
        None => opened,
    };
    let mut write = rejects.as_mut().map(|rejects| {
        |fault: &bulk::Fault, record: &[u8]| {
            rejects.write(&job.files[fault.input], &reported(job, fault), record)
        }
    });
    let callbacks = Callbacks {
        on_progress: &mut |reported| on_progress(reported, bytes),
        on_reject: write.as_mut().map(|write| write as OnReject<'_>),
        is_over: &is_over,
    };
    let taken = take(&mut inputs, callbacks).map_err(|error| faults(job, &error, given_up));
    // Also of an import that was given up: what is in there is known to be wrong.
    let finished = match (rejects, &job.on_fault) {
        (Some(rejects), OnFault::Reject(path)) => {
            rejects.finish().map_err(|error| vec![fault(path, 0, error.to_string())])
        }
        _ => Ok(()),
    };
    taken.and_then(|summary| finished.map(|()| summary))
}

/// A file that is read twice is full of duplicates, and of a FIFO each of two readers gets a part.
fn refuse_twice(files: &[PathBuf]) -> Result<(), Vec<Fault>> {
    let identity = |path: &PathBuf| {
        let place = if path == Path::new(STDIN) { Path::new("/dev/stdin") } else { path };
        let about = std::fs::metadata(place).ok();
        let about = about.filter(|about| about.is_file() || about.file_type().is_fifo());
        about.map(|about| (about.dev(), about.ino())).ok_or_else(|| path.clone())
    };
    let mut seen = HashMap::new();
    for path in files {
        if let Some(before) = seen.insert(identity(path), path) {
            let text = format!("given twice: it is the same as {}", before.display());
            return Err(vec![fault(path, 0, text)]);
        }
    }
    Ok(())
}

/// Where rejects go, if they do not make the import fail.
fn rejects_of(job: &Job) -> Result<Option<Rejects>, Vec<Fault>> {
    match &job.on_fault {
        OnFault::Stop => Ok(None),
        OnFault::Skip => Ok(Some(Rejects::reported())),
        OnFault::Reject(path) => {
            let made = Rejects::create(path, &job.files);
            made.map(Some).map_err(|error| vec![fault(path, 0, error.to_string())])
        }
    }
}

/// What is wrong with a record, with its byte where that is wanted or there is no line.
fn reported(job: &Job, fault: &bulk::Fault) -> bulk::Fault {
    let is_of_record = fault.dn.is_some() || fault.offset > 0;
    if !job.tells_bytes && (fault.line != 0 || !is_of_record) {
        return fault.clone();
    }
    let text = bulk::Fault { line: 0, ..fault.clone() };
    bulk::Fault { dn: None, reason: format!("byte {}: {text}", fault.offset), ..fault.clone() }
}

fn faults(job: &Job, error: &ImportError, given_up: &str) -> Vec<Fault> {
    let message = |f: &bulk::Fault| bulk::Fault { line: 0, ..reported(job, f) }.to_string();
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
    Stream(Stream),
}

impl Source {
    fn open(path: &Path, is_over: &Arc<AtomicBool>) -> Result<Source, Vec<Fault>> {
        let open = || {
            if path == Path::new(STDIN) {
                return Stream::standard_input(Arc::clone(is_over)).map(Source::Stream);
            }
            let about = std::fs::metadata(path)?;
            match about.is_file() {
                true => Ok(Source::File(File::open(path)?, about.len())),
                false => Stream::open(path, Arc::clone(is_over)).map(Source::Stream),
            }
        };
        open().map_err(|error: io::Error| vec![fault(path, 0, format!("cannot be read: {error}"))])
    }

    /// How many bytes will come, if that is known.
    fn bytes(&self) -> Option<u64> {
        match self {
            Source::File(_, bytes) => Some(*bytes),
            Source::Stream(_) => None,
        }
    }

    fn input(&mut self) -> Input<'_> {
        match self {
            Source::File(file, _) => Input::Seekable(file),
            Source::Stream(stream) => Input::Stream(stream),
        }
    }
}

#[cfg(test)]
mod tests;
