//! A short tag of what was verified. Who reads it learns neither the stored value nor the password, as long as the key is not known.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Octets of a key.
pub const TAG_KEY_BYTES: usize = 32;
/// Octets of a tag.
pub const TAG_BYTES: usize = 16;

/// The tag of some parts, in this order: the first half of an HMAC with SHA-256.
pub fn tag(key: &[u8; TAG_KEY_BYTES], parts: &[&[u8]]) -> [u8; TAG_BYTES] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of HMAC has any length");
    for part in parts {
        // With its length in front, so nothing can move from one part to the next.
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part);
    }
    let mut tag = [0; TAG_BYTES];
    tag.copy_from_slice(&mac.finalize().into_bytes()[..TAG_BYTES]);
    tag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_and_its_end_count() {
        let of = |parts: &[&[u8]]| tag(&[7; TAG_KEY_BYTES], parts);
        let made = of(&[b"ab", b"c"]);
        assert_eq!(made, of(&[b"ab", b"c"]));
        for other in
            [&[&b"a"[..], b"bc"][..], &[b"abc"], &[b"ab", b"c", b""], &[b"ab", b"c\0"], &[b"c", b"ab"]]
        {
            assert_ne!(made, of(other), "{other:?}");
        }
        assert_ne!(made, tag(&[8; TAG_KEY_BYTES], &[b"ab", b"c"]));
    }
}
