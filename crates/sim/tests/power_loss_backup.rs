//! Power loss during backups and restores: what they do to a real folder is recorded, and the record is cut at random
//! points. Whatever has its name then is whole, what was reported is there, and the next ones succeed.
//!
//! `PANDO_CUTS=n` cuts so many times.

use env::disk::{Disk, RealDisk};
use env::entropy::SeededEntropy;
use env::planted::{self, Fault};
use node::data::Data;
use node::data::backup::{Backups, Until, restore, take};
use sim::clock::SimClock;
use sim::disk::{Faults, SimDisk};
use sim::node::{Node, digest, schema};
use sim::random::Random;
use sim::recorder::{Event, Recorder};
use sim::requests::Bundle;
use sim::workloads::{self, Workload};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wal::Index;

const CUTS: u64 = 40;
/// Cuts within which a fault must be found.
const PLANTED_CUTS: u64 = 200;
/// Bytes of memory that a directory may take.
const MEMORY_BYTES_MAX: u64 = 64 << 20;
/// Marks of the record: a backup or restore begins, and is reported as done.
const BEGUN: usize = 0;
const DONE: usize = 1;

/// A server in one thread on a disk whose record is kept, and what it was made to do.
struct Run {
    root: PathBuf,
    recorder: Recorder,
    disk: Arc<dyn Disk>,
    node: Option<Node>,
    clock: SimClock,
    random: Random,
    workload: Box<dyn Workload>,
    /// Number of backups and restores so far.
    jobs: u64,
    /// What each path holds that was reported, and after which job.
    whole: BTreeMap<PathBuf, (u64, u128)>,
    /// What the server's directory holds during a job.
    source: BTreeMap<u64, u128>,
}

impl Run {
    fn new(root: &Path) -> Run {
        let recorder = Recorder::default();
        let (disk, clock) = (recorder.over(Arc::new(RealDisk)), SimClock::default());
        let log = wal::Settings {
            file_bytes: 32 << 10,
            waiting_bytes_max: 16 << 10,
            ready_files: 1,
            spare_files_max: 1,
            ..wal::Settings::default()
        };
        let node = Node::start(Arc::clone(&disk), &root.join("data"), log, 1, 1, &clock);
        let mut node = node.expect("nothing fails");
        node.recovered.snapshots.archive_to(Arc::clone(&disk), &root.join("archive"));
        let (mut random, mut base) = (Random::new(1), Bundle::default());
        random.number();
        workloads::base(1, &mut base);
        let workload = workloads::named("mixed", 1).expect("there is one");
        let (root, node, jobs) = (root.to_owned(), Some(node), 0);
        let (whole, source) = (BTreeMap::new(), BTreeMap::new());
        let mut run = Run { root, recorder, disk, node, clock, random, workload, jobs, whole, source };
        run.send(&base);
        run
    }

    fn node(&mut self) -> &mut Node {
        self.node.as_mut().expect("it runs")
    }

    fn send(&mut self, bundle: &Bundle) {
        self.clock.pass_ns(1_000_000);
        let (clock, node) = (self.clock, self.node());
        node.apply(0, bundle, &clock);
    }

    fn work(&mut self, bundles: usize) {
        for _ in 0..bundles {
            let mut bundle = Bundle::default();
            self.workload.start(0, &mut self.random, &mut bundle);
            self.send(&bundle);
        }
    }

    fn snapshot(&mut self) {
        let recovered = &mut self.node().recovered;
        let taken = recovered.committer.checkpoint().expect("nothing fails");
        let (checkpoint, index) = taken.expect("there are few readers");
        recovered.snapshots.write(checkpoint, index).expect("nothing fails");
        let log = Arc::clone(recovered.committer.log());
        recovered.snapshots.release(&log, index, &mut |_| ()).expect("nothing fails");
    }

    /// Does a job, which makes what is at the path that it returns.
    fn job(&mut self, digest: u128, work: impl FnOnce(&Run) -> PathBuf) {
        self.jobs += 1;
        let held = self::digest(&self.node().recovered.dsa);
        self.source.insert(self.jobs, held);
        self.recorder.note(Event::Acknowledged(BEGUN, self.jobs));
        let made = work(self);
        self.recorder.note(Event::Acknowledged(DONE, self.jobs));
        self.whole.insert(made, (self.jobs, digest));
    }

    fn backup(&mut self) {
        let (digest, now_ms) = (digest(&self.node().recovered.dsa), 1_700_000_000_000 + self.jobs);
        self.job(digest, |run| {
            let (data, backups) = (run.root.join("data"), run.root.join("backups"));
            let taken = take(&run.disk, &data, &backups, None, now_ms, 0, &mut |_, _| ());
            taken.expect("nothing fails").generation.dir
        });
    }

    fn restore(&mut self, name: &str, until: Until, digest: u128) {
        self.job(digest, |run| {
            let to = run.root.join(name);
            restored(&run.disk, &run.root, &to, until).expect("nothing fails");
            to
        });
    }
}

fn restored(disk: &Arc<dyn Disk>, root: &Path, to: &Path, until: Until) -> Result<(), String> {
    let archives = [root.join("archive"), root.join("data/log")];
    let archives = if until == Until::End { &[] } else { &archives[..] };
    let (from, mut entropy) = (root.join("backups"), SeededEntropy::new(3));
    let restored = restore(disk, &from, archives, until, to, &mut entropy, &mut |_, _| ());
    restored.map(|_| ()).map_err(|error| error.to_string())
}

/// Backups while the server runs, restores of all and of a point; with `fault` in them.
fn record(root: &Path, fault: Option<Fault>) -> Run {
    let mut run = Run::new(root);
    run.work(10);
    run.snapshot();
    run.work(5);
    planted::plant(fault);
    run.backup();
    planted::plant(None);
    run.work(20);
    let (point, at_point) = (run.node().applied(), digest(&run.node().recovered.dsa));
    run.work(20);
    run.snapshot();
    run.work(5);
    let at_end = digest(&run.node().recovered.dsa);
    planted::plant(fault);
    run.backup();
    run.restore("all", Until::End, at_end);
    run.restore("then", Until::Sequence(Index(point)), at_point);
    planted::plant(None);
    run.node = None;
    run
}

/// Digest of a data directory or backup that is whole.
fn look(disk: &Arc<dyn Disk>, dir: &Path) -> Result<u128, String> {
    let read = || {
        let data = Data::existing(Arc::clone(disk), dir)?;
        let examined = data.examine(schema(), Vec::new(), MEMORY_BYTES_MAX, 3, false)?;
        let view = data.view(&schema(), MEMORY_BYTES_MAX, &mut |_| ())?;
        Ok::<_, node::data::DataError>((examined.findings, view))
    };
    let (findings, view) = read().map_err(|error| error.to_string())?;
    let view = view.ok_or_else(|| format!("{}: it was never served", dir.display()))?;
    findings.first().map_or(Ok(digest(&view.dsa)), |finding| Err(finding.clone()))
}

/// Cuts the power in a backup or a restore.
fn cut(run: &Run, events: &[Event], seed: u64) -> Result<(), String> {
    let mut random = Random::new(seed);
    let inside: Vec<usize> = inside(events).collect();
    let at = *random.one_of(&inside);
    let last_acknowledged = |mark| {
        let numbers = events[..at].iter().filter_map(move |event| match event {
            Event::Acknowledged(of, number) if *of == mark => Some(*number),
            _ => None,
        });
        numbers.max().unwrap_or(0)
    };
    let (begun, done) = (last_acknowledged(BEGUN), last_acknowledged(DONE));
    let simulated = SimDisk::of_trace(random.number(), &events[..at]);
    simulated.lose_power();
    let outcome = after(run, &(Arc::new(simulated) as Arc<dyn Disk>), begun, done);
    outcome.map_err(|what| format!("cut {seed}, after {at} operations, in job {begun}: {what}"))
}

/// Looks at what a power loss in job `begun` has left; those up to `done` had been reported.
fn after(run: &Run, disk: &Arc<dyn Disk>, begun: u64, done: u64) -> Result<(), String> {
    let (backups, wrong) =
        Backups::new(Arc::clone(disk), &run.root.join("backups")).all().unwrap_or_default();
    if let Some(error) = wrong.first() {
        return Err(error.to_string());
    }
    let found = backups.into_iter().map(|backup| backup.dir);
    let found: Vec<PathBuf> = found.chain(["all", "then"].map(|name| run.root.join(name))).collect();
    for (path, (job, digest)) in &run.whole {
        let is_there = found.contains(path) && disk.list(path).is_ok();
        if !is_there && *job <= done {
            return Err(format!("{} was reported and is not there", path.display()));
        }
        if is_there && look(disk, path)? != *digest {
            return Err(format!("{} is not what it should be", path.display()));
        }
    }
    let source = run.root.join("data");
    if look(disk, &source)? != run.source[&begun] {
        return Err("the directory itself is another".to_owned());
    }
    // Where this one ended the next begins.
    let backups = run.root.join("backups");
    let again = take(disk, &source, &backups, None, 1_800_000_000_000, 0, &mut |_, _| ());
    again.map_err(|error| error.to_string())?;
    let to = run.root.join("again");
    restored(disk, &run.root, &to, Until::End)?;
    match look(disk, &to)? == run.source[&begun] {
        true => Ok(()),
        false => Err("what is restored afterwards is another".to_owned()),
    }
}

/// How long the record is at operations of jobs.
fn inside(events: &[Event]) -> impl Iterator<Item = usize> {
    let mut within = false;
    (1..=events.len()).filter(move |at| {
        if let Event::Acknowledged(mark, _) = events[at - 1] {
            within = mark == BEGUN;
        }
        within || matches!(events[at - 1], Event::Acknowledged(DONE, _))
    })
}

#[test]
fn what_has_its_name_is_whole_after_a_power_loss() {
    let temp = tempfile::tempdir().expect("there is room");
    let run = record(temp.path(), None);
    let events = run.recorder.events();
    let cuts = std::env::var("PANDO_CUTS").ok().and_then(|text| text.parse().ok()).unwrap_or(CUTS);
    (0..cuts).for_each(|seed| cut(&run, &events, seed).unwrap_or_else(|what| panic!("{what}")));
    println!("{} operations, {} in backups and restores, {cuts} cuts", events.len(), inside(&events).count());
}

#[test]
#[ignore = "needs the build with faults: .ci/test planted"]
fn what_is_not_synced_is_found() {
    for (fault, what) in [
        (wal::faults::COPY_NOT_SYNCED, "job"),
        (node::faults::RESTORE_NOT_SYNCED, "is not what it should be"),
    ] {
        let temp = tempfile::tempdir().expect("there is room");
        let run = record(temp.path(), Some(fault));
        let events = run.recorder.events();
        let found = (0..PLANTED_CUTS).find_map(|seed| cut(&run, &events, seed).err());
        println!("{fault:?}: {found:?}");
        assert!(found.is_some_and(|found| found.contains(what)), "{fault:?} was not found");
    }
}

/// A backup that was to be removed when a step failed does not come back in part when the power fails in the next one.
#[test]
fn what_is_removed_does_not_come_back_in_part() {
    let (disk, clock) = (SimDisk::new(1), SimClock::default());
    let log = wal::Settings {
        file_bytes: 16 << 10,
        waiting_bytes_max: 8 << 10,
        ready_files: 1,
        ..Default::default()
    };
    let (data, backups) = (Path::new("data"), Path::new("backups"));
    let mut node = Node::start(Arc::new(disk.clone()), data, log, 1, 1, &clock).expect("nothing fails");
    let mut base = Bundle::default();
    workloads::base(1, &mut base);
    node.send(0, &base.bytes, &clock);
    node.step(&clock).expect("nothing fails");
    let held = digest(&node.recovered.dsa);
    drop(node);
    disk.kill();
    let back_up = |disk: &SimDisk, now_ms| {
        let disk: Arc<dyn Disk> = Arc::new(disk.clone());
        take(&disk, data, backups, Some(1), now_ms, 0, &mut |_, _| ()).is_ok()
    };
    assert!(back_up(&disk, 1_000));
    let before = disk.copy();
    assert!(back_up(&before, 2_000));
    let steps = before.operations() - disk.operations();
    for failing in 1..=steps {
        let failed = disk.copy();
        let fail_at = Some((failed.operations() + failing, std::io::ErrorKind::Other));
        failed.set_faults(Faults { fail_at, ..Faults::default() });
        back_up(&failed, 2_000);
        failed.kill();
        for power in 1..20 {
            let cut = failed.copy();
            let power_at = Some(cut.operations() + power);
            cut.set_faults(Faults { power_at, ..Faults::default() });
            back_up(&cut, 3_000);
            cut.lose_power();
            let cut: Arc<dyn Disk> = Arc::new(cut);
            let (all, wrong) = Backups::new(Arc::clone(&cut), backups).all().expect("it is there");
            assert!(wrong.is_empty() && !all.is_empty(), "{failing}, {power}: {wrong:?}");
            for backup in all {
                assert_eq!(look(&cut, &backup.dir), Ok(held), "{failing}, {power}");
            }
        }
    }
}
