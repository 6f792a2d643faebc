//! How old what was read may be: an answer of a node of a cluster that has read without knowing what the others have. The control is Pando's own.
//! Its value is an INTEGER: all that was acknowledged so many milliseconds before the answer can be read there. Without a value nobody knows.

use super::Control;
use crate::ber::{self, Reader};
use crate::error::Error;
use crate::tag;

/// Its OID.
pub const OID: &[u8] = b"2.25.240669603016538496343604518522877881210";

/// Its value.
pub fn encode(age_ms: u64) -> Vec<u8> {
    let mut value = Vec::new();
    ber::put_integer(&mut value, i64::try_from(age_ms).unwrap_or(i64::MAX).min(i64::from(i32::MAX)));
    value
}

/// The control, as a server sends it.
pub fn control(value: Option<&[u8]>) -> Control<'_> {
    Control { oid: OID, critical: false, value }
}

/// Milliseconds of a value.
///
/// # Errors
/// When it is none.
pub fn decode(value: &[u8]) -> Result<u64, Error> {
    let mut reader = Reader::new(value);
    let age_ms = reader.number(tag::INTEGER, i32::MAX, "expected an age in milliseconds")?;
    reader.finish(&[])?;
    Ok(age_ms as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_comes_back() {
        for age_ms in [0, 1, 127, 128, 70_000, i32::MAX as u64] {
            assert_eq!(decode(&encode(age_ms)).unwrap(), age_ms);
        }
        assert_eq!(decode(&encode(u64::MAX)).unwrap(), i32::MAX as u64, "that is for ever");
        decode(b"").unwrap_err();
    }
}
