//! Lists inside a message, kept as the bytes they came in: checked once, decoded while they are walked.

use crate::ber::{self, Reader};
use crate::error::Error;
use crate::tag;
use model::limits::ATTRIBUTES_MAX;

/// OCTET STRINGs one after another: values of an attribute, selectors of a search, URIs of a referral.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Octets<'a>(&'a [u8]);

impl<'a> Octets<'a> {
    /// The empty list.
    pub const EMPTY: Octets<'static> = Octets(&[]);

    /// Checks the elements up to the end of the reader, at most `max`.
    #[inline]
    pub(crate) fn check(mut reader: Reader<'a>, max: usize, what: &'static str) -> Result<Octets<'a>, Error> {
        let raw = reader.rest();
        let mut count = 0;
        while !reader.is_empty() {
            reader.octets(what)?;
            count += 1;
            if count > max {
                return Err(Error::limit(reader.offset(), "the list has too many elements"));
            }
        }
        Ok(Octets(raw))
    }

    /// Takes bytes that [`octet_list`] made.
    pub fn parse(raw: &'a [u8]) -> Result<Octets<'a>, Error> {
        Octets::check(Reader::new(raw), usize::MAX, "expected an OCTET STRING")
    }

    /// The strings in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        let mut rest = self.0;
        std::iter::from_fn(move || ber::next_valid(&mut rest).map(|(_, contents)| contents))
    }

    /// Number of strings; walks the list.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// No strings?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The list as it came: BER elements without the tag and length around them. The same list always has the
    /// same bytes from the same client, so it can be a cache key.
    #[inline]
    pub fn raw(&self) -> &'a [u8] {
        self.0
    }
}

/// Encodes strings as the contents of a list, for [`Octets::parse`].
pub fn octet_list<'v>(values: impl IntoIterator<Item = &'v [u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    values.into_iter().for_each(|value| ber::put_octets(&mut out, value));
    out
}

/// An attribute as it travels: PartialAttribute (RFC 4511 section 4.1.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Attribute description as sent, not yet looked up.
    pub description: &'a [u8],
    /// Its values.
    pub values: Octets<'a>,
}

impl<'a> Attribute<'a> {
    /// Decodes one `SEQUENCE { type, vals SET OF }`.
    #[inline]
    pub(crate) fn decode(reader: &mut Reader<'a>) -> Result<Attribute<'a>, Error> {
        let mut body = reader.enter(tag::SEQUENCE, "expected an attribute")?;
        let description = body.octets("expected an attribute description")?;
        let values = body.enter(tag::SET, "expected a set of values")?;
        let values = Octets::check(values, usize::MAX, "expected an attribute value")?;
        body.finish(&[])?;
        Ok(Attribute { description, values })
    }

    /// Appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let values = ber::tlv_len(self.values.raw().len());
        let len = ber::tlv_len(self.description.len()) + values;
        ber::put_header(out, tag::SEQUENCE, len);
        let start = out.len();
        ber::put_octets(out, self.description);
        ber::put_tlv(out, tag::SET, self.values.raw());
        assert_eq!(out.len() - start, len, "the contents have the length that stands before them");
    }
}

/// Attributes one after another: AttributeList and PartialAttributeList.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes<'a>(&'a [u8]);

impl<'a> Attributes<'a> {
    /// Checks the elements up to the end of the reader. `values_needed`: an attribute of an entry has at least
    /// one value, one of a search result may have none.
    pub(crate) fn check(mut reader: Reader<'a>, values_needed: bool) -> Result<Attributes<'a>, Error> {
        let raw = reader.rest();
        let mut count = 0;
        while !reader.is_empty() {
            let at = reader.offset();
            match only_value(reader.rest()) {
                Some(len) => reader.skip(len),
                None => {
                    let attribute = Attribute::decode(&mut reader)?;
                    if values_needed && attribute.values.is_empty() {
                        return Err(Error::value(at, "an attribute without values"));
                    }
                }
            }
            count += 1;
            if count > ATTRIBUTES_MAX {
                return Err(Error::limit(at, "too many attributes"));
            }
        }
        Ok(Attributes(raw))
    }

    /// Takes bytes that [`attribute_list`] made.
    pub fn parse(raw: &'a [u8]) -> Result<Attributes<'a>, Error> {
        Attributes::check(Reader::new(raw), false)
    }

    /// The attributes in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Attribute<'a>> + Clone + use<'a> {
        let mut rest = self.0;
        std::iter::from_fn(move || attribute_of_valid(&mut ber::next_valid(&mut rest)?.1))
    }

    /// No attributes?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The list as it came, without the tag and length around it.
    pub fn raw(&self) -> &'a [u8] {
        self.0
    }
}

/// The first attribute of a list, with every length around its values in the short form: description, values, and what follows. Of most it has.
#[inline(always)]
pub(crate) fn short_attribute(list: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (tag::SEQUENCE, attribute, behind) = ber::short(list)? else { return None };
    let (tag::OCTET_STRING, description, rest) = ber::short(attribute)? else { return None };
    let (tag::SET, values, []) = ber::short(rest)? else { return None };
    Some((description, values, behind))
}

/// The length of the first attribute of a list, if it has one value, and every length its short form. It needs no more of the decoder.
#[inline(always)]
fn only_value(list: &[u8]) -> Option<usize> {
    let (_, values, behind) = short_attribute(list)?;
    let (tag::OCTET_STRING, _, []) = ber::short(values)? else { return None };
    Some(list.len() - behind.len())
}

/// The attribute whose description and values come next in checked bytes.
#[inline]
pub(crate) fn attribute_of_valid<'a>(body: &mut &'a [u8]) -> Option<Attribute<'a>> {
    let (_, description) = ber::next_valid(body)?;
    let (_, values) = ber::next_valid(body)?;
    Some(Attribute { description, values: Octets(values) })
}

/// Encodes attributes as the contents of a list, for [`Attributes::parse`].
pub fn attribute_list<'v, V>(attributes: impl IntoIterator<Item = (&'v [u8], V)>) -> Vec<u8>
where
    V: IntoIterator<Item = &'v [u8]>,
{
    let mut out = Vec::new();
    for (description, values) in attributes {
        put_attribute(&mut out, description, values);
    }
    out
}

/// Appends one attribute whose values' lengths are not known beforehand.
pub fn put_attribute<'v>(out: &mut Vec<u8>, description: &[u8], values: impl IntoIterator<Item = &'v [u8]>) {
    let sequence = ber::begin(out, tag::SEQUENCE);
    ber::put_octets(out, description);
    let set = ber::begin(out, tag::SET);
    values.into_iter().for_each(|value| ber::put_octets(out, value));
    ber::end(out, set);
    ber::end(out, sequence);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back() {
        let raw = octet_list([&b"a"[..], b"", b"ccc"]);
        let list = Octets::parse(&raw).unwrap();
        assert_eq!(list.iter().collect::<Vec<_>>(), [&b"a"[..], b"", b"ccc"]);
        assert_eq!((list.len(), Octets::EMPTY.len()), (3, 0));
        let raw = attribute_list([(&b"cn"[..], vec![&b"x"[..], b"y"]), (b"sn", vec![])]);
        let list = Attributes::parse(&raw).unwrap();
        assert_eq!(list.iter().count(), 2);
        let first = list.iter().next().unwrap();
        assert_eq!((first.description, first.values.len()), (&b"cn"[..], 2));
        let mut again = Vec::new();
        list.iter().for_each(|a| a.encode(&mut again));
        assert_eq!(again, raw);
    }

    #[test]
    fn what_is_no_list() {
        for bad in [&[4][..], &[4, 1], &[5, 0], &[4, 0, 4, 5, 0]] {
            assert!(Octets::parse(bad).is_err());
            assert!(Attributes::parse(bad).is_err());
        }
        let raw = octet_list([&b"a"[..], b"b"]);
        assert_eq!(Octets::check(Reader::new(&raw), 1, "").unwrap_err().kind, crate::Kind::Limit);
    }
}
