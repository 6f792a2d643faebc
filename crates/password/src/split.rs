//! The name of a scheme in front of a stored value (RFC 2307 section 5.3).

/// Splits `{SCHEME}rest`. `None` for what does not begin like that: clear text may have braces too.
pub fn split_scheme(stored: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = stored.strip_prefix(b"{")?;
    let end = inner.iter().position(|&b| b == b'}')?;
    let (scheme, rest) = (&inner[..end], &inner[end + 1..]);
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/');
    (!scheme.is_empty() && scheme.iter().all(is_name)).then_some((scheme, rest))
}
