//! A table that only grows: readers take references by number without a lock, one writer appends.
//!
//! Chunks never move, so a reference stays good while others are appended. Each cell is written once, by a [`OnceLock`], which
//! also orders it before a reader that finds it.

use std::sync::OnceLock;

/// Values of a chunk, which is allocated as a whole when its first value comes.
const CHUNK: usize = 1024;

type Chunk<T> = Box<[OnceLock<T>]>;

/// Values by number, from 0. Numbers are handed out by [`Append::push`] and stay valid.
pub(crate) struct Append<T> {
    chunks: Box<[OnceLock<Chunk<T>>]>,
}

impl<T> Append<T> {
    /// Room for `len_max` values, rounded up; takes memory as it is filled.
    pub(crate) fn with_room(len_max: usize) -> Append<T> {
        Append { chunks: (0..len_max.div_ceil(CHUNK)).map(|_| OnceLock::new()).collect() }
    }

    /// The value with this number.
    #[inline]
    pub(crate) fn at(&self, number: usize) -> Option<&T> {
        self.chunks.get(number / CHUNK)?.get()?[number % CHUNK].get()
    }

    /// Stores the value with the next number, which the writer keeps count of. `Err` when the room is used up.
    pub(crate) fn push(&self, number: usize, value: T) -> Result<(), T> {
        let Some(chunk) = self.chunks.get(number / CHUNK) else { return Err(value) };
        let chunk = chunk.get_or_init(|| (0..CHUNK).map(|_| OnceLock::new()).collect());
        // Without this an `Err` could also mean that the number is taken, and would be reported as a limit.
        assert!(chunk[number % CHUNK].get().is_none(), "a number is given to one value");
        chunk[number % CHUNK].set(value)
    }

    /// All values, by number. A chunk without values is passed over: a restore leaves numbers out ([`crate::shape`]).
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let chunks = self.chunks.iter().filter_map(OnceLock::get);
        chunks.flat_map(|chunk| chunk.iter().filter_map(OnceLock::get))
    }

    /// Takes the value with this number out again; another may be stored there. Exclusive access shows that no reader has a
    /// reference to it.
    pub(crate) fn take(&mut self, number: usize) -> Option<T> {
        self.chunks.get_mut(number / CHUNK)?.get_mut()?[number % CHUNK].take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_to_its_room() {
        let table = Append::with_room(2000);
        for n in 0..2048 {
            table.push(n, n * 2).unwrap();
        }
        assert_eq!(table.push(2048, 0), Err(0));
        assert_eq!((table.at(0), table.at(2047), table.at(5000)), (Some(&0), Some(&4094), None));
    }

    #[test]
    fn values_behind_a_gap_are_found() {
        let table = Append::with_room(10_000);
        [0, 1, 7000].into_iter().for_each(|n| table.push(n, n).unwrap());
        assert_eq!(table.iter().copied().collect::<Vec<_>>(), [0, 1, 7000]);
    }
}
