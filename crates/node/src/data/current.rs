//! Which folder has the snapshot of a data directory. It is `snapshot` until a replica has taken one from another: files of the same
//! name are other bytes there, so those come into a folder of their own, and the file `current` says which one counts.

use super::checksummed::{table, with_checksum};
use super::error::DataError;
use super::facts::{missing, read_text, unknown, unread, write_text};
use env::disk::Disk;
use std::io;
use std::path::{Path, PathBuf};
use toml::Value;

const NAME: &str = "current";
const KEY: &str = "snapshot";
/// What folders are called that came after the first.
const FOLDER: &str = "snapshot";

/// The folder of generation `number`.
pub(super) fn folder(dir: &Path, number: u64) -> PathBuf {
    match number {
        0 => dir.join(FOLDER),
        _ => dir.join(format!("{FOLDER}-{number}")),
    }
}

/// The generation that a name has, if it is one of ours.
pub(super) fn generation(name: &str) -> Option<u64> {
    let number = match name.strip_prefix(FOLDER)? {
        "" => 0,
        rest => rest.strip_prefix('-')?.parse().ok()?,
    };
    (folder(Path::new(""), number) == Path::new(name)).then_some(number)
}

/// The generation that counts in a data directory.
///
/// # Errors
/// When the file is damaged.
pub(super) fn read(disk: &dyn Disk, dir: &Path) -> Result<u64, DataError> {
    let parse = |text: &str| {
        let table = table(text)?;
        if table.len() > 1 {
            return Err(unknown());
        }
        let number = table.get(KEY).and_then(Value::as_integer).and_then(|number| u64::try_from(number).ok());
        number.filter(|number| *number > 0).ok_or_else(|| missing(KEY))
    };
    let text = read_text(disk, dir, NAME)?;
    text.map_or(Ok(0), |text| parse(&text).map_err(|what| unread(dir.join(NAME), what)))
}

/// The folder that has the snapshot of a data directory.
///
/// # Errors
/// As [`read`].
pub(super) fn snapshot_dir(disk: &dyn Disk, dir: &Path) -> Result<PathBuf, DataError> {
    Ok(folder(dir, read(disk, dir)?))
}

/// The folder of generation `number` counts from now on: durable when it returns.
///
/// # Errors
/// What the disk says; it may count by then.
pub(super) fn write(disk: &dyn Disk, dir: &Path, number: u64) -> io::Result<()> {
    write_text(disk, dir, NAME, &with_checksum(format!("{KEY} = {number}\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_known_again() {
        for number in [0, 1, 17] {
            let folder = folder(Path::new("d"), number);
            assert_eq!(generation(folder.strip_prefix("d").unwrap().to_str().unwrap()), Some(number));
        }
        for name in ["log", "snapshot-", "snapshot-01", "snapshot-0", "snapshots", "snapshot-x"] {
            assert_eq!(generation(name), None, "{name}");
        }
    }
}
