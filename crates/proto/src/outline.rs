//! What a request is about, known from its first bytes: enough to ask for memory, or to see that it asks the same as
//! the one before, without decoding it.

use crate::{ber, tag};

/// The outline of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline<'a> {
    /// messageID, from 1 on.
    pub id: i32,
    /// Tag of the protocolOp.
    pub op_tag: u8,
    /// DN of the entry that the operation is about; empty if it is about none.
    pub dn: &'a [u8],
    /// What follows the DN within the operation, undecoded.
    pub rest: &'a [u8],
    /// What follows the operation, undecoded: controls, or what is not known here.
    pub after: &'a [u8],
}

impl<'a> Outline<'a> {
    /// Looks at a message that [`crate::frame`] delimited. `None` if its beginning is not a regular one: decoding it
    /// will tell what is wrong. That it has an outline does not mean that it can be decoded.
    #[inline]
    pub fn of(message: &'a [u8]) -> Option<Outline<'a>> {
        let (_, message) = element(message, tag::SEQUENCE)?.0;
        let ((_, id), message) = element(message, tag::INTEGER)?;
        let id = match *id {
            [a] if a < 0x80 => i32::from(a),
            [a, b] if a < 0x80 => i32::from_be_bytes([0, 0, a, b]),
            [a, b, c] if a < 0x80 => i32::from_be_bytes([0, a, b, c]),
            [a, b, c, d] if a < 0x80 => i32::from_be_bytes([a, b, c, d]),
            _ => long_id(id)?,
        };
        let ((op_tag, op), rest) = any_element(message)?;
        let (dn, op) = match op_tag {
            tag::SEARCH | tag::MODIFY | tag::ADD | tag::MODIFY_DN | tag::COMPARE => {
                let ((_, dn), op) = element(op, tag::OCTET_STRING)?;
                (dn, op)
            }
            tag::DELETE => (op, &b""[..]),
            _ => (&b""[..], op),
        };
        (id != 0).then_some(Outline { id, op_tag, dn, rest: op, after: rest })
    }

    /// Appends the message that this is the outline of, without what follows its operation.
    #[inline]
    pub fn put_without_controls(&self, message: &[u8], out: &mut Vec<u8>) {
        let ((_, body), _) = element(message, tag::SEQUENCE).expect("it has an outline");
        assert!(self.after.len() <= body.len(), "the outline is that of this message");
        match self.after {
            [] => out.extend_from_slice(message),
            after => ber::put_tlv(out, tag::SEQUENCE, &body[..body.len() - after.len()]),
        }
    }
}

/// Appends a message without what follows its operation. `None`, and nothing, if it has no outline.
#[inline]
pub fn put_without_controls(message: &[u8], out: &mut Vec<u8>) -> Option<()> {
    Outline::of(message)?.put_without_controls(message, out);
    Some(())
}

/// messageID, tag and contents of the protocolOp of a whole message, no more looked at than that.
pub fn operation(message: &[u8]) -> Option<(i32, u8, &[u8])> {
    let ((_, message), _) = element(message, tag::SEQUENCE)?;
    let ((_, id), message) = element(message, tag::INTEGER)?;
    let ((op_tag, contents), _) = any_element(message)?;
    Some((long_id(id)?, op_tag, contents))
}

/// A message id that is written longer than it must be: decoding lets it through.
#[cold]
fn long_id(id: &[u8]) -> Option<i32> {
    ber::integer(id, 0).ok().and_then(|id| i32::try_from(id).ok()).filter(|id| *id >= 0)
}

/// An element, tag and contents, and what follows it.
pub type Element<'a> = ((u8, &'a [u8]), &'a [u8]);

/// The first element, which must have this tag.
#[inline(always)]
pub(crate) fn element(bytes: &[u8], tag: u8) -> Option<Element<'_>> {
    if bytes.first() != Some(&tag) { None } else { any_element(bytes) }
}

/// The first element, tag and contents, and what follows it. `None` if it is not whole, or not of a length that LDAP allows.
#[inline(always)]
pub fn any_element(bytes: &[u8]) -> Option<Element<'_>> {
    let [tag, first, rest @ ..] = bytes else { return None };
    let (len, rest) = match *first {
        len @ 0..0x80 => (usize::from(len), rest),
        _ => long(*first, rest)?,
    };
    let (contents, rest) = rest.split_at_checked(len)?;
    Some(((*tag, contents), rest))
}

fn long(first: u8, rest: &[u8]) -> Option<(usize, &[u8])> {
    let count = usize::from(first & 0x7f);
    if count == 0 || count > 4 {
        return None;
    }
    let (len, rest) = rest.split_at_checked(count)?;
    Some((len.iter().fold(0, |n, &b| n << 8 | usize::from(b)), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Message, Request};
    use proptest::prelude::*;

    fn dn_of<'a>(request: &Request<'a>) -> &'a [u8] {
        match request {
            Request::Search(search) => search.base,
            Request::Modify(modify) => modify.dn,
            Request::Add(add) => add.dn,
            Request::Delete(dn) => dn,
            Request::ModifyDn(modify_dn) => modify_dn.dn,
            Request::Compare(compare) => compare.dn,
            _ => b"",
        }
    }

    #[test]
    fn a_delete_is_all_dn() {
        for len in [3, 127, 128, 300, 70_000] {
            let (dn, mut out) = (vec![b'a'; len], Vec::new());
            Request::Delete(&dn).encode(&mut out, 300, &[]);
            let outline = Outline::of(&out).expect("it is a regular message");
            assert_eq!((outline.id, outline.op_tag, outline.dn), (300, tag::DELETE, &dn[..]));
            assert!(outline.rest.is_empty() && outline.after.is_empty());
        }
    }

    /// Whatever can be decoded has an outline: an update without one would not be known for one.
    #[test]
    fn long_message_ids() {
        for id in
            [&[2, 5, 0, 0, 0, 0, 7][..], &[2, 8, 0, 0, 0, 0, 0, 0, 1, 7], &[2, 0x81, 1, 7], &[2, 2, 0, 7]]
        {
            let message = [&[0x30, id.len() as u8 + 5], id, &[tag::DELETE, 3, b'a', b'=', b'b']].concat();
            let decoded = Message::decode(&message).expect("it is lenient");
            let outline = Outline::of(&message).expect("so it has an outline");
            assert_eq!((outline.id, outline.dn), (decoded.id, &b"a=b"[..]));
        }
        for id in [&[2, 5, 0, 0x80, 0, 0, 0][..], &[2, 5, 0xff, 0, 0, 0, 7], &[2, 0]] {
            let message = [&[0x30, id.len() as u8 + 5], id, &[tag::DELETE, 3, b'a', b'=', b'b']].concat();
            assert!(Message::decode(&message).is_err() && Outline::of(&message).is_none());
        }
    }

    #[test]
    fn controls_are_left_out() {
        use crate::control::manage_dsa_it;
        for len in [3, 120, 300] {
            let (dn, mut with, mut without, mut out) = (vec![b'a'; len], vec![], vec![], vec![]);
            Request::Delete(&dn).encode(&mut with, 300, &[manage_dsa_it::control(true)]);
            Request::Delete(&dn).encode(&mut without, 300, &[]);
            assert!(put_without_controls(&with, &mut out).is_some() && out == without);
            out.clear();
            assert!(put_without_controls(&without, &mut out).is_some() && out == without);
        }
        assert!(put_without_controls(b"\x31\0", &mut Vec::new()).is_none());
    }

    proptest! {
        #[test]
        fn the_outline_of_what_can_be_decoded_agrees(
            id in 1..i32::MAX,
            dn in "[a-z]{0,200}",
            flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        ) {
            let mut out = Vec::new();
            let compare = crate::op::Compare {
                dn: dn.as_bytes(),
                assertion: model::filter::Assertion { attribute: b"cn", value: b"x" },
            };
            Request::Compare(compare).encode(&mut out, id, &[]);
            for (at, byte) in flips {
                let at = at.index(out.len());
                out[at] = byte;
            }
            if let (Ok(message), Some(outline)) = (Message::decode(&out), Outline::of(&out)) {
                prop_assert_eq!(outline.id, message.id);
                prop_assert_eq!(outline.op_tag, message.request.tag());
                prop_assert_eq!(outline.dn, dn_of(&message.request));
                prop_assert!(!outline.after.is_empty() || message.controls.is_empty());
            }
        }
    }
}
