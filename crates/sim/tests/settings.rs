//! Settings of the directory are commands of its log: each step that changes the disk fails, when a start logs them and when they are
//! changed while the directory is served. What was answered holds at the next start, and nothing that was never asked for.

use ::node::data::Replication;
use ::node::data::backup::Until;
use consensus::links::Channel;
use consensus::{ReplicaId, Retention};
use dsa::settings::Texts;
use env::disk::Disk;
use model::ResultCode;
use proto::op::ModifyKind;
use sim::answers::Answer;
use sim::clock::SimClock;
use sim::disk::{Faults, SimDisk};
use sim::network::Network;
use sim::node::{self, Node, StartOptions, digest};
use sim::operator::{self, BACKUPS, Operator, TARGET};
use sim::oracle::Held;
use sim::requests::{Bundle, Sent};
use sim::workloads;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use wal::Index;

const DIR: &str = "data";
const KEY: &str = "txn-open-max";

fn log() -> wal::Settings {
    wal::Settings { file_bytes: 64 << 10, waiting_bytes_max: 16 << 10, ready_files: 1, ..Default::default() }
}

/// A start that is given a value, or goes by the record.
fn start_in(disk: &SimDisk, dir: &str, given: Option<&str>) -> Result<Node, String> {
    let given = given.map(|value| (KEY.to_owned(), vec![value.to_owned()]));
    let asked =
        StartOptions { settings: Some(given.into_iter().collect()), seed: 1, ..StartOptions::default() };
    let (disk, clock) = (Arc::new(disk.clone()), SimClock::default());
    Node::start_with(disk, Path::new(dir), log(), asked, 1, &clock).map_err(|error| error.to_string())
}

fn start(disk: &SimDisk, given: Option<&str>) -> Result<Node, String> {
    start_in(disk, DIR, given)
}

fn in_force(node: &Node) -> String {
    node.recovered.dsa.transactions().open_max().to_string()
}

/// Sends a bundle; whether all of it was answered with success.
fn send(node: &mut Node, bundle: &Bundle) -> Result<(), String> {
    let clock = SimClock::default();
    node.send(0, &bundle.bytes, &clock);
    for _ in 0..4 {
        node.prepare_file();
        node.step(&clock).map_err(|failed| failed.to_string())?;
    }
    let refused = |answer: &Answer| !matches!(answer, Answer::Done(_, ResultCode::Success));
    match !node.waits(0) && !node.answers(0).iter().any(refused) {
        true => Ok(()),
        false => Err("an update was not answered, or refused".to_owned()),
    }
}

fn change(node: &mut Node, value: &str) -> Result<(), String> {
    let mut bundle = Bundle::default();
    bundle.modify("cn=config", ModifyKind::Replace, "pandoTxnOpenMax", &[value], Sent::Other);
    send(node, &bundle)
}

fn fill(node: &mut Node) -> Result<(), String> {
    let mut bundle = Bundle::default();
    workloads::base(1, &mut bundle);
    send(node, &bundle)
}

fn snapshot(node: &mut Node) -> Result<(), String> {
    let recovered = &mut node.recovered;
    let taken = recovered.committer.checkpoint().map_err(|failed| failed.to_string())?;
    let (point, index) = taken.expect("there are few readers");
    recovered.snapshots.write(point, index).map(|_| ()).map_err(|error| error.to_string())
}

/// What is done, with a report of each value that holds from then on.
type Act = fn(&SimDisk, &mut dyn FnMut(&str)) -> Result<(), String>;

/// What it is, on what disk, what is done there, and what holds before.
type Row = (&'static str, fn() -> SimDisk, Act, &'static str);

fn empty() -> SimDisk {
    SimDisk::new(1)
}

/// A directory that was served without settings in its log, as earlier versions did, and was killed.
fn of_earlier_version() -> SimDisk {
    let (disk, clock) = (SimDisk::new(2), SimClock::default());
    let node = Node::start(Arc::new(disk.clone()), Path::new(DIR), log(), 1, 1, &clock);
    let mut node = node.expect("nothing fails");
    fill(&mut node).expect("nothing fails");
    snapshot(&mut node).expect("nothing fails");
    drop(node);
    disk.kill();
    disk
}

/// A directory with the value 3, which was changed since its file was written: that was lost.
fn with_an_older_file() -> SimDisk {
    let disk = SimDisk::new(3);
    let mut node = start(&disk, Some("2")).expect("nothing fails");
    fill(&mut node).expect("nothing fails");
    let before = text(&disk);
    change(&mut node, "3").expect("nothing fails");
    drop(node);
    disk.kill();
    let file = disk.create(&Path::new(DIR).join("settings")).expect("nothing fails");
    file.write_at(&before, 0).and_then(|()| file.sync_data()).expect("nothing fails");
    disk.sync_dir(Path::new(DIR)).expect("nothing fails");
    disk
}

fn text(disk: &SimDisk) -> Vec<u8> {
    let file = disk.open(&Path::new(DIR).join("settings")).expect("it is there");
    let mut bytes = vec![0; file.len().expect("it has a length") as usize];
    file.read_at(&mut bytes, 0).expect("it can be read");
    bytes
}

/// A start that gives a value, changes with an update between them, a snapshot, and a change behind it.
fn changes(disk: &SimDisk, reported: &mut dyn FnMut(&str)) -> Result<(), String> {
    let mut node = start(disk, Some("5"))?;
    reported("5");
    change(&mut node, "6")?;
    reported("6");
    let mut bundle = Bundle::default();
    bundle.add("dc=x", &[("objectClass", "domain"), ("dc", "x")], Sent::Other);
    let _ = send(&mut node, &bundle);
    change(&mut node, "7")?;
    reported("7");
    snapshot(&mut node)?;
    change(&mut node, "8")?;
    reported("8");
    Ok(())
}

#[test]
fn a_change_that_was_answered_holds_whatever_step_fails() {
    let rows: [Row; 3] = [
        ("a first start, and changes", empty, changes, "1000"),
        ("a directory of an earlier version", of_earlier_version, changes, "1000"),
        ("a file that is older than the log", with_an_older_file, changes, "3"),
    ];
    for (name, disk, act, before) in rows {
        let made = disk();
        let (disk, mut values) = (made.copy(), vec![before.to_owned()]);
        let first = disk.operations();
        act(&disk, &mut |value| values.push(value.to_owned())).expect("nothing fails");
        let steps = disk.operations() - first;
        println!("{name}: {steps} steps");
        for step in 1..=steps {
            for end in 0..3 {
                let disk = made.copy();
                let at = disk.operations() + step;
                disk.set_faults(match end {
                    0 => Faults { fail_at: Some((at, ErrorKind::Other)), ..Faults::default() },
                    _ => Faults { power_at: Some(at), ..Faults::default() },
                });
                let mut reported = 0;
                let done = act(&disk, &mut |_| reported += 1);
                if end == 1 {
                    disk.lose_power()
                } else {
                    disk.kill()
                }
                disk.set_faults(Faults::default());
                // Most starts find what the one before has found.
                for again in 0..=u32::from(step % 5 == 0) {
                    let node = start(&disk, None);
                    let node = node.unwrap_or_else(|what| panic!("{name}: step {step}, {end}: {what}"));
                    let found = in_force(&node);
                    let state = values.iter().position(|value| *value == found);
                    assert!(
                        state.is_some_and(|state| state >= reported && state <= reported + 1),
                        "{name}: step {step} of {steps}, {end}, start {again}: {found} after {reported}: {done:?}"
                    );
                    drop(node);
                    disk.kill();
                }
            }
        }
    }
}

#[test]
fn what_is_given_at_a_start_is_logged_once() {
    let disk = empty();
    let applied = |given| {
        let node = start(&disk, given).expect("nothing fails");
        let found = (in_force(&node), node.recovered.committer.applied().0);
        drop(node);
        disk.kill();
        found
    };
    assert_eq!(applied(Some("5")), ("5".to_owned(), 1));
    assert_eq!(applied(Some("5")), ("5".to_owned(), 1), "it is the same");
    assert_eq!(applied(None), ("5".to_owned(), 1));
    assert_eq!(applied(Some("6")), ("6".to_owned(), 2));
    assert_eq!(applied(None), ("6".to_owned(), 2));
}

#[test]
fn a_restore_has_the_settings_of_its_point() {
    let disk = empty();
    let mut node = start(&disk, Some("5")).expect("nothing fails");
    fill(&mut node).expect("nothing fails");
    snapshot(&mut node).expect("nothing fails");
    let held = Held { last: node.applied(), digest: digest(&node.recovered.dsa) };
    Operator::default().back_up(&disk, Path::new(DIR), held, &mut |_, _| ()).expect("nothing fails");
    let mut points = vec![(node.applied(), "5")];
    for value in ["6", "7"] {
        change(&mut node, value).expect("nothing fails");
        points.push((node.applied(), value));
    }
    drop(node);
    disk.kill();
    for (point, value) in points {
        let until = Until::Sequence(Index(point));
        operator::restored(&disk, Path::new(BACKUPS), Path::new(DIR), until, 4).expect("it can be reached");
        let restored = start_in(&disk, TARGET, None).expect("nothing fails");
        assert_eq!(in_force(&restored), value, "record {point}");
        drop(restored);
        disk.discard(Path::new(TARGET));
    }
}

/// A replica alone, with what it takes up.
fn start_replica(disk: &SimDisk, clock: &SimClock) -> Node {
    let (network, id) = (Network::new(1), ReplicaId(1));
    let [links, updates] =
        [Channel::Consensus, Channel::Updates].map(|channel| network.links_of(id, channel));
    let retention = Retention { bytes: 0, bytes_for_followers: 1 << 20 };
    let replication = Replication { id, links, retention };
    let asked = StartOptions { settings: Some(Texts::new()), seed: 1, ..StartOptions::default() };
    let disk = Arc::new(disk.clone());
    node::start_replica(disk, Path::new(DIR), log(), asked, 1, clock, (replication, updates))
        .expect("it is sound")
}

/// Steps until something is so.
fn step_until(node: &mut Node, clock: &mut SimClock, is_so: impl Fn(&Node) -> bool) -> bool {
    for _ in 0..4_000 {
        if is_so(node) {
            return true;
        }
        clock.pass_ns(5_000_000);
        node.prepare_file();
        if node.step(clock).is_err() {
            return false;
        }
    }
    false
}

/// A replica goes by the copy and by the log behind its snapshot: no snapshot may be later than the copy.
#[test]
fn a_replica_has_what_was_changed_though_the_copy_could_not_be_written() {
    let (made, mut clock) = (SimDisk::new(7), SimClock::default());
    let mut first = start(&made, Some("5")).expect("nothing fails");
    fill(&mut first).expect("nothing fails");
    drop(first);
    made.kill();
    let dir = Path::new(DIR);
    node::begin_replication(Arc::new(made.clone()), dir, log(), 1, vec![ReplicaId(1)])
        .expect("nothing fails");
    let mut failed = 0;
    for step in 1..12 {
        let disk = made.copy();
        let mut node = start_replica(&disk, &clock);
        assert!(step_until(&mut node, &mut clock, |node| node.recovered.committer.is_open()), "it leads");
        let mut bundle = Bundle::default();
        bundle.bind();
        bundle.modify("cn=config", ModifyKind::Replace, "pandoTxnOpenMax", &["6"], Sent::Other);
        let fail_at = Some((disk.operations() + step, ErrorKind::Other));
        disk.set_faults(Faults { fail_at, ..Faults::default() });
        node.send(0, &bundle.bytes, &clock);
        if !step_until(&mut node, &mut clock, |node| !node.waits(0)) {
            // The log itself.
            continue;
        }
        let is_changed = node.answers(0).last() == Some(&Answer::Done(2, ResultCode::Success));
        let is_copied = text(&disk).windows(5).any(|bytes| bytes == b"[\"6\"]");
        failed += u32::from(is_changed && !is_copied);
        let applied = node.applied();
        let _ = snapshot(&mut node);
        drop(node);
        disk.kill();
        disk.set_faults(Faults::default());
        let mut node = start_replica(&disk, &clock);
        assert!(step_until(&mut node, &mut clock, |node| node.applied() > applied), "it leads again");
        assert!(!is_changed || in_force(&node) == "6", "step {step}: {} is in force", in_force(&node));
    }
    assert!(failed > 0, "there is a step at which only the copy fails");
}
