//! A server near its memory limit, with large entries: it takes small changes of them as it cleans, refuses before the log what
//! has no room, and starts again with what it had.

use env::disk::Disk;
use model::ResultCode;
use proto::op::ModifyKind;
use sim::answers::Answer;
use sim::clock::SimClock;
use sim::disk::SimDisk;
use sim::node::{Node, digest};
use sim::requests::{Bundle, Sent};
use std::path::Path;
use std::sync::Arc;

/// What [`sim::node`] allows a directory.
const LIMIT: u64 = 48 << 20;

fn start(disk: &SimDisk, clock: &SimClock) -> Node {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Node::start(disk, Path::new("data"), wal::Settings::default(), 1, 2, clock).expect("it can be recovered")
}

fn run(node: &mut Node, bundle: &Bundle, clock: &SimClock) -> Vec<ResultCode> {
    node.send(0, &bundle.bytes, clock);
    while node.waits(0) {
        node.prepare_file();
        node.step(clock).expect("the server goes on");
    }
    let code = |answer: Answer| match answer {
        Answer::Done(_, code) => code,
        other => panic!("{other:?} is no answer to an update"),
    };
    node.answers(0).into_iter().map(code).collect()
}

fn add(node: &mut Node, number: usize, bytes: usize, clock: &SimClock) -> ResultCode {
    let (mut bundle, value) = (Bundle::default(), "x".repeat(bytes));
    let entry = [("objectClass", "inetOrgPerson"), ("cn", "x"), ("sn", "x"), ("title", &value)];
    bundle.add(&format!("cn={number},dc=x"), &entry, Sent::Other);
    run(node, &bundle, clock).remove(0)
}

fn small_changes(count: usize, entries: usize) -> Bundle {
    let mut bundle = Bundle::default();
    for at in 0..count {
        let (dn, value) = (format!("cn={},dc=x", at % entries), at.to_string());
        bundle.modify(&dn, ModifyKind::Replace, "employeeType", &[&value], Sent::Other);
    }
    bundle
}

fn segments(node: &Node) -> u64 {
    node.recovered.dsa.shard().memory().segments
}

/// A directory with so many entries of so many bytes.
fn filled(disk: &SimDisk, clock: &SimClock, entries: usize, bytes: usize) -> Node {
    let mut node = start(disk, clock);
    let mut root = Bundle::default();
    root.add("dc=x", &[("objectClass", "domain"), ("dc", "x")], Sent::Other);
    assert_eq!(run(&mut node, &root, clock)[0], ResultCode::Success);
    for number in 0..entries {
        assert_eq!(add(&mut node, number, bytes, clock), ResultCode::Success, "entry {number}");
    }
    node
}

#[test]
fn small_changes_of_large_entries_are_taken_and_outlive_a_kill() {
    for (entries, bytes) in [(14, 1_500_000), (25, 700_000), (5, 5_000_000), (1, 12_000_000)] {
        let (disk, clock) = (SimDisk::new(1), SimClock::default());
        let mut node = filled(&disk, &clock, entries, bytes);
        let answers = run(&mut node, &small_changes(128, entries), &clock);
        let refused = answers.iter().find(|code| **code != ResultCode::Success);
        assert_eq!(refused, None, "{entries} entries of {bytes}");
        assert!(segments(&node) <= LIMIT, "{} bytes, {entries} entries of {bytes}", segments(&node));
        let before = digest(&node.recovered.dsa);
        drop(node);
        disk.kill();
        let node = start(&disk, &clock);
        assert_eq!(digest(&node.recovered.dsa), before);
        assert!(segments(&node) <= LIMIT, "{} bytes after a start", segments(&node));
    }
}

#[test]
fn adds_are_refused_at_the_limit_and_small_changes_go_on() {
    let (disk, clock) = (SimDisk::new(1), SimClock::default());
    let mut node = filled(&disk, &clock, 1, 1_500_000);
    let mut codes = (1..100).map(|number| add(&mut node, number, 1_500_000, &clock));
    let added =
        1 + codes.by_ref().position(|code| code == ResultCode::AdminLimitExceeded).expect("there is a limit");
    assert!(added > 15, "{added}");
    // Small changes are still taken, all of them.
    let answers = run(&mut node, &small_changes(128, added), &clock);
    assert!(answers.iter().all(|code| *code == ResultCode::Success), "{answers:?}");
    let mut deletes = Bundle::default();
    (0..added).for_each(|number| deletes.delete(&format!("cn={number},dc=x"), Sent::Other));
    let answers = run(&mut node, &deletes, &clock);
    assert!(answers.iter().all(|code| *code == ResultCode::Success), "{answers:?}");
    assert_eq!(add(&mut node, 0, 1_500_000, &clock), ResultCode::Success, "there is room again");
}
