//! Versions that are made ready by readers: a prepared write is an object complete but for its sequence, made from the version that
//! was the newest one when it was looked at. The writer puts it in place if that is still so, which two words tell.

use super::{Heap, HeapWriter, Object, REMOVED, SEGMENT, VERSION_BYTES, VERSIONED};
use crate::sync::Ordering;

/// Bytes of the header of an object with a version and a u16 length.
pub(crate) const PREPARED_HEADER: usize = 7 + VERSION_BYTES;

/// The newest version of an object, where it lies. Until its segment is begun anew, an address is never written again: as
/// long as the slot holds it, it is the same version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(super) address: u64,
    /// Bytes of the object.
    len: u32,
    /// The serial of its segment, from before the slot was looked at for the last time.
    serial: u64,
}

impl Place {
    /// Of no object: what is prepared from it has to be prepared again.
    pub(crate) const NONE: Place = Place { address: u64::MAX, len: 0, serial: 0 };
}

impl Heap {
    /// Addresses in these segments are about to be written, perhaps not for the first time.
    pub(super) fn note_begun(&self, number: usize, run: usize, serial: u64) {
        self.serials[number..number + run].iter().for_each(|word| word.store(serial, Ordering::Release));
    }

    /// The newest version of an entry, if it is the one to see at `sequence`, and where it lies. The caller holds a
    /// read point at that sequence.
    #[inline]
    pub(crate) fn newest(&self, id: u32, sequence: u64) -> Option<(Object<'_>, Place)> {
        let slot = self.slots.get(id as usize)?;
        let address = slot.load(Ordering::Acquire);
        // Before the slot is looked at for the last time: if the segment is begun anew after this load, that is noticed
        // when the place is used.
        let serial = self.serials[address as usize / SEGMENT].load(Ordering::Acquire);
        if address == 0 || slot.load(Ordering::Acquire) != address {
            return None;
        }
        let header = self.header(address as usize);
        if header.sequence > sequence || header.flags & REMOVED != 0 {
            return None;
        }
        let payload = self.bytes(address as usize + header.len, header.object_len - header.len);
        let object = Object { flags: header.flags, payload };
        Some((object, Place { address, len: header.object_len as u32, serial }))
    }

    /// Is the newest version of an object where it was found?
    #[inline]
    pub(crate) fn is_newest(&self, id: u32, place: Place) -> bool {
        self.slots[id as usize].load(Ordering::Relaxed) == place.address
            && self.serials[place.address as usize / SEGMENT].load(Ordering::Relaxed) == place.serial
    }

    /// Writes an entry of which all is ready but its sequence: [`prepared_header`] and payload. `false` if what it
    /// was prepared from is no longer the newest version for certain: then nothing was done. Room must have been
    /// claimed with [`Heap::claim`].
    #[inline]
    pub(crate) fn put_prepared(
        &self,
        writer: &mut HeapWriter,
        id: u32,
        older: Place,
        prepared_write: &mut [u8],
        sequence: u64,
    ) -> bool {
        if !self.is_newest(id, older) {
            return false;
        }
        let [_, l0, l1, ..] = *prepared_write else { unreachable!("a prepared write has a header") };
        let len = usize::from(u16::from_le_bytes([l0, l1]));
        assert_eq!(len, prepared_write.len(), "what is installed is one whole object");
        let [s0, s1, s2, s3, s4, s5, ..] = sequence.to_le_bytes();
        *prepared_write[7..].first_chunk_mut().expect("a prepared write has a header") =
            [s0, s1, s2, s3, s4, s5];
        let address = self.write(writer, prepared_write, &[]);
        self.slots[id as usize].store(address as u64, Ordering::Release);
        writer.mark_dead(older.address as usize, older.len, sequence);
        true
    }
}

/// The header of the version after the one at `older`, for [`Heap::put_prepared`]; `None` if the object would be too
/// long for a u16 length.
#[inline]
pub(crate) fn prepared_header(
    id: u32,
    flags: u8,
    older: Place,
    payload: usize,
) -> Option<[u8; PREPARED_HEADER]> {
    let [l0, l1] = u16::try_from(PREPARED_HEADER + payload).ok()?.to_le_bytes();
    let [i0, i1, i2, i3] = id.to_le_bytes();
    let [a0, a1, a2, a3, a4, ..] = older.address.to_le_bytes();
    Some([flags | VERSIONED, l0, l1, i0, i1, i2, i3, 0, 0, 0, 0, 0, 0, a0, a1, a2, a3, a4])
}

/// The flags of the object that a prepared write will be.
pub(crate) fn prepared_flags(prepared_write: &[u8]) -> u8 {
    prepared_write[0] & !VERSIONED
}
