//! PBKDF2 (RFC 8018) in the forms of five servers.

mod atlassian;
mod colon;
mod dollar;
mod hash;
mod netscape;

use crate::refused::Fault;

pub(crate) use dollar::{is_new, make, new_iterations};
pub(crate) use hash::{Hash, Prf, iterations};

/// The value of a scheme; `None` if the scheme is none of these.
pub(crate) fn read(scheme: &str, rest: &[u8]) -> Option<Result<Hash, Fault>> {
    // The first of the two tells whose form it is.
    let has_colon = rest.iter().find(|byte| matches!(byte, b':' | b'$')) == Some(&b':');
    let dollar_or_colon = |prf| match has_colon {
        true => colon::read(prf, rest),
        false => dollar::read(prf, rest),
    };
    Some(match scheme {
        "PBKDF2" => dollar_or_colon(Prf::Sha1),
        "PBKDF2-SHA1" => dollar::read(Prf::Sha1, rest),
        "PBKDF2-SHA256" => dollar::read(Prf::Sha256, rest),
        "PBKDF2-SHA512" => dollar::read(Prf::Sha512, rest),
        "PBKDF2-HMAC-SHA256" => colon::read(Prf::Sha256, rest),
        "PBKDF2-HMAC-SHA512" => colon::read(Prf::Sha512, rest),
        "PBKDF2_SHA256" => netscape::read(rest),
        "PKCS5S2" => atlassian::read(rest),
        _ => return None,
    })
}
