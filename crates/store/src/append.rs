//! A table that only grows: readers take references by number without a lock, one writer appends.
//!
//! Chunks never move, so a reference stays good while others are appended. Each cell is written once, by a [`OnceLock`], which
//! also orders it before a reader that finds it.

use std::sync::OnceLock;

/// Values of a chunk, which is allocated as a whole when its first value comes.
const CHUNK: usize = 1024;

/// Chunks of a group. Room for 2^27 values is 128 groups, of which those take memory that have values: one array of all chunks would take 3 MB
/// of each index before its first value.
const GROUP: usize = 1024;

type Chunk<T> = Box<[OnceLock<T>]>;
type Group<T> = Box<[OnceLock<Chunk<T>>]>;

/// Values by number, from 0. Numbers are handed out by [`Append::push`] and stay valid.
pub(crate) struct Append<T> {
    groups: Box<[OnceLock<Group<T>>]>,
    /// Values that there is room for.
    len_max: usize,
}

fn cells<T>(count: usize) -> Box<[OnceLock<T>]> {
    (0..count).map(|_| OnceLock::new()).collect()
}

impl<T> Append<T> {
    /// Room for `len_max` values, rounded up to whole chunks; takes memory as it is filled.
    pub(crate) fn with_room(len_max: usize) -> Append<T> {
        let len_max = len_max.next_multiple_of(CHUNK);
        Append { groups: cells(len_max.div_ceil(CHUNK * GROUP)), len_max }
    }

    /// The value with this number.
    #[inline]
    pub(crate) fn at(&self, number: usize) -> Option<&T> {
        let group = self.groups.get(number / (CHUNK * GROUP))?.get()?;
        group[number / CHUNK % GROUP].get()?[number % CHUNK].get()
    }

    /// Stores the value with the next number, which the writer keeps count of. `Err` when the room is used up.
    pub(crate) fn push(&self, number: usize, value: T) -> Result<(), T> {
        if number >= self.len_max {
            return Err(value);
        }
        let group = self.groups[number / (CHUNK * GROUP)].get_or_init(|| cells(GROUP));
        let chunk = group[number / CHUNK % GROUP].get_or_init(|| cells(CHUNK));
        // Without this an `Err` could also mean that the number is taken, and would be reported as a limit.
        assert!(chunk[number % CHUNK].get().is_none(), "a number is given to one value");
        chunk[number % CHUNK].set(value)
    }

    /// All values, by number. A chunk without values is passed over: a restore leaves numbers out ([`crate::shape`]).
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let groups = self.groups.iter().filter_map(OnceLock::get);
        let chunks = groups.flat_map(|group| group.iter().filter_map(OnceLock::get));
        chunks.flat_map(|chunk| chunk.iter().filter_map(OnceLock::get))
    }

    /// Takes the value with this number out again; another may be stored there. Exclusive access shows that no reader has a
    /// reference to it.
    pub(crate) fn take(&mut self, number: usize) -> Option<T> {
        let group = self.groups.get_mut(number / (CHUNK * GROUP))?.get_mut()?;
        group[number / CHUNK % GROUP].get_mut()?[number % CHUNK].take()
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
        let mut table = Append::with_room(5_000_000);
        let numbers = [0, 1, 7000, 1_048_575, 1_048_576, 4_999_999];
        numbers.into_iter().for_each(|n| table.push(n, n).unwrap());
        assert_eq!(table.iter().copied().collect::<Vec<_>>(), numbers);
        assert!(numbers.iter().all(|n| table.at(*n) == Some(n)));
        assert_eq!((table.take(1_048_576), table.at(1_048_576)), (Some(1_048_576), None));
    }
}
