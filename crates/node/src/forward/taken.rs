//! What a leader has taken from other servers in its term: each try once, however often it is sent.

use super::message::Name;
use consensus::ReplicaId;
use dsa::journal::{Forwarded, Outcome, Returns, Updates};
use dsa::parcel::Front;
use std::collections::{BTreeMap, VecDeque};

/// Tries of a run that are remembered: more than a server has sessions.
const TRIES_MAX: usize = 1 << 16;
/// Runs of a replica that are remembered in a term.
const RUNS_MAX: usize = 16;

/// Bits of the name of a run that are by chance; the number of the replica stands above them.
pub(super) const RUN_BITS: u32 = 48;

fn replica_of(run: u64) -> ReplicaId {
    ReplicaId(run >> RUN_BITS)
}

/// Of a run of another server.
struct Run {
    run: u64,
    /// Below it all have an outcome.
    lowest: u64,
    /// Those that were taken; with what became of them, if they are not in the log.
    tries: BTreeMap<u64, Option<Outcome>>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Taken {
    term: u64,
    runs: BTreeMap<ReplicaId, VecDeque<Run>>,
    returns: Returns,
}

impl Taken {
    /// Takes updates to be proposed in `term`, which this replica leads; none if they were taken before. There is room for so many bytes:
    /// longer ones are not taken, and not later either, for their server sends another try.
    ///
    /// # Errors
    /// In words, why they are none.
    pub(super) fn take(
        &mut self,
        from: ReplicaId,
        (term, name, lowest): (u64, Name, u64),
        forwarded: &Forwarded<'_>,
        room: usize,
    ) -> Result<Option<Updates>, String> {
        assert!(self.term <= term, "terms go up");
        if replica_of(name.run) != from {
            return Err("they are named as those of another server".to_owned());
        }
        if self.term < term {
            // What was for a former one is not proposed in this.
            (self.term, self.runs) = (term, BTreeMap::new());
        }
        let runs = self.runs.entry(from).or_default();
        let at = runs.iter().position(|run| run.run == name.run).unwrap_or_else(|| {
            if runs.len() == RUNS_MAX {
                // Its links have ended, so nothing of it comes any more.
                runs.pop_front();
            }
            runs.push_back(Run { run: name.run, lowest: 1, tries: BTreeMap::new() });
            runs.len() - 1
        });
        let run = &mut runs[at];
        run.lowest = run.lowest.max(lowest);
        let lowest = run.lowest;
        run.tries = run.tries.split_off(&lowest);
        if name.number < lowest || run.tries.contains_key(&name.number) {
            return Ok(None);
        }
        if run.tries.len() >= TRIES_MAX {
            return Err("its server has too many on their way".to_owned());
        }
        if forwarded.messages.len() > room {
            run.tries.insert(name.number, Some(Outcome::NotProposed));
            return Ok(None);
        }
        let front = Front { node: name.run, number: name.number };
        let updates = Updates::received(forwarded, front, &self.returns)?;
        run.tries.insert(name.number, None);
        Ok(Some(updates))
    }

    /// What became of updates, if they are not in the log.
    pub(super) fn outcome(&self, from: ReplicaId, name: Name) -> Option<&Outcome> {
        let run = self.runs.get(&from)?.iter().find(|run| run.run == name.run)?;
        run.tries.get(&name.number)?.as_ref()
    }

    /// What became of updates since the last call, and who is to know.
    pub(super) fn outcomes(&mut self) -> Vec<(ReplicaId, Name, Outcome)> {
        let mut all = Vec::new();
        for (Front { node, number }, outcome) in self.returns.take() {
            let to = replica_of(node);
            let run = self.runs.get_mut(&to).and_then(|runs| runs.iter_mut().find(|run| run.run == node));
            if let Some(kept) = run.and_then(|run| run.tries.get_mut(&number))
                && !matches!(outcome, Outcome::Applied(_))
            {
                *kept = Some(outcome.clone());
            }
            all.push((to, Name { run: node, number, again: 0 }, outcome));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsa::audit::Origin;
    use dsa::journal::What;
    use proto::Request;

    const FRONT: ReplicaId = ReplicaId(2);

    fn name(number: u64) -> Name {
        Name { run: FRONT.0 << RUN_BITS | 7, number, again: 0 }
    }

    struct Fixture(Taken, Vec<u8>);

    impl Fixture {
        fn new() -> Fixture {
            let mut messages = Vec::new();
            Request::Delete(b"cn=a").encode(&mut messages, 1, &[]);
            Fixture(Taken::default(), messages)
        }

        fn take(&mut self, term: u64, name: Name, lowest: u64) -> Result<Option<Updates>, String> {
            let Fixture(taken, messages) = self;
            let forwarded = Forwarded {
                what: What::Updates,
                actor: b"",
                messages,
                conditions: b"",
                origin: Origin::default(),
            };
            taken.take(FRONT, (term, name, lowest), &forwarded, messages.len())
        }
    }

    #[test]
    fn a_try_is_taken_once_in_a_term() {
        let mut fixture = Fixture::new();
        let first = fixture.take(3, name(1), 1).unwrap().expect("it is new");
        assert!(fixture.take(3, name(1), 1).unwrap().is_none());
        let second = fixture.take(3, name(2), 1).unwrap().expect("it is new");
        second.refuse(model::ResultCode::Busy, "not today");
        let outcomes = fixture.0.outcomes();
        assert_eq!(outcomes.iter().map(|(to, name, _)| (*to, *name)).collect::<Vec<_>>(), [(FRONT, name(2))]);
        // A refusal is said again, and what is not decided is not.
        assert!(
            fixture.take(3, name(2), 1).unwrap().is_none() && fixture.0.outcome(FRONT, name(2)).is_some()
        );
        assert_eq!(fixture.0.outcome(FRONT, name(1)), None);
        first.return_unproposed();
        assert_eq!(fixture.0.outcomes()[0].2, Outcome::NotProposed);
        // So is that it was not proposed, and it is not taken later.
        assert!(fixture.take(3, name(1), 1).unwrap().is_none());
        assert_eq!(fixture.0.outcome(FRONT, name(1)), Some(&Outcome::NotProposed));
        assert!(fixture.take(3, name(3), 3).unwrap().is_some());
        assert!(fixture.take(3, name(1), 1).unwrap().is_none(), "it has an outcome");
    }

    #[test]
    fn what_there_is_no_room_for_is_not_taken_later() {
        let Fixture(mut taken, messages) = Fixture::new();
        let (what, origin) = (What::Updates, Origin::default());
        let forwarded = Forwarded { what, actor: b"", messages: &messages, conditions: b"", origin };
        let take = |taken: &mut Taken, room| taken.take(FRONT, (3, name(1), 1), &forwarded, room).unwrap();
        assert!(take(&mut taken, messages.len() - 1).is_none());
        assert!(take(&mut taken, messages.len()).is_none(), "its server has begun another try by now");
        assert_eq!(taken.outcome(FRONT, name(1)), Some(&Outcome::NotProposed));
        assert!(taken.outcomes().is_empty());
    }

    #[test]
    fn who_says_that_it_is_another_is_ignored_and_runs_have_a_bound() {
        let mut fixture = Fixture::new();
        assert!(fixture.take(3, Name { run: 3 << RUN_BITS | 7, ..name(1) }, 1).is_err());
        for run in 0..RUNS_MAX as u64 {
            assert!(fixture.take(3, Name { run: FRONT.0 << RUN_BITS | run, ..name(1) }, 1).is_ok());
        }
        let other = Name { run: FRONT.0 << RUN_BITS | 99, ..name(1) };
        assert!(fixture.take(3, other, 1).unwrap().is_some(), "a server that has started often goes on");
        assert!(fixture.0.runs.values().all(|runs| runs.len() == RUNS_MAX));
        assert!(fixture.take(4, other, 1).unwrap().is_some(), "in another term they begin anew");
    }
}
