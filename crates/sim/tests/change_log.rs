//! `cn=changelog` goes on behind an end of the server: what a snapshot releases of the log, the snapshot has.

use sim::answers::{Answer, Attributes};
use sim::clock::SimClock;
use sim::disk::SimDisk;
use sim::node::{Node, StartOptions};
use sim::requests::{Bundle, Sent, counter_dn};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const DIR: &str = "data";
const LOG: wal::Settings = wal::Settings {
    mode: wal::Mode::Always,
    file_bytes: 65536,
    waiting_bytes_max: 8192,
    ready_files: 1,
    spare_files_max: 0,
};

fn start(disk: &SimDisk, changes: u64) -> Node {
    let asked = StartOptions { seed: 1, changes, ..StartOptions::default() };
    let started =
        Node::start_with(Arc::new(disk.clone()), Path::new(DIR), LOG, asked, 1, &SimClock::default());
    started.expect("nothing fails")
}

fn apply(node: &mut Node, count: u64) {
    let mut bundle = Bundle::default();
    bundle.count(0, count, Sent::Count(count));
    node.apply(0, &bundle, &SimClock::default());
}

/// The changes by name, and the first and last number.
fn changes(node: &mut Node) -> (BTreeMap<String, Attributes>, [String; 2]) {
    let mut bundle = Bundle::default();
    bundle.search("cn=changelog", model::Scope::One, "(objectClass=*)", &["*"], Sent::Other);
    bundle.search(
        "",
        model::Scope::Base,
        "(objectClass=*)",
        &["firstChangeNumber", "lastChangeNumber"],
        Sent::Other,
    );
    let (mut found, mut bounds) = (BTreeMap::new(), Attributes::new());
    for answer in node.ask(0, &bundle, &SimClock::default()) {
        match answer {
            Answer::Entry(1, dn, attributes) => _ = found.insert(dn, attributes),
            Answer::Entry(_, _, attributes) => bounds = attributes,
            _ => {}
        }
    }
    let bound = |name: &str| bounds.get(name).map_or_else(String::new, |values| values[0].clone());
    (found, [bound("firstChangeNumber"), bound("lastChangeNumber")])
}

fn snapshot(node: &mut Node) {
    let taken = node.recovered.committer.checkpoint().expect("nothing fails");
    let (point, index) = taken.expect("there are few readers");
    node.recovered.snapshots.write(point, index).expect("nothing fails");
    let log = node.recovered.committer.log();
    node.recovered.snapshots.release(log, index, &mut |_| ()).expect("nothing fails");
}

fn begin(disk: &SimDisk, changes: u64) -> Node {
    let mut node = start(disk, changes);
    let mut bundle = Bundle::default();
    sim::workloads::base(1, &mut bundle);
    node.apply(0, &bundle, &SimClock::default());
    node
}

#[test]
fn it_goes_on_behind_snapshots() {
    let disk = SimDisk::new(1);
    let mut node = begin(&disk, 1 << 20);
    for round in 0..20 {
        (0..=round % 5).for_each(|count| apply(&mut node, round * 10 + count));
        if round % 3 > 0 {
            snapshot(&mut node);
        }
        if round % 4 == 0 {
            // What the log has behind the snapshot.
            apply(&mut node, round * 10 + 9);
        }
        let before = changes(&mut node);
        assert!(
            before.0.len() > round as usize && before.0.values().any(|is| is["targetDN"][0] == counter_dn(0))
        );
        drop(node);
        disk.kill();
        node = start(&disk, 1 << 20);
        assert_eq!(changes(&mut node), before, "round {round}");
        let files = node
            .recovered
            .snapshots
            .latest()
            .map_or(0, |latest| latest.files.iter().filter(|file| file.id.kind == 3).count());
        assert!(files <= 6, "{files} files");
    }
}

#[test]
fn it_is_no_longer_than_the_setting() {
    let disk = SimDisk::new(2);
    let mut node = begin(&disk, 16 << 10);
    for round in 0..20 {
        (0..8).for_each(|count| apply(&mut node, round * 10 + count));
        snapshot(&mut node);
    }
    let before = changes(&mut node);
    assert!((10..32).contains(&before.0.len()), "{}", before.0.len());
    drop(node);
    disk.kill();
    assert_eq!(changes(&mut start(&disk, 16 << 10)), before);
    // A smaller one drops more, and where it was off once, what was before is gone.
    let mut node = start(&disk, 8 << 10);
    let fewer = changes(&mut node);
    assert!(fewer.0.len() < before.0.len() && fewer.1[1] == before.1[1]);
    drop(node);
    disk.kill();
    let mut node = start(&disk, 0);
    apply(&mut node, 1000);
    snapshot(&mut node);
    drop(node);
    disk.kill();
    let mut node = start(&disk, 16 << 10);
    assert_eq!(changes(&mut node).0.len(), 0);
    apply(&mut node, 1001);
    assert_eq!(changes(&mut node).0.len(), 1);
}
