//! What is kept of the entries of the first server while the second is read: 24 bytes and a bit of each.

use super::rules::DnDigest;

/// Digests of entries.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<(DnDigest, [u8; 8])>,
    /// A bit for each row: the second server has an entry of this name.
    met: Vec<u64>,
}

/// What the table says of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Same,
    Other,
    Missing,
}

impl Table {
    pub(crate) fn push(&mut self, dn: DnDigest, attributes: u64) {
        self.rows.push((dn, attributes.to_ne_bytes()));
    }

    /// Makes it searchable. A server may show an entry twice, below two naming contexts.
    pub(crate) fn sort(&mut self) {
        self.rows.sort_unstable();
        self.rows.dedup_by_key(|(dn, _)| *dn);
        self.met = vec![0; self.rows.len().div_ceil(64)];
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    fn position(&self, dn: &DnDigest) -> Option<usize> {
        self.rows.binary_search_by(|(other, _)| other.cmp(dn)).ok()
    }

    /// Compares an entry of the second server.
    pub(crate) fn meet(&mut self, dn: &DnDigest, attributes: u64) -> Found {
        let Some(at) = self.position(dn) else { return Found::Missing };
        self.met[at / 64] |= 1 << (at % 64);
        if self.rows[at].1 == attributes.to_ne_bytes() { Found::Same } else { Found::Other }
    }

    /// How many entries the second server has not shown.
    pub(crate) fn unmet(&self) -> usize {
        self.rows.len() - self.met.iter().map(|word| word.count_ones() as usize).sum::<usize>()
    }

    /// Is it an entry that the second server has not shown?
    pub(crate) fn is_unmet(&self, dn: &DnDigest) -> bool {
        self.position(dn).is_some_and(|at| self.met[at / 64] & (1 << (at % 64)) == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_24_bytes() {
        assert_eq!(size_of::<(DnDigest, [u8; 8])>(), 24);
    }
}
