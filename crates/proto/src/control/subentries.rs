//! Subentries (RFC 3672 section 3): which of the two kinds of entries a search sees. There is no response control.

use super::Control;
use crate::ber::{self, Reader};
use crate::error::Error;
use crate::tag;

/// Its OID.
pub const OID: &[u8] = b"1.3.6.1.4.1.4203.1.10.1";

/// What a search with the control sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visible {
    /// All entries but subentries.
    Entries,
    /// Subentries, and no other entry.
    Subentries,
}

impl Visible {
    /// Decodes the value: a BOOLEAN and nothing else, TRUE for subentries.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(value: &[u8]) -> Result<Visible, Error> {
        let mut reader = Reader::new(value);
        let visible = match reader.boolean("expected whether subentries are visible")? {
            true => Visible::Subentries,
            false => Visible::Entries,
        };
        reader.end()?;
        Ok(visible)
    }

    /// The value.
    pub fn encode(self) -> Vec<u8> {
        let mut value = Vec::new();
        ber::put_boolean(&mut value, tag::BOOLEAN, self == Visible::Subentries);
        value
    }
}

/// The control, as a client sends it: `value` is what [`Visible::encode`] makes.
pub fn control(value: &[u8], critical: bool) -> Control<'_> {
    Control { oid: OID, critical, value: Some(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3672 section 3: "TRUE visibility has the three octet encoding { 01 01 FF } and FALSE visibility has [...] { 01 01 00 }".
    #[test]
    fn the_value_is_a_boolean_and_nothing_else() {
        for (visible, octets) in [(Visible::Subentries, [1, 1, 0xff]), (Visible::Entries, [1, 1, 0])] {
            assert_eq!(visible.encode(), octets);
            assert_eq!(Visible::decode(&octets), Ok(visible));
        }
        for wrong in [&[][..], &[1, 1], &[1, 0], &[1, 1, 0xff, 0], &[2, 1, 1], &[0x30, 3, 1, 1, 0xff]] {
            assert!(Visible::decode(wrong).is_err(), "{wrong:x?}");
        }
    }
}
