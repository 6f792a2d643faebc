//! Names and OIDs to ids: a fixed hash table, case-insensitive, without allocation.

use std::sync::atomic::{AtomicU16, Ordering};

/// Maps names (any case) to small numbers. Filled once; later names can only be forgotten.
#[derive(Debug)]
pub(crate) struct NameTable {
    slots: Vec<Slot>,
    text: Vec<u8>,
}

#[derive(Debug, Default)]
struct Slot {
    hash: u32,
    start: u32,
    len: u16,
    /// [`FORGOTTEN`] of a name that means nothing any more. The slot stays, for others are found behind it.
    id: AtomicU16,
}

/// No id: there are fewer definitions.
const FORGOTTEN: u16 = u16::MAX;

impl NameTable {
    /// A table of these names; the first of two equal names wins. Names longer than 65,535 bytes are left out.
    pub(crate) fn new<'n>(names: impl Iterator<Item = (&'n str, u16)> + Clone) -> NameTable {
        let capacity = (names.clone().count() * 2 + 2).next_power_of_two();
        let mut table = NameTable { slots: Vec::new(), text: Vec::new() };
        table.slots.resize_with(capacity, Slot::default);
        for (name, id) in names {
            table.insert(name.as_bytes(), id);
        }
        table
    }

    /// Does every name lead to one of the first `count` ids?
    pub(crate) fn ids_are_below(&self, count: usize) -> bool {
        self.slots.iter().all(|slot| slot.len == 0 || usize::from(slot.id.load(Ordering::Relaxed)) < count)
    }

    fn insert(&mut self, name: &[u8], id: u16) {
        let Ok(len) = u16::try_from(name.len()) else { return };
        if len == 0 || self.find(name).is_some() {
            return;
        }
        let hash = hash(name);
        let mut at = hash as usize & (self.slots.len() - 1);
        while self.slots[at].len != 0 {
            at = (at + 1) & (self.slots.len() - 1);
        }
        assert!(u32::try_from(self.text.len()).is_ok(), "a position of the text of names has 32 bits");
        self.slots[at] = Slot { hash, start: self.text.len() as u32, len, id: AtomicU16::new(id) };
        self.text.extend(name.iter().map(u8::to_ascii_lowercase));
    }

    /// The id of a name in any case.
    #[inline]
    pub(crate) fn find(&self, name: &[u8]) -> Option<u16> {
        let id = self.slot(name)?.id.load(Ordering::Relaxed);
        (id != FORGOTTEN).then_some(id)
    }

    /// From now on a name is not found, if it leads to this id.
    pub(crate) fn forget(&self, name: &[u8], id: u16) {
        if let Some(slot) = self.slot(name) {
            let _ = slot.id.compare_exchange(id, FORGOTTEN, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    #[inline]
    fn slot(&self, name: &[u8]) -> Option<&Slot> {
        let hash = hash(name);
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = &self.slots[at];
            if slot.len == 0 {
                return None;
            }
            if slot.hash == hash && slot.len as usize == name.len() {
                let start = slot.start as usize;
                if is_same(&self.text[start..start + name.len()], name) {
                    return Some(slot);
                }
            }
            at = (at + 1) & mask;
        }
    }
}

/// Bit 5 set makes letters lower case and leaves digits, hyphen and dot as they are; what else it confuses
/// is distinguished by the comparison after the hash.
const FOLD: u64 = 0x2020_2020_2020_2020;
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// A fixed hash that takes upper and lower case for the same.
#[inline]
fn hash(name: &[u8]) -> u32 {
    let mix = |h: u64, w: u64| {
        let product = u128::from(h ^ w) * u128::from(MULTIPLIER);
        product as u64 ^ (product >> 64) as u64
    };
    let len = name.len();
    let mut h = len as u64 ^ 0x5eed_0f1d_a9c0_1234;
    match len {
        0 => {}
        1..=3 => {
            let three = u64::from(name[0]) | u64::from(name[len / 2]) << 8 | u64::from(name[len - 1]) << 16;
            h = mix(h, three | FOLD);
        }
        4..=7 => h = mix(h, ends(name) | FOLD),
        _ => {
            let mut at = 0;
            while at + 8 < len {
                h = mix(h, word(name, at) | FOLD);
                at += 8;
            }
            h = mix(h, word(name, len - 8) | FOLD);
        }
    }
    (h ^ h >> 32) as u32
}

/// Is `name` in lower case `stored`? Both are of one length; eight bytes are compared at a time.
#[inline]
fn is_same(stored: &[u8], name: &[u8]) -> bool {
    let len = name.len();
    match len {
        0..=3 => stored.eq_ignore_ascii_case(name),
        4..=7 => lower(ends(name)) == ends(stored),
        _ => {
            let mut at = 0;
            while at + 8 < len {
                if lower(word(name, at)) != word(stored, at) {
                    return false;
                }
                at += 8;
            }
            lower(word(name, len - 8)) == word(stored, len - 8)
        }
    }
}

#[inline]
fn word(text: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(text[at..at + 8].try_into().expect("eight bytes"))
}

/// The first and the last four bytes of four to seven.
#[inline]
fn ends(text: &[u8]) -> u64 {
    let half = |at: usize| u64::from(u32::from_le_bytes(text[at..at + 4].try_into().expect("four bytes")));
    half(0) | half(text.len() - 4) << 32
}

/// ASCII capitals among eight bytes in lower case, all other bytes as they are.
#[inline]
fn lower(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let seven_bits = word & (0x7f * EACH);
    let from_a = seven_bits + (0x80 - b'A' as u64) * EACH;
    let after_z = seven_bits + (0x7f - b'Z' as u64) * EACH;
    let capitals = !word & (from_a ^ after_z) & (0x80 * EACH);
    word | capitals >> 2
}

/// The name most like `wrong`, if one is near enough to be meant.
pub(crate) fn nearest<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    if wrong.len() > 64 {
        return None;
    }
    let allowed = if wrong.len() < 5 { 1 } else { 2 };
    let wrong = wrong.to_ascii_lowercase();
    names
        .filter(|n| n.len().abs_diff(wrong.len()) <= allowed)
        .map(|n| (strsim::levenshtein(&wrong, &n.to_ascii_lowercase()), n))
        .filter(|(d, _)| *d <= allowed)
        .min_by_key(|(d, _)| *d)
        .map(|(_, n)| n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_case_is_found_and_nothing_else() {
        let names = ["c", "cn", "sn", "uid", "mail", "objectClass", "2.5.4.3", "userCertificate", "a-b"];
        let table = NameTable::new(names.iter().enumerate().map(|(i, n)| (*n, i as u16)));
        for (i, name) in names.iter().enumerate() {
            assert_eq!(table.find(name.as_bytes()), Some(i as u16));
            assert_eq!(table.find(name.to_ascii_uppercase().as_bytes()), Some(i as u16));
        }
        for other in [&b""[..], b"d", b"objectClas", b"a\rb", b"2\x0e5\x0e4\x0e3", b"cn "] {
            assert_eq!(table.find(other), None, "{other:?}");
        }
    }

    #[test]
    fn eight_bytes_in_lower_case() {
        for byte in 0..=255u8 {
            for place in 0..8 {
                let mut bytes = *b"aZ09-\x80@[";
                bytes[place] = byte;
                let expected = u64::from_le_bytes(bytes.map(|b| b.to_ascii_lowercase()));
                assert_eq!(lower(u64::from_le_bytes(bytes)), expected, "{byte} at {place}");
            }
        }
    }

    #[test]
    fn what_was_meant() {
        let names = ["telephoneNumber", "cn", "carLicense"];
        assert_eq!(nearest("telefoneNumber", names.into_iter()), Some("telephoneNumber"));
        assert_eq!(nearest("carlicence", names.into_iter()), Some("carLicense"));
        assert_eq!(nearest("zzz", names.into_iter()), None);
    }
}
