//! What an import leaves in the log (`Committer::note_import`) finds room there, also where nobody prepares log files: an
//! import has no threads that do.

use node::data::backup::Until;
use proto::op::ModifyKind;
use sim::clock::SimClock;
use sim::disk::SimDisk;
use sim::node::{Node, digest, recover};
use sim::operator::{self, ARCHIVE, BACKUPS, Operator, TARGET, digest_of};
use sim::oracle::Held;
use sim::requests::{Bundle, Sent};
use sim::workloads;
use std::path::Path;
use std::sync::Arc;
use wal::Index;

#[test]
fn a_note_goes_on_in_the_next_log_file() {
    let disk = SimDisk::new(1);
    let log = wal::Settings { file_bytes: 16 << 10, waiting_bytes_max: 8 << 10, ..wal::Settings::default() };
    let mut last = 0;
    for incarnation in 0..4 {
        let (_data, recovered) =
            recover(Arc::new(disk.clone()), Path::new("/d"), log, None, incarnation).expect("it is sound");
        let mut committer = recovered.committer;
        assert_eq!(committer.applied().0, last, "notes are kept");
        // A block of 512 bytes each: several files of 12 KiB for blocks.
        for _ in 0..60 {
            committer.note_import(1_800_000_000_000).expect("there is room");
        }
        last += 60;
        assert_eq!(committer.applied().0, last);
        committer.close(0, 0).expect("nothing fails");
    }
}

/// An import leaves the log before it to the one that archives it: points before the import can be reached, and none behind it
/// from a backup that is older.
#[test]
fn a_point_before_an_import_can_be_reached() {
    let (disk, dir, mut clock) = (SimDisk::new(2), Path::new("data"), SimClock::default());
    let log = wal::Settings {
        file_bytes: 16 << 10,
        waiting_bytes_max: 8 << 10,
        ready_files: 1,
        ..Default::default()
    };
    let mut operator = Operator::default();
    let start = || {
        let node = Node::start(Arc::new(disk.clone()), dir, log, 1, 1, &SimClock::default());
        let mut node = node.expect("nothing fails");
        node.recovered.snapshots.archive_to(Arc::new(disk.clone()), Path::new(ARCHIVE));
        node
    };
    let mut node = start();
    let mut change = |node: &mut Node, filler: usize| {
        let mut bundle = Bundle::default();
        workloads::base(1, &mut bundle);
        let text = "x".repeat(filler);
        bundle.modify("dc=x", ModifyKind::Replace, "description", &[&text], Sent::Other);
        clock.pass_ns(1_000_000);
        node.apply(0, &bundle, &clock);
        Held { last: node.applied(), digest: digest(&node.recovered.dsa) }
    };
    let held = change(&mut node, 1);
    operator.back_up(&disk, dir, held, &mut |_, _| ()).expect("nothing fails");
    let point = (0..30).map(|n| change(&mut node, 2000 + n)).last().expect("there are some");
    drop(node);
    disk.kill();
    operator::import(&disk, dir, log, "dn: cn=new,dc=x\nobjectClass: device\ncn: new\n\n", 3)
        .expect("nothing fails");
    for is_archived in [false, true] {
        if is_archived {
            let mut node = start();
            change(&mut node, 1);
            let taken = node.recovered.committer.checkpoint().expect("nothing fails");
            let (checkpoint, index) = taken.expect("there are few readers");
            node.recovered.snapshots.write(checkpoint, index).expect("nothing fails");
            let log = Arc::clone(node.recovered.committer.log());
            node.recovered.snapshots.release(&log, index, &mut |_| ()).expect("nothing fails");
            drop(node);
            disk.kill();
            assert!(disk.files(Path::new(ARCHIVE)).len() > 2);
        }
        let restore =
            |last| operator::restored(&disk, Path::new(BACKUPS), dir, Until::Sequence(Index(last)), 4);
        restore(point.last).unwrap_or_else(|error| panic!("archived: {is_archived}: {error}"));
        assert_eq!(digest_of(&disk, Path::new(TARGET)), Ok(Some(point.digest)));
        disk.discard(Path::new(TARGET));
        let beyond = restore(point.last + 1).expect_err("the import is on the way").to_string();
        assert!(beyond.contains("an import"), "{beyond}");
    }
}
