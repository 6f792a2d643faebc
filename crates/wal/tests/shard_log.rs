//! The log of one replica, seen as a [`ShardLog`]: a step is two halves, and nothing is committed before its sync has ended.

use env::disk::RealDisk;
use env::entropy::SeededEntropy;
use std::sync::Arc;
use wal::{Index, Kind, LocalLog, Mode, Position, Role, Settings, ShardLog, SyncJob, Write};

struct Place {
    _dir: tempfile::TempDir,
    log: Box<dyn ShardLog>,
}

fn place(mode: Mode) -> Place {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings { mode, file_bytes: 1 << 20, waiting_bytes_max: 64 << 10, ..Settings::default() };
    let mut entropy = SeededEntropy::new(1);
    let opened =
        wal::open(Arc::new(RealDisk), dir.path(), settings, &mut entropy, Index(0), &mut |_| Ok(())).unwrap();
    Place { _dir: dir, log: Box::new(LocalLog::new(opened.writer)) }
}

impl Place {
    fn propose(&mut self, payload: &[u8]) -> Position {
        self.log.propose(Kind::Commands, &mut |_, out| out.extend_from_slice(payload)).unwrap()
    }

    /// The sync that a first half hands out.
    fn write(&mut self) -> Option<SyncJob> {
        match self.log.write(0).unwrap() {
            Write::Sync(job) => Some(job),
            Write::Done | Write::Idle { .. } => None,
        }
    }

    fn committed(&mut self) -> Vec<(Position, Vec<u8>)> {
        let mut all = Vec::new();
        self.log.committed(&mut |committed| {
            all.push((committed.at, committed.payload.to_vec()));
            true
        });
        all
    }
}

fn at(index: u64) -> Position {
    Position { index: Index(index), term: 0 }
}

#[test]
fn what_is_proposed_is_committed_when_its_sync_has_ended() {
    let mut place = place(Mode::Always);
    assert_eq!(place.log.role(), Role::Leader { term: 0 });
    assert_eq!((place.propose(b"a"), place.propose(b"longer than eight bytes")), (at(1), at(2)));
    let first = place.write().expect("a sync is due");
    assert_eq!(place.committed(), []);
    // What comes while it runs is for the next one.
    assert_eq!(place.propose(b"c"), at(3));
    assert!(place.write().is_none(), "one sync at a time");
    assert!(!place.log.flush().unwrap(), "one sync at a time");
    place.log.sync_done(first.run()).unwrap();
    let both = vec![(at(1), b"a".to_vec()), (at(2), b"longer than eight bytes".to_vec())];
    assert_eq!((place.committed(), place.committed()), (both, vec![]));
    let second = place.write().expect("what was written meanwhile is synced");
    place.log.sync_done(second.run()).unwrap();
    assert_eq!(place.committed(), [(at(3), b"c".to_vec())]);
    assert!(place.write().is_none());
    assert!(place.log.flush().unwrap());
    place.log.close().unwrap();
}

#[test]
fn what_is_written_is_committed_where_the_mode_says_so() {
    let mut place = place(Mode::None);
    place.propose(b"a");
    assert!(place.write().is_none());
    assert_eq!(place.committed(), [(at(1), b"a".to_vec())]);
    assert!(place.log.files().synced() < place.log.files().safe());
    assert!(place.log.flush().unwrap());
    assert_eq!(place.log.files().synced(), Index(1));
}

#[test]
fn a_barrier_is_passed_at_the_last_record_that_is_committed() {
    let mut place = place(Mode::Always);
    place.propose(b"a");
    let job = place.write().expect("a sync is due");
    place.log.sync_done(job.run()).unwrap();
    let (before, _) = place.log.passed();
    let barrier = place.log.barrier();
    assert!(before < barrier);
    assert_eq!(place.log.passed(), (barrier, Index(1)));
}
