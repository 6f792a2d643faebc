//! Bits of the files of a folder that are turned over, each on a disk of its own.

use crate::disk::SimDisk;
use crate::random::Random;
use std::path::{Path, PathBuf};

/// The files below a folder that have bytes.
pub(super) struct Flips<'d> {
    disk: &'d SimDisk,
    /// By folder: one is as likely as another, however many files it has.
    folders: Vec<Vec<(PathBuf, u64)>>,
}

/// A bit that was turned over.
pub(super) struct Flipped<'f> {
    /// The disk on which it was.
    pub(super) disk: SimDisk,
    pub(super) path: &'f Path,
    pub(super) offset: u64,
    /// Which one, in words.
    pub(super) place: String,
}

impl<'d> Flips<'d> {
    /// Of a data directory, or of a backup.
    pub(super) fn of(disk: &'d SimDisk, dir: &Path) -> Flips<'d> {
        let folders = [dir.join("log"), dir.join("snapshot"), dir.to_owned()].map(|dir| disk.files(&dir));
        let with_bytes = |mut files: Vec<(PathBuf, u64)>| {
            files.retain(|(_, bytes)| *bytes > 0);
            files
        };
        let folders = folders.into_iter().map(with_bytes).filter(|files| !files.is_empty()).collect();
        Flips { disk, folders }
    }

    /// Turns one over, on a copy of the disk; `None` if there is none.
    pub(super) fn flip(&self, random: &mut Random) -> Option<Flipped<'_>> {
        if self.folders.is_empty() {
            return None;
        }
        let files = random.one_of(&self.folders);
        let (path, bytes) = random.one_of(files);
        // Most of a log file is empty, and its beginning is not.
        let bytes = if random.chance(700) { (*bytes).min(8192) } else { *bytes };
        let (offset, bit) = (random.below(bytes), random.below(8) as u8);
        let disk = self.disk.copy();
        assert!(disk.flip_bit(path, offset, bit), "the file has that byte");
        let place = format!("bit {bit} of byte {offset} of {}", path.display());
        Some(Flipped { disk, path, offset, place })
    }
}
