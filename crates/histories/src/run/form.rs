//! In what messages a transaction comes, as docs/transactions.md tells.

use env::entropy::{Entropy as _, SeededEntropy};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// The messages of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// It begins with a start; or with its first update, which names an identifier that the client chose.
    pub(super) starts: bool,
    /// Each update names it; or only the one that it begins with.
    pub(super) names: bool,
    /// The client looks at the answers to the updates before it decides about the end; or that comes in one write with them.
    pub(super) waits: bool,
}

/// The forms that transactions of a run have, and how many had which.
#[derive(Debug)]
pub(super) struct Forms {
    extended: bool,
    all: AtomicU64,
    unstarted: AtomicU64,
    unnamed: AtomicU64,
    at_once: AtomicU64,
}

impl Forms {
    /// Those of RFC 5805, or also those of the two extensions.
    pub(super) fn new(extended: bool) -> Forms {
        let [all, unstarted, unnamed, at_once] = Default::default();
        Forms { extended, all, unstarted, unnamed, at_once }
    }

    /// One of them, for a transaction that is about to be.
    pub(super) fn draw(&self, chance: &mut SeededEntropy) -> Form {
        let drawn = chance.next_u64();
        let has = |bit| drawn & bit != 0;
        let form = Form { starts: !self.extended || has(1), names: !self.extended || has(2), waits: has(4) };
        for (is_so, count) in [
            (true, &self.all),
            (!form.starts, &self.unstarted),
            (!form.names, &self.unnamed),
            (!form.waits, &self.at_once),
        ] {
            count.fetch_add(u64::from(is_so), Ordering::Relaxed);
        }
        form
    }
}

impl fmt::Display for Forms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [all, unstarted, unnamed, at_once] = [&self.all, &self.unstarted, &self.unnamed, &self.at_once]
            .map(|count| count.load(Ordering::Relaxed));
        write!(
            f,
            "{all} transactions, {at_once} in one write with their end, {unstarted} without a start, {unnamed} with updates that name none"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_extensions_transactions_are_those_of_the_rfc() {
        let mut chance = SeededEntropy::new(1);
        let count = |extended, chance: &mut SeededEntropy| {
            let forms = Forms::new(extended);
            let mut seen: Vec<Form> = Vec::new();
            for _ in 0..200 {
                let form = forms.draw(chance);
                if !seen.contains(&form) {
                    seen.push(form);
                }
            }
            (seen.len(), seen.iter().all(|form| form.starts && form.names), forms.to_string())
        };
        let (forms, is_standard, said) = count(false, &mut chance);
        assert_eq!((forms, is_standard), (2, true));
        assert!(
            said.starts_with("200 transactions, ") && said.contains("end, 0 without a start, 0 with"),
            "{said}"
        );
        let (forms, is_standard, _) = count(true, &mut chance);
        assert_eq!((forms, is_standard), (8, false));
    }
}
