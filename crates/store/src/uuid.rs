//! entryUUIDs that cost no memory: a keyed permutation of entry id and create CSN. Looking one up is computing
//! backwards. Version 4 and the RFC 4122 variant take 6 of the 128 bits; 32 bits of id and 64 of CSN lie in the
//! 122 others, with zeros above them that tell a UUID of ours from another.
//!
//! The permutation is a Feistel network of two halves of 61 bits: each round is its own inverse with the halves exchanged,
//! whatever the round function, so a keyed hash will do. The key is the shard's for good, since entryUUID must not change
//! (RFC 4530, section 2.4). It hides ids and times from clients; it need not stand up to more.

use model::{Csn, EntryId};

/// Bits of a half: 32 of id and the upper 3 of the CSN on the left, the other 61 on the right.
const HALF: u32 = 61;
const MASK: u64 = (1 << HALF) - 1;
/// Rounds, each with a key of its own. With four, no network of random functions differs visibly from a random
/// permutation (Luby, Rackoff 1988).
const ROUNDS: usize = 6;

/// The keyed permutation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uuids {
    keys: [u64; ROUNDS],
}

impl Uuids {
    pub(crate) fn new(key: u64) -> Uuids {
        let mut keys = [0; ROUNDS];
        for (at, round) in keys.iter_mut().enumerate() {
            *round = crate::hash::mix(key, &[at as u8]);
        }
        Uuids { keys }
    }

    /// The UUID of an entry.
    pub(crate) fn of(&self, id: EntryId, created: Csn) -> [u8; 16] {
        let (mut left, mut right) = (u64::from(id.0) << 3 | created.0 >> HALF, created.0 & MASK);
        for key in self.keys {
            (left, right) = (right, left ^ round(key, right));
        }
        assert!(left <= MASK && right <= MASK, "the halves do not overlap");
        let bits = u128::from(left) << HALF | u128::from(right);
        // 48 bits, version, 12 bits, variant, 62 bits.
        let (high, middle, low) = (bits >> 74, bits >> 62 & 0xfff, bits & ((1 << 62) - 1));
        (high << 80 | 4 << 76 | middle << 64 | 2 << 62 | low).to_be_bytes()
    }

    /// The entry that a UUID was made for, if it was made here.
    pub(crate) fn invert(&self, uuid: [u8; 16]) -> Option<(EntryId, Csn)> {
        let word = u128::from_be_bytes(uuid);
        if word >> 76 & 0xf != 4 || word >> 62 & 3 != 2 {
            return None;
        }
        let bits = (word >> 80) << 74 | (word >> 64 & 0xfff) << 62 | (word & ((1 << 62) - 1));
        let (mut left, mut right) = ((bits >> HALF) as u64 & MASK, bits as u64 & MASK);
        for key in self.keys.iter().rev() {
            (left, right) = (right ^ round(*key, left), left);
        }
        // Of a UUID that came from elsewhere these bits are as good as random: one in 2^26 looks like ours, and leads to a
        // candidate that is then verified.
        let id = u32::try_from(left >> 3).ok()?;
        Some((EntryId(id), Csn((left & 7) << HALF | right)))
    }
}

/// The round function: any will do, it is never inverted.
fn round(key: u64, half: u64) -> u64 {
    crate::hash::mix(key, &half.to_le_bytes()) & MASK
}

const DIGITS: [u8; 16] = *b"0123456789abcdef";

/// Writes `xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx`.
pub(crate) fn write(uuid: [u8; 16], out: &mut Vec<u8>) {
    let (mut text, mut at) = ([b'-'; 36], 0);
    for (number, byte) in uuid.into_iter().enumerate() {
        at += usize::from(matches!(number, 4 | 6 | 8 | 10));
        text[at] = DIGITS[usize::from(byte >> 4)];
        text[at + 1] = DIGITS[usize::from(byte & 15)];
        at += 2;
    }
    out.extend_from_slice(&text);
}

/// Reads a UUID as RFC 4530 writes it.
pub fn parse(text: &[u8]) -> Option<[u8; 16]> {
    let mut uuid = [0; 16];
    let mut digits = text.iter().filter(|byte| **byte != b'-');
    for byte in &mut uuid {
        let mut digit = || (*digits.next()? as char).to_digit(16);
        *byte = (digit()? << 4 | digit()?) as u8;
    }
    (digits.next().is_none() && text.len() == 36).then_some(uuid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn inverts(id: u32, csn: u64, key: u64) {
            let uuids = Uuids::new(key);
            let uuid = uuids.of(EntryId(id), Csn(csn));
            let mut text = Vec::new();
            write(uuid, &mut text);
            prop_assert_eq!(parse(&text), Some(uuid));
            prop_assert_eq!(parse(&text[1..]), None);
            prop_assert_eq!(uuid[6] >> 4, 4);
            prop_assert_eq!(uuid[8] >> 6, 2);
            prop_assert_eq!(uuids.invert(uuid), Some((EntryId(id), Csn(csn))));
        }

        #[test]
        fn another_key_gives_another_uuid(id: u32, csn: u64) {
            prop_assert_ne!(Uuids::new(1).of(EntryId(id), Csn(csn)), Uuids::new(2).of(EntryId(id), Csn(csn)));
        }
    }
}
