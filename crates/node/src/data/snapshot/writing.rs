//! A snapshot on its way to the disk, one piece after the other: the one that takes the steps may take his time between them.

use super::{Point, changes, segment_file};
use env::disk::UNCACHED_ALIGN;
use store::{Checkpoint, Segments};
use wal::Index;
use wal::snapshot::{FileId, FileRecord, FileWriter, SnapshotError, Snapshots, UnfinishedSnapshot};

/// Addresses of the slot map that are written at once: their bytes keep the next ones aligned.
const SLOTS_TOGETHER: usize = 1 << 17;
const _: () = assert!((SLOTS_TOGETHER * store::SLOT_BYTES).is_multiple_of(UNCACHED_ALIGN));

/// How the bytes go to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Through the system's cache, where the next start finds them.
    AtOnce,
    /// Past it, so that a service that goes on keeps the memory, and the time that copies take: all of it is in the
    /// directory's own memory.
    Beside,
}

/// How far a snapshot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that are written.
    pub written: u64,
    /// Bytes that this snapshot has to write, those included.
    pub total: u64,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Bytes of files that the snapshot before does not have.
    pub bytes: u64,
    /// Files of segments, and of those the ones kept from the snapshot before.
    pub segments: usize,
    /// See `segments`.
    pub kept: usize,
}

/// What comes of a step.
#[derive(Debug)]
pub enum Step {
    /// There is more to write.
    Goes(Box<Writing>),
    /// It is the last snapshot, and durable.
    Written(Written),
}

/// A snapshot that is being written.
pub struct Writing {
    unfinished: UnfinishedSnapshot,
    segments: Segments,
    index: Index,
    meta: Vec<u8>,
    way: Way,
    written: Written,
}

impl std::fmt::Debug for Writing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writing").field("index", &self.index).field("progress", &self.progress()).finish()
    }
}

impl Writing {
    /// Writes the slot map and finds out what else there is to write.
    pub(super) fn begin(
        (mut unfinished, known): (UnfinishedSnapshot, Vec<FileRecord>),
        slots: FileId,
        Point { checkpoint, state, rules, settings, mark, changes }: Point,
        index: Index,
        way: Way,
    ) -> Result<Writing, SnapshotError> {
        // Their numbers need not differ but from those that were given up.
        let number = slots.generation as u32;
        let slots = write_slots(unfinished.create(slots)?, &checkpoint, way)?;
        let meta = state.join(&rules, settings.as_deref(), &mark.bytes, &checkpoint.meta());
        let mut segments = checkpoint.into_segments();
        let slots = slots.finish()?;
        let count = segments.count();
        segments.release(|segment| unfinished.keep(segment_file(segment)));
        assert!(segments.count() <= count, "what is kept of the snapshot before is no longer to be written");
        let of_changes = match changes {
            Some(dsa) => changes::add(&mut unfinished, &dsa, &known, (number, index))?,
            None => 0,
        };
        let written =
            Written { bytes: slots.bytes + of_changes, segments: count, kept: count - segments.count() };
        unfinished.add(slots);
        Ok(Writing { unfinished, segments, index, meta, way, written })
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        let written = self.written.bytes;
        Progress { written, total: written + self.segments.bytes() }
    }

    /// Writes the next segment. False when there is none.
    pub(super) fn write_next(&mut self) -> Result<bool, SnapshotError> {
        let (unfinished, way) = (&mut self.unfinished, self.way);
        let written = self.segments.write_next(|segment, bytes| -> Result<FileRecord, SnapshotError> {
            let mut file = unfinished.create(segment_file(segment))?;
            put(&mut file, bytes, way)?;
            Ok(file.finish()?)
        })?;
        let Some(record) = written else { return Ok(false) };
        self.written.bytes += record.bytes;
        self.unfinished.add(record);
        Ok(true)
    }

    /// Makes it the last snapshot.
    pub(super) fn commit(self, snapshots: &mut Snapshots) -> Result<Written, SnapshotError> {
        assert!(self.segments.bytes() == 0, "a snapshot has all segments of its slot map");
        snapshots.replace(self.unfinished, self.index, self.meta)?;
        Ok(self.written)
    }
}

fn put(file: &mut FileWriter, bytes: &[u8], way: Way) -> std::io::Result<()> {
    match way {
        Way::AtOnce => file.write(bytes),
        Way::Beside => file.write_uncached(bytes),
    }
}

/// Writes where everything is. What died since cannot be used again as long as that takes.
fn write_slots(mut file: FileWriter, checkpoint: &Checkpoint, way: Way) -> std::io::Result<FileWriter> {
    let mut bytes: Vec<u8> = Vec::with_capacity(SLOTS_TOGETHER * store::SLOT_BYTES + UNCACHED_ALIGN);
    let begin = bytes.as_ptr().align_offset(UNCACHED_ALIGN);
    let mut from = 0;
    while from < checkpoint.slots() {
        bytes.resize(begin, 0);
        checkpoint.push_slots(from, SLOTS_TOGETHER, &mut bytes);
        put(&mut file, &bytes[begin..], way)?;
        from += SLOTS_TOGETHER as u64;
    }
    Ok(file)
}
