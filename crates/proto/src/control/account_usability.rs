//! Account usability control of the Netscape server: what of the account of an entry lets its user bind, or does not. The request has no value; each
//! entry that a search finds has a control with one:
//!
//! ```text
//! ACCOUNT_USABLE_RESPONSE ::= CHOICE {
//!    is_available     [0] INTEGER, -- seconds until the password expires, or -1 --
//!    is_not_available [1] MORE_INFO }
//! MORE_INFO ::= SEQUENCE {
//!    inactive [0] BOOLEAN DEFAULT FALSE, reset [1] BOOLEAN DEFAULT FALSE, expired [2] BOOLEAN DEFAULT FALSE,
//!    remaining_grace [3] INTEGER OPTIONAL, seconds_before_unlock [4] INTEGER OPTIONAL }
//! ```
//! The tags are implicit. Each BOOLEAN is sent, also one that is false: OpenLDAP's library reads all three.

use super::Control;
use crate::ber;
use crate::tag::{context, context_constructed};

/// Its OID, of the request and of the answer.
pub const OID: &[u8] = b"1.3.6.1.4.1.42.2.27.9.5.8";

/// What the control says of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usability {
    /// Its user can bind. Seconds until the password expires; `None` if it does not.
    Available(Option<u32>),
    /// Its user cannot bind, or not for long.
    NotAvailable {
        /// It is locked, or not valid now.
        inactive: bool,
        /// The password must be changed first.
        reset: bool,
        /// The password has expired.
        expired: bool,
        /// Binds that are left with it.
        grace: Option<u32>,
        /// Seconds until it is usable again without anybody's help.
        unlock: Option<u32>,
    },
}

impl Usability {
    /// The value, encoded.
    pub fn encode(&self) -> Vec<u8> {
        let (mut out, number) = (Vec::new(), |number: u32| i64::from(number.min(i32::MAX as u32)));
        match *self {
            Usability::Available(left) => ber::put_number(&mut out, context(0), left.map_or(-1, number)),
            Usability::NotAvailable { inactive, reset, expired, grace, unlock } => {
                let mark = ber::begin(&mut out, context_constructed(1));
                for (at, is_so) in (0..).zip([inactive, reset, expired]) {
                    ber::put_tlv(&mut out, context(at), &[if is_so { 0xff } else { 0 }]);
                }
                for (at, count) in (3..).zip([grace, unlock]) {
                    if let Some(count) = count {
                        ber::put_number(&mut out, context(at), number(count));
                    }
                }
                ber::end(&mut out, mark);
            }
        }
        out
    }
}

/// The control of an entry, with this value.
pub fn control(value: &[u8]) -> Control<'_> {
    Control { oid: OID, critical: false, value: Some(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Y2: to the octet.
    #[test]
    fn test_y2_octets() {
        assert_eq!(Usability::Available(None).encode(), [0x80, 1, 0xff]);
        assert_eq!(Usability::Available(Some(300)).encode(), [0x80, 2, 1, 44]);
        assert_eq!(Usability::Available(Some(u32::MAX)).encode(), [0x80, 4, 0x7f, 0xff, 0xff, 0xff]);
        let locked = Usability::NotAvailable {
            inactive: true,
            reset: false,
            expired: false,
            grace: None,
            unlock: Some(60),
        };
        assert_eq!(locked.encode(), [0xa1, 12, 0x80, 1, 0xff, 0x81, 1, 0, 0x82, 1, 0, 0x84, 1, 60]);
        let expired = Usability::NotAvailable {
            inactive: false,
            reset: true,
            expired: true,
            grace: Some(2),
            unlock: None,
        };
        assert_eq!(expired.encode(), [0xa1, 12, 0x80, 1, 0, 0x81, 1, 0xff, 0x82, 1, 0xff, 0x83, 1, 2]);
    }
}
