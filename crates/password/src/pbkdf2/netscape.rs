//! `{PBKDF2_SHA256}` of older 389 Directory Servers: base64 of a count, a salt of 64 octets and a key of 256.
//! Of the key the first 32 octets are derived and compared: an eighth of the work, and they are as hard to guess.

use super::hash::{Hash, Prf, bounded};
use crate::base64;
use crate::refused::Fault;

const SALT_BYTES: usize = 64;
const KEY_BYTES: usize = 256;

pub(super) fn read(rest: &[u8]) -> Result<Hash, Fault> {
    const FORM: Fault = Fault::Malformed("base64 of 324 octets");
    let bytes = base64::decode(rest.strip_suffix(b"\n").unwrap_or(rest)).ok_or(FORM)?;
    let (count, bytes) = bytes.split_first_chunk::<4>().ok_or(FORM)?;
    let (salt, key) = bytes.split_at_checked(SALT_BYTES).ok_or(FORM)?;
    if key.len() != KEY_BYTES {
        return Err(FORM);
    }
    let iterations = bounded(u32::from_be_bytes(*count), FORM)?;
    let key = key[..Prf::Sha256.bytes()].to_vec();
    Ok(Hash { prf: Prf::Sha256, iterations, salt: salt.to_vec(), key })
}
