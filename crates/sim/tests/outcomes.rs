//! A log that checks itself: a replay that comes to another outcome than was answered is refused, and can be accepted. Commands
//! of several clients that share a record can be distinguished by a restore.

use env::planted::plant;
use node::data::backup::Until;
use proto::op::ModifyKind;
use sim::clock::SimClock;
use sim::disk::SimDisk;
use sim::node::{Node, StartOptions, digest, recover, recover_with};
use sim::operator::{self, BACKUPS, Operator, TARGET, digest_of};
use sim::oracle::Held;
use sim::requests::{Bundle, Sent};
use sim::workloads;
use std::path::Path;
use std::sync::Arc;
use wal::Index;

const DIR: &str = "data";

fn log() -> wal::Settings {
    wal::Settings { file_bytes: 16 << 10, waiting_bytes_max: 8 << 10, ready_files: 1, ..Default::default() }
}

fn start(disk: &SimDisk, sessions: usize) -> Node {
    let clock = SimClock::default();
    Node::start(Arc::new(disk.clone()), Path::new(DIR), log(), 1, sessions, &clock).expect("nothing fails")
}

/// Each session sends a bundle; all of them are one step of the log.
fn together(node: &mut Node, bundles: &[Bundle], clock: &mut SimClock) {
    clock.pass_ns(1_000_000);
    for (session, bundle) in bundles.iter().enumerate() {
        node.send(session, &bundle.bytes, clock);
    }
    while (0..bundles.len()).any(|session| node.waits(session)) {
        node.prepare_file();
        node.step(clock).expect("nothing fails");
    }
    (0..bundles.len()).for_each(|session| _ = node.answers(session));
}

fn describing(text: &str) -> Bundle {
    let mut bundle = Bundle::default();
    bundle.modify("dc=x", ModifyKind::Add, "description", &[text], Sent::Other);
    bundle.modify("dc=x", ModifyKind::Add, "description", &[&format!("{text} too")], Sent::Other);
    bundle
}

fn base(node: &mut Node, clock: &mut SimClock) {
    let mut bundle = Bundle::default();
    workloads::base(1, &mut bundle);
    together(node, &[bundle], clock);
}

#[test]
#[ignore = "needs the build with faults: .ci/test planted"]
fn a_replay_with_another_outcome_is_refused_and_can_be_accepted() {
    let (disk, mut clock) = (SimDisk::new(3), SimClock::default());
    let mut node = start(&disk, 1);
    base(&mut node, &mut clock);
    for text in ["a", "b", "c"] {
        together(&mut node, &[describing(text)], &mut clock);
    }
    drop(node);
    disk.kill();
    let before = disk.files(Path::new("data/log"));
    plant(Some(dsa::faults::OUTCOME_OTHER));
    let shared = || Arc::new(disk.clone());
    let refused = recover(shared(), Path::new(DIR), log(), None, 4).err().expect("it is refused").to_string();
    assert!(refused.contains("have another outcome now than was answered"), "{refused}");
    assert!(refused.starts_with("the commands of record 1 have"), "the first difference is named: {refused}");
    assert!(refused.contains("--accept-difference"), "{refused}");
    assert_eq!(disk.files(Path::new("data/log")), before, "nothing was changed");
    let accepting = StartOptions { seed: 4, accepts_difference: true, ..StartOptions::default() };
    let (_, accepted) = recover_with(shared(), Path::new(DIR), log(), accepting).expect("it is accepted");
    let differences: Vec<u64> = accepted.differences.iter().map(|differs| differs.index).collect();
    // Nothing follows the last one, so nothing is known of it.
    assert_eq!(differences, [1, 2, 3], "each is reported");
    let made = digest(&accepted.dsa);
    drop(accepted);
    disk.kill();
    // The snapshot that was made first holds it all: the one that starts again compares nothing.
    plant(None);
    let (_, again) = recover(shared(), Path::new(DIR), log(), None, 5).expect("nothing differs any more");
    assert_eq!((again.records, digest(&again.dsa)), (0, made));
    assert!(again.differences.is_empty());
}

#[test]
fn a_restore_ends_at_a_command_of_a_record() {
    let (disk, mut clock) = (SimDisk::new(4), SimClock::default());
    let mut node = start(&disk, 3);
    base(&mut node, &mut clock);
    let mut operator = Operator::default();
    let held = Held { last: node.applied(), digest: digest(&node.recovered.dsa) };
    operator.back_up(&disk, Path::new(DIR), held, &mut |_, _| ()).expect("nothing fails");
    together(&mut node, &[describing("a"), describing("b"), describing("c")], &mut clock);
    let (record, all) = (node.applied(), digest(&node.recovered.dsa));
    assert_eq!(record, held.last + 1, "three sessions, one record");
    drop(node);
    disk.kill();
    let restore = |until: Until| operator::restored(&disk, Path::new(BACKUPS), Path::new(DIR), until, 4);
    let mut digests = Vec::new();
    for command in 1..=3 {
        restore(Until::Command(Index(record), command)).expect("it can be reached");
        digests.push(digest_of(&disk, Path::new(TARGET)).expect("it is sound").expect("it is there"));
        disk.discard(Path::new(TARGET));
    }
    assert_eq!(digests[2], all);
    assert!(digests[0] != digests[1] && digests[1] != all && digests[0] != held.digest);
    let none = restore(Until::Command(Index(record), 4)).expect_err("there are three").to_string();
    assert!(none.contains("has 3 commands only"), "{none}");
}
