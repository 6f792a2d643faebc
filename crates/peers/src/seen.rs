//! What this node has seen of the others, in the file `seen` of the folder `cluster`: the last start of each, and how far its disk went at
//! least. So a node whose disk was set back is known as such, also by others that have started since (`docs/formats/peers.md`).
//!
//! A start that was not seen before is on the disk before its hello is answered. What nodes acknowledge moves all the time, and is written
//! when [`Seen::save`] is called.

use crate::faults;
use crate::files::{self, FileError};
use crate::hello::Hello;
use crate::id::{RunId, hex};
use consensus::Extent;
use env::disk::Disk;
use env::planted;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const FILE: &str = "seen";
/// The first line of the file.
const FIRST_LINE: &str = "pando seen 1";
/// Nodes that are kept at most: as many as may ever join.
const NODES_MAX: usize = consensus::member::KNOWN_MAX;

/// What was seen of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    /// Its last start, and the name of that run.
    boots: u64,
    run: RunId,
    /// What its disk has at least, as it or a leader said.
    extent: Extent,
}

type Nodes = BTreeMap<u64, Node>;

#[derive(Default)]
struct State {
    nodes: Nodes,
    /// Does the file lack something?
    is_unsaved: bool,
}

/// See the module.
pub struct Seen {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    state: Mutex<State>,
    /// Held while the file is written.
    writes: Mutex<()>,
}

/// Why a run is not linked.
#[derive(Debug)]
pub enum NotAdmitted {
    /// It may not follow what was seen: in words, why.
    Stranger(&'static str),
    /// It could not be written down.
    NotRecorded(FileError),
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seen").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl Seen {
    /// Reads it. Without a file, nobody was seen.
    ///
    /// # Errors
    /// The file is damaged, or what the disk says.
    pub fn load(disk: Arc<dyn Disk>, dir: PathBuf) -> Result<Seen, FileError> {
        let is_there = disk.list(&dir)?.iter().any(|name| name == FILE);
        let nodes = match is_there {
            false => Nodes::new(),
            true => {
                let text = files::read(&*disk, &dir, FILE)?;
                parse(&text).ok_or_else(|| FileError::content(&dir, FILE, "it is damaged"))?
            }
        };
        let state = State { nodes, is_unsaved: false };
        Ok(Seen { disk, dir, state: Mutex::new(state), writes: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is it the run that was seen last?
    pub fn is_last(&self, hello: &Hello) -> bool {
        self.state().nodes.get(&hello.node).is_some_and(|node| is_same(node, hello))
    }

    /// Takes a run that may follow the one that was seen last; it is on the disk when this returns.
    ///
    /// # Errors
    /// It may not follow that, there are too many nodes, or what the disk says.
    pub fn admit(&self, hello: &Hello) -> Result<(), NotAdmitted> {
        let _writes = self.lock_writes();
        let mut nodes = {
            let state = self.state();
            if let Some(node) = state.nodes.get(&hello.node) {
                if is_same(node, hello) {
                    return Ok(());
                }
                check(node, hello)?;
            } else if state.nodes.len() == NODES_MAX {
                return Err(NotAdmitted::Stranger("too many nodes were seen already"));
            }
            state.nodes.clone()
        };
        let earlier = nodes.get(&hello.node).map_or(Extent::default(), |node| node.extent);
        let node = Node { boots: hello.boots, run: hello.run, extent: earlier.max(hello.extent) };
        nodes.insert(hello.node, node);
        self.write(&nodes).map_err(NotAdmitted::NotRecorded)?;
        // What was acknowledged meanwhile stays.
        let mut state = self.state();
        let kept = state.nodes.get(&hello.node).map_or(Extent::default(), |node| node.extent);
        state.nodes.insert(hello.node, Node { extent: node.extent.max(kept), ..node });
        Ok(())
    }

    /// The disks of these nodes have at least the entries up to these, and know of `term`, in which that was said.
    pub fn acknowledge(&self, term: u64, indexes: &[(u64, u64)]) {
        let mut state = self.state();
        for (id, index) in indexes.iter().copied() {
            if !state.nodes.contains_key(&id) && state.nodes.len() == NODES_MAX {
                continue;
            }
            let nobody = Node { boots: 0, run: RunId([0; 16]), extent: Extent::default() };
            let node = state.nodes.entry(id).or_insert(nobody);
            let extent = Extent { term, index };
            if extent > node.extent {
                node.extent = extent;
                state.is_unsaved = true;
            }
        }
    }

    /// Writes what the file lacks.
    ///
    /// # Errors
    /// What the disk says; it may be called again.
    pub fn save(&self) -> Result<(), FileError> {
        let _writes = self.lock_writes();
        let nodes = {
            let mut state = self.state();
            if !std::mem::take(&mut state.is_unsaved) {
                return Ok(());
            }
            state.nodes.clone()
        };
        let saved = self.write(&nodes);
        if saved.is_err() {
            self.state().is_unsaved = true;
        }
        saved
    }

    fn lock_writes(&self) -> MutexGuard<'_, ()> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, nodes: &Nodes) -> Result<(), FileError> {
        files::write(&*self.disk, &self.dir, FILE, text(nodes).as_bytes())
    }
}

fn is_same(node: &Node, hello: &Hello) -> bool {
    (node.boots, node.run) == (hello.boots, hello.run)
}

/// May this run follow the one that was seen last? In a later term than that in which something was acknowledged, a leader may have replaced it.
fn check(node: &Node, hello: &Hello) -> Result<(), NotAdmitted> {
    let is_counted_again = hello.boots <= node.boots && !planted::is(faults::SAME_BOOT_IMAGE);
    // The number of starts of a disk that was set back grows: its later starts are known by the runs before.
    let has_other_runs = !hello.earlier.may_follow(hello.boots, node.boots, node.run)
        && !planted::is(faults::SECOND_START_OF_IMAGE);
    if is_counted_again || has_other_runs {
        return Err(NotAdmitted::Stranger("it started from an earlier state of its data directory"));
    }
    if hello.extent < node.extent && !planted::is(faults::OLD_IMAGE_ACCEPTED) {
        return Err(NotAdmitted::Stranger(
            "it started from an earlier state of its data directory: it lacks what it has acknowledged",
        ));
    }
    Ok(())
}

fn text(nodes: &Nodes) -> String {
    let mut text = format!("{FIRST_LINE}\n");
    for (id, Node { boots, run, extent: Extent { term, index } }) in nodes {
        let _ = writeln!(text, "node {id} boots {boots} run {} term {term} index {index}", hex(&run.0));
    }
    let _ = writeln!(text, "crc32c {:08x}", crc32c::crc32c(text.as_bytes()));
    text
}

/// From a text that is as [`text`] writes it to the byte.
fn parse(read: &str) -> Option<Nodes> {
    let mut nodes = Nodes::new();
    for line in read.lines().filter(|line| line.starts_with("node ")) {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, id, _, boots, _, run, _, term, _, index] = words[..] else { return None };
        let extent = Extent { term: term.parse().ok()?, index: index.parse().ok()? };
        let node = Node { boots: boots.parse().ok()?, run: RunId::parse(run)?, extent };
        nodes.insert(id.parse().ok()?, node);
    }
    // Lines that are missing, twice, or elsewhere, and a wrong checksum, all make another text.
    (text(&nodes) == read && nodes.len() <= NODES_MAX).then_some(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hello::Class;
    use crate::id::ClusterId;
    use crate::runs::Runs;
    use env::disk::{File, Lock, RealDisk};
    use std::io;
    use std::path::Path;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A disk that takes so many steps that change it, and no more.
    #[derive(Debug)]
    struct Failing(AtomicU64);

    impl Failing {
        fn step(&self) -> io::Result<()> {
            let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            left.map(drop).map_err(|_| io::Error::other("the power is gone"))
        }
    }

    impl Disk for Failing {
        fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
            self.step().and_then(|()| RealDisk.create(path))
        }
        fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
            RealDisk.open(path)
        }
        fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
            RealDisk.list(dir)
        }
        fn list_dirs(&self, dir: &Path) -> io::Result<Vec<String>> {
            RealDisk.list_dirs(dir)
        }
        fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
            RealDisk.link(from, to)
        }
        fn remove_dir(&self, dir: &Path) -> io::Result<()> {
            RealDisk.remove_dir(dir)
        }
        fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
            self.step().and_then(|()| RealDisk.rename(from, to))
        }
        fn remove(&self, path: &Path) -> io::Result<()> {
            RealDisk.remove(path)
        }
        fn create_dir(&self, dir: &Path) -> io::Result<()> {
            RealDisk.create_dir(dir)
        }
        fn sync_dir(&self, dir: &Path) -> io::Result<()> {
            self.step().and_then(|()| RealDisk.sync_dir(dir))
        }
        fn lock_dir(&self, dir: &Path) -> io::Result<Box<dyn Lock>> {
            RealDisk.lock_dir(dir)
        }
    }

    fn hello(boots: u64, run: u8, term: u64, index: u64) -> Hello {
        let (class, cluster, run) = (Class::Messages, ClusterId([1; 16]), RunId([run; 16]));
        let version = crate::hello::VERSION;
        let (extent, earlier) = (Extent { term, index }, Runs::default());
        Hello { version, class, cluster, node: 2, boots, run, extent, earlier }
    }

    fn load(dir: &Path) -> Seen {
        Seen::load(Arc::new(RealDisk), dir.to_owned()).expect("it can be read")
    }

    #[test]
    fn a_disk_that_was_set_back_is_known_also_after_a_start() {
        let dir = tempfile::tempdir().expect("a folder");
        let seen = load(dir.path());
        seen.admit(&hello(7, 1, 3, 10)).expect("nobody was seen before");
        seen.acknowledge(5, &[(2, 100), (9, 4)]);
        // What is said late takes nothing back.
        seen.acknowledge(4, &[(2, 400)]);
        seen.save().expect("it is written");
        for seen in [&seen, &load(dir.path())] {
            // The same run again, whatever it said at its start.
            assert!(seen.is_last(&hello(7, 1, 0, 0)));
            seen.admit(&hello(7, 1, 0, 0)).expect("it was admitted");
            for (earlier, what) in [
                (hello(7, 2, 9, 999), "an image of the start before"),
                (hello(6, 2, 9, 999), "an older one"),
                (hello(8, 2, 4, 400), "one that has forgotten its term"),
                (hello(8, 2, 5, 99), "one that has forgotten entries"),
            ] {
                assert!(seen.admit(&earlier).is_err(), "{what}");
                assert!(!seen.is_last(&earlier));
            }
        }
        // A later term may have cut its log.
        load(dir.path()).admit(&hello(8, 3, 6, 50)).expect("it is sound");
        let seen = load(dir.path());
        assert!(seen.is_last(&hello(8, 3, 0, 0)));
        assert!(seen.admit(&hello(9, 4, 5, 999)).is_err());
        seen.admit(&hello(9, 4, 6, 50)).expect("it has what it had");
    }

    /// It counts further with each start, and has nothing less than it acknowledged to those that it meets.
    #[test]
    fn a_disk_that_was_set_back_is_known_at_later_starts_too() {
        let dir = tempfile::tempdir().expect("a folder");
        let before = |runs: &[u8]| Runs::of(&runs.iter().map(|run| RunId([*run; 16])).collect::<Vec<_>>());
        let hello = |boots, run, runs: &[u8]| Hello {
            earlier: before(runs).expect("they are few"),
            ..hello(boots, run, 3, 10)
        };
        load(dir.path()).admit(&hello(6, 6, &[5, 4])).expect("nobody was seen before");
        load(dir.path()).admit(&hello(7, 7, &[6, 5, 4])).expect("it is the next start");
        // Of an image of run 6: its first start, and two more.
        for image in [hello(7, 17, &[6, 5]), hello(8, 18, &[17, 6, 5]), hello(9, 19, &[18, 17, 6])] {
            assert!(load(dir.path()).admit(&image).is_err());
        }
        let seen = load(dir.path());
        seen.admit(&hello(9, 9, &[8, 7, 6])).expect("it was not heard at the start between");
        seen.admit(&hello(10, 10, &[])).expect("of an earlier program");
        // A leader spoke of it, and it was not heard.
        seen.acknowledge(3, &[(3, 5)]);
        seen.admit(&Hello { node: 3, ..hello(4, 4, &[3, 2, 1]) }).expect("nothing is known of its runs");
    }

    #[test]
    fn what_cannot_be_written_is_not_admitted_and_the_file_is_whole() {
        let dir = tempfile::tempdir().expect("a folder");
        load(dir.path()).admit(&hello(1, 1, 1, 1)).expect("it is written");
        let mut admitted = 0;
        for steps in 0..4 {
            let failing = Arc::new(Failing(AtomicU64::new(steps)));
            let seen = Seen::load(failing, dir.path().to_owned()).expect("it can be read");
            let next = hello(2 + steps, 2, 1, 1);
            let is_admitted = seen.admit(&next).is_ok();
            assert_eq!(seen.is_last(&next), is_admitted);
            // The name may be there though it is not durable: that is no promise.
            let found = load(dir.path());
            assert!(!is_admitted || found.is_last(&next));
            assert!(found.admit(&hello(1, 1, 1, 1)).is_ok() || steps > 1, "the earlier one, or the next");
            admitted += u32::from(is_admitted);
        }
        assert_eq!(admitted, 1, "with three steps: create, rename, sync");
    }

    #[test]
    fn any_changed_byte_shows() {
        let node = |boots| Node { boots, run: RunId([9; 16]), extent: Extent { term: 3, index: boots * 7 } };
        let nodes = Nodes::from([(1, node(4)), (12, node(70))]);
        let text = text(&nodes);
        assert_eq!(parse(&text), Some(nodes));
        for at in 0..text.len() {
            let mut other = text.clone().into_bytes();
            other[at] ^= 1;
            let other = String::from_utf8(other).expect("it is ASCII");
            assert_eq!(parse(&other), None, "{other}");
            assert_eq!(parse(&text[..at]), None);
        }
    }
}
