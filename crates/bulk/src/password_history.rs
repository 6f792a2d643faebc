//! Former passwords as other servers keep them, in the form in which pwdHistory has them here: `time#syntax#length#value`
//! (behera-ldap-password-policy-10).

use std::borrow::Cow;

/// The attribute that has them.
pub(crate) const ATTRIBUTE: &[u8] = b"pwdHistory";

/// The syntax of stored passwords: octet string.
const OCTET_STRING: &[u8] = b"1.3.6.1.4.1.1466.115.121.1.40";

/// A value in the form of this server, if it has that of OpenDJ, `time#syntax#value`, or that of 389 Directory Server, `time{SCHEME}hash`. Any other
/// value stays as it is.
pub(crate) fn translated(value: &[u8]) -> Cow<'_, [u8]> {
    of_opendj(value).or_else(|| of_389(value)).map_or(Cow::Borrowed(value), Cow::Owned)
}

/// Does [`translated`] change the value?
pub(crate) fn is_foreign(value: &[u8]) -> bool {
    matches!(translated(value), Cow::Owned(_))
}

fn of_opendj(value: &[u8]) -> Option<Vec<u8>> {
    let mut parts = value.splitn(3, |byte| *byte == b'#');
    let (time, syntax, password) = (parts.next()?, parts.next()?, parts.next()?);
    // A stored password begins with its scheme, so what begins with its length has the form of this server.
    (is_time(time) && password.first() == Some(&b'{')).then(|| joined(time, syntax, password))
}

/// The form of 389, of a value that has it: entries of its password policies have a switch with the name of the attribute.
pub(crate) fn of_389(value: &[u8]) -> Option<Vec<u8>> {
    let (time, password) = value.split_at(value.iter().position(|byte| *byte == b'{')?);
    is_time(time).then(|| joined(time, OCTET_STRING, password))
}

fn joined(time: &[u8], syntax: &[u8], password: &[u8]) -> Vec<u8> {
    let length = password.len().to_string();
    [time, syntax, length.as_bytes(), password].join(&b'#')
}

/// A generalized time in UTC, with seconds and perhaps a fraction of them, as the other servers write it.
fn is_time(text: &[u8]) -> bool {
    let Some((seconds, rest)) = text.split_at_checked(14) else { return false };
    let is_zone = match rest {
        [b'.', digits @ .., b'Z'] => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
        rest => rest == b"Z",
    };
    is_zone && seconds.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_becomes_that_of_this_server() {
        for (of, is) in [
            ("20230105060708.412Z#1.3.6#{SSHA}AA==", "20230105060708.412Z#1.3.6#10#{SSHA}AA=="),
            ("20230105060708Z#1.3.6#{CLEAR}a#b", "20230105060708Z#1.3.6#10#{CLEAR}a#b"),
            ("20230105060708Z{SSHA}AA==", "20230105060708Z#1.3.6.1.4.1.1466.115.121.1.40#10#{SSHA}AA=="),
        ] {
            assert_eq!(String::from_utf8_lossy(&translated(of.as_bytes())), is);
            assert!(is_foreign(of.as_bytes()) && !is_foreign(is.as_bytes()));
        }
    }

    #[test]
    fn other_values_stay() {
        for value in [
            "",
            "#",
            "on",
            "20230105060708Z",
            "yesterday{SSHA}AA==",
            "a#b#{SSHA}AA==",
            "20230105060708Z#1.3.6#2#a#",
            "20230105060708.Z{X}a",
            "2023010506070{X}",
        ] {
            assert!(!is_foreign(value.as_bytes()), "{value}");
        }
    }
}
