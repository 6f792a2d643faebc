//! userPassword values (RFC 2307 section 5.3): is a password the one that is stored?

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use sha1::{Digest, Sha1};
use std::hint::black_box;

/// Base64 as it is found in the field: with or without the padding at its end.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

const SHA1_BYTES: usize = 20;

/// Is `given` the password that a value of userPassword stands for? Known are clear text, `{SSHA}` and `{SHA}`; a
/// value with another scheme matches nothing, not even itself. The time taken tells nothing about how many bytes
/// of it were right.
pub(crate) fn verify(stored: &[u8], given: &[u8]) -> bool {
    match split_scheme(stored) {
        None => same(stored, given),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case(b"SSHA") => is_salted_sha1(rest, given),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case(b"SHA") => is_sha1(rest, given),
        Some(_) => false,
    }
}

/// Splits `{SCHEME}rest`. `None` for what does not begin like that: clear text may have braces too.
fn split_scheme(stored: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = stored.strip_prefix(b"{")?;
    let end = inner.iter().position(|&b| b == b'}')?;
    let (scheme, rest) = (&inner[..end], &inner[end + 1..]);
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/');
    (!scheme.is_empty() && scheme.iter().all(is_name)).then_some((scheme, rest))
}

fn is_sha1(encoded: &[u8], given: &[u8]) -> bool {
    let Ok(digest) = BASE64.decode(encoded) else { return false };
    digest.len() == SHA1_BYTES && same(&digest, &Sha1::digest(given))
}

/// The digest of password and salt, then the salt.
fn is_salted_sha1(encoded: &[u8], given: &[u8]) -> bool {
    let Ok(bytes) = BASE64.decode(encoded) else { return false };
    let Some((digest, salt)) = bytes.split_at_checked(SHA1_BYTES) else { return false };
    !salt.is_empty() && same(digest, &Sha1::new().chain_update(given).chain_update(salt).finalize())
}

/// Are they the same bytes? Looks at all of `given`, whatever it finds.
fn same(secret: &[u8], given: &[u8]) -> bool {
    let mut difference = u8::from(secret.len() != given.len());
    for (at, byte) in given.iter().enumerate() {
        let other = secret.get(at).copied().unwrap_or(!byte);
        difference = black_box(difference | (byte ^ other));
    }
    difference == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn clear_text() {
        assert!(verify(b"secret", b"secret"));
        assert!(verify(b"{not a scheme", b"{not a scheme"));
        assert!(verify(b"{a b}c", b"{a b}c"));
        for wrong in [&b"Secret"[..], b"secre", b"secrett", b"", b"secret\0"] {
            assert!(!verify(b"secret", wrong), "{wrong:?}");
        }
    }

    #[test]
    fn sha1_of_known_words() {
        // FIPS 180: the digest of "abc" is a9993e36...d0d89d; RFC 2307 gives the form.
        for stored in ["{SHA}qZk+NkcGgWq6PiVxeFDCbJzQ2J0=", "{sha}qZk+NkcGgWq6PiVxeFDCbJzQ2J0"] {
            assert!(verify(stored.as_bytes(), b"abc"), "{stored}");
            assert!(!verify(stored.as_bytes(), b"abd"), "{stored}");
        }
        assert!(!verify(b"{SHA}qZk+NkcGgWq6PiVxeFDCbJzQ", b"abc"), "too short to be a digest");
    }

    #[test]
    fn salted_sha1() {
        // SHA-1("secret" + "salt") made with another implementation.
        assert!(verify(b"{SSHA}gVK8WC9YyFT1gMsQHTGCgT3sSv5zYWx0", b"secret"));
        assert!(verify(b"{ssha}gVK8WC9YyFT1gMsQHTGCgT3sSv5zYWx0", b"secret"));
        assert!(!verify(b"{SSHA}gVK8WC9YyFT1gMsQHTGCgT3sSv5zYWx0", b"Secret"));
        assert!(!verify(b"{SSHA}gVK8WC9YyFT1gMsQHTGCgT3sSv5zYWx1", b"secret"), "another salt");
        assert!(!verify(b"{SSHA}####", b"secret"));
        assert!(!verify(b"{SSHA}", b""));
    }

    #[test]
    fn an_unknown_scheme_matches_nothing() {
        assert!(!verify(b"{CRYPT}x", b"{CRYPT}x"));
        assert!(!verify(b"{CRYPT}x", b"x"));
    }

    proptest! {
        #[test]
        fn what_was_salted_is_recognised(word in any::<Vec<u8>>(), salt in proptest::collection::vec(any::<u8>(), 1..20)) {
            let mut bytes = Sha1::new().chain_update(&word).chain_update(&salt).finalize().to_vec();
            bytes.extend_from_slice(&salt);
            let stored = format!("{{SSHA}}{}", BASE64.encode(&bytes));
            prop_assert!(verify(stored.as_bytes(), &word));
            prop_assert!(!verify(stored.as_bytes(), &[&word[..], b"x"].concat()));
        }
    }
}
