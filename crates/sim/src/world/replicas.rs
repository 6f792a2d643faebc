//! Worlds in which the log has other replicas: see [`crate::late`].

use super::{DIR, Violation, World};
use crate::late::{LateLog, Others};
use crate::node::Node;
use crate::properties;
use node::data::Recovered;
use std::path::Path;

/// Turns within which a replica learns what the others have, and begins to lead in a calm.
const LEARNS_WITHIN: usize = 10_000;
const LEADS_WITHIN: usize = 4;
/// Turns that a read waits for a barrier.
const BARRIER_WITHIN: usize = 100;
/// Of 1,000 turns, those in which somebody reads after a barrier, and those before which more time passes than updates of a
/// deposed leader wait.
const BARRIERS_OF_1000: u64 = 30;
const PAUSES_OF_1000: u64 = 20;
const PAUSE_NS: u64 = 11_000_000_000;

impl World {
    /// The model applies what is in the log, up to `end`.
    pub(super) fn follow(&mut self, end: u64) -> Result<(), String> {
        match &self.group {
            Some(group) => self.oracle.follow_group(group, end),
            None => self.oracle.follow(&self.disk, Path::new(DIR), end),
        }
    }

    /// If the log has other replicas, a server that has recovered its own files joins them, and learns what it missed.
    pub(super) fn join(&mut self, node: Node) -> Result<Node, Violation> {
        let Some(group) = self.group.clone() else { return Ok(node) };
        self.look_at_files()?;
        let mut node = node.map(|recovered| Recovered {
            committer: recovered.committer.over(|disk| Box::new(LateLog::new(disk, &group))),
            ..recovered
        });
        node.sync_beside(self.random.number());
        for _ in 0..LEARNS_WITHIN {
            let failed = |what| Violation { property: properties::LEARNED, what };
            node.step(&self.clock).map_err(|error| failed(error.to_string()))?;
            node.prepare_file();
            self.look_at_committed(&node)?;
            if node.applied() == group.committed() {
                self.note_applied(&node);
                let unreadable = |what| Violation { property: "the log can be read", what };
                self.follow(u64::MAX).map_err(unreadable)?;
                return Ok(node);
            }
        }
        let what = format!("it has {} records of {}", node.applied(), group.committed());
        Err(Violation { property: properties::LEARNED, what })
    }

    /// What the files have after an end is what is committed at the same place.
    fn look_at_files(&self) -> Result<(), Violation> {
        let Some(group) = &self.group else { return Ok(()) };
        let mut visit = |record: wal::Record<'_>| match group.decided(record.index.0) {
            Some(payload) if payload == record.payload => Ok(()),
            _ => Err("another record is committed there".to_owned()),
        };
        let read = wal::read(&self.disk, &Path::new(DIR).join("log"), &mut visit);
        read.map(|_| ()).map_err(|error| Violation { property: properties::FILES, what: error.to_string() })
    }

    /// Nothing is applied, and so neither seen nor answered, that is not committed.
    pub(super) fn look_at_committed(&self, node: &Node) -> Result<(), Violation> {
        let Some(group) = &self.group else { return Ok(()) };
        let (applied, committed) = (node.applied(), group.committed());
        if applied <= committed {
            return Ok(());
        }
        let what = format!("record {applied} is applied, {committed} are committed");
        Err(Violation { property: properties::UNCOMMITTED, what })
    }

    /// While this lasts the simulated replica leads and everything is committed at once.
    pub(super) fn calm(&mut self, node: &mut Node, is_calm: bool) {
        let Some(group) = &self.group else { return };
        group.set_others(if is_calm { Others::Follow } else { Others::Any });
        for _ in 0..if is_calm { LEADS_WITHIN } else { 0 } {
            let _ = node.step(&self.clock);
        }
    }

    /// What happens besides in such a world. False when the log failed.
    pub(super) fn replicas(&mut self, node: &mut Node) -> Result<bool, Violation> {
        if self.random.chance(PAUSES_OF_1000) {
            self.trace.note(format_args!("  a long time passes"));
            self.clock.pass_ns(PAUSE_NS);
        }
        if !self.random.chance(BARRIERS_OF_1000) {
            return Ok(true);
        }
        let committed = self.group.as_ref().map_or(0, |group| group.committed());
        let barrier = node.recovered.committer.barrier();
        for _ in 0..BARRIER_WITHIN {
            if !self.step(node)? {
                return Ok(false);
            }
            if !node.recovered.committer.has_passed(barrier) {
                continue;
            }
            self.trace.note(format_args!("  a barrier is passed at record {}", node.applied()));
            if node.applied() < committed {
                let what = format!("{} records of {committed} can be read", node.applied());
                return Err(Violation { property: properties::BARRIER, what });
            }
            break;
        }
        Ok(true)
    }
}
