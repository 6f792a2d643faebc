//! A bit of a backup that is not what it was stops its restore, or changes nothing.

use super::flips::{Flipped, Flips};
use crate::disk::SimDisk;
use crate::operator::{TARGET, digest_of, restored};
use crate::oracle::Held;
use crate::random::Random;
use node::data::backup::Until;
use std::path::Path;

/// Bits that are turned over, each on a disk of its own.
const TRIALS: usize = 3;

/// Turns bits of the backup in `dir`, which has `held`, over and restores it. Returns how many restores were refused.
///
/// # Errors
/// In words: what was restored though it was not what it should be.
pub fn check(disk: &SimDisk, dir: &Path, held: Held, random: &mut Random) -> Result<u64, String> {
    let (flips, mut refused) = (Flips::of(disk, dir), 0);
    for _ in 0..TRIALS {
        let Flipped { disk: copy, place, .. } = flips.flip(random).expect("a backup has files with bytes");
        if restored(&copy, dir, dir, Until::End, random.number()).is_err() {
            refused += 1;
            continue;
        }
        if digest_of(&copy, Path::new(TARGET))? != Some(held.digest) {
            return Err(format!("{place} was turned over, and what was restored is something else"));
        }
    }
    Ok(refused)
}
