//! Indexes that are compared with the entries: which, how far, and what was found.
//!
//! A comparison is in steps too, and each has a reader of its own, registered for that step only. Between two steps the index may be dropped; the
//! comparison then ends without an outcome.

use super::indexer::write;
use super::{FAILED_MAX, IndexKeeper, Indexer, Pace, State, Task};
use schema::Schema;
use std::collections::BTreeSet;
use store::{IndexName, IndexVerify, Reader, Settled, Verified};

/// As many times the keys of a step are compared at one read point: nobody waits for it.
/// A step of a build has the writer's role; one of a comparison has a read point.
const STEP_TIMES: usize = 4;

/// How far the comparison in progress is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verifying {
    name: IndexName,
    entries: u64,
    keys: u64,
    /// Nobody wants it any more.
    is_cancelled: bool,
}

/// What a comparison has found.
/// It is kept until the index is compared again or dropped, among a bounded number of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    name: IndexName,
    entries: u64,
    keys: u64,
    passed_over: u64,
    found: u64,
    /// The first of what was found.
    findings: Vec<String>,
}

impl State {
    /// Indexes that are compared, or are to be.
    /// One that is cancelled still occupies the indexer until its next step.
    pub(super) fn comparing(&self) -> BTreeSet<IndexName> {
        let queued = self.tasks.iter().filter_map(|task| match task {
            Task::Verify(name) => Some(*name),
            Task::Build(_) | Task::Drop(_) => None,
        });
        let active = self.verifying.filter(|verifying| !verifying.is_cancelled);
        queued.chain(active.map(|verifying| verifying.name)).collect()
    }

    /// Puts an index to those that are to be compared. What was found before counts no longer.
    pub(super) fn verify(&mut self, name: IndexName) {
        self.forget_outcome(name);
        self.tasks.push_back(Task::Verify(name));
    }

    /// Takes it away from them.
    /// The indexer finds out at its next step; nothing is interrupted.
    pub(super) fn leave(&mut self, name: IndexName) {
        self.tasks.retain(|task| *task != Task::Verify(name));
        if let Some(verifying) = self.verifying.as_mut().filter(|verifying| verifying.name == name) {
            verifying.is_cancelled = true;
        }
    }

    /// The next report has no outcome of an earlier comparison of this index.
    pub(super) fn forget_outcome(&mut self, name: IndexName) {
        self.outcomes.retain(|outcome| outcome.name != name);
    }

    pub(super) fn begin_comparing(&mut self, name: IndexName) {
        self.verifying = Some(Verifying { name, entries: 0, keys: 0, is_cancelled: false });
    }

    /// The state's half: from here on the report shows the outcome.
    fn end_comparing(&mut self, outcome: Option<Outcome>) {
        self.verifying = None;
        let Some(outcome) = outcome else { return };
        self.forget_outcome(outcome.name);
        if self.outcomes.len() == FAILED_MAX {
            self.outcomes.pop_front();
        }
        assert!(self.outcomes.len() < FAILED_MAX, "there is room for one more");
        self.outcomes.push_back(outcome);
    }

    /// What is to be reported of the comparison of an index, if there was one or is to be.
    /// Words and numbers in a fixed order: scripts read them.
    pub(super) fn verified(&self, name: IndexName, entries_all: u64) -> String {
        if let Some(Verifying { entries, keys, .. }) =
            self.verifying.filter(|verifying| verifying.name == name)
        {
            let all = entries_all.max(entries);
            return format!(" verify=running entries={entries} of={all} keys={keys}");
        }
        if self.tasks.contains(&Task::Verify(name)) {
            return " verify=queued".to_owned();
        }
        let Some(outcome) = self.outcomes.iter().find(|outcome| outcome.name == name) else {
            return String::new();
        };
        let Outcome { entries, keys, passed_over, found, .. } = outcome;
        let what = if *found == 0 { "clean" } else { "differs" };
        format!(
            " verify={what} found={found} entries={entries} of={entries} keys={keys} passed-over={passed_over}"
        )
    }

    /// A line for each of the first differences of each index, all different.
    pub(super) fn differences(&self, schema: &Schema) -> Vec<String> {
        let of = |outcome: &Outcome| -> Vec<String> {
            let name = outcome.name.text(schema);
            let numbered = outcome.findings.iter().zip(1..);
            numbered.map(|(finding, number)| format!("difference={name} {number} {finding}")).collect()
        };
        self.outcomes.iter().flat_map(of).collect()
    }
}

impl Indexer {
    /// Begins to compare an index, if it is there; later, if there are too many readers.
    /// It goes back to the front of the queue if there is no reader for it, since the client was answered that it will be done.
    pub(super) fn begin_comparing(&mut self, name: IndexName) -> Pace {
        let Some(mut reader) = Reader::register(self.dsa.shard()) else {
            let mut state = self.dsa.indexing.lock();
            if state.verifying.take().is_some_and(|verifying| !verifying.is_cancelled) {
                state.tasks.push_front(Task::Verify(name));
            }
            return Pace::Later;
        };
        self.verify = IndexVerify::begin(reader.pin().read_point(), name);
        if self.verify.is_none() {
            self.dsa.indexing.lock().end_comparing(None);
        }
        Pace::Soon
    }

    /// Goes on with it.
    pub(super) fn compare(&mut self, mut verify: IndexVerify, keeper: &mut dyn IndexKeeper) -> Pace {
        if self.dsa.indexing.lock().verifying.is_none_or(|verifying| verifying.is_cancelled) {
            self.dsa.indexing.lock().end_comparing(None);
            return Pace::Soon;
        }
        let Some(mut reader) = Reader::register(self.dsa.shard()) else {
            self.verify = Some(verify);
            return Pace::Later;
        };
        let verified = verify.step(reader.pin().read_point(), self.step_keys * STEP_TIMES);
        drop(reader);
        // What the report shows from now on.
        if let Some(verifying) = &mut self.dsa.indexing.lock().verifying {
            (verifying.entries, verifying.keys) = (verify.entries(), verify.keys());
        }
        let pace = match verified {
            Verified::More => Pace::Soon,
            // Doubts are settled under the writer's role, a few at a time: then nothing is about to be added or removed.
            Verified::Doubts => {
                // For a bounded number of doubts.
                let settled = write(&self.dsa, |writer| writer.index_settle(&mut verify));
                if settled == Settled::Some { Pace::Soon } else { Pace::Later }
            }
            Verified::All | Verified::Gone => {
                self.end_comparing(&verify, verified == Verified::All, keeper);
                return Pace::Soon;
            }
        };
        self.verify = Some(verify);
        pace
    }

    /// An outcome of a part of an index would say less than it seems to, so only a whole one is kept.
    fn end_comparing(&mut self, verify: &IndexVerify, is_whole: bool, keeper: &mut dyn IndexKeeper) {
        let (name, found) = (verify.name(), verify.found());
        let findings: Vec<String> = verify.findings().iter().map(ToString::to_string).collect();
        if is_whole {
            let first = findings.first().map(String::as_str);
            // For the log of the server: a difference is a fault that somebody should know of.
            keeper.verified(&name.text(self.dsa.shard().schema()), found, first);
        }
        let (entries, keys, passed_over) = (verify.entries(), verify.keys(), verify.passed_over());
        let outcome = Outcome { name, entries, keys, passed_over, found, findings };
        self.dsa.indexing.lock().end_comparing(is_whole.then_some(outcome));
    }
}
