//! `newest`: a note of the newest log file that was ever made ready for records. Its file is there as long as the log is, so where
//! it is missing, files were taken away, and with them perhaps records that nothing else tells of. Logs of earlier versions
//! have no such note until they are opened.

use crate::error::{Damage, OpenError};
use crate::files::{Role, parse, path};
use crate::place::Index;
use crate::scan::Folder;
use env::disk::{Disk, replace_file};
use std::io;
use std::path::Path;

const NAME: &str = "newest";
const MAGIC: [u8; 8] = *b"PandoNew";
/// Magic, number, checksum of both.
const BYTES: usize = 16;

/// Writes down that file `number` is there, or, before files are removed, that no later one need be. Durable when it returns.
///
/// # Errors
/// What the disk says; then what was written down before may still hold.
pub(crate) fn note(disk: &dyn Disk, dir: &Path, number: u32) -> io::Result<()> {
    replace_file(disk, dir, NAME, &encode(number))?;
    disk.sync_dir(dir)
}

/// What is written down; `None` when nothing is.
///
/// # Errors
/// Damage, or what the disk says.
pub(crate) fn read(disk: &dyn Disk, dir: &Path) -> Result<Option<u32>, OpenError> {
    if !disk.list(dir)?.iter().any(|name| name == NAME) {
        return Ok(None);
    }
    let path = dir.join(NAME);
    let file = disk.open(&path)?;
    let mut bytes = [0; BYTES];
    let is_whole = file.len()? == BYTES as u64;
    if is_whole {
        file.read_at(&mut bytes, 0)?;
    }
    let number = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
    if !is_whole || bytes != encode(number) {
        return Err(Damage::at(&path, 0, "it does not tell which log file is the newest").into());
    }
    Ok(Some(number))
}

fn encode(number: u32) -> [u8; BYTES] {
    let mut out = [0; BYTES];
    out[..8].copy_from_slice(&MAGIC);
    out[8..12].copy_from_slice(&number.to_le_bytes());
    let crc = crc32c::crc32c(&out[..12]);
    out[12..].copy_from_slice(&crc.to_le_bytes());
    out
}

/// Refuses a log of which the newest files, or all, are gone. `from` is the last record that a snapshot holds.
pub(crate) fn must_have_files(folder: &Folder, newest: Option<u32>, from: Index) -> Result<(), OpenError> {
    let last = folder.files.last().map(|(file, _)| file.number());
    let what = match (newest, last) {
        (Some(newest), last) if last.is_none_or(|last| last < newest) => {
            let path = path(&folder.dir, newest, Role::Log);
            format!("{} was the newest log file and is not there, nor a later one", path.display())
        }
        (None, None) if from > Index(0) => {
            format!("the snapshot holds the log up to record {from}, and there is no log file")
        }
        _ => return Ok(()),
    };
    Err(gone(&folder.dir, what))
}

/// Refuses a log without any block where there must have been one. Files are freed only when a later one has records; so
/// without a snapshot the first is there, and with one there is a block. Earlier versions freed the file before the first
/// record of the next was durable, which left a spare, and began no log of a restored directory with a block.
pub(crate) fn must_have_blocks(folder: &Folder, newest: Option<u32>, from: Index) -> Result<(), OpenError> {
    let Some(number) = folder.files.first().map(|(file, _)| file.number()) else { return Ok(()) };
    let is_possible = match (from, newest) {
        (Index(0), _) => number == 1,
        (_, Some(_)) => false,
        (_, None) => number == 1 || folder.spares.contains(&(number - 1)),
    };
    let what = match from {
        _ if is_possible => return Ok(()),
        Index(0) => format!("the log begins with file {number:08x}, which has no record"),
        _ => format!("the snapshot holds the log up to record {from}, and no log file has a record"),
    };
    Err(gone(&folder.dir, what))
}

/// Refuses a folder without log files: for a log that was begun.
///
/// # Errors
/// `Gone`, or what the disk says.
pub fn must_be_there(disk: &dyn Disk, dir: &Path) -> Result<(), OpenError> {
    let is_log = |name: &String| matches!(parse(name), Some((_, Role::Log)));
    match disk.list(dir) {
        Ok(names) if names.iter().any(is_log) => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        _ => Err(gone(dir, "the directory was served, and there is no log file".to_owned())),
    }
}

fn gone(dir: &Path, what: String) -> OpenError {
    OpenError::Gone { dir: dir.to_owned(), what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::disk::RealDisk;

    #[test]
    fn a_number_comes_back_and_damage_shows() {
        let dir = tempfile::tempdir().unwrap();
        let read = || read(&RealDisk, dir.path());
        assert_eq!(read().unwrap(), None);
        for number in [1, 0x2a, 7] {
            note(&RealDisk, dir.path(), number).unwrap();
            assert_eq!(read().unwrap(), Some(number));
        }
        let whole = encode(7);
        for at in 0..BYTES * 8 {
            let mut bytes = whole;
            bytes[at / 8] ^= 1 << (at % 8);
            std::fs::write(dir.path().join(NAME), bytes).unwrap();
            assert!(matches!(read(), Err(OpenError::Damaged(_))), "bit {at}");
        }
        std::fs::write(dir.path().join(NAME), &whole[..BYTES - 1]).unwrap();
        assert!(matches!(read(), Err(OpenError::Damaged(_))));
    }
}
