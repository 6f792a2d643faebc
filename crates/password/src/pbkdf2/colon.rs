//! `iterations:base64(key and salt)`, of OpenDJ.

use super::hash::{Hash, Prf, iterations};
use crate::base64;
use crate::refused::Fault;
use model::limits::PASSWORD_SALT_BYTES_MAX;

pub(super) fn read(prf: Prf, rest: &[u8]) -> Result<Hash, Fault> {
    const FORM: Fault = Fault::Malformed("ITERATIONS:BASE64, of a whole key and a salt,");
    let at = rest.iter().position(|byte| *byte == b':').ok_or(FORM)?;
    let mut key = base64::decode(&rest[at + 1..]).ok_or(FORM)?;
    if key.len() <= prf.bytes() {
        return Err(FORM);
    }
    let salt = key.split_off(prf.bytes());
    if salt.len() > PASSWORD_SALT_BYTES_MAX {
        return Err(Fault::Beyond("a salt of 64 octets at most"));
    }
    Ok(Hash { prf, iterations: iterations(&rest[..at], FORM)?, salt, key })
}
