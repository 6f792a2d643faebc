//! Normal form of DNs: equal bytes if and only if the DNs match (RFC 4517 section 4.2.15).
//!
//! ```text
//! DN   = RDN ...                      as written, the leftmost first; the root is empty
//! RDN  = u8 number of parts, part ... parts in order of their bytes
//! part = u16 attribute type, u16 length, normalised value     (big-endian)
//! ```

use crate::{Invalid, Schema};
use model::TypeId;
use model::limits::{DN_BYTES_MAX, DN_RDNS_MAX, RDN_AVAS_MAX};

/// Appends the normal form of a DN.
pub(crate) fn normalise(schema: &Schema, dn: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    if dn.len() > DN_BYTES_MAX {
        return Err(Invalid::new("the DN is too long"));
    }
    if dn.iter().all(|b| *b == b' ') {
        return Ok(());
    }
    let mut rest = Some(dn);
    let mut count = 0;
    while let Some(text) = rest {
        let (first, next) = model::dn::split_first(text);
        normalise_rdn(schema, first, out)?;
        count += 1;
        if count > DN_RDNS_MAX {
            return Err(Invalid::new("the DN has too many RDNs"));
        }
        rest = next;
    }
    Ok(())
}

/// Appends the normal form of one RDN.
pub(crate) fn normalise_rdn(schema: &Schema, rdn: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    if let Some((kind, value, marks)) = split_plain(schema, rdn) {
        out.push(1);
        if marks == GRAPHIC
            && (1..usize::from(u16::MAX) - 2).contains(&value.len())
            && let Some(fold) = schema.folds(kind)
        {
            append_graphic(kind, value, fold, out);
            return Ok(());
        }
        return append_part(schema, kind, model::dn::trim_spaces(value), out);
    }
    let avas = model::dn::parse_rdn(rdn).map_err(|e| Invalid::at(e.reason, e.at))?;
    // A zero in place of the count ends the DN of a name with a UID (see `form::name_and_uid`).
    assert!(
        (1..=RDN_AVAS_MAX).contains(&avas.len()),
        "the parts of an RDN are counted in one byte, and never none"
    );
    out.push(avas.len() as u8);
    let start = out.len();
    let mut ends = Vec::with_capacity(avas.len());
    for ava in &avas {
        let kind = schema.find_type(ava.attribute_type).ok_or(UNKNOWN_TYPE)?;
        append_part(schema, kind, &ava.value, out)?;
        ends.push(out.len());
    }
    if ends.len() > 1 {
        sort_parts(out, start, &ends)?;
    }
    Ok(())
}

const UNKNOWN_TYPE: Invalid = Invalid::new("the DN has an unknown attribute type");

/// Splits `type=value` whose value needs no look at escapes, hexadecimal form or other parts, and tells
/// whether it has spaces.
#[inline]
fn split_plain<'r>(schema: &Schema, rdn: &'r [u8]) -> Option<(TypeId, &'r [u8], u8)> {
    let equals = rdn.iter().position(|b| *b == b'=')?;
    let kind = schema.find_type(&rdn[..equals])?;
    let value = &rdn[equals + 1..];
    let marks = value.iter().fold(GRAPHIC, |marks, b| marks | MARKS[*b as usize]);
    (marks & SPECIAL == 0 && value.first() != Some(&b'#')).then_some((kind, value, marks))
}

/// Only characters that mean themselves and that string preparation at most folds.
const GRAPHIC: u8 = 0;
/// There are spaces.
const SPACE: u8 = 1;
/// There are characters that are not ASCII, or that mean something in a DN.
const SPECIAL: u8 = 2;

const MARKS: [u8; 256] = {
    let mut marks = [SPECIAL; 256];
    marks[b' ' as usize] = SPACE;
    let mut byte = b'!';
    while byte < 0x7f {
        if !matches!(byte, b'\\' | b'"' | b'+' | b',' | b';' | b'<' | b'>') {
            marks[byte as usize] = GRAPHIC;
        }
        byte += 1;
    }
    marks
};

/// The part of a value without spaces under a string rule, as string preparation would make it.
#[inline]
fn append_graphic(kind: TypeId, value: &[u8], fold: bool, out: &mut Vec<u8>) {
    let [type_high, type_low] = kind.0.to_be_bytes();
    assert!(value.len() + 2 <= usize::from(u16::MAX), "the length of a part has two bytes");
    let [high, low] = (value.len() as u16 + 2).to_be_bytes();
    out.reserve(value.len() + 6);
    out.extend_from_slice(&[type_high, type_low, high, low, b' ']);
    if fold {
        out.extend(value.iter().map(u8::to_ascii_lowercase));
    } else {
        out.extend_from_slice(value);
    }
    out.push(b' ');
}

fn append_part(schema: &Schema, kind: TypeId, value: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    let head = out.len();
    let [high, low] = kind.0.to_be_bytes();
    out.extend_from_slice(&[high, low, 0, 0]);
    schema.append_equality(kind, value, out)?;
    assert!(out.len() >= head + 4, "a normal form is appended behind the head of its part");
    let length =
        u16::try_from(out.len() - head - 4).map_err(|_| Invalid::new("a value of the DN is too long"))?;
    out[head + 2..head + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// Puts the parts of an RDN in order; the same part twice is refused (RFC 4512 section 2.3: a set).
fn sort_parts(out: &mut Vec<u8>, start: usize, ends: &[usize]) -> Result<(), Invalid> {
    assert_eq!(ends.last(), Some(&out.len()), "the parts of an RDN end where its form ends");
    assert!(ends.is_sorted_by(|a, b| a < b), "a part has its head at least");
    let parts = out.split_off(start);
    let mut from = 0;
    let mut slices: Vec<&[u8]> = Vec::with_capacity(ends.len());
    for end in ends {
        slices.push(&parts[from..end - start]);
        from = end - start;
    }
    slices.sort_unstable();
    if slices.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Invalid::new("the RDN has the same part twice"));
    }
    slices.iter().for_each(|slice| out.extend_from_slice(slice));
    assert_eq!(out.len(), start + parts.len(), "the parts are only put into another order");
    Ok(())
}
