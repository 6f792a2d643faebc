//! A server with all its threads on a disk whose operations are recorded, and clients that load it.

use crate::counted::Client;
use crate::node::recover;
use crate::recorder::Recorder;
use crate::requests::Bundle;
use crate::workloads;
use env::clock::SystemClock;
use env::disk::RealDisk;
use env::task;
use node::commit::Thread;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Clients at the same time.
pub const CLIENTS: usize = 3;
/// Bundles of each.
pub const BUNDLES: u64 = 60;
/// Bytes of log after which a snapshot is made: some are, during the run.
pub const SNAPSHOT_AFTER: u64 = 100_000;

/// The log's settings: small files, so that many are used.
pub fn log() -> wal::Settings {
    wal::Settings {
        file_bytes: 64 << 10,
        waiting_bytes_max: 16 << 10,
        ready_files: 2,
        spare_files_max: 2,
        ..wal::Settings::default()
    }
}

/// Runs a server on `dir`, which is new, under the load of all clients, and ends it well.
///
/// # Errors
/// When the server cannot be started or its log fails.
pub fn run(recorder: &Recorder, dir: &Path) -> Result<(), String> {
    let recovered = recover(recorder.over(Arc::new(RealDisk)), dir, log(), Some(SNAPSHOT_AFTER), 1);
    let (_data, recovered) = recovered.map_err(|error| error.to_string())?;
    let (dsa, clock) = (recovered.dsa, SystemClock::start());
    let thread = Thread::start(recovered.committer, recovered.snapshots, clock, None, |_| ());
    let thread = thread.map_err(|error| error.to_string())?;
    let mut base = Bundle::default();
    workloads::base(CLIENTS, &mut base);
    let connect = || Client::connect(&dsa).map_err(|failure| failure.to_string());
    let mut first = connect()?;
    first.send(&base).map_err(|failure| failure.to_string())?;
    let acknowledged: [AtomicU64; CLIENTS] = Default::default();
    let failed = std::sync::Mutex::new(None);
    let load = |counter: usize| {
        let mut client = connect()?;
        let mut numbers = 1..=BUNDLES;
        let counted = numbers.try_for_each(|number| client.count((counter, number), recorder, &acknowledged));
        counted.map_err(|failure| failure.to_string())
    };
    let client = |number: usize| {
        if let Err(error) = load(number) {
            failed.lock().expect("nobody panics with it").get_or_insert(error);
        }
    };
    task::run_with_workers(CLIENTS, client, || ());
    drop(first);
    thread.stop().map_err(|error| error.to_string())?;
    failed.into_inner().expect("nobody panics with it").map_or(Ok(()), Err)
}
