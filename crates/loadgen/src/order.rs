//! The order in which entries are made. Every order is a permutation of `0..count` that is computed, not stored:
//! a data set of any size streams in constant memory.

use crate::random::mix;

/// In which order a data set is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// 0, 1, 2 and so on.
    Sorted,
    /// A permutation that depends on the seed.
    Random,
    /// Binary subdivision: the middle, then the middles of both halves, and so on level by level, so that a tree
    /// index that is filled in this order never needs rebalancing.
    Subdivided,
}

impl Order {
    /// The numbers below `count` in this order.
    pub fn numbers(self, count: u64, seed: u64) -> Numbers {
        match self {
            Order::Sorted => Numbers::Sorted { next: 0, count },
            Order::Random => Numbers::Random { next: 0, permutation: Permutation::new(count, seed) },
            Order::Subdivided => {
                let bits = 64 - count.leading_zeros();
                Numbers::Subdivided { level: 0, at: 0, bits, count }
            }
        }
    }
}

/// The iterator behind [`Order::numbers`].
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the state of an iterator")]
pub enum Numbers {
    Sorted { next: u64, count: u64 },
    Random { next: u64, permutation: Permutation },
    Subdivided { level: u32, at: u64, bits: u32, count: u64 },
}

impl Iterator for Numbers {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        match self {
            Numbers::Sorted { next, count } => {
                let n = *next;
                *next += 1;
                (n < *count).then_some(n)
            }
            Numbers::Random { next, permutation } => {
                let n = *next;
                *next += 1;
                (n < permutation.count).then(|| permutation.apply(n))
            }
            Numbers::Subdivided { level, at, bits, count } => {
                // Level l of a perfect tree over 2^bits - 1 numbers: the odd multiples of 2^(bits-1-l), less one.
                while *level < *bits {
                    let step = 1u64 << (*bits - 1 - *level);
                    let n = (2 * *at + 1) * step - 1;
                    *at += 1;
                    if *at == 1 << *level {
                        *level += 1;
                        *at = 0;
                    }
                    if n < *count {
                        return Some(n);
                    }
                }
                None
            }
        }
    }
}

/// A seeded permutation of `0..count`: a Feistel network over the next even power of two, walked until the
/// result is in range (fewer than four steps on average).
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    count: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    /// The permutation of `0..count` (at most 2^62) that belongs to `seed`.
    pub fn new(count: u64, seed: u64) -> Permutation {
        assert!(count <= 1 << 62, "a permutation of more than 2^62 numbers");
        let bits = (64 - count.saturating_sub(1).leading_zeros()).max(2);
        let keys = [1, 2, 3, 4].map(|round| mix(seed.wrapping_add(mix(round))));
        Permutation { count, half_bits: bits.div_ceil(2), keys }
    }

    /// Where `n` goes. `n` must be below the count.
    pub fn apply(&self, n: u64) -> u64 {
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
                let mut numbers: Vec<u64> = order.numbers(count, 42).collect();
                numbers.sort_unstable();
                assert_eq!(numbers, (0..count).collect::<Vec<_>>(), "{order:?} of {count}");
            }
        }
    }

    #[test]
    fn subdivision_starts_in_the_middle() {
        let numbers: Vec<u64> = Order::Subdivided.numbers(7, 0).collect();
        assert_eq!(numbers, [3, 1, 5, 0, 2, 4, 6]);
    }

    #[test]
    fn the_seed_decides() {
        let of = |seed| Order::Random.numbers(1000, seed).take(5).collect::<Vec<_>>();
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }
}
