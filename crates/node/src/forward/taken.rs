//! What a leader has taken from other servers in its term: each try once, however often it is sent.

use super::message::Name;
use consensus::ReplicaId;
use dsa::journal::{Handed, Outcome, Returns, Updates};
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
    /// Those that were taken; with the answers, if they were refused.
    tries: BTreeMap<u64, Option<Vec<u8>>>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Taken {
    term: u64,
    runs: BTreeMap<ReplicaId, VecDeque<Run>>,
    returns: Returns,
}

impl Taken {
    /// Takes updates to be proposed in `term`, which this replica leads; none if they were taken before.
    ///
    /// # Errors
    /// In words, why they are none.
    pub(super) fn take(
        &mut self,
        from: ReplicaId,
        term: u64,
        name: Name,
        lowest: u64,
        handed: &Handed<'_>,
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
            runs.push_back(Run { run: name.run, lowest: 1, tries: BTreeMap::new() });
            runs.len() - 1
        });
        if runs.len() > RUNS_MAX {
            runs.pop_back();
            return Err("its server has started too often in this term".to_owned());
        }
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
        let front = Front { node: name.run, number: name.number };
        let updates = Updates::received(handed, front, &self.returns)?;
        run.tries.insert(name.number, None);
        Ok(Some(updates))
    }

    /// The answers to updates that were refused.
    pub(super) fn refusal(&self, from: ReplicaId, name: Name) -> Option<&[u8]> {
        let run = self.runs.get(&from)?.iter().find(|run| run.run == name.run)?;
        run.tries.get(&name.number)?.as_deref()
    }

    /// What became of updates since the last call, and who is to know.
    pub(super) fn outcomes(&mut self) -> Vec<(ReplicaId, Name, Outcome)> {
        let mut all = Vec::new();
        for (Front { node, number }, outcome) in self.returns.take() {
            let to = replica_of(node);
            let run = self.runs.get_mut(&to).and_then(|runs| runs.iter_mut().find(|run| run.run == node));
            if let Some(kept) = run.and_then(|run| run.tries.get_mut(&number))
                && let Outcome::Refused(answers) = &outcome
            {
                *kept = Some(answers.clone());
            }
            all.push((to, Name { run: node, number, again: 0 }, outcome));
        }
        all
    }
}
