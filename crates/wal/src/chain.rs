//! Reads a log whose files lie in several folders: a copy of a log, an archive, later copies. A block counts only after the
//! block before it, as in one folder; where the file at hand has no such block, another copy of the same file may have
//! it, or the next file.

use crate::error::{Damage, OpenError};
use crate::files::{LogFile, Role, parse};
use crate::format::{BlockHeader, FILE_HEADER_BYTES, FileHeader, Kind, Records};
use crate::place::{Index, Place};
use crate::scan::{Folder, Record, Window};
use env::disk::{Disk, SECTOR};
use std::path::{Path, PathBuf};

/// Whether a reader wants more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It took the record and wants the next.
    On,
    /// It did not take the record, and wants none after it.
    Enough,
}

/// Where reading ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainEnd {
    /// Index of the first record that was not taken.
    pub next: Index,
    /// The reader had enough. Else nothing follows in any folder.
    pub enough: bool,
    /// Where that record's block would stand.
    pub end: Place,
    /// The nearest records that are there after the end but do not follow it, unless the reader had enough.
    pub later: Option<Later>,
    /// Files that could not be read, and why: they were passed over.
    pub unreadable: Vec<Damage>,
}

/// Records that do not follow what was read: something between is missing, or they are of another history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Later {
    /// Their file.
    pub path: PathBuf,
    /// Its number.
    pub file: u32,
    /// The first record in it.
    pub first: Index,
    /// What that record is; `None` if it cannot be read.
    pub kind: Option<Kind>,
    /// That record's payload; empty if it cannot be read.
    pub payload: Vec<u8>,
}

/// One copy of a file.
struct Version {
    path: PathBuf,
    header: FileHeader,
    first: Option<BlockHeader>,
}

impl Version {
    fn begin(&self) -> Place {
        Place { file: self.header.number, offset: FILE_HEADER_BYTES as u32 }
    }
}

/// Takes records in order; an error in words ends the reading.
pub type Taker<'a> = &'a mut dyn FnMut(Record<'_>) -> Result<Flow, String>;

/// Hands out the records after `from`, beginning with those in the folder `own`, and going on with what follows in
/// `others`. Where there are several copies of a file, those of `others` go first, in their order. Nothing is changed.
///
/// # Errors
/// See [`OpenError`]; `Missing` when `own` begins too late.
pub fn read_chain(
    disk: &dyn Disk,
    own: &Path,
    others: &[PathBuf],
    from: Index,
    take: Taker<'_>,
) -> Result<ChainEnd, OpenError> {
    let folder = Folder::read(disk, own)?;
    let Some(start) = folder.start(from) else {
        let first = folder.files.first().and_then(|(_, header)| *header).map_or(from, |header| header.first);
        return Err(OpenError::Missing { wanted: from.plus(1), first, last: None });
    };
    let begin = &folder.files[start].0;
    let (mut versions, mut unreadable) = (Vec::new(), Vec::new());
    for dir in others.iter().map(PathBuf::as_path).chain([own]) {
        gather(disk, dir, &mut versions, &mut unreadable)?;
    }
    let (next, place, file) = (from.plus(1), begin.begin(), begin.header);
    let mut chain = Chain { disk, versions, from, next, previous: None, place, file, at: None };
    let enough = chain.read(take)?;
    let mut later = None;
    if !enough {
        chain.look_for_marks()?;
        later = chain.later()?;
    }
    Ok(ChainEnd { next: chain.next, enough, end: chain.place, later, unreadable })
}

/// Adds the log files of a folder.
fn gather(
    disk: &dyn Disk,
    dir: &Path,
    versions: &mut Vec<Version>,
    unreadable: &mut Vec<Damage>,
) -> Result<(), OpenError> {
    for name in disk.list(dir)? {
        // Files of an archive are not called as those of a log.
        let is_ours = name.ends_with(".log") && parse(&name).is_none_or(|(_, role)| role == Role::Log);
        if !is_ours {
            continue;
        }
        let path = dir.join(name);
        match LogFile::open_as(disk, &path)? {
            Ok(file) => {
                let first = Window::new().header(&file, file.begin())?.map(|(header, _)| header);
                versions.push(Version { path, header: file.header, first });
            }
            Err(damage) => unreadable.push(damage),
        }
    }
    Ok(())
}

struct Chain<'a> {
    disk: &'a dyn Disk,
    versions: Vec<Version>,
    from: Index,
    /// The record that comes next.
    next: Index,
    /// Checksum in the header of the last block; `None` before the first.
    previous: Option<u32>,
    /// Where the next block stands.
    place: Place,
    /// Which file that is: all copies have this header.
    file: FileHeader,
    /// The copy that is read.
    at: Option<(LogFile, Window)>,
}

impl Chain<'_> {
    /// Reads to the end. True when the reader had enough.
    fn read(&mut self, take: Taker<'_>) -> Result<bool, OpenError> {
        loop {
            while let Some((file, mut window)) = self.at.take() {
                match self.block(&file, &mut window, take)? {
                    Some(Flow::Enough) => return Ok(true),
                    Some(Flow::On) => self.at = Some((file, window)),
                    None => {}
                }
            }
            if !self.go_on()? {
                return Ok(false);
            }
        }
    }

    fn follows(&self, header: &BlockHeader) -> bool {
        match self.previous {
            Some(previous) => header.previous == previous && header.first == self.next,
            None => header.first <= self.next,
        }
    }

    /// Reads the block that comes next, if the copy has it whole: whether the reader wants more after it.
    fn block(
        &mut self,
        file: &LogFile,
        window: &mut Window,
        take: Taker<'_>,
    ) -> Result<Option<Flow>, OpenError> {
        let Some((header, crc)) = window.header(file, self.place)?.filter(|(h, _)| self.follows(h)) else {
            return Ok(None);
        };
        let Some(body) = window.body(file, &header)? else { return Ok(None) };
        let mut records = Records::new(body);
        for n in 0..u64::from(header.records) {
            let (index, place) = (header.first.plus(n), self.place);
            let Some((kind, payload)) = records.next() else {
                let what = "the checksum is right but a record is of no known kind or length";
                return Err(Damage::at(file.file.path(), place.offset.into(), what).into());
            };
            if index <= self.from {
                continue;
            }
            let taken = take(Record { index, kind, payload, place });
            self.next = index;
            if taken.map_err(|reason| OpenError::Record { index, place, reason })? == Flow::Enough {
                return Ok(Some(Flow::Enough));
            }
        }
        self.next = header.next();
        self.previous = Some(crc);
        self.place.offset += header.stride() as u32;
        Ok(Some(Flow::On))
    }

    /// Goes on in another copy of the same file, if one has the next block; else in the next file, if it follows.
    fn go_on(&mut self) -> Result<bool, OpenError> {
        let here = |v: &Version| (v.header == self.file).then_some(self.place);
        self.at = self.first_that_follows(here)?;
        if self.at.is_none() && self.previous.is_some() {
            let next = |v: &Version| (v.header.number == self.file.number + 1).then(|| v.begin());
            self.at = self.first_that_follows(next)?;
            if let Some((file, _)) = &self.at {
                (self.file, self.place) = (file.header, file.begin());
            }
        }
        Ok(self.at.is_some())
    }

    /// The first copy that has a whole block which follows, at the place that `place_in` gives; that gives none in files that do
    /// not count.
    fn first_that_follows(
        &self,
        place_in: impl Fn(&Version) -> Option<Place>,
    ) -> Result<Option<(LogFile, Window)>, OpenError> {
        for version in &self.versions {
            let Some(place) = place_in(version) else { continue };
            let Ok(file) = LogFile::open_as(self.disk, &version.path)? else { continue };
            let mut window = Window::new();
            let Some((header, _)) = window.header(&file, place)?.filter(|(h, _)| self.follows(h)) else {
                continue;
            };
            if window.body(&file, &header)?.is_some() {
                return Ok(Some((file, window)));
            }
        }
        Ok(None)
    }

    /// Looks behind the end for blocks that say that something stood there: in the copies of this file, and in the next
    /// one, when its first block follows but is not whole.
    fn look_for_marks(&self) -> Result<(), OpenError> {
        let here =
            self.versions.iter().filter(|v| v.header == self.file).map(|version| (version, self.place));
        let next = |v: &&Version| {
            let follows = v.first.is_some_and(|header| self.previous.is_some() && self.follows(&header));
            v.header.number == self.file.number + 1 && follows
        };
        let next = self.versions.iter().filter(next).map(|version| (version, version.begin()));
        for (version, end) in here.chain(next) {
            let Ok(file) = LogFile::open_as(self.disk, &version.path)? else { continue };
            let (mut window, mut place) = (Window::new(), end);
            while place.offset < file.header.bytes {
                if let Some((header, _)) = window.header(&file, place)?
                    && header.mark > end
                {
                    let what = format!("no whole block, though a later one ({place}) says that it was safe");
                    return Err(Damage::at(&version.path, end.offset.into(), what).into());
                }
                place.offset += SECTOR as u32;
            }
        }
        Ok(())
    }

    /// The nearest records after the end.
    fn later(&self) -> Result<Option<Later>, OpenError> {
        let beyond =
            |v: &&Version| v.first.is_some_and(|header| header.records > 0 && header.first >= self.next);
        let nearest = self.versions.iter().filter(beyond).min_by_key(|v| v.first.map(|header| header.first));
        let Some(Version { path, header, first: Some(first) }) = nearest else { return Ok(None) };
        let mut later = Later {
            path: path.clone(),
            file: header.number,
            first: first.first,
            kind: None,
            payload: Vec::new(),
        };
        if let Ok(file) = LogFile::open_as(self.disk, path)?
            && let Some(body) = Window::new().body(&file, first)?
            && let Some((kind, payload)) = Records::new(body).next()
        {
            later.kind = Some(kind);
            later.payload = payload.to_vec();
        }
        Ok(Some(later))
    }
}
