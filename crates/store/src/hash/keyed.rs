//! The keyed hash of bytes that tags, entryUUIDs, cookies and digests are made of: 16 bytes at a time are two factors, and the
//! halves of their product are the next state, as in wyhash.
//!
//! Where a hash outlasts the process, as an entryUUID or as the key of a value in a set, the shard's key is kept with it, in
//! the meta of a checkpoint. So the function cannot change without a new format. Hash tables are filled anew by a restore.

use model::short::{Word, word};

// wyhash's constants. A chunk that begins with the bytes of B makes a product of 0 whatever came before it, the key included.
// They are not UTF-8, so no string has them; values of octet strings may.
const A: u64 = 0xa076_1d64_78bd_642f;
const B: u64 = 0xe703_7ed1_a0b4_28db;

/// A keyed hash of bytes: not cryptographic, but an outsider who does not know the key cannot aim at a bucket with
/// strings. A caller that hashes several fields of any length puts their lengths between them.
#[inline]
pub(crate) fn mix(key: u64, bytes: &[u8]) -> u64 {
    let mut state = key ^ A;
    let mut chunks = bytes.chunks_exact(16);
    for chunk in &mut chunks {
        state = stir(state, load(&chunk[..8]), load(&chunk[8..]));
    }
    // The rest is padded with zeros. What tells a rest from the same one with zeros behind it is the length, which comes last.
    let rest = chunks.remainder();
    let (low, high) = if rest.len() >= 8 { (load(&rest[..8]), word(&rest[8..])) } else { (word(rest), 0) };
    finish(stir(state, low, high), bytes.len())
}

/// As [`mix`], of a short byte string, which lies in registers. Both give the same hash for the same bytes: a value is stored
/// under one and looked up under the other.
#[inline(always)]
pub(crate) fn mix_word(key: u64, word: Word) -> u64 {
    let (mut state, mut rest) = (key ^ A, word.low);
    if word.len >= 16 {
        (state, rest) = (stir(state, word.low as u64, (word.low >> 64) as u64), word.high);
    }
    finish(stir(state, rest as u64, (rest >> 64) as u64), word.len)
}

#[inline(always)]
fn stir(state: u64, low: u64, high: u64) -> u64 {
    fold(low ^ B, high ^ state)
}

#[inline(always)]
fn finish(state: u64, len: usize) -> u64 {
    fold(state ^ A, len as u64 ^ B)
}

#[inline]
fn load(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

/// The part of a hash that tables keep.
#[inline]
pub(crate) fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}
