//! Groups of names (`groupOfNames`) over the entries of a template, as large as asked for: members are written
//! as they are made, so a group of a million members needs no more memory than one of ten.

use crate::add::put_operation;
use crate::entry::Entry;
use crate::generate::Output;
use crate::template::{Place, Template};
use model::limits::MESSAGE_BYTES_MAX;
use proto::ldif::write_attribute_folded;
use proto::list::{Octets, put_attribute};
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
    pub(crate) fn write_ldif(
        &self,
        group: u64,
        wrap: usize,
        out: &mut Output<'_, impl Write>,
    ) -> io::Result<()> {
        write_attribute_folded(&mut out.piece, b"dn", &self.dn(group), wrap);
        write_attribute_folded(&mut out.piece, b"objectClass", b"top", wrap);
        write_attribute_folded(&mut out.piece, b"objectClass", b"groupOfNames", wrap);
        write_attribute_folded(&mut out.piece, b"cn", format!("group.{group}").as_bytes(), wrap);
        self.each_member(group, |dn| {
            write_attribute_folded(&mut out.piece, b"member", dn, wrap);
            out.flush_if_full()
        })?;
        out.piece.push(b'\n');
        Ok(())
    }

    /// Writes the group as an AddRequest. What does not fit in one message follows in ModifyRequests that add members.
    pub(crate) fn write_ber(&self, group: u64, out: &mut Output<'_, impl Write>) -> io::Result<()> {
        let dn = self.dn(group);
        let (mut members, mut is_first) = (Vec::new(), true);
        let mut flush = |members: &mut Vec<u8>| {
            let values = Octets::parse(members).expect("they were encoded as such");
            let (id, piece) = (out.next_id(), &mut out.piece);
            match std::mem::replace(&mut is_first, false) {
                true => put_group(piece, id, &dn, group, values),
                false => put_more(piece, id, &dn, values),
            }
            members.clear();
            out.flush_if_full()
        };
        self.each_member(group, |member| {
            if members.len() + member.len() + 6 > MEMBER_BYTES_MAX {
                flush(&mut members)?;
            }
            ber::put_octets(&mut members, member);
            Ok(())
        })?;
        flush(&mut members)
    }
}

fn put_group(out: &mut Vec<u8>, id: u32, dn: &[u8], group: u64, members: Octets<'_>) {
    put_operation(out, id, tag::ADD, dn, |out| {
        put_attribute(out, b"objectClass", [&b"top"[..], b"groupOfNames"]);
        put_attribute(out, b"cn", [format!("group.{group}").as_bytes()]);
        put_attribute(out, b"member", members.iter());
    });
}

fn put_more(out: &mut Vec<u8>, id: u32, dn: &[u8], members: Octets<'_>) {
    put_operation(out, id, tag::MODIFY, dn, |out| {
        let change = ber::begin(out, tag::SEQUENCE);
        ber::put_enumerated(out, ModifyKind::Add as u32);
        put_attribute(out, b"member", members.iter());
        ber::end(out, change);
    });
}
