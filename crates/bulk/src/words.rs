//! Passwords in the clear, in records of other servers: they are hashed before they are stored, so that no snapshot has them.

use env::entropy::{Entropy, SystemEntropy};
use password::{Memory, SALT_BYTES, Scheme, split_scheme};
use schema::Schema;
use std::borrow::Cow;

/// What becomes of passwords in the clear. A hash stays what it is, whatever its scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passwords {
    /// They are hashed.
    Hash(Scheme),
    /// They are stored as they are.
    Keep,
    /// A record with one is a fault.
    Refuse,
}

impl Default for Passwords {
    /// Fast to make, for there may be millions of them.
    fn default() -> Passwords {
        Passwords::Hash(Scheme::SaltedSha512)
    }
}

/// What one thread turns passwords into hashes with.
pub(crate) struct Words {
    passwords: Passwords,
    /// What userPassword is called, its OID too.
    names: Vec<Vec<u8>>,
    memory: Memory,
    /// Of the record that is looked at, which may be more than once: words, and what was made of them.
    made: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Words {
    pub(crate) fn new(schema: &Schema, passwords: Passwords) -> Words {
        let definition = &schema.attribute_type(schema.well_known().user_password).definition;
        let names = definition.names.iter().chain([&definition.oid]);
        let names = names.map(|name| name.as_bytes().to_vec()).collect();
        Words { passwords, names, memory: Memory::default(), made: Vec::new() }
    }

    /// The next record is looked at.
    #[inline]
    pub(crate) fn begin_record(&mut self) {
        self.made.clear();
    }

    /// What is stored of a value.
    ///
    /// # Errors
    /// Why it is not.
    #[inline]
    pub(crate) fn stored<'v>(
        &mut self,
        description: &[u8],
        value: &'v [u8],
    ) -> Result<Cow<'v, [u8]>, &'static str> {
        if self.passwords == Passwords::Keep || !self.is_password(description) {
            return Ok(Cow::Borrowed(value));
        }
        self.stored_password(value)
    }

    #[inline]
    fn is_password(&self, description: &[u8]) -> bool {
        self.names.iter().any(|name| {
            let (is_long_enough, next) = (description.len() >= name.len(), description.get(name.len()));
            is_long_enough
                && matches!(next, None | Some(b';'))
                && description[..name.len()].eq_ignore_ascii_case(name)
        })
    }

    fn stored_password<'v>(&mut self, value: &'v [u8]) -> Result<Cow<'v, [u8]>, &'static str> {
        let word = match split_scheme(value) {
            None => value,
            Some((scheme, rest)) if is_clear(scheme) => rest,
            Some(_) => return Ok(Cow::Borrowed(value)),
        };
        let Passwords::Hash(scheme) = self.passwords else {
            return Err("a password is in clear text: --passwords says what becomes of those");
        };
        if let Some((_, made)) = self.made.iter().find(|(of, _)| of == word) {
            return Ok(Cow::Owned(made.clone()));
        }
        let mut salt = [0; SALT_BYTES];
        SystemEntropy.fill(&mut salt);
        let made = scheme.make(word, salt, &mut self.memory).map_err(|not_made| not_made.0)?;
        self.made.push((word.to_vec(), made.clone()));
        Ok(Cow::Owned(made))
    }
}

fn is_clear(scheme: &[u8]) -> bool {
    scheme.eq_ignore_ascii_case(b"CLEARTEXT") || scheme.eq_ignore_ascii_case(b"CLEAR")
}

#[cfg(test)]
mod tests {
    use super::*;
    use password::Stored;

    fn words(passwords: Passwords) -> Words {
        Words::new(
            &schema::Builder::new().standard().build().expect("the standard schema is sound"),
            passwords,
        )
    }

    #[test]
    fn words_become_hashes_and_hashes_stay() {
        let mut words = words(Passwords::default());
        for description in ["userPassword", "USERPASSWORD", "2.5.4.35", "userPassword;x-a"] {
            let stored = words.stored(description.as_bytes(), b"secret").unwrap().into_owned();
            assert!(stored.starts_with(b"{SSHA512}"), "{description}");
            assert!(Stored::read(&stored).unwrap().verify(b"secret", &mut Memory::default()));
            assert_eq!(words.stored(description.as_bytes(), b"secret").unwrap(), stored, "of one record");
            words.begin_record();
            assert_ne!(words.stored(description.as_bytes(), b"secret").unwrap(), stored, "another salt");
        }
        let stored = words.stored(b"userPassword", b"{CLEAR}secret").unwrap();
        assert!(Stored::read(&stored).unwrap().verify(b"secret", &mut Memory::default()));
        for (description, value) in [("userPassword", "{SSHA}x"), ("cn", "secret"), ("userPasswordX", "x")] {
            assert_eq!(&*words.stored(description.as_bytes(), value.as_bytes()).unwrap(), value.as_bytes());
        }
    }

    #[test]
    fn as_it_was_asked_for() {
        assert_eq!(&*words(Passwords::Keep).stored(b"userPassword", b"secret").unwrap(), b"secret");
        let mut refusing = words(Passwords::Refuse);
        assert!(refusing.stored(b"userPassword", b"secret").is_err());
        assert!(refusing.stored(b"userPassword", b"{CRYPT}x").is_ok());
        let mut slow = words(Passwords::Hash(Scheme::Argon2id));
        assert!(slow.stored(b"userPassword", b"secret").unwrap().starts_with(b"{ARGON2}$argon2id$"));
    }
}
