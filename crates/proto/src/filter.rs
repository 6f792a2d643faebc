//! Filters in BER (RFC 4511 section 4.5.1.7), to and from [`model::Filter`].

use crate::ber::{self, Reader};
use crate::error::Error;
use crate::tag::{self, context, context_constructed};
use model::filter::{Assertion, Extensible, Filter, Substrings};
use model::limits::{FILTER_BYTES_MAX, FILTER_DEPTH_MAX, FILTER_ITEMS_MAX};

pub(crate) const AND: u8 = context_constructed(0);
pub(crate) const OR: u8 = context_constructed(1);
pub(crate) const NOT: u8 = context_constructed(2);
/// Tag of an equality match.
pub const EQUALITY: u8 = context_constructed(3);
pub(crate) const SUBSTRINGS: u8 = context_constructed(4);
pub(crate) const GREATER_OR_EQUAL: u8 = context_constructed(5);
pub(crate) const LESS_OR_EQUAL: u8 = context_constructed(6);
pub(crate) const PRESENT: u8 = context(7);
pub(crate) const APPROX: u8 = context_constructed(8);
pub(crate) const EXTENSIBLE: u8 = context_constructed(9);

/// What a filter choice decodes to that this server does not know: a match by a rule that nobody knows, which
/// is Undefined, as RFC 4511 wants it where "the type of filtering requested is not implemented".
const UNKNOWN: Filter<'static> =
    Filter::Extensible(Extensible { rule: Some(b""), attribute: None, value: b"", dn_attributes: false });

/// Decodes a filter that stands alone, such as one that [`encode`] made.
pub fn decode(ber: &[u8]) -> Result<Filter<'_>, Error> {
    let mut reader = Reader::new(ber);
    let filter = read(&mut reader)?;
    reader.end()?;
    Ok(filter)
}

/// Decodes the next element as a filter.
#[inline]
pub(crate) fn read<'a>(reader: &mut Reader<'a>) -> Result<Filter<'a>, Error> {
    let mut items = 0;
    if reader.rest().len() > FILTER_BYTES_MAX {
        check_len(reader)?;
    }
    read_at(reader, 1, &mut items)
}

#[cold]
fn check_len(reader: &Reader<'_>) -> Result<(), Error> {
    let mut ahead = *reader;
    let (_, contents) = ahead.element()?;
    match contents.len() > FILTER_BYTES_MAX {
        true => Err(Error::limit(reader.offset(), "the filter is too long")),
        false => Ok(()),
    }
}

#[inline]
fn read_at<'a>(reader: &mut Reader<'a>, depth: usize, items: &mut usize) -> Result<Filter<'a>, Error> {
    let at = reader.offset();
    let (tag, mut body) = reader.enter_any()?;
    match tag {
        PRESENT => Ok(Filter::Present(body.rest())),
        EQUALITY => assertion(body).map(Filter::Equality),
        GREATER_OR_EQUAL => assertion(body).map(Filter::GreaterOrEqual),
        LESS_OR_EQUAL => assertion(body).map(Filter::LessOrEqual),
        APPROX => assertion(body).map(Filter::Approx),
        SUBSTRINGS => substrings(body, items).map(Filter::Substrings),
        EXTENSIBLE => extensible(body).map(Filter::Extensible),
        AND | OR | NOT if depth >= FILTER_DEPTH_MAX => {
            Err(Error::limit(at, "the filter is nested too deeply"))
        }
        AND => set(body, depth, items).map(Filter::And),
        OR => set(body, depth, items).map(Filter::Or),
        NOT => {
            count(at, items)?;
            let inner = read_at(&mut body, depth + 1, items)?;
            body.end()?;
            Ok(Filter::Not(Box::new(inner)))
        }
        _ if tag & 0xc0 == 0x80 && (10..31).contains(&(tag & 0x1f)) => Ok(UNKNOWN),
        _ => Err(Error::structure(at, "expected a filter")),
    }
}

#[inline]
fn count(at: usize, items: &mut usize) -> Result<(), Error> {
    *items += 1;
    if *items > FILTER_ITEMS_MAX { Err(Error::limit(at, "the filter has too many items")) } else { Ok(()) }
}

fn set<'a>(mut body: Reader<'a>, depth: usize, items: &mut usize) -> Result<Vec<Filter<'a>>, Error> {
    let mut filters = Vec::new();
    while !body.is_empty() {
        count(body.offset(), items)?;
        filters.push(read_at(&mut body, depth + 1, items)?);
    }
    Ok(filters)
}

/// AttributeValueAssertion, in a filter or a compare.
#[inline(always)]
pub(crate) fn assertion(mut body: Reader<'_>) -> Result<Assertion<'_>, Error> {
    let attribute = body.octets("expected an attribute description")?;
    let value = body.octets("expected an assertion value")?;
    body.finish(&[])?;
    Ok(Assertion { attribute, value })
}

#[inline(never)]
fn substrings<'a>(mut body: Reader<'a>, items: &mut usize) -> Result<Substrings<'a>, Error> {
    let attribute = body.octets("expected an attribute description")?;
    let mut parts = body.enter(tag::SEQUENCE, "expected substrings")?;
    body.finish(&[])?;
    let mut out = Substrings { attribute, ..Substrings::default() };
    if parts.is_empty() {
        return Err(Error::value(parts.offset(), "a substring filter without substrings"));
    }
    let mut first = true;
    while !parts.is_empty() {
        let at = parts.offset();
        let (tag, part) = parts.element()?;
        if part.is_empty() {
            return Err(Error::value(at, "an empty substring"));
        }
        match tag {
            0x80 if first => out.initial = Some(part),
            0x81 if out.last.is_none() => {
                count(at, items)?;
                out.any.push(part);
            }
            0x82 if out.last.is_none() => out.last = Some(part),
            0x80..=0x82 => return Err(Error::value(at, "substrings out of order")),
            _ => return Err(Error::structure(at, "expected a substring")),
        }
        first = false;
    }
    Ok(out)
}

#[inline(never)]
fn extensible(mut body: Reader<'_>) -> Result<Extensible<'_>, Error> {
    let at = body.offset();
    let rule = body.optional(context(1))?;
    let attribute = body.optional(context(2))?;
    let value = body.expect(context(3), "expected a match value")?;
    let dn_attributes = match body.optional(context(4))? {
        None => false,
        Some([byte]) => *byte != 0,
        Some(_) => return Err(Error::structure(at, "a BOOLEAN has one byte")),
    };
    body.finish(&[1, 2, 3, 4])?;
    if rule.is_none() && attribute.is_none() {
        return Err(Error::value(at, "an extensible match needs a matching rule or an attribute"));
    }
    Ok(Extensible { rule, attribute, value, dn_attributes })
}

/// Appends a filter.
pub fn encode(filter: &Filter<'_>, out: &mut Vec<u8>) {
    match filter {
        Filter::And(set) => encode_set(AND, set, out),
        Filter::Or(set) => encode_set(OR, set, out),
        Filter::Not(inner) => encode_set(NOT, std::slice::from_ref(&**inner), out),
        Filter::Equality(a) => encode_assertion(EQUALITY, a, out),
        Filter::GreaterOrEqual(a) => encode_assertion(GREATER_OR_EQUAL, a, out),
        Filter::LessOrEqual(a) => encode_assertion(LESS_OR_EQUAL, a, out),
        Filter::Approx(a) => encode_assertion(APPROX, a, out),
        Filter::Present(attribute) => ber::put_tlv(out, PRESENT, attribute),
        Filter::Substrings(s) => encode_substrings(s, out),
        Filter::Extensible(e) => encode_extensible(e, out),
    }
}

fn encode_set(tag: u8, set: &[Filter<'_>], out: &mut Vec<u8>) {
    let mark = ber::begin(out, tag);
    set.iter().for_each(|filter| encode(filter, out));
    ber::end(out, mark);
}

/// Appends an AttributeValueAssertion under a tag.
pub(crate) fn encode_assertion(tag: u8, assertion: &Assertion<'_>, out: &mut Vec<u8>) {
    let len = ber::tlv_len(assertion.attribute.len()) + ber::tlv_len(assertion.value.len());
    ber::put_header(out, tag, len);
    let start = out.len();
    ber::put_octets(out, assertion.attribute);
    ber::put_octets(out, assertion.value);
    assert_eq!(out.len() - start, len, "the contents have the length that stands before them");
}

fn encode_substrings(substrings: &Substrings<'_>, out: &mut Vec<u8>) {
    let mark = ber::begin(out, SUBSTRINGS);
    ber::put_octets(out, substrings.attribute);
    let parts = ber::begin(out, tag::SEQUENCE);
    substrings.initial.iter().for_each(|part| ber::put_tlv(out, 0x80, part));
    substrings.any.iter().for_each(|part| ber::put_tlv(out, 0x81, part));
    substrings.last.iter().for_each(|part| ber::put_tlv(out, 0x82, part));
    ber::end(out, parts);
    ber::end(out, mark);
}

fn encode_extensible(extensible: &Extensible<'_>, out: &mut Vec<u8>) {
    let mark = ber::begin(out, EXTENSIBLE);
    extensible.rule.iter().for_each(|rule| ber::put_tlv(out, context(1), rule));
    extensible.attribute.iter().for_each(|attribute| ber::put_tlv(out, context(2), attribute));
    ber::put_tlv(out, context(3), extensible.value);
    if extensible.dn_attributes {
        ber::put_boolean(out, context(4), true);
    }
    ber::end(out, mark);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn nested(depth: usize) -> Vec<u8> {
        let mut ber = vec![PRESENT, 1, b'a'];
        for _ in 1..depth {
            let mut outer = Vec::new();
            ber::put_tlv(&mut outer, NOT, &ber);
            ber = outer;
        }
        ber
    }

    #[test]
    fn depth_and_items_are_bounded() {
        assert!(decode(&nested(FILTER_DEPTH_MAX)).is_ok());
        assert_eq!(decode(&nested(FILTER_DEPTH_MAX + 1)).unwrap_err().kind, Kind::Limit);
        assert_eq!(decode(&nested(5_000)).unwrap_err().kind, Kind::Limit);
        let set = |n| {
            let mut out = Vec::new();
            ber::put_tlv(&mut out, AND, &[PRESENT, 1, b'a'].repeat(n));
            out
        };
        assert!(decode(&set(FILTER_ITEMS_MAX)).is_ok());
        assert_eq!(decode(&set(FILTER_ITEMS_MAX + 1)).unwrap_err().kind, Kind::Limit);
        let long = |len| {
            let mut out = Vec::new();
            ber::put_tlv(&mut out, PRESENT, &vec![b'a'; len]);
            out
        };
        assert!(decode(&long(FILTER_BYTES_MAX)).is_ok());
        assert_eq!(decode(&long(FILTER_BYTES_MAX + 1)).unwrap_err().kind, Kind::Limit);
    }

    #[test]
    fn unknown_choices_and_absolutes() {
        assert_eq!(decode(&[0xac, 2, 4, 0]), Ok(UNKNOWN));
        assert_eq!(decode(&[AND, 0]), Ok(Filter::And(vec![])));
        assert_eq!(decode(&[OR, 0]), Ok(Filter::Or(vec![])));
    }

    #[test]
    fn what_is_no_filter() {
        let wrong = [
            (&[][..], Kind::Structure),
            (&[4, 0], Kind::Structure),
            (&[PRESENT | 0x20, 0], Kind::Structure),
            (&[NOT, 0], Kind::Structure),
            (&[NOT, 4, PRESENT, 0, PRESENT, 0], Kind::Structure),
            (&[EQUALITY, 2, 4, 0], Kind::Structure),
            (&[EQUALITY, 6, 4, 0, 4, 0, 4, 0], Kind::Structure),
            (&[SUBSTRINGS, 4, 4, 0, 0x30, 0], Kind::Value),
            (&[SUBSTRINGS, 6, 4, 0, 0x30, 2, 0x80, 0], Kind::Value),
            (&[SUBSTRINGS, 10, 4, 0, 0x30, 6, 0x82, 1, 9, 0x81, 1, 9], Kind::Value),
            (&[SUBSTRINGS, 10, 4, 0, 0x30, 6, 0x81, 1, 9, 0x80, 1, 9], Kind::Value),
            (&[SUBSTRINGS, 7, 4, 0, 0x30, 3, 0x83, 1, 9], Kind::Structure),
            (&[EXTENSIBLE, 2, 0x83, 0], Kind::Value),
            (&[EXTENSIBLE, 2, 0x81, 0], Kind::Structure),
        ];
        for (ber, kind) in wrong {
            assert_eq!(decode(ber).map_err(|e| e.kind), Err(kind), "{ber:x?}");
        }
    }
}
