//! Password policy control (draft-behera-ldap-password-policy-10 section 6). The request has no value; an answer has one:
//!
//! ```text
//! PasswordPolicyResponseValue ::= SEQUENCE {
//!    warning [0] CHOICE { timeBeforeExpiration [0] INTEGER, graceAuthNsRemaining [1] INTEGER } OPTIONAL,
//!    error   [1] ENUMERATED OPTIONAL }
//! ```
//! The tags are implicit but for that of the choice, as all servers and clients have it.

use super::Control;
use crate::ber::{self, Reader};
use crate::error::Error;
use crate::tag::{self, context, context_constructed};

/// Its OID, of the request and of the answer.
pub const OID: &[u8] = b"1.3.6.1.4.1.42.2.27.8.5.1";

const WARNING: u8 = context_constructed(0);
const ERROR: u8 = context(1);
const SECONDS: u8 = context(0);
const GRACE: u8 = context(1);

/// What a client is warned of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warning {
    /// Seconds until the password expires.
    Expires(u32),
    /// Binds that are left with a password that has expired.
    Grace(u32),
}

/// Why a password policy refuses something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PolicyError {
    /// passwordExpired
    Expired = 0,
    /// accountLocked
    Locked = 1,
    /// changeAfterReset
    MustChange = 2,
    /// passwordModNotAllowed
    NotAllowed = 3,
    /// mustSupplyOldPassword
    NeedsOld = 4,
    /// insufficientPasswordQuality
    Quality = 5,
    /// passwordTooShort
    TooShort = 6,
    /// passwordTooYoung
    TooYoung = 7,
    /// passwordInHistory
    InHistory = 8,
    /// passwordTooLong, of the successor.
    TooLong = 9,
}

/// The value of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PolicyResponse {
    /// A warning.
    pub warning: Option<Warning>,
    /// An error, by its number.
    pub error: Option<PolicyError>,
}

impl PolicyResponse {
    /// The value, encoded.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mark = ber::begin(&mut out, tag::SEQUENCE);
        if let Some(warning) = self.warning {
            let choice = ber::begin(&mut out, WARNING);
            let (tag, number) = match warning {
                Warning::Expires(seconds) => (SECONDS, seconds),
                Warning::Grace(left) => (GRACE, left),
            };
            ber::put_number(&mut out, tag, i64::from(number.min(i32::MAX as u32)));
            ber::end(&mut out, choice);
        }
        if let Some(error) = self.error {
            ber::put_number(&mut out, ERROR, error as i64);
        }
        ber::end(&mut out, mark);
        out
    }

    /// Decodes a value: warning, and number of the error.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(value: &[u8]) -> Result<(Option<Warning>, Option<u8>), Error> {
        let mut outer = Reader::new(value);
        let mut body = outer.enter(tag::SEQUENCE, "expected an answer of a password policy")?;
        let mut warning = None;
        if body.peek() == Some(WARNING) {
            let mut choice = body.enter(WARNING, "expected a warning")?;
            let number = |reader: &mut Reader<'_>, tag| reader.number(tag, i32::MAX, "expected a number");
            warning = Some(match choice.peek() {
                Some(GRACE) => Warning::Grace(number(&mut choice, GRACE)?.unsigned_abs()),
                _ => Warning::Expires(number(&mut choice, SECONDS)?.unsigned_abs()),
            });
            choice.end()?;
        }
        let error = match body.peek() {
            Some(ERROR) => Some(body.number(ERROR, 127, "expected an error of a password policy")? as u8),
            _ => None,
        };
        body.end()?;
        outer.end()?;
        Ok((warning, error))
    }
}

/// The control of an answer, with this value.
pub fn control(value: &[u8]) -> Control<'_> {
    Control { oid: OID, critical: false, value: Some(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Y2: by octets.
    #[test]
    fn test_y2_values_are_as_specified() {
        let of = |warning, error| PolicyResponse { warning, error }.encode();
        assert_eq!(of(None, None), [0x30, 0]);
        assert_eq!(of(Some(Warning::Expires(60)), None), [0x30, 5, 0xa0, 3, 0x80, 1, 60]);
        assert_eq!(of(Some(Warning::Grace(2)), None), [0x30, 5, 0xa0, 3, 0x81, 1, 2]);
        assert_eq!(of(None, Some(PolicyError::MustChange)), [0x30, 3, 0x81, 1, 2]);
        let both = of(Some(Warning::Expires(1000)), Some(PolicyError::Locked));
        assert_eq!(PolicyResponse::decode(&both), Ok((Some(Warning::Expires(1000)), Some(1))));
        assert!(PolicyResponse::decode(b"\x30\x01\x00").is_err());
    }
}
