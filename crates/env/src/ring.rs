//! A ring of records between two threads, without a lock: one puts, the other takes. What finds no room is lost and counted, so the one that
//! puts never waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Octets of a word.
const WORD: usize = 8;

/// What both ends share. A record is its length and then its octets, in whole words; the ends are counted in words from the beginning on.
///
/// The words are atomic, so nothing here is unsafe. What orders them is `written`, which is stored after the words of a record, and `read`,
/// which is stored after they were taken.
#[derive(Debug)]
struct Ring {
    words: Box<[AtomicU64]>,
    written: AtomicU64,
    read: AtomicU64,
    lost: AtomicU64,
}

impl Ring {
    fn word(&self, at: u64) -> &AtomicU64 {
        &self.words[at as usize % self.words.len()]
    }
}

/// The end that puts.
#[derive(Debug)]
pub struct Putting(Arc<Ring>);

/// The end that takes.
#[derive(Debug)]
pub struct Taking(Arc<Ring>);

/// A ring with room for so many octets, a power of two.
///
/// # Panics
/// If it is none, or less than a word.
pub fn ring(bytes: usize) -> (Putting, Taking) {
    assert!(bytes.is_power_of_two() && bytes >= WORD, "a ring has whole words");
    let words = (0..bytes / WORD).map(|_| AtomicU64::new(0)).collect();
    let ring = Arc::new(Ring { words, written: 0.into(), read: 0.into(), lost: 0.into() });
    (Putting(Arc::clone(&ring)), Taking(ring))
}

impl Putting {
    /// Puts a record, if there is room. If there is none it is counted as lost.
    pub fn put(&mut self, record: &[u8]) {
        let ring = &*self.0;
        let begin = ring.written.load(Ordering::Relaxed);
        let words = 1 + record.len().div_ceil(WORD) as u64;
        // What was taken is free: those words are not looked at any more.
        if begin + words - ring.read.load(Ordering::Acquire) > ring.words.len() as u64 {
            ring.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        ring.word(begin).store(record.len() as u64, Ordering::Relaxed);
        for (at, part) in record.chunks(WORD).enumerate() {
            let mut word = [0; WORD];
            word[..part.len()].copy_from_slice(part);
            ring.word(begin + 1 + at as u64).store(u64::from_le_bytes(word), Ordering::Relaxed);
        }
        ring.written.store(begin + words, Ordering::Release);
    }
}

impl Taking {
    /// Replaces what is in `record` by the next one; `false` if there is none.
    pub fn take(&mut self, record: &mut Vec<u8>) -> bool {
        let ring = &*self.0;
        let begin = ring.read.load(Ordering::Relaxed);
        if begin == ring.written.load(Ordering::Acquire) {
            return false;
        }
        let len = ring.word(begin).load(Ordering::Relaxed) as usize;
        let words = len.div_ceil(WORD) as u64;
        record.clear();
        for at in 0..words {
            record.extend_from_slice(&ring.word(begin + 1 + at).load(Ordering::Relaxed).to_le_bytes());
        }
        record.truncate(len);
        ring.read.store(begin + 1 + words, Ordering::Release);
        true
    }

    /// How many were lost since the last call.
    pub fn take_lost(&mut self) -> u64 {
        self.0.lost.swap(0, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_room_is_counted() {
        let (mut putting, mut taking) = ring(64);
        // Two words each: four of them fill it.
        (0..6).for_each(|n| putting.put(&[n; 7]));
        let mut record = Vec::new();
        for n in 0..4 {
            assert!(taking.take(&mut record) && record == [n; 7]);
        }
        assert!(!taking.take(&mut record));
        assert_eq!((taking.take_lost(), taking.take_lost()), (2, 0));
        putting.put(b"");
        assert!(taking.take(&mut record) && record.is_empty());
    }

    #[test]
    fn records_come_whole_and_in_order_between_threads() {
        let (mut putting, mut taking) = ring(1 << 10);
        let count = 100_000u64;
        let thread = std::thread::spawn(move || {
            for n in 0..count {
                putting.put(&n.to_le_bytes().repeat(1 + n as usize % 5));
            }
        });
        let (mut record, mut taken, mut last) = (Vec::new(), 0, None);
        loop {
            let is_over = thread.is_finished();
            if taking.take(&mut record) {
                let n = u64::from_le_bytes(record[..8].try_into().unwrap());
                assert_eq!(record, n.to_le_bytes().repeat(1 + n as usize % 5));
                assert!(last.is_none_or(|last| last < n));
                (last, taken) = (Some(n), taken + 1);
            } else if is_over {
                break;
            }
        }
        thread.join().unwrap();
        assert_eq!(taken + taking.take_lost(), count);
    }
}
