//! Is there an order of calls, each within its time, that a sequential model allows? The search of Wing and Gong ("Testing and
//! Verifying Concurrent Objects", 1993) with what Lowe ("Testing for linearizability", 2017) added: what was tried is
//! remembered as a set of calls and a state, so that no two orders of the same calls to the same state are both followed.

use std::collections::HashSet;
use std::hash::Hash;

/// What is called, one call at a time.
pub trait Model {
    /// What it holds.
    type State: Clone + Eq + Hash;
    /// A call and its answer.
    type Call;

    /// What it holds at first.
    fn initial(&self) -> Self::State;

    /// What it holds after a call, if the call may be answered like this.
    fn step(&self, state: &Self::State, call: &Self::Call) -> Option<Self::State>;
}

/// A call with its time.
#[derive(Clone, Debug)]
pub struct Timed<C> {
    /// When it began.
    pub begin: u64,
    /// When it had ended; `u64::MAX` if it never did.
    pub end: u64,
    /// Must it have happened? If not, it happened before its end or never.
    pub happened: bool,
    /// The call and its answer.
    pub call: C,
}

/// What the search says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// There is an order.
    Order,
    /// There is none: the best order could not place this call, by its number, before it ended.
    None(usize),
    /// It took more steps than were allowed.
    GaveUp,
}

/// Looks for an order of `calls`, at most for so many steps. What it remembers is small if they come by their begins.
pub fn search<M: Model>(model: &M, calls: &[Timed<M::Call>], steps_max: u64) -> Found {
    Search::new(model, calls).run(steps_max)
}

/// End of a chain of entries.
const NONE: usize = usize::MAX;

/// A begin or an end in the chain of those that have no place in the order yet. Entry 0 is before all others.
struct Entry {
    call: usize,
    is_end: bool,
    next: usize,
    before: usize,
}

/// A call that got its place, or was left out.
struct Choice<S> {
    call: usize,
    before: S,
    window: (usize, usize),
    left_out: bool,
}

struct Search<'a, M: Model> {
    model: &'a M,
    calls: &'a [Timed<M::Call>],
    entries: Vec<Entry>,
    /// Entries of each call: its begin and its end, if it has one.
    places: Vec<(usize, usize)>,
    chosen: Vec<Choice<M::State>>,
    state: M::State,
    /// Calls with a place, one bit each. All before word `window.0` have one, none from word `window.1` on.
    placed: Vec<u64>,
    window: (usize, usize),
    tried: HashSet<(usize, Box<[u64]>, M::State)>,
    /// Calls that must get a place and have none.
    missing: usize,
    /// Most calls that ever had a place when one could get none, and that one.
    best: (usize, usize),
}

impl<'a, M: Model> Search<'a, M> {
    fn new(model: &'a M, calls: &'a [Timed<M::Call>]) -> Search<'a, M> {
        let mut times: Vec<(u64, bool, usize)> = Vec::with_capacity(calls.len() * 2);
        for (number, call) in calls.iter().enumerate() {
            assert!(call.begin < call.end, "a call ends after its begin");
            times.push((call.begin, false, number));
            if call.end != u64::MAX {
                times.push((call.end, true, number));
            } else {
                assert!(!call.happened, "what happened for sure has an end");
            }
        }
        times.sort_unstable();
        let mut places = vec![(NONE, NONE); calls.len()];
        let mut entries = vec![Entry { call: NONE, is_end: false, next: NONE, before: NONE }];
        for (_, is_end, call) in times {
            let at = entries.len();
            entries[at - 1].next = at;
            entries.push(Entry { call, is_end, next: NONE, before: at - 1 });
            if is_end { places[call].1 = at } else { places[call].0 = at }
        }
        Search {
            model,
            calls,
            entries,
            places,
            chosen: Vec::new(),
            state: model.initial(),
            placed: vec![0; calls.len().div_ceil(64)],
            window: (0, 0),
            tried: HashSet::new(),
            missing: calls.iter().filter(|call| call.happened).count(),
            best: (0, 0),
        }
    }

    fn run(mut self, steps_max: u64) -> Found {
        let mut at = self.entries[0].next;
        for _ in 0..steps_max {
            if self.missing == 0 {
                return Found::Order;
            }
            assert_ne!(at, NONE, "a call that must get a place has an end in the chain");
            let Entry { call, is_end, next, .. } = self.entries[at];
            let advanced = match is_end {
                false => {
                    let after = self.model.step(&self.state, &self.calls[call].call);
                    after.is_some_and(|after| self.choose(call, after, false))
                }
                true => !self.calls[call].happened && self.choose(call, self.state.clone(), true),
            };
            at = match (advanced, is_end) {
                (true, _) => self.entries[0].next,
                (false, false) => next,
                (false, true) => {
                    if self.chosen.len() >= self.best.0 {
                        self.best = (self.chosen.len(), call);
                    }
                    match self.take_back() {
                        Some(begin) => self.entries[begin].next,
                        None => return Found::None(self.best.1),
                    }
                }
            };
        }
        Found::GaveUp
    }

    /// Gives a call its place, unless the same was tried before.
    fn choose(&mut self, call: usize, after: M::State, left_out: bool) -> bool {
        let window = self.window;
        self.place(call);
        let words = self.placed[self.window.0..self.window.1].into();
        if !self.tried.insert((self.window.0, words, after.clone())) {
            self.unplace(call, window);
            return false;
        }
        let before = std::mem::replace(&mut self.state, after);
        self.chosen.push(Choice { call, before, window, left_out });
        self.missing -= usize::from(self.calls[call].happened);
        let (begin, end) = self.places[call];
        self.unlink(begin);
        if end != NONE {
            self.unlink(end);
        }
        true
    }

    /// Takes back the last choice that has alternatives behind it; returns its begin, after which they are.
    fn take_back(&mut self) -> Option<usize> {
        loop {
            let Choice { call, before, window, left_out } = self.chosen.pop()?;
            self.state = before;
            self.unplace(call, window);
            self.missing += usize::from(self.calls[call].happened);
            let (begin, end) = self.places[call];
            if end != NONE {
                self.link(end);
            }
            self.link(begin);
            if !left_out {
                return Some(begin);
            }
        }
    }

    fn place(&mut self, call: usize) {
        self.placed[call / 64] |= 1 << (call % 64);
        let (from, to) = &mut self.window;
        *to = (*to).max(call / 64 + 1);
        while from < to && self.placed[*from] == u64::MAX {
            *from += 1;
        }
    }

    fn unplace(&mut self, call: usize, window: (usize, usize)) {
        self.placed[call / 64] &= !(1 << (call % 64));
        self.window = window;
    }

    fn unlink(&mut self, at: usize) {
        let Entry { next, before, .. } = self.entries[at];
        self.entries[before].next = next;
        if next != NONE {
            self.entries[next].before = before;
        }
    }

    /// The reverse of the last unlinking.
    fn link(&mut self, at: usize) {
        let Entry { next, before, .. } = self.entries[at];
        self.entries[before].next = at;
        if next != NONE {
            self.entries[next].before = at;
        }
    }
}
