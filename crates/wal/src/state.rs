//! What appenders, the writer and the keeper of files share, behind the log's one lock. Nothing here touches the disk.

use crate::error::{Poisoned, Refused};
use crate::files::LogFile;
use crate::format::{BLOCK_HEADER_BYTES, FILE_HEADER_BYTES, Kind, push_record, stride};
use crate::place::{Index, Place};
use env::entropy::SeededEntropy;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes that a buffer keeps when it is used again.
const KEPT_BYTES: usize = 4 << 20;

/// Whether records are taken.
#[derive(Clone, Debug)]
pub(crate) enum Health {
    Good,
    Poisoned(Poisoned),
    Closed,
}

/// A file that has no room left, and the index of the last record in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Full {
    pub(crate) number: u32,
    pub(crate) bytes: u32,
    pub(crate) last: Index,
}

/// A block that fills.
#[derive(Debug)]
pub(crate) struct Filling {
    /// Room for the header, and the records.
    pub(crate) bytes: Vec<u8>,
    /// Index of the first record, or of the next if there is none.
    pub(crate) first: Index,
    pub(crate) records: u32,
}

impl Filling {
    pub(crate) fn new(mut bytes: Vec<u8>, first: Index) -> Filling {
        bytes.clear();
        bytes.shrink_to(KEPT_BYTES);
        bytes.resize(BLOCK_HEADER_BYTES, 0);
        Filling { bytes, first, records: 0 }
    }

    /// Bytes that it would take in a file.
    fn stride(&self) -> usize {
        stride(self.bytes.len() - BLOCK_HEADER_BYTES)
    }

    /// Index of the record that comes next.
    pub(crate) fn next(&self) -> Index {
        self.first.plus(u64::from(self.records))
    }
}

/// A block whose place is decided.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) filled: Filling,
    pub(crate) file: Arc<LogFile>,
    pub(crate) place: Place,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) filling: Filling,
    /// A buffer to be used again.
    pub(crate) free: Vec<u8>,
    pub(crate) waiting_bytes_max: usize,
    /// The file that takes the next block, and where.
    pub(crate) current: Arc<LogFile>,
    pub(crate) offset: u32,
    /// Files that take blocks after it.
    pub(crate) ready: VecDeque<Arc<LogFile>>,
    /// Files before it, oldest first.
    pub(crate) full: VecDeque<Full>,
    /// Numbers of files that may be used again.
    pub(crate) spares: Vec<u32>,
    /// A file is being prepared.
    pub(crate) preparing: bool,
    /// Why the last preparation failed.
    pub(crate) no_space: Option<Arc<str>>,
    /// For the epochs of files.
    pub(crate) entropy: SeededEntropy,
    pub(crate) health: Health,
    /// The outcome of a preparation has not been reported yet: who was refused may come again.
    pub(crate) room_changed: bool,
    /// The threads should end.
    pub(crate) stopping: bool,
    /// The writer's thread sleeps.
    pub(crate) writer_waits: bool,
}

impl State {
    /// Appends a record, its payload written by `encode`, or leaves everything as it was.
    pub(crate) fn append(&mut self, kind: Kind, encode: impl FnOnce(&mut Vec<u8>)) -> Result<Index, Refused> {
        match &self.health {
            Health::Good => {}
            Health::Poisoned(poisoned) => return Err(Refused::Poisoned(poisoned.clone())),
            Health::Closed => return Err(Refused::Closed),
        }
        if self.filling.stride() >= self.waiting_bytes_max && self.filling.records > 0 {
            return Err(Refused::Full);
        }
        let before = self.filling.bytes.len();
        assert!(before >= BLOCK_HEADER_BYTES, "records stand behind the room for the header of their block");
        push_record(&mut self.filling.bytes, kind, encode);
        assert!(self.filling.bytes.len() > before, "an encoder appends: the records before it stay");
        if let Err(refused) = self.fits() {
            self.filling.bytes.truncate(before);
            return Err(refused);
        }
        let index = self.filling.next();
        self.filling.records += 1;
        Ok(index)
    }

    /// Whether the filling block, with the record that was just added, has a place.
    fn fits(&self) -> Result<(), Refused> {
        let alone = self.filling.records == 0;
        let bytes = self.filling.stride();
        if bytes > self.waiting_bytes_max {
            return Err(if alone { Refused::TooLong } else { Refused::Full });
        }
        let room = self.ready.front().map_or(0, |file| file.room());
        if bytes <= self.rest() || bytes <= room {
            return Ok(());
        }
        match &self.no_space {
            // Files of an earlier, smaller size have no room for it, now or later.
            _ if alone && room > 0 => Err(Refused::TooLong),
            Some(reason) => Err(Refused::NoSpace(reason.clone())),
            None => Err(Refused::Full),
        }
    }

    /// Bytes that the current file has left.
    pub(crate) fn rest(&self) -> usize {
        (self.current.header.bytes - self.offset) as usize
    }

    /// Bytes that blocks may take in this file and those that are ready, besides the one that fills.
    pub(crate) fn room(&self) -> usize {
        let filling = if self.filling.records > 0 { self.filling.stride() } else { 0 };
        let ready: usize = self.ready.iter().map(|file| file.room()).sum();
        (self.rest() + ready).saturating_sub(filling)
    }

    /// Moves the filled block out and gives it its place. `None` when nothing was appended.
    pub(crate) fn take(&mut self) -> Option<Taken> {
        if self.filling.records == 0 {
            return None;
        }
        let next = Filling::new(std::mem::take(&mut self.free), self.filling.next());
        let filled = std::mem::replace(&mut self.filling, next);
        assert!(filled.next() == self.filling.first, "the next block goes on where this one ends");
        let bytes = filled.stride();
        if bytes > self.rest() {
            self.next_file(filled.first);
        }
        assert!(bytes <= self.rest(), "a record was accepted only when its block had a place");
        Some(self.place(filled, bytes))
    }

    /// An empty block, which carries the mark and nothing else. `None` when the file has no room for it.
    pub(crate) fn take_empty(&mut self) -> Option<Taken> {
        assert!(self.filling.records == 0, "records are written before the closing mark");
        let bytes = self.filling.stride();
        if bytes > self.rest() {
            return None;
        }
        let empty = Filling::new(Vec::new(), self.filling.first);
        Some(self.place(empty, bytes))
    }

    fn place(&mut self, filled: Filling, bytes: usize) -> Taken {
        let place = Place { file: self.current.number(), offset: self.offset };
        assert!(place.offset as usize >= FILE_HEADER_BYTES, "blocks stand behind the file's header");
        self.offset += bytes as u32;
        assert!(self.offset <= self.current.header.bytes, "a block ends within its file");
        Taken { filled, file: self.current.clone(), place }
    }

    /// Goes on in the next file, whose first record is `first`.
    fn next_file(&mut self, first: Index) {
        let next = self.ready.pop_front().expect("a record was accepted only with a file ready for it");
        assert!(next.number() == self.current.number() + 1, "files are used in order");
        let header = self.current.header;
        assert!(
            self.full.back().is_none_or(|full| full.number + 1 == header.number),
            "full files are in order, without a gap"
        );
        self.full.push_back(Full { number: header.number, bytes: header.bytes, last: Index(first.0 - 1) });
        self.current = next;
        self.offset = FILE_HEADER_BYTES as u32;
    }

    /// The number of the file to be prepared next.
    pub(crate) fn next_number(&self) -> u32 {
        self.ready.back().unwrap_or(&self.current).number() + 1
    }
}
