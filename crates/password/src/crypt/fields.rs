//! Fields of a string of crypt(3), between dollar signs.

/// Splits the last two fields off: salt and hash.
pub(super) fn salt_and_hash(fields: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = fields.iter().position(|byte| *byte == b'$')?;
    let (salt, hash) = (&fields[..at], &fields[at + 1..]);
    (!salt.is_empty() && !hash.contains(&b'$')).then_some((salt, hash))
}
