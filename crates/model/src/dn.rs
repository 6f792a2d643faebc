//! Distinguished names in their string form (RFC 4514), borrowed from where they were read. Nothing here
//! knows the schema: values are unescaped, not normalised.

use crate::hex;
use crate::limits::{DN_BYTES_MAX, DN_RDNS_MAX, RDN_AVAS_MAX};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::fmt;

/// One attribute type and value of an RDN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ava<'a> {
    /// Type as written: a descriptor or a numeric OID.
    pub attribute_type: &'a [u8],
    /// Value with escapes resolved; of the `#hex` form, the content octets of its BER element.
    pub value: Cow<'a, [u8]>,
}

/// A relative distinguished name: one AVA, seldom more.
pub type Rdn<'a> = SmallVec<[Ava<'a>; 1]>;

/// Why a string is not a DN, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DnError {
    /// Offset of the offending byte.
    pub at: usize,
    /// What is wrong there.
    pub reason: &'static str,
}

impl fmt::Display for DnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.reason, self.at)
    }
}

impl std::error::Error for DnError {}

/// Splits the leftmost RDN off, unparsed: `uid=a,dc=b` gives `uid=a` and `dc=b`. The second part is `None`
/// when there is no comma. Knows escapes and, as clients still send them, quoted values and `;`.
pub fn split_first(dn: &[u8]) -> (&[u8], Option<&[u8]>) {
    // The common case has no escape and no quote before the first comma.
    match dn.iter().position(|&b| CLASS[b as usize] & STOPS_SPLIT != 0) {
        None => (dn, None),
        Some(at) if matches!(dn[at], b',' | b';') => (&dn[..at], Some(&dn[at + 1..])),
        Some(at) => split_first_escaped(dn, at),
    }
}

#[cold]
fn split_first_escaped(dn: &[u8], mut at: usize) -> (&[u8], Option<&[u8]>) {
    let mut quoted = false;
    while at < dn.len() {
        match dn[at] {
            b'\\' => at += 1,
            b'"' => quoted = !quoted,
            b',' | b';' if !quoted => return (&dn[..at], Some(&dn[at + 1..])),
            _ => {}
        }
        at += 1;
    }
    (dn, None)
}

/// What a byte may mean in a DN.
const STOPS_SPLIT: u8 = 1;
/// It can stand in a value as it is, anywhere.
const PLAIN: u8 = 2;

const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        if matches!(b, b'\\' | b'"' | b',' | b';') {
            class[byte] |= STOPS_SPLIT;
        }
        if b.is_ascii_graphic() && !matches!(b, b'"' | b'+' | b',' | b';' | b'<' | b'>' | b'\\' | b'=' | b'#')
        {
            class[byte] |= PLAIN;
        }
        byte += 1;
    }
    class
};

/// Can this value stand in a DN as it is, without an escape? Of those that can, those of graphic ASCII.
#[inline]
pub fn is_plain_value(value: &[u8]) -> bool {
    value.iter().all(|&b| CLASS[b as usize] & PLAIN != 0)
}

/// Parses a whole DN, leftmost RDN first. The empty string is the root: no RDNs.
pub fn parse(dn: &[u8]) -> Result<Vec<Rdn<'_>>, DnError> {
    let mut rdns = Vec::new();
    parse_each(dn, |rdn| rdns.push(rdn))?;
    Ok(rdns)
}

/// Parses a whole DN and submits each RDN, leftmost first.
pub fn parse_each<'a>(dn: &'a [u8], mut each: impl FnMut(Rdn<'a>)) -> Result<(), DnError> {
    if dn.len() > DN_BYTES_MAX {
        return Err(DnError { at: DN_BYTES_MAX, reason: "the DN is too long" });
    }
    if dn.iter().all(|&b| b == b' ') {
        return Ok(());
    }
    let mut rest = Some(dn);
    let mut offset = 0;
    let mut count = 0;
    while let Some(text) = rest {
        let (first, next) = split_first(text);
        each(parse_rdn(first).map_err(|e| DnError { at: e.at + offset, ..e })?);
        count += 1;
        if count > DN_RDNS_MAX {
            return Err(DnError { at: offset, reason: "the DN has too many RDNs" });
        }
        offset += first.len() + 1;
        rest = next;
    }
    Ok(())
}

/// Parses one RDN, as [`split_first`] returns it.
pub fn parse_rdn(rdn: &[u8]) -> Result<Rdn<'_>, DnError> {
    let mut avas = Rdn::new();
    let mut at = 0;
    loop {
        let (ava, next) = parse_ava(rdn, at)?;
        avas.push(ava);
        match next {
            None => return Ok(avas),
            Some(_) if avas.len() == RDN_AVAS_MAX => {
                return Err(DnError { at, reason: "the RDN has too many parts" });
            }
            Some(next) => {
                assert!(
                    at < next && next <= rdn.len(),
                    "each part of an RDN begins behind the one before it"
                );
                at = next;
            }
        }
    }
}

/// Parses `type=value` from `start`; also returns where the part after a `+` begins.
fn parse_ava(rdn: &[u8], start: usize) -> Result<(Ava<'_>, Option<usize>), DnError> {
    let err = |at, reason| Err(DnError { at, reason });
    let equals = match rdn[start..].iter().position(|&b| b == b'=') {
        Some(n) => start + n,
        None => return err(start, "expected attribute=value"),
    };
    let attribute_type = strip_oid_prefix(trim_spaces(&rdn[start..equals]));
    if !crate::oid::is_descriptor(attribute_type) && !crate::oid::is_numeric(attribute_type) {
        return err(start, "not an attribute type");
    }
    let mut at = equals + 1;
    while rdn.get(at) == Some(&b' ') {
        at += 1;
    }
    let (value, next) = match rdn.get(at) {
        Some(b'#') => parse_hex(rdn, at + 1),
        Some(b'"') => parse_quoted(rdn, at + 1),
        _ => parse_string(rdn, at),
    }?;
    Ok((Ava { attribute_type, value }, next))
}

type Parsed<'a> = Result<(Cow<'a, [u8]>, Option<usize>), DnError>;

fn parse_string(rdn: &[u8], start: usize) -> Parsed<'_> {
    let mut owned: Option<Vec<u8>> = None;
    let mut at = start;
    let mut end = start; // after the last byte that is not an unescaped space
    let mut next = None;
    while at < rdn.len() {
        let byte = rdn[at];
        match byte {
            b'\\' => {
                let out = owned.get_or_insert_with(|| rdn[start..at].to_vec());
                let (unescaped, width) = unescape(rdn, at)?;
                out.push(unescaped);
                at += width;
                end = at;
                continue;
            }
            b'+' => {
                next = Some(at + 1);
                break;
            }
            b'"' | b'<' | b'>' | b';' | b',' => {
                return Err(DnError { at, reason: "this character must be escaped" });
            }
            0 => return Err(DnError { at, reason: "a NUL must be escaped" }),
            _ => {}
        }
        if let Some(out) = &mut owned {
            out.push(byte);
        }
        at += 1;
        if byte != b' ' {
            end = at;
        }
    }
    Ok(match owned {
        None => (Cow::Borrowed(&rdn[start..end]), next),
        Some(mut out) => {
            assert!(at - end <= out.len(), "the spaces at the end were appended");
            out.truncate(out.len() - (at - end));
            (Cow::Owned(out), next)
        }
    })
}

/// The old form `"a, b"` (RFC 2253 section 4 asks servers to read it).
fn parse_quoted(rdn: &[u8], start: usize) -> Parsed<'_> {
    let mut out = Vec::new();
    let mut at = start;
    loop {
        match rdn.get(at) {
            None => return Err(DnError { at, reason: "a quote is not closed" }),
            Some(b'"') => break,
            Some(b'\\') => {
                let (unescaped, width) = unescape(rdn, at)?;
                out.push(unescaped);
                at += width;
            }
            Some(&byte) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    Ok((Cow::Owned(out), after_value(rdn, at + 1)?))
}

/// `#04024869`: the BER encoding of the value; its content octets are the value.
fn parse_hex(rdn: &[u8], start: usize) -> Parsed<'_> {
    let mut ber = Vec::new();
    let mut at = start;
    while let Some(octet) = hex::octet(&rdn[at..]) {
        ber.push(octet);
        at += 2;
    }
    let bad = DnError { at: start, reason: "not the hexadecimal form of a BER element" };
    let contents = ber_contents(&ber).ok_or(bad)?.to_vec();
    Ok((Cow::Owned(contents), after_value(rdn, at)?))
}

/// The contents of the BER element that fills `element`, whatever its tag, which has one byte.
pub fn ber_contents(element: &[u8]) -> Option<&[u8]> {
    let (length, contents) = match element {
        [_, short @ ..=0x7f, rest @ ..] => (usize::from(*short), rest),
        [_, long @ 0x81..=0x84, rest @ ..] => {
            let (digits, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            (digits.iter().fold(0, |n, digit| n << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    (contents.len() == length).then_some(contents)
}

/// Only spaces and a `+` may follow a quoted or hexadecimal value.
fn after_value(rdn: &[u8], mut at: usize) -> Result<Option<usize>, DnError> {
    while rdn.get(at) == Some(&b' ') {
        at += 1;
    }
    match rdn.get(at) {
        None => Ok(None),
        Some(b'+') => Ok(Some(at + 1)),
        Some(_) => Err(DnError { at, reason: "unexpected text after a value" }),
    }
}

/// Resolves the escape at `at`: `\,` or `\2c`. Returns the byte and the width of the escape.
fn unescape(rdn: &[u8], at: usize) -> Result<(u8, usize), DnError> {
    let Some(&first) = rdn.get(at + 1) else {
        return Err(DnError { at, reason: "nothing follows the backslash" });
    };
    match hex::octet(&rdn[at + 1..]) {
        Some(octet) => Ok((octet, 3)),
        None if b" \"#+,;<=>\\".contains(&first) => Ok((first, 2)),
        None => Err(DnError { at, reason: "not an escape" }),
    }
}

/// A text without the spaces at its ends.
pub fn trim_spaces(mut text: &[u8]) -> &[u8] {
    while let [b' ', rest @ ..] | [rest @ .., b' '] = text {
        text = rest;
    }
    text
}

/// LDAPv2 wrote `OID.2.5.4.3` (RFC 2253 section 4).
fn strip_oid_prefix(attribute_type: &[u8]) -> &[u8] {
    match attribute_type {
        [b'O' | b'o', b'I' | b'i', b'D' | b'd', b'.', rest @ ..] => rest,
        _ => attribute_type,
    }
}

/// Appends a value as RFC 4514 section 2.4 wants it written. UTF-8 stays as it is; control characters and
/// bytes that are not UTF-8 become `\xx`.
pub fn escape_value(value: &[u8], out: &mut Vec<u8>) {
    if is_plain_value(value) {
        out.extend_from_slice(value);
        return;
    }
    let is_utf8 = std::str::from_utf8(value).is_ok();
    let last = value.len() - 1;
    for (at, &byte) in value.iter().enumerate() {
        let special = match byte {
            b'"' | b'+' | b',' | b';' | b'<' | b'>' | b'\\' | b'=' => true,
            b' ' => at == 0 || at == last,
            b'#' => at == 0,
            _ => false,
        };
        if special {
            out.extend_from_slice(&[b'\\', byte]);
        } else if byte < b' ' || byte == 0x7f || (byte >= 0x80 && !is_utf8) {
            out.extend_from_slice(&hex::escape(byte));
        } else {
            out.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(dn: &str) -> Vec<Vec<(String, Vec<u8>)>> {
        parse(dn.as_bytes())
            .unwrap_or_else(|e| panic!("{dn}: {e}"))
            .into_iter()
            .map(|rdn| {
                rdn.into_iter()
                    .map(|a| (String::from_utf8_lossy(a.attribute_type).into_owned(), a.value.into_owned()))
                    .collect()
            })
            .collect()
    }

    #[test]
    fn examples_of_rfc_4514_section_4() {
        assert_eq!(one("UID=jsmith,DC=example,DC=net").len(), 3);
        assert_eq!(one("OU=Sales+CN=J.  Smith,DC=example")[0][1].1, b"J.  Smith");
        assert_eq!(one("CN=James \\\"Jim\\\" Smith\\, III,DC=net")[0][0].1, b"James \"Jim\" Smith, III");
        assert_eq!(one("CN=Before\\0dAfter,DC=example")[0][0].1, b"Before\rAfter");
        assert_eq!(one("1.3.6.1.4.1.1466.0=#04024869")[0][0].1, b"Hi");
        assert_eq!(one("CN=Lu\\C4\\8Di\\C4\\87")[0][0].1, "Lučić".as_bytes());
        assert!(one("").is_empty());
    }

    #[test]
    fn spaces_and_old_forms() {
        assert_eq!(one("cn = a b , dc = c")[0][0], ("cn".into(), b"a b".to_vec()));
        assert_eq!(one("cn=a\\ ,dc=c")[0][0].1, b"a ");
        assert_eq!(one("cn=\"a, b\";dc=c")[0][0].1, b"a, b");
        assert_eq!(one("OID.2.5.4.3=a")[0][0].0, "2.5.4.3");
        assert_eq!(one("cn=,dc=c")[0][0].1, b"");
    }

    #[test]
    fn what_is_not_a_dn() {
        for bad in [
            "a",
            "cn=a,",
            ",cn=a",
            "cn=a,,dc=b",
            "=a",
            "cn=a\\",
            "cn=a\\zz",
            "cn=a\"b",
            "cn=#0",
            "cn=#0405aa",
            "c n=a",
            "cn=\"a",
            "cn=\"a\"b",
            "cn=a+",
            "cn=<a>",
        ] {
            assert!(parse(bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(parse("cn=a,".repeat(200).as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn escaped_values_come_back(value in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut dn = b"cn=".to_vec();
            escape_value(&value, &mut dn);
            dn.extend_from_slice(b",dc=x");
            let rdns = parse(&dn).unwrap();
            prop_assert_eq!(&rdns[0][0].value[..], &value[..]);
            prop_assert_eq!(rdns.len(), 2);
        }

        #[test]
        fn no_input_panics(dn in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = parse(&dn);
        }
    }
}
