//! A small, fast, seeded generator of random numbers. Not for secrets: the same seed gives the same data set
//! everywhere, which is the point.

/// Mixes 64 bits so that inputs that differ in one bit give unrelated outputs (the finaliser of SplitMix64).
pub fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The generator: SplitMix64, a counter and a mixer.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator whose numbers depend on `seed` only.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// A generator for item `item` of stream `stream`: independent of all others, so items may be made in any order.
    pub fn for_item(seed: u64, stream: u64, item: u64) -> Random {
        Random(
            mix(seed ^ mix(stream.wrapping_add(0x9e37_79b9_7f4a_7c15))).wrapping_add(mix(item ^ 0x5851_f42d)),
        )
    }

    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`; 0 when `bound` is 0. The bias is below `bound` / 2^64.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from `low` to `high`, both included.
    #[inline]
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        assert!(low <= high, "bounds are in order: of others the difference would be taken modulo 2^64");
        low + self.below((high - low).saturating_add(1))
    }

    /// Appends `count` characters of `alphabet`, which must not be empty nor longer than 256.
    pub fn characters(&mut self, alphabet: &[u8], count: usize, out: &mut Vec<u8>) {
        assert!((1..=256).contains(&alphabet.len()), "ten bits choose fairly among up to 256 characters");
        let scale = alphabet.len() as u64;
        let mut left = count;
        while left > 0 {
            // Six characters from one number: ten bits each, scaled; the bias is below 3 % and data only.
            let mut bits = self.bits();
            for _ in 0..left.min(6) {
                out.push(alphabet[(((bits & 0x3ff) * scale) >> 10) as usize]);
                bits >>= 10;
            }
            left -= left.min(6);
        }
    }

    /// Appends `count` random bytes.
    pub fn bytes(&mut self, count: usize, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + count, 0);
        for chunk in out[start..].chunks_mut(8) {
            let bytes = self.bits().to_le_bytes();
            let width = chunk.len();
            chunk.copy_from_slice(&bytes[..width]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_bounds_hold() {
        let (mut a, mut b) = (Random::for_item(1, 2, 3), Random::for_item(1, 2, 3));
        for _ in 0..1000 {
            let n = a.below(10);
            assert_eq!(n, b.below(10));
            assert!(n < 10);
        }
        assert_ne!(Random::for_item(1, 2, 3).bits(), Random::for_item(1, 2, 4).bits());
        assert!((3..=5).contains(&a.between(3, 5)));
    }

    #[test]
    fn lengths_are_exact() {
        let mut out = Vec::new();
        Random::new(1).characters(b"ab", 13, &mut out);
        assert!(out.len() == 13 && out.iter().all(|b| b"ab".contains(b)));
        Random::new(1).bytes(21, &mut out);
        assert_eq!(out.len(), 34);
    }
}
