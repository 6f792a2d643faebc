//! Every write path of the real disk layer fails, with EIO and with ENOSPC: what docs/durability.md says happens, and
//! nothing that was acknowledged to clients is lost.

use env::disk::RealDisk;
use model::ResultCode;
use proto::op::ModifyKind;
use sim::answers::Answer;
use sim::clock::SimClock;
use sim::faulty::{Faulty, Rule};
use sim::hooked::Kind::{self, Create, Remove, Rename, Reserve, Sync, SyncFolder, Write};
use sim::node::Node;
use sim::requests::{Bundle, SUFFIX, Sent};
use sim::view::View;
use sim::workloads;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use wal::snapshot::SnapshotError;

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// What should come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The server does not start, says which file it is, and starts when the disk works again.
    NoStart,
    /// The log is poisoned: changes in progress have an unknown outcome, later ones are refused, searches go on.
    Poisoned,
    /// Changes are refused once the log has no room, and taken again when the disk works again.
    NoRoom,
    /// The snapshot before stays; changes go on; the next snapshot succeeds.
    NoSnapshot,
    /// Log files that the snapshot replaces stay until the next.
    NoRelease,
}

/// What fails, on which files, how many such operations succeed before, and what should come of it.
type Row = (&'static str, Kind, fn(&str) -> bool, u32, Outcome);

fn is_log(name: &str) -> bool {
    name.ends_with(".log")
}

/// `0000002a.new`: a log file that is being prepared.
fn is_next_log(name: &str) -> bool {
    name.len() == 12 && name.ends_with(".new")
}

/// The note of the newest log file.
fn is_note(name: &str) -> bool {
    name == "newest.new"
}

const ROWS: &[Row] = &[
    ("founding file", Create, |name| name == "founding.new", 0, Outcome::NoStart),
    ("founding file", Write, |name| name == "founding.new", 0, Outcome::NoStart),
    ("founding file", Sync, |name| name == "founding.new", 0, Outcome::NoStart),
    ("founding file", Rename, |name| name == "founding.new", 0, Outcome::NoStart),
    ("founding file's name", SyncFolder, |name| name == "data", 0, Outcome::NoStart),
    ("rules", Create, |name| name == "rules.new", 0, Outcome::NoStart),
    ("rules", Write, |name| name == "rules.new", 0, Outcome::NoStart),
    ("rules", Sync, |name| name == "rules.new", 0, Outcome::NoStart),
    ("rules", Rename, |name| name == "rules.new", 0, Outcome::NoStart),
    ("rules' name", SyncFolder, |name| name == "data", 1, Outcome::NoStart),
    ("time of the schema", Create, |name| name == "schema-since.new", 0, Outcome::NoStart),
    ("time of the schema", Write, |name| name == "schema-since.new", 0, Outcome::NoStart),
    ("time of the schema", Sync, |name| name == "schema-since.new", 0, Outcome::NoStart),
    ("time of the schema", Rename, |name| name == "schema-since.new", 0, Outcome::NoStart),
    ("name of the time of the schema", SyncFolder, |name| name == "data", 2, Outcome::NoStart),
    ("first log file", Create, is_next_log, 0, Outcome::NoStart),
    ("first log file", Reserve, is_next_log, 0, Outcome::NoStart),
    ("first log file", Write, is_next_log, 0, Outcome::NoStart),
    ("first log file", Sync, is_next_log, 0, Outcome::NoStart),
    ("first log file", Rename, is_next_log, 0, Outcome::NoStart),
    ("first log file's name", SyncFolder, |name| name == "log", 1, Outcome::NoStart),
    ("note of the first log file", Create, is_note, 0, Outcome::NoStart),
    ("note of the first log file", Write, is_note, 0, Outcome::NoStart),
    ("note of the first log file", Sync, is_note, 0, Outcome::NoStart),
    ("note of the first log file", Rename, is_note, 0, Outcome::NoStart),
    ("note of the first log file's name", SyncFolder, |name| name == "log", 2, Outcome::NoStart),
    ("log", Write, is_log, 0, Outcome::Poisoned),
    ("log", Sync, is_log, 0, Outcome::Poisoned),
    ("next log file", Create, is_next_log, 0, Outcome::NoRoom),
    ("next log file", Reserve, is_next_log, 0, Outcome::NoRoom),
    ("zeros of the next log file", Write, is_next_log, 0, Outcome::NoRoom),
    ("header of the next log file", Write, is_next_log, 1, Outcome::NoRoom),
    ("zeros of the next log file", Sync, is_next_log, 0, Outcome::NoRoom),
    ("header of the next log file", Sync, is_next_log, 1, Outcome::NoRoom),
    ("next log file", Rename, is_next_log, 0, Outcome::NoRoom),
    ("next log file's name", SyncFolder, |name| name == "log", 0, Outcome::NoRoom),
    ("note of the next log file", Create, is_note, 0, Outcome::NoRoom),
    ("note of the next log file", Write, is_note, 0, Outcome::NoRoom),
    ("note of the next log file", Sync, is_note, 0, Outcome::NoRoom),
    ("note of the next log file", Rename, is_note, 0, Outcome::NoRoom),
    ("note of the next log file's name", SyncFolder, |name| name == "log", 1, Outcome::NoRoom),
    ("segment", Create, |name| name.ends_with(".snap.new"), 0, Outcome::NoSnapshot),
    ("segment", Write, |name| name.ends_with(".snap.new"), 0, Outcome::NoSnapshot),
    ("segment's checksums", Write, |name| name.ends_with(".snap.new"), 1, Outcome::NoSnapshot),
    ("segment", Sync, |name| name.ends_with(".snap.new"), 0, Outcome::NoSnapshot),
    ("slot map", Sync, |name| name.ends_with(".snap.new"), 1, Outcome::NoSnapshot),
    ("segment", Rename, |name| name.ends_with(".snap.new"), 0, Outcome::NoSnapshot),
    ("names of segments", SyncFolder, |name| name == "snapshot", 0, Outcome::NoSnapshot),
    ("manifest", Create, |name| name == "manifest.new", 0, Outcome::NoSnapshot),
    ("manifest", Write, |name| name == "manifest.new", 0, Outcome::NoSnapshot),
    ("manifest", Sync, |name| name == "manifest.new", 0, Outcome::NoSnapshot),
    ("manifest", Rename, |name| name == "manifest.new", 0, Outcome::NoSnapshot),
    ("manifest's name", SyncFolder, |name| name == "snapshot", 1, Outcome::NoSnapshot),
    ("log file that is kept", Rename, is_log, 0, Outcome::NoRelease),
    ("log file that is not kept", Remove, is_log, 0, Outcome::NoRelease),
    ("released log file's name", SyncFolder, |name| name == "log", 0, Outcome::NoRelease),
];

/// A server on a folder of the real disk.
struct Server {
    disk: Faulty,
    dir: PathBuf,
    clock: SimClock,
    /// The counter that was acknowledged last.
    acknowledged: u64,
    spare_files_max: usize,
    _temp: TempDir,
}

impl Server {
    fn new(spare_files_max: usize) -> Server {
        let temp = tempfile::tempdir().expect("there is room");
        let (disk, dir) = (Faulty::default(), temp.path().join("data"));
        std::fs::create_dir(&dir).expect("it is not there");
        Server { disk, dir, clock: SimClock::default(), acknowledged: 0, spare_files_max, _temp: temp }
    }

    fn start(&self) -> Result<Node, String> {
        let log = wal::Settings {
            file_bytes: 32 << 10,
            waiting_bytes_max: 16 << 10,
            ready_files: 1,
            spare_files_max: self.spare_files_max,
            ..wal::Settings::default()
        };
        let disk = self.disk.over(Arc::new(RealDisk));
        Node::start(disk, &self.dir, log, 1, 1, &self.clock).map_err(|error| error.to_string())
    }

    /// A server with its first entries.
    fn begin(&mut self) -> Node {
        let mut node = self.start().expect("nothing fails yet");
        let mut base = Bundle::default();
        workloads::base(1, &mut base);
        node.send(0, &base.bytes, &self.clock);
        node.step(&self.clock).expect("nothing fails yet");
        node.answers(0);
        (0..3).for_each(|_| assert_eq!(self.count(&mut node), ResultCode::Success));
        node
    }

    /// The client counts on; the result of that. Whatever waits for room gets its answer in the end.
    fn count(&mut self, node: &mut Node) -> ResultCode {
        let mut bundle = Bundle::default();
        let filler = "x".repeat(2000);
        bundle.modify(SUFFIX, ModifyKind::Replace, "description", &[&filler], Sent::Other);
        bundle.count(0, self.acknowledged + 1, Sent::Count(self.acknowledged + 1));
        node.send(0, &bundle.bytes, &self.clock);
        while node.waits(0) {
            node.prepare_file();
            let _ = node.step(&self.clock);
        }
        let answers = node.answers(0);
        let Some(Answer::Done(_, code)) = answers.last() else { panic!("{answers:?}") };
        self.acknowledged += u64::from(*code == ResultCode::Success);
        *code
    }

    /// What a client reads is what was acknowledged, or one more when `is_unknown`.
    fn look(&self, node: &mut Node, is_unknown: bool) {
        let view = View::of(node.read_all(0, &self.clock)).expect("searches go on");
        let counter = view.counter(0);
        assert!(
            counter == self.acknowledged || (is_unknown && counter == self.acknowledged + 1),
            "{counter}, {}",
            self.acknowledged
        );
        assert!(node.recovered.dsa.shard().writer().check(1).is_empty());
    }

    fn restart(&mut self, node: Node, is_unknown: bool) {
        drop(node);
        let mut node = self.start().expect("the disk works again");
        self.look(&mut node, is_unknown);
        self.acknowledged = View::of(node.read_all(0, &self.clock)).expect("it starts").counter(0);
        assert_eq!(self.count(&mut node), ResultCode::Success);
        drop(node);
        self.look(&mut self.start().expect("nothing fails"), false);
    }
}

fn snapshot(node: &mut Node) -> Result<(), SnapshotError> {
    let taken = node.recovered.committer.checkpoint().expect("the log is well");
    let (checkpoint, index) = taken.expect("there are few readers");
    node.recovered.snapshots.write(checkpoint, index).map(|_| ())
}

fn no_start(server: &mut Server, rule: Rule) {
    server.disk.set(Some(rule));
    let Err(error) = server.start() else { panic!("it started") };
    assert!(error.contains(&server.dir.display().to_string()), "{error}");
    assert!(server.disk.set(None) > 0);
    let node = server.begin();
    server.restart(node, false);
}

fn poisoned(server: &mut Server, rule: Rule) {
    let mut node = server.begin();
    server.disk.set(Some(rule));
    assert_eq!(server.count(&mut node), ResultCode::Unavailable);
    assert!(server.disk.set(None) > 0);
    assert!(node.recovered.committer.log().poisoned().is_some());
    assert_eq!(server.count(&mut node), ResultCode::Unavailable, "nothing is tried again");
    server.look(&mut node, false);
    server.restart(node, true);
}

fn no_room(server: &mut Server, rule: Rule) {
    let mut node = server.begin();
    while node.prepare_file() {}
    server.disk.set(Some(rule));
    let codes: Vec<ResultCode> = (0..60).map(|_| server.count(&mut node)).collect();
    assert_eq!(codes.first(), Some(&ResultCode::Success), "there was room");
    assert_eq!(codes.last(), Some(&ResultCode::UnwillingToPerform), "{codes:?}");
    assert!(codes.is_sorted_by_key(|code| *code != ResultCode::Success), "{codes:?}");
    assert!(server.disk.set(None) > 0);
    server.look(&mut node, false);
    assert!(node.recovered.committer.log().poisoned().is_none());
    assert!(node.prepare_file(), "it is tried again");
    assert_eq!(server.count(&mut node), ResultCode::Success, "there is room again");
    server.restart(node, false);
}

fn no_snapshot(server: &mut Server, rule: Rule) {
    let mut node = server.begin();
    snapshot(&mut node).expect("nothing fails yet");
    assert_eq!(server.count(&mut node), ResultCode::Success);
    server.disk.set(Some(rule));
    let failed = snapshot(&mut node).expect_err("the disk fails").to_string();
    assert!(failed.contains("snapshot"), "{failed}");
    assert_eq!(server.count(&mut node), ResultCode::Success, "changes go on");
    assert!(server.disk.set(None) > 0);
    // As if it had ended here.
    server.restart(node, false);
    let mut node = server.start().expect("the disk works again");
    server.disk.set(Some(rule));
    assert_eq!(server.count(&mut node), ResultCode::Success);
    snapshot(&mut node).expect_err("the disk fails");
    server.disk.set(None);
    snapshot(&mut node).expect("the disk works again");
    server.restart(node, false);
}

fn no_release(server: &mut Server, rule: Rule) {
    let mut node = server.begin();
    (0..40).for_each(|_| assert_eq!(server.count(&mut node), ResultCode::Success));
    snapshot(&mut node).expect("nothing fails yet");
    let index = node.recovered.snapshots.latest().expect("it was made").index;
    server.disk.set(Some(rule));
    let log = Arc::clone(node.recovered.committer.log());
    log.release(index, &mut |_| Ok(())).expect_err("the disk fails");
    assert!(server.disk.set(None) > 0);
    assert_eq!(server.count(&mut node), ResultCode::Success, "changes go on");
    assert!(log.release(index, &mut |_| Ok(())).expect("the disk works again") > 0);
    server.restart(node, false);
}

#[test]
fn every_write_path_fails_as_it_is_written_down() {
    for &(what, operation, is_meant, skip, outcome) in ROWS {
        for errno in [EIO, ENOSPC] {
            println!("{what}: {operation:?}, error {errno}: {outcome:?}");
            let rule = Rule { operation, is_meant, skip, errno };
            // With spares files are renamed, without removed.
            let spares = usize::from(outcome == Outcome::NoRelease && operation != Remove) * 8;
            let mut server = Server::new(spares);
            match outcome {
                Outcome::NoStart => no_start(&mut server, rule),
                Outcome::Poisoned => poisoned(&mut server, rule),
                Outcome::NoRoom => no_room(&mut server, rule),
                Outcome::NoSnapshot => no_snapshot(&mut server, rule),
                Outcome::NoRelease => no_release(&mut server, rule),
            }
        }
    }
}

/// The table has every write path: a server's whole run does nothing that no row can make fail.
#[test]
fn nothing_is_written_that_the_table_does_not_have() {
    use sim::recorder::{Event, Recorder};
    let temp = tempfile::tempdir().expect("there is room");
    let (recorder, dir) = (Recorder::default(), temp.path().join("data"));
    sim::threads::run(&recorder, &dir).expect("nothing fails");
    let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    for event in recorder.events() {
        let (operation, name) = match &event {
            Event::Created(path, _) => (Create, name(path)),
            Event::Renamed(from, _) => (Rename, name(from)),
            Event::Removed(path) => (Remove, name(path)),
            Event::FolderSynced(path, _) => (SyncFolder, name(path)),
            _ => continue,
        };
        let is_cleaning = operation == Remove && name.contains(".snap") || name.ends_with(".spare");
        let has = ROWS.iter().any(|(_, of, is_meant, ..)| *of == operation && is_meant(&name));
        assert!(has || is_cleaning, "no row has {operation:?} of {name}");
    }
}
