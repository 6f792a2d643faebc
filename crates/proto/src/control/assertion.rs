//! Assertion (RFC 4528): the operation happens only if a filter is true of its target. There is no response control.

use super::Control;
use crate::error::Error;
use crate::filter;
use model::Filter;

/// Its OID.
pub const OID: &[u8] = b"1.3.6.1.1.12";

/// Decodes the value of the control, which is a filter and nothing else.
///
/// # Errors
/// When it is none, or longer than filters may be.
pub fn decode(value: &[u8]) -> Result<Filter<'_>, Error> {
    filter::decode(value)
}

/// The value of the control.
pub fn encode(filter: &Filter<'_>) -> Vec<u8> {
    let mut value = Vec::new();
    filter::encode(filter, &mut value);
    value
}

/// The control, as a client sends it: `value` is what [`encode`] makes.
pub fn control(value: &[u8], critical: bool) -> Control<'_> {
    Control { oid: OID, critical, value: Some(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_a_filter_and_nothing_else() {
        let value = encode(&Filter::Present(b"cn"));
        assert_eq!(value, [0x87, 2, b'c', b'n']);
        assert_eq!(decode(&value), Ok(Filter::Present(b"cn")));
        for wrong in [&[][..], &[4, 2, b'c', b'n'], &[0x87, 2, b'c', b'n', 0], &[0x87, 3, b'c', b'n']] {
            assert!(decode(wrong).is_err(), "{wrong:x?}");
        }
    }
}
