//! Definitions that are removed while a directory is served, and what a start makes of snapshots, logs and copies that are older or newer than
//! that.

use model::ResultCode;
use node::data::Data;
use node::data::backup::Until;
use sim::answers::Answer;
use sim::clock::SimClock;
use sim::disk::SimDisk;
use sim::node::{Node, StartOptions, digest, schema_in};
use sim::operator::{self, BACKUPS, Operator, TARGET};
use sim::oracle::Held;
use sim::requests::{Bundle, Sent};
use sim::workloads;
use std::path::Path;
use std::sync::Arc;
use wal::{Index, Mode};

const DIR: &str = "data";
const KINDS: [&str; 2] = [
    "( 1.3.6.1.4.1.99999.1.1 NAME 'taste' SUP description )",
    "( 1.3.6.1.4.1.99999.1.2 NAME 'smell' SUP description )",
];
const CLASSES: [&str; 2] = [
    "( 1.3.6.1.4.1.99999.2.1 NAME 'wine' SUP top STRUCTURAL MUST ( cn $ taste ) )",
    "( 1.3.6.1.4.1.99999.2.2 NAME 'cheese' SUP top STRUCTURAL MUST ( cn $ smell ) )",
];
const NAMES: [(&str, &str); 2] = [("wine", "taste"), ("cheese", "smell")];

fn log(mode: Mode) -> wal::Settings {
    wal::Settings {
        mode,
        file_bytes: 256 << 10,
        waiting_bytes_max: 192 << 10,
        ready_files: 1,
        ..Default::default()
    }
}

fn start_in(disk: &SimDisk, dir: &str, mode: Mode) -> Node {
    let (shared, clock) = (Arc::new(disk.clone()), SimClock::default());
    let asked = StartOptions::default();
    let node = Node::start_with(shared, Path::new(dir), log(mode), asked, 2, &clock);
    node.unwrap_or_else(|error| panic!("{error}"))
}

fn start(disk: &SimDisk) -> Node {
    start_in(disk, DIR, Mode::Always)
}

/// A directory with what all have.
fn begin(disk: &SimDisk, mode: Mode) -> Node {
    let mut node = start_in(disk, DIR, mode);
    send(&mut node, |bundle| workloads::base(1, bundle));
    node
}

/// Sends what is asked for; the last result.
fn send(node: &mut Node, ask: impl FnOnce(&mut Bundle)) -> ResultCode {
    let mut bundle = Bundle::default();
    ask(&mut bundle);
    let mut clock = SimClock::default();
    clock.pass_ns(1_000_000);
    last(&node.apply(0, &bundle, &clock))
}

fn last(answers: &[Answer]) -> ResultCode {
    match answers.last() {
        Some(Answer::Done(_, code)) => *code,
        other => panic!("it is answered: {other:?}"),
    }
}

fn define(node: &mut Node, at: usize) {
    let code = send(node, |bundle| bundle.define(&[KINDS[at]], &[CLASSES[at]]));
    assert_eq!(code, ResultCode::Success);
}

fn remove(node: &mut Node, at: usize) -> ResultCode {
    send(node, |bundle| bundle.undefine(&[KINDS[at]], &[CLASSES[at]]))
}

fn add_to(bundle: &mut Bundle, at: usize) {
    let (class, kind) = NAMES[at];
    let dn = format!("cn={class},dc=x");
    bundle.add(&dn, &[("objectClass", class), ("cn", class), (kind, "strong")], Sent::Other);
}

fn add(node: &mut Node, at: usize) -> ResultCode {
    send(node, |bundle| add_to(bundle, at))
}

fn delete(node: &mut Node, at: usize) {
    let dn = format!("cn={},dc=x", NAMES[at].0);
    assert_eq!(send(node, |bundle| bundle.delete(&dn, Sent::Other)), ResultCode::Success);
}

fn snapshot(node: &mut Node) {
    let (point, index) =
        node.recovered.committer.checkpoint().expect("nothing fails").expect("there are few readers");
    node.recovered.snapshots.write(point, index).expect("nothing fails");
}

/// Entries that a look at the directory finds, which is not served.
fn viewed(disk: &SimDisk, dir: &str) -> u64 {
    let data = Data::existing(Arc::new(disk.clone()), Path::new(dir)).expect("it is there");
    let schema = schema_in(&data).expect("it is there");
    let examined =
        data.examine(schema, Vec::new(), 64 << 20, 10, false).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(examined.findings, [""; 0]);
    examined.entries
}

fn knows(node: &Node, at: usize) -> bool {
    let schema = node.recovered.dsa.shard().schema();
    let (class, kind) = NAMES[at];
    let found = (schema.find_class(class.as_bytes()), schema.find_type(kind.as_bytes()));
    assert_eq!(found.0.is_some(), found.1.is_some(), "they come and go together");
    found.0.is_some()
}

/// The snapshot has an entry of a class; behind it the log has the entry's deletion and the removal of the class, and the copy beside the log has the
/// removal too.
#[test]
fn a_snapshot_with_entries_of_what_was_removed_since_is_read() {
    let disk = SimDisk::new(1);
    let mut node = begin(&disk, Mode::Always);
    define(&mut node, 0);
    assert_eq!(add(&mut node, 0), ResultCode::Success);
    snapshot(&mut node);
    delete(&mut node, 0);
    assert_eq!(remove(&mut node, 0), ResultCode::Success);
    define(&mut node, 1);
    assert_eq!(add(&mut node, 1), ResultCode::Success);
    let (held, applied) = (digest(&node.recovered.dsa), node.applied());
    let entries = node.recovered.dsa.shard().entries();
    drop(node);
    disk.kill();
    assert_eq!(viewed(&disk, DIR), entries);
    // A second start begins with what the first made of it.
    for _ in 0..2 {
        let node = start(&disk);
        assert_eq!((digest(&node.recovered.dsa), node.applied()), (held, applied));
        assert!(!knows(&node, 0) && knows(&node, 1) && node.recovered.differences.is_empty());
        drop(node);
        disk.kill();
    }
    // The name is free, and the same definition another one.
    let mut node = start(&disk);
    define(&mut node, 0);
    assert_eq!(add(&mut node, 0), ResultCode::Success);
    let held = digest(&node.recovered.dsa);
    drop(node);
    disk.kill();
    let node = start(&disk);
    assert_eq!(digest(&node.recovered.dsa), held);
    assert!(knows(&node, 0) && knows(&node, 1));
}

/// A snapshot begins, and is written while what its entries have is removed.
#[test]
fn a_snapshot_is_written_while_what_it_has_is_removed() {
    let disk = SimDisk::new(2);
    let mut node = begin(&disk, Mode::Always);
    define(&mut node, 0);
    assert_eq!(add(&mut node, 0), ResultCode::Success);
    let taken = node.recovered.committer.checkpoint().expect("nothing fails");
    let (point, index) = taken.expect("there are few readers");
    delete(&mut node, 0);
    assert_eq!(remove(&mut node, 0), ResultCode::Success);
    node.recovered.snapshots.write(point, index).expect("nothing fails");
    let held = digest(&node.recovered.dsa);
    let entries = node.recovered.dsa.shard().entries();
    drop(node);
    disk.kill();
    assert_eq!(viewed(&disk, DIR), entries);
    let node = start(&disk);
    assert_eq!(digest(&node.recovered.dsa), held);
    assert!(!knows(&node, 0));
}

/// The power takes the removal from a log that is not synced, and leaves the copy that has it: nothing was removed. An addition that the log has lost stays, since
/// settings may name it.
#[test]
fn a_removal_that_the_log_has_lost_was_not_made() {
    let mut lost = 0;
    for seed in 1..40 {
        let disk = SimDisk::new(seed);
        let mode = Mode::Interval { ms: 1_000_000 };
        let mut node = begin(&disk, mode);
        define(&mut node, 0);
        assert_eq!(add(&mut node, 0), ResultCode::Success);
        snapshot(&mut node);
        let (held, applied) = (digest(&node.recovered.dsa), node.applied());
        delete(&mut node, 0);
        assert_eq!(remove(&mut node, 0), ResultCode::Success);
        define(&mut node, 1);
        drop(node);
        disk.lose_power_keeping(&[0]);
        viewed(&disk, DIR);
        for _ in 0..2 {
            let node = start_in(&disk, DIR, mode);
            if digest(&node.recovered.dsa) == held {
                lost += 1;
                assert!(knows(&node, 0), "an entry has it");
                assert!(knows(&node, 1), "seed {seed}: a setting may name it");
                assert!(node.applied() > applied, "a start writes down what its log has lost");
            }
            drop(node);
            disk.kill();
        }
    }
    assert!(lost > 10, "the power takes it mostly");
}

/// Of an addition and a removal that are on their way together the first is applied first, and the second refused. A restore that does not look at
/// entries takes it for done.
#[test]
fn a_restore_goes_past_a_removal_that_was_refused_where_it_was_applied() {
    let disk = SimDisk::new(3);
    let mut node = begin(&disk, Mode::Always);
    define(&mut node, 0);
    let held = Held { last: node.applied(), digest: digest(&node.recovered.dsa) };
    let mut operator = Operator::default();
    operator.back_up(&disk, Path::new(DIR), held, &mut |_, _| ()).expect("nothing fails");
    let (mut adds, mut removes) = (Bundle::default(), Bundle::default());
    add_to(&mut adds, 0);
    removes.undefine(&[KINDS[0]], &[CLASSES[0]]);
    let mut clock = SimClock::default();
    clock.pass_ns(1_000_000);
    node.send(0, &adds.bytes, &clock);
    node.send(1, &removes.bytes, &clock);
    while node.waits(0) || node.waits(1) {
        node.prepare_file();
        node.step(&clock).expect("nothing fails");
    }
    assert_eq!(last(&node.answers(0)), ResultCode::Success);
    assert_eq!(last(&node.answers(1)), ResultCode::UnwillingToPerform);
    define(&mut node, 1);
    assert_eq!(add(&mut node, 1), ResultCode::Success);
    let (held, applied) = (digest(&node.recovered.dsa), node.applied());
    drop(node);
    disk.kill();
    let until = Until::Sequence(Index(applied));
    operator::restored(&disk, Path::new(BACKUPS), Path::new(DIR), until, 4).expect("it can be reached");
    viewed(&disk, TARGET);
    for _ in 0..2 {
        let node = start_in(&disk, TARGET, Mode::Always);
        assert_eq!(digest(&node.recovered.dsa), held);
        assert!(knows(&node, 0) && knows(&node, 1));
        drop(node);
        disk.kill();
    }
}
