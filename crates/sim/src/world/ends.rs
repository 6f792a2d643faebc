//! How an incarnation of the server ends.

use super::{Violation, World};
use crate::disk::Faults;
use crate::node::Node;
use env::clock::Clock as _;
use node::data::Recovered;
use node::data::snapshot::Step;
use wal::Mode;

impl World {
    /// The end that the plan wants, if nothing has ended it before.
    pub(super) fn end_as_planned(&mut self, node: Node) -> Result<(), Violation> {
        let drawn = self.random.below(1000);
        let ends = self.plan.ends;
        if drawn < ends.power_cut {
            self.lose_power(node);
        } else if drawn < ends.power_cut + ends.kill {
            self.kill(node);
        } else {
            self.disk.set_faults(Faults::default());
            return self.close(node);
        }
        Ok(())
    }

    /// The power fails, or the process is killed.
    pub(super) fn end(&mut self, node: Node) -> Result<(), Violation> {
        if self.disk.is_off() || self.random.chance(500) {
            self.lose_power(node);
        } else {
            self.kill(node);
        }
        Ok(())
    }

    fn lose_power(&mut self, node: Node) {
        // What is less safe than that is promised by a mode that is all about power.
        let synced = node.recovered.committer.log().synced().0;
        let is_kept = self.log.mode == Mode::Always;
        self.promised = if is_kept { self.applied } else { synced.min(self.applied) };
        self.trace.note(format_args!("end: the power fails; up to record {} is promised", self.promised));
        self.disk.lose_power_keeping(self.plan.sectors_kept());
        self.on_end_of(node);
    }

    fn kill(&mut self, node: Node) {
        self.promised = self.applied;
        self.trace.note(format_args!("end: killed; up to record {} is promised", self.promised));
        self.disk.kill();
        self.on_end_of(node);
    }

    fn on_end_of(&mut self, node: Node) {
        drop(node);
        self.clients.on_disconnect();
        self.disk.set_faults(Faults::default());
    }

    /// A clean end: nothing is lost, and the last snapshot has all of it.
    fn close(&mut self, mut node: Node) -> Result<(), Violation> {
        let failed = |what| Violation { property: "a clean end keeps everything", what };
        let committer = &node.recovered.committer;
        if committer.log().poisoned().is_some() || self.disk.is_off() {
            return self.end(node);
        }
        // Without room for it the last block could not be taken.
        while node.prepare_file() {}
        self.step(&mut node)?;
        if node.end_sync().is_err() {
            return self.end(node);
        }
        let Node { recovered: Recovered { committer, mut snapshots, .. }, mut writing, .. } = node;
        // Without pauses now, and before the last.
        while let Some((begun, index)) = writing.take() {
            let step = snapshots.go_on(begun).map_err(|error| failed(error.to_string()))?;
            writing = match step {
                Step::Goes(begun) => Some((begun, index)),
                Step::Written(_) => None,
            };
        }
        let closed = committer.close(self.clock.wall_ms(), self.clock.monotonic_ms());
        let closed = closed.map_err(|error| failed(error.to_string()))?;
        let (checkpoint, index) = closed.ok_or_else(|| failed("too many readers".to_owned()))?;
        self.follow(index.0).map_err(failed)?;
        if snapshots.latest().is_none_or(|last| last.index < index) {
            snapshots.write(checkpoint, index).map_err(|error| failed(error.to_string()))?;
        }
        (self.applied, self.promised) = (index.0, index.0);
        self.tally.clean += 1;
        self.trace.note(format_args!("end: a clean one, with {index} records"));
        self.disk.lose_power_keeping(self.plan.sectors_kept());
        self.clients.on_disconnect();
        self.disk.set_faults(Faults::default());
        Ok(())
    }
}
