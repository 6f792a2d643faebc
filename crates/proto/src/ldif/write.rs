//! Writing LDIF: safe strings as they are, everything else as base64, long lines folded.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Columns after which lines are folded unless the caller says otherwise, as OpenLDAP's tools do.
pub const FOLD_COLUMNS: usize = 76;

/// Appends `dn: ...` and the end of the line.
pub fn write_dn(out: &mut Vec<u8>, dn: &[u8]) {
    write_attribute(out, b"dn", dn);
}

/// Appends an attribute and one value, folded at [`FOLD_COLUMNS`].
pub fn write_attribute(out: &mut Vec<u8>, description: &[u8], value: &[u8]) {
    write_attribute_folded(out, description, value, FOLD_COLUMNS);
}

/// Appends an attribute and one value. `columns` is the length of a line without its end, at least 2; 0: lines
/// are not folded.
pub fn write_attribute_folded(out: &mut Vec<u8>, description: &[u8], value: &[u8], columns: usize) {
    let start = out.len();
    out.extend_from_slice(description);
    write_value(out, start, value, columns);
}

/// Appends a control, folded at [`FOLD_COLUMNS`]. Its place is between `dn` and `changetype`.
pub fn write_control(out: &mut Vec<u8>, oid: &[u8], critical: bool, value: Option<&[u8]>) {
    let start = out.len();
    out.extend_from_slice(b"control: ");
    out.extend_from_slice(oid);
    out.extend_from_slice(if critical { b" true" } else { b" false" });
    match value {
        Some(value) => write_value(out, start, value, FOLD_COLUMNS),
        None => out.push(b'\n'),
    }
}

/// Ends the line that begins at `start` with a value.
fn write_value(out: &mut Vec<u8>, start: usize, value: &[u8], columns: usize) {
    assert!(columns != 1, "a continuation line has a space and something more");
    if value.is_empty() {
        out.extend_from_slice(b":\n");
        return;
    }
    if is_safe(value) {
        out.extend_from_slice(b": ");
        out.extend_from_slice(value);
    } else {
        out.extend_from_slice(b":: ");
        put_base64(out, value);
    }
    if columns > 0 && out.len() - start > columns {
        fold(out, start, columns);
    }
    out.push(b'\n');
}

/// Appends bytes as base64 (RFC 4648 section 4).
pub fn put_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    let from = out.len();
    let len = base64::encoded_len(bytes.len(), true).expect("values are bounded");
    out.resize(from + len, 0);
    let written = STANDARD.encode_slice(bytes, &mut out[from..]).expect("there is room for all of it");
    assert!(written == len, "base64 with padding has four bytes for each three begun");
}

/// SAFE-STRING of RFC 2849, and no space at the end, where it would get lost.
fn is_safe(value: &[u8]) -> bool {
    // One pass without a branch for each byte, so that the compiler can use vectors.
    let is_unsafe = |b: u8| (b >= 0x80) | (b == 0) | (b == b'\n') | (b == b'\r');
    let inside = value.iter().fold(false, |found, &b| found | is_unsafe(b));
    !inside && !matches!(value.first(), Some(b' ' | b':' | b'<')) && value.last() != Some(&b' ')
}

/// Folds the line that begins at `start` and reaches to the end.
fn fold(out: &mut Vec<u8>, start: usize, columns: usize) {
    let line = out.split_off(start);
    let (first, rest) = line.split_at(columns);
    out.extend_from_slice(first);
    for part in rest.chunks(columns - 1) {
        out.extend_from_slice(b"\n ");
        out.extend_from_slice(part);
    }
}
