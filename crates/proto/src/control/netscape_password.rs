//! What an answer to a bind says of a password by the controls of the Netscape server: older than the control of password
//! policies, not asked for, and read by clients that know no other.

use super::Control;

/// OID of the control that says that a password has expired.
pub const EXPIRED: &[u8] = b"2.16.840.1.113730.3.4.4";
/// OID of the control that says how long a password is valid.
pub const EXPIRING: &[u8] = b"2.16.840.1.113730.3.4.5";

/// The password has expired, or must be changed. The value is a text, always the same.
pub fn expired() -> Control<'static> {
    Control { oid: EXPIRED, critical: false, value: Some(b"0") }
}

/// The password expires in so many seconds, a decimal number as text.
pub fn expiring(seconds: &[u8]) -> Control<'_> {
    Control { oid: EXPIRING, critical: false, value: Some(seconds) }
}
