//! Entries as AddRequests (RFC 4511 section 4.7). All lengths are known before the first byte is written, so that nothing is moved: this is
//! what a stream of adds costs.

use crate::entry::{Entry, NameId};
use model::limits::MESSAGE_BYTES_MAX;
use proto::ber::{integer_len, put_header, put_integer, put_octets, tlv_len};
use proto::tag;

/// Groups the values of an entry by attribute and writes them as an AddRequest (RFC 4511 section 4.7).
#[derive(Clone, Debug, Default)]
pub(crate) struct AddWriter {
    /// Attributes in order of appearance, with the bytes of their value elements.
    attributes: Vec<(NameId, usize)>,
}

/// Why an entry cannot be a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageTooLong {
    /// What the message would have had.
    pub bytes: usize,
}

impl AddWriter {
    /// Appends the LDAPMessage that adds `entry`.
    ///
    /// # Errors
    /// When it would be longer than [`MESSAGE_BYTES_MAX`].
    pub(crate) fn write(
        &mut self,
        id: u32,
        entry: &Entry,
        names: &[Vec<u8>],
        out: &mut Vec<u8>,
    ) -> Result<(), MessageTooLong> {
        self.measure(entry);
        let name_of = |name: NameId| &names[name.0 as usize];
        let attribute_len = |&(name, set): &(NameId, usize)| tlv_len(name_of(name).len()) + tlv_len(set);
        let list: usize = self.attributes.iter().map(|a| tlv_len(attribute_len(a))).sum();
        let operation = tlv_len(entry.dn.len()) + tlv_len(list);
        let message = 2 + integer_len(i64::from(id)) + tlv_len(operation);
        if tlv_len(message) > MESSAGE_BYTES_MAX {
            return Err(MessageTooLong { bytes: tlv_len(message) });
        }
        let start = out.len();
        put_header(out, tag::SEQUENCE, message);
        put_integer(out, i64::from(id));
        put_header(out, tag::ADD, operation);
        put_octets(out, &entry.dn);
        put_header(out, tag::SEQUENCE, list);
        for attribute in &self.attributes {
            put_header(out, tag::SEQUENCE, attribute_len(attribute));
            put_octets(out, name_of(attribute.0));
            put_header(out, tag::SET, attribute.1);
            for (_, value) in entry.values().filter(|&(name, _)| name == attribute.0) {
                put_octets(out, value);
            }
        }
        assert!(
            out.len() - start == tlv_len(message),
            "the lengths that were written first are those of what followed"
        );
        Ok(())
    }

    fn measure(&mut self, entry: &Entry) {
        self.attributes.clear();
        for (name, value) in entry.values() {
            let len = tlv_len(value.len());
            match self.attributes.iter_mut().rev().find(|a| a.0 == name) {
                Some(attribute) => attribute.1 += len,
                None => self.attributes.push((name, len)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_add_request_to_the_byte() {
        let names = [b"cn".to_vec(), b"sn".to_vec()];
        let mut entry = Entry::default();
        entry.dn.extend_from_slice(b"cn=a");
        entry.push(NameId(0), |v| v.out.push(b'a'));
        entry.push(NameId(1), |v| v.out.push(b'b'));
        entry.push(NameId(0), |v| v.out.push(b'c'));
        let mut out = Vec::new();
        AddWriter::default().write(1, &entry, &names, &mut out).unwrap();
        let expected = b"\x30\x26\x02\x01\x01\x68\x21\x04\x04cn=a\x30\x19\
            \x30\x0c\x04\x02cn\x31\x06\x04\x01a\x04\x01c\x30\x09\x04\x02sn\x31\x03\x04\x01b";
        assert_eq!(out, expected);
    }
}
