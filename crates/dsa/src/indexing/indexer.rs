//! The one who builds, drops and verifies indexes, a step at a time.
//!
//! It runs on a thread of its own, or in a simulation's steps. Each step takes the writer's role once and for a short time, since updates wait
//! meanwhile. It holds no read point between two steps, so it never keeps old versions alive.

use super::{Progress, Task};
use crate::engine::Dsa;
use std::io;
use std::sync::Arc;
use store::{IndexBuild, IndexDrop, IndexName, IndexVerify, Refused, Writer};

/// Nodes of a dropped tree that go meanwhile.
/// A tree of a million keys goes in a few thousand steps.
const STEP_NODES: usize = 256;

/// Where it is written down which indexes were made and dropped, to outlive the process. Each is durable when it returns.
/// The order matters: an index is written down before it answers, and crossed out before it is dropped. So a crash in between leaves
/// an index that is built again, never one that is reported and not there.
pub trait IndexKeeper {
    /// An index was made: it is there after the next start.
    ///
    /// # Errors
    /// When that cannot be written; then it is given up.
    fn made(&mut self, index: &str) -> io::Result<()>;

    /// An index goes.
    ///
    /// # Errors
    /// When that cannot be written; then it stays.
    fn dropped(&mut self, index: &str) -> io::Result<()>;

    /// A build, or a drop, came to nothing: for the one that looks after the server.
    fn failed(&mut self, index: &str, why: &str);

    /// An index was compared with the entries. `found` keys are wrong; the first of them, in words.
    fn verified(&mut self, index: &str, found: u64, first: Option<&str>);
}

/// When the next step is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// When something is asked for.
    Idle,
    /// Soon: others want the writer's role too.
    Soon,
    /// When searches that are in progress have gone on.
    Later,
}

/// Applies what is asked for.
pub struct Indexer {
    pub(super) dsa: Arc<Dsa>,
    build: Option<IndexBuild>,
    pub(super) verify: Option<IndexVerify>,
    leaving: Vec<IndexDrop>,
    pub(super) step_keys: usize,
}

impl Indexer {
    /// For a directory, which has one. In a step about `step_keys` keys go into an index, while others wait for the writer's
    /// role.
    pub fn new(dsa: Arc<Dsa>, step_keys: usize) -> Indexer {
        Indexer { dsa, build: None, verify: None, leaving: Vec::new(), step_keys }
    }

    /// Does a little of what is to be done.
    /// What is to be freed comes first: it gives memory back, which the next build may need.
    pub fn step(&mut self, keeper: &mut dyn IndexKeeper) -> Pace {
        let had_leaving = self.leaving.len();
        let has_freed = self.free();
        if let Some(verify) = self.verify.take() {
            return self.compare(verify, keeper);
        }
        let Some(build) = self.build.take() else {
            return match self.begin(keeper) {
                Some(pace) => pace,
                None if self.leaving.is_empty() => Pace::Idle,
                None if has_freed || self.leaving.len() < had_leaving => Pace::Soon,
                None => Pace::Later,
            };
        };
        self.go_on(build, keeper)
    }

    /// Frees some of what dropped indexes leave. Was anything freed?
    fn free(&mut self) -> bool {
        if self.leaving.is_empty() {
            return false;
        }
        let leaving = std::mem::take(&mut self.leaving);
        // One batch for all of them: readers see each index go at once, and nothing else changes.
        let (free, leaving): (Vec<_>, _) = write(&self.dsa, |writer| {
            leaving.into_iter().partition(|drop| writer.index_free(drop, STEP_NODES))
        });
        self.leaving = leaving;
        // What takes the memory is given back here, while nobody waits for the writer's role.
        let has_freed = !free.is_empty();
        drop(free);
        has_freed
    }

    /// Begins the next task, if there is one.
    fn begin(&mut self, keeper: &mut dyn IndexKeeper) -> Option<Pace> {
        let dsa = Arc::clone(&self.dsa);
        let mut state = dsa.indexing.lock();
        assert!(self.build.is_none() && self.verify.is_none(), "one index at a time");
        let task = state.tasks.pop_front()?;
        match task {
            Task::Build(name) => {
                state.failed.retain(|(other, _)| *other != name);
                state.forget_outcome(name);
                let progress = Progress { name, entries: 0, is_waiting: false, is_cancelled: false };
                state.building = Some(progress);
                drop(state);
                // The state is unlocked before the role is taken: a report must not wait for an update.
                match write(&dsa, |writer| writer.index_begin(name)) {
                    Ok(build) => self.build = Some(build),
                    Err(refused) => self.end_build(name, Some(refused.to_string()), keeper),
                }
            }
            Task::Verify(name) => {
                // Who asks finds it waiting or in progress at any moment, or else done.
                state.begin_comparing(name);
                drop(state);
                return Some(self.begin_comparing(name));
            }
            Task::Drop(name) => {
                drop(state);
                let text = name.text(dsa.shard().schema());
                // Durable first. If that fails the index stays, and no client was answered that it went.
                match keeper.dropped(&text) {
                    Ok(()) => self.leaving.extend(write(&dsa, |writer| writer.index_drop(name))),
                    Err(error) => keeper.failed(&text, &format!("it stays: {error}")),
                }
            }
        }
        Some(Pace::Soon)
    }

    /// One step of the build: about `step_keys` keys, then others may write.
    fn go_on(&mut self, mut build: IndexBuild, keeper: &mut dyn IndexKeeper) -> Pace {
        let (dsa, name) = (Arc::clone(&self.dsa), build.name());
        let is_cancelled = dsa.indexing.lock().building.is_some_and(|building| building.is_cancelled);
        if is_cancelled {
            self.give_up(build, None, keeper);
            return Pace::Soon;
        }
        // Each step asks: it may be another by now.
        let bytes_max = dsa.memory_bytes_max();
        match write(&dsa, |writer| writer.index_step(&mut build, self.step_keys, bytes_max)) {
            Ok(is_complete) => {
                if let Some(progress) = &mut dsa.indexing.lock().building {
                    (progress.entries, progress.is_waiting) = (build.entries(), is_complete);
                }
                if !is_complete {
                    self.build = Some(build);
                    return Pace::Soon;
                }
            }
            Err(refused) => {
                self.give_up(build, Some(too_much(&refused)), keeper);
                return Pace::Soon;
            }
        }
        self.publish(build, name, keeper)
    }

    /// Lets a complete index answer, when it may.
    /// The order: no older reader, written down, reported. If it cannot be written down the index is given up, though it could answer.
    fn publish(&mut self, build: IndexBuild, name: IndexName, keeper: &mut dyn IndexKeeper) -> Pace {
        let text = name.text(self.dsa.shard().schema());
        // Once this was tried and refused there are older readers yet; it is written down when there are none.
        if !write(&self.dsa, |writer| writer.index_ready(&build)) {
            self.build = Some(build);
            return Pace::Later;
        }
        match keeper.made(&text) {
            Ok(()) => {
                let mut state = self.dsa.indexing.lock();
                if state.building.take().is_some_and(|building| building.is_cancelled) {
                    state.tasks.push_front(Task::Drop(name));
                }
            }
            Err(error) => {
                self.give_up(build, Some(format!("the list of indexes cannot be saved: {error}")), keeper)
            }
        }
        Pace::Soon
    }

    /// What it has taken is freed like what a dropped index leaves.
    fn give_up(&mut self, build: IndexBuild, why: Option<String>, keeper: &mut dyn IndexKeeper) {
        let name = build.name();
        self.leaving.push(write(&self.dsa, |writer| writer.index_give_up(build)));
        self.end_build(name, why, keeper);
    }

    /// From here on the report has no build in progress.
    fn end_build(&mut self, name: IndexName, why: Option<String>, keeper: &mut dyn IndexKeeper) {
        let mut state = self.dsa.indexing.lock();
        state.building = None;
        if let Some(why) = why {
            keeper.failed(&name.text(self.dsa.shard().schema()), &why);
            state.fail(name, why);
        }
    }
}

/// Does a part of the work in the writer's role, and publishes it.
pub(super) fn write<T>(dsa: &Dsa, work: impl FnOnce(&mut Writer<'_>) -> T) -> T {
    let mut writer = dsa.shard.writer();
    let done = work(&mut writer);
    writer.publish();
    done
}

fn too_much(refused: &Refused) -> String {
    match refused {
        Refused::MemoryLimit { bytes_max } => {
            format!("it would exceed memory-max, {bytes_max} bytes")
        }
        other => other.to_string(),
    }
}
