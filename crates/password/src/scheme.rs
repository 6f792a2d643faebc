//! The schemes that new values are written with.

use crate::argon2;
use crate::base64;
use crate::bcrypt;
use crate::crypt::sha;
use crate::digest::{self, Algorithm};
use crate::memory::Memory;
use crate::pbkdf2::{self, Prf};
use crate::scram;
use crate::split::split_scheme;

/// Octets of the salt of a new value.
pub const SALT_BYTES: usize = 16;

/// How a new password is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// `{ARGON2}` with argon2id, 19 MiB, two passes.
    #[default]
    Argon2id,
    /// `{SSHA512}`.
    SaltedSha512,
    /// `{SSHA256}`.
    SaltedSha256,
    /// `{SSHA}`.
    SaltedSha1,
    /// `{PBKDF2-SHA256}`, 600,000 iterations.
    Pbkdf2Sha256,
    /// `{PBKDF2-SHA512}`, 210,000 iterations.
    Pbkdf2Sha512,
    /// `{SCRAM-SHA-256}`, 65,536 iterations.
    ScramSha256,
    /// `{CRYPT}$2b$10$`.
    Bcrypt,
    /// `{CRYPT}$6$rounds=100000$`.
    Sha512Crypt,
    /// As it is.
    Clear,
}

/// Why a password cannot be stored with a scheme: what would be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotMade(pub &'static str);

impl Scheme {
    /// All of them, with the words that name them in a configuration.
    pub const ALL: &[(&str, Scheme)] = &[
        ("argon2id", Scheme::Argon2id),
        ("ssha512", Scheme::SaltedSha512),
        ("ssha256", Scheme::SaltedSha256),
        ("ssha", Scheme::SaltedSha1),
        ("pbkdf2-sha256", Scheme::Pbkdf2Sha256),
        ("pbkdf2-sha512", Scheme::Pbkdf2Sha512),
        ("scram-sha-256", Scheme::ScramSha256),
        ("bcrypt", Scheme::Bcrypt),
        ("sha512-crypt", Scheme::Sha512Crypt),
        ("clear", Scheme::Clear),
    ];

    /// Name in stored values; none of clear text.
    fn name(self) -> &'static str {
        match self {
            Scheme::Argon2id => "{ARGON2}",
            Scheme::SaltedSha512 => "{SSHA512}",
            Scheme::SaltedSha256 => "{SSHA256}",
            Scheme::SaltedSha1 => "{SSHA}",
            Scheme::Pbkdf2Sha256 => "{PBKDF2-SHA256}",
            Scheme::Pbkdf2Sha512 => "{PBKDF2-SHA512}",
            Scheme::ScramSha256 => "{SCRAM-SHA-256}",
            Scheme::Bcrypt | Scheme::Sha512Crypt => "{CRYPT}",
            Scheme::Clear => "",
        }
    }

    /// Is a value made where requests are answered? Any other takes milliseconds.
    pub fn is_fast(self) -> bool {
        use Scheme::*;
        matches!(self, SaltedSha512 | SaltedSha256 | SaltedSha1 | Clear)
    }

    /// What is stored of a password. The salt is to be of random octets that were used for nothing else.
    ///
    /// # Errors
    /// If the scheme cannot stand for this password.
    pub fn make(
        self,
        password: &[u8],
        salt: [u8; SALT_BYTES],
        memory: &mut Memory,
    ) -> Result<Vec<u8>, NotMade> {
        const CRYPT: NotMade = NotMade("a password of 72 octets at most and without NUL");
        const PBKDF2: NotMade = NotMade("a password that does not end in NUL");
        let rest = match self {
            Scheme::Argon2id => argon2::make(password, &salt, memory)
                .ok_or(NotMade("more memory: 19 MiB could not be had from the system"))?
                .into_bytes(),
            Scheme::SaltedSha512 => digest::make(Algorithm::Sha512, password, &salt).into_bytes(),
            Scheme::SaltedSha256 => digest::make(Algorithm::Sha256, password, &salt).into_bytes(),
            Scheme::SaltedSha1 => digest::make(Algorithm::Sha1, password, &salt).into_bytes(),
            Scheme::Pbkdf2Sha256 => pbkdf2::make(Prf::Sha256, password, &salt).ok_or(PBKDF2)?.into_bytes(),
            Scheme::Pbkdf2Sha512 => pbkdf2::make(Prf::Sha512, password, &salt).ok_or(PBKDF2)?.into_bytes(),
            Scheme::ScramSha256 => scram::make(password, &salt)
                .ok_or(NotMade("a password of UTF-8 characters that SASLprep (RFC 4013) takes"))?
                .into_bytes(),
            Scheme::Bcrypt => bcrypt::make(password, salt).ok_or(CRYPT)?.into_bytes(),
            Scheme::Sha512Crypt => sha::make(password, &salt).ok_or(NotMade("a password without NUL"))?,
            // What looks like a hash would bind with what it is the hash of, which is not what the user has set.
            Scheme::Clear if split_scheme(password).is_some() => {
                return Err(NotMade("a password that does not begin like a scheme in braces"));
            }
            Scheme::Clear => password.to_vec(),
        };
        Ok([self.name().as_bytes(), &rest].concat())
    }

    /// A value of this form that no password is right for. To verify it takes as long as any other.
    pub fn dummy(self) -> Vec<u8> {
        let zeros = |bytes: usize| base64::encode(&vec![0; bytes]);
        let dotted = |bytes: usize| base64::encode_dotted(&vec![0; bytes]);
        let rest = match self {
            Scheme::Argon2id => argon2::dummy(),
            Scheme::SaltedSha512 => zeros(64 + SALT_BYTES),
            Scheme::SaltedSha256 => zeros(32 + SALT_BYTES),
            Scheme::SaltedSha1 => zeros(20 + SALT_BYTES),
            Scheme::Pbkdf2Sha256 => {
                format!("{}${}${}", pbkdf2::new_iterations(Prf::Sha256), dotted(SALT_BYTES), dotted(32))
            }
            Scheme::Pbkdf2Sha512 => {
                format!("{}${}${}", pbkdf2::new_iterations(Prf::Sha512), dotted(SALT_BYTES), dotted(64))
            }
            Scheme::ScramSha256 => {
                format!("{}:{}${}:{}", scram::NEW_ITERATIONS, zeros(SALT_BYTES), zeros(32), zeros(32))
            }
            Scheme::Bcrypt => format!("{}{}", bcrypt::new_prefix(), ".".repeat(53)),
            Scheme::Sha512Crypt => format!("{}{}${}", sha::new_prefix(), ".".repeat(16), ".".repeat(86)),
            Scheme::Clear => "{SSHA}".to_owned() + &zeros(20 + SALT_BYTES),
        };
        [self.name().as_bytes(), rest.as_bytes()].concat()
    }

    /// Has a stored value the form that this one writes, with its parameters?
    pub fn writes(self, stored: &[u8]) -> bool {
        let Some((_, rest)) = split_scheme(stored) else { return self == Scheme::Clear };
        let begins =
            stored.get(..self.name().len()).is_some_and(|s| s.eq_ignore_ascii_case(self.name().as_bytes()));
        begins
            && match self {
                Scheme::Argon2id => argon2::is_new(rest),
                Scheme::Pbkdf2Sha256 => pbkdf2::is_new(Prf::Sha256, rest),
                Scheme::Pbkdf2Sha512 => pbkdf2::is_new(Prf::Sha512, rest),
                Scheme::ScramSha256 => scram::is_new(rest),
                Scheme::Bcrypt => bcrypt::is_new(rest),
                Scheme::Sha512Crypt => sha::is_new(rest),
                Scheme::SaltedSha512 | Scheme::SaltedSha256 | Scheme::SaltedSha1 => true,
                Scheme::Clear => false,
            }
    }
}
