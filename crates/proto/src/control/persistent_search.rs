//! Persistent search (ldapext-psearch-03): the control of its request, and that of an entry that has changed.
//!
//! ```text
//! PersistentSearch        ::= SEQUENCE { changeTypes INTEGER, changesOnly BOOLEAN, returnECs BOOLEAN }
//! EntryChangeNotification ::= SEQUENCE { changeType ENUMERATED { add (1), delete (2), modify (4), modDN (8) },
//!                                        previousDN LDAPDN OPTIONAL, changeNumber INTEGER OPTIONAL }
//! ```

use super::Control;
use crate::ber::{self, Reader};
use crate::error::Error;
use crate::tag;

/// OID of the control of a request.
pub const OID: &[u8] = b"2.16.840.1.113730.3.4.3";
/// OID of the control of an entry.
pub const NOTIFICATION_OID: &[u8] = b"2.16.840.1.113730.3.4.7";

/// What was done to an entry: its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeType {
    /// It was added.
    Add = 1,
    /// It was deleted.
    Delete = 2,
    /// It was modified.
    Modify = 4,
    /// It has another name.
    ModDn = 8,
}

const TYPES: i32 = 15;

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PersistentSearch {
    types: i32,
    /// Are entries that match already left out?
    pub changes_only: bool,
    /// Shall entries have the control that says what was done?
    pub returns_notifications: bool,
}

impl PersistentSearch {
    /// Decodes the value of the control.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(value: &[u8]) -> Result<PersistentSearch, Error> {
        let mut body = Reader::inside(value, tag::SEQUENCE, "expected the value of a persistent search")?;
        let at = body.offset();
        let types = body.number(tag::INTEGER, i32::MAX, "expected types of changes")?;
        if types == 0 || types & !TYPES != 0 {
            return Err(Error::structure(at, "there are no such types of changes"));
        }
        let changes_only = body.boolean("expected whether only changes are asked for")?;
        let returns_notifications = body.boolean("expected whether notifications are asked for")?;
        body.finish(&[])?;
        Ok(PersistentSearch { types, changes_only, returns_notifications })
    }

    /// Does the client want to know of such changes?
    pub fn wants(&self, change: ChangeType) -> bool {
        self.types & change as i32 != 0
    }

    /// The value of the control.
    pub fn encode(&self) -> Vec<u8> {
        ber::sequence(|out| {
            ber::put_integer(out, i64::from(self.types));
            ber::put_boolean(out, tag::BOOLEAN, self.changes_only);
            ber::put_boolean(out, tag::BOOLEAN, self.returns_notifications);
        })
    }
}

/// The value of the control of an entry.
pub fn notification_value(change: ChangeType, previous_dn: Option<&[u8]>) -> Vec<u8> {
    ber::sequence(|out| {
        ber::put_enumerated(out, change as u32);
        previous_dn.iter().for_each(|dn| ber::put_octets(out, dn));
    })
}

/// The control of an entry, with this value.
pub fn notification(value: &[u8]) -> Control<'_> {
    Control { oid: NOTIFICATION_OID, critical: false, value: Some(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_the_octet() {
        let request = PersistentSearch { types: 15, changes_only: true, returns_notifications: false };
        let value = request.encode();
        assert_eq!(value, [0x30, 9, 2, 1, 15, 1, 1, 0xff, 1, 1, 0]);
        assert_eq!(PersistentSearch::decode(&value), Ok(request));
        assert!(request.wants(ChangeType::ModDn));
        for bad in [
            &[][..],
            &[0x30, 0],
            &[0x30, 9, 2, 1, 16, 1, 1, 0, 1, 1, 0],
            &[0x30, 9, 2, 1, 0, 1, 1, 0, 1, 1, 0],
            &value[..7],
        ] {
            assert!(PersistentSearch::decode(bad).is_err(), "{bad:?}");
        }
        assert_eq!(notification_value(ChangeType::ModDn, Some(b"x")), [0x30, 6, 10, 1, 8, 4, 1, b'x']);
        assert_eq!(notification_value(ChangeType::Add, None), [0x30, 3, 10, 1, 1]);
    }
}
