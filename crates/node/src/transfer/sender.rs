//! The side that has the snapshot.

use super::message::{MANIFEST, Message, PIECE_BYTES_MAX, Place};
use bytes::Bytes;
use consensus::ReplicaId;
use env::disk::Disk;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use wal::snapshot::{Held, PIECE_BYTES, SnapshotError, Snapshots};

/// Pieces that one replica may want at a time. What it wants beyond that it asks for again.
const WANTED_MAX: usize = 32;
/// Bytes that are sent in a millisecond on average: an update of the directory must not wait for long behind a snapshot.
const BYTES_PER_MS: u64 = 64 << 10;
/// Bytes that may be sent at once, after a time in which none were.
const BYTES_AT_ONCE: u64 = 1 << 20;
/// A snapshot that nobody has asked for so long is held no more.
const HELD_MS: u64 = 60_000;

const _: () = assert!(PIECE_BYTES_MAX.is_multiple_of(PIECE_BYTES), "pieces are those that have checksums");

/// See the module.
pub(super) struct Sender {
    disk: Arc<dyn Disk>,
    /// The folder of the own snapshot.
    dir: PathBuf,
    held: BTreeMap<ReplicaId, Holding>,
    /// Bytes that may be sent.
    budget: u64,
    now_ms: u64,
    /// The replica that got the last piece.
    last: ReplicaId,
}

/// The snapshot that one replica fetches.
struct Holding {
    snapshot: Held,
    manifest: Bytes,
    wanted: VecDeque<Place>,
    asked_ms: u64,
}

impl Sender {
    pub(super) fn new(disk: Arc<dyn Disk>, dir: PathBuf) -> Sender {
        Sender { disk, dir, held: BTreeMap::new(), budget: 0, now_ms: 0, last: ReplicaId(0) }
    }

    /// A replica wants something. Returns what it is answered at once, if it is.
    pub(super) fn on_want(&mut self, from: ReplicaId, place: Place) -> Option<Message> {
        // The first piece of a manifest begins anew: the last snapshot may be a later one by now.
        if place.file == MANIFEST && place.offset == 0 {
            match self.hold() {
                Ok(Some(snapshot)) if snapshot.manifest.index.0 >= place.index => {
                    let manifest = snapshot.manifest.encode().into();
                    let (wanted, asked_ms) = (VecDeque::new(), self.now_ms);
                    self.held.insert(from, Holding { snapshot, manifest, wanted, asked_ms });
                }
                Ok(_) => return Some(Message::Gone(place)),
                Err(error) => {
                    tracing::warn!(%from, %error, "the own snapshot cannot be read for another server");
                    return Some(Message::Gone(place));
                }
            }
        }
        let now_ms = self.now_ms;
        let Some(holding) = self.held.get_mut(&from).filter(|holding| holding.is_of(place)) else {
            return Some(Message::Gone(place));
        };
        holding.asked_ms = now_ms;
        if holding.wanted.len() < WANTED_MAX {
            holding.wanted.push_back(place);
        }
        None
    }

    fn hold(&self) -> Result<Option<Held>, SnapshotError> {
        match Snapshots::hold(&*self.disk, &self.dir) {
            // It was replaced meanwhile.
            Err(SnapshotError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                Snapshots::hold(&*self.disk, &self.dir)
            }
            held => held,
        }
    }

    /// What is sent now.
    pub(super) fn step(&mut self, now_ms: u64, send: &mut dyn FnMut(ReplicaId, Message)) {
        let passed_ms = now_ms.saturating_sub(self.now_ms);
        self.now_ms = now_ms;
        self.budget = (self.budget + passed_ms.saturating_mul(BYTES_PER_MS)).min(BYTES_AT_ONCE);
        self.held.retain(|_, holding| now_ms < holding.asked_ms + HELD_MS);
        while self.budget > 0
            && let Some((to, message)) = self.next_piece()
        {
            if let Message::Piece(_, _, data) = &message {
                self.budget = self.budget.saturating_sub(data.len() as u64);
            }
            send(to, message);
        }
    }

    /// The next piece for the replica that comes after the last one that got one: they take turns.
    fn next_piece(&mut self) -> Option<(ReplicaId, Message)> {
        let waits = |(_, holding): &(&ReplicaId, &mut Holding)| !holding.wanted.is_empty();
        let last = self.last;
        let mut waiting: Vec<_> = self.held.iter_mut().filter(waits).collect();
        waiting.sort_by_key(|(id, _)| (**id <= last, **id));
        let (to, holding) = waiting.into_iter().next()?;
        let place = holding.wanted.pop_front()?;
        let message = holding.piece(place).unwrap_or_else(|error| {
            tracing::warn!(%to, %error, "the own snapshot cannot be read for another server");
            Message::Gone(place)
        });
        self.last = *to;
        Some((*to, message))
    }

    /// Is something wanted that was not sent yet?
    pub(super) fn is_idle(&self) -> bool {
        self.held.values().all(|holding| holding.wanted.is_empty())
    }
}

impl Holding {
    fn index(&self) -> u64 {
        self.snapshot.manifest.index.0
    }

    fn is_of(&self, place: Place) -> bool {
        place.index == self.index() || (place.file == MANIFEST && place.offset == 0)
    }

    fn piece(&self, place: Place) -> Result<Message, SnapshotError> {
        let Place { file, offset, .. } = place;
        let place = Place { index: self.index(), ..place };
        let bytes_from = |total: u64| total.saturating_sub(offset).min(PIECE_BYTES_MAX as u64) as usize;
        if file == MANIFEST {
            let total = self.manifest.len() as u64;
            let begin = offset.min(total) as usize;
            return Ok(Message::Piece(place, total, self.manifest.slice(begin..begin + bytes_from(total))));
        }
        let found = self.snapshot.files.iter().find(|found| found.record().id == file);
        let Some(found) = found.filter(|_| offset.is_multiple_of(PIECE_BYTES as u64)) else {
            return Ok(Message::Gone(place));
        };
        let total = found.record().bytes;
        let mut data = vec![0; bytes_from(total)];
        if !data.is_empty() {
            found.read(&mut data, offset)?;
        }
        Ok(Message::Piece(place, total, data.into()))
    }
}
