//! Indexes that are built, dropped and verified while the directory is served: what was asked for, what is in progress, and what
//! became of it. The one that asks is answered at once; an [`Indexer`] applies it, step by step, one index after the other.
//!
//! Why it is so: `docs/decisions/0020-indexes-on-line.md`.
//!
//! ```text
//! asked for   ->  tasks, in order  ->  building or comparing, one at a time  ->  ready | failed | outcome
//! ```
//! The state is under one lock that is held for a few steps only. Nobody waits for an index: a client asks, and reads in cn=Indexes how far it
//! is. What was built is written down by an [`IndexKeeper`] before it is reported as ready.

mod indexer;
mod verifying;
mod wanted;

pub use indexer::{IndexKeeper, Indexer, Pace};
use verifying::{Outcome, Verifying};
pub(crate) use wanted::{IndexChange, parse};

use model::limits::{INDEX_TASKS_MAX, INDEXES_MAX};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::{IndexName, IndexReport, ReadPoint};

/// Builds that failed and are still reported.
const FAILED_MAX: usize = 64;

/// Something to be done.
/// A task that was begun is in `building` or `verifying` instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Build(IndexName),
    Drop(IndexName),
    Verify(IndexName),
}

/// How far the index in progress is.
/// It is what the report shows; the build itself is the indexer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Progress {
    name: IndexName,
    entries: u64,
    /// It is complete but waits for searches that began before.
    is_waiting: bool,
    /// Nobody wants it any more.
    is_cancelled: bool,
}

/// What was asked for and what became of it. Shared by those who ask and the one who does it.
/// It belongs to the agent; the indexer's thread may come and go.
#[derive(Debug, Default)]
pub struct Indexing {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    tasks: VecDeque<Task>,
    building: Option<Progress>,
    failed: VecDeque<(IndexName, String)>,
    verifying: Option<Verifying>,
    outcomes: VecDeque<Outcome>,
    ending: bool,
}

/// Why nothing of what was asked for is done.
/// Each names the index that is at fault, for the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotTaken {
    /// Too much is waiting to be done.
    Busy,
    /// There would be more indexes than there may be.
    TooMany,
    /// There is such an index, or it is being built.
    Exists(IndexName),
    /// There is no such index.
    Missing(IndexName),
    /// It is being compared, or is to be.
    Verified(IndexName),
    /// It is not.
    NotVerified(IndexName),
}

impl Indexing {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole after every statement, so one who panicked left nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The indexes as they will be when all is done that was asked for.
    /// A request is judged by these and not by those that are there: two requests that follow each other must make sense together.
    pub(crate) fn wanted(&self, now: ReadPoint<'_>) -> BTreeSet<IndexName> {
        self.lock().wanted(now)
    }

    /// Indexes that are compared with the entries, or are to be.
    pub(crate) fn comparing(&self) -> BTreeSet<IndexName> {
        self.lock().comparing()
    }

    /// Takes all that is asked for in one request, in its order, or nothing of it.
    ///
    /// The plan is made before anything is changed, under the same lock, so a request is taken as a whole or not at all.
    pub(crate) fn ask(&self, asked: &[IndexChange], now: ReadPoint<'_>) -> Result<(), NotTaken> {
        let mut state = self.lock();
        let Plan { come, gone, verify, leave } = state.plan(asked, now)?;
        // Those that go first: they make room for those that come.
        leave.iter().for_each(|name| state.leave(*name));
        gone.iter().for_each(|name| state.drop_one(*name));
        come.iter().for_each(|name| state.tasks.push_back(Task::Build(*name)));
        verify.iter().for_each(|name| state.verify(*name));
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// The indexes that would be dropped if that was asked for.
    /// A drop of a configured index is logged first, and asked for when that is applied. In between the same may have been asked by another.
    pub(crate) fn dropped_by(
        &self,
        asked: &[IndexChange],
        now: ReadPoint<'_>,
    ) -> Result<BTreeSet<IndexName>, NotTaken> {
        self.lock().plan(asked, now).map(|plan| plan.gone)
    }

    /// A line for each index: its name, its state, and what is to be reported of that.
    /// Reading it changes nothing, so it can be read as often as a client likes.
    pub(crate) fn report(&self, now: ReadPoint<'_>, entries_all: u64) -> Vec<String> {
        let (state, schema) = (self.lock(), now.shard().schema());
        // What the store has; the tasks tell what is still to come.
        let report = now.index_report();
        let is_there = |name: IndexName| report.iter().any(|index| index.name == name);
        let index = |name: IndexName| format!("index={}", name.text(schema));
        let mut lines: Vec<String> = report
            .iter()
            .map(|&IndexReport { name, bytes, has_positions, .. }| {
                // Until it is written down it is not reported as ready.
                let Some(building) = state.building.filter(|building| building.name == name) else {
                    let verified = state.verified(name, entries_all);
                    // Which searches it serves beside those by `>=` and `<=`.
                    let serves = match has_positions {
                        None => String::new(),
                        Some(true) => format!(" serves=sort,vlv{}", view_classes(now, name)),
                        Some(false) => " serves=sort".to_owned(),
                    };
                    return format!("{} state=ready bytes={bytes}{serves}{verified}", index(name));
                };
                let Progress { entries, is_waiting, .. } = building;
                let (what, all) =
                    if is_waiting { ("waiting", entries) } else { ("building", entries_all.max(entries)) };
                format!("{} state={what} entries={entries} of={all} bytes={bytes}", index(name))
            })
            .collect();
        // Just being begun, or given up.
        if let Some(Progress { name, entries, .. }) =
            state.building.filter(|building| !is_there(building.name))
        {
            let all = entries_all.max(entries);
            lines.push(format!("{} state=building entries={entries} of={all} bytes=0", index(name)));
        }
        for task in &state.tasks {
            match task {
                Task::Build(name) => lines.push(format!("{} state=queued", index(*name))),
                Task::Drop(name) => lines.push(format!("{} state=leaving", index(*name))),
                // Reported with the index.
                Task::Verify(_) => {}
            }
        }
        lines.extend(state.differences(schema));
        let failed = state.failed.iter();
        lines.extend(failed.map(|(name, why)| format!("{} state=failed reason={why}", index(*name))));
        lines
    }

    /// Waits until something is asked for, `timeout` at most. False when the indexer should end.
    /// Spurious wake-ups are looked through: it returns for a task, the time or the end.
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        let state = self.lock();
        let nothing_to_do = |state: &mut State| !state.ending && state.tasks.is_empty();
        let state = match timeout {
            // A rest between two steps: only the end cuts it short.
            Some(timeout) => {
                let is_going_on = |state: &mut State| !state.ending;
                self.changed
                    .wait_timeout_while(state, timeout, is_going_on)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
            None => self.changed.wait_while(state, nothing_to_do).unwrap_or_else(PoisonError::into_inner),
        };
        !state.ending
    }

    /// An index that was to come with its attribute type could not be made.
    pub(crate) fn is_not_made(&self, name: IndexName, why: String) {
        self.lock().fail(name, why);
    }

    /// Tells the indexer to end, with whatever is in progress.
    /// A build in progress is given up: the next start begins it again from the list.
    pub fn end(&self) {
        self.lock().ending = true;
        self.changed.notify_all();
    }
}

/// What a request comes to.
/// Sets, so that a request that names an index twice comes to one task.
struct Plan {
    come: BTreeSet<IndexName>,
    gone: BTreeSet<IndexName>,
    verify: BTreeSet<IndexName>,
    leave: BTreeSet<IndexName>,
}

impl State {
    /// It changes nothing.
    fn plan(&self, asked: &[IndexChange], now: ReadPoint<'_>) -> Result<Plan, NotTaken> {
        let before = self.wanted(now);
        let mut after = before.clone();
        let compared = self.comparing();
        let mut to_compare = compared.clone();
        for change in asked {
            match change {
                IndexChange::Add(name) if !after.insert(*name) => return Err(NotTaken::Exists(*name)),
                IndexChange::Delete(name) if !after.remove(name) => return Err(NotTaken::Missing(*name)),
                IndexChange::Verify(name) if !after.contains(name) => return Err(NotTaken::Missing(*name)),
                IndexChange::Verify(name) if !to_compare.insert(*name) => {
                    return Err(NotTaken::Verified(*name));
                }
                IndexChange::Leave(name) if !to_compare.remove(name) => {
                    return Err(NotTaken::NotVerified(*name));
                }
                IndexChange::Add(_)
                | IndexChange::Delete(_)
                | IndexChange::Verify(_)
                | IndexChange::Leave(_) => {}
                IndexChange::LeaveAll => to_compare.clear(),
                IndexChange::Replace(names) => after = names.clone(),
            }
        }
        // Judged by what will be there: a request that replaces all of them by as many is taken.
        if after.len() > INDEXES_MAX {
            return Err(NotTaken::TooMany);
        }
        assert!(after.len() <= INDEXES_MAX, "each index has a number");
        to_compare.retain(|name| after.contains(name));
        let plan = Plan {
            come: &after - &before,
            gone: &before - &after,
            verify: &to_compare - &compared,
            leave: &compared - &to_compare,
        };
        if self.tasks.len() + plan.come.len() + plan.gone.len() + plan.verify.len() > INDEX_TASKS_MAX {
            return Err(NotTaken::Busy);
        }
        Ok(plan)
    }

    fn wanted(&self, now: ReadPoint<'_>) -> BTreeSet<IndexName> {
        let ready = now.index_report().into_iter().filter(|index| index.is_ready).map(|index| index.name);
        let mut wanted: BTreeSet<IndexName> = ready.collect();
        wanted.extend(self.building.filter(|building| !building.is_cancelled).map(|building| building.name));
        for task in &self.tasks {
            match task {
                Task::Build(name) => _ = wanted.insert(*name),
                Task::Drop(name) => _ = wanted.remove(name),
                Task::Verify(_) => {}
            }
        }
        wanted
    }

    /// One that is not there yet need not be built first.
    fn drop_one(&mut self, name: IndexName) {
        if let Some(at) = self.tasks.iter().position(|task| *task == Task::Build(name)) {
            self.tasks.remove(at);
            return;
        }
        match &mut self.building {
            Some(building) if building.name == name => building.is_cancelled = true,
            _ => self.tasks.push_back(Task::Drop(name)),
        }
    }

    /// The newest failures are kept: the list is for an administrator and must not grow without end.
    fn fail(&mut self, name: IndexName, why: String) {
        self.failed.retain(|(other, _)| *other != name);
        if self.failed.len() == FAILED_MAX {
            self.failed.pop_front();
        }
        assert!(self.failed.len() < FAILED_MAX, "there is room for one more");
        self.failed.push_back((name, why));
    }
}

/// The object classes on which a filter of a view may be, as the end of a line.
fn view_classes(now: ReadPoint<'_>, index: IndexName) -> String {
    let schema = now.shard().schema();
    let classes = now.classes_with_value(index.attribute_type);
    let names: Vec<&str> = classes.iter().map(|class| schema.class(*class).name()).collect();
    if names.is_empty() { String::new() } else { format!(" classes={}", names.join(",")) }
}

#[cfg(test)]
mod tests;
