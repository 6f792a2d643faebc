//! Groups of names (`groupOfNames`) over the entries of a template, as large as asked for: members are written
//! as they are made, so a group of a million members needs no more memory than one of ten.

use crate::entry::Entry;
use crate::template::{Place, Template};
use model::limits::MESSAGE_BYTES_MAX;
use proto::ldif::write_attribute_folded;
use proto::list::put_attribute;
use proto::op::ModifyKind;
use proto::{ber, tag};
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
        write_attribute_folded(&mut piece, b"dn", &self.dn(group), wrap);
        write_attribute_folded(&mut piece, b"objectClass", b"top", wrap);
        write_attribute_folded(&mut piece, b"objectClass", b"groupOfNames", wrap);
        write_attribute_folded(&mut piece, b"cn", format!("group.{group}").as_bytes(), wrap);
        self.each_member(group, |dn| {
            write_attribute_folded(&mut piece, b"member", dn, wrap);
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
            ber::put_octets(&mut set, member);
            Ok(())
        })?;
        flush(&mut set)?;
        Ok(bytes)
    }
}

/// The attribute member, whose values are encoded already.
fn put_members(out: &mut Vec<u8>, members: &[u8]) {
    let attribute = ber::begin(out, tag::SEQUENCE);
    ber::put_octets(out, b"member");
    ber::put_tlv(out, tag::SET, members);
    ber::end(out, attribute);
}

/// A message around an operation on the entry `dn`; `write` appends what its list has.
fn message(id: u32, operation: u8, dn: &[u8], room: usize, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::with_capacity(room + dn.len() + 256);
    proto::message::encode(&mut out, id as i32, &[], |out| {
        let request = ber::begin(out, operation);
        ber::put_octets(out, dn);
        let list = ber::begin(out, tag::SEQUENCE);
        write(out);
        ber::end(out, list);
        ber::end(out, request);
    });
    out
}

fn add(id: u32, dn: &[u8], group: u64, members: &[u8]) -> Vec<u8> {
    let name = format!("group.{group}");
    message(id, tag::ADD, dn, members.len(), |out| {
        put_attribute(out, b"objectClass", [&b"top"[..], b"groupOfNames"]);
        put_attribute(out, b"cn", [name.as_bytes()]);
        put_members(out, members);
    })
}

fn add_members(id: u32, dn: &[u8], members: &[u8]) -> Vec<u8> {
    message(id, tag::MODIFY, dn, members.len(), |out| {
        let change = ber::begin(out, tag::SEQUENCE);
        ber::put_enumerated(out, ModifyKind::Add as u32);
        put_members(out, members);
        ber::end(out, change);
    })
}
