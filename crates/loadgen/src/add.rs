//! Entries as AddRequests (RFC 4511 section 4.7).

use crate::entry::Entry;
use proto::list::put_attribute;
use proto::{ber, message, tag};

/// Appends an LDAPMessage with an operation on the entry `dn`; `write` appends what its list has.
pub(crate) fn put_operation(
    out: &mut Vec<u8>,
    id: u32,
    operation: u8,
    dn: &[u8],
    write: impl FnOnce(&mut Vec<u8>),
) {
    message::encode(out, id as i32, &[], |out| {
        let request = ber::begin(out, operation);
        ber::put_octets(out, dn);
        let list = ber::begin(out, tag::SEQUENCE);
        write(out);
        ber::end(out, list);
        ber::end(out, request);
    });
}

/// Appends the LDAPMessage that adds `entry`: its attributes in order of appearance.
pub(crate) fn put_add(out: &mut Vec<u8>, id: u32, entry: &Entry, names: &[Vec<u8>]) {
    put_operation(out, id, tag::ADD, &entry.dn, |out| {
        for (at, (name, _)) in entry.values().enumerate() {
            // All values of an attribute come with its first.
            if entry.values().take(at).all(|(earlier, _)| earlier != name) {
                let values = entry.values().skip(at).filter(|(other, _)| *other == name);
                put_attribute(out, &names[name.0 as usize], values.map(|(_, value)| value));
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::NameId;

    #[test]
    fn an_add_request_to_the_byte() {
        let names = [b"cn".to_vec(), b"sn".to_vec()];
        let mut entry = Entry::default();
        entry.dn.extend_from_slice(b"cn=a");
        entry.push(NameId(0), |v| v.out.push(b'a'));
        entry.push(NameId(1), |v| v.out.push(b'b'));
        entry.push(NameId(0), |v| v.out.push(b'c'));
        let mut out = Vec::new();
        put_add(&mut out, 1, &entry, &names);
        let expected = b"\x30\x26\x02\x01\x01\x68\x21\x04\x04cn=a\x30\x19\
            \x30\x0c\x04\x02cn\x31\x06\x04\x01a\x04\x01c\x30\x09\x04\x02sn\x31\x03\x04\x01b";
        assert_eq!(out, expected);
    }
}
