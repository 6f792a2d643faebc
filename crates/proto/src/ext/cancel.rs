//! Cancel (RFC 3909): as abandon, but both operations are answered.

use crate::ber::{self, Reader};
use crate::error::Error;
use crate::tag;

/// Its OID.
pub const OID: &[u8] = b"1.3.6.1.1.8";

/// Decodes a requestValue, SEQUENCE { cancelID MessageID }: the id of the operation that shall end.
///
/// # Errors
/// When it is none.
pub fn decode(value: &[u8]) -> Result<i32, Error> {
    let mut body = Reader::inside(value, tag::SEQUENCE, "expected the value of a cancel")?;
    let id = body.number(tag::INTEGER, i32::MAX, "expected a message id")?;
    body.end()?;
    Ok(id)
}

/// The requestValue for an operation with this id.
pub fn encode(id: i32) -> Vec<u8> {
    ber::sequence(|out| ber::put_integer(out, i64::from(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_a_message_id_and_nothing_else() {
        assert_eq!(encode(5), [0x30, 3, 2, 1, 5]);
        assert_eq!(decode(&encode(i32::MAX)), Ok(i32::MAX));
        for wrong in [
            &[][..],
            &[2, 1, 5],
            &[0x30, 0],
            &[0x30, 3, 2, 1, 0xff],
            &[0x30, 3, 4, 1, 5],
            &[0x30, 6, 2, 1, 5, 2, 1, 6],
        ] {
            assert!(decode(wrong).is_err(), "{wrong:x?}");
        }
    }
}
