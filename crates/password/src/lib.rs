//! Stored passwords: values of userPassword (RFC 2307 section 5.3, with the schemes of other servers), verified and made.
//!
//! Everything here is a pure function of its arguments. A stored value is read first ([`Stored::read`]), which costs next to nothing and
//! finds out what a verification costs; whatever exceeds a bound is refused there, so that no stored value can stop a server. Secrets
//! are compared in constant time, copies of words in the clear are wiped, and no type that holds one can be printed.

mod argon2;
pub mod base64;
mod bcrypt;
mod clear;
mod compare;
mod crypt;
mod digest;
mod memory;
pub mod one_time;
mod pbkdf2;
pub mod quality;
mod refused;
mod scheme;
pub mod scram;
mod split;
mod stored;
mod tag;

pub use compare::same;
pub use memory::Memory;
pub use refused::Refused;
pub use scheme::{NotMade, SALT_BYTES, Scheme};
pub use split::split_scheme;
pub use stored::{FAST_NS, Stored, is_hash};
pub use tag::{TAG_BYTES, TAG_KEY_BYTES, tag};
