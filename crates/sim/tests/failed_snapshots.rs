//! Snapshots of a directory that fail, one operation of the disk after the other.

use node::commit::Taken;
use sim::clock::SimClock;
use sim::disk::{Faults, SimDisk};
use sim::node::{Node, digest};
use sim::oracle::Oracle;
use sim::random::Random;
use sim::requests::Bundle;
use sim::workloads::{self, Workload};
use std::io;
use std::path::Path;
use std::sync::Arc;

const DIR: &str = "data";

/// A server at work on a disk.
struct Server {
    disk: SimDisk,
    node: Node,
    oracle: Oracle,
    random: Random,
    workload: Box<dyn Workload>,
    clock: SimClock,
}

fn log() -> wal::Settings {
    wal::Settings {
        file_bytes: 64 << 10,
        waiting_bytes_max: 8192,
        ready_files: 1,
        ..wal::Settings::default()
    }
}

fn start(disk: &SimDisk, clock: &SimClock) -> Node {
    Node::start(Arc::new(disk.clone()), Path::new(DIR), log(), 1, 1, clock).expect("nothing fails yet")
}

impl Server {
    fn new(seed: u64) -> Server {
        let (disk, clock) = (SimDisk::new(seed), SimClock::default());
        let node = start(&disk, &clock);
        let workload = workloads::named("mixed", 1).expect("there is one");
        let mut server =
            Server { disk, node, oracle: Oracle::default(), random: Random::new(seed), workload, clock };
        let mut base = Bundle::default();
        workloads::base(1, &mut base);
        server.apply(&base);
        server
    }

    fn apply(&mut self, bundle: &Bundle) {
        self.oracle.on_sent(&bundle.updates);
        self.node.apply(0, bundle, &self.clock);
    }

    /// Some updates, then what is there.
    fn work(&mut self, bundles: usize) -> Taken {
        for _ in 0..bundles {
            let mut bundle = Bundle::default();
            self.workload.start(0, &mut self.random, &mut bundle);
            self.apply(&bundle);
        }
        let taken = self.node.recovered.committer.checkpoint().expect("nothing fails yet");
        taken.expect("there are few readers")
    }
}

/// A snapshot fails at its operation number `fail`, and in the next attempt the power at operation number `power`. False
/// if the snapshot has not as many operations.
fn fail_twice(fail: u64, power: u64) -> bool {
    let mut server = Server::new(1);
    let (checkpoint, index) = server.work(3);
    server.node.recovered.snapshots.write(checkpoint, index).expect("nothing fails yet");
    let (checkpoint, index) = server.work(3);
    let fail_at = Some((server.disk.operations() + fail, io::ErrorKind::Other));
    server.disk.set_faults(Faults { fail_at, ..Faults::default() });
    if server.node.recovered.snapshots.write(checkpoint, index).is_ok() {
        return false;
    }
    let (checkpoint, index) = server.work(3);
    let power_at = Some(server.disk.operations() + power);
    server.disk.set_faults(Faults { power_at, ..Faults::default() });
    let _ = server.node.recovered.snapshots.write(checkpoint, index);
    server.disk.lose_power();
    let applied = server.node.applied();
    drop(server.node);
    server.disk.set_faults(Faults::default());
    server.oracle.follow(&server.disk, Path::new(DIR), u64::MAX).expect("the log is whole");
    assert_eq!(server.oracle.at(), applied, "{fail}, {power}");
    let again = start(&server.disk, &server.clock);
    assert_eq!(again.applied(), applied, "{fail}, {power}");
    assert!(digest(&again.recovered.dsa) == server.oracle.digest(), "{fail}, {power}");
    true
}

/// A commit that fails after the manifest was renamed leaves open which snapshot is the last: what it names must stay
/// what it is, whatever becomes of the next attempt.
#[test]
fn a_failed_snapshot_does_not_spoil_the_last() {
    let tried = (1..).take_while(|fail| (1..=20).all(|power| fail_twice(*fail, power)));
    assert!(tried.count() > 10);
}

/// Files of a snapshot for which there was not enough room do not take the log's.
#[test]
fn a_snapshot_without_room_leaves_nothing() {
    use env::disk::Disk as _;
    let dir = Path::new(DIR).join("snapshot");
    let mut tried = 0;
    for room in (0..100_000).step_by(700) {
        let mut server = Server::new(2);
        let before = server.disk.list(&dir).expect("it is there");
        let (checkpoint, index) = server.work(10);
        let used = u64::MAX - server.disk.free_bytes().expect("it is there");
        server.disk.set_faults(Faults { capacity: Some(used + room), ..Faults::default() });
        if server.node.recovered.snapshots.write(checkpoint, index).is_ok() {
            break;
        }
        assert_eq!(server.disk.list(&dir).expect("it is there"), before, "with room for {room} bytes");
        tried += 1;
    }
    assert!(tried > 5, "{tried} were without room");
}
