//! The order in which entries are made. Every order is a permutation of `0..count` that is computed, not stored:
//! a data set of any size streams in constant memory.

use crate::random::mix;
use clap::ValueEnum;
use std::ops::Range;

/// In which order a data set is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// 0, 1, 2, ...
    Sorted,
    /// A permutation that depends on the seed
    Random,
    /// The middle, then the middles of the halves, and so on: fills a tree index without rebalancing
    Subdivided,
}

impl Order {
    /// A part of the numbers below `count`, in this order: of those that lie side by side, or, in random order, of all.
    pub fn part(self, part: Part, count: u64, seed: u64) -> Box<dyn Iterator<Item = u64>> {
        let Range { start, end } = part.of(count);
        match self {
            Order::Sorted => Box::new(start..end),
            Order::Random => {
                let permutation = Permutation::new(count, seed);
                Box::new((start..end).map(move |number| permutation.apply(number)))
            }
            Order::Subdivided => Box::new(subdivided(end - start).map(move |number| start + number)),
        }
    }
}

/// Level l of a perfect tree over 2^bits - 1 numbers has the odd multiples of 2^(bits-1-l), less one.
fn subdivided(count: u64) -> impl Iterator<Item = u64> {
    let bits = 64 - count.leading_zeros();
    let levels = (0..bits).flat_map(move |level| {
        let step = 1u64 << (bits - 1 - level);
        (0..1u64 << level).map(move |at| (2 * at + 1) * step - 1)
    });
    levels.filter(move |number| *number < count)
}

/// One of several parts of about the same size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its number, from 0.
    pub number: u64,
    /// How many there are, 1 to 2^16.
    pub parts: u64,
}

impl Part {
    /// All of it.
    pub const WHOLE: Part = Part { number: 0, parts: 1 };

    /// Which of `count` places it has.
    pub fn of(self, count: u64) -> Range<u64> {
        let at = |number: u64| (u128::from(count) * u128::from(number) / u128::from(self.parts)) as u64;
        at(self.number)..at(self.number + 1)
    }
}

/// A seeded permutation of `0..count`: a Feistel network over the next even power of two, walked until the
/// result is in range (fewer than four steps on average).
struct Permutation {
    count: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    /// The permutation of `0..count` (at most 2^62) that belongs to `seed`.
    fn new(count: u64, seed: u64) -> Permutation {
        assert!(count <= 1 << 62, "a permutation of more than 2^62 numbers");
        let bits = (64 - count.saturating_sub(1).leading_zeros()).max(2);
        let keys = [1, 2, 3, 4].map(|round| mix(seed.wrapping_add(mix(round))));
        Permutation { count, half_bits: bits.div_ceil(2), keys }
    }

    /// Where `n` goes. `n` must be below the count.
    fn apply(&self, n: u64) -> u64 {
        assert!(n < self.count, "a number outside the permutation");
        let mut x = n;
        loop {
            x = self.round_trip(x);
            if x < self.count {
                return x;
            }
        }
    }

    fn round_trip(&self, x: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let (mut left, mut right) = (x >> self.half_bits, x & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mix(right ^ key) & mask));
        }
        (left << self.half_bits) | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_a_permutation() {
        for count in [0, 1, 2, 3, 7, 8, 100, 1000, 1025] {
            for order in [Order::Sorted, Order::Random, Order::Subdivided] {
                let mut numbers: Vec<u64> = order.part(Part::WHOLE, count, 42).collect();
                numbers.sort_unstable();
                assert_eq!(numbers, (0..count).collect::<Vec<_>>(), "{order:?} of {count}");
            }
        }
    }

    #[test]
    fn parts_make_up_the_whole() {
        for count in [0, 1, 3, 10, 1000, 1025] {
            for parts in [1, 2, 4, 7] {
                for order in [Order::Sorted, Order::Random, Order::Subdivided] {
                    let part = |number| order.part(Part { number, parts }, count, 42);
                    let mut numbers: Vec<u64> = (0..parts).flat_map(part).collect();
                    assert!((0..parts).all(|number| part(number).count() as u64 <= count.div_ceil(parts)));
                    numbers.sort_unstable();
                    assert_eq!(numbers, (0..count).collect::<Vec<_>>(), "{order:?} of {count} in {parts}");
                }
            }
        }
    }

    #[test]
    fn subdivision_starts_in_the_middle() {
        let numbers: Vec<u64> = Order::Subdivided.part(Part::WHOLE, 7, 0).collect();
        assert_eq!(numbers, [3, 1, 5, 0, 2, 4, 6]);
    }

    #[test]
    fn the_seed_decides() {
        let of = |seed| Order::Random.part(Part::WHOLE, 1000, seed).take(5).collect::<Vec<_>>();
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }
}
