//! The session tracking control: a client that asks for others tells whose session it is.

use proto::outline::any_element;

/// Its OID.
pub(crate) const OID: &[u8] = b"1.3.6.1.4.1.21008.108.63.1";

/// What it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tracking<'a> {
    /// Where the user is.
    pub(crate) address: &'a [u8],
    /// The session, or the name of its user.
    pub(crate) identifier: &'a [u8],
}

impl Tracking<'_> {
    /// Reads its value: address, name of the host, format and identifier. `None` if it is none.
    pub(crate) fn of(value: &[u8]) -> Option<Tracking<'_>> {
        let ((0x30, parts), _) = any_element(value)? else { return None };
        let ((_, address), rest) = any_element(parts)?;
        let (_, rest) = any_element(rest)?;
        let (_, rest) = any_element(rest)?;
        let ((_, identifier), _) = any_element(rest)?;
        Some(Tracking { address, identifier })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn its_parts_are_found() {
        let value = b"\x30\x15\x04\x039::\x04\x01h\x04\x031.2\x04\x06ada-42";
        let expected = Tracking { address: b"9::", identifier: b"ada-42" };
        assert_eq!(Tracking::of(value), Some(expected));
        assert_eq!(Tracking::of(&value[..value.len() - 1]), None);
    }

    proptest! {
        #[test]
        fn any_octets_are_read(value in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = Tracking::of(&value);
        }
    }
}
