//! Modify (RFC 4511 section 4.6, increment RFC 4525); the response is an LDAPResult.

use crate::ber::{self, Reader};
use crate::error::Error;
use crate::list::{self, Attribute};
use crate::tag;
use model::limits::ATTRIBUTES_MAX;

/// ModifyRequest
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modify<'a> {
    /// DN of the entry.
    pub dn: &'a [u8],
    /// What to change, in order; may be empty.
    pub changes: Changes<'a>,
}

/// What a change does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ModifyKind {
    /// Adds values.
    Add = 0,
    /// Deletes values, or all of them if none is listed.
    Delete = 1,
    /// Replaces all values; none listed deletes the attribute.
    Replace = 2,
    /// Adds one number to each value (RFC 4525).
    Increment = 3,
}

impl ModifyKind {
    /// The kind with this number on the wire.
    pub fn from_number(number: i32) -> Option<ModifyKind> {
        use ModifyKind::*;
        [Add, Delete, Replace, Increment].get(usize::try_from(number).ok()?).copied()
    }
}

/// One change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// What to do.
    pub kind: ModifyKind,
    /// With which attribute and values.
    pub modification: Attribute<'a>,
}

impl<'a> Modify<'a> {
    pub(crate) fn decode(mut body: Reader<'a>) -> Result<Modify<'a>, Error> {
        let dn = body.text("expected the DN of an entry")?;
        let changes = Changes::check(body.enter(tag::SEQUENCE, "expected a list of changes")?)?;
        body.finish(&[])?;
        Ok(Modify { dn, changes })
    }

    /// Appends the request.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let changes = self.changes.0;
        let len = ber::tlv_len(self.dn.len()) + ber::tlv_len(changes.len());
        ber::put_header(out, tag::MODIFY, len);
        let start = out.len();
        ber::put_octets(out, self.dn);
        ber::put_tlv(out, tag::SEQUENCE, changes);
        assert_eq!(out.len() - start, len, "the contents have the length that stands before them");
    }
}

/// The changes of a request, kept as they came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes<'a>(&'a [u8]);

impl<'a> Changes<'a> {
    fn check(mut reader: Reader<'a>) -> Result<Changes<'a>, Error> {
        let raw = reader.rest();
        let mut count = 0;
        while !reader.is_empty() {
            let mut body = reader.enter(tag::SEQUENCE, "expected a change")?;
            body.number(tag::ENUMERATED, ModifyKind::Increment as i32, "unknown kind of change")?;
            Attribute::decode(&mut body)?;
            body.finish(&[])?;
            count += 1;
            if count > ATTRIBUTES_MAX {
                return Err(Error::limit(reader.offset(), "too many changes"));
            }
        }
        Ok(Changes(raw))
    }

    /// Takes bytes that [`change_list`] made.
    pub fn parse(raw: &'a [u8]) -> Result<Changes<'a>, Error> {
        Changes::check(Reader::new(raw))
    }

    /// The changes in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Change<'a>> + Clone + use<'a> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let (_, mut change) = ber::next_valid(&mut rest)?;
            let (_, kind) = ber::next_valid(&mut change)?;
            // Longer forms of a small number end in that number.
            let kind = ModifyKind::from_number(*kind.last()? as i32)?;
            let (_, mut body) = ber::next_valid(&mut change)?;
            Some(Change { kind, modification: list::attribute_of_valid(&mut body)? })
        })
    }
}

/// A change that gives an attribute one value in place of those it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replacement<'a> {
    /// Attribute description as sent.
    pub description: &'a [u8],
    /// The value.
    pub value: &'a [u8],
}

/// Decodes what follows the DN in a request that does nothing but give attributes one value each. `None` as soon as
/// it does anything else or is not regular: [`crate::Message::decode`] tells what it is then.
#[derive(Clone, Debug)]
pub struct Replacements<'a>(Reader<'a>);

impl<'a> Replacements<'a> {
    /// `rest` is what follows the DN. `None` if that is not a list and nothing else.
    #[inline]
    pub fn of(rest: &'a [u8]) -> Option<Replacements<'a>> {
        let mut body = Reader::new(rest);
        let list = body.enter(tag::SEQUENCE, "").ok()?;
        body.is_empty().then_some(Replacements(list))
    }

    /// The next one; `None` inside when that is something else.
    #[inline(always)]
    fn decode(&mut self) -> Option<Replacement<'a>> {
        let list = &mut self.0;
        let mut change = list.enter(tag::SEQUENCE, "").ok()?;
        if *change.expect(tag::ENUMERATED, "").ok()? != [ModifyKind::Replace as u8] {
            return None;
        }
        let mut attribute = change.enter(tag::SEQUENCE, "").ok()?;
        let description = attribute.octets("").ok()?;
        let mut values = attribute.enter(tag::SET, "").ok()?;
        let value = values.octets("").ok()?;
        let is_all = change.is_empty() && attribute.is_empty() && values.is_empty();
        is_all.then_some(Replacement { description, value })
    }
}

impl<'a> Iterator for Replacements<'a> {
    type Item = Option<Replacement<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Option<Replacement<'a>>> {
        (!self.0.is_empty()).then(|| self.decode())
    }
}

/// As [`Replacements`], of a request that gives one attribute a value, with every length in its short form: most modifies of
/// most clients. `None` for all others.
#[inline(always)]
pub fn only_replacement(rest: &[u8]) -> Option<Replacement<'_>> {
    let &[
        tag::SEQUENCE,
        list,
        tag::SEQUENCE,
        change,
        tag::ENUMERATED,
        1,
        REPLACE,
        tag::SEQUENCE,
        attribute,
        tag::OCTET_STRING,
        description_len,
        ref behind @ ..,
    ] = rest
    else {
        return None;
    };
    let (description, behind) = behind.split_at_checked(usize::from(description_len))?;
    let &[tag::SET, values, tag::OCTET_STRING, value_len, ref value @ ..] = behind else { return None };
    // One behind the other, they all end where the request ends; the longest one is short.
    let ends = list <= 0x7f
        && rest.len() == usize::from(list) + 2
        && change.wrapping_add(2) == list
        && attribute.wrapping_add(5) == change
        && usize::from(values) + 2 == behind.len()
        && value_len.wrapping_add(2) == values
        && usize::from(attribute) == 2 + description.len() + behind.len();
    ends.then_some(Replacement { description, value })
}

const REPLACE: u8 = ModifyKind::Replace as u8;

/// Encodes changes as the contents of a list, for [`Changes::parse`].
pub fn change_list<'v, V>(changes: impl IntoIterator<Item = (ModifyKind, &'v [u8], V)>) -> Vec<u8>
where
    V: IntoIterator<Item = &'v [u8]>,
{
    let mut out = Vec::new();
    for (kind, description, values) in changes {
        let mark = ber::begin(&mut out, tag::SEQUENCE);
        ber::put_enumerated(&mut out, kind as u32);
        list::put_attribute(&mut out, description, values);
        ber::end(&mut out, mark);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    type Raw<'v> = (ModifyKind, &'static [u8], Vec<&'v [u8]>);

    /// What [`Replacements`] says of a request, or `None`.
    fn replacements(modify: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
        let found = Replacements::of(modify)?.collect::<Option<Vec<_>>>()?;
        Some(found.into_iter().map(|r| (r.description, r.value)).collect())
    }

    #[test]
    fn replacements_differ_from_other_changes() {
        use ModifyKind::*;
        let encoded = |changes: &[Raw<'_>]| {
            let mut out = Vec::new();
            ber::put_tlv(&mut out, tag::SEQUENCE, &change_list(changes.to_vec()));
            out
        };
        let replace = (Replace, &b"cn"[..], vec![&b"a"[..]]);
        let one = encoded(std::slice::from_ref(&replace));
        assert_eq!(replacements(&one).unwrap(), [(&b"cn"[..], &b"a"[..])]);
        let long = (Replace, &b"l"[..], vec![&[b'x'; 300][..]]);
        assert_eq!(replacements(&encoded(&[replace.clone(), long])).unwrap().len(), 2);
        for other in [
            (Add, &b"cn"[..], vec![&b"a"[..]]),
            (Delete, b"cn", vec![b"a"]),
            (Increment, b"cn", vec![b"1"]),
            (Replace, b"cn", vec![]),
            (Replace, b"cn", vec![b"a", b"b"]),
        ] {
            assert_eq!(replacements(&encoded(&[replace.clone(), other])), None);
        }
        // Cut off anywhere, or with something behind, it is none; and every byte of the framing counts.
        for len in 0..one.len() {
            assert_eq!(replacements(&one[..len]), None, "{len} bytes");
        }
        assert_eq!(replacements(&[&one[..], &[0x80, 0]].concat()), None);
        let contents = [1, 6, 7].map(|back| one.len() - back);
        for at in (0..one.len()).filter(|at| !contents.contains(at)) {
            let mut other = one.clone();
            other[at] ^= 1;
            assert_eq!(replacements(&other), None, "byte {at}");
        }
    }

    /// [`only_replacement`] finds what [`Replacements`] finds, or nothing: whatever a byte of the framing is.
    #[test]
    fn the_only_replacement_differs_from_others() {
        use ModifyKind::*;
        let encoded = |changes: &[Raw<'_>]| {
            let mut out = Vec::new();
            ber::put_tlv(&mut out, tag::SEQUENCE, &change_list(changes.to_vec()));
            out
        };
        let found = |rest: &[u8]| {
            let pair = |r: Replacement<'_>| (r.description.to_vec(), r.value.to_vec());
            only_replacement(rest).map(pair)
        };
        for (len, is_short) in [(0, true), (1, true), (99, true), (112, true), (113, false), (300, false)] {
            let value = vec![b'x'; len];
            let one = encoded(&[(Replace, b"cn", vec![&value])]);
            assert_eq!(found(&one), is_short.then(|| (b"cn".to_vec(), value.clone())), "{len}");
            for cut in 0..one.len() {
                assert_eq!(found(&one[..cut]), None, "{len}, {cut} bytes");
            }
            for (at, byte) in (0..one.len().min(24)).flat_map(|at| (0..=255).map(move |byte| (at, byte))) {
                let mut other = one.clone();
                other[at] = byte;
                let by_walking = replacements(&other).map(|list| match list[..] {
                    [(description, value)] => (description.to_vec(), value.to_vec()),
                    _ => panic!("one byte makes no second change"),
                });
                let found = found(&other);
                assert!(found.is_none() || found == by_walking, "{len}, byte {at}: {byte}");
            }
        }
        let two = [(Replace, &b"cn"[..], vec![&b"a"[..]]), (Replace, b"sn", vec![b"b"])];
        for other in [
            &two[..],
            &[(Replace, b"cn", vec![])],
            &[(Replace, b"cn", vec![b"a", b"b"])],
            &[(Add, b"cn", vec![b"a"])],
        ] {
            assert_eq!(found(&encoded(other)), None, "{other:?}");
        }
    }

    #[test]
    fn changes_come_back() {
        use ModifyKind::*;
        let changes = [
            (Add, &b"cn"[..], vec![&b"a"[..], b"b"]),
            (Delete, b"sn", vec![]),
            (Replace, b"l", vec![&b"x"[..]]),
            (Increment, b"n", vec![&b"1"[..]]),
        ];
        let raw = change_list(changes.clone());
        let list = Changes::parse(&raw).unwrap();
        assert_eq!(list.iter().count(), 4);
        for (got, (kind, description, values)) in list.iter().zip(changes) {
            assert_eq!((got.kind, got.modification.description), (kind, description));
            assert_eq!(got.modification.values.iter().collect::<Vec<_>>(), values);
        }
        let unknown = [0x30, 9, 10, 1, 4, 0x30, 4, 4, 0, 0x31, 0];
        assert_eq!(Changes::parse(&unknown).unwrap_err().kind, crate::Kind::Value);
        let long_number = [0x30, 10, 10, 2, 0, 2, 0x30, 4, 4, 0, 0x31, 0];
        assert_eq!(Changes::parse(&long_number).unwrap().iter().next().unwrap().kind, Replace);
    }
}
