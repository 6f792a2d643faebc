//! Copies the files of a log that somebody else may write meanwhile, without asking for anything: files of a log are used
//! again only after they got another name, so what still has its name after the copy was not changed under it.

use crate::error::{Damage, OpenError};
use crate::faults;
use crate::files::{LogFile, Role, parse, path};
use crate::place::{Index, Place};
use crate::scan::{Folder, scan};
use env::disk::{Disk, SECTOR};
use env::planted;
use std::io;
use std::path::{Path, PathBuf};

/// Bytes copied at once.
const PIECE_BYTES: usize = 1 << 20;

/// What was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Last record in the copy; that of the snapshot when there is none after it.
    pub last: Index,
    /// Where the copy ends.
    pub end: Place,
    /// Bytes that were written.
    pub bytes: u64,
    /// Bytes of files that were there before and got one more name.
    pub shared_bytes: u64,
}

/// Copies the files that hold the records after `from`, up to the last whole block, into the folder `to`, which is there
/// and empty. All that was written before the call is in the copy. A file that `known`, the folder of an earlier copy,
/// has byte for byte is linked, where the file system can. Durable when it returns, but for the names.
///
/// # Errors
/// `Damaged`, `Missing` and `Io` of kind `NotFound` or `Interrupted` may come of files being used again meanwhile: try
/// again, in a new folder; what comes up twice in the same words is a fact.
pub fn copy_log(
    disk: &dyn Disk,
    dir: &Path,
    from: Index,
    to: &Path,
    known: Option<&Path>,
) -> Result<Copied, OpenError> {
    let folder = Folder::read(disk, dir)?;
    let Some(start) = folder.start(from) else {
        let first = folder.files.first().and_then(|(_, header)| *header).map_or(Index(0), |h| h.first);
        return Err(OpenError::Missing { wanted: from.plus(1), first, last: None });
    };
    let end = scan(&folder, start, &mut |_| Ok(()))?;
    let mut copied = Copied { last: from, end: end.place, ..Copied::default() };
    if let Some((first, next)) = end.indexes {
        if next <= from {
            return Err(OpenError::Missing { wanted: from, first, last: Some(Index(next.0 - 1)) });
        }
        copied.last = Index(next.0 - 1);
    }
    assert!(start <= end.file, "a scan ends in the file where it began, or behind it");
    for (file, _) in &folder.files[start..=end.file] {
        let is_last = file.number() == end.place.file;
        let until = if is_last { end.place.offset } else { file.header.bytes };
        let known = known.map(|known| path(known, file.number(), Role::Log));
        let to = path(to, file.number(), Role::Log);
        match known.filter(|known| has_same_bytes(disk, file, until, known)) {
            Some(known) if disk.link(&known, &to).is_ok() => copied.shared_bytes += u64::from(until),
            _ => {
                copy_file(disk, file, until, &to)?;
                copied.bytes += u64::from(until);
            }
        }
    }
    let oldest = folder.files[start].0.number();
    if !disk.list(dir)?.iter().any(|name| parse(name) == Some((oldest, Role::Log))) {
        let text = "log files were reused while they were copied";
        return Err(OpenError::Io(io::Error::new(io::ErrorKind::Interrupted, text)));
    }
    Ok(copied)
}

/// Bytes that each file of a log has: those of the newest, `None` without any.
///
/// # Errors
/// When the log is damaged or cannot be read.
pub fn file_bytes(disk: &dyn Disk, dir: &Path) -> Result<Option<u32>, OpenError> {
    let folder = Folder::read(disk, dir)?;
    Ok(folder.files.last().map(|(file, _)| file.header.bytes))
}

/// Copies the first `until` bytes; what follows up to the file's length takes no room and reads as zeros.
fn copy_file(disk: &dyn Disk, file: &LogFile, until: u32, to: &Path) -> io::Result<()> {
    assert!(until <= file.header.bytes, "no more is copied than the file has");
    let copy = disk.create(to)?;
    let mut bytes = vec![0; PIECE_BYTES.min(until as usize)];
    for at in (0..until as usize).step_by(PIECE_BYTES) {
        let piece = PIECE_BYTES.min(until as usize - at);
        file.file.read_at(&mut bytes[..piece], at as u64)?;
        copy.write_at(&bytes[..piece], at as u64)?;
    }
    copy.truncate(u64::from(file.header.bytes))?;
    if planted::is(faults::COPY_NOT_SYNCED) {
        return Ok(());
    }
    copy.sync_data()
}

/// Whether an earlier copy holds the same: the same bytes up to `until` and nothing after that. One that cannot be read does
/// not.
fn has_same_bytes(disk: &dyn Disk, file: &LogFile, until: u32, known: &Path) -> bool {
    let compare = || -> io::Result<bool> {
        let known = disk.open(known)?;
        if known.len()? != u64::from(file.header.bytes) {
            return Ok(false);
        }
        let (mut here, mut there) = (vec![0; PIECE_BYTES], vec![0; PIECE_BYTES]);
        for at in (0..until as usize).step_by(PIECE_BYTES) {
            let piece = PIECE_BYTES.min(until as usize - at);
            file.file.read_at(&mut here[..piece], at as u64)?;
            known.read_at(&mut there[..piece], at as u64)?;
            if here[..piece] != there[..piece] {
                return Ok(false);
            }
        }
        let rest = &mut there[..SECTOR.min((file.header.bytes - until) as usize)];
        known.read_at(rest, u64::from(until))?;
        Ok(rest.iter().all(|byte| *byte == 0))
    };
    compare().unwrap_or(false)
}

/// Puts a file that is full, and will be used again, into an archive: a folder of log files that are called
/// `FIRST-EPOCH.log`, after their first record and a number that no other has. Durable when it returns; nothing is done when
/// it is there. Returns its name and its last record.
///
/// # Errors
/// What the disk says, or that the file is damaged, or that the archive has another by that name.
pub fn archive_file(disk: &dyn Disk, file: &Path, archive: &Path) -> Result<(PathBuf, Index), OpenError> {
    let source = LogFile::open_as(disk, file)??;
    disk.create_dir(archive)?;
    let (first, _) = records_of(disk, file)?;
    let name = format!("{:016x}-{:016x}.log", first.0, source.header.epoch);
    let path = archive.join(&name);
    if disk.list(archive)?.contains(&name) {
        if !has_same_bytes(disk, &source, source.header.bytes, &path) {
            let what = "it is in the archive with other bytes than in the log";
            return Err(Damage::at(&path, 0, what).into());
        }
        // Its name may not have been durable when the process ended that gave it.
        disk.sync_dir(archive)?;
        return Ok((path, records_of(disk, file)?.1));
    }
    let new = archive.join([&*name, ".new"].concat());
    let written = copy_file(disk, &source, source.header.bytes, &new).map_err(OpenError::from);
    // It is read once more before the only other copy goes.
    let last = written.and_then(|()| records_of(disk, &new)).inspect_err(|_| {
        // Its space is of more use free.
        let _ = disk.remove(&new);
    })?;
    disk.rename(&new, &path)?;
    disk.sync_dir(archive)?;
    Ok((path, last.1))
}

/// First and last record of a file by itself.
fn records_of(disk: &dyn Disk, file: &Path) -> Result<(Index, Index), OpenError> {
    let folder = Folder::of_one(LogFile::open_as(disk, file)??)?;
    let end = scan(&folder, 0, &mut |_| Ok(()))?;
    let (first, next) = end.indexes.ok_or_else(|| Damage::at(file, 0, "it holds no record"))?;
    Ok((first, Index(next.0 - 1)))
}
