//! The heap from the bytes of a checkpoint. Nothing in them is trusted: what the rest of the heap relies on is looked
//! at here, object by object, so that a wrong byte is an error and never a wrong address.
//!
//! The order is: places for the parts, their bytes, then the slots, each checked against the length of its part only;
//! then a walk over all objects of each part. A slot into the middle of an object passes the first check. The walk finds
//! it, because it counts the objects that slots lead to: that number must be the number of slots that are not empty.
//! Until then no slot may be followed. Links to older versions are never followed either: the shard begins at the
//! checkpoint's sequence, and no object is younger, so each object is the first that any reader may see.

use super::clean::CLEANED_TOGETHER;
use super::frozen::{OFFSET_BITS, header};
use super::{
    Account, FIRST, Heap, HeapFull, HeapWriter, LONG, NODE, Part, REMOVED, SEGMENT, SPARE, VERSION_BYTES,
    VERSIONED, u32_at, uint_at,
};
use crate::sync::{Ordering, prefetch};

/// What is wrong, and where in a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) offset: usize,
    pub(crate) what: &'static str,
}

/// What a walk through a part found alive.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Alive {
    /// Bytes of objects that slots point to.
    pub(crate) bytes: u32,
    /// Such objects, removed ones included.
    pub(crate) objects: u64,
}

/// Bounds that objects of a checkpoint keep to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) ids_end: u32,
    pub(crate) nodes_end: u32,
    pub(crate) sequence: u64,
}

/// The header of an object that was looked at with care.
struct Checked {
    flags: u8,
    id: u32,
    len: usize,
    sequence: u64,
}

impl Heap {
    /// Gives each part of a checkpoint its place, one behind the other. Their numbers are new ones: a slot map names a
    /// part by its position, so gaps of the shard that was written are not kept.
    pub(crate) fn place_parts(&self, parts: &mut [Part]) -> Result<(), HeapFull> {
        let mut next = 0;
        for part in parts {
            part.number = next;
            next = next.checked_add(part.run).ok_or(HeapFull)?;
        }
        if next as usize > self.region.len() / SEGMENT { Err(HeapFull) } else { Ok(()) }
    }

    /// The memory of the parts, in their order, for the bytes of a checkpoint.
    pub(crate) fn parts_mut(&mut self, parts: &[Part]) -> Vec<&mut [u8]> {
        let all = parts.iter().map(|part| part.run as usize * SEGMENT).sum();
        assert!(all <= self.region.len(), "the parts were placed");
        // SAFETY: inside the region, which is plain memory, zero where nobody wrote; the heap is borrowed
        // exclusively, so there is no other reference into it.
        let mut rest = unsafe { std::slice::from_raw_parts_mut(self.region.base().as_ptr(), all) };
        let mut out = Vec::with_capacity(parts.len());
        for part in parts {
            let (segment, next) = rest.split_at_mut(part.run as usize * SEGMENT);
            out.push(&mut segment[..part.bytes as usize]);
            rest = next;
        }
        out
    }

    /// Are these sizes possible for a part?
    pub(crate) fn is_part_size(run: u32, bytes: u32) -> bool {
        run > 0 && bytes as usize >= FIRST && bytes as usize + SPARE <= (run as usize).saturating_mul(SEGMENT)
    }

    /// Stores where an object is: position of the part and offset in it, as in a slot map. False if there is no
    /// such part, or it is shorter.
    pub(crate) fn open_slot(&self, parts: &[Part], is_node: bool, id: u32, address: u64) -> bool {
        let offset = address as usize % SEGMENT;
        let fits = |part: &&Part| offset >= FIRST && offset < part.bytes as usize;
        let Some(part) = parts.get((address >> OFFSET_BITS) as usize).filter(fits) else { return false };
        let Some(slot) = self.slots(if is_node { NODE } else { 0 }).get(id as usize) else { return false };
        slot.store((part.number as usize * SEGMENT + offset) as u64, Ordering::Relaxed);
        true
    }

    /// Looks at every object of a part. Slots of removed ones are emptied: no reader is older than the checkpoint, so
    /// what a removed object was for is over. No other thread may walk the same part; parts may be walked at the same
    /// time, since a slot leads into one part only.
    pub(crate) fn walk_part(&self, part: &Part, bounds: &Bounds) -> Result<Alive, Fault> {
        let (start, bytes) = (part.number as usize * SEGMENT, self.part_bytes(part));
        if bytes[..24] != header(part.serial, part.run) {
            return Err(Fault { offset: 0, what: "the header is not that of this segment" });
        }
        let (mut alive, mut offset) = (Alive::default(), FIRST);
        let mut group = [(0, 0, 0, 0); CLEANED_TOGETHER];
        while offset < bytes.len() {
            let mut count = 0;
            while offset < bytes.len() && count < CLEANED_TOGETHER {
                let fault = |what| Fault { offset, what };
                let object = check_header(&bytes[offset..]).map_err(fault)?;
                let end = if object.flags & NODE == 0 { bounds.ids_end } else { bounds.nodes_end };
                if object.id == 0 || object.id >= end {
                    return Err(fault("an object has an id that was never given"));
                }
                if object.sequence > bounds.sequence {
                    return Err(fault("an object is younger than the checkpoint"));
                }
                if part.run > 1 && object.len != bytes.len() - FIRST {
                    return Err(fault("a run of segments holds one object"));
                }
                prefetch(&self.slots(object.flags)[object.id as usize]);
                group[count] = (start + offset, object.id, object.flags, object.len);
                count += 1;
                offset += object.len;
            }
            for &(address, id, flags, len) in &group[..count] {
                let slot = &self.slots(flags)[id as usize];
                if slot.load(Ordering::Relaxed) != address as u64 {
                    continue;
                }
                alive.objects += 1;
                if flags & REMOVED != 0 {
                    slot.store(0, Ordering::Relaxed);
                } else {
                    alive.bytes += len as u32;
                }
            }
        }
        Ok(alive)
    }

    /// Makes the parts the heap's own. `alive` are the live bytes of each.
    pub(crate) fn adopt(&self, writer: &mut HeapWriter, parts: &[Part], alive: &[u32]) {
        assert_eq!(parts.len(), alive.len(), "each part was walked");
        assert_eq!(writer.used, 0, "a heap that is restored was empty");
        writer.accounts.clear();
        for (part, live) in parts.iter().zip(alive) {
            let (used, run, serial) = (part.bytes, part.run, part.serial);
            assert_eq!(part.number as usize, writer.accounts.len(), "parts lie one behind the other");
            assert!(u64::from(*live) + FIRST as u64 <= u64::from(used), "what is alive lies in its part");
            writer.accounts.push(Account { live: *live, used, run, serial, ..Account::default() });
            writer.accounts.resize((part.number + part.run) as usize, Account::default());
            writer.longest = writer.longest.max(run as usize);
            writer.live += u64::from(*live);
            writer.used += u64::from(used) - FIRST as u64;
        }
        if writer.accounts.is_empty() {
            writer.accounts.push(Account::default());
            self.begin_segment(writer, 0, 1);
        }
    }

    /// Goes on filling a part, or begins a new segment with the next object.
    pub(crate) fn fill(&self, writer: &mut HeapWriter, part: Option<&Part>, serial: u64) {
        writer.serial = writer.serial.max(serial);
        // Serials of this heap must not come again: a prepared write tells by them whether its segment was begun anew,
        // and a later checkpoint whether the file of a segment is still that segment.
        match part {
            Some(part) => {
                assert_eq!(part.run, 1, "a run of segments is not filled any further");
                assert!(part.serial < writer.serial, "segments that are begun later have later serials");
                (writer.current, writer.offset) = (part.number as usize, part.bytes as usize);
            }
            None if writer.live == 0 && writer.used == 0 => {}
            // An offset at the end: nothing fits, so the next object begins a segment.
            None => (writer.current, writer.offset) = (writer.accounts.len() - 1, SEGMENT),
        }
    }

    /// Is there room for so many ids?
    pub(crate) fn has_ids(&self, ids_end: u32, nodes_end: u32) -> bool {
        (1..self.slots.len() as u64).contains(&u64::from(ids_end))
            && (1..self.node_slots.len() as u64).contains(&u64::from(nodes_end))
    }

    /// Takes a node away that nothing leads to; returns the segment it was in and its bytes, if it was there. For a
    /// restore only: no reader can be there, and the caller counts the bytes.
    pub(crate) fn drop_node(&self, id: u32) -> Option<(usize, u32)> {
        let address = self.node_slots[id as usize].swap(0, Ordering::Relaxed) as usize;
        (address != 0).then(|| (address / SEGMENT, self.header(address).object_len as u32))
    }

    /// Number of the segment that the newest version of an object begins in, offset and bytes of the object.
    pub(crate) fn place_of(&self, is_node: bool, id: u32) -> Option<(usize, usize, usize)> {
        let slot = self.slots(if is_node { NODE } else { 0 }).get(id as usize)?;
        let address = slot.load(Ordering::Acquire) as usize;
        (address != 0).then(|| (address / SEGMENT, address % SEGMENT, self.header(address).object_len))
    }
}

impl HeapWriter {
    /// Live bytes that are accounted for, segment by segment.
    pub(crate) fn live_bytes_of_segments(&self) -> impl Iterator<Item = u32> {
        self.accounts.iter().map(|account| account.live)
    }
}

/// The header of the object that these bytes begin with; they end where the part does, so an object that goes beyond
/// them was never written.
fn check_header(bytes: &[u8]) -> Result<Checked, &'static str> {
    let long = bytes[0] & LONG != 0;
    let fixed = if long { 9 } else { 7 };
    if bytes.len() < fixed {
        return Err("an object is cut off");
    }
    let len = if long { u32_at(bytes, 1) as usize } else { uint_at(bytes, 1, 2) as usize };
    let versioned = bytes[0] & VERSIONED != 0;
    let header = fixed + if versioned { VERSION_BYTES } else { 0 };
    if len < header || len > bytes.len() {
        return Err("an object's length cannot be");
    }
    let sequence = if versioned { uint_at(bytes, fixed, 6) } else { 0 };
    Ok(Checked { flags: bytes[0], id: u32_at(bytes, fixed - 4), len, sequence })
}
