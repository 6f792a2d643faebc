//! The few BER encodings a load tool writes, and nothing it does not: definite lengths, shortest form
//! (RFC 4511 section 5.1). Written for speed; the general codec is crate `proto`.

use crate::entry::{Entry, NameId};
use model::limits::MESSAGE_BYTES_MAX;

/// BER tags of LDAP messages.
pub mod tag {
    #![allow(missing_docs, reason = "names of RFC 4511")]
    pub const INTEGER: u8 = 0x02;
    pub const BOOLEAN: u8 = 0x01;
    pub const OCTET_STRING: u8 = 0x04;
    pub const ENUMERATED: u8 = 0x0a;
    pub const SEQUENCE: u8 = 0x30;
    pub const SET: u8 = 0x31;
    pub const BIND_REQUEST: u8 = 0x60;
    pub const BIND_RESPONSE: u8 = 0x61;
    pub const UNBIND_REQUEST: u8 = 0x42;
    pub const SEARCH_REQUEST: u8 = 0x63;
    pub const SEARCH_RESULT_ENTRY: u8 = 0x64;
    pub const SEARCH_RESULT_DONE: u8 = 0x65;
    pub const MODIFY_REQUEST: u8 = 0x66;
    pub const MODIFY_RESPONSE: u8 = 0x67;
    pub const ADD_REQUEST: u8 = 0x68;
    pub const EXTENDED_RESPONSE: u8 = 0x78;
    /// `[0]` constructed: the controls of a message.
    pub const CONTROLS: u8 = 0xa0;
    /// `[0]` primitive: the password of a simple bind.
    pub const SIMPLE: u8 = 0x80;
    /// `[3]` constructed: equalityMatch of a filter.
    pub const EQUALITY: u8 = 0xa3;
    /// `[7]` primitive: present of a filter.
    pub const PRESENT: u8 = 0x87;
}

/// Bytes of tag and length before `len` bytes of content.
pub fn header_len(len: usize) -> usize {
    match len {
        0..=0x7f => 2,
        0x80..=0xff => 3,
        0x100..=0xffff => 4,
        0x1_0000..=0xff_ffff => 5,
        _ => 6,
    }
}

/// Bytes of a whole element with `len` bytes of content.
pub fn element_len(len: usize) -> usize {
    header_len(len) + len
}

/// Appends tag and length. `len` is below 2^32.
pub fn header(tag: u8, len: usize, out: &mut Vec<u8>) {
    assert!(len <= u32::MAX as usize, "a length has four bytes at most");
    out.push(tag);
    let bytes = (len as u32).to_be_bytes();
    match header_len(len) - 2 {
        0 => out.push(len as u8),
        width => {
            out.push(0x80 | width as u8);
            out.extend_from_slice(&bytes[4 - width..]);
        }
    }
}

/// Appends an element.
pub fn element(tag: u8, content: &[u8], out: &mut Vec<u8>) {
    header(tag, content.len(), out);
    out.extend_from_slice(content);
}

/// Appends an element whose content `write` appends: for what is not hot, as the content is moved once.
pub fn nested(tag: u8, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    write(out);
    assert!(start <= out.len(), "the contents of an element are appended");
    let len = out.len() - start;
    let mut head = Vec::with_capacity(6);
    header(tag, len, &mut head);
    out.splice(start..start, head);
}

/// Appends an INTEGER that is not negative, in the fewest bytes.
pub fn integer(tag: u8, value: u32, out: &mut Vec<u8>) {
    let bytes = value.to_be_bytes();
    let len = integer_len(value);
    out.push(tag);
    out.push(len as u8);
    if len == 5 {
        out.push(0);
    }
    out.extend_from_slice(&bytes[4 - len.min(4)..]);
}

/// Content bytes of an INTEGER that is not negative.
pub fn integer_len(value: u32) -> usize {
    ((32 - value.leading_zeros()) as usize / 8) + 1
}

/// Groups the values of an entry by attribute and writes them as an AddRequest (RFC 4511 section 4.7).
#[derive(Clone, Debug, Default)]
pub struct AddWriter {
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
    pub fn write(
        &mut self,
        id: u32,
        entry: &Entry,
        names: &[Vec<u8>],
        out: &mut Vec<u8>,
    ) -> Result<(), MessageTooLong> {
        self.measure(entry);
        let name_of = |name: NameId| &names[name.0 as usize];
        let attribute_len =
            |&(name, set): &(NameId, usize)| element_len(name_of(name).len()) + element_len(set);
        let list: usize = self.attributes.iter().map(|a| element_len(attribute_len(a))).sum();
        let operation = element_len(entry.dn.len()) + element_len(list);
        let message = 2 + integer_len(id) + element_len(operation);
        if element_len(message) > MESSAGE_BYTES_MAX {
            return Err(MessageTooLong { bytes: element_len(message) });
        }
        header(tag::SEQUENCE, message, out);
        integer(tag::INTEGER, id, out);
        header(tag::ADD_REQUEST, operation, out);
        element(tag::OCTET_STRING, &entry.dn, out);
        header(tag::SEQUENCE, list, out);
        for attribute in &self.attributes {
            header(tag::SEQUENCE, attribute_len(attribute), out);
            element(tag::OCTET_STRING, name_of(attribute.0), out);
            header(tag::SET, attribute.1, out);
            for (_, value) in entry.values().filter(|&(name, _)| name == attribute.0) {
                element(tag::OCTET_STRING, value, out);
            }
        }
        Ok(())
    }

    fn measure(&mut self, entry: &Entry) {
        self.attributes.clear();
        for (name, value) in entry.values() {
            let len = element_len(value.len());
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
    fn lengths_and_integers_are_shortest() {
        for (len, head) in [
            (0x7f, &[4u8, 0x7f][..]),
            (0x80, &[4, 0x81, 0x80]),
            (0x100, &[4, 0x82, 1, 0]),
            (0x1_0000, &[4, 0x83, 1, 0, 0]),
            (0x100_0000, &[4, 0x84, 1, 0, 0, 0]),
        ] {
            let mut out = Vec::new();
            header(4, len, &mut out);
            assert_eq!((out.as_slice(), out.len()), (head, header_len(len)));
        }
        for (value, bytes) in [(0, &[2u8, 1, 0][..]), (127, &[2, 1, 127]), (128, &[2, 2, 0, 128])] {
            let mut out = Vec::new();
            integer(2, value, &mut out);
            assert_eq!(out, bytes);
        }
        let mut out = Vec::new();
        integer(2, 0x7fff_ffff, &mut out);
        assert_eq!(out, [2, 4, 0x7f, 0xff, 0xff, 0xff]);
    }

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
