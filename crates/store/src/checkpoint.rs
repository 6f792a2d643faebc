//! Checkpoints: the shard at one commit sequence, as bytes that a caller writes to files while commands go on.
//!
//! A checkpoint has three parts: the slot map, which tells where each object was; the meta; and segments, which are
//! immutable once written and so need writing only once. Taking one costs the writer's role for as long as
//! it takes to look at the list of segments. Slot map and meta come first, for they need a read point, which holds back
//! the cleaner; [`Checkpoint::into_segments`] gives that up, and each segment is held only until it was written.

mod meta;

pub use meta::Meta;

use crate::given::DeadIds;
use crate::segment::{Frozen, Part};
use crate::shard::reader::{LongReadPoint, Reader};
use crate::shard::{ReadPoint, Shard, Writer};
use model::Csn;
use std::sync::Arc;

/// Bytes of an address in the slot map.
pub const SLOT_BYTES: usize = 5;

/// A segment of a checkpoint, or a run of them that holds one long object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Segment {
    /// Which of all segments that the shard ever began. What lies in it is never written again, only more may be
    /// added at its end: segments of the same id and length are the same, and the shorter is a prefix.
    pub id: u64,
    /// Bytes.
    pub len: u32,
}

/// A checkpoint whose slot map and meta are being written. As long as it exists nothing that died since is used again.
pub struct Checkpoint {
    point: Stay,
    segments: Segments,
    last_csn: Csn,
    names: usize,
    /// Numbers of shapes are below this.
    shapes: u32,
    /// Numbers below it that no entry had here, ascending: free ones, which a shape may get while this is written, and those of definitions that
    /// were removed.
    no_shapes: Vec<u32>,
    dead: DeadIds,
}

/// The read point of a checkpoint, with the links that lead back from what was moved since.
struct Stay(LongReadPoint);

impl Drop for Stay {
    fn drop(&mut self) {
        self.0.read_point().shard.heap.stop_linking();
    }
}

/// The segments of a checkpoint. They are held until they are written, or this is dropped.
pub struct Segments {
    shard: Arc<Shard>,
    frozen: Frozen,
    /// Position of the first that is still held.
    next: usize,
}

impl Shard {
    /// Begins a checkpoint of all that was published. Waits for the writer's role. `None` when there are too many
    /// readers.
    pub fn checkpoint(self: &Arc<Shard>) -> Option<Checkpoint> {
        let reader = Reader::register(self)?;
        Some(self.writer().checkpoint(reader))
    }
}

impl Writer<'_> {
    /// Publishes the batch and begins a checkpoint of everything up to and with it. The one that holds the writer's role
    /// knows which position of the log that is.
    ///
    /// # Panics
    /// If the reader is another shard's.
    pub fn checkpoint(mut self, reader: Reader) -> Checkpoint {
        assert!(std::ptr::eq(self.shard, &**reader.shard()), "the reader is of this shard");
        self.publish_batch();
        let shard = Arc::clone(reader.shard());
        let point = reader.stay();
        assert_eq!(point.read_point().sequence(), self.sequence, "nobody else publishes");
        let frozen = self.shard.heap.freeze(&self.state.heap);
        Checkpoint {
            point: Stay(point),
            segments: Segments { shard, frozen, next: 0 },
            last_csn: self.last_csn(),
            names: self.state.names.len(),
            shapes: self.state.shapes.end(),
            no_shapes: self.state.shapes.numbers_of_none(),
            dead: self.state.dead.clone(),
        }
    }
}

impl Checkpoint {
    /// The state that it holds.
    pub fn read_point(&self) -> ReadPoint<'_> {
        self.point.0.read_point()
    }

    /// The commit sequence that it stands at.
    pub fn sequence(&self) -> u64 {
        self.read_point().sequence()
    }

    /// Addresses of the slot map: [`SLOT_BYTES`] each.
    pub fn slots(&self) -> u64 {
        let frozen = &self.segments.frozen;
        u64::from(frozen.ids_end) + u64::from(frozen.nodes_end)
    }

    /// Appends up to `max` addresses of the slot map, from position `from` on, to `out`. Looks at as many slots and,
    /// of objects that changed since, at their versions.
    pub fn push_slots(&self, from: u64, max: usize, out: &mut Vec<u8>) {
        let (heap, frozen) = (&self.read_point().shard.heap, &self.segments.frozen);
        assert!(from <= self.slots(), "the slot map is written up to its end");
        let end = self.slots().min(from.saturating_add(max as u64));
        let ids_end = u64::from(frozen.ids_end);
        out.reserve(end.saturating_sub(from) as usize * SLOT_BYTES);
        for position in from..end {
            let (is_node, id) = match position.checked_sub(ids_end) {
                None => (false, position as u32),
                Some(node) => (true, node as u32),
            };
            let address = heap.frozen_address(frozen, is_node, id);
            out.extend_from_slice(&address.to_le_bytes()[..SLOT_BYTES]);
        }
    }

    /// All that is neither in segments nor in the slot map.
    pub fn meta(&self) -> Vec<u8> {
        meta::encode(self)
    }

    /// Slot map and meta are known: what is left are the segments. What died since holds nothing back any more.
    pub fn into_segments(self) -> Segments {
        self.segments
    }
}

impl Segments {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.frozen.parts.len()
    }

    /// Bytes of those that are still held.
    pub fn bytes(&self) -> u64 {
        self.frozen.parts[self.next..].iter().map(|part| u64::from(part.bytes)).sum()
    }

    /// Releases those that need not be written: they were written before, with the same id and length, for a checkpoint
    /// that was completed.
    pub fn release(&mut self, mut is_written: impl FnMut(Segment) -> bool) {
        let (next, heap) = (self.next, &self.shard.heap);
        let mut position = 0;
        self.frozen.parts.retain(|part| {
            position += 1;
            let goes = position > next && is_written(segment(part));
            if goes {
                heap.release(part);
            }
            !goes
        });
        assert!(self.next <= self.frozen.parts.len(), "what was written stays in the list");
    }

    /// Has the next of them written and releases it. `None` when there is none left.
    ///
    /// # Errors
    /// What `write` returns; the segment is still held then.
    pub fn write_next<T, E>(
        &mut self,
        write: impl FnOnce(Segment, &[u8]) -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        let Some(part) = self.frozen.parts.get(self.next) else { return Ok(None) };
        let written = write(segment(part), self.shard.heap.part_bytes(part))?;
        // Counted before it is released: if this is dropped now, the part is not released again.
        self.next += 1;
        self.shard.heap.release(part);
        Ok(Some(written))
    }

    /// Has each of them written, in turn.
    ///
    /// # Errors
    /// The first that `write` returns; nothing is written after it.
    pub fn write_each<E>(mut self, mut write: impl FnMut(Segment, &[u8]) -> Result<(), E>) -> Result<(), E> {
        while self.write_next(&mut write)?.is_some() {}
        Ok(())
    }
}

impl Drop for Segments {
    fn drop(&mut self) {
        self.frozen.parts[self.next..].iter().for_each(|part| self.shard.heap.release(part));
    }
}

pub(crate) fn segment(part: &Part) -> Segment {
    Segment { id: part.serial, len: part.bytes }
}
