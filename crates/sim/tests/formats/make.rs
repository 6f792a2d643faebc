//! Makes a fixture: the same each time, but for what changes with a format.

use bulk::{Callbacks, Export, Import, Input, Operational, Passwords};
use env::clock::Clock as _;
use env::disk::{Disk, RealDisk};
use env::entropy::SeededEntropy;
use node::commit::Limits;
use node::data::backup::take;
use node::data::{Data, DataError, Settled, Superblock, Wanted};
use node::keep::keep;
use proto::control::permissive_modify;
use proto::op::ModifyKind;
use schema::{Builder, Schema, SchemaFile};
use sim::clock::SimClock;
use sim::node::{Node, config};
use sim::requests::{Bundle, SUFFIX, Sent};
use std::fmt::Write as _;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use store::{IndexKind, IndexSettings, Shard};

/// Values of the big set: it is a tree with several leaves.
const MEMBERS: usize = 1800;

/// The schema of all fixtures.
pub(crate) fn schema() -> Arc<Schema> {
    static SCHEMA: OnceLock<Arc<Schema>> = OnceLock::new();
    let file = || SchemaFile { name: "schema.txt".into(), text: include_str!("schema.txt").into() };
    let build = || Builder::new().with_file(file()).build().expect("it is sound");
    Arc::clone(SCHEMA.get_or_init(|| Arc::new(build())))
}

/// All entries as LDIF, with the server's own bookkeeping.
pub(crate) fn export(shard: &Arc<Shard>) -> String {
    let mut text = Vec::new();
    bulk::export(shard, &Export::default(), &mut text, &mut |_| ()).expect("there is room");
    String::from_utf8(text).expect("it is text")
}

/// A server in a folder, and what was done to it.
pub(crate) struct Place {
    pub(crate) node: Node,
    dir: PathBuf,
    clock: SimClock,
    changes: u64,
}

fn superblock(operational_attributes: bool) -> Superblock {
    Superblock { operational_attributes, ..sim::node::superblock() }
}

/// Small files, so that a fixture has several.
fn small() -> wal::Settings {
    let (file_bytes, waiting_bytes_max) = (16 << 10, 8 << 10);
    wal::Settings { file_bytes, waiting_bytes_max, ready_files: 1, spare_files_max: 1, ..Default::default() }
}

impl Place {
    /// Starts it.
    pub(crate) fn at(
        disk: Arc<dyn Disk>,
        dir: &Path,
        operational_attributes: bool,
        log: wal::Settings,
    ) -> Place {
        let place = Place::start(disk, dir, operational_attributes, log);
        place.unwrap_or_else(|error| panic!("{}: {error}", dir.display()))
    }

    /// As [`Place::at`], if that is possible.
    pub(crate) fn start(
        disk: Arc<dyn Disk>,
        dir: &Path,
        operational_attributes: bool,
        log: wal::Settings,
    ) -> Result<Place, DataError> {
        match Place::start_once(Arc::clone(&disk), dir, operational_attributes, log) {
            Err(DataError::Settings) => Place::start_once(disk, dir, operational_attributes, log),
            place => place,
        }
    }

    /// A start that goes by the settings in their file.
    fn start_once(
        disk: Arc<dyn Disk>,
        dir: &Path,
        operational_attributes: bool,
        log: wal::Settings,
    ) -> Result<Place, DataError> {
        let clock = SimClock::default();
        let data = Data::open(disk, dir)?;
        let mut config = config(data.initialise(&superblock(operational_attributes))?);
        config.store.indexes.truncate(0);
        config.store.indexes.push(IndexSettings::of("cn", [IndexKind::Equality]));
        let file = data.settings()?;
        let mut record = file.record();
        record.file.get_or_insert_default();
        record.values.insert("txn-open-max".to_owned(), vec!["7".to_owned()]);
        config.settings.record = record.clone();
        let limits = Limits { snapshot_after: None, snapshot_interval_ms: None };
        let mut entropy = SeededEntropy::new(7);
        let wanted = Wanted {
            config,
            schema: schema(),
            log,
            limits,
            entropy: &mut entropy,
            accept_difference: false,
            settings: Some(Settled { file, record }),
        };
        let recovered = data.recover(wanted, &mut |_| ())?;
        let node = Node::over(data, recovered, 1, &clock)?;
        Ok(Place { node, dir: dir.to_owned(), clock, changes: 0 })
    }

    /// Sends a bundle: a record of its own in the log.
    fn send(&mut self, fill: impl FnOnce(&mut Bundle)) {
        let mut bundle = Bundle::default();
        fill(&mut bundle);
        self.clock.pass_ns(1_000_000_000);
        self.node.apply(0, &bundle, &self.clock);
    }

    /// One change, of an entry that every fixture has.
    pub(crate) fn change(&mut self, text: &str) {
        self.send(|to| to.modify(SUFFIX, ModifyKind::Replace, "description", &[text], Sent::Other));
    }

    /// Folders with entries below them come, are changed, renamed and removed: so many times.
    fn work(&mut self, rounds: usize) {
        for _ in 0..rounds {
            self.changes += 1;
            let n = self.changes;
            let ou = format!("ou=folder {n},{SUFFIX}");
            self.send(|to| {
                let ou_text = format!("folder {n}");
                to.add(&ou, &[("objectClass", "organizationalUnit"), ("ou", &ou_text)], Sent::Other);
                for k in 0..3 {
                    let (cn, text) = (format!("thing {n}.{k}"), "Größe ".repeat(k * 8 + 1));
                    let attributes = [("objectClass", "device"), ("cn", &*cn), ("description", &*text)];
                    to.add(&format!("cn={cn},{ou}"), &attributes, Sent::Other);
                }
            });
            let thing = |k: usize| format!("cn=thing {n}.{k},{ou}");
            self.send(|to| {
                let values: Vec<String> = (0..n * 5 % 90).map(|v| format!("value {v}")).collect();
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                to.modify(&thing(0), ModifyKind::Add, "description", &values, Sent::Other);
                to.modify(&thing(1), ModifyKind::Replace, "description", &["a", "B c"], Sent::Other);
                to.delete(&thing(2), Sent::Other);
                // Refused, but in the log.
                to.delete(&ou, Sent::Other);
            });
            match n % 3 {
                0 => self.send(|to| to.rename(&ou, &format!("ou=renamed {n}"), Sent::Other)),
                1 => self.send(|to| to.rename(&thing(1), &format!("cn=Thing\\, {n}"), Sent::Other)),
                _ => self.send(|to| {
                    [thing(0), thing(1), ou.clone()].iter().for_each(|dn| to.delete(dn, Sent::Other))
                }),
            }
        }
    }

    /// Loads LDIF past the log.
    fn import(&mut self, text: &str) {
        let shard = self.node.recovered.dsa.shard();
        let stamp_ms = self.clock.wall_ms();
        let import = Import {
            shard,
            stamp_ms,
            operational: Operational::Keep,
            passwords: Passwords::Keep,
            threads: 1,
            streams: 1,
        };
        let mut text = Cursor::new(text);
        let callbacks = Callbacks {
            on_progress: &mut |_| (),
            on_reject: None,
            is_over: &std::sync::atomic::AtomicBool::new(false),
        };
        bulk::import(import, &mut [Input::Seekable(&mut text)], callbacks).expect("it is sound");
        let recovered = &mut self.node.recovered;
        keep(&mut recovered.committer, &mut recovered.snapshots, stamp_ms).expect("nothing fails");
    }

    /// Makes a snapshot and releases what it makes superfluous.
    fn snapshot(&mut self) {
        let recovered = &mut self.node.recovered;
        let taken = recovered.committer.checkpoint().expect("nothing fails");
        let (checkpoint, index) = taken.expect("there are few readers");
        recovered.snapshots.write(checkpoint, index).expect("nothing fails");
        let log = Arc::clone(recovered.committer.log());
        recovered.snapshots.release(&log, index, &mut |_| ()).expect("nothing fails");
    }

    fn backup(&mut self, to: &Path) {
        self.clock.pass_ns(1_000_000_000);
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        take(&disk, &self.dir, to, None, self.clock.wall_ms(), 0, &mut |_, _| ()).expect("nothing fails");
    }

    fn export(&self, fixture: &Path, name: &str) {
        let text = export(self.node.recovered.dsa.shard());
        fs::write(fixture.join(format!("{name}.ldif")), text).expect("there is room");
    }

    /// Ends it well.
    pub(crate) fn close(self) {
        let recovered = self.node.recovered;
        let (committer, mut snapshots) = (recovered.committer, recovered.snapshots);
        let closed = committer.close(self.clock.wall_ms(), 0).expect("nothing fails");
        let (checkpoint, index) = closed.expect("there are few readers");
        snapshots.write(checkpoint, index).expect("nothing fails");
    }

    /// As a kill leaves it; no lock lies around.
    fn kill(self) {
        drop(self.node);
        fs::remove_file(self.dir.join("lock")).expect("it is there");
    }
}

/// A tree with a group of `members`. One superior comes last; two entries bring entryUUIDs and times of their own.
fn tree(members: usize) -> String {
    let mut text = format!(
        "dn: cn=Ä,ou=late,{SUFFIX}\nobjectClass: person\ncn: Ä\nsn: Ä\nuid: a\n\
         entryUUID: 0d6f1cd6-1a4e-103f-9a3e-7f2b1c4d5e6f\ncreateTimestamp: 20200229120000Z\n\
         creatorsName: cn=somebody else\n\n\
         dn: {SUFFIX}\nobjectClass: domain\ndc: x\nentryUUID: 11111111-2222-4333-8444-555555555555\n\n\
         dn: ou=late,{SUFFIX}\nobjectClass: organizationalUnit\nou: late\n\n\
         dn: cn=group,{SUFFIX}\nobjectClass: groupOfNames\ncn: group\n"
    );
    for n in 0..members {
        let _ = writeln!(text, "member: cn=m{n},{SUFFIX}");
    }
    text
}

/// Writes all of a fixture to a folder, which is made.
///
/// # Panics
/// When something fails, or the folder is there.
pub(crate) fn fixture(to: &Path) {
    fs::create_dir_all(to).expect("there is room");
    let start = |name: &str, operational| Place::at(Arc::new(RealDisk), &to.join(name), operational, small());
    let mut killed = start("killed", true);
    killed.import(&tree(MEMBERS));
    killed.work(12);
    killed.snapshot();
    killed.send(|to| {
        let group = format!("cn=group,{SUFFIX}");
        to.modify(&group, ModifyKind::Delete, "member", &["cn=m7,dc=x", "cn=m1700,dc=x"], Sent::Other);
        to.modify(&group, ModifyKind::Add, "member", &["cn=new,dc=x"], Sent::Other);
    });
    killed.send(|to| {
        // To behaviour 2 this control is unknown: it is ignored, and the value that is there is refused.
        to.with = vec![permissive_modify::control(false)];
        to.modify(SUFFIX, ModifyKind::Add, "dc", &["x"], Sent::Other);
        to.with = vec![permissive_modify::control(false)];
        let (of, values) = (format!("cn=group,{SUFFIX}"), ["cn=m9,dc=x", "cn=newer,dc=x"]);
        to.modify(&of, ModifyKind::Add, "member", &values, Sent::Other);
    });
    killed.work(8);
    let now_ms = killed.clock.wall_ms();
    killed.node.recovered.committer.note_import(now_ms).expect("nothing fails");
    killed.change("after the note of an import that came to nothing");
    killed.export(to, "killed");
    killed.kill();

    let mut clean = start("clean", true);
    clean.import(&tree(100));
    clean.work(4);
    clean.export(to, "clean");
    clean.close();
    fs::remove_file(to.join("clean/lock")).expect("it is there");

    let mut plain = start("plain", false);
    plain.import(&tree(100));
    plain.work(4);
    plain.export(to, "plain");
    plain.kill();

    backups(to);
}

/// Two backups; between them a point that only the archive leads to.
fn backups(to: &Path) {
    let temp = tempfile::tempdir().expect("there is room");
    let (backups, archive) = (to.join("backups"), to.join("archive"));
    let mut place = Place::at(Arc::new(RealDisk), &temp.path().join("data"), true, small());
    place.node.recovered.snapshots.archive_to(Arc::new(RealDisk), &archive);
    place.send(|to| to.add(SUFFIX, &[("objectClass", "domain"), ("dc", "x")], Sent::Other));
    place.work(3);
    place.snapshot();
    place.work(2);
    place.backup(&backups);
    place.work(7);
    let (last, ms) = (place.node.applied(), place.clock.wall_ms());
    fs::write(to.join("point"), format!("{last} {ms}\n")).expect("there is room");
    place.export(to, "point");
    place.work(7);
    place.snapshot();
    place.work(2);
    place.backup(&backups);
    place.export(to, "end");
    fs::remove_file(backups.join("lock")).expect("it is there");
    let archived = fs::read_dir(&archive).map_or(0, Iterator::count);
    assert!(archived > 0, "something was archived");
}
