//! Whole data directories and backups of every version so far are read. `fixtures/N/` has them, as a version wrote them;
//! none is ever written again:
//!
//! | folder | what |
//! |---|---|
//! | `killed` | an import with given entryUUIDs and a big set of values, a snapshot of it; several log files with adds, modifies, deletes and renames, another snapshot, more of the log, the note of an import that came to nothing; no clean end |
//! | `clean` | the same in small, ended cleanly: all of it is in the snapshot |
//! | `plain` | without operational attributes |
//! | `backups`, `archive` | two backups and the log between |
//!
//! What is in each stands beside it as LDIF. After a change of a format: `cargo test -p pando-sim --test formats --
//! --ignored write` adds the next folder.

mod make;
mod versions;

use env::disk::{Disk, RealDisk};
use env::entropy::SeededEntropy;
use make::{Place, export, schema};
use node::data::backup::{Until, restore};
use node::data::{Data, DataError};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use versions::versions;
use wal::Index;

/// Bytes of memory that a directory may take.
const MEMORY_BYTES_MAX: u64 = 64 << 20;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// All of them, the newest last.
fn all() -> Vec<PathBuf> {
    let mut numbers: Vec<u32> = names(&fixtures()).filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    numbers.into_iter().map(|number| fixtures().join(number.to_string())).collect()
}

fn names(dir: &Path) -> impl Iterator<Item = String> + use<> {
    let read = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    read.filter_map(|entry| entry.file_name().into_string().ok())
}

/// A copy of `from`, because opening makes names durable and recovery removes what is unfinished.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("there is room");
    for name in names(from) {
        let (from, to) = (from.join(&name), to.join(&name));
        match from.is_dir() {
            true => copy(&from, &to),
            false => _ = fs::copy(from, to).expect("it can be read"),
        }
    }
}

/// What is in a data directory, as LDIF; `None` if its log may only be applied by an earlier version.
fn contents(dir: &Path) -> Option<String> {
    let data = Data::existing(Arc::new(RealDisk), dir).expect("it is a data directory");
    let examined = match data.examine(schema(), Vec::new(), MEMORY_BYTES_MAX, 10, false) {
        Err(DataError::Differs { key: "behaviour" | "schema", .. }) => return None,
        examined => examined.unwrap_or_else(|error| panic!("{}: {error}", dir.display())),
    };
    assert!(examined.findings.is_empty(), "{}: {:?}", dir.display(), examined.findings);
    let view =
        data.view(&schema(), MEMORY_BYTES_MAX, &mut |_| ()).expect("it was just read").expect("it is made");
    Some(export(view.dsa.shard()))
}

/// Is what `dir` holds what was written down? Only a log, and only of an earlier version, may be of no more use.
fn compare(fixture: &Path, dir: &Path, name: &str, has_log: bool) {
    let expected = fs::read_to_string(fixture.join(format!("{name}.ldif"))).expect("it stands beside it");
    match contents(dir) {
        Some(found) => assert!(found == expected, "{}: {name}:\n{found}", fixture.display()),
        None => {
            assert!(has_log && all().last() != Some(&fixture.to_owned()), "{}: {name}", fixture.display())
        }
    }
}

#[test]
fn directories_of_every_version_are_read() {
    assert!(!all().is_empty());
    for fixture in all() {
        let temp = tempfile::tempdir().expect("there is room");
        for (name, has_log) in [("killed", true), ("clean", false), ("plain", true)] {
            let dir = temp.path().join(name);
            copy(&fixture.join(name), &dir);
            compare(&fixture, &dir, name, has_log);
        }
    }
}

/// A server starts there, takes a change, ends, and has it at the next start.
#[test]
fn directories_of_every_version_are_served() {
    for fixture in all() {
        let temp = tempfile::tempdir().expect("there is room");
        for name in ["killed", "clean", "plain"] {
            let (dir, operational_attributes) = (temp.path().join(name), name != "plain");
            copy(&fixture.join(name), &dir);
            if contents(&dir).is_none() {
                continue;
            }
            let disk = Arc::new(RealDisk);
            let mut place = match Place::start(disk, &dir, operational_attributes, wal::Settings::default()) {
                // The rules are others, and the small log files of a fixture have no room for them.
                Err(DataError::Disk(error)) if error.to_string().contains("too long for one log record") => {
                    assert_ne!(all().last(), Some(&fixture), "{name} has the rules of today");
                    continue;
                }
                place => place.unwrap_or_else(|error| panic!("{}: {error}", dir.display())),
            };
            let before = export(place.node.recovered.dsa.shard());
            place.change("later");
            place.close();
            let after = contents(&dir).expect("it was served");
            assert!(after.contains("description: later") && after != before, "{}", dir.display());
        }
    }
}

#[test]
fn backups_of_every_version_are_restored() {
    for fixture in all() {
        let temp = tempfile::tempdir().expect("there is room");
        for name in ["backups", "archive"] {
            copy(&fixture.join(name), &temp.path().join(name));
        }
        let point = fs::read_to_string(fixture.join("point")).expect("it stands beside it");
        let point: Vec<u64> = point.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        let [sequence, ms] = point[..] else { panic!("a record and a time") };
        let archive = [temp.path().join("archive")];
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let (from, to) = (temp.path().join("backups"), temp.path().join("restored"));
        let restore = |until, archives: &[PathBuf]| {
            restore(&disk, &from, archives, until, &to, &mut SeededEntropy::new(1), &mut |_, _| ())
        };
        for (until, archives, expected) in [
            (Until::End, &[][..], "end"),
            (Until::Sequence(Index(sequence)), &archive[..], "point"),
            (Until::Time(ms), &archive[..], "point"),
        ] {
            restore(until, archives)
                .unwrap_or_else(|error| panic!("{}: {until:?}: {error}", fixture.display()));
            compare(&fixture, &to, expected, true);
            fs::remove_dir_all(&to).expect("it is ours");
        }
        let without = restore(Until::Time(ms), &[]).expect_err("nothing else leads there").to_string();
        assert!(without.contains("are missing"), "{without}");
    }
}

/// What this version writes is what the newest fixture has: the numbers of formats, and which facts are written down.
#[test]
fn today_has_a_fixture() {
    let temp = tempfile::tempdir().expect("there is room");
    make::fixture(temp.path());
    let newest = all().pop().expect("there is one");
    assert_eq!(
        versions(temp.path()),
        versions(&newest),
        "a format, or what stands in a file of facts, is another than in {}: raise its number, see that the earlier one is \
         read, and write the next fixture (see the top of this file)",
        newest.display()
    );
}

#[test]
fn formats_are_distinguished() {
    let temp = tempfile::tempdir().expect("there is room");
    let newest = all().pop().expect("there is one");
    for (file, at) in [("clean/snapshot/manifest", Some(8)), ("clean/founding", None), ("killed/rules", None)]
    {
        let changed = temp.path().join("changed");
        copy(&newest, &changed);
        let mut bytes = fs::read(changed.join(file)).expect("it is there");
        match at {
            Some(at) => bytes[at] += 1,
            None => bytes.extend_from_slice(b"another = 1\n"),
        }
        fs::write(changed.join(file), bytes).expect("there is room");
        assert_ne!(versions(&changed), versions(&newest), "{file}");
        fs::remove_dir_all(&changed).expect("it is ours");
    }
}

#[test]
#[ignore = "adds a folder to the project: after a change of a format"]
fn write() {
    let number = all().last().map_or(0, |last| {
        last.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok()).unwrap_or(0)
    });
    make::fixture(&fixtures().join((number + 1).to_string()));
}
