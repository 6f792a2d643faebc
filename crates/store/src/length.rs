//! A value with its length before it, as it lies in records and in nodes of trees: the length is a byte, or 255 and three bytes.

/// The length byte that says that three bytes of length follow. No short value has that many bytes.
const LONG_VALUE: u8 = 255;

/// Appends a value with its length.
#[inline]
pub(crate) fn push_value(out: &mut Vec<u8>, value: &[u8]) {
    if value.len() < usize::from(LONG_VALUE) {
        out.push(value.len() as u8);
    } else {
        assert!(value.len() < 1 << 24, "limits::VALUE_BYTES_MAX bounds a value");
        out.push(LONG_VALUE);
        out.extend_from_slice(&(value.len() as u32).to_le_bytes()[..3]);
    }
    out.extend_from_slice(value);
}

/// Bytes that [`push_value`] appends.
#[inline]
pub(crate) fn value_len(value: &[u8]) -> usize {
    value.len() + if value.len() < usize::from(LONG_VALUE) { 1 } else { 4 }
}

/// A value and what is behind it. The bytes are the store's own: what is cut off was found by [`checked_value`].
#[inline(always)]
pub(crate) fn split_value(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes[0] {
        LONG_VALUE => {
            let len = u32::from_le_bytes([bytes[1], bytes[2], bytes[3], 0]) as usize;
            bytes[4..].split_at(len)
        }
        len => bytes[1..].split_at(len as usize),
    }
}

/// What is behind a value, if the value is whole.
pub(crate) fn checked_value(bytes: &[u8]) -> Option<&[u8]> {
    match *bytes.first()? {
        LONG_VALUE => {
            let len = u32::from_le_bytes([*bytes.get(1)?, *bytes.get(2)?, *bytes.get(3)?, 0]);
            bytes.get(4 + len as usize..)
        }
        len => bytes.get(1 + usize::from(len)..),
    }
}

/// What [`push_value`] appended, value by value.
pub(crate) fn one_values(bytes: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (value, behind) = (!rest.is_empty()).then(|| split_value(rest))?;
        rest = behind;
        Some(value)
    })
}
