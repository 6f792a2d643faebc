//! What the session tracking control of a request says, for its line. It is what a client says of others, so nothing of it is verified; requests
//! that are refused for its form have a line, too.

use crate::object::Object;
use crate::record::TEXT_BYTES_MAX;
use proto::control::session_tracking::{ADDRESS_BYTES_MAX, SessionTracking};
use proto::outline::any_element;

/// Octets of the name of a host, and of an identifier, that are logged.
const NAME_BYTES_MAX: usize = 256;
/// Octets of a format that are logged.
const FORMAT_BYTES_MAX: usize = 64;

/// Its parts do not need to be cut once more.
const _: () = assert!(ADDRESS_BYTES_MAX + 2 * NAME_BYTES_MAX + FORMAT_BYTES_MAX + 32 <= TEXT_BYTES_MAX);

/// The parts of a value, whether they are right or not. `None` if there are none.
fn parts_of(value: &[u8]) -> Option<SessionTracking<'_>> {
    let ((0x30, parts), _) = any_element(value)? else { return None };
    let ((_, address), rest) = any_element(parts)?;
    let ((_, host), rest) = any_element(rest)?;
    let ((_, format), rest) = any_element(rest)?;
    let ((_, identifier), _) = any_element(rest)?;
    Some(SessionTracking { address, host, format, identifier })
}

/// The value as it is kept: its parts have so many octets as a line shows. Empty if it has none.
pub(crate) fn kept(value: &[u8]) -> Vec<u8> {
    let cut = |part: &[u8], bytes_max: usize| part.len().min(bytes_max);
    let Some(SessionTracking { address, host, format, identifier }) = parts_of(value) else {
        return Vec::new();
    };
    let kept = SessionTracking {
        address: &address[..cut(address, ADDRESS_BYTES_MAX)],
        host: &host[..cut(host, NAME_BYTES_MAX)],
        format: &format[..cut(format, FORMAT_BYTES_MAX)],
        identifier: &identifier[..cut(identifier, NAME_BYTES_MAX)],
    };
    kept.encode()
}

/// Puts what a value that was [`kept`] says into a line.
pub(crate) fn put(object: &mut Object<'_>, value: &[u8]) {
    let Some(SessionTracking { address, host, format, identifier }) = parts_of(value) else { return };
    object.text_if("session", identifier).text_if("session_format", format);
    object.text_if("session_ip", address).text_if("session_host", host);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(value: &[u8]) -> serde_json::Value {
        let mut out = Vec::new();
        let mut object = Object::begin(&mut out);
        put(&mut object, &kept(value));
        object.end();
        serde_json::from_slice(&out).expect("it is JSON")
    }

    #[test]
    fn its_parts_are_found() {
        let value = b"\x30\x15\x04\x039::\x04\x01h\x04\x031.2\x04\x06ada-42";
        let all = serde_json::json!({
            "session": "ada-42", "session_format": "1.2", "session_ip": "9::", "session_host": "h",
        });
        assert_eq!(line(value), all);
        assert_eq!(line(&value[..value.len() - 1]), serde_json::json!({}));
    }

    /// G4: whatever a client says, it stays in its place, and is not long.
    #[test]
    fn what_it_says_is_escaped_and_cut() {
        let long = [b'x'; 5000];
        let session = SessionTracking { address: &long, host: &long, format: &long, identifier: &long };
        let value = session.encode();
        assert!(kept(&value).len() <= TEXT_BYTES_MAX);
        let read = line(&value);
        assert_eq!(read["session"].as_str().map(str::len), Some(NAME_BYTES_MAX));
        assert_eq!(read["session_ip"].as_str().map(str::len), Some(ADDRESS_BYTES_MAX));
        let forged =
            SessionTracking { identifier: b"\"}\n{\"code\":0\x1b[2J", ..SessionTracking::default() }.encode();
        let mut out = Vec::new();
        put(&mut Object::begin(&mut out), &kept(&forged));
        assert!(out.iter().all(|octet| !octet.is_ascii_control()), "{}", String::from_utf8_lossy(&out));
    }

    proptest! {
        #[test]
        fn any_octets_are_read(value in proptest::collection::vec(any::<u8>(), 0..60)) {
            line(&value);
        }
    }
}
