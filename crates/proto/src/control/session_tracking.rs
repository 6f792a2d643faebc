//! Session tracking (wahl-ldap-session-03): a client that asks for others says whose session it is, for the log. It is never critical, and
//! there is no response control.
//!
//! ```text
//! controlValue ::= SEQUENCE {
//!     sessionSourceIp           LDAPString,  -- 128 octets
//!     sessionSourceName         LDAPString,  -- 65536 octets
//!     formatOID                 LDAPOID,     -- 1024 octets
//!     sessionTrackingIdentifier LDAPString   -- 65536 octets
//! }
//! ```

use super::Control;
use crate::ber::{self, Reader};
use crate::error::Error;
use crate::tag;
use model::oid;

/// Its OID.
pub const OID: &[u8] = b"1.3.6.1.4.1.21008.108.63.1";

/// Octets of an address at most.
pub const ADDRESS_BYTES_MAX: usize = 128;
/// Octets of the name of a host, and of an identifier, at most.
pub const NAME_BYTES_MAX: usize = 65_536;
/// Octets of a format at most.
pub const FORMAT_BYTES_MAX: usize = 1024;

/// What the control says. Nothing of it is verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionTracking<'a> {
    /// Where the user is.
    pub address: &'a [u8],
    /// The name of the host there.
    pub host: &'a [u8],
    /// What kind of identifier it is: an OID.
    pub format: &'a [u8],
    /// The session, or the name of its user.
    pub identifier: &'a [u8],
}

impl<'a> SessionTracking<'a> {
    /// Decodes the value of the control.
    ///
    /// # Errors
    /// When it has another form, a part is no UTF-8, the format is no numeric OID, or a part is too long.
    pub fn decode(value: &'a [u8]) -> Result<SessionTracking<'a>, Error> {
        let mut body = Reader::inside(value, tag::SEQUENCE, "expected the parts of a session")?;
        let address = text(&mut body, ADDRESS_BYTES_MAX)?;
        let host = text(&mut body, NAME_BYTES_MAX)?;
        let format = text(&mut body, FORMAT_BYTES_MAX)?;
        if !oid::is_numeric(format) {
            return Err(Error::structure(body.offset(), "expected the OID of a format"));
        }
        let identifier = text(&mut body, NAME_BYTES_MAX)?;
        body.end()?;
        Ok(SessionTracking { address, host, format, identifier })
    }

    /// The value of the control.
    pub fn encode(&self) -> Vec<u8> {
        ber::sequence(|out| {
            let parts = [self.address, self.host, self.format, self.identifier];
            parts.iter().for_each(|part| ber::put_octets(out, part));
        })
    }
}

/// An LDAPString of so many octets at most.
fn text<'a>(body: &mut Reader<'a>, bytes_max: usize) -> Result<&'a [u8], Error> {
    let offset = body.offset();
    let text = body.octets("expected a part of a session")?;
    if text.len() > bytes_max {
        return Err(Error::structure(offset, "a part of a session is too long"));
    }
    match std::str::from_utf8(text) {
        Ok(_) => Ok(text),
        Err(_) => Err(Error::structure(offset, "a part of a session is no UTF-8")),
    }
}

/// The control, as a client sends it: `value` is what [`SessionTracking::encode`] makes.
pub fn control(value: &[u8]) -> Control<'_> {
    Control { oid: OID, critical: false, value: Some(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ADA: SessionTracking<'_> =
        SessionTracking { address: b"192.0.2.9", host: b"", format: b"1.2.3", identifier: b"ada" };

    #[test]
    fn parts_come_back() {
        let value = ADA.encode();
        assert_eq!(value, b"\x30\x19\x04\x09192.0.2.9\x04\x00\x04\x051.2.3\x04\x03ada");
        assert_eq!(SessionTracking::decode(&value), Ok(ADA));
    }

    #[test]
    fn other_forms_are_refused() {
        for wrong in [
            &b""[..],
            b"\x30\x00",
            b"\x30\x0a\x04\x00\x04\x00\x04\x00\x04\x02ab",
            b"\x30\x0b\x04\x00\x04\x00\x04\x031.2\x02\x00",
            b"\x30\x0d\x04\x00\x04\x00\x04\x031.2\x04\x00\x04\x00",
            b"\x30\x0b\x04\x00\x04\x00\x04\x031.2\x04\x00\x00",
            b"\x30\x0c\x04\x01\xff\x04\x00\x04\x031.2\x04\x00",
        ] {
            assert!(SessionTracking::decode(wrong).is_err(), "{wrong:x?}");
        }
        let long = vec![b'1'; NAME_BYTES_MAX + 1];
        let longest = &long[..NAME_BYTES_MAX];
        assert!(
            SessionTracking::decode(&SessionTracking { host: longest, identifier: longest, ..ADA }.encode())
                .is_ok()
        );
        for wrong in [
            SessionTracking { address: &long[..=ADDRESS_BYTES_MAX], ..ADA },
            SessionTracking { host: &long, ..ADA },
            SessionTracking { identifier: &long, ..ADA },
            SessionTracking { format: b"no OID", ..ADA },
        ] {
            assert!(SessionTracking::decode(&wrong.encode()).is_err());
        }
    }

    proptest! {
        #[test]
        fn any_octets_are_read(value in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = SessionTracking::decode(&value);
        }
    }
}
