//! The side that needs the snapshot.

use super::message::{MANIFEST, Message, PIECE_BYTES_MAX, Place};
use bytes::Bytes;
use consensus::{ReplicaId, WantedSnapshot};
use env::disk::Disk;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wal::Index;
use wal::snapshot::{
    FileRecord, FileWriter, Manifest, SnapshotError, SnapshotFile, Snapshots, UnfinishedSnapshot,
};

/// Pieces that are asked for and have not come.
const WINDOW: u64 = 8;
/// After so long without a piece it is asked again for what has not come.
const AGAIN_MS: u64 = 1_000;
/// After so long without a piece the fetch is given up.
const SILENT_MS: u64 = 20_000;
/// Bytes of a manifest, at most: it has the list of all files, and the ids of deleted entries.
const MANIFEST_BYTES_MAX: u64 = 1 << 30;

/// What came of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fetched {
    /// It is not new.
    Nothing,
    /// It is another part of the snapshot.
    Part,
    /// The snapshot is there as a whole, and durable.
    All,
}

/// See the module.
pub(super) struct Receiver {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    from: ReplicaId,
    /// The snapshot is the one up to this entry, or, until its manifest came, a later one.
    index: u64,
    part: Part,
    /// Up to where the current file is asked for.
    asked: u64,
    /// When the last piece came, and when it was last asked again.
    came_ms: u64,
    asked_ms: u64,
    /// Something came in the last step, which may have taken its time: files that an earlier fetch left are read.
    has_come: bool,
}

enum Part {
    /// The manifest: what came of it.
    Manifest(Vec<u8>),
    Files(Box<Files>),
}

struct Files {
    snapshots: Snapshots,
    unfinished: UnfinishedSnapshot,
    manifest: Manifest,
    /// Position in the manifest of the file that comes, and the file.
    at: usize,
    writer: FileWriter,
    received: u64,
}

impl Receiver {
    /// Of a snapshot that comes into the folder `dir`.
    pub(super) fn new(disk: Arc<dyn Disk>, dir: &Path, wanted: WantedSnapshot, now_ms: u64) -> Receiver {
        Receiver {
            disk,
            dir: dir.to_owned(),
            from: wanted.from,
            index: wanted.at.index.0,
            part: Part::Manifest(Vec::new()),
            asked: 0,
            came_ms: now_ms,
            asked_ms: now_ms,
            has_come: false,
        }
    }

    /// Does it fetch this snapshot, or a later one of the same replica?
    pub(super) fn is_for(&self, wanted: WantedSnapshot) -> bool {
        self.from == wanted.from && self.index >= wanted.at.index.0
    }

    /// Has nothing come for so long that it is given up?
    pub(super) fn is_silent(&mut self, now_ms: u64) -> bool {
        if std::mem::take(&mut self.has_come) {
            self.came_ms = now_ms;
        }
        now_ms >= self.came_ms + SILENT_MS
    }

    /// Asks for what it may.
    pub(super) fn step(&mut self, now_ms: u64, send: &mut dyn FnMut(ReplicaId, Message)) {
        let received = self.received();
        if now_ms >= self.came_ms.max(self.asked_ms) + AGAIN_MS {
            self.asked = received;
        }
        let (file, total) = match &self.part {
            // How long it is the first piece says.
            Part::Manifest(bytes) => (MANIFEST, bytes.len() as u64 + 1),
            Part::Files(files) => (files.record().id, files.record().bytes),
        };
        let window = if file == MANIFEST { 1 } else { WINDOW };
        let piece = PIECE_BYTES_MAX as u64;
        while self.asked < total && self.asked < received + window * piece {
            let place = Place { index: self.index, file, offset: self.asked };
            send(self.from, Message::Want(place));
            self.asked_ms = now_ms;
            self.asked += piece;
        }
    }

    fn received(&self) -> u64 {
        match &self.part {
            Part::Manifest(bytes) => bytes.len() as u64,
            Part::Files(files) => files.received,
        }
    }

    /// A piece came.
    ///
    /// # Errors
    /// The disk refuses, or what came is not what the manifest says.
    pub(super) fn on_piece(
        &mut self,
        (from, place, total, data): (ReplicaId, Place, u64, &Bytes),
        now_ms: u64,
    ) -> Result<Fetched, SnapshotError> {
        let is_first = place.file == MANIFEST && place.offset == 0 && place.index >= self.index;
        if from != self.from || place.offset != self.received() || !(is_first || place.index == self.index) {
            return Ok(Fetched::Nothing);
        }
        self.has_come = true;
        match &mut self.part {
            Part::Manifest(bytes) if place.file == MANIFEST && total <= MANIFEST_BYTES_MAX => {
                bytes.extend_from_slice(data);
                (self.index, self.came_ms) = (place.index, now_ms);
                if bytes.len() as u64 == total {
                    let manifest = Manifest::decode(bytes).map_err(|(_, what)| other(what))?;
                    return self.begin(manifest);
                }
            }
            Part::Files(files) if place.file == files.record().id && !data.is_empty() => {
                files.writer.write(data)?;
                files.received += data.len() as u64;
                self.came_ms = now_ms;
                if files.received >= files.record().bytes {
                    return self.end_file();
                }
            }
            _ => return Ok(Fetched::Nothing),
        }
        self.asked = self.asked.max(self.received());
        Ok(Fetched::Part)
    }

    /// The snapshot that was asked for is not there any more.
    pub(super) fn on_gone(&mut self, from: ReplicaId, place: Place) {
        if from == self.from && place.index == self.index && !matches!(self.part, Part::Manifest(_)) {
            // There may be a later one, which shares files with it.
            (self.part, self.asked) = (Part::Manifest(Vec::new()), 0);
        }
    }

    fn begin(&mut self, manifest: Manifest) -> Result<Fetched, SnapshotError> {
        if manifest.index != Index(self.index) {
            return Err(other("the manifest is of another snapshot"));
        }
        let snapshots = Snapshots::open(Arc::clone(&self.disk), &self.dir)?;
        if snapshots.latest().is_some_and(|latest| latest.index >= manifest.index) {
            return Ok(Fetched::All);
        }
        let unfinished = snapshots.unfinished();
        self.go_on(snapshots, unfinished, manifest, 0)
    }

    fn end_file(&mut self) -> Result<Fetched, SnapshotError> {
        let part = std::mem::replace(&mut self.part, Part::Manifest(Vec::new()));
        let Part::Files(files) = part else { unreachable!("a file has ended") };
        let Files { snapshots, mut unfinished, manifest, at, writer, .. } = *files;
        let record = writer.finish()?;
        if record != manifest.files[at] {
            return Err(other("a file that came is not what its manifest says"));
        }
        unfinished.add(record);
        self.go_on(snapshots, unfinished, manifest, at + 1)
    }

    /// Begins the next file that is not there, from number `at` on; after the last it makes the manifest durable.
    fn go_on(
        &mut self,
        mut snapshots: Snapshots,
        mut unfinished: UnfinishedSnapshot,
        manifest: Manifest,
        mut at: usize,
    ) -> Result<Fetched, SnapshotError> {
        while let Some(record) = manifest.files.get(at) {
            if record.bytes == 0 {
                // There is nothing to ask for.
                unfinished.create(record.id)?.finish()?;
            }
            if !self.is_there(record) {
                break;
            }
            unfinished.add(*record);
            at += 1;
        }
        let Some(record) = manifest.files.get(at) else {
            snapshots.commit(unfinished, manifest.index, manifest.meta)?;
            return Ok(Fetched::All);
        };
        let writer = unfinished.create(record.id)?;
        self.asked = 0;
        let files = Files { snapshots, unfinished, manifest, at, writer, received: 0 };
        self.part = Part::Files(Box::new(files));
        Ok(Fetched::Part)
    }

    /// Did an earlier fetch leave this very file, whole? The name alone says nothing: it may have come from another replica.
    fn is_there(&self, record: &FileRecord) -> bool {
        let file = SnapshotFile::open(&*self.disk, &self.dir, record);
        file.and_then(|file| file.verify()).is_ok()
    }
}

impl Files {
    fn record(&self) -> &FileRecord {
        &self.manifest.files[self.at]
    }
}

fn other(what: impl Into<String>) -> SnapshotError {
    SnapshotError::Io(std::io::Error::other(what.into()))
}
