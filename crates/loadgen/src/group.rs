//! Groups of names (`groupOfNames`) over the entries of a template, as large as asked for: members are written
//! as they are made, so a group of a million members needs no more memory than one of ten.

use crate::ber::{self, tag};
use crate::entry::Entry;
use crate::ldif;
use crate::template::{Place, Template};
use model::limits::MESSAGE_BYTES_MAX;
use std::io::{self, Write};

/// The groups to make, and whose members they have.
pub(crate) struct Groups<'a> {
    pub(crate) template: &'a Template,
    /// Where `ou=Groups` stands.
    pub(crate) suffix: &'a [u8],
    /// Template, parent DN and number of the entries that become members.
    pub(crate) members_of: (usize, &'a [u8], u64),
    /// Members of each group. Group g has the members g * members and following, around the end.
    pub(crate) members: u64,
}

/// Bytes of one message that a group may fill, so that all of it fits in [`MESSAGE_BYTES_MAX`].
const MEMBER_BYTES_MAX: usize = MESSAGE_BYTES_MAX - (64 << 10);
/// Output is handed on in pieces of this size.
const PIECE_BYTES: usize = 256 << 10;

impl Groups<'_> {
    pub(crate) fn parent_dn(&self) -> Vec<u8> {
        [&b"ou=Groups,"[..], self.suffix].concat()
    }

    fn dn(&self, group: u64) -> Vec<u8> {
        format!("cn=group.{group},").into_bytes().into_iter().chain(self.parent_dn()).collect()
    }

    /// Calls `each` with the DN of every member of the group.
    fn each_member(&self, group: u64, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let (template, parent, count) = self.members_of;
        let mut entry = Entry::default();
        for index in 0..self.members {
            let number = group.wrapping_mul(self.members).wrapping_add(index) % count;
            self.template.entry_dn(Place { template, number, serial: number, parent }, &mut entry);
            each(&entry.dn)?;
        }
        Ok(())
    }

    /// Writes the group as an LDIF record.
    pub(crate) fn write_ldif(&self, group: u64, wrap: usize, out: &mut impl Write) -> io::Result<u64> {
        let mut piece = Vec::with_capacity(PIECE_BYTES + 4096);
        let mut bytes = 0;
        ldif::attribute(b"dn", &self.dn(group), wrap, &mut piece);
        ldif::attribute(b"objectClass", b"top", wrap, &mut piece);
        ldif::attribute(b"objectClass", b"groupOfNames", wrap, &mut piece);
        ldif::attribute(b"cn", format!("group.{group}").as_bytes(), wrap, &mut piece);
        self.each_member(group, |dn| {
            ldif::attribute(b"member", dn, wrap, &mut piece);
            if piece.len() >= PIECE_BYTES {
                bytes += piece.len() as u64;
                out.write_all(&piece)?;
                piece.clear();
            }
            Ok(())
        })?;
        piece.push(b'\n');
        out.write_all(&piece)?;
        Ok(bytes + piece.len() as u64)
    }

    /// Writes the group as an AddRequest. What does not fit in one message follows in ModifyRequests that add members.
    pub(crate) fn write_ber(&self, group: u64, next_id: &mut u32, out: &mut impl Write) -> io::Result<u64> {
        let dn = self.dn(group);
        let (mut set, mut bytes, mut first) = (Vec::new(), 0, true);
        let mut flush = |set: &mut Vec<u8>| {
            let message =
                if first { add(*next_id, &dn, group, set) } else { add_members(*next_id, &dn, set) };
            first = false;
            *next_id = crate::generate::following_id(*next_id);
            set.clear();
            bytes += message.len() as u64;
            out.write_all(&message)
        };
        self.each_member(group, |member| {
            if set.len() + member.len() + 6 > MEMBER_BYTES_MAX {
                flush(&mut set)?;
            }
            ber::element(tag::OCTET_STRING, member, &mut set);
            Ok(())
        })?;
        flush(&mut set)?;
        Ok(bytes)
    }
}

/// Puts heads in front of `content`: tags and, for each, what stands between it and the next one.
fn wrapped(heads: &[(u8, &[u8])], content: &[u8]) -> Vec<u8> {
    let mut lens = vec![0; heads.len()];
    let mut len = content.len();
    for (at, (_, before)) in heads.iter().enumerate().rev() {
        len += before.len();
        lens[at] = len;
        len = ber::element_len(len);
    }
    let mut out = Vec::with_capacity(len);
    for (&(tag, before), len) in heads.iter().zip(lens) {
        ber::header(tag, len, &mut out);
        out.extend_from_slice(before);
    }
    out.extend_from_slice(content);
    out
}

fn message_head(id: u32) -> Vec<u8> {
    let mut head = Vec::new();
    ber::integer(tag::INTEGER, id, &mut head);
    head
}

fn string(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    ber::element(tag::OCTET_STRING, text, &mut out);
    out
}

fn add(id: u32, dn: &[u8], group: u64, members: &[u8]) -> Vec<u8> {
    let mut others = Vec::new();
    let name = format!("group.{group}");
    for (attribute, values) in [("objectClass", &["top", "groupOfNames"][..]), ("cn", &[name.as_str()])] {
        ber::nested(tag::SEQUENCE, &mut others, |out| {
            ber::element(tag::OCTET_STRING, attribute.as_bytes(), out);
            ber::nested(tag::SET, out, |out| {
                values.iter().for_each(|value| ber::element(tag::OCTET_STRING, value.as_bytes(), out));
            });
        });
    }
    let heads: &[(u8, &[u8])] = &[
        (tag::SEQUENCE, &message_head(id)),
        (tag::ADD_REQUEST, &string(dn)),
        (tag::SEQUENCE, &others),
        (tag::SEQUENCE, &string(b"member")),
        (tag::SET, b""),
    ];
    wrapped(heads, members)
}

fn add_members(id: u32, dn: &[u8], members: &[u8]) -> Vec<u8> {
    let heads: &[(u8, &[u8])] = &[
        (tag::SEQUENCE, &message_head(id)),
        (tag::MODIFY_REQUEST, &string(dn)),
        (tag::SEQUENCE, b""),
        (tag::SEQUENCE, &[tag::ENUMERATED, 1, 0]),
        (tag::SEQUENCE, &string(b"member")),
        (tag::SET, b""),
    ];
    wrapped(heads, members)
}
