//! Log files: their names, how one is prepared for use, and how one that is no longer needed is kept for the next.
//!
//! `0000002a.log` is in use or ready for it; `0000002a.spare` was released and will be prepared again; `0000002a.new` is
//! being prepared and worth nothing. A name that ends in `.log` is given last, after everything before the first block is
//! durable: so a log file whose header cannot be read was damaged.

use crate::error::Damage;
use crate::format::{FILE_HEADER_BYTES, FILE_HEADER_USED, FileHeader};
use crate::newest;
use crate::place::Place;
use env::disk::{Disk, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A log file that is open.
#[derive(Debug)]
pub(crate) struct LogFile {
    pub(crate) file: Arc<dyn File>,
    pub(crate) header: FileHeader,
    /// Of all checksums in it.
    pub(crate) seed: u32,
}

impl LogFile {
    fn new(file: Arc<dyn File>, header: FileHeader) -> LogFile {
        assert!(header.bytes as usize >= FILE_HEADER_BYTES, "a log file has room for its header");
        LogFile { file, header, seed: header.seed() }
    }

    pub(crate) fn number(&self) -> u32 {
        self.header.number
    }

    /// Where its first block stands.
    pub(crate) fn begin(&self) -> Place {
        Place { file: self.header.number, offset: FILE_HEADER_BYTES as u32 }
    }

    /// Bytes for blocks.
    pub(crate) fn room(&self) -> usize {
        self.header.bytes as usize - FILE_HEADER_BYTES
    }

    /// Opens the file called `number`.
    ///
    /// # Errors
    /// The inner one says what is wrong with its bytes.
    pub(crate) fn open(disk: &dyn Disk, dir: &Path, number: u32) -> io::Result<Result<LogFile, Damage>> {
        let path = path(dir, number, Role::Log);
        let opened = LogFile::open_as(disk, &path)?;
        Ok(opened.and_then(|file| match file.number() {
            own if own == number => Ok(file),
            other => Err(Damage::at(&path, 0, format!("its header says that it is file {other}"))),
        }))
    }

    /// Opens a log file, whatever it is called.
    ///
    /// # Errors
    /// As [`LogFile::open`].
    pub(crate) fn open_as(disk: &dyn Disk, path: &Path) -> io::Result<Result<LogFile, Damage>> {
        let file = disk.open(path)?;
        let len = file.len()?;
        if len < FILE_HEADER_BYTES as u64 {
            return Ok(Err(Damage::at(path, 0, format!("it has only {len} bytes"))));
        }
        let mut bytes = [0; FILE_HEADER_USED];
        file.read_at(&mut bytes, 0)?;
        let header = FileHeader::decode(&bytes).and_then(|header| {
            if u64::from(header.bytes) > len || (header.bytes as usize) < FILE_HEADER_BYTES {
                return Err(format!("it should have {} bytes and has {len}", header.bytes));
            }
            Ok(header)
        });
        Ok(header.map(|header| LogFile::new(file, header)).map_err(|what| Damage::at(path, 0, what)))
    }
}

/// What a file's name says that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Log,
    Spare,
    New,
}

impl Role {
    fn suffix(self) -> &'static str {
        match self {
            Role::Log => "log",
            Role::Spare => "spare",
            Role::New => "new",
        }
    }
}

/// Where the file `number` lies.
pub(crate) fn path(dir: &Path, number: u32, role: Role) -> PathBuf {
    dir.join(format!("{number:08x}.{}", role.suffix()))
}

/// What a name says; `None` for files that are not the log's.
pub(crate) fn parse(name: &str) -> Option<(u32, Role)> {
    let (number, suffix) = name.split_once('.')?;
    let role = [Role::Log, Role::Spare, Role::New].into_iter().find(|role| role.suffix() == suffix)?;
    let number = u32::from_str_radix(number, 16).ok()?;
    (format!("{number:08x}.{suffix}") == name).then_some((number, role))
}

/// A file to be prepared: made, or taken from the spares, with a header that makes what is in it meaningless.
#[derive(Debug)]
pub struct Preparation {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) dir: PathBuf,
    pub(crate) header: FileHeader,
    /// Number of the spare to be used.
    pub(crate) spare: Option<u32>,
    /// Number of the newest file that nobody is expected to read soon.
    pub(crate) cold: Option<u32>,
}

/// A file that [`Preparation::run`] prepared.
#[derive(Debug)]
pub struct Prepared(pub(crate) Arc<LogFile>);

impl Preparation {
    /// Prepares it: writes zeros to all of a new file, which takes as long as the disk needs for that.
    ///
    /// # Errors
    /// What the disk says. What was begun is removed; nothing that the log holds is touched.
    pub fn run(&self) -> io::Result<Prepared> {
        // First, so that the new file can have its memory.
        self.drop_cold();
        let new = path(&self.dir, self.header.number, Role::New);
        match self.make(&new) {
            Ok(file) => Ok(Prepared(Arc::new(LogFile::new(file, self.header)))),
            Err(error) => {
                // Its space is of more use free. Should this fail too, the next start removes it.
                let _ = self.disk.remove(&new);
                Err(error)
            }
        }
    }

    /// The system needs no copy of a full file in memory. It may have been released meanwhile.
    fn drop_cold(&self) {
        let cold = self.cold.and_then(|number| self.disk.open(&path(&self.dir, number, Role::Log)).ok());
        if let Some(file) = cold {
            file.drop_cached();
        }
    }

    fn make(&self, new: &Path) -> io::Result<Arc<dyn File>> {
        let file = match self.spare {
            Some(spare) => {
                self.disk.rename(&path(&self.dir, spare, Role::Spare), new)?;
                self.disk.open(new)?
            }
            None => {
                let file = self.disk.create(new)?;
                file.allocate(u64::from(self.header.bytes))?;
                file
            }
        };
        file.write_at(&self.header.encode(), 0)?;
        file.sync_data()?;
        let path = path(&self.dir, self.header.number, Role::Log);
        self.disk.rename(new, &path)?;
        self.disk.sync_dir(&self.dir)?;
        newest::note(&*self.disk, &self.dir, self.header.number)?;
        // Opened by its new name, so that messages say that.
        self.disk.open(&path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_others_are_none() {
        for role in [Role::Log, Role::Spare, Role::New] {
            let path = path(Path::new("d"), 42, role);
            assert_eq!(parse(path.file_name().unwrap().to_str().unwrap()), Some((42, role)));
        }
        for name in ["lock", "2a.log", "0000002A.log", "0000002a.log2", "0000002a", "+000002a.log"] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
