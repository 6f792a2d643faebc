//! Each step that changes the disk fails, whatever the server or a tool does: a first start, changes that fill several log
//! files, a snapshot and the archive, a clean end, a start after a power loss, one that changes the rules, an import into a new directory and into one
//! that has entries. The step fails alone, with either error, or is the last before the power fails or the process is
//! killed. The next start has what was reported, and nothing that was not begun.

use dsa::parcel::Parcel;
use env::disk::Disk;
use env::planted;
use model::ResultCode;
use proto::control::tree_delete;
use sim::answers::Answer;
use sim::clock::SimClock;
use sim::disk::{Faults, SimDisk};
use sim::node::{Node, StartOptions, digest};
use sim::operator::{self, digest_of};
use sim::random::Random;
use sim::requests::{Bundle, SUFFIX, Sent};
use sim::workloads;
use std::cell::Cell;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use wal::{Kind, Mode, Record};

const DIR: &str = "data";
const ARCHIVE: &str = "archive";

/// How it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The step fails, and what comes after does not.
    Error(ErrorKind),
    /// The power fails during the step.
    Power,
    /// The process is killed during it.
    Kill,
}

const ENDS: [End; 4] =
    [End::Error(ErrorKind::Other), End::Error(ErrorKind::StorageFull), End::Power, End::Kill];

/// What is done: called with each state of the directory when it was reported. The first is that before.
type Act = fn(&SimDisk, &mut dyn FnMut(u128)) -> Result<(), String>;

/// What it is, on what disk, what is done there, and how many steps that has at least.
type Row = (&'static str, fn() -> SimDisk, Act, u64);

/// Makes the table of rows, and a test for each, so that they run side by side.
macro_rules! rows {
    ($($test:ident: $row:expr,)*) => {
        static ROWS: &[Row] = &[$($row),*];

        $(#[test]
        fn $test() {
            every_step_may_fail(&$row);
        })*
    };
}

rows! {
    a_first_start: ("a first start", empty, start, 15),
    changes_of_entries: ("changes", filled, changes, 50),
    a_tree_delete: ("a tree delete in parts", filled, tree_delete, 8),
    a_snapshot_and_an_archive: ("a snapshot, and log files archived", filled, snapshot, 30),
    a_clean_end: ("a clean end", filled, clean_end, 15),
    a_start_after_a_power_loss: ("a start after a power loss", torn, start, 8),
    a_start_by_other_rules: ("a start by other rules, and a change that only they take", ended, other_rules, 12),
    an_import: ("an import", empty, import, 40),
    an_import_of_more: ("an import into a directory with entries", filled, import_more, 20),
}

thread_local! {
    /// The files of the log have room for rules, which are one record. They are small otherwise, so that there are many.
    static HAS_ROOM: Cell<bool> = const { Cell::new(false) };
}

/// A row's disk.
fn disk_of(row: &Row) -> SimDisk {
    HAS_ROOM.set(row.0.contains("rules"));
    row.1()
}

fn log() -> wal::Settings {
    let (file_bytes, waiting_bytes_max) =
        if HAS_ROOM.get() { (128 << 10, 80 << 10) } else { (16 << 10, 8 << 10) };
    wal::Settings { mode: Mode::Always, file_bytes, waiting_bytes_max, ready_files: 1, spare_files_max: 1 }
}

fn node(disk: &SimDisk) -> Result<Node, String> {
    let node = Node::start(Arc::new(disk.clone()), Path::new(DIR), log(), 1, 1, &SimClock::default());
    let mut node = node.map_err(|error| error.to_string())?;
    node.recovered.snapshots.archive_to(Arc::new(disk.clone()), Path::new(ARCHIVE));
    Ok(node)
}

/// A server that holds no entry to the schema.
fn node_without_schema_check(disk: &SimDisk) -> Result<Node, String> {
    let asked = StartOptions { seed: 1, has_no_schema_check: true, ..StartOptions::default() };
    let disk = Arc::new(disk.clone());
    let node = Node::start_with(disk, Path::new(DIR), log(), asked, 1, &SimClock::default());
    node.map_err(|error| error.to_string())
}

/// An entry without what the schema wants of it.
fn other_rules(disk: &SimDisk, reported: &mut dyn FnMut(u128)) -> Result<(), String> {
    let (mut node, clock) = (node_without_schema_check(disk)?, SimClock::default());
    let mut bundle = Bundle::default();
    bundle.add("cn=no sn,dc=x", &[("objectClass", "person"), ("cn", "no sn")], Sent::Other);
    let before = digest(&node.recovered.dsa);
    node.send(0, &bundle.bytes, &clock);
    for _ in 0..3 {
        node.prepare_file();
        node.step(&clock).map_err(|failed| failed.to_string())?;
    }
    let after = digest(&node.recovered.dsa);
    match node.waits(0) || before == after {
        true => Err("it was not added".to_owned()),
        false => {
            reported(after);
            Ok(())
        }
    }
}

/// Sends updates, a bundle at a time; each is a state.
fn send(node: &mut Node, bundles: u64, seed: u64, reported: &mut dyn FnMut(u128)) -> Result<(), String> {
    let (mut random, mut clock) = (Random::new(seed), SimClock::default());
    let mut workload = workloads::named("mixed", 1).expect("there is one");
    for at in 0..bundles {
        let mut bundle = Bundle::default();
        if at == 0 {
            workloads::base(1, &mut bundle);
        }
        workload.start(0, &mut random, &mut bundle);
        clock.pass_ns(1_000_000);
        node.send(0, &bundle.bytes, &clock);
        for _ in 0..3 {
            node.prepare_file();
            node.step(&clock).map_err(|failed| failed.to_string())?;
        }
        if node.waits(0) {
            return Err("there is no room in the log".to_owned());
        }
        node.answers(0);
        reported(digest(&node.recovered.dsa));
    }
    Ok(())
}

fn empty() -> SimDisk {
    SimDisk::new(1)
}

/// With a snapshot, and log behind it in several files.
fn filled() -> SimDisk {
    filled_by(2)
}

fn filled_by(seed: u64) -> SimDisk {
    let disk = SimDisk::new(seed);
    let mut node = node(&disk).expect("nothing fails");
    send(&mut node, 5, 1, &mut |_| ()).expect("nothing fails");
    make_snapshot(&mut node).expect("nothing fails");
    send(&mut node, 20, 2, &mut |_| ()).expect("nothing fails");
    drop(node);
    disk.kill();
    disk
}

/// As that, and ended well.
fn ended() -> SimDisk {
    let disk = filled();
    clean_end(&disk, &mut |_| ()).expect("nothing fails");
    disk
}

/// As that of [`filled`], and the power has failed where it leaves most to do for the next start: a torn tail, a file that is not finished.
fn torn() -> SimDisk {
    // What is left of a write is up to the seed.
    let cuts = (2..6).flat_map(|seed| (1..40).map(move |operation| (seed, operation)));
    let disks = cuts.map(|(seed, operation)| {
        let disk = filled_by(seed);
        let mut node = node(&disk).expect("nothing fails");
        disk.set_faults(Faults { power_at: Some(disk.operations() + operation), ..Faults::default() });
        send(&mut node, 20, 4, &mut |_| ()).expect_err("the power fails");
        drop(node);
        disk.lose_power_keeping(&[8]);
        disk.set_faults(Faults::default());
        disk
    });
    disks.max_by_key(|disk| undisturbed(disk, start).1).expect("there are some")
}

fn make_snapshot(node: &mut Node) -> Result<(), String> {
    let recovered = &mut node.recovered;
    let taken = recovered.committer.checkpoint().map_err(|failed| failed.to_string())?;
    let (checkpoint, index) = taken.expect("there are few readers");
    recovered.snapshots.write(checkpoint, index).map_err(|error| error.to_string())?;
    let log = Arc::clone(recovered.committer.log());
    recovered.snapshots.release(&log, index, &mut |_| ()).map_err(|error| error.to_string())
}

fn start(disk: &SimDisk, _: &mut dyn FnMut(u128)) -> Result<(), String> {
    node(disk).map(drop)
}

fn changes(disk: &SimDisk, reported: &mut dyn FnMut(u128)) -> Result<(), String> {
    send(&mut node(disk)?, 15, 5, reported)
}

/// Each part is a state: after a crash between two of them the ones before are there.
fn tree_delete(disk: &SimDisk, reported: &mut dyn FnMut(u128)) -> Result<(), String> {
    let (mut node, clock) = (node(disk)?, SimClock::default());
    let mut bundle = Bundle { with: vec![tree_delete::control(true)], ..Bundle::default() };
    bundle.delete(SUFFIX, Sent::Other);
    let mut before = digest(&node.recovered.dsa);
    node.send(0, &bundle.bytes, &clock);
    let mut parts = 0;
    while node.waits(0) {
        node.prepare_file();
        node.step(&clock).map_err(|failed| failed.to_string())?;
        let after = digest(&node.recovered.dsa);
        if after != before {
            reported(after);
            (before, parts) = (after, parts + 1);
        }
    }
    let answer = node.answers(0).pop().expect("it waits for nothing more");
    match matches!(answer, Answer::Done(_, ResultCode::Success)) && parts > 1 {
        true => Ok(()),
        false => Err(format!("{answer:?} after {parts} parts")),
    }
}

fn snapshot(disk: &SimDisk, _: &mut dyn FnMut(u128)) -> Result<(), String> {
    make_snapshot(&mut node(disk)?)
}

fn clean_end(disk: &SimDisk, _: &mut dyn FnMut(u128)) -> Result<(), String> {
    let recovered = node(disk)?.recovered;
    let (committer, mut snapshots) = (recovered.committer, recovered.snapshots);
    let closed = committer.close(0, 0).map_err(|failed| failed.to_string())?;
    let (checkpoint, index) = closed.expect("there are few readers");
    snapshots.write(checkpoint, index).map(|_| ()).map_err(|error| error.to_string())
}

/// Loads a tree, which must not be there.
fn import(disk: &SimDisk, reported: &mut dyn FnMut(u128)) -> Result<(), String> {
    load(disk, "dn: dc=x\nobjectClass: domain\ndc: x\n\n", reported)
}

/// Loads entries below a tree that is there.
fn import_more(disk: &SimDisk, reported: &mut dyn FnMut(u128)) -> Result<(), String> {
    load(disk, "", reported)
}

fn load(disk: &SimDisk, root: &str, reported: &mut dyn FnMut(u128)) -> Result<(), String> {
    let entry = |n| format!("dn: cn=imported {n},dc=x\nobjectClass: device\ncn: imported {n}\n\n");
    let text = root.to_owned() + &(0..30).map(entry).collect::<String>();
    operator::import(disk, Path::new(DIR), log(), &text, 9)?;
    // When the power is off by now, nothing can be looked at.
    reported(digest_of(disk, Path::new(DIR))?.ok_or("it cannot be read")?);
    Ok(())
}

/// What a server finds there; in a directory that was never initialised, or served, that is nothing.
fn found(disk: &SimDisk) -> Result<u128, String> {
    let node = node(disk)?;
    let findings = node.recovered.dsa.shard().writer().check(1);
    findings.first().map_or(Ok(digest(&node.recovered.dsa)), |finding| Err(finding.to_string()))
}

/// Rules that are not those of the first start are not written into their file before the log has them.
fn rules_are_noted(disk: &SimDisk) -> Result<(), String> {
    let path = Path::new(DIR).join("rules");
    let Ok(file) = disk.open(&path) else { return Ok(()) };
    let mut text = vec![0; file.len().map_err(|error| error.to_string())? as usize];
    file.read_at(&mut text, 0).map_err(|error| error.to_string())?;
    if !String::from_utf8_lossy(&text).contains("schema-check = false") {
        return Ok(());
    }
    let mut noted = false;
    let mut visit = |record: Record<'_>| {
        noted |=
            record.kind == Kind::Parcel && Parcel::decode(record.index.0, record.payload)?.rules()?.is_some();
        Ok(())
    };
    wal::read(disk, &Path::new(DIR).join("log"), &mut visit).map_err(|error| error.to_string())?;
    noted.then_some(()).ok_or_else(|| "the rules were changed, and no command in the log tells".to_owned())
}

/// All states that the directory is in when nothing fails, and the steps on the way.
fn undisturbed(disk: &SimDisk, act: Act) -> (Vec<u128>, u64) {
    let mut states = vec![found(&disk.copy()).expect("nothing fails")];
    let disk = disk.copy();
    let before = disk.operations();
    act(&disk, &mut |state| states.push(state)).expect("nothing fails");
    (states, disk.operations() - before)
}

/// One step of a row fails.
fn fail(row: &Row, on: &SimDisk, states: &[u128], step: u64, end: End) -> Result<(), String> {
    let disk = on.copy();
    let at = disk.operations() + step;
    disk.set_faults(match end {
        End::Error(kind) => Faults { fail_at: Some((at, kind)), ..Faults::default() },
        End::Power | End::Kill => Faults { power_at: Some(at), ..Faults::default() },
    });
    let mut reported = 0;
    let done = row.2(&disk, &mut |_| reported += 1);
    match end {
        End::Power => disk.lose_power(),
        End::Error(_) | End::Kill => disk.kill(),
    }
    disk.set_faults(Faults::default());
    rules_are_noted(&disk)?;
    let found = found(&disk)?;
    let state = states.iter().rposition(|state| *state == found);
    let state = state.ok_or("what is there is neither what was nor what should be")?;
    if state < reported || (done.is_ok() && state + 1 < states.len()) {
        return Err(format!("state {reported} was reported, and {state} is there: {done:?}"));
    }
    // What was without effect succeeds now.
    disk.kill();
    if state == 0 { row.2(&disk, &mut |_| ()) } else { Ok(()) }
}

fn every_step_may_fail(row: &Row) {
    let (name, _, act, least) = *row;
    let disk = disk_of(row);
    let (states, steps) = undisturbed(&disk, act);
    println!("{name}: {steps} steps, {} states", states.len());
    assert!(steps >= least, "{name}: {steps} steps");
    for (step, end) in (1..=steps).flat_map(|step| ENDS.map(|end| (step, end))) {
        fail(row, &disk, &states, step, end)
            .unwrap_or_else(|what| panic!("{name}: step {step} of {steps}, {end:?}: {what}"));
    }
}

/// The same steps find what is planted.
#[test]
#[ignore = "needs the build with faults: .ci/test planted"]
fn what_is_not_synced_is_found() {
    for (name, fault) in [
        ("changes", wal::faults::LOG_NOT_SYNCED),
        ("an import", wal::faults::MANIFEST_NOT_SYNCED),
        ("a snapshot, and log files archived", wal::faults::SNAPSHOT_NOT_SYNCED),
    ] {
        let row = ROWS.iter().find(|row| row.0 == name).expect("there is such a row");
        let disk = disk_of(row);
        let (states, steps) = undisturbed(&disk, row.2);
        let found = (1..=steps).find_map(|step| {
            planted::plant(Some(fault));
            let failed = fail(row, &disk, &states, step, End::Power).err();
            planted::plant(None);
            failed
        });
        println!("{fault:?}: {found:?}");
        assert!(found.is_some(), "{fault:?} was not found");
    }
}
