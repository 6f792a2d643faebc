//! The names of the latest runs of a node: its file `node` has them, and it says them in its hellos. So a disk that was set back is known by
//! that at every later start, too, though each start counts one more.

use crate::id::RunId;

/// Runs that are kept. What was seen of an earlier one is compared by the number of starts alone.
pub const RUNS_MAX: usize = 32;

/// See the module. The latest is the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    names: [RunId; RUNS_MAX],
    len: usize,
}

impl Runs {
    /// These; `None` if they are too many.
    pub fn of(names: &[RunId]) -> Option<Runs> {
        let mut runs = Runs { len: names.len(), ..Runs::default() };
        runs.names.get_mut(..names.len())?.copy_from_slice(names);
        Some(runs)
    }

    /// The latest first.
    pub fn names(&self) -> &[RunId] {
        &self.names[..self.len]
    }

    /// With one more, which is the latest now. The earliest goes if they are too many.
    #[must_use]
    pub fn with(&self, run: RunId) -> Runs {
        let mut runs = Runs { len: (self.len + 1).min(RUNS_MAX), ..Runs::default() };
        runs.names[0] = run;
        runs.names[1..runs.len].copy_from_slice(&self.names[..runs.len - 1]);
        runs
    }

    /// May the run with number `boots`, which has these before it, follow the one that was number `seen_boots` and had this name? `true` if that one is
    /// not among them.
    pub(crate) fn may_follow(&self, boots: u64, seen_boots: u64, seen: RunId) -> bool {
        let back = boots.checked_sub(seen_boots).and_then(|back| usize::try_from(back).ok());
        let named = back.and_then(|back| self.names().get(back.checked_sub(1)?));
        seen_boots == 0 || named.is_none_or(|name| *name == seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(number: u8) -> RunId {
        RunId([number; 16])
    }

    #[test]
    fn the_latest_are_kept_and_say_what_they_follow() {
        let all = (1..=RUNS_MAX as u8 + 5).fold(Runs::default(), |runs, number| runs.with(run(number)));
        assert_eq!(all.names().len(), RUNS_MAX);
        assert_eq!((all.names()[0], all.names()[RUNS_MAX - 1]), (run(RUNS_MAX as u8 + 5), run(6)));
        assert_eq!(Runs::of(all.names()), Some(all));
        assert_eq!(Runs::of(&[run(1); RUNS_MAX + 1]), None);
        let boots = RUNS_MAX as u64 + 6;
        assert!(all.may_follow(boots, boots - 1, run(RUNS_MAX as u8 + 5)));
        assert!(!all.may_follow(boots, boots - 1, run(1)), "another run had that number");
        assert!(all.may_follow(boots, 6, run(6)) && !all.may_follow(boots, 6, run(7)));
        assert!(all.may_follow(boots, 5, run(99)), "its name is not kept any more");
        assert!(all.may_follow(boots, 0, run(0)), "it was spoken of, and not heard");
        assert!(Runs::default().may_follow(7, 6, run(6)), "an earlier program does not say");
        assert!(all.may_follow(3, 3, run(3)) && all.may_follow(3, 4, run(3)), "that is compared by itself");
    }
}
