//! The log on a disk that fails, over many seeds: what was reported is recovered, nothing else appears, order is kept.
//!
//! `PANDO_SEED=n` runs that seed alone, `PANDO_SEEDS=n` that many.

use env::disk::Disk;
use env::entropy::{Entropy as _, SeededEntropy};
use sim::disk::{Faults, SimDisk};
use std::path::Path;
use std::sync::Arc;
use wal::{Index, Kind, Mode, OpenError, Opened, Refused, Settings};

const DIR: &str = "log";
const SEEDS: u64 = 2_000;

/// What may be relied on, beside the log.
struct Model {
    random: SeededEntropy,
    settings: Settings,
    disk: SimDisk,
    /// Every record that may be in the log, from index 1 on, and whether it ends a batch.
    records: Vec<(Vec<u8>, bool)>,
    /// Records up to here outlive the process.
    safe: u64,
    /// Records up to here outlive power loss.
    synced: u64,
    /// Records up to here must be there at the next start: `synced` after power loss, `safe` as long as there was none.
    expected: u64,
    /// What the last durable snapshot holds.
    snapshot: u64,
    clock_ms: u64,
    /// Seen in this seed, for the test of the test.
    seen: Seen,
}

#[derive(Clone, Copy, Default, Debug)]
struct Seen {
    incarnations: u64,
    cuts: u64,
    poisoned: u64,
    full_disks: u64,
    released: u64,
    lost: u64,
    files: u64,
}

impl Model {
    fn new(seed: u64) -> Model {
        let mut random = SeededEntropy::new(seed);
        let mode = match random.next_u64() % 4 {
            0 | 1 => Mode::Always,
            2 => Mode::Interval { ms: 1 + random.next_u64() % 20 },
            _ => Mode::None,
        };
        let settings = Settings {
            mode,
            file_bytes: 8192 << (random.next_u64() % 4),
            waiting_bytes_max: 4096,
            ready_files: 1 + random.next_u64() as usize % 3,
            spare_files_max: random.next_u64() as usize % 3,
        };
        let disk = SimDisk::new(random.next_u64());
        let (records, seen) = (Vec::new(), Seen::default());
        Model {
            random,
            settings,
            disk,
            records,
            safe: 0,
            synced: 0,
            expected: 0,
            snapshot: 0,
            clock_ms: 0,
            seen,
        }
    }

    fn below(&mut self, n: u64) -> u64 {
        self.random.next_u64() % n
    }

    /// Opens the log and compares what it hands out. `None` when the disk failed meanwhile.
    fn open(&mut self) -> Option<Opened> {
        let mut found = Vec::new();
        let mut entropy = SeededEntropy::new(self.random.next_u64());
        let opened = wal::open(
            Arc::new(self.disk.clone()),
            Path::new(DIR),
            self.settings,
            &mut entropy,
            Index(self.snapshot),
            &mut |record| {
                assert_eq!(record.kind, Kind::Commands);
                assert_eq!(record.index.0, self.snapshot + 1 + found.len() as u64);
                found.push(record.payload.to_vec());
                Ok(())
            },
        );
        let opened = match opened {
            Ok(opened) => opened,
            Err(OpenError::Io(_)) => return None,
            Err(error) => panic!("{error}"),
        };
        let last = self.snapshot + found.len() as u64;
        assert!(last >= self.expected, "record {} was promised, {last} is the last", self.expected);
        assert!(last <= self.records.len() as u64);
        for (at, payload) in found.iter().enumerate() {
            assert_eq!(
                *payload,
                self.records[self.snapshot as usize + at].0,
                "record {at} after the snapshot"
            );
        }
        assert!(last == 0 || self.records[last as usize - 1].1, "a batch is there whole or not at all");
        self.seen.lost += self.records.len() as u64 - last;
        self.seen.cuts += u64::from(opened.cut.is_some());
        self.records.truncate(last as usize);
        // What was handed out has been promised from now on.
        (self.safe, self.synced) = (last, last);
        assert_eq!(opened.log.safe(), Index(last));
        Some(opened)
    }

    fn append(&mut self, opened: &Opened) {
        let mut batch = opened.log.batch();
        let before = self.records.len();
        for _ in 0..1 + self.random.next_u64() % 4 {
            let len = match self.random.next_u64() % 10 {
                0 => self.random.next_u64() % 3000,
                _ => self.random.next_u64() % 120,
            };
            let mut payload = vec![0; len as usize];
            self.random.fill(&mut payload);
            let index = match batch.append(Kind::Commands, |out| out.extend_from_slice(&payload)) {
                Ok(index) => index,
                Err(Refused::NoSpace(_)) => {
                    self.seen.full_disks += 1;
                    break;
                }
                Err(_) => break,
            };
            self.records.push((payload, false));
            assert_eq!(index.0, self.records.len() as u64);
        }
        if self.records.len() > before {
            self.records.last_mut().unwrap().1 = true;
        }
    }

    /// One incarnation of the process: opens, works, ends somehow.
    fn live(&mut self) {
        self.seen.incarnations += 1;
        self.set_faults();
        let Some(mut opened) = self.open() else { return self.end() };
        let steps = 1 + self.below(60);
        let mut block = None;
        for _ in 0..steps {
            match self.below(9) {
                0..4 => self.append(&opened),
                4 => {
                    self.clock_ms += self.below(10);
                    if self.step(&mut opened, &mut block).is_err() {
                        break;
                    }
                }
                // In pieces, so that appends come between.
                5 if block.is_none() => {
                    block = opened.writer.take();
                    if let Some(block) = &mut block
                        && opened.writer.write(block).is_err()
                    {
                        break;
                    }
                }
                5..7 => {
                    if self.step(&mut opened, &mut block).is_err() {
                        break;
                    }
                }
                7 => {
                    if let Some(preparation) = opened.log.wanted() {
                        opened.log.prepared(preparation.run());
                    }
                }
                _ => {
                    if opened.log.poisoned().is_none() && self.below(4) == 0 {
                        self.snapshot = opened.log.synced().0;
                        let released = opened.log.release(Index(self.snapshot), &mut |_| Ok(()));
                        self.seen.released += released.unwrap_or(0) as u64;
                    }
                }
            }
            self.observe(&opened);
        }
        self.observe(&opened);
        self.seen.poisoned += u64::from(opened.log.poisoned().is_some());
        self.seen.files += opened.log.live_bytes() / u64::from(self.settings.file_bytes);
        if self.below(3) == 0 && block.is_none() && opened.writer.close().is_ok() {
            (self.safe, self.synced) = (self.records.len() as u64, self.records.len() as u64);
            self.disk.set_faults(Faults::default());
        }
        self.end();
    }

    fn step(&mut self, opened: &mut Opened, block: &mut Option<wal::Block>) -> Result<(), wal::Poisoned> {
        let Some(block) = block.take() else { return opened.writer.step(self.clock_ms).map(|_| ()) };
        opened.writer.sync()?;
        opened.writer.settle(block);
        Ok(())
    }

    fn observe(&mut self, opened: &Opened) {
        self.safe = opened.log.safe().0;
        self.synced = opened.log.synced().0;
        if self.settings.mode == Mode::Always {
            assert!(self.synced >= self.safe, "in mode always safe means synced");
        }
    }

    fn set_faults(&mut self) {
        let now = self.disk.operations();
        let mut faults = Faults::default();
        match self.below(6) {
            0 | 1 => faults.power_at = Some(now + 1 + self.below(80)),
            2 => faults.fail_at = Some((now + 1 + self.below(60), std::io::ErrorKind::Other)),
            3 => faults.capacity = Some(u64::from(self.settings.file_bytes) * (1 + self.below(4))),
            4 => {
                faults.failing_syncs = self.below(100) as u16;
                faults.failing_writes = self.below(100) as u16;
            }
            _ => {}
        }
        self.disk.set_faults(faults);
    }

    /// The process ends, alone or with the machine.
    fn end(&mut self) {
        if self.disk.is_off() || self.below(2) == 0 {
            self.disk.lose_power();
            self.expected = self.synced;
            self.safe = self.synced;
        } else {
            self.disk.kill();
            self.expected = self.safe;
        }
        self.disk.set_faults(Faults::default());
    }
}

fn run(seed: u64) -> (Seen, u64) {
    let mut model = Model::new(seed);
    for _ in 0..8 {
        model.live();
    }
    model.disk.lose_power();
    model.expected = model.synced;
    model.open().expect("the disk does not fail now");
    (model.seen, model.disk.trace())
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn what_was_reported_is_recovered_and_nothing_else() {
    let seeds = match variable("PANDO_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..variable("PANDO_SEEDS").unwrap_or(SEEDS),
    };
    let single = seeds.end - seeds.start == 1;
    let mut all = Seen::default();
    for seed in seeds {
        let seen = std::panic::catch_unwind(|| run(seed));
        let (seen, _) = seen.unwrap_or_else(|_| panic!("PANDO_SEED={seed}"));
        all.incarnations += seen.incarnations;
        all.cuts += seen.cuts;
        all.poisoned += seen.poisoned;
        all.full_disks += seen.full_disks;
        all.released += seen.released;
        all.lost += seen.lost;
        all.files += seen.files;
    }
    println!("{all:?}");
    let rare = [all.cuts, all.poisoned, all.full_disks, all.released, all.lost, all.files];
    assert!(single || rare.iter().all(|count| *count > 0), "every rare path was taken: {all:?}");
}

#[test]
fn a_seed_repeats_itself() {
    assert_eq!(run(5).1, run(5).1);
    assert_ne!(run(5).1, run(6).1);
}

#[test]
fn a_folder_is_locked_by_one_process() {
    let disk = SimDisk::new(1);
    disk.create_dir(Path::new(DIR)).unwrap();
    let lock = disk.lock_dir(Path::new(DIR)).unwrap();
    assert!(disk.lock_dir(Path::new(DIR)).is_err());
    disk.kill();
    let again = disk.lock_dir(Path::new(DIR)).unwrap();
    drop(lock);
    assert!(
        disk.lock_dir(Path::new(DIR)).is_err(),
        "the lock of a dead process does not free that of a living one"
    );
    drop(again);
}
