//! `iterations$salt$key`, of OpenLDAP's pw-pbkdf2, of newer 389 Directory Servers and of passlib.

use super::hash::{Hash, Prf, is_distinct, iterations};
use crate::base64;
use crate::refused::Fault;
use model::limits::PASSWORD_SALT_BYTES_MAX;

/// Octets of key of older values with SHA-1, which are one short.
const SHORT_SHA1_KEY: usize = 19;

pub(super) fn read(prf: Prf, rest: &[u8]) -> Result<Hash, Fault> {
    const FORM: Fault = Fault::Malformed("ITERATIONS$SALT$KEY, with a whole key in base64,");
    let mut fields = rest.split(|byte| *byte == b'$');
    let (Some(count), Some(salt), Some(key), None) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return Err(FORM);
    };
    let salt = base64::decode_dotted(salt).ok_or(FORM)?;
    let key = base64::decode_dotted(key).ok_or(FORM)?;
    let is_whole = key.len() == prf.bytes() || (prf == Prf::Sha1 && key.len() == SHORT_SHA1_KEY);
    if !is_whole || !(1..=PASSWORD_SALT_BYTES_MAX).contains(&salt.len()) {
        return Err(FORM);
    }
    Ok(Hash { prf, iterations: iterations(count, FORM)?, salt, key })
}

/// Iterations of new values: what OWASP recommends.
pub(crate) fn new_iterations(prf: Prf) -> u32 {
    match prf {
        Prf::Sha1 => 1_300_000,
        Prf::Sha256 => 600_000,
        Prf::Sha512 => 210_000,
    }
}

/// What is stored of a password, behind the name of the scheme. `None` of one that would be the same as another.
pub(crate) fn make(prf: Prf, password: &[u8], salt: &[u8]) -> Option<String> {
    if !is_distinct(password) {
        return None;
    }
    let mut key = vec![0; prf.bytes()];
    let iterations = new_iterations(prf);
    prf.derive(password, salt, iterations, &mut key);
    let (salt, key) = (base64::encode_dotted(salt), base64::encode_dotted(&key));
    Some(format!("{iterations}${salt}${key}"))
}

/// Has a value the parameters of new ones?
pub(crate) fn is_new(prf: Prf, rest: &[u8]) -> bool {
    rest.starts_with(format!("{}$", new_iterations(prf)).as_bytes())
}
