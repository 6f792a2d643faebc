//! A file that appears under its name when all of it is on the disk, and not before.

use env::disk::{Disk, RealDisk};
use env::entropy::{Entropy, SystemEntropy};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Where output goes: to a file that is made whole first, or straight on to what is no regular file.
pub(crate) struct WholeFile {
    file: File,
    /// Name while it is written, and in the end; `None` where there is nothing to be renamed.
    names: Option<(PathBuf, PathBuf)>,
}

impl WholeFile {
    /// Begins one. It is written as `NAME.RANDOM.part`, readable by its owner only, and replaces a file of that name in the
    /// end. A device or FIFO is written to as it is.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn create(path: &Path) -> io::Result<WholeFile> {
        // Behind a symbolic link it is the file that is replaced, not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if fs::metadata(&path).is_ok_and(|about| !about.is_file()) {
            return Ok(WholeFile { file: OpenOptions::new().write(true).open(&path)?, names: None });
        }
        let mut part = path.clone().into_os_string();
        part.push(format!(".{:016x}.part", SystemEntropy.next_u64()));
        let part = PathBuf::from(part);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
        Ok(WholeFile { file, names: Some((part, path)) })
    }

    /// Puts it in its place; durable when it returns.
    ///
    /// # Errors
    /// What the disk says; then nothing has that name that had it not before.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let Some((part, path)) = &self.names else { return self.file.flush() };
        self.file.sync_all()?;
        fs::rename(part, path)?;
        let folder = path.parent().filter(|above| !above.as_os_str().is_empty());
        let synced = RealDisk.sync_dir(folder.unwrap_or(Path::new(".")));
        self.names = None;
        synced
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some((part, _)) = &self.names {
            // It is of no use to anybody.
            let _ = fs::remove_file(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn it_appears_when_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.ldif");
        fs::write(&path, "old").unwrap();
        let mut file = WholeFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(dir.path()).len(), 2);
        file.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(dir.path()), ["a.ldif"]);
    }

    #[test]
    fn given_up_it_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = WholeFile::create(&dir.path().join("a.ldif")).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert!(names(dir.path()).is_empty());
    }

    #[test]
    fn a_device_stays_a_device() {
        let mut file = WholeFile::create(Path::new("/dev/null")).unwrap();
        file.write_all(b"x").unwrap();
        file.finish().unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
