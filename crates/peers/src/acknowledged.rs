//! What a leader says of its term: the last entry that it knows to be on the disk of each node.

use crate::codec::{Malformed, Reader};
use crate::member::MEMBERS_MAX;

/// Bytes of a node in it.
const NODE_BYTES: usize = 8 + 8;
/// Bytes of it at most.
pub const BYTES_MAX: usize = 8 + MEMBERS_MAX * NODE_BYTES;

/// Its bytes: the term, and pairs of node and index.
pub(crate) fn encode(term: u64, indexes: &[(u64, u64)]) -> Vec<u8> {
    let mut out = term.to_le_bytes().to_vec();
    for (node, index) in indexes.iter().take(MEMBERS_MAX) {
        out.extend_from_slice(&node.to_le_bytes());
        out.extend_from_slice(&index.to_le_bytes());
    }
    out
}

/// From its bytes.
pub(crate) fn decode(bytes: &[u8]) -> Result<(u64, Vec<(u64, u64)>), Malformed> {
    let mut reader = Reader(bytes);
    let (term, mut indexes) = (reader.u64()?, Vec::new());
    while !reader.0.is_empty() {
        let (node, index) = (reader.u64()?, reader.u64()?);
        if node == 0 {
            return Err(Malformed::Value);
        }
        indexes.push((node, index));
    }
    Ok((term, indexes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_back_and_what_is_cut_short_is_refused() {
        let indexes = vec![(1, 7), (2, 0)];
        let bytes = encode(5, &indexes);
        assert_eq!(decode(&bytes), Ok((5, indexes)));
        for len in (0..bytes.len()).filter(|len| ![8, 24].contains(len)) {
            assert!(decode(&bytes[..len]).is_err(), "{len}");
        }
        assert!(decode(&encode(5, &[(0, 1)])).is_err());
        assert!(encode(5, &[(1, 1); 2 * MEMBERS_MAX]).len() <= BYTES_MAX);
    }
}
