//! Normal forms of values that are not strings: integers, times, OIDs, lists, UUIDs, bit strings.

use crate::invalid::utf8;
use crate::prep::{self, Edges, Part};
use crate::time::GeneralizedTime;
use crate::{Invalid, Schema, definition, dn};

/// Digits of an integer. More do not occur, and the length must fit its two bytes.
pub(crate) const INTEGER_DIGITS_MAX: usize = 16 << 10;

/// Bytes of the form of a change sequence number: 14 digits, a dot, six digits, `Z`, and three numbers of six, three and six
/// digits behind a `#` each.
const CSN_FORM_BYTES: usize = 14 + 1 + 6 + 1 + 7 + 4 + 7;

type Result = std::result::Result<(), Invalid>;

/// Sign and digits of an integer, leading zeros gone; zero has no sign.
fn sign_and_digits(value: &[u8]) -> std::result::Result<(bool, &[u8]), Invalid> {
    let (negative, mut digits) = match value {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, value),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Invalid::new("not an integer"));
    }
    while let [b'0', rest @ ..] = digits {
        if rest.is_empty() {
            return Ok((false, digits));
        }
        digits = rest;
    }
    if digits.len() > INTEGER_DIGITS_MAX {
        return Err(Invalid::new("an integer with too many digits"));
    }
    Ok((negative, digits))
}

/// Two bytes that order by sign and number of digits, then the digits; of negative numbers all is turned
/// round. So memory order is numeric order, without a limit of 64 bits.
pub(crate) fn integer(value: &[u8], out: &mut Vec<u8>) -> Result {
    let (negative, digits) = sign_and_digits(value.trim_ascii())?;
    assert!((1..=INTEGER_DIGITS_MAX).contains(&digits.len()), "the number of digits fits in 15 bits");
    let count = digits.len() as u16;
    if negative {
        out.extend_from_slice(&(0x7fff - count).to_be_bytes());
        out.extend(digits.iter().map(|d| b'0' + b'9' - d));
    } else {
        out.extend_from_slice(&(0x8000 + count).to_be_bytes());
        out.extend_from_slice(digits);
    }
    Ok(())
}

/// 64 bits, two's complement, for the bit rules.
pub(crate) fn bits(value: &[u8], out: &mut Vec<u8>) -> Result {
    let text = std::str::from_utf8(value.trim_ascii()).ok();
    let number = text.and_then(|t| t.parse::<i64>().map(|n| n as u64).or_else(|_| t.parse::<u64>()).ok());
    out.extend_from_slice(&number.ok_or(Invalid::new("not an integer of 64 bits"))?.to_be_bytes());
    Ok(())
}

/// The numeric OID of a class, attribute type or matching rule; unknown names in lower case.
pub(crate) fn oid(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result {
    let value = value.trim_ascii();
    if let Some(oid) = numeric_oid(schema, value) {
        out.extend_from_slice(oid);
    } else if value.is_empty() || !value.iter().all(|b| b.is_ascii_graphic()) {
        return Err(Invalid::new("not an object identifier"));
    } else {
        out.extend(value.iter().map(u8::to_ascii_lowercase));
    }
    Ok(())
}

/// The numeric OID that an assertion means. A name that the schema does not know makes the match Undefined (RFC 4517
/// section 4.2.26).
pub(crate) fn oid_assertion(schema: &Schema, assertion: &[u8], out: &mut Vec<u8>) -> Result {
    const UNKNOWN: Invalid =
        Invalid::new("not the name of a class, attribute type or matching rule of this schema");
    out.extend_from_slice(numeric_oid(schema, assertion.trim_ascii()).ok_or(UNKNOWN)?);
    Ok(())
}

fn numeric_oid<'a>(schema: &'a Schema, text: &'a [u8]) -> Option<&'a [u8]> {
    if text.first().is_some_and(u8::is_ascii_digit) && model::oid::is_numeric(text) {
        return Some(text);
    }
    let class = || schema.find_class(text).map(|class| schema.class(class).oid.as_bytes());
    let kind = || schema.find_type(text).map(|kind| schema.attribute_type(kind).oid.as_bytes());
    let rule = || crate::Rule::find(text).map(|rule| rule.oid().as_bytes());
    class().or_else(kind).or_else(rule)
}

pub(crate) fn boolean(value: &[u8], out: &mut Vec<u8>) -> Result {
    match value {
        b"TRUE" | b"FALSE" => out.extend_from_slice(value),
        _ if value.eq_ignore_ascii_case(b"true") => out.extend_from_slice(b"TRUE"),
        _ if value.eq_ignore_ascii_case(b"false") => out.extend_from_slice(b"FALSE"),
        _ => return Err(Invalid::new("not TRUE or FALSE")),
    }
    Ok(())
}

/// Lines of a postal address (RFC 4517 section 3.3.28): each prepared, a NUL between two of them, which no
/// prepared string holds, so that a part never matches over the end of a line.
pub(crate) fn list(value: &[u8], out: &mut Vec<u8>) -> Result {
    for (at, line) in value.split(|b| *b == b'$').enumerate() {
        if at > 0 {
            out.push(0);
        }
        prep::prepare(&unescape_line(line), true, Edges::VALUE, out)?;
    }
    Ok(())
}

/// A part of a substring assertion on a list.
pub(crate) fn list_part(bytes: &[u8], part: Part, out: &mut Vec<u8>) -> Result {
    prep::prepare(&unescape_line(bytes), true, Edges::of(part), out)
}

/// `\24` is a dollar sign, `\5C` a backslash (RFC 4517 section 3.3.28).
fn unescape_line(line: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    if !line.contains(&b'\\') {
        return line.into();
    }
    let mut out = Vec::with_capacity(line.len());
    let mut rest = line;
    while let [first, after @ ..] = rest {
        rest = after;
        match (first, after) {
            (b'\\', [b'2', b'4', more @ ..]) => {
                out.push(b'$');
                rest = more;
            }
            (b'\\', [b'5', b'C' | b'c', more @ ..]) => {
                out.push(b'\\');
                rest = more;
            }
            _ => out.push(*first),
        }
    }
    out.into()
}

/// `'0101'B`.
pub(crate) fn bit_string(value: &[u8], out: &mut Vec<u8>) -> Result {
    match value {
        [b'\'', bits @ .., b'\'', b'B'] if bits.iter().all(|b| matches!(b, b'0' | b'1')) => {
            out.extend_from_slice(bits);
            Ok(())
        }
        _ => Err(Invalid::new("not a bit string such as '0101'B")),
    }
}

/// Digits of the time in UTC, then of the fraction: memory order is order in time.
pub(crate) fn time(value: &[u8], out: &mut Vec<u8>) -> Result {
    GeneralizedTime::parse(value)?.write_key(out);
    Ok(())
}

/// A DN, and after a `#` an optional bit string (RFC 4517 section 3.3.21). A DN's form never has a zero where
/// the count of an RDN's parts is, so one byte of zero separates the two.
pub(crate) fn name_and_uid(schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result {
    let (name, uid) = split_uid(value);
    dn::normalise(schema, name, out)?;
    if let Some(uid) = uid {
        out.push(0);
        bit_string(uid, out)?;
    }
    Ok(())
}

/// Splits `dn#'01'B`; a `#` without a bit string after it belongs to the DN.
pub(crate) fn split_uid(value: &[u8]) -> (&[u8], Option<&[u8]>) {
    match value.iter().rposition(|b| *b == b'#') {
        Some(at) if bit_string(&value[at + 1..], &mut Vec::new()).is_ok() => {
            (&value[..at], Some(&value[at + 1..]))
        }
        _ => (value, None),
    }
}

/// 16 bytes of `597ae2f6-16a6-1027-98f4-d28b5365dc14` (RFC 4530 section 2.1).
pub(crate) fn uuid(value: &[u8], out: &mut Vec<u8>) -> Result {
    let invalid = Invalid::new("not a UUID such as 597ae2f6-16a6-1027-98f4-d28b5365dc14");
    if value.len() != 36 {
        return Err(invalid);
    }
    let mut number = 0u128;
    for (at, &byte) in value.iter().enumerate() {
        match ((byte as char).to_digit(16), matches!(at, 8 | 13 | 18 | 23)) {
            (None, true) if byte == b'-' => {}
            (Some(digit), false) => number = number << 4 | u128::from(digit),
            _ => return Err(invalid),
        }
    }
    out.extend_from_slice(&number.to_be_bytes());
    Ok(())
}

/// `20260102030405.123456Z#000000#001#000000` in lower case; without a fraction, as old servers wrote it, six
/// zeros are put in.
pub(crate) fn csn(value: &[u8], out: &mut Vec<u8>) -> Result {
    let invalid =
        Invalid::new("not a change sequence number such as 20260102030405.123456Z#000000#001#000000");
    let mut parts = value.split(|b| *b == b'#');
    let time = parts.next().unwrap_or_default();
    let Some(digits) = time.strip_suffix(b"Z") else { return Err(invalid) };
    let (seconds, fraction) = match digits.len() {
        14 => (digits, &b"000000"[..]),
        21 if digits[14] == b'.' => (&digits[..14], &digits[15..]),
        _ => return Err(invalid),
    };
    if !seconds.iter().chain(fraction).all(u8::is_ascii_digit) {
        return Err(invalid);
    }
    let start = out.len();
    out.extend_from_slice(seconds);
    out.push(b'.');
    out.extend_from_slice(fraction);
    out.push(b'Z');
    let mut count = 0;
    for (part, widths) in parts.by_ref().zip([6..=6, 2..=3, 6..=6]) {
        if !widths.contains(&part.len()) || !part.iter().all(u8::is_ascii_hexdigit) {
            return Err(invalid);
        }
        out.push(b'#');
        if part.len() == 2 {
            out.push(b'0');
        }
        out.extend(part.iter().map(u8::to_ascii_lowercase));
        count += 1;
    }
    if count != 3 || parts.next().is_some() {
        return Err(invalid);
    }
    // Memory order is order in time only among forms of one length.
    assert_eq!(out.len() - start, CSN_FORM_BYTES, "all change sequence numbers have forms of one length");
    Ok(())
}

/// The first component of a description: `2.5.4.3` of `( 2.5.4.3 NAME 'cn' )`.
pub(crate) fn first(value: &[u8]) -> std::result::Result<&[u8], Invalid> {
    definition::first_component(utf8(value)?)
        .map(str::as_bytes)
        .ok_or(Invalid::new("not a definition in parentheses"))
}
