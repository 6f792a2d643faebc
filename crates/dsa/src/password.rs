//! userPassword values of entries (RFC 2307 section 5.3): is a password the one that is stored, and what is stored for a new one?
//! The schemes are the crate `password`'s. A value that is no hash of a known scheme never matches: a directory that was loaded from
//! elsewhere does not take the text of a hash for a password.

use ::password::{Memory, SALT_BYTES, Stored, split_scheme};
use env::entropy::Entropy;
use model::Description;
use store::{EntryRef, ReadPoint, Values};

pub use ::password::{Refused, Scheme};

/// What passwords are made of: without characters that are taken for each other.
const ALPHABET: &[u8] = b"abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/// Characters of a password that is made: more than 90 bits.
const GENERATED_CHARS: usize = 16;
/// Values of an entry that take long to verify and are tried for one password.
const SLOW_MAX: usize = 2;

/// What one thread verifies and makes stored passwords with.
#[derive(Default)]
pub(crate) struct Passwords {
    memory: Memory,
}

impl Passwords {
    /// Is it the password that a stored value stands for?
    pub(crate) fn verify(&mut self, stored: &[u8], given: &[u8]) -> bool {
        Stored::read(stored).is_ok_and(|stored| stored.verify(given, &mut self.memory))
    }

    /// What is stored for a new password: a value of each scheme.
    ///
    /// # Errors
    /// What would be right, if a scheme cannot stand for it.
    pub(crate) fn store(
        &mut self,
        schemes: &[Scheme],
        password: &[u8],
        entropy: &mut dyn Entropy,
    ) -> Result<Vec<Vec<u8>>, &'static str> {
        assert!(!schemes.is_empty(), "a configuration has a scheme");
        let make = |scheme: &Scheme| {
            let mut salt = [0; SALT_BYTES];
            entropy.fill(&mut salt);
            scheme.make(password, salt, &mut self.memory).map_err(|not_made| not_made.0)
        };
        schemes.iter().map(make).collect()
    }

    /// The userPassword values of an entry that stand for a password; none if it is not the entry's.
    /// The fast ones are tried first, and of the slow ones no more than [`SLOW_MAX`]: nothing keeps an entry from having hundreds.
    pub(crate) fn find(
        &mut self,
        read_point: ReadPoint<'_>,
        entry: &EntryRef<'_>,
        password: &[u8],
    ) -> Option<Vec<u8>> {
        let mut slow: Vec<Vec<u8>> = Vec::new();
        let found = first(read_point, entry, |value| match Stored::read(value) {
            Ok(stored) if stored.is_fast() => stored.verify(password, &mut self.memory),
            Ok(_) if slow.len() < SLOW_MAX => {
                slow.push(value.to_vec());
                false
            }
            _ => false,
        });
        found.or_else(|| slow.into_iter().find(|stored| self.verify(stored, password)))
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

/// The first userPassword value of an entry of which something is true. Values with options, as of `userPassword;x-old`, stand for
/// no password.
/// Big sets too: nothing keeps an entry from having hundreds of passwords.
pub(crate) fn first(
    read_point: ReadPoint<'_>,
    entry: &EntryRef<'_>,
    mut is_it: impl FnMut(&[u8]) -> bool,
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

/// Why no password can ever be the one that a stored value stands for; `None` if there may be one.
/// The text goes to the administrator at a start; it has nothing of the value but its scheme.
pub fn never_matches(stored: &[u8]) -> Option<String> {
    Stored::read(stored).err().map(|refused| refused.to_string())
}

/// Does a password look like a value that was hashed already? Stored as one, it would bind with what it is the hash of.
/// So a client that sends a hash is refused, or it would set a password that it does not know.
pub(crate) fn has_scheme(password: &[u8]) -> bool {
    split_scheme(password).is_some()
}

/// The scheme that a root password in the clear is recorded with: it is compared at every start, on the thread that starts.
const RECORDED: Scheme = Scheme::SaltedSha512;

/// What is recorded of the root password: its hash. One that is a hash already stays as it is.
/// A configured password may be clear text in a file that only the server reads; what is recorded goes into backups.
pub fn recorded(password: &[u8], entropy: &mut dyn Entropy) -> String {
    let mut hash = || Passwords::default().store(&[RECORDED], password, entropy).ok()?.pop();
    let value = if has_scheme(password) { None } else { hash() };
    String::from_utf8_lossy(&value.unwrap_or_else(|| password.to_vec())).into_owned()
}

/// Is a configured root password the one of which `stored` was recorded?
pub fn is_recorded(stored: &[u8], password: &[u8]) -> bool {
    ::password::same(stored, password) || Passwords::default().verify(stored, password)
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::entropy::SeededEntropy;

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
    fn what_is_stored_is_of_each_scheme_and_never_the_same() {
        let (mut entropy, mut passwords) = (SeededEntropy::new(7), Passwords::default());
        let schemes = [Scheme::SaltedSha1, Scheme::SaltedSha512];
        let mut store = || passwords.store(&schemes, b"abc", &mut entropy).unwrap();
        let (one, two) = (store(), store());
        assert!(one[0].starts_with(b"{SSHA}") && one[1].starts_with(b"{SSHA512}"));
        assert!(one.iter().chain(&two).all(|value| passwords.verify(value, b"abc")));
        assert!(one != two && !passwords.verify(&one[0], b"abd"));
        let text = passwords.store(&[Scheme::Clear], b"{SHA}x", &mut entropy).unwrap_err();
        assert!(text.contains("braces"), "{text}");
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
}
