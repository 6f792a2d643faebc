//! The faults that can be planted, of all crates.

use env::planted::Fault;

/// All of them.
pub fn all() -> impl Iterator<Item = Fault> {
    let of_crates = [
        wal::faults::ALL,
        consensus::faults::ALL,
        store::faults::ALL,
        dsa::faults::ALL,
        node::faults::ALL,
        peers::faults::ALL,
    ];
    of_crates.into_iter().flatten().copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn a_name_is_that_of_one_fault() {
        let names: BTreeSet<&str> = super::all().map(|fault| fault.0).collect();
        assert_eq!(names.len(), super::all().count());
    }
}
