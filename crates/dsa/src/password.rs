//! userPassword values (RFC 2307 section 5.3): is a password the one that is stored, and what is stored for a new one?
//!
//! Hashes are compared in constant time, and a value that is no hash of a known scheme never matches. So a directory that was loaded from
//! elsewhere, with schemes that Pando does not know, refuses binds and does not take the text of a hash for a password.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use env::entropy::Entropy;
use model::Description;
use sha1::{Digest, Sha1};
use std::hint::black_box;
use store::{EntryRef, ReadPoint, Values};

/// Base64 as it is found in the field: with or without the padding at its end.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

const SHA1_BYTES: usize = 20;
/// Bytes of a new salt.
const SALT_BYTES: usize = 16;
/// What passwords are made of: without characters that are taken for each other.
const ALPHABET: &[u8] = b"abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/// Characters of a password that is made: more than 90 bits.
const GENERATED_CHARS: usize = 16;

/// How the server stores passwords that it is given to store.
/// SHA-1 is what every client and server of the field reads; a salt of 16 bytes makes each stored value another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// `{SSHA}`: the SHA-1 of password and salt.
    #[default]
    SaltedSha1,
    /// As it is.
    Clear,
}

impl Scheme {
    /// What is stored for a password; `None` if that would be taken for something else.
    /// A password that looks like a hash is not stored as it is: it would then bind with what it is the hash of, which is not what the user
    /// has set.
    pub(crate) fn store(self, password: &[u8], entropy: &mut dyn Entropy) -> Option<Vec<u8>> {
        match self {
            Scheme::Clear if split_scheme(password).is_some() => None,
            Scheme::Clear => Some(password.to_vec()),
            Scheme::SaltedSha1 => {
                let mut salt = [0; SALT_BYTES];
                entropy.fill(&mut salt);
                let digest = Sha1::new().chain_update(password).chain_update(salt).finalize();
                Some(format!("{{SSHA}}{}", BASE64.encode([&digest[..], &salt].concat())).into_bytes())
            }
        }
    }
}

/// A password that nobody can guess.
/// RFC 3062 section 2: the server makes one where the client sends none.
pub(crate) fn generate(entropy: &mut dyn Entropy) -> Vec<u8> {
    let mut password = Vec::with_capacity(GENERATED_CHARS);
    // Each character is as likely as any other: what lies above the last multiple is not used.
    let fair = 256 / ALPHABET.len() * ALPHABET.len();
    while password.len() < GENERATED_CHARS {
        let mut bytes = [0; GENERATED_CHARS];
        entropy.fill(&mut bytes);
        let usable = bytes.iter().filter(|byte| usize::from(**byte) < fair);
        let chars = usable.map(|byte| ALPHABET[usize::from(*byte) % ALPHABET.len()]);
        password.extend(chars.take(GENERATED_CHARS - password.len()));
    }
    password
}

/// The userPassword value of an entry that stands for a password.
/// The value itself is returned: a change of the password takes this one away and leaves the others (RFC 3062 has no say in it).
pub(crate) fn find(read_point: ReadPoint<'_>, entry: &EntryRef<'_>, password: &[u8]) -> Option<Vec<u8>> {
    first(read_point, entry, |stored| verify(stored, password))
}

/// The first userPassword value of an entry of which something is true. Values with options, as of `userPassword;x-old`, stand for
/// no password.
/// Big sets too: nothing keeps an entry from having hundreds of passwords.
pub(crate) fn first(
    read_point: ReadPoint<'_>,
    entry: &EntryRef<'_>,
    is_it: impl Fn(&[u8]) -> bool,
) -> Option<Vec<u8>> {
    let user_password = Description::plain(read_point.shard().schema().well_known().user_password);
    let mut slots = entry.shape.slots.iter().zip(entry.slots());
    slots.find_map(|(slot, values)| match values {
        _ if slot.description != user_password => None,
        Values::Inline(mut values) => values.find(|stored| is_it(stored)).map(<[u8]>::to_vec),
        // So many passwords that they are a big set: walked through in pieces, and to its end, so no early return inside of a leaf.
        Values::Set(set) => {
            let (mut position, mut found) = (Default::default(), None);
            while found.is_none()
                && read_point.set_values(&set, &mut position, |stored| {
                    if found.is_none() && is_it(stored) {
                        found = Some(stored.to_vec());
                    }
                })
            {}
            found
        }
    })
}

/// Is `given` the password that a value of userPassword stands for? Known are clear text, `{SSHA}` and `{SHA}`; a
/// value with another scheme matches nothing, not even itself. The time taken tells nothing about how many bytes
/// of it were right.
pub(crate) fn verify(stored: &[u8], given: &[u8]) -> bool {
    let Some((scheme, rest)) = split_scheme(stored) else { return same(stored, given) };
    let (Some(is_salted), Ok(bytes)) = (is_salted(scheme), BASE64.decode(rest)) else { return false };
    // The digest of password and salt, then the salt.
    let Some((digest, salt)) = bytes.split_at_checked(SHA1_BYTES) else { return false };
    is_salted != salt.is_empty()
        && same(digest, &Sha1::new().chain_update(given).chain_update(salt).finalize())
}

/// Why no password can ever be the one that a stored value stands for; `None` if there may be one.
/// The text goes to the administrator at a start; it has nothing of the value but its scheme.
pub fn never_matches(stored: &[u8]) -> Option<String> {
    if stored.iter().all(u8::is_ascii_whitespace) {
        return Some("it is empty or blank".to_owned());
    }
    let (scheme, rest) = split_scheme(stored)?;
    let name = String::from_utf8_lossy(scheme);
    let Some(is_salted) = is_salted(scheme) else {
        return Some(format!("the scheme {{{name}}} is not known; {{SSHA}}, {{SHA}} and clear text are"));
    };
    let is_whole = |bytes: usize| if is_salted { bytes > SHA1_BYTES } else { bytes == SHA1_BYTES };
    match BASE64.decode(rest) {
        Ok(bytes) if is_whole(bytes.len()) => None,
        Ok(_) if is_salted => {
            Some(format!("after {{{name}}} a digest of {SHA1_BYTES} bytes and a salt are needed"))
        }
        Ok(_) => Some(format!("after {{{name}}} a digest of {SHA1_BYTES} bytes is needed")),
        Err(_) => Some(format!("what comes after {{{name}}} is not base64")),
    }
}

/// Does a password look like a value that was hashed already? Stored as one, it would bind with what it is the hash of.
/// So a client that sends a hash is refused, or it would set a password that it does not know.
pub(crate) fn has_scheme(password: &[u8]) -> bool {
    split_scheme(password).is_some()
}

/// What is recorded of the root password: its hash. One that is a hash already stays as it is.
/// A configured password may be clear text in a file that only the server reads; what is recorded goes into backups.
pub fn recorded(password: &[u8], entropy: &mut dyn Entropy) -> String {
    let hash = if has_scheme(password) { None } else { Scheme::SaltedSha1.store(password, entropy) };
    String::from_utf8_lossy(&hash.unwrap_or_else(|| password.to_vec())).into_owned()
}

/// Is a configured root password the one of which `stored` was recorded?
pub fn is_recorded(stored: &[u8], password: &[u8]) -> bool {
    same(stored, password) || verify(stored, password)
}

/// Splits `{SCHEME}rest`. `None` for what does not begin like that: clear text may have braces too.
fn split_scheme(stored: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = stored.strip_prefix(b"{")?;
    let end = inner.iter().position(|&b| b == b'}')?;
    let (scheme, rest) = (&inner[..end], &inner[end + 1..]);
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/');
    (!scheme.is_empty() && scheme.iter().all(is_name)).then_some((scheme, rest))
}

/// Has a scheme a salt? `None` if it is not known.
fn is_salted(scheme: &[u8]) -> Option<bool> {
    match scheme {
        _ if scheme.eq_ignore_ascii_case(b"SSHA") => Some(true),
        _ if scheme.eq_ignore_ascii_case(b"SHA") => Some(false),
        _ => None,
    }
}

/// Are they the same bytes? Looks at all of `given`, whatever it finds.
/// `black_box` keeps the compiler from leaving the loop early.
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
    use env::entropy::SeededEntropy;
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

    #[test]
    fn what_can_never_match_is_recognised() {
        for stored in
            [&b"{SSHA}notbase64!"[..], b"{SSHA}notbase64", b"{SSHA}", b"{sha}YWJj", b"{CRYPT}x", b"", b" \t"]
        {
            let reason = never_matches(stored).unwrap_or_else(|| panic!("{stored:?}"));
            assert!(!reason.is_empty() && !reason.contains("notbase64"), "{reason}");
        }
        for stored in [
            "secret",
            " a",
            "{not a scheme",
            "{SSHA}gVK8WC9YyFT1gMsQHTGCgT3sSv5zYWx0",
            "{SHA}qZk+NkcGgWq6PiVxeFDCbJzQ2J0=",
        ] {
            assert_eq!(never_matches(stored.as_bytes()), None, "{stored}");
        }
    }

    #[test]
    fn what_is_stored_is_recognised_and_never_the_same() {
        let mut entropy = SeededEntropy::new(7);
        let mut stored = |scheme: Scheme, password: &[u8]| scheme.store(password, &mut entropy);
        let (one, two) =
            (stored(Scheme::SaltedSha1, b"abc").unwrap(), stored(Scheme::SaltedSha1, b"abc").unwrap());
        assert!(one != two && verify(&one, b"abc") && verify(&two, b"abc") && !verify(&one, b"abd"));
        assert!(stored(Scheme::SaltedSha1, b"{SHA}x").is_some_and(|value| verify(&value, b"{SHA}x")));
        assert_eq!(stored(Scheme::Clear, b"abc").as_deref(), Some(&b"abc"[..]));
        assert_eq!(stored(Scheme::Clear, b"{SHA}x"), None);
    }

    #[test]
    fn made_passwords_are_of_all_characters() {
        let mut entropy = SeededEntropy::new(7);
        let mut met = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let password = generate(&mut entropy);
            assert_eq!(password.len(), GENERATED_CHARS);
            assert!(password.iter().all(|byte| ALPHABET.contains(byte)));
            met.extend(password);
        }
        assert_eq!(met.len(), ALPHABET.len());
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
