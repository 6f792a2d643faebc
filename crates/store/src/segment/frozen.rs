//! What a checkpoint takes from the heap: the written part of each segment, which never changes again, and where
//! each object was at one moment.
//!
//! A slot that still points into a written part is as it was then: later versions and what the cleaner moves lie
//! behind it or in other segments. From there links lead back: those of versions, and those that the cleaner keeps
//! while a checkpoint is looked at. The first address on that way that lies in a written part is the one.
//!
//! Links need a reader that stays at the checkpoint's sequence, and so everything that died since. Once all addresses
//! are known no link is followed any more; from then on only the written parts are held, each until it is copied.

use super::{Account, FIRST, Heap, HeapWriter, NODE, SEGMENT};
use crate::sync::{AtomicU64, Ordering};

/// What a segment begins with.
const MAGIC: [u8; 8] = *b"pandoseg";
/// Version of the format of segments and what lies in them.
const FORMAT: u32 = 1;
/// Bits of an offset into a segment.
pub(super) const OFFSET_BITS: u32 = SEGMENT.trailing_zeros();

/// The header of a segment: magic, format, segments of the run, serial; the rest up to [`FIRST`] is zero.
pub(super) fn header(serial: u64, run: u32) -> [u8; 24] {
    let mut out = [0; 24];
    out[..8].copy_from_slice(&MAGIC);
    out[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    out[12..16].copy_from_slice(&run.to_le_bytes());
    out[16..].copy_from_slice(&serial.to_le_bytes());
    out
}

/// The written part of a segment or run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Number of its first segment.
    pub(crate) number: u32,
    pub(crate) serial: u64,
    /// Segments of the run.
    pub(crate) run: u32,
    /// Bytes from the header to the end of the last object.
    pub(crate) bytes: u32,
}

/// All written parts at one moment. Frozen are the bytes, not the heap: commands go on, and what they write lies behind the
/// parts or in segments that are none of them.
pub(crate) struct Frozen {
    pub(crate) parts: Vec<Part>,
    /// By segment number: position in `parts`, and bytes of that part; 0 bytes for no part.
    by_number: Vec<(u32, u32)>,
    /// Ids of entries are below this.
    pub(crate) ids_end: u32,
    /// Ids of nodes are below this.
    pub(crate) nodes_end: u32,
    /// The serial that no segment had yet.
    pub(crate) serial: u64,
    /// Position in `parts` of the segment that is being filled.
    pub(crate) filling: Option<u32>,
}

impl Heap {
    /// Notes what is written. To be followed by [`Heap::stop_linking`]: until then a reader must stay at the sequence that is
    /// published now. The parts are held until [`Heap::release`] of each.
    pub(crate) fn freeze(&self, writer: &HeapWriter) -> Frozen {
        self.checkpoints.fetch_add(1, Ordering::AcqRel);
        let mut parts = Vec::new();
        let mut by_number = vec![(0, 0); writer.accounts.len()];
        let mut filling = None;
        let holds = |account: &Account| account.run > 0 && account.live > 0;
        for (number, account) in writer.accounts.iter().enumerate().filter(|(_, a)| holds(a)) {
            if number == writer.current {
                filling = Some(parts.len() as u32);
            }
            by_number[number] = (parts.len() as u32, account.used);
            let (serial, run, bytes) = (account.serial, account.run, account.used);
            let part = Part { number: number as u32, serial, run, bytes };
            self.holds_of(&part).iter().for_each(|holds| _ = holds.fetch_add(1, Ordering::Relaxed));
            parts.push(part);
        }
        // What `read_parts` accepts: the segment that is filled is none of a run, since a run has one object.
        let is_single = |at: u32| parts[at as usize].run == 1;
        assert!(filling.is_none_or(is_single), "a run of segments is not filled any further");
        let (ids_end, nodes_end) = (writer.ids.end(), writer.node_ids.end());
        Frozen { parts, by_number, ids_end, nodes_end, serial: writer.serial, filling }
    }

    /// No address is asked for any more: as far as this checkpoint goes, the cleaner need not link a copy with its source.
    /// The parts stay frozen, each until [`Heap::release`].
    pub(crate) fn stop_linking(&self) {
        let before = self.checkpoints.fetch_sub(1, Ordering::AcqRel);
        assert!(before > 0, "a checkpoint that ends was begun");
    }

    /// A part is not looked at any more: as far as this checkpoint goes it may be used again.
    pub(crate) fn release(&self, part: &Part) {
        // The one that finds no hold comes after all that was read.
        for holds in self.holds_of(part) {
            let before = holds.fetch_sub(1, Ordering::Release);
            assert!(before > 0, "a part that is released was held");
        }
        self.release.fetch_add(1, Ordering::Release);
    }

    /// A run is held by all its segments: each of them could be begun anew alone.
    fn holds_of(&self, part: &Part) -> &[AtomicU64] {
        &self.holds[part.number as usize..(part.number + part.run) as usize]
    }

    /// Must a checkpoint still copy the segment?
    pub(super) fn is_held(&self, number: u32) -> bool {
        self.holds[number as usize].load(Ordering::Acquire) > 0
    }

    /// The bytes of a part that is held.
    pub(crate) fn part_bytes(&self, part: &Part) -> &[u8] {
        assert!(part.bytes as usize <= part.run as usize * SEGMENT, "a part lies in its segments");
        self.bytes(part.number as usize * SEGMENT, part.bytes as usize)
    }

    /// Where an object was when the parts were frozen: position of the part and offset in it, 0 if it was not there.
    pub(crate) fn frozen_address(&self, frozen: &Frozen, is_node: bool, id: u32) -> u64 {
        let slots = self.slots(if is_node { NODE } else { 0 });
        let mut address = slots[id as usize].load(Ordering::Acquire) as usize;
        while address != 0 {
            let offset = address % SEGMENT;
            match frozen.by_number.get(address / SEGMENT) {
                Some((part, bytes)) if offset < *bytes as usize => {
                    assert!(offset >= FIRST, "no object lies in the header of a segment");
                    return u64::from(*part) << OFFSET_BITS | offset as u64;
                }
                _ => address = self.header(address).older,
            }
        }
        0
    }
}
