//! A bit of a file that is not what it was stops the start, or changes nothing. Only what was not known to be synced may
//! be taken for a torn tail.

use super::flips::{Flipped, Flips};
use crate::disk::SimDisk;
use crate::node::{StartOptions, digest, recover_with};
use crate::oracle::Oracle;
use crate::random::Random;
use std::path::Path;
use std::sync::Arc;
use wal::Place;

/// Bits that are turned over, each on a disk of its own, at one start.
const TRIALS: usize = 4;

/// Turns bits of the files below `dir` over, each on a copy of the disk, and starts there. Returns how many starts were
/// refused.
///
/// # Errors
/// In words: what was served though it was not what it should be.
pub fn check(
    disk: &SimDisk,
    dir: &Path,
    log: wal::Settings,
    oracle: &Oracle,
    random: &mut Random,
) -> Result<u64, String> {
    let (flips, mut refused) = (Flips::of(disk, dir), 0);
    for _ in 0..TRIALS {
        let Some(Flipped { disk: copy, path, offset, place }) = flips.flip(random) else { break };
        let asked = StartOptions {
            seed: random.number(),
            has_no_schema_check: !oracle.has_schema_check(),
            ..StartOptions::default()
        };
        let Ok((_data, recovered)) = recover_with(Arc::new(copy), dir, log, asked.clone()) else {
            refused += 1;
            continue;
        };
        let applied = recovered.committer.applied().0;
        if applied != oracle.at() && applied != written_by_a_start(disk, dir, log, asked) {
            if is_unmarked(path, offset, oracle.mark()) && applied < oracle.at() {
                continue;
            }
            return Err(format!(
                "{place} was turned over: {applied} records of {} were recovered",
                oracle.at()
            ));
        }
        if digest(&recovered.dsa) != oracle.digest() {
            return Err(format!("{place} was turned over, and what was recovered is something else"));
        }
    }
    Ok(refused)
}

/// The last record after a start where no bit is turned over: it writes one where its log has lost what was added to the schema, and the copy of that has
/// not. 0 if it is refused.
fn written_by_a_start(disk: &SimDisk, dir: &Path, log: wal::Settings, asked: StartOptions) -> u64 {
    let started = recover_with(Arc::new(disk.copy()), dir, log, asked);
    started.map_or(0, |(_data, recovered)| recovered.committer.applied().0)
}

/// Does the byte belong to a part of the log of which it is not known that it was synced?
fn is_unmarked(path: &Path, offset: u64, mark: Place) -> bool {
    let number = path.file_stem().and_then(|stem| u32::from_str_radix(stem.to_str()?, 16).ok());
    let is_log = path.extension().is_some_and(|extension| extension == "log");
    is_log && number.is_some_and(|number| (number, offset) >= (mark.file, u64::from(mark.offset)))
}
