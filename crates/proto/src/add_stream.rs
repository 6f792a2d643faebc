//! A stream of adds as a bulk load takes it: LDAPMessages with AddRequests, or AddRequests alone, one after the other and
//! mixed as they like. The tag tells which it is.

use crate::ber::Reader;
use crate::message::{Frame, Message, Request, frame_tagged};
use crate::op::Add;
use crate::tag;

/// Why an add with a critical control is none for a load: it would go without what was to be a condition.
pub const CRITICAL_CONTROL: &str = "a critical control, which a load cannot heed";

/// Can a stream of adds begin with this byte? No LDIF does.
pub fn begins(byte: u8) -> bool {
    matches!(byte, tag::SEQUENCE | tag::ADD)
}

/// Looks at the tag and length at the front of `bytes`.
///
/// # Errors
/// What is wrong; then nobody knows where the next add begins.
#[inline]
pub fn frame(bytes: &[u8]) -> Result<Frame, &'static str> {
    match bytes.first() {
        None => Ok(Frame::Incomplete { needed: 2 }),
        Some(first) if begins(*first) => frame_tagged(bytes, *first).map_err(|error| error.reason),
        Some(_) => Err("expected an LDAPMessage or an AddRequest"),
    }
}

/// Decodes one add that [`frame`] delimited. The message id means nothing here; controls that are not critical neither.
///
/// # Errors
/// What is wrong with it; or it is well-formed, but no add.
pub fn decode(bytes: &[u8]) -> Result<Add<'_>, &'static str> {
    if bytes.first() == Some(&tag::ADD) {
        let add = Reader::inside(bytes, tag::ADD, "expected an AddRequest").and_then(Add::decode);
        return add.map_err(|error| error.reason);
    }
    let message = Message::decode(bytes).map_err(|error| error.reason)?;
    if message.controls.iter().any(|control| control.critical) {
        return Err(CRITICAL_CONTROL);
    }
    match message.request {
        Request::Add(add) => Ok(add),
        Request::Modify(_) => Err("a ModifyRequest, which is no add; only entries can be loaded"),
        _ => Err("a request that is no add; only entries can be loaded"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::list::{Attributes, attribute_list};

    fn attributes() -> Vec<u8> {
        attribute_list([(&b"cn"[..], [&b"a"[..], b"b"]), (b"sn", [b"", b"x"])])
    }

    fn both(dn: &[u8]) -> [Vec<u8>; 2] {
        let raw = attributes();
        let add = Add { dn, attributes: Attributes::parse(&raw).expect("just made") };
        let (mut message, mut bare) = (Vec::new(), Vec::new());
        Request::Add(add).encode(&mut message, 7, &[]);
        add.encode(&mut bare);
        [message, bare]
    }

    #[test]
    fn both_forms_are_the_same_add() {
        let raw = attributes();
        for form in both(b"cn=a") {
            let mut stream = form.clone();
            stream.extend_from_slice(b"\x30rest");
            assert_eq!(frame(&stream), Ok(Frame::Complete { len: form.len() }));
            let add = decode(&form).expect("it is one");
            assert_eq!((add.dn, add.attributes.raw()), (&b"cn=a"[..], &raw[..]));
        }
    }

    #[test]
    fn parts_are_not_whole() {
        for form in both(&b"cn=a,".repeat(100)) {
            for len in 0..form.len() {
                match frame(&form[..len]) {
                    Ok(Frame::Incomplete { needed }) => assert!(needed > len && needed <= form.len()),
                    other => panic!("{other:?} of {len} bytes"),
                }
                assert!(decode(&form[..len]).is_err());
            }
        }
    }

    #[test]
    fn what_is_no_add_is_refused() {
        let mut delete = Vec::new();
        Request::Delete(b"cn=a").encode(&mut delete, 1, &[]);
        assert!(decode(&delete).is_err_and(|why| why.contains("no add")));
        let raw = attributes();
        let add = Add { dn: b"cn=a", attributes: Attributes::parse(&raw).expect("just made") };
        for critical in [false, true] {
            let mut message = Vec::new();
            Request::Add(add).encode(&mut message, 1, &[Control { oid: b"1.2.3", critical, value: None }]);
            assert_eq!(decode(&message).is_err(), critical);
        }
        assert!(frame(b"dn: cn=a").is_err() && frame(b"\x30\x80").is_err() && frame(b"\x68\x85").is_err());
    }
}
