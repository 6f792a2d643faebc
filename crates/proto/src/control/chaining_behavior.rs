//! Chaining behavior (Sermersheim): whether a server that does not hold an entry asks the one that does, or says which one it is.
//! Its authors gave it no OID; OpenLDAP's is the one that is used.

use super::Control;
use crate::ber::{self, Reader};
use crate::error::Error;
use crate::tag;

/// Its OID.
pub const OID: &[u8] = b"1.3.6.1.4.1.4203.666.11.3";

/// What is to be done about an entry that another server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behavior {
    /// The server asks the other one if it can.
    ChainingPreferred,
    /// The server asks the other one, or fails.
    ChainingRequired,
    /// The client is referred if the server can.
    ReferralsPreferred,
    /// The client is referred.
    ReferralsRequired,
}

impl Behavior {
    const ALL: [Behavior; 4] = [
        Behavior::ChainingPreferred,
        Behavior::ChainingRequired,
        Behavior::ReferralsPreferred,
        Behavior::ReferralsRequired,
    ];

    /// Decodes the value: what is to be done about the base, and about what is found below it. What it does not say is `ChainingPreferred`, and if it says one
    /// thing only, that is about the base: the value has no tags.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(value: &[u8]) -> Result<[Behavior; 2], Error> {
        let mut body = Reader::inside(value, tag::SEQUENCE, "expected a chaining behavior")?;
        let mut both = [Behavior::ChainingPreferred; 2];
        for behavior in &mut both {
            if body.is_empty() {
                break;
            }
            let number = body.number(tag::ENUMERATED, 3, "unknown chaining behavior")?;
            *behavior = Behavior::ALL[number.unsigned_abs() as usize];
        }
        body.finish(&[])?;
        Ok(both)
    }

    /// Is the client to be referred?
    pub fn refers(self) -> bool {
        matches!(self, Behavior::ReferralsPreferred | Behavior::ReferralsRequired)
    }
}

/// The value that says so of the base, and of what is found below it.
pub fn encode(both: [Behavior; 2]) -> Vec<u8> {
    ber::sequence(|out| both.into_iter().for_each(|behavior| ber::put_enumerated(out, behavior as u32)))
}

/// The control, as a client sends it: `value` is what [`encode`] makes.
pub fn control(value: &[u8], critical: bool) -> Control<'_> {
    Control { oid: OID, critical, value: Some(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
        for one in Behavior::ALL {
            for other in Behavior::ALL {
                assert_eq!(Behavior::decode(&encode([one, other])), Ok([one, other]));
            }
        }
        let preferred = Behavior::ChainingPreferred;
        assert_eq!(Behavior::decode(b"\x30\x00"), Ok([preferred; 2]));
        assert_eq!(Behavior::decode(b"\x30\x03\x0a\x01\x03"), Ok([Behavior::ReferralsRequired, preferred]));
        for wrong in [&b""[..], b"\x30\x03\x0a\x01\x04", b"\x30\x03\x02\x01\x01", b"\x30\x00\x00"] {
            assert!(Behavior::decode(wrong).is_err(), "{wrong:?}");
        }
    }
}
