//! Replicas make snapshots, and one that is behind takes that of another.

use super::replica::Damage;
use super::replica::Written;
use super::{Cluster, broken};
use crate::properties;
use crate::world::Violation;
use consensus::{Fetch, Request};
use node::data::snapshot::{Step, Way};
use node::transfer::Progress;
use wal::Index;

impl Cluster {
    /// A replica that runs and writes no snapshot begins one.
    pub(super) fn begin_snapshot(&mut self, at: usize) {
        let replica = &mut self.replicas[at];
        let Some(node) = replica.node.as_mut().filter(|_| replica.written.is_none()) else { return };
        if replica.damage != Damage::None {
            // It could come to another replica before anybody knows.
            return;
        }
        let latest = node.recovered.snapshots.latest().map(|latest| latest.index);
        let Ok(Some((point, index))) = node.recovered.committer.checkpoint() else { return };
        if latest.is_some_and(|latest| latest >= index) {
            return;
        }
        let record = point.mark.record;
        let begun = node.recovered.snapshots.begin(point, index, Way::AtOnce);
        self.on_step(at, index, record, begun.ok());
    }

    /// A replica writes the next piece of its snapshot.
    pub(super) fn write_snapshot(&mut self, at: usize) {
        let replica = &mut self.replicas[at];
        let (Some(node), Some(Written { writing, index, record })) =
            (&mut replica.node, replica.written.take())
        else {
            return;
        };
        let step = node.recovered.snapshots.go_on(writing);
        self.on_step(at, index, record, step.ok());
    }

    fn on_step(&mut self, at: usize, index: Index, record: Index, step: Option<Step>) {
        let replica = &mut self.replicas[at];
        let Some(node) = &mut replica.node else { return };
        match step {
            Some(Step::Goes(writing)) => replica.written = Some(Written { writing, index, record }),
            Some(Step::Written(_)) => {
                node.recovered.committer.queue().status().on_snapshot(index, 0);
                let log = node.recovered.committer.log();
                // What fails is tried again after the next.
                let _ = node.recovered.snapshots.release(log, record, &mut |_| ());
                node.recovered.snapshots.clear(&mut |_, _| ());
                self.tally.snapshots += 1;
                let id = replica.id;
                self.trace.note(format_args!("  replica {id} has a snapshot up to entry {index}"));
            }
            None => {}
        }
    }

    /// A replica sends of its snapshot what others want, and takes what comes. One that has got all starts again.
    pub(super) fn transfer(&mut self, at: usize) -> Result<(), Violation> {
        let replica = &mut self.replicas[at];
        let (Some(control), Some(transfer)) = (replica.control(), &mut replica.transfer) else {
            return Ok(());
        };
        // Too much is asked for only of one that does nothing.
        let tell = |fetch| _ = control.ask(Request::Fetch(fetch));
        let now_ms = replica.clock.monotonic_ms();
        let view = control.view();
        transfer.withhold(view.compared.standing.withholds());
        match transfer.step(now_ms, view.wanted) {
            Progress::Idle | Progress::Sends => {}
            Progress::Goes => tell(Fetch::Goes),
            Progress::Failed => tell(Fetch::Failed),
            Progress::Done => {
                self.tally.fetched += 1;
                let id = replica.id;
                self.trace.note(format_args!("  replica {id} has fetched a snapshot"));
                self.end(at);
                return self.start(at);
            }
        }
        Ok(())
    }

    /// A start that follows the fetch of a snapshot goes on with it: nothing else brings a replica forward that needs one.
    pub(super) fn must_not_go_back(&mut self, at: usize) -> Result<(), Violation> {
        let replica = &mut self.replicas[at];
        let Some(node) = &replica.node else { return Ok(()) };
        let latest = node.recovered.snapshots.latest().map_or(0, |latest| latest.index.0);
        if latest < replica.snapshot {
            let what = format!(
                "replica {} had a snapshot up to entry {}, and has one up to {latest}",
                replica.id, replica.snapshot
            );
            return Err(broken(properties::FORWARD)(what));
        }
        replica.snapshot = latest;
        Ok(())
    }
}
