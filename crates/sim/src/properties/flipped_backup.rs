//! A bit of a backup that is not what it was stops its restore, or changes nothing.

use crate::disk::SimDisk;
use crate::operator::{TARGET, digest_of, restored};
use crate::oracle::Held;
use crate::random::Random;
use server::data::backup::Until;
use std::path::{Path, PathBuf};

/// Bits that are turned over, each on a disk of its own.
const TRIALS: usize = 3;

/// Turns bits of the backup in `dir`, which has `held`, over and restores it. Returns how many restores were refused.
///
/// # Errors
/// In words: what was restored though it was not what it should be.
pub fn check(disk: &SimDisk, dir: &Path, held: Held, random: &mut Random) -> Result<u64, String> {
    let mut folders = [dir.join("log"), dir.join("snapshot"), dir.to_owned()].map(|dir| disk.files(&dir));
    folders.iter_mut().for_each(|files| files.retain(|(_, bytes)| *bytes > 0));
    let folders: Vec<Vec<(PathBuf, u64)>> = folders.into_iter().filter(|files| !files.is_empty()).collect();
    let mut refused = 0;
    for _ in 0..TRIALS {
        let files = random.one_of(&folders);
        let (path, bytes) = random.one_of(files);
        // Most of a log file is empty, and its beginning is not.
        let bytes = if random.chance(700) { (*bytes).min(8192) } else { *bytes };
        let (offset, bit) = (random.below(bytes), random.below(8) as u8);
        let copy = disk.copy();
        assert!(copy.flip_bit(path, offset, bit), "the file has that byte");
        if restored(&copy, dir, dir, Until::End, random.number()).is_err() {
            refused += 1;
            continue;
        }
        let place = format!("bit {bit} of byte {offset} of {}", path.display());
        if digest_of(&copy, Path::new(TARGET))? != Some(held.digest) {
            return Err(format!("{place} was turned over, and what was restored is something else"));
        }
    }
    Ok(refused)
}
