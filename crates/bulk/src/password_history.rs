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
    let parts: Vec<&[u8]> = value.splitn(4, |byte| *byte == b'#').collect();
    match parts[..] {
        [time, syntax, password] => joined(time, syntax, password),
        [whole] => match whole.iter().position(|byte| *byte == b'{') {
            Some(at) if is_time(&whole[..at]) => joined(&whole[..at], OCTET_STRING, &whole[at..]),
            _ => Cow::Borrowed(value),
        },
        _ => Cow::Borrowed(value),
    }
}

/// Does [`translated`] change the value?
pub(crate) fn is_foreign(value: &[u8]) -> bool {
    matches!(translated(value), Cow::Owned(_))
}

fn joined(time: &[u8], syntax: &[u8], password: &[u8]) -> Cow<'static, [u8]> {
    let length = password.len().to_string();
    Cow::Owned([time, syntax, length.as_bytes(), password].join(&b'#'))
}

/// A generalized time without a fraction, as 389 writes it.
fn is_time(text: &[u8]) -> bool {
    matches!(text, [digits @ .., b'Z'] if digits.len() == 14 && digits.iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_becomes_that_of_this_server() {
        for (of, is) in [
            ("20230105060708.412Z#1.3.6#{SSHA}AA==", "20230105060708.412Z#1.3.6#10#{SSHA}AA=="),
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
            "20230105060708Z",
            "yesterday{SSHA}AA==",
            "20230105060708Z#1.3.6#2#a#",
            "2023010506070{X}",
        ] {
            assert!(!is_foreign(value.as_bytes()), "{value}");
        }
    }
}
