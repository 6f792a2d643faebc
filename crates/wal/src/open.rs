//! Opening a log: recovery. Nothing is changed before all of it was read and found sound.

use crate::error::{Damage, OpenError};
use crate::files::{LogFile, Preparation, Role, path};
use crate::format::FileHeader;
use crate::log::Log;
use crate::newest;
use crate::place::{Index, Place};
use crate::scan::{End, Folder, Record, scan};
use crate::settings::Settings;
use crate::state::{Filling, Full, Health, State};
use crate::writer::Writer;
use env::disk::{Disk, SECTOR};
use env::entropy::{Entropy, SeededEntropy};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of the tail that are written again at once.
const PIECE_BYTES: usize = 1 << 20;

/// A log that was opened.
#[derive(Debug)]
pub struct Opened {
    /// For those who append.
    pub log: Arc<Log>,
    /// For the one who writes.
    pub writer: Writer,
    /// Records handed out: those after `from`.
    pub records: u64,
    /// There was no log file at all.
    pub is_new: bool,
    /// The torn tail that was cut.
    pub cut: Option<Cut>,
}

/// A torn tail: what was being written when the power went. None of it had been reported safe in mode `always`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The file.
    pub path: PathBuf,
    /// Where the log ends now.
    pub offset: u64,
    /// Blocks whose headers were found after that.
    pub blocks: usize,
}

/// Opens the log in `dir`, which is made if it is not there, and hands every record after `from` to `on_record`, in order.
/// The caller holds the folder's lock. `from` is the last record that a snapshot holds, 0 without one.
///
/// What is handed out is durable when this returns, whatever it was before: the part that no mark covers is written
/// again and synced, because after a failed sync the system may show bytes that the disk never got.
///
/// # Errors
/// See [`OpenError`]: damage, gaps and refused records leave the files as they are.
pub fn open(
    disk: Arc<dyn Disk>,
    dir: &Path,
    settings: Settings,
    entropy: &mut dyn Entropy,
    from: Index,
    on_record: &mut dyn FnMut(Record<'_>) -> Result<(), String>,
) -> Result<Opened, OpenError> {
    open_folder(disk, dir, settings, entropy, from, false, on_record)
}

/// Begins a log that goes on after record `from`, which a snapshot holds, in a folder that has none.
///
/// # Errors
/// As [`open`].
pub fn create(
    disk: Arc<dyn Disk>,
    dir: &Path,
    settings: Settings,
    entropy: &mut dyn Entropy,
    from: Index,
) -> Result<Opened, OpenError> {
    open_folder(disk, dir, settings, entropy, from, true, &mut |_| Ok(()))
}

/// As [`open`]; with `may_begin` there need be no log although a snapshot holds a part of it.
fn open_folder(
    disk: Arc<dyn Disk>,
    dir: &Path,
    settings: Settings,
    entropy: &mut dyn Entropy,
    from: Index,
    may_begin: bool,
    on_record: &mut dyn FnMut(Record<'_>) -> Result<(), String>,
) -> Result<Opened, OpenError> {
    settings.check().map_err(OpenError::Settings)?;
    disk.create_dir(dir)?;
    let folder = Folder::read(&*disk, dir)?;
    let newest = newest::read(&*disk, dir)?;
    newest::must_have_files(&folder, newest, if may_begin { Index(0) } else { from })?;
    let start = folder.start(from);
    if !folder.stray.is_empty() && !folder.reaches(from.plus(1)) {
        return Err(gap(&folder));
    }
    if start.is_none()
        && let Some((_, Some(header))) = folder.files.first()
    {
        return Err(OpenError::Missing { wanted: from.plus(1), first: header.first, last: None });
    }
    let mut records = 0;
    let mut visit = |record: Record<'_>| {
        if record.index <= from {
            return Ok(());
        }
        records += 1;
        on_record(record)
    };
    let end = match folder.files.is_empty() {
        true => None,
        false => Some(scan(&folder, start.unwrap_or(0), &mut visit)?),
    };
    if let Some((first, next)) = end.as_ref().and_then(|end| end.indexes)
        && next <= from
    {
        return Err(OpenError::Missing { wanted: from, first, last: Some(Index(next.0 - 1)) });
    }
    let is_new = folder.files.is_empty();
    let is_bare = end.as_ref().is_none_or(|end| end.indexes.is_none());
    if is_bare {
        newest::must_have_blocks(&folder, newest, from)?;
    }
    let mut seeds = SeededEntropy::new(entropy.next_u64());
    repair(&disk, &folder, end.as_ref())?;
    let (run, cut) = (seeds.next_u64(), end.as_ref().and_then(|end| cut(dir, end)));
    let (previous, mark) = end.as_ref().map_or((0, Place::default()), |end| (end.previous, end.place));
    let unmarked = end.as_ref().is_some_and(|end| end.mark < end.place);
    let state = state(&disk, dir, settings, seeds, from, folder, end)?;
    let mark = if is_new { state.current.begin() } else { mark };
    let last = state.next_number() - 1;
    let log = Arc::new(Log::new(Arc::clone(&disk), dir.to_owned(), settings, state));
    let mut writer = Writer::new(log.clone(), run, previous, mark, unmarked);
    if is_bare && from > Index(0) {
        writer.write_first().map_err(io::Error::other)?;
    }
    if !is_new && newest != Some(last) {
        newest::note(&*disk, dir, last)?;
    }
    Ok(Opened { writer, log, records, is_new, cut })
}

/// A file in the middle is not there, and nothing shows that the files before it are not needed.
fn gap(folder: &Folder) -> OpenError {
    let missing = folder.files.first().map_or(0, |(file, _)| file.number() - 1);
    let path = path(&folder.dir, missing, Role::Log);
    Damage::at(&path, 0, "there is no such file, but files before and after").into()
}

fn cut(dir: &Path, end: &End) -> Option<Cut> {
    let path = path(dir, end.place.file, Role::Log);
    let (offset, blocks) = (u64::from(end.place.offset), end.torn.len());
    (blocks > 0).then_some(Cut { path, offset, blocks })
}

/// Makes the files what they were found to be: what was read is durable, what comes after the end is never read again.
fn repair(disk: &Arc<dyn Disk>, folder: &Folder, end: Option<&End>) -> Result<(), OpenError> {
    for &number in &folder.new {
        disk.remove(&path(&folder.dir, number, Role::New))?;
    }
    for &number in &folder.stray {
        disk.remove(&path(&folder.dir, number, Role::Log))?;
    }
    // Also the names of spares: one is used only when a crash cannot bring its old name back.
    disk.sync_dir(&folder.dir)?;
    let Some(end) = end else { return Ok(()) };
    if end.has_torn_files() {
        // Their blocks could follow once the log has grown up to them: such files must be prepared anew. The newest
        // first, so that a crash leaves no gap; and not before it is written down that they need not be there.
        newest::note(&**disk, &folder.dir, folder.files[end.file].0.number())?;
        for (file, _) in folder.files[end.file + 1..].iter().rev() {
            disk.remove(&path(&folder.dir, file.number(), Role::Log))?;
            disk.sync_dir(&folder.dir)?;
        }
    }
    wipe(&folder.files[end.file].0, end)?;
    for (file, _) in &folder.files[..=end.file] {
        if end.mark.file <= file.number() {
            let begin = if end.mark.file == file.number() { end.mark } else { file.begin() };
            let until = if end.place.file == file.number() { end.place.offset } else { file.header.bytes };
            write_again(file, begin.offset, until)?;
        }
    }
    let last = if end.has_torn_files() { end.file } else { folder.files.len() - 1 };
    for (file, _) in &folder.files[end.file..=last] {
        upgrade(file)?;
    }
    Ok(())
}

/// Gives a file of an earlier version, which takes records from now on, the header of this version: an earlier program then
/// refuses it by its version. The header lies in one sector, so a crash leaves the one or the other.
fn upgrade(file: &LogFile) -> io::Result<()> {
    let Some(header) = file.header.upgraded() else { return Ok(()) };
    file.file.write_at(&header.encode(), 0)?;
    file.file.sync_data()
}

/// Overwrites the headers of torn blocks in the last file, so that they are not found, and reported, again.
fn wipe(file: &LogFile, end: &End) -> io::Result<()> {
    let here = || end.torn.iter().filter(|torn| torn.file == file.number());
    for torn in here() {
        file.file.write_at(&[0; SECTOR], u64::from(torn.offset))?;
    }
    if here().next().is_some() {
        file.file.sync_data()?;
    }
    Ok(())
}

/// Reads a range and writes it as it is, then syncs.
fn write_again(file: &LogFile, begin: u32, until: u32) -> io::Result<()> {
    assert!(until <= file.header.bytes, "a part of the file is written again");
    let mut at = begin as usize;
    let mut bytes = Vec::new();
    while at < until as usize {
        bytes.resize(PIECE_BYTES.min(until as usize - at), 0);
        file.file.read_at(&mut bytes, at as u64)?;
        file.file.write_at(&bytes, at as u64)?;
        at += bytes.len();
    }
    file.file.sync_data()
}

/// The state of a log that goes on at `end`, or begins after `from`.
fn state(
    disk: &Arc<dyn Disk>,
    dir: &Path,
    settings: Settings,
    mut entropy: SeededEntropy,
    from: Index,
    folder: Folder,
    end: Option<End>,
) -> Result<State, OpenError> {
    let spares = spares(&**disk, dir, settings, &folder)?;
    let next = end.as_ref().and_then(|end| end.indexes).map_or(from.plus(1), |(_, next)| next);
    let mut files = folder.files;
    let (mut full, offset) = (Vec::new(), end.as_ref().map(|end| end.place.offset));
    if let Some(end) = &end {
        if end.has_torn_files() {
            files.truncate(end.file + 1);
        }
        let rest = files.split_off(end.file);
        for (at, (file, _)) in files.iter().enumerate() {
            let next_first = files.get(at + 1).unwrap_or(&rest[0]).1.map_or(next, |header| header.first);
            full.push(Full {
                number: file.number(),
                bytes: file.header.bytes,
                last: Index(next_first.0 - 1),
            });
        }
        files = rest;
    }
    let mut ready: std::collections::VecDeque<_> = files.into_iter().map(|(file, _)| file).collect();
    let current = match ready.pop_front() {
        Some(file) => file,
        None => {
            let header = FileHeader::new(1, entropy.next_u64(), settings.file_bytes);
            let (spare, cold) = (None, None);
            Preparation { disk: disk.clone(), dir: dir.to_owned(), header, spare, cold }.run()?.0
        }
    };
    let offset = offset.unwrap_or(current.begin().offset);
    assert!(offset <= current.header.bytes, "the log ends within its last file");
    assert!(full.windows(2).all(|pair| pair[0].number + 1 == pair[1].number), "files of a log have no gap");
    assert!(full.last().is_none_or(|full| full.number < current.number()), "full files come first");
    assert!(from < next, "what a snapshot holds is not numbered again");
    Ok(State {
        filling: Filling::new(Vec::new(), next),
        free: Vec::new(),
        waiting_bytes_max: settings.waiting_bytes_max,
        current,
        offset,
        ready,
        full: full.into(),
        spares,
        preparing: false,
        no_space: None,
        entropy,
        health: Health::Good,
        room_changed: false,
        stopping: false,
        writer_waits: false,
    })
}

/// Spares that can be used again; those of another size, or too many, are removed.
fn spares(disk: &dyn Disk, dir: &Path, settings: Settings, folder: &Folder) -> io::Result<Vec<u32>> {
    let mut kept = Vec::new();
    for &number in &folder.spares {
        let path = path(dir, number, Role::Spare);
        let fits = disk.open(&path)?.len()? == u64::from(settings.file_bytes);
        if fits && kept.len() < settings.spare_files_max {
            kept.push(number);
        } else {
            disk.remove(&path)?;
        }
    }
    Ok(kept)
}
