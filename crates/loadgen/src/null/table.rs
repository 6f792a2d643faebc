//! The records: 128 bytes each in huge pages where the kernel has them, like the memory of the server that is compared.

use env::memory::Region;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Words of a record: key and length in the first, the value in the others.
const WORDS: usize = 16;
/// Bytes of the longest value.
pub(super) const VALUE_MAX: usize = (WORDS - 1) * 8;
/// What every value is at first.
const INITIAL: u64 = u64::from_le_bytes(*b"AA-00000");

/// All records. Threads may write one record at once; the words do not tear, the value may be a mixture of both.
pub(crate) struct Table {
    region: Region,
    entries: u64,
}

impl Table {
    /// Writes every record, so that all of them lie in memory.
    pub(super) fn new(entries: u64) -> io::Result<Table> {
        let region = Region::reserve(entries as usize * WORDS * 8, true)?;
        for (key, record) in region.words().chunks_exact(WORDS).take(entries as usize).enumerate() {
            record[0].store(key as u64 | 8 << 32, Relaxed);
            record[1].store(INITIAL, Relaxed);
        }
        Ok(Table { region, entries })
    }

    /// Whether there is such a record.
    #[inline(always)]
    pub(super) fn has(&self, key: u64) -> bool {
        key < self.entries
    }

    #[inline(always)]
    fn record(&self, key: u64) -> &[AtomicU64] {
        let at = key as usize * WORDS;
        &self.region.words()[at..at + WORDS]
    }

    /// Loads the first line of the record, for the side effect.
    #[inline(always)]
    pub(super) fn touch(&self, key: u64) -> u64 {
        self.record(key.min(self.entries - 1))[0].load(Relaxed)
    }

    /// Whether the record is the one asked for.
    #[inline(always)]
    pub(super) fn is(&self, key: u64) -> bool {
        self.record(key)[0].load(Relaxed) as u32 == key as u32
    }

    /// The value's length; its bytes go to `out`.
    #[inline(always)]
    pub(super) fn value(&self, key: u64, out: &mut [u8; VALUE_MAX + 8]) -> usize {
        let record = self.record(key);
        let len = ((record[0].load(Relaxed) >> 32) as usize & 0xff).min(VALUE_MAX);
        for (word, bytes) in record[1..].iter().zip(out.chunks_exact_mut(8)).take(len.div_ceil(8)) {
            bytes.copy_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        len
    }

    /// Stores a value of `len` bytes, at most [`VALUE_MAX`], which lies in a padded buffer.
    #[inline(always)]
    pub(super) fn set_value(&self, key: u64, buffer: &[u8], at: usize, len: usize) {
        assert!(len <= VALUE_MAX, "a value fits in its record");
        let record = self.record(key);
        for (word, bytes) in record[1..].iter().zip(buffer[at..].chunks_exact(8)).take(len.div_ceil(8)) {
            word.store(u64::from_le_bytes(bytes.try_into().expect("chunks of eight")), Relaxed);
        }
        record[0].store(u64::from(key as u32) | (len as u64) << 32, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept() {
        let table = Table::new(3).unwrap();
        let mut out = [0; VALUE_MAX + 8];
        assert!(table.has(2) && !table.has(3) && table.is(2));
        assert_eq!((table.value(2, &mut out), &out[..8]), (8, &b"AA-00000"[..]));
        let mut buffer = vec![b'x'; 13];
        buffer.resize(200, 0);
        table.set_value(2, &buffer, 1, 12);
        assert_eq!((table.value(2, &mut out), &out[..12]), (12, &b"xxxxxxxxxxxx"[..]));
        assert!(table.is(2));
        assert_eq!(table.value(1, &mut out), 8);
    }
}
