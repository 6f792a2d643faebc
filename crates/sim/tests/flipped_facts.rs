//! The bits of the files that say what a directory is made with are turned over, one at a time; of the many definitions in
//! the file of rules some are. The start is refused, or what is recovered, and what comes next, is what it would have been.

use env::disk::Disk;
use sim::clock::SimClock;
use sim::disk::SimDisk;
use sim::node::{Node, digest};
use sim::requests::Bundle;
use sim::workloads;
use std::path::Path;
use std::sync::Arc;

const DIR: &str = "data";
/// Bits at the begin and at the end of a file that are all turned over.
const ALL_BITS: u64 = 4096;

fn start(disk: &SimDisk) -> Option<Node> {
    let log = wal::Settings { file_bytes: 64 << 10, waiting_bytes_max: 8192, ..wal::Settings::default() };
    Node::start(Arc::new(disk.clone()), Path::new(DIR), log, 1, 1, &SimClock::default()).ok()
}

/// Some work; what is there afterwards.
fn work(node: &mut Node, sessions: usize) -> u128 {
    let mut bundle = Bundle::default();
    workloads::base(sessions, &mut bundle);
    let clock = SimClock::default();
    node.send(0, &bundle.bytes, &clock);
    node.step(&clock).expect("nothing fails");
    digest(&node.recovered.dsa)
}

/// A disk with a directory that was worked on and killed.
fn killed(with_snapshot: bool) -> SimDisk {
    let disk = SimDisk::new(1);
    let mut node = start(&disk).expect("nothing fails");
    work(&mut node, 3);
    if with_snapshot {
        let taken = node.recovered.committer.checkpoint().expect("nothing fails");
        let (checkpoint, index) = taken.expect("there are few readers");
        node.recovered.snapshots.write(checkpoint, index).expect("nothing fails");
    }
    drop(node);
    disk.kill();
    disk
}

fn a_flipped_bit_changes_nothing_or_is_refused(with_snapshot: bool) {
    let disk = killed(with_snapshot);
    let right = work(&mut start(&disk.copy()).expect("nothing fails"), 5);
    for name in ["founding", "rules"] {
        let path = Path::new(DIR).join(name);
        let bytes = disk.open(&path).and_then(|file| file.len()).expect("it is there");
        let mut stopped = 0;
        let bits = bytes * 8;
        let is_tried = |at: &u64| *at < ALL_BITS || bits - at < ALL_BITS || at.is_multiple_of(499);
        for at in (0..bits).filter(is_tried) {
            let copy = disk.copy();
            assert!(copy.flip_bit(&path, at / 8, (at % 8) as u8), "it is there");
            match start(&copy) {
                Some(mut node) => {
                    assert!(work(&mut node, 5) == right, "{name}: bit {at}, {with_snapshot}")
                }
                None => stopped += 1,
            }
        }
        println!("{name}: {stopped} of {} bits stop the start", (0..bits).filter(is_tried).count());
        assert!(stopped > 0, "{name}");
    }
}

#[test]
fn a_flipped_bit_of_what_a_log_is_replayed_with() {
    a_flipped_bit_changes_nothing_or_is_refused(false);
}

#[test]
fn a_flipped_bit_of_what_a_snapshot_is_restored_with() {
    a_flipped_bit_changes_nothing_or_is_refused(true);
}

#[test]
fn a_directory_whose_log_is_gone_is_not_started() {
    for with_snapshot in [false, true] {
        let disk = killed(with_snapshot);
        let log = Path::new(DIR).join("log");
        for name in disk.list(&log).expect("it is there") {
            disk.remove(&log.join(name)).expect("nothing fails");
        }
        let files = disk.list(&log).expect("it is there");
        assert!(start(&disk).is_none(), "{with_snapshot}");
        assert_eq!(disk.list(&log).expect("it is there"), files, "nothing is made");
    }
}
