//! What happens while the server runs.

use super::{SESSIONS, Violation, World};
use crate::node::{Node, digest};
use crate::operator::{ARCHIVE, BACKUPS};
use crate::properties;
use crate::requests::Bundle;
use crate::workloads;
use node::data::snapshot::{SnapshotError, Step as Writes, Way};
use std::path::Path;
use wal::Index;

/// Nanoseconds of the clock between two steps, at most.
const STEP_NS_MAX: u64 = 3_000_000;
/// How often a backup is taken, of 1,000 steps.
const BACKUPS_OF_1000: u64 = 15;

impl World {
    /// One incarnation, up to its end.
    pub(super) fn live(&mut self, node: Node) -> Result<(), Violation> {
        let lived = self.live_on(node);
        self.readers.end();
        self.followers.disconnect(0);
        lived
    }

    fn live_on(&mut self, mut node: Node) -> Result<(), Violation> {
        self.rank(&mut node);
        self.set_up(&mut node);
        let mut faults = self.plan.faults(&mut self.random, self.disk.operations());
        if self.group.is_some() {
            faults.capacity = None;
        }
        if self.operator.is_some() {
            faults.no_links = self.random.chance(200);
            // What is kept besides takes its room too.
            let besides = self.disk.used(Path::new(BACKUPS)) + self.disk.used(Path::new(ARCHIVE));
            faults.capacity = faults.capacity.map(|capacity| capacity + besides);
        }
        self.trace.note(format_args!("  {faults:?}"));
        self.disk.set_faults(faults);
        for _ in 0..20 + self.random.below(100) {
            if self.operator.is_some() && self.random.chance(BACKUPS_OF_1000) && self.is_well(&node) {
                self.back_up(&mut node)?;
                if !self.is_well(&node) {
                    return self.end(node);
                }
            }
            if self.is_well(&node) {
                self.indexes(&mut node)?;
            }
            self.readers(&node)?;
            self.follow_changes(&mut node)?;
            if self.group.is_some() && !self.replicas(&mut node)? {
                self.tally.failed += 1;
                return self.end(node);
            }
            let session = self.random.below(SESSIONS as u64) as usize;
            match self.random.below(10) {
                0..=3 if !node.waits(session) => self.send(&mut node, session)?,
                4..=7 => {
                    let goes_on = self.step(&mut node)?;
                    if !goes_on {
                        self.tally.failed += 1;
                        return self.end(node);
                    }
                }
                8 => _ = node.prepare_file(),
                9 if node.writing.is_some() || self.random.below(3) == 0 => self.snapshot(&mut node)?,
                _ => {}
            }
        }
        self.end_as_planned(node)
    }

    /// Has nothing ended it?
    fn is_well(&self, node: &Node) -> bool {
        !self.disk.is_off() && node.recovered.committer.log().poisoned().is_none()
    }

    /// Adds what must be there before anything else is done; most of it is there after the first incarnation.
    fn set_up(&mut self, node: &mut Node) {
        let mut bundle = Bundle::default();
        workloads::base(SESSIONS, &mut bundle);
        if !self.workload.has_transactions() {
            self.workload.setup(&mut bundle);
        }
        bundle.logged_together().for_each(|updates| self.oracle.on_sent(updates));
        self.calm(node, true);
        node.send(0, &bundle.bytes, &self.clock);
        if self.workload.has_transactions() {
            let _ = node.step(&self.clock);
            node.answers(0);
            self.set_up_at_once(node);
        }
        // The answers tell nothing that clients rely on.
        let _ = node.step(&self.clock);
        node.answers(0);
        self.calm(node, false);
        self.note_applied(node);
    }

    /// A session sends what comes next, and reads a counter.
    pub(super) fn send(&mut self, node: &mut Node, session: usize) -> Result<(), Violation> {
        if self.workload.has_transactions() {
            return self.transact(node, session);
        }
        let mut bundle = Bundle::default();
        self.workload.start(session, &mut self.random, &mut bundle);
        let counts = match self.workload.counts_at_most() {
            1 => 1,
            most => 1 + self.random.below(most),
        };
        for _ in 0..counts {
            self.clients.count(session, &mut bundle);
            if counts > 1 {
                bundle.read_own(session, self.clients.client(session).counted);
            }
            bundle.read_counter(self.random.below(SESSIONS as u64) as usize);
        }
        self.trace.note(format_args!("  session {session} sends {:?}", bundle.sent));
        self.clients.on_sent(session, &bundle);
        self.precedence.on_sent(session, &bundle);
        bundle.logged_together().for_each(|updates| self.oracle.on_sent(updates));
        node.send(session, &bundle.bytes, &self.clock);
        self.take_answers(node, session)
    }

    /// The committer's turn; then what sessions can read, and the answers they get. False when the log failed.
    pub(super) fn step(&mut self, node: &mut Node) -> Result<bool, Violation> {
        self.pass_time();
        let before_ns = self.disk.elapsed_ns();
        let stepped = node.step(&self.clock);
        self.look_at_watched()?;
        self.clock.pass_ns(self.disk.elapsed_ns() - before_ns);
        match &stepped {
            Ok(step) => self.trace.note(format_args!("  the committer steps: {step:?}")),
            Err(failed) => self.trace.note(format_args!("  the committer fails: {failed}")),
        }
        self.look_at_committed(node)?;
        self.note_applied(node);
        for session in 0..SESSIONS {
            self.take_answers(node, session)?;
        }
        if stepped.is_err() && !self.disk.is_off() {
            self.read_only(node)?;
        }
        Ok(stepped.is_ok())
    }

    /// After the log failed searches are still answered, and nothing they show may be taken back.
    fn read_only(&mut self, node: &mut Node) -> Result<(), Violation> {
        for session in 0..SESSIONS {
            let mut bundle = Bundle::default();
            (0..SESSIONS).for_each(|of| bundle.read_counter(of));
            self.clients.on_sent(session, &bundle);
            self.precedence.on_sent(session, &bundle);
            node.send(session, &bundle.bytes, &self.clock);
            self.take_answers(node, session)?;
        }
        Ok(())
    }

    fn pass_time(&mut self) {
        self.clock.pass_ns(self.random.below(STEP_NS_MAX));
        if self.random.chance(self.plan.clock.set) {
            let forward_ms = self.random.below(20_000) as i64 - 10_000;
            self.trace.note(format_args!("  the wall clock is set by {forward_ms} ms"));
            self.clock.set_wall(forward_ms);
        }
    }

    pub(super) fn note_applied(&mut self, node: &Node) {
        let applied = node.applied();
        if applied > self.applied {
            self.tally.records += applied - self.applied;
            self.oracle.on_seen(applied, digest(&node.recovered.dsa));
            self.applied = applied;
        }
    }

    pub(super) fn take_answers(&mut self, node: &mut Node, session: usize) -> Result<(), Violation> {
        let answers = node.answers(session);
        if !answers.is_empty() {
            self.trace.note(format_args!("  session {session} gets {answers:?}"));
        }
        // A replica that leads no more tells everybody to try again, whatever has precedence over.
        if self.group.is_none() {
            let ranked = self.precedence.on_answers(session, &answers);
            ranked.map_err(|what| Violation { property: properties::PRECEDENCE, what })?;
        }
        // A lock that cannot be written is no matter of the answer of a bind, nor is one that another leader has lost.
        let writes_locks = self.is_well(node) && !self.disk.may_fill_up() && self.group.is_none();
        let checked = self.clients.on_answers(session, &answers, (self.applied, writes_locks));
        checked.map_err(|(property, what)| Violation { property, what })?;
        let property = properties::SNAPSHOT;
        for scan in self.clients.client_mut(session).take_scans() {
            self.workload.look(&scan).map_err(|what| Violation { property, what })?;
        }
        Ok(())
    }

    /// A snapshot is begun, or gone on with: the committer and all others have their turns in between.
    fn snapshot(&mut self, node: &mut Node) -> Result<(), Violation> {
        if node.writing.is_some() {
            self.go_on_writing(node);
            return Ok(());
        }
        let Ok(taken) = node.recovered.committer.checkpoint() else { return Ok(()) };
        // The files of one replica may be behind.
        assert!(taken.is_some() || self.group.is_some(), "there are few readers");
        let Some((checkpoint, index)) = taken else { return Ok(()) };
        if self.disk.is_off() {
            return Ok(());
        }
        // Before its records may go.
        let followed = self.follow(index.0);
        if self.disk.is_off() {
            return Ok(());
        }
        followed.map_err(|what| Violation { property: "the log can be read", what })?;
        self.step(node)?;
        if self.is_well(node) {
            self.indexes(node)?;
        }
        let way = if self.random.chance(500) { Way::Beside } else { Way::AtOnce };
        let begun = node.recovered.snapshots.begin(checkpoint, index, way);
        self.on_written(node, index, begun);
        // Some at once, as when somebody waits for it.
        while way == Way::AtOnce && node.writing.is_some() {
            self.go_on_writing(node);
        }
        Ok(())
    }

    /// The next piece of a snapshot.
    fn go_on_writing(&mut self, node: &mut Node) {
        let Some((writing, index)) = node.writing.take() else { return };
        let went = node.recovered.snapshots.go_on(writing);
        self.on_written(node, index, went);
    }

    fn on_written(&mut self, node: &mut Node, index: Index, step: Result<Writes, SnapshotError>) {
        self.trace.note(format_args!("  a snapshot up to record {index}: {step:?}"));
        match step {
            Ok(Writes::Goes(writing)) => node.writing = Some((writing, index)),
            Ok(Writes::Written(_)) => {
                self.tally.snapshots += 1;
                let log = node.recovered.committer.log();
                let _ = node.recovered.snapshots.release(log, index, &mut |_| ());
                // Or not yet, when something ends it.
                if self.random.chance(800) {
                    node.recovered.snapshots.clear(&mut |_, _| ());
                }
            }
            Err(_) => {}
        }
    }
}
