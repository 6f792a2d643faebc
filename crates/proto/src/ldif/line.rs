//! One line: name, separator, value. Lines that were folded and values that were base64 have buffers of their
//! own, since they do not stand in the file as they are.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Base64 as files have it: padding may be missing.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Which bytes a span is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Home {
    /// The input of the current record.
    #[default]
    Input,
    /// Lines whose folds were taken out.
    Unfolded,
    /// Values that were base64.
    Decoded,
}

/// A piece of the bytes in its home.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) home: Home,
}

/// The three homes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Homes<'a> {
    pub(crate) input: &'a [u8],
    pub(crate) unfolded: &'a [u8],
    pub(crate) decoded: &'a [u8],
}

impl<'a> Homes<'a> {
    /// The bytes of a span.
    #[inline]
    pub(crate) fn bytes(&self, span: Span) -> &'a [u8] {
        let home = match span.home {
            Home::Input => self.input,
            Home::Unfolded => self.unfolded,
            Home::Decoded => self.decoded,
        };
        &home[span.start as usize..span.end as usize]
    }
}

/// What stands behind the separator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `name: value` and `name:: base64`, decoded
    Value,
    /// `name:< url`
    Url,
    /// `-`
    Dash,
}

/// A line that was understood.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parsed {
    /// Lines after the record's first one.
    pub(crate) number: u32,
    pub(crate) kind: Kind,
    pub(crate) name: Span,
    pub(crate) value: Span,
}

/// What may stand in an attribute description or keyword; schema rules come later. Some servers' descriptions
/// have `_`, ranges have `=` and `*`.
#[inline(always)]
fn is_name(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~') && byte != b':'
}

/// Parses a line whose bytes are `line`; base64 is decoded to the end of `decoded`.
#[inline]
pub(crate) fn parse(
    line: &[u8],
    place: Span,
    number: u32,
    decoded: &mut Vec<u8>,
) -> Result<Parsed, &'static str> {
    let span = |from: usize, to: usize| Span {
        start: place.start + from as u32,
        end: place.start + to as u32,
        home: place.home,
    };
    let colon = line.iter().position(|&b| !is_name(b)).unwrap_or(line.len());
    let name = span(0, colon);
    if line.get(colon) != Some(&b':') {
        if line == b"-" {
            return Ok(Parsed { number, kind: Kind::Dash, name, value: Span::default() });
        }
        return Err("expected `attribute: value`");
    }
    if colon == 0 {
        return Err("no attribute before the colon");
    }
    let (kind, from) = match line.get(colon + 1) {
        Some(b':') => {
            let from = skip_spaces(line, colon + 2);
            let value = decode_base64(&line[from..], decoded)?;
            return Ok(Parsed { number, kind: Kind::Value, name, value });
        }
        Some(b'<') => (Kind::Url, colon + 2),
        _ => (Kind::Value, colon + 1),
    };
    let from = skip_spaces(line, from);
    Ok(Parsed { number, kind, name, value: span(from, line.len()) })
}

#[inline(always)]
pub(crate) fn skip_spaces(line: &[u8], mut from: usize) -> usize {
    while line.get(from) == Some(&b' ') {
        from += 1;
    }
    from
}

/// Decodes to the end of the scratch buffer.
pub(crate) fn decode_base64(text: &[u8], scratch: &mut Vec<u8>) -> Result<Span, &'static str> {
    let text = text.trim_ascii_end();
    let start = scratch.len();
    scratch.resize(start + base64::decoded_len_estimate(text.len()), 0);
    match BASE64.decode_slice(text, &mut scratch[start..]) {
        Ok(len) => {
            scratch.truncate(start + len);
            assert!(
                u32::try_from(scratch.len()).is_ok(),
                "the decoded values of a record have less than 4 GiB"
            );
            Ok(Span { start: start as u32, end: (start + len) as u32, home: Home::Decoded })
        }
        Err(_) => {
            scratch.truncate(start);
            Err("not base64")
        }
    }
}
