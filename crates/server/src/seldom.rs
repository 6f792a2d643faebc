//! Log lines that would come by the thousand: one a second, with the number of those that were left out.

use std::cell::Cell;

/// Nanoseconds between two lines.
const PAUSE_NS: u64 = 1_000_000_000;

/// Lines of one kind, of one thread.
#[derive(Debug, Default)]
pub(crate) struct Seldom {
    /// When the next may be written.
    next_ns: Cell<u64>,
    left_out: Cell<u64>,
}

impl Seldom {
    /// Whether a line may be written now: the number of those left out before it. If not, this one is left out.
    pub(crate) fn pass(&self, now_ns: u64) -> Option<u64> {
        if now_ns < self.next_ns.get() {
            self.left_out.set(self.left_out.get() + 1);
            return None;
        }
        self.next_ns.set(now_ns + PAUSE_NS);
        Some(self.left_out.replace(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_second_counts_the_others() {
        let lines = Seldom::default();
        assert_eq!(lines.pass(5), Some(0));
        assert_eq!((lines.pass(6), lines.pass(PAUSE_NS)), (None, None));
        assert_eq!((lines.pass(PAUSE_NS + 5), lines.pass(2 * PAUSE_NS + 6)), (Some(2), Some(0)));
    }
}
