//! Short byte strings, copied and compared without a call: nearly all names and values are short, and for those the
//! call of a general copy costs more than the copy.

/// Longest byte string that takes the short way.
const SHORT: usize = 16;

/// Copies `from` to the beginning of `to`.
///
/// # Panics
/// If `to` is shorter.
#[inline(always)]
pub fn copy(to: &mut [u8], from: &[u8]) {
    let len = from.len();
    let to = &mut to[..len];
    match len {
        // Two copies that overlap write every byte.
        8..=SHORT => {
            let (first, last): (&[u8; 8], &[u8; 8]) = ends(from);
            *to.first_chunk_mut().expect("it is as long") = *first;
            *to.last_chunk_mut().expect("it is as long") = *last;
        }
        4..8 => {
            let (first, last): (&[u8; 4], &[u8; 4]) = ends(from);
            *to.first_chunk_mut().expect("it is as long") = *first;
            *to.last_chunk_mut().expect("it is as long") = *last;
        }
        1..4 => {
            to[0] = from[0];
            to[len / 2] = from[len / 2];
            to[len - 1] = from[len - 1];
        }
        0 => {}
        _ => to.copy_from_slice(from),
    }
}

/// Are these the same bytes?
#[inline(always)]
pub fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let len = a.len();
    match len {
        8..=SHORT => ends::<8>(a) == ends::<8>(b),
        4..8 => ends::<4>(a) == ends::<4>(b),
        1..4 => a[0] == b[0] && a[len / 2] == b[len / 2] && a[len - 1] == b[len - 1],
        0 => true,
        _ => a == b,
    }
}

/// What follows a prefix.
#[inline(always)]
pub fn strip_prefix<'a>(bytes: &'a [u8], prefix: &[u8]) -> Option<&'a [u8]> {
    let (start, rest) = bytes.split_at_checked(prefix.len())?;
    equal(start, prefix).then_some(rest)
}

/// Up to eight bytes as a number: the first lowest, above the last zero.
///
/// # Panics
/// If they are more.
#[inline(always)]
pub fn word(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    match len {
        // Loads that overlap take every byte in.
        4..=8 => {
            let (first, last) = ends(bytes);
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << (8 * (len - 4))
        }
        1..4 => {
            let at = |at: usize| u64::from(bytes[at]) << (8 * at);
            at(0) | at(len / 2) | at(len - 1)
        }
        0 => 0,
        _ => panic!("a word has eight bytes at most"),
    }
}

/// A short byte string as two numbers: what is made and hashed as such makes no detour over memory, where bytes just
/// written cannot be read as words at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// The first sixteen bytes: the first lowest, above the last zero.
    pub low: u128,
    /// The others.
    pub high: u128,
    /// How many bytes.
    pub len: usize,
}

/// Bytes of a [`Word`] at most.
pub const WORD_MAX: usize = 31;

impl Word {
    /// Of up to [`WORD_MAX`] bytes.
    #[inline(always)]
    pub fn of(bytes: &[u8]) -> Option<Word> {
        let len = bytes.len();
        match len {
            0..=16 => Some(Word { low: words(bytes), high: 0, len }),
            17..=WORD_MAX => Some(Word { low: words(&bytes[..16]), high: words(&bytes[16..]), len }),
            _ => None,
        }
    }

    /// The bytes, and behind them zeros.
    #[inline(always)]
    pub fn padded(&self) -> [u8; 32] {
        let mut padded = [0; 32];
        padded[..16].copy_from_slice(&self.low.to_le_bytes());
        padded[16..].copy_from_slice(&self.high.to_le_bytes());
        padded
    }

    /// Appends the bytes.
    #[inline(always)]
    pub fn append(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.len;
        out.extend_from_slice(&self.padded());
        out.truncate(end);
    }

    /// Put behind up to eight bytes, `head`, the first one lowest.
    #[inline(always)]
    pub fn behind(self, head: u64, head_len: usize) -> Word {
        assert!((1..=8).contains(&head_len), "a shift by all 128 bits is none");
        assert!(self.len + head_len <= WORD_MAX, "a word and what is put before it fit in a word");
        let shift = 8 * head_len;
        Word {
            low: u128::from(head) | self.low << shift,
            high: self.low >> (128 - shift) | self.high << shift,
            len: self.len + head_len,
        }
    }

    /// With one more byte at the end.
    #[inline(always)]
    pub fn and(mut self, byte: u8) -> Word {
        assert!(self.len < WORD_MAX, "a word has room for one more byte");
        match self.len {
            0..16 => self.low |= u128::from(byte) << (8 * self.len),
            len => self.high |= u128::from(byte) << (8 * (len - 16)),
        }
        self.len += 1;
        self
    }

    /// With capital letters of ASCII made small. All bytes must be ASCII.
    #[inline(always)]
    pub fn lowercase(self) -> Word {
        let high = if self.len > 16 { lowercase(self.high) } else { 0 };
        Word { low: lowercase(self.low), high, len: self.len }
    }

    /// Are all bytes graphic characters of ASCII?
    #[inline(always)]
    pub fn is_graphic(&self) -> bool {
        match self.len {
            0 => true,
            1..=16 => are_graphic(self.low, self.len),
            len => are_graphic(self.low, 16) && are_graphic(self.high, len - 16),
        }
    }
}

const HIGH_BITS: u128 = u128::from_ne_bytes([0x80; 16]);

/// Sets the high bit of each of sixteen bytes of ASCII that is `first` or more; no sum carries into the next byte.
#[inline(always)]
fn from(bytes: u128, first: u8) -> u128 {
    bytes + u128::from_ne_bytes([0x80 - first; 16])
}

/// Are the first `len` bytes, at least one, graphic characters of ASCII? The others are zero.
#[inline(always)]
fn are_graphic(bytes: u128, len: usize) -> bool {
    let used = HIGH_BITS >> (8 * (16 - len));
    bytes & HIGH_BITS == 0 && from(bytes, b'!') & !from(bytes, b'~' + 1) & used == used
}

#[inline(always)]
fn lowercase(bytes: u128) -> u128 {
    let is_capital = from(bytes, b'A') & !from(bytes, b'Z' + 1) & HIGH_BITS;
    bytes | (is_capital >> 2)
}

/// Up to sixteen bytes as a number.
#[inline(always)]
fn words(bytes: &[u8]) -> u128 {
    let len = bytes.len();
    match len {
        0..=8 => u128::from(word(bytes)),
        _ => {
            let (first, last) = ends(bytes);
            u128::from(u64::from_le_bytes(*first)) | u128::from(u64::from_le_bytes(*last)) << (8 * (len - 8))
        }
    }
}

/// The first and the last `N` bytes.
#[inline(always)]
fn ends<const N: usize>(bytes: &[u8]) -> (&[u8; N], &[u8; N]) {
    (bytes.first_chunk().expect("there are as many"), bytes.last_chunk().expect("there are as many"))
}

/// What is put together from short pieces, on the stack: up to `N` bytes.
#[derive(Clone, Debug)]
pub struct Short<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Default for Short<N> {
    #[inline(always)]
    fn default() -> Short<N> {
        Short { bytes: [0; N], len: 0 }
    }
}

impl<const N: usize> Short<N> {
    /// Bytes that still go in.
    #[inline(always)]
    pub fn room(&self) -> usize {
        N - self.len
    }

    /// Appends bytes.
    ///
    /// # Panics
    /// If there is no room for them.
    #[inline(always)]
    pub fn push(&mut self, bytes: &[u8]) {
        copy(&mut self.bytes[self.len..], bytes);
        self.len += bytes.len();
    }

    /// Appends the first `len` bytes of an array: one copy of a length that is known.
    ///
    /// # Panics
    /// If there is no room for the whole array.
    #[inline(always)]
    pub fn push_some_of<const M: usize>(&mut self, array: &[u8; M], len: usize) {
        *self.bytes[self.len..].first_chunk_mut().expect("there is room") = *array;
        assert!(len <= M, "no more of an array is taken than it has");
        self.len += len;
    }

    /// What was put together.
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Makes it empty.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(len: usize) -> Vec<u8> {
        (0..len).map(|n| (n as u8).wrapping_mul(7) | 1).collect()
    }

    #[test]
    fn copies_of_every_length_are_whole_and_touch_nothing_else() {
        for len in 0..40 {
            let from = sample(len);
            let mut to = vec![0xee; len + 3];
            copy(&mut to, &from);
            assert_eq!(to[..len], from);
            assert_eq!(to[len..], [0xee; 3]);
        }
    }

    #[test]
    fn a_difference_is_seen_wherever_it_is() {
        for len in 0..40 {
            let a = sample(len);
            assert!(equal(&a, &a.clone()));
            assert!(!equal(&a, &sample(len + 1)));
            for at in 0..len {
                let mut b = a.clone();
                b[at] ^= 1;
                assert!(!equal(&a, &b), "byte {at} of {len}");
            }
        }
    }

    #[test]
    fn a_word_is_its_bytes() {
        for len in 0..=WORD_MAX {
            let bytes = sample(len);
            let word = Word::of(&bytes).expect("it is short");
            let mut appended = b"x".to_vec();
            word.append(&mut appended);
            assert_eq!(appended[1..], bytes);
            assert!(word.padded()[len..].iter().all(|byte| *byte == 0));
            if len <= 8 {
                assert_eq!(u128::from(super::word(&bytes)), word.low);
            }
            if len < WORD_MAX {
                let longer = [&bytes[..], b"q"].concat();
                assert_eq!(Some(word.and(b'q')), Word::of(&longer));
            }
            for head in (1..=8).filter(|head| head + len <= WORD_MAX) {
                let longer = [&b"abcdefgh"[..head], &bytes].concat();
                assert_eq!(Some(word.behind(super::word(&longer[..head]), head)), Word::of(&longer));
            }
        }
        assert_eq!(Word::of(&sample(WORD_MAX + 1)), None);
    }

    #[test]
    fn every_byte_at_every_place_makes_a_difference() {
        for len in 1..=WORD_MAX {
            for (at, byte) in (0..len).flat_map(|at| (0..=u8::MAX).map(move |byte| (at, byte))) {
                let mut bytes = vec![b'Q'; len];
                bytes[at] = byte;
                let word = Word::of(&bytes).expect("it is short");
                assert_eq!(word.is_graphic(), byte.is_ascii_graphic(), "{byte} at {at} of {len}");
                if byte.is_ascii() {
                    assert_eq!(Some(word.lowercase()), Word::of(&bytes.to_ascii_lowercase()));
                }
            }
        }
    }

    #[test]
    fn pieces_are_put_together() {
        let mut short = Short::<64>::default();
        let mut wanted = Vec::new();
        for len in [3, 0, 17, 8, 5] {
            short.push(&sample(len));
            wanted.extend_from_slice(&sample(len));
        }
        short.push_some_of(b"abcd", 2);
        wanted.extend_from_slice(b"ab");
        assert_eq!(short.bytes(), wanted);
        assert_eq!(short.room(), 64 - wanted.len());
        short.clear();
        assert!(short.bytes().is_empty());
    }
}
