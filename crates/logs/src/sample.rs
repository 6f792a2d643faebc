//! Which operations have a line in a sample. A thread that serves asks first, so that most operations make no record; the log's own
//! thread asks again of what all of them let pass.

use proto::tag;

/// Lines of ordinary operations a second.
const LINES: u64 = 1000;
/// An operation that took so many nanoseconds has a line in every sample.
const SLOW_NS: u64 = 10_000_000;

/// Whether a sample may leave it out: a search or a compare that did what was asked for, in a time that is not remarkable.
pub(crate) fn is_ordinary(op: u8, code: u16, ns: u64) -> bool {
    // Compare answers with a code of its own, true or false; both are what was asked for.
    matches!(op, tag::SEARCH | tag::COMPARE) && matches!(code, 0 | 5 | 6) && ns < SLOW_NS
}

/// Which of the ordinary operations have a line: one in so many that there are not more than [`LINES`] in a second.
#[derive(Debug, Default)]
pub struct Sample {
    second: u64,
    /// Ordinary operations in this second.
    seen: u64,
    /// One in so many has a line.
    one_in: u64,
    /// How many have to come until the next has one.
    left: u64,
}

impl Sample {
    /// Whether an ordinary operation that began at `wall_ms` has a line.
    pub(crate) fn takes(&mut self, wall_ms: u64) -> bool {
        let second = wall_ms / 1000;
        if second != self.second {
            // As many as in the last second will come in this one. After a pause it begins anew.
            let seen = if second == self.second + 1 { self.seen } else { 0 };
            let one_in = seen.div_ceil(LINES);
            *self = Sample { second, seen: 0, one_in, left: 1 };
        }
        self.seen += 1;
        self.left = self.left.saturating_sub(1);
        let takes = self.left == 0;
        if takes {
            // A burst after a quiet second is thinned out within the second.
            self.left = self.one_in.max(self.seen / LINES + 1);
        }
        takes
    }

    /// One that takes nothing in the second of `wall_ms`.
    #[cfg(test)]
    pub(crate) fn of_none(wall_ms: u64) -> Sample {
        Sample { second: wall_ms / 1000, seen: 0, one_in: 0, left: u64::MAX }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ordinary operations of one second that have a line.
    fn lines(sample: &mut Sample, second: u64, operations: u64) -> usize {
        (0..operations).filter(|n| sample.takes(second * 1000 + n * 1000 / operations)).count()
    }

    /// G1: no second has many more lines than the bound, a burst neither, and few operations all have theirs.
    #[test]
    fn test_g1_a_sample_is_bounded_in_each_second() {
        let mut sample = Sample::default();
        assert_eq!(lines(&mut sample, 1, 900), 900);
        // A burst: the thinning grows with it, so there are about LINES times the logarithm of the excess.
        assert!(lines(&mut sample, 2, 1_000_000) < 9 * LINES as usize);
        for second in 3..6 {
            let lines = lines(&mut sample, second, 1_000_000);
            assert!((900..=LINES as usize + 1).contains(&lines), "{lines}");
        }
        // The second after the load is still thin.
        assert_eq!(lines(&mut sample, 6, 500), 1);
        assert_eq!(lines(&mut sample, 7, 500), 500);
    }
}
