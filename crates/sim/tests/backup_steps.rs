//! Each step of a backup and of a restore that changes something on the disk fails, alone or with all after it as at a kill:
//! whatever has its name is whole, nothing that was there is touched, and the next one succeeds.

use env::disk::{Disk, RealDisk};
use env::entropy::SeededEntropy;
use node::data::Data;
use node::data::backup::{Backups, Until, restore, take};
use proto::op::ModifyKind;
use sim::clock::SimClock;
use sim::hooked::{Hook, Kind, Operation, hooked};
use sim::node::{Node, schema};
use sim::requests::{Bundle, SUFFIX, Sent};
use sim::workloads;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fails {
    Nothing,
    /// The step of this number.
    One(u64),
    /// That, and all after it.
    AllFrom(u64),
}

/// The real disk, whose changes are counted.
#[derive(Clone, Debug)]
struct Steps(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    fails: Mutex<Fails>,
    step: AtomicU64,
    hit: AtomicBool,
}

impl Steps {
    fn new() -> Steps {
        Steps(Arc::new(Shared {
            fails: Mutex::new(Fails::Nothing),
            step: AtomicU64::new(0),
            hit: AtomicBool::new(false),
        }))
    }

    /// Counts from 0 again. Was there a step that failed?
    fn set(&self, fails: Fails) -> bool {
        *self.0.fails.lock().unwrap_or_else(PoisonError::into_inner) = fails;
        self.0.step.store(0, Ordering::Relaxed);
        self.0.hit.swap(false, Ordering::Relaxed)
    }

    fn step(&self, path: &Path) -> io::Result<()> {
        let step = self.0.step.fetch_add(1, Ordering::Relaxed);
        let fails = match *self.0.fails.lock().unwrap_or_else(PoisonError::into_inner) {
            Fails::Nothing => false,
            Fails::One(number) => step == number,
            Fails::AllFrom(number) => step >= number,
        };
        if fails {
            self.0.hit.store(true, Ordering::Relaxed);
            return Err(io::Error::other(format!("{}: step {step} was made to fail", path.display())));
        }
        Ok(())
    }
}

impl Hook for Steps {
    fn around(&self, operation: Operation<'_>, work: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        let (kind, path, _) = operation.parts();
        self.step(path)?;
        // The power does not fail here.
        if matches!(kind, Kind::Sync | Kind::SyncFolder) { Ok(()) } else { work() }
    }
}

/// A folder with a data directory that has a snapshot and some log, and a disk to reach it.
struct Place {
    temp: tempfile::TempDir,
    steps: Steps,
    disk: Arc<dyn Disk>,
    clock: SimClock,
    backups_taken: u64,
}

impl Place {
    fn new() -> Place {
        let steps = Steps::new();
        let disk = hooked(Arc::new(RealDisk), Arc::new(steps.clone()));
        let temp = tempfile::tempdir().expect("there is room");
        let place = Place { temp, steps, disk, clock: SimClock::default(), backups_taken: 0 };
        place.write(true);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    /// An incarnation of the server: the first entries and a snapshot, or a change.
    fn write(&self, first: bool) {
        let log = wal::Settings {
            file_bytes: 64 << 10,
            waiting_bytes_max: 16 << 10,
            ready_files: 1,
            ..wal::Settings::default()
        };
        let disk = Arc::clone(&self.disk);
        let mut node = Node::start(disk, &self.path("data"), log, 1, 1, &self.clock).expect("nothing fails");
        let mut bundle = Bundle::default();
        match first {
            true => workloads::base(1, &mut bundle),
            false => bundle.modify(SUFFIX, ModifyKind::Replace, "description", &["new"], Sent::Other),
        }
        node.send(0, &bundle.bytes, &self.clock);
        node.step(&self.clock).expect("nothing fails");
        node.answers(0);
        if first {
            let taken = node.recovered.committer.checkpoint().expect("the log is well");
            let (checkpoint, index) = taken.expect("there are few readers");
            node.recovered.snapshots.write(checkpoint, index).expect("nothing fails");
        }
    }

    /// Each backup is called after another time.
    fn take(&mut self, keep: usize) -> Result<PathBuf, String> {
        self.backups_taken += 1;
        let now_ms = 1_700_000_000_000 + self.backups_taken;
        let (data, backups) = (self.path("data"), self.path("backups"));
        let taken = take(&self.disk, &data, &backups, Some(keep), now_ms, 0, &mut |_, _| ());
        taken.map(|taken| taken.generation.dir).map_err(|error| error.to_string())
    }

    fn restore(&self, to: &str) -> Result<u64, String> {
        let (backups, to) = (self.path("backups"), self.path(to));
        let mut entropy = SeededEntropy::new(7);
        let restored = restore(&self.disk, &backups, &[], Until::End, &to, &mut entropy, &mut |_, _| ());
        restored.map(|restored| restored.last.0).map_err(|error| error.to_string())
    }

    /// The backups that count.
    fn backups(&self) -> Vec<PathBuf> {
        let (all, wrong) =
            Backups::new(Arc::new(RealDisk), &self.path("backups")).all().expect("it is there");
        assert!(wrong.is_empty(), "{wrong:?}");
        all.into_iter().map(|generation| generation.dir).collect()
    }
}

/// A data directory, or a backup, in which nothing is wrong.
fn look(dir: &Path) -> u64 {
    let data = Data::existing(Arc::new(RealDisk), dir).expect("it is one");
    let examined = data.examine(schema(), Vec::new(), 64 << 20, 10, false).expect("it is whole");
    assert!(examined.findings.is_empty(), "{:?}", examined.findings);
    examined.entries
}

#[test]
fn every_step_of_a_backup_may_fail() {
    for fails in [Fails::One, Fails::AllFrom] {
        let mut place = Place::new();
        place.take(2).expect("nothing fails");
        let entries = look(&place.path("data"));
        for step in 0.. {
            place.write(false);
            let before = place.backups();
            place.steps.set(fails(step));
            let taken = place.take(2);
            let hit = place.steps.set(Fails::Nothing);
            let after = place.backups();
            if taken.is_err() {
                // The name may have been given, or an old one taken away, before the step that failed.
                assert!(after.iter().any(|dir| before.contains(dir)), "step {step}: {before:?}, {after:?}");
            }
            after.iter().for_each(|dir| assert_eq!(look(dir), entries, "step {step}"));
            assert_eq!(look(&place.path("data")), entries);
            place.take(2).unwrap_or_else(|error| panic!("after step {step}: {error}"));
            let left = RealDisk.list_dirs(&place.path("backups")).expect("it is there");
            assert!(left.len() == 2 && left.iter().all(|name| name.ends_with('Z')), "step {step}: {left:?}");
            if !hit {
                taken.expect("nothing failed");
                assert!(step > 20, "only {step} steps were counted");
                break;
            }
        }
    }
}

#[test]
fn every_step_of_a_restore_may_fail() {
    for fails in [Fails::One, Fails::AllFrom] {
        let mut place = Place::new();
        place.write(false);
        place.take(2).expect("nothing fails");
        let entries = look(&place.path("data"));
        for step in 0.. {
            place.steps.set(fails(step));
            let restored = place.restore("new");
            let hit = place.steps.set(Fails::Nothing);
            let new = place.path("new");
            if new.exists() {
                assert_eq!(look(&new), entries, "step {step}");
                std::fs::remove_dir_all(&new).expect("it is there");
            } else {
                assert!(restored.is_err(), "step {step}");
            }
            place.restore("new").unwrap_or_else(|error| panic!("after step {step}: {error}"));
            assert_eq!(look(&new), entries, "step {step}");
            std::fs::remove_dir_all(&new).expect("it is there");
            assert!(!place.path("new.restoring").exists());
            assert_eq!(look(&place.path("data")), entries);
            if !hit {
                restored.expect("nothing failed");
                assert!(step > 20, "only {step} steps were counted");
                break;
            }
        }
    }
}
