//! The files of a node that is to take the place of the one whose data directory it is: in the folder `cluster.new`, until it does.

use crate::files;
use env::disk::Disk;
use std::io;
use std::path::{Path, PathBuf};

const FOLDER: &str = "cluster.new";
/// The file that is written last.
const LAST: &str = "node";

/// The folder in a data directory.
pub fn folder(data: &Path) -> PathBuf {
    data.join(FOLDER)
}

/// Is there something in a data directory?
///
/// # Errors
/// What the disk says.
pub fn exists(disk: &dyn Disk, data: &Path) -> io::Result<bool> {
    Ok(disk.list_dirs(data)?.iter().any(|name| name == FOLDER))
}

/// Is all of it there?
///
/// # Errors
/// What the disk says.
pub fn is_whole(disk: &dyn Disk, data: &Path) -> io::Result<bool> {
    Ok(exists(disk, data)? && disk.list(&folder(data))?.iter().any(|name| name == LAST))
}

/// Removes what is there. The node whose directory it is stays what it is.
///
/// # Errors
/// What the disk says.
pub fn discard(disk: &dyn Disk, data: &Path) -> io::Result<()> {
    remove(disk, &folder(data))?;
    disk.sync_dir(data)
}

/// What is there takes the place of the node whose directory it is. Durable when this returns; after an error it is to be called again.
///
/// # Errors
/// What the disk says.
pub fn take_over(disk: &dyn Disk, data: &Path) -> io::Result<()> {
    let before = files::folder(data);
    if disk.list_dirs(data)?.iter().any(|name| before.ends_with(name)) {
        remove(disk, &before)?;
    }
    disk.rename(&folder(data), &before)?;
    disk.sync_dir(data)
}

fn remove(disk: &dyn Disk, dir: &Path) -> io::Result<()> {
    disk.list(dir)?.iter().try_for_each(|name| disk.remove(&dir.join(name)))?;
    disk.remove_dir(dir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::disk::{RealDisk, replace_file};

    #[test]
    fn it_takes_the_place_wherever_that_was_interrupted() {
        for removed in 0..=3 {
            let temp = tempfile::tempdir().unwrap();
            let (data, disk) = (temp.path(), &RealDisk);
            let before = files::folder(data);
            for dir in [&before, &folder(data)] {
                disk.create_dir(dir).unwrap();
            }
            replace_file(disk, &folder(data), "node", b"new").unwrap();
            for name in ["node", "joined"].iter().skip(removed) {
                replace_file(disk, &before, name, b"old").unwrap();
            }
            if removed == 3 {
                disk.remove_dir(&before).unwrap();
            }
            take_over(disk, data).unwrap();
            assert!(!exists(disk, data).unwrap());
            assert_eq!(disk.list(&before).unwrap(), ["node"]);
            assert_eq!(std::fs::read(before.join("node")).unwrap(), b"new");
        }
    }

    #[test]
    fn what_is_discarded_leaves_the_node() {
        let temp = tempfile::tempdir().unwrap();
        let (data, disk) = (temp.path(), &RealDisk);
        for dir in [files::folder(data), folder(data)] {
            disk.create_dir(&dir).unwrap();
            assert!(!is_whole(disk, data).unwrap());
            replace_file(disk, &dir, "node", b"it").unwrap();
        }
        assert!(is_whole(disk, data).unwrap());
        discard(disk, data).unwrap();
        assert!(!exists(disk, data).unwrap() && files::folder(data).join("node").exists());
    }
}
