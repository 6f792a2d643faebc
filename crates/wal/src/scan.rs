//! Reading a log: finds the blocks in order, hands out their records, and tells a torn tail from damage.
//!
//! A block counts if its checksums are right, it stands where it says, and it follows the block before it: same chain,
//! next index. The first place where that fails is the end of the log. It is a *torn tail* unless a block that was written
//! later says, by its mark, that everything there had been synced: then it is *damage*.

use crate::error::{Damage, OpenError};
use crate::faults;
use crate::files::{LogFile, Role, parse};
use crate::format::{BLOCK_HEADER_BYTES, BlockHeader, Kind, Records, body_crc};
use crate::newest;
use crate::place::{Index, Place};
use env::disk::{Disk, SECTOR};
use env::planted;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes read at once.
const WINDOW_BYTES: usize = 1 << 20;

/// A record as it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its number.
    pub index: Index,
    /// What it is.
    pub kind: Kind,
    /// What was appended.
    pub payload: &'a [u8],
    /// Where its block begins.
    pub place: Place,
}

/// Takes records in order; an error in words ends the reading.
pub type Visitor<'a> = &'a mut dyn FnMut(Record<'_>) -> Result<(), String>;

/// The log files of a folder, and what else the log left there.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) dir: PathBuf,
    /// The files that follow one another up to the newest, with the header of their first block.
    pub(crate) files: Vec<(Arc<LogFile>, Option<BlockHeader>)>,
    /// Numbers of older ones before a gap: released, though a crash brought their names back.
    pub(crate) stray: Vec<u32>,
    pub(crate) spares: Vec<u32>,
    pub(crate) new: Vec<u32>,
}

impl Folder {
    /// Reads names and headers. Nothing is changed.
    pub(crate) fn read(disk: &dyn Disk, dir: &Path) -> Result<Folder, OpenError> {
        let names = disk.list(dir)?;
        let numbers = |role| {
            let mut numbers: Vec<u32> = names
                .iter()
                .filter_map(|name| parse(name))
                .filter(|(_, r)| *r == role)
                .map(|(n, _)| n)
                .collect();
            numbers.sort_unstable();
            numbers
        };
        let mut logs = numbers(Role::Log);
        let gap = logs.windows(2).rposition(|pair| pair[0] + 1 != pair[1]).map_or(0, |at| at + 1);
        let present = logs.split_off(gap);
        let mut window = Window::new();
        let mut files = Vec::with_capacity(present.len());
        for number in present {
            let file = LogFile::open(disk, dir, number)??;
            let first = window.header(&file, file.begin())?.map(|(header, _)| header);
            files.push((Arc::new(file), first));
        }
        let (spares, new) = (numbers(Role::Spare), numbers(Role::New));
        Ok(Folder { dir: dir.to_owned(), files, stray: logs, spares, new })
    }

    /// One file by itself, which may be called anything.
    pub(crate) fn of_one(file: LogFile) -> Result<Folder, OpenError> {
        let first = Window::new().header(&file, file.begin())?.map(|(header, _)| header);
        let files = vec![(Arc::new(file), first)];
        Ok(Folder { dir: PathBuf::new(), files, stray: Vec::new(), spares: Vec::new(), new: Vec::new() })
    }

    /// Where to begin, in the order of `files`, so that what comes after record `from` is found: the file with `from`
    /// itself, so that the chain to the block after it is known. Else, when that was released, the file that goes on with
    /// the next record; or the first file, if nothing is known of it: its first block may not have reached the disk.
    /// `None` when the files begin later.
    pub(crate) fn start(&self, from: Index) -> Option<usize> {
        let first_is_open = self.files.first().is_some_and(|(_, first)| first.is_none());
        let with = |index: Index| {
            self.files.iter().rposition(|(_, first)| first.is_some_and(|header| header.first <= index))
        };
        with(from).or_else(|| with(from.plus(1))).or(first_is_open.then_some(0))
    }

    /// Whether a whole block shows that nothing before the files is needed for record `next`.
    pub(crate) fn reaches(&self, next: Index) -> bool {
        self.files.iter().any(|(_, first)| first.is_some_and(|header| header.first <= next))
    }
}

/// Where reading ended.
#[derive(Clone, Debug)]
pub(crate) struct End {
    /// Position of the file in the folder's list.
    pub(crate) file: usize,
    /// End of the last good block.
    pub(crate) place: Place,
    /// Checksum in the header of that block; 0 if there was none.
    pub(crate) previous: u32,
    /// Index of the first record and of the one after the last; `None` if there was no block.
    pub(crate) indexes: Option<(Index, Index)>,
    /// The highest mark seen: everything before it had been synced.
    pub(crate) mark: Place,
    /// Headers of blocks that stand after the end and do not count.
    pub(crate) torn: Vec<Place>,
}

/// Reads all blocks from the beginning of `folder.files[start]`.
pub(crate) fn scan(folder: &Folder, start: usize, visit: Visitor<'_>) -> Result<End, OpenError> {
    let begin = folder.files[start].0.begin();
    let none = End { file: start, place: begin, previous: 0, indexes: None, mark: begin, torn: Vec::new() };
    let mut scan = Scan { folder, window: Window::new(), end: none };
    while scan.block(visit)? || scan.next_file(visit)? {}
    scan.look_for_marks()?;
    if planted::is(faults::TORN_TAIL_READ) {
        scan.window.trusts = true;
        scan.block(visit)?;
    }
    Ok(scan.end)
}

struct Scan<'a> {
    folder: &'a Folder,
    window: Window,
    end: End,
}

impl Scan<'_> {
    /// Reads the block at the end so far. False when none stands there that follows the one before.
    fn block(&mut self, visit: Visitor<'_>) -> Result<bool, OpenError> {
        let file = &self.folder.files[self.end.file].0;
        let place = self.end.place;
        let Some((header, crc)) = self.window.header(file, place)? else { return Ok(false) };
        if !self.end.is_followed_by(&header) {
            return Ok(false);
        }
        let Some(body) = self.window.body(file, &header)? else { return Ok(false) };
        let mut records = Records::new(body);
        for n in 0..u64::from(header.records) {
            let index = header.first.plus(n);
            let Some((kind, payload)) = records.next() else {
                return Err(self.damage("the checksum is right but a record is of no known kind or length"));
            };
            visit(Record { index, kind, payload, place }).map_err(|reason| OpenError::Record {
                index,
                place,
                reason,
            })?;
        }
        if !records.is_done() {
            return Err(self.damage("the checksum is right but the block has more than its records"));
        }
        let first = self.end.indexes.map_or(header.first, |(first, _)| first);
        self.end.indexes = Some((first, header.next()));
        self.end.previous = crc;
        self.end.mark = self.end.mark.max(header.mark);
        self.end.place.offset += header.stride() as u32;
        assert!(
            self.end.place.offset <= file.header.bytes,
            "a header was taken only if its block ends in the file"
        );
        assert!((self.end.place.offset as usize).is_multiple_of(SECTOR), "blocks have whole sectors");
        Ok(true)
    }

    /// Reads the first block of the next file, if it follows the last one read. Otherwise the end stays where it is: the
    /// end of one file and the beginning of the next are the same place, and marks name it by the former.
    fn next_file(&mut self, visit: Visitor<'_>) -> Result<bool, OpenError> {
        let Some((file, Some(header))) = self.folder.files.get(self.end.file + 1) else { return Ok(false) };
        if self.end.indexes.is_none() || !self.end.is_followed_by(header) {
            return Ok(false);
        }
        let last = (self.end.file, self.end.place);
        (self.end.file, self.end.place) = (last.0 + 1, file.begin());
        let follows = self.block(visit)?;
        if !follows {
            (self.end.file, self.end.place) = last;
        }
        Ok(follows)
    }

    /// Looks at everything after the end for blocks that say it had been synced.
    fn look_for_marks(&mut self) -> Result<(), OpenError> {
        let end = self.end.place;
        for (file, _) in &self.folder.files[self.end.file..] {
            let mut place = if end.file == file.number() { end } else { file.begin() };
            while place.offset as usize + BLOCK_HEADER_BYTES <= file.header.bytes as usize {
                if let Some((header, _)) = self.window.header(file, place)? {
                    if header.mark > end {
                        let later = format!(
                            "no whole block that follows the one before, though a later one ({place}) says that all was \
                             safe up to {}",
                            header.mark
                        );
                        return Err(self.damage(&later));
                    }
                    self.end.torn.push(place);
                } else if self.may_be_next(file, place) && self.window.resembles(file, place, &self.end)? {
                    self.end.torn.push(place);
                }
                place.offset += SECTOR as u32;
            }
        }
        Ok(())
    }

    /// Whether the block after the last one read would stand here.
    fn may_be_next(&self, file: &LogFile, place: Place) -> bool {
        let is_next = file.number() == self.end.place.file + 1 && place == file.begin();
        place == self.end.place || is_next
    }

    fn damage(&self, what: &str) -> OpenError {
        let path = self.folder.files[self.end.file].0.file.path();
        Damage::at(path, self.end.place.offset.into(), what).into()
    }
}

impl End {
    /// Whether torn blocks stand in files after the last.
    pub(crate) fn has_torn_files(&self) -> bool {
        self.torn.iter().any(|torn| torn.file > self.place.file)
    }

    fn is_followed_by(&self, header: &BlockHeader) -> bool {
        self.indexes.is_none_or(|(_, next)| header.previous == self.previous && header.first == next)
    }
}

/// A piece of a file in memory.
pub(crate) struct Window {
    bytes: Vec<u8>,
    /// Whose bytes, and from where.
    place: Place,
    /// A fault that is injected: no checksum of records is looked at.
    trusts: bool,
}

impl Window {
    pub(crate) fn new() -> Window {
        Window { bytes: Vec::new(), place: Place::default(), trusts: false }
    }

    /// The header at `place` and its checksum.
    pub(crate) fn header(&mut self, file: &LogFile, place: Place) -> io::Result<Option<(BlockHeader, u32)>> {
        if place.offset as usize + BLOCK_HEADER_BYTES > file.header.bytes as usize {
            return Ok(None);
        }
        let bytes = self.read(file, place, BLOCK_HEADER_BYTES)?;
        let found = BlockHeader::decode(bytes, file.seed, place);
        Ok(found.filter(|(header, _)| place.offset as usize + header.stride() <= file.header.bytes as usize))
    }

    /// Whether what stands at `place`, where the next block would, was its header once: a sector is written whole or not at
    /// all, so something changed it since. What an earlier use of the file left has other places and follows other blocks.
    fn resembles(&mut self, file: &LogFile, place: Place, end: &End) -> io::Result<bool> {
        if place.offset as usize + BLOCK_HEADER_BYTES > file.header.bytes as usize {
            return Ok(false);
        }
        let next = end.indexes.map_or(Index(1), |(_, next)| next);
        let bytes = self.read(file, place, BLOCK_HEADER_BYTES)?;
        Ok(BlockHeader::resembles(bytes, place, next, end.previous))
    }

    /// The records of the block with this header, if their checksum is right.
    pub(crate) fn body(&mut self, file: &LogFile, header: &BlockHeader) -> io::Result<Option<&[u8]>> {
        let whole = BLOCK_HEADER_BYTES + header.body_bytes as usize;
        let trusts = self.trusts || planted::is(faults::BLOCK_CHECKSUM_SKIPPED);
        let body = &self.read(file, header.place, whole)?[BLOCK_HEADER_BYTES..];
        let is_whole = trusts || body_crc(file.seed, body) == header.body_crc;
        Ok(is_whole.then_some(body))
    }

    /// `len` bytes at `place`, which lie in the file.
    fn read(&mut self, file: &LogFile, place: Place, len: usize) -> io::Result<&[u8]> {
        let held = self.place.file == place.file && self.place.offset <= place.offset;
        let begin = place.offset.wrapping_sub(self.place.offset) as usize;
        if held && begin + len <= self.bytes.len() {
            return Ok(&self.bytes[begin..begin + len]);
        }
        let rest = (file.header.bytes - place.offset) as usize;
        self.place = place;
        assert!(len <= rest, "what is read lies in the file");
        self.bytes.resize(len.max(WINDOW_BYTES).min(rest), 0);
        let read = file.file.read_at(&mut self.bytes, u64::from(place.offset));
        if read.is_err() {
            self.bytes.clear();
        }
        read?;
        Ok(&self.bytes[..len])
    }
}

/// What [`read`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Index of the first record and of the one after the last.
    pub indexes: Option<(Index, Index)>,
    /// Where the log ends.
    pub end: Place,
    /// Everything before it is known to have been synced: what is wrong there is damage, not a torn tail.
    pub mark: Place,
    /// Blocks after the end that were cut short.
    pub torn: usize,
}

/// Reads all records that a folder has, checks everything and changes nothing.
///
/// # Errors
/// As [`crate::open`].
pub fn read(disk: &dyn Disk, dir: &Path, visit: Visitor<'_>) -> Result<Option<Found>, OpenError> {
    read_folder(&Folder::read(disk, dir)?, visit)
}

/// As [`read`], and then finds out whether files are gone; `from` is the last record that a snapshot holds.
///
/// # Errors
/// As [`crate::open`].
pub fn read_after(
    disk: &dyn Disk,
    dir: &Path,
    from: Index,
    visit: Visitor<'_>,
) -> Result<Option<Found>, OpenError> {
    let folder = Folder::read(disk, dir)?;
    let newest = newest::read(disk, dir)?;
    let found = read_folder(&folder, visit)?;
    newest::must_have_files(&folder, newest, from)?;
    if found.is_some_and(|found| found.indexes.is_none()) {
        newest::must_have_blocks(&folder, newest, from)?;
    }
    Ok(found)
}

fn read_folder(folder: &Folder, visit: Visitor<'_>) -> Result<Option<Found>, OpenError> {
    if folder.files.is_empty() {
        return Ok(None);
    }
    let end = scan(folder, 0, visit)?;
    Ok(Some(Found { indexes: end.indexes, end: end.place, mark: end.mark, torn: end.torn.len() }))
}
