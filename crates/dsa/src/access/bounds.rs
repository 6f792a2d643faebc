//! What a requester may take of the server. It is decided with its class, by the first rule that fits, and is a part of the class: so it holds
//! as long as that does, and a request reads numbers.

use super::rules::RuleSet;
use crate::faults::holes;
use crate::limits::SearchLimits;
use ::access::{Limits, Unindexed};
use env::planted;
use smallvec::SmallVec;

/// Candidates that one search of a user looks at, if no rule says otherwise.
const USER_LOOK_THROUGH: u32 = 1_000_000;
/// The same of clients that have not bound.
const ANONYMOUS_LOOK_THROUGH: u32 = 100_000;

/// In a class's key: a number of this kind is about limits, and not about a rule on rights.
const OF_LIMITS: u64 = 1 << 63;
/// The last of them: which defaults there are.
const DEFAULTS: u64 = OF_LIMITS | 1 << 62;

/// What holds for a requester. 0 is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Entries that one search returns, on all its pages together.
    pub(crate) size: u32,
    /// Seconds that one search takes.
    pub(crate) time_s: u32,
    /// Candidates that one search looks at.
    pub(crate) look_through: u32,
    /// Entries of one page.
    pub(crate) page: u32,
    /// Searches that are suspended at the same time.
    pub(crate) searches: u32,
    /// Requests, and bytes of answers, of a second.
    pub(crate) rates: (u32, u32),
    pub(crate) unindexed: Unindexed,
}

/// What a requester's limits come of, as numbers of its class's key: rules, and last which defaults there are.
pub(super) struct LimitNumbers(SmallVec<[u64; 4]>);

impl LimitNumbers {
    /// Of nobody yet: no rule was asked.
    pub(super) fn new() -> LimitNumbers {
        LimitNumbers(SmallVec::new())
    }

    /// A rule that fits, or that may fit because something that it names is not there.
    pub(super) fn put(&mut self, rule: usize, is_sure: bool) {
        self.0.push(OF_LIMITS | (rule as u64) << 1 | u64::from(is_sure));
    }

    /// All of them, once every rule was asked that matters.
    /// The defaults tell those that have not bound from users, who may be left with the same rules otherwise.
    pub(super) fn end(mut self, is_anonymous: bool) -> SmallVec<[u64; 4]> {
        self.0.push(DEFAULTS | u64::from(is_anonymous));
        self.0
    }
}

impl Bounds {
    /// Of the root DN: a search for all entries is how it takes a copy.
    pub(crate) const NONE: Bounds = Bounds {
        size: 0,
        time_s: 0,
        look_through: 0,
        page: 0,
        searches: 0,
        rates: (0, 0),
        unindexed: Unindexed::Allow,
    };

    /// Of a requester whose class is not known: it has no right to look for anything, and need not look far to find that out.
    pub(crate) const OF_NOBODY: Bounds = Bounds {
        look_through: ANONYMOUS_LOOK_THROUGH,
        searches: 1,
        unindexed: Unindexed::Refuse,
        ..Bounds::NONE
    };

    /// What holds where no rule says otherwise.
    pub(super) fn default_of(limits: &SearchLimits, is_anonymous: bool) -> Bounds {
        Bounds {
            size: limits.size_max,
            time_s: limits.time_max_s,
            look_through: if is_anonymous { ANONYMOUS_LOOK_THROUGH } else { USER_LOOK_THROUGH },
            unindexed: Unindexed::Limit,
            ..Bounds::NONE
        }
    }

    /// What the numbers of a class come to.
    pub(super) fn of(set: &RuleSet, numbers: &[u64]) -> Bounds {
        let mut bounds = Bounds::default_of(&set.defaults, numbers.contains(&(DEFAULTS | 1)));
        // The one that fits comes first of those that may, though it is the last of them.
        for is_sure in [true, false] {
            for number in numbers
                .iter()
                .filter(|number| **number & DEFAULTS == OF_LIMITS && (**number & 1 == 1) == is_sure)
            {
                let rule = (number & !OF_LIMITS) >> 1;
                bounds = bounds.with(&set.limits[rule as usize].limits, is_sure);
            }
        }
        bounds
    }

    /// With what a rule says. One that only may fit makes nothing wider.
    fn with(self, rule: &Limits, is_sure: bool) -> Bounds {
        let choose = |own: u32, said: Option<u32>| match said {
            Some(said) if is_sure => said,
            Some(said) => tighter(own, said),
            None => own,
        };
        Bounds {
            size: choose(self.size, rule.size),
            time_s: choose(self.time_s, rule.time_s),
            look_through: choose(self.look_through, rule.look_through),
            page: choose(self.page, rule.page),
            searches: choose(self.searches, rule.searches),
            rates: (choose(self.rates.0, rule.rate), choose(self.rates.1, rule.bytes_per_second)),
            unindexed: match rule.unindexed {
                Some(said) if is_sure => said,
                Some(said) => said.max(self.unindexed),
                None => self.unindexed,
            },
        }
    }

    /// May so many candidates be looked at and returned, whatever else they are?
    #[inline]
    pub(crate) fn allows(&self, entries: usize) -> bool {
        let allows = |max: u32| max == 0 || entries <= max as usize;
        allows(self.size) && allows(self.look_through)
    }

    /// Entries that may be looked at, by the look-through limit.
    #[inline]
    pub(crate) fn looked_at_max(&self) -> u64 {
        if self.look_through == 0 || planted::is(holes::LOOK_THROUGH_NOT_KEPT) {
            u64::MAX
        } else {
            u64::from(self.look_through)
        }
    }
}

/// The tighter one of two limits.
pub(crate) fn tighter(one: u32, other: u32) -> u32 {
    match (one, other) {
        (0, only) | (only, 0) => only,
        (one, other) => one.min(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L1: what is not said is as without a rule, 0 is no limit, and what only may fit makes nothing wider.
    #[test]
    fn l1_a_rule_says_what_it_names() {
        let limits = SearchLimits { size_max: 5, ..SearchLimits::default() };
        let own = Bounds::default_of(&limits, false);
        let rule = Limits { size: Some(0), page: Some(7), ..Limits::default() };
        let sure = own.with(&rule, true);
        assert_eq!((sure.size, sure.page, sure.look_through), (0, 7, USER_LOOK_THROUGH));
        let perhaps = own.with(&rule, false);
        assert_eq!((perhaps.size, perhaps.page), (5, 7));
        let wide = Limits { unindexed: Some(Unindexed::Allow), look_through: Some(2_000_000), ..rule };
        assert_eq!(own.with(&wide, false).unindexed, Unindexed::Limit);
        assert_eq!(own.with(&wide, false).look_through, USER_LOOK_THROUGH);
        assert_eq!(Bounds::default_of(&limits, true).look_through, ANONYMOUS_LOOK_THROUGH);
        assert!(own.allows(5) && !own.allows(6) && Bounds::NONE.allows(usize::MAX));
        assert_eq!([tighter(0, 3), tighter(3, 0), tighter(2, 3), tighter(0, 0)], [3, 3, 2, 0]);
    }
}
