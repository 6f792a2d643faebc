//! What had been acknowledged at a moment: a read that may be old is no older than it says.

/// What the counters of so many clients had been acknowledged to be, and since when.
#[derive(Default)]
pub(super) struct Floors<const CLIENTS: usize>(Vec<(u64, [u64; CLIENTS])>);

impl<const CLIENTS: usize> Floors<CLIENTS> {
    /// From now on they are these.
    pub(super) fn note(&mut self, now_ns: u64, floor: [u64; CLIENTS]) {
        if self.0.last().is_none_or(|(_, last)| *last != floor) {
            self.0.push((now_ns, floor));
        }
    }

    /// A counter was set to this: what was acknowledged before may be gone.
    pub(super) fn lower(&mut self, session: usize, count: u64) {
        let higher = self.0.iter_mut().rev().take_while(|(_, floor)| floor[session] > count);
        higher.for_each(|(_, floor)| floor[session] = count);
    }

    /// What they were at a moment.
    pub(super) fn at(&self, ns: u64) -> [u64; CLIENTS] {
        self.0.iter().rev().find(|(since, _)| *since <= ns).map_or([0; CLIENTS], |(_, floor)| *floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_acknowledged_at_a_moment_is_known_until_it_is_gone() {
        let mut floors = Floors::<3>::default();
        floors.note(10, [1, 0, 0]);
        floors.note(20, [3, 0, 0]);
        floors.note(25, [3, 0, 0]);
        floors.note(30, [3, 0, 2]);
        assert_eq!([9, 10, 29, 30].map(|ns| floors.at(ns)), [[0; 3], [1, 0, 0], [3, 0, 0], [3, 0, 2]]);
        floors.lower(0, 2);
        assert_eq!([10, 20, 30].map(|ns| floors.at(ns)), [[1, 0, 0], [2, 0, 0], [2, 0, 2]]);
    }
}
