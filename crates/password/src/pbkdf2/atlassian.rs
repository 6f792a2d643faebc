//! `{PKCS5S2}` of Atlassian's products and OpenDJ: base64 of 16 octets of salt and 32 of key, 10,000 iterations with SHA-1.

use super::hash::{Hash, Prf};
use crate::base64;
use crate::refused::Fault;

const SALT_BYTES: usize = 16;
const KEY_BYTES: usize = 32;
const ITERATIONS: u32 = 10_000;

pub(super) fn read(rest: &[u8]) -> Result<Hash, Fault> {
    const FORM: Fault = Fault::Malformed("base64 of 48 octets");
    let mut salt = base64::decode(rest).filter(|bytes| bytes.len() == SALT_BYTES + KEY_BYTES).ok_or(FORM)?;
    let key = salt.split_off(SALT_BYTES);
    Ok(Hash { prf: Prf::Sha1, iterations: ITERATIONS, salt, key })
}
