//! The heap of objects: entries and tree nodes, versioned, in log-structured segments. Only slots hold addresses,
//! so a segment can be cleaned by moving what is alive in it.
//!
//! ```text
//! address   offset into the reserved region: 19 bits of segment, 21 bits inside it
//! slot      one word per id: address of the newest version, 0 = no object; entries and nodes have ids of their own
//! object    u8 flags | u16 or u32 length, header included | u32 id | [u48 sequence | u40 older version] | payload
//! flags     1 versioned   2 long (u32 length)   4 node   8 removed (no payload)   16.. the payload's own
//! ```
//! An object without a version is older than every reader. Objects longer than a segment take a run of segments.
//! Numbers are little-endian, nothing is aligned. The first 64 bytes of a segment are its header, which makes what
//! was written to it so far a file as it stands: docs/formats/segment.md.
//!
//! Who may do what: any thread reads with [`Heap`] alone, under a read point; all that changes anything takes the
//! [`HeapWriter`] too, which lies behind the shard's mutex, so there is one writer. The two meet in three words: a slot,
//! stored with release order once its object is complete; `serials`, which lets a prepared write notice that its
//! segment was begun anew; and `holds`, with which a checkpoint keeps a segment from being begun anew.
//!
//! An object is never changed in place, and its bytes are written again only after its segment went through
//! [`HeapWriter::retire`]: emptied, then older than every reader, then held by no checkpoint. All `unsafe` in this
//! module relies on that order.

use crate::readers::Readers;
use crate::sync::{AtomicU32, AtomicU64, Ordering, Prefault, Words, prefetch};
use env::memory::Region;
use std::collections::VecDeque;
use std::io;

mod accounts;
mod clean;
mod frozen;
mod ids;
mod open;
mod prepared;

use accounts::Account;
pub(crate) use frozen::{Frozen, Part};
use ids::Ids;
pub(crate) use open::Bounds;
pub(crate) use prepared::{PREPARED_HEADER, Place, prepared_flags, prepared_header};

/// Bytes of a segment.
pub(crate) const SEGMENT: usize = 2 << 20;

/// There is a sequence and a link, of [`VERSION_BYTES`], behind the id.
const VERSIONED: u8 = 1;
/// The length has 32 bits: objects of 64 KiB and more.
const LONG: u8 = 2;
/// The object is a tree node, not an entry.
pub(crate) const NODE: u8 = 4;
/// It has no payload: from its sequence on there is nothing under the id. It stays until no reader is older.
const REMOVED: u8 = 8;
const VERSION_BYTES: usize = 6 + 5;
/// Bytes of the header of an object that has no version and a short length.
pub(crate) const SHORT_HEADER: usize = 1 + 2 + 4;
/// Where the first object lies, behind the header: address 0 is no address.
pub(crate) const FIRST: usize = 64;

/// Bytes that stay unused at the end of a segment: [`Heap::header`] reads nine bytes from an object's start, however
/// short the object is, and a removed one at the very end would else be read across the end of the region.
const SPARE: usize = 16;

/// Segments and slots.
pub(crate) struct Heap {
    region: Region,
    slots: Words,
    node_slots: Words,
    /// Of each node of a tree whose items are counted, how many there are at and below it.
    node_counts: Words,
    /// Checkpoints that are in progress: while there are any, what the cleaner moves keeps a link to where it was.
    checkpoints: AtomicU32,
    /// Of each segment, the serial that it was begun with last; 0 of one that came from a checkpoint.
    serials: Words,
    /// Of each segment, how many checkpoints have not written it out yet: until then it is not used again.
    holds: Words,
    /// Counts the times that a checkpoint released a segment: the writer looks through `held` only if this has grown.
    release: AtomicU64,
}

/// A version of an object, as a reader sees it.
#[derive(Clone, Copy)]
pub(crate) struct Object<'a> {
    /// Flags, of which 16 and above are the payload's.
    pub(crate) flags: u8,
    pub(crate) payload: &'a [u8],
}

/// The writer's side of the heap.
#[derive(Default)]
pub(crate) struct HeapWriter {
    /// Of every segment that was ever begun, by number. It never shrinks: numbers beyond it were never used.
    accounts: Vec<Account>,
    /// The segment that is being filled, and where the next object goes. The cleaner leaves it alone.
    current: usize,
    offset: usize,
    /// Segments that may be begun at once. The last is taken first; a search for a run sorts them.
    free: Vec<u32>,
    /// Fewest free segments since it was looked which are idle: so many at the front of `free` were not used meanwhile.
    free_low: usize,
    /// Emptied segments, each with the sequence that every reader must have reached before it is free; ascending.
    retired: VecDeque<(u64, u32)>,
    /// Segments that no reader needs any more, only checkpoints do, as it was when the count of [`Heap::release`] was this.
    held: Vec<u32>,
    release: u64,
    /// Those of entries, and of nodes.
    pub(crate) ids: Ids,
    pub(crate) node_ids: Ids,
    /// Serial of the segment that is begun next.
    serial: u64,
    /// Bytes appended, and of those by the cleaner: write amplification is their ratio.
    pub(crate) appended: u64,
    pub(crate) moved: u64,
    /// Sums of the accounts' bytes, of `used` without the headers of segments. Their difference is dead.
    live: u64,
    used: u64,
    /// Segments of the longest object so far. It never shrinks: a bound for what a new version may take.
    longest: usize,
    /// The segment that is being emptied, and how far that went.
    cleaning: Option<(usize, usize)>,
}

/// No room: the reserved segments or ids are used up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HeapFull;

impl Heap {
    /// A heap of at most `bytes_max` bytes, `ids_max` entries and as many nodes.
    pub(crate) fn create(
        bytes_max: usize,
        ids_max: usize,
        huge_pages: bool,
    ) -> io::Result<(Heap, HeapWriter)> {
        let bytes_max = bytes_max.clamp(16 * SEGMENT, 1 << 40);
        let ids_max = ids_max.clamp(1 << 16, 1 << 31);
        let heap = Heap {
            region: Region::reserve(bytes_max, huge_pages)?,
            slots: Words::reserve(ids_max, huge_pages)?,
            node_slots: Words::reserve(ids_max, huge_pages)?,
            node_counts: Words::reserve(ids_max, false)?,
            checkpoints: AtomicU32::new(0),
            serials: Words::reserve(bytes_max / SEGMENT + 1, false)?,
            holds: Words::reserve(bytes_max / SEGMENT + 1, false)?,
            release: AtomicU64::new(0),
        };
        let mut writer = HeapWriter {
            accounts: vec![Account::default()],
            offset: FIRST,
            ids: Ids::new(ids_max),
            node_ids: Ids::new(ids_max),
            serial: 1,
            longest: 1,
            ..HeapWriter::default()
        };
        heap.begin_segment(&mut writer, 0, 1);
        Ok((heap, writer))
    }

    #[inline]
    fn bytes(&self, address: usize, len: usize) -> &[u8] {
        // Checked in test builds only: every header and payload that a search looks at comes through here. Writes are
        // checked in all builds (`write`), and so is every object that comes from a file (`walk_part`).
        debug_assert!(address + len <= self.region.len());
        // SAFETY: inside the region. Addresses come from slots and version links only, which point to objects that
        // were completely written before the address was stored with release order; objects are never written
        // again, and their segment is not reused while a reader that could reach them is active.
        unsafe { std::slice::from_raw_parts(self.region.base().as_ptr().add(address), len) }
    }

    /// The slots of entries or of nodes.
    #[inline]
    fn slots(&self, flags: u8) -> &Words {
        if flags & NODE == 0 { &self.slots } else { &self.node_slots }
    }

    /// The count of a node, as it was set last.
    #[inline]
    pub(crate) fn node_count(&self, id: u32) -> u64 {
        self.node_counts.get(id as usize).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Sets the count of a node. Writer only.
    #[inline]
    pub(crate) fn set_node_count(&self, id: u32, count: u64) {
        self.node_counts[id as usize].store(count, Ordering::Relaxed);
    }

    /// Prefetches the slot of an entry.
    #[inline]
    pub(crate) fn prefetch_slot(&self, id: u32) {
        if let Some(slot) = self.slots.get(id as usize) {
            prefetch(slot);
        }
    }

    /// Asks for the first two cache lines of an entry.
    #[inline]
    pub(crate) fn prefetch_object(&self, id: u32) {
        if let Some(slot) = self.slots.get(id as usize) {
            // Neither read point nor order is needed: a prefetch of an address that is no longer true reads nothing.
            let address = slot.load(Ordering::Relaxed) as usize;
            let start = self.region.base().as_ptr().wrapping_add(address);
            prefetch(start);
            prefetch(start.wrapping_add(64));
        }
    }

    /// The version of an entry at `sequence`. The caller holds a read point at that sequence.
    #[inline]
    pub(crate) fn read(&self, id: u32, sequence: u64) -> Option<Object<'_>> {
        self.version(self.slots.get(id as usize)?.load(Ordering::Acquire), sequence)
    }

    /// The version of a node at `sequence`. The caller holds a read point at that sequence.
    #[inline]
    pub(crate) fn read_node(&self, id: u32, sequence: u64) -> Option<Object<'_>> {
        self.version(self.node_slots.get(id as usize)?.load(Ordering::Acquire), sequence)
    }

    #[inline(always)]
    fn version(&self, newest: u64, sequence: u64) -> Option<Object<'_>> {
        let mut address = newest as usize;
        // Versions are linked from the newest to the oldest. The way ends at the first that the reader may see, so it
        // never reaches an address whose segment was begun anew: what lies behind is older than every reader.
        while address != 0 {
            let header = self.header(address);
            if header.sequence <= sequence {
                if header.flags & REMOVED != 0 {
                    return None;
                }
                return Some(self.object(address, &header));
            }
            address = header.older;
        }
        None
    }

    /// Does `test` say yes to a version of an entry that a reader at `oldest` or later may see? It is given a sequence at which
    /// the version is the one to see. Writer only, and no reader is older than `oldest`.
    pub(crate) fn any_version(
        &self,
        id: u32,
        oldest: u64,
        mut test: impl FnMut(Object<'_>, u64) -> bool,
    ) -> bool {
        let mut address = self.slots[id as usize].load(Ordering::Acquire) as usize;
        while address != 0 {
            let header = self.header(address);
            let object = self.object(address, &header);
            if header.flags & REMOVED == 0 && test(object, header.sequence.max(oldest)) {
                return true;
            }
            // The versions behind this one are seen by no reader, and their segments may be in use for something else.
            if header.sequence <= oldest {
                return false;
            }
            address = header.older;
        }
        false
    }

    /// The object at an address, which has this header.
    #[inline(always)]
    fn object(&self, address: usize, header: &Header) -> Object<'_> {
        let payload = self.bytes(address + header.len, header.object_len - header.len);
        Object { flags: header.flags, payload }
    }

    #[inline]
    fn header(&self, address: usize) -> Header {
        // One segment is never shorter than the longest header after an object's start plus slack, so reading the
        // fixed part first is in bounds; the version is read only if it is there.
        let fixed = self.bytes(address, 9);
        let flags = fixed[0];
        let (object_len, mut len) = if flags & LONG != 0 {
            (u32_at(fixed, 1) as usize, 9)
        } else {
            (u16::from_le_bytes([fixed[1], fixed[2]]) as usize, 7)
        };
        let (mut sequence, mut older) = (0, 0);
        if flags & VERSIONED != 0 {
            let version = self.bytes(address + len, VERSION_BYTES);
            sequence = uint_at(version, 0, 6);
            older = uint_at(version, 6, 5) as usize;
            len += VERSION_BYTES;
        }
        Header { flags, len, object_len, sequence, older }
    }

    /// The id stands behind the length, whose width the flags say.
    fn id_at(&self, address: usize, flags: u8) -> u32 {
        u32_at(self.bytes(address, 9), if flags & LONG != 0 { 5 } else { 3 })
    }

    /// Writes a version of an object and makes it the newest. `sequence` 0 means that no reader can be older.
    /// Room must have been claimed with [`Heap::claim`].
    ///
    /// The slot is stored last, with release order: who finds the new address finds the whole object. The old version
    /// stays where it is for older readers, who come to it by the link.
    pub(crate) fn put(&self, writer: &mut HeapWriter, id: u32, flags: u8, sequence: u64, payload: &[u8]) {
        let slot = &self.slots(flags)[id as usize];
        let older = slot.load(Ordering::Relaxed) as usize;
        let version = (sequence != 0).then_some((sequence, older));
        let address = self.append(writer, id, flags, version, payload);
        slot.store(address as u64, Ordering::Release);
        if older != 0 {
            let header = self.header(older);
            assert!(
                sequence == 0 || header.sequence <= sequence,
                "a version is not older than the one that it replaces"
            );
            writer.mark_dead(older, header.object_len as u32, sequence);
        }
    }

    /// As [`Heap::put`], of a new entry that no reader is older than, in two pieces, the first with room for the header.
    /// For imports: the header is put together in registers and both pieces are copied once. What does not fit the
    /// short header goes the general way.
    #[inline]
    pub(crate) fn put_new<const N: usize>(
        &self,
        writer: &mut HeapWriter,
        (id, flags): (u32, u8),
        front: &mut [u8; N],
        rest: &[u8],
    ) {
        let slot = &self.slots[id as usize];
        let len = u16::try_from(N + rest.len()).ok().filter(|_| slot.load(Ordering::Relaxed) == 0);
        let Some(len) = len else {
            return self.put(writer, id, flags, 0, &[&front[SHORT_HEADER..], rest].concat());
        };
        let ([l0, l1], [i0, i1, i2, i3]) = (len.to_le_bytes(), id.to_le_bytes());
        *front.first_chunk_mut().expect("there is room") = [flags, l0, l1, i0, i1, i2, i3];
        let address = self.write(writer, front, rest);
        slot.store(address as u64, Ordering::Release);
    }

    /// Writes that an entry is no more. Readers of earlier sequences still see it.
    pub(crate) fn put_removed(&self, writer: &mut HeapWriter, id: u32, sequence: u64) {
        self.put(writer, id, REMOVED, sequence, &[]);
    }

    /// Writes that a node is no more. Readers of earlier sequences still see it.
    pub(crate) fn put_removed_node(&self, writer: &mut HeapWriter, id: u32, sequence: u64) {
        self.put(writer, id, REMOVED | NODE, sequence, &[]);
    }

    /// Forgets a removed entry that no reader can see any more.
    pub(crate) fn forget(&self, writer: &mut HeapWriter, id: u32) {
        self.forget_in(writer, &self.slots, id);
    }

    /// Forgets a removed node that no reader can see any more. The id is free again.
    pub(crate) fn forget_node(&self, writer: &mut HeapWriter, id: u32) {
        self.forget_in(writer, &self.node_slots, id);
        writer.node_ids.free(id);
    }

    fn forget_in(&self, writer: &mut HeapWriter, slots: &Words, id: u32) {
        let slot = &slots[id as usize];
        let address = slot.load(Ordering::Relaxed) as usize;
        assert!(address != 0, "what is forgotten is there");
        let header = self.header(address);
        assert!(header.flags & REMOVED != 0, "only a removed object is forgotten");
        slot.store(0, Ordering::Release);
        // Sequence 0: every reader is past its removal, so none of them needs what is left of it.
        writer.mark_dead(address, header.object_len as u32, 0);
    }

    /// Makes sure that `bytes` of objects can be written without failing: writes come after changes of tables that
    /// could not be taken back, so none of them returns an error.
    pub(crate) fn claim(
        &self,
        writer: &mut HeapWriter,
        readers: &Readers,
        bytes: usize,
    ) -> Result<(), HeapFull> {
        // Every object may waste a segment's end shorter than itself, and a run needs neighbours.
        let wanted = bytes.div_ceil(SEGMENT) * 2 + 2;
        let all = self.region.len() / SEGMENT;
        assert!(writer.accounts.len() <= all, "segments lie in the region");
        let never_used = all - writer.accounts.len();
        if never_used >= wanted {
            return Ok(());
        }
        self.reuse(writer, readers);
        let room = writer.free.len() + never_used >= wanted;
        // Short objects need no neighbours, so the sort that a search for a run takes is left out for them.
        let is_short = bytes + bytes / 2 < SEGMENT;
        let run = (FIRST + bytes + SPARE).div_ceil(SEGMENT);
        if room && (is_short || never_used >= run || find_run(&mut writer.free, run).is_some()) {
            return Ok(());
        }
        Err(HeapFull)
    }

    /// Puts the header of an object together and writes both. A long length is used only where it must be: nearly every object
    /// saves two bytes.
    fn append(
        &self,
        writer: &mut HeapWriter,
        id: u32,
        flags: u8,
        link: Option<(u64, usize)>,
        payload: &[u8],
    ) -> usize {
        let mut header = [0u8; 9 + VERSION_BYTES];
        let version = if link.is_some() { VERSION_BYTES } else { 0 };
        let long = payload.len() + 7 + version > usize::from(u16::MAX);
        let fixed = if long { 9 } else { 7 };
        let len = fixed + version + payload.len();
        header[0] = flags | if long { LONG } else { 0 } | if version > 0 { VERSIONED } else { 0 };
        if long {
            assert!(u32::try_from(len).is_ok(), "the length of an object has 32 bits");
            header[1..5].copy_from_slice(&(len as u32).to_le_bytes());
        } else {
            header[1..3].copy_from_slice(&(len as u16).to_le_bytes());
        }
        header[fixed - 4..fixed].copy_from_slice(&id.to_le_bytes());
        if let Some((sequence, older)) = link {
            assert!(older >> 40 == 0, "the address of the version before has 40 bits");
            header[fixed..fixed + 6].copy_from_slice(&sequence.to_le_bytes()[..6]);
            header[fixed + 6..fixed + 11].copy_from_slice(&older.to_le_bytes()[..5]);
        }
        self.write(writer, &header[..fixed + version], payload)
    }

    /// Writes an object; returns its address.
    #[inline]
    fn write(&self, writer: &mut HeapWriter, header: &[u8], payload: &[u8]) -> usize {
        let len = header.len() + payload.len();
        let address = self.place(writer, len);
        assert!(address + len + SPARE <= self.region.len(), "an object lies in the region");
        // SAFETY: `place` gave `len` bytes that no reader knows of yet, inside the region, and there is one writer.
        unsafe {
            let to = self.region.base().as_ptr().add(address);
            std::ptr::copy_nonoverlapping(header.as_ptr(), to, header.len());
            std::ptr::copy_nonoverlapping(payload.as_ptr(), to.add(header.len()), payload.len());
        }
        let account = &mut writer.accounts[address / SEGMENT];
        account.live += len as u32;
        account.used += len as u32;
        writer.live += len as u64;
        writer.used += len as u64;
        writer.appended += len as u64;
        address
    }

    /// Finds `len` free bytes, with [`SPARE`] more behind them. What is left of a segment that the next object does not
    /// fit into is lost until it is cleaned; of a run, all behind its one object is.
    #[inline]
    fn place(&self, writer: &mut HeapWriter, len: usize) -> usize {
        if writer.offset + len + SPARE > SEGMENT {
            if FIRST + len + SPARE > SEGMENT {
                return self.place_run(writer, (FIRST + len + SPARE).div_ceil(SEGMENT));
            }
            self.next_segment(writer);
        }
        let address = writer.current * SEGMENT + writer.offset;
        writer.offset += len;
        address
    }

    /// Begins another segment to fill: one that was emptied before one that was never used, so that memory in use stays small.
    #[cold]
    fn next_segment(&self, writer: &mut HeapWriter) {
        writer.current = match writer.free.pop() {
            Some(number) => number as usize,
            None => writer.accounts.len(),
        };
        writer.free_low = writer.free_low.min(writer.free.len());
        if writer.current == writer.accounts.len() {
            assert!((writer.current + 1) * SEGMENT <= self.region.len(), "room was claimed");
            writer.accounts.push(Account::default());
        }
        assert!(writer.accounts[writer.current].is_empty(), "a segment that is begun holds nothing");
        self.begin_segment(writer, writer.current, 1);
        writer.offset = FIRST;
        writer.segment_invariants();
    }

    /// A run of neighbouring segments for one object. The segment that is being filled stays the current one: its rest
    /// is not lost to a long object that comes in between.
    fn place_run(&self, writer: &mut HeapWriter, segments: usize) -> usize {
        writer.longest = writer.longest.max(segments);
        let first = match find_run(&mut writer.free, segments) {
            Some(at) => {
                // The search sorted the list: which segments were idle is no longer known by their places in it.
                writer.free_low = 0;
                writer.free.drain(at..at + segments).next().expect("a run has a first segment") as usize
            }
            None => writer.accounts.len(),
        };
        let end = writer.accounts.len().max(first + segments);
        assert!(end * SEGMENT <= self.region.len(), "room was claimed");
        writer.accounts.resize(end, Account::default());
        let run = &mut writer.accounts[first..first + segments];
        assert!(run.iter().all(Account::is_empty), "a run that is begun holds nothing");
        run.fill(Account::default());
        self.begin_segment(writer, first, segments);
        writer.segment_invariants();
        first * SEGMENT + FIRST
    }

    /// A segment, or a run of them, is written from the start: its header tells it from all others.
    fn begin_segment(&self, writer: &mut HeapWriter, number: usize, run: usize) {
        let serial = writer.serial;
        writer.serial += 1;
        assert!((number + run) * SEGMENT <= self.region.len(), "a segment lies in the region");
        assert!(writer.accounts[number].serial < serial, "a serial is never given twice");
        writer.accounts[number] =
            Account { used: FIRST as u32, run: run as u32, serial, ..Account::default() };
        self.note_begun(number, run, serial);
        let header = frozen::header(serial, run as u32);
        // SAFETY: the segment is free: no reader reaches into it, and there is one writer. It lies in the region.
        unsafe {
            let to = self.region.base().as_ptr().add(number * SEGMENT);
            std::ptr::copy_nonoverlapping(header.as_ptr(), to, header.len());
        }
    }

    /// Where objects and the slots of entries grow, and how far they have.
    pub(crate) fn growing(&self, writer: &HeapWriter) -> [Prefault<'_>; 2] {
        let ids = writer.ids.end() as usize;
        [Some((&self.region, writer.accounts.len() * SEGMENT)), self.slots.growing(ids)]
    }
}

/// Where so many free segments are neighbours, in the list, which is sorted for it. Numbers in it differ, so a stretch of
/// the list whose ends are as far apart as it is long has no gap.
fn find_run(free: &mut [u32], segments: usize) -> Option<usize> {
    free.sort_unstable();
    free.windows(segments).position(|run| run[segments - 1] - run[0] == segments as u32 - 1)
}

struct Header {
    flags: u8,
    /// Bytes before the payload.
    len: usize,
    /// Bytes of the whole object.
    object_len: usize,
    sequence: u64,
    older: usize,
}

#[inline]
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[inline]
fn uint_at(bytes: &[u8], at: usize, width: usize) -> u64 {
    let mut word = [0; 8];
    word[..width].copy_from_slice(&bytes[at..at + width]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests;
