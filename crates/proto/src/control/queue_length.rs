//! Queue length control: how many answers a client expects before it looks at them. This server's own definition; prepared writes of
//! others that had the name were never published with an encoding.
//!
//! ```text
//! controlValue ::= INTEGER (0 .. maxInt)   -- 0 and 1: every answer is sent at once
//! ```

use crate::ber::{self, Reader};
use crate::error::Error;
use crate::tag;

/// Its OID.
pub const OID: &[u8] = b"2.25.42716394719518537185369042681176305868";

/// Decodes the value of the control.
///
/// # Errors
/// When it is not a number from 0 on, and nothing else.
pub fn decode(value: &[u8]) -> Result<u32, Error> {
    let mut outer = Reader::new(value);
    let length = outer.number(tag::INTEGER, i32::MAX, "expected a queue length")?;
    outer.end()?;
    Ok(length.unsigned_abs())
}

/// Appends the value of the control.
pub fn encode(length: u32, out: &mut Vec<u8>) {
    ber::put_integer(out, i64::from(length));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_length_comes_back(length in 0..=i32::MAX as u32) {
            let mut out = Vec::new();
            encode(length, &mut out);
            prop_assert_eq!(decode(&out), Ok(length));
        }
    }

    #[test]
    fn what_is_no_length() {
        for value in
            [&b""[..], b"\x02\x01\xff", b"\x02\x01\x05\x00", b"\x04\x01\x05", b"\x02\x05\x00\x80\x00\x00\x00"]
        {
            assert!(decode(value).is_err(), "{value:?}");
        }
    }
}
