//! A disk made of memory that keeps exactly the promises of [`env::disk`] and breaks every hope beyond them.
//!
//! Power loss keeps any subset of the sectors written since the last sync, and of the changes of names since the folder's
//! last sync a beginning, or one for each file. A sync that fails makes some of what waited durable and forgets that the rest ever was
//! written, while reads go on to show it. Everything that happens is decided by the seed.

mod image;

use env::disk::{Disk, File, Lock, SECTOR, fault};
use env::entropy::{Entropy as _, SeededEntropy};
use image::Image;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// What may be made to go wrong. Operations that change something are counted from 1 on; see [`SimDisk::operations`].
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// The power fails during this operation.
    pub power_at: Option<u64>,
    /// This operation fails with this error, once.
    pub fail_at: Option<(u64, io::ErrorKind)>,
    /// Bytes that all files may have together.
    pub capacity: Option<u64>,
    /// Of 1,000 syncs, how many fail.
    pub failing_syncs: u16,
    /// Of 1,000 writes, how many fail after a part of their bytes.
    pub failing_writes: u16,
    /// Nanoseconds that a sync takes; one in sixteen takes up to a hundred times that.
    pub sync_ns: u64,
}

/// The simulated disk. Clones are the same disk.
#[derive(Clone, Debug)]
pub struct SimDisk(Arc<Mutex<World>>);

#[derive(Debug)]
struct World {
    entropy: SeededEntropy,
    dirs: BTreeMap<PathBuf, Dir>,
    files: BTreeMap<u64, Image>,
    next_file: u64,
    locks: BTreeSet<PathBuf>,
    faults: Faults,
    operations: u64,
    elapsed_ns: u64,
    trace: u64,
    /// Power is off until the next start.
    off: bool,
    /// Counts starts: what an earlier process held is of no use to a later one.
    boot: u64,
}

/// A folder: what is seen, what is durable, and the changes between them.
#[derive(Debug, Default)]
struct Dir {
    seen: BTreeMap<String, u64>,
    durable: BTreeMap<String, u64>,
    changes: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Set(String, u64),
    Remove(String),
    Rename(String, String),
}

impl Change {
    fn names(&self) -> impl Iterator<Item = &str> {
        let (one, other) = match self {
            Change::Set(name, _) | Change::Remove(name) => (name, None),
            Change::Rename(from, to) => (from, Some(to.as_str())),
        };
        [Some(one.as_str()), other].into_iter().flatten()
    }

    fn apply(&self, names: &mut BTreeMap<String, u64>) {
        match self {
            Change::Set(name, file) => {
                names.insert(name.clone(), *file);
            }
            Change::Remove(name) => {
                names.remove(name);
            }
            Change::Rename(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
        }
    }
}

impl Dir {
    fn change(&mut self, change: Change) {
        change.apply(&mut self.seen);
        self.changes.push(change);
    }

    /// Keeps a beginning of the changes; or, as some file systems do, one of its own for each group of names that renames
    /// connect.
    fn lose_power(&mut self, entropy: &mut SeededEntropy) {
        let changes = std::mem::take(&mut self.changes);
        let groups =
            if entropy.next_u64().is_multiple_of(2) { groups(&changes) } else { vec![0; changes.len()] };
        let mut kept = BTreeMap::new();
        for (at, group) in groups.iter().enumerate() {
            let of_group = groups.iter().filter(|other| *other == group).count();
            let left = kept.entry(group).or_insert_with(|| entropy.next_u64() as usize % (of_group + 1));
            if *left > 0 {
                *left -= 1;
                changes[at].apply(&mut self.durable);
            }
        }
        self.seen = self.durable.clone();
    }
}

/// A number for each change, the same for those whose names are connected.
fn groups(changes: &[Change]) -> Vec<usize> {
    let mut groups: Vec<usize> = Vec::new();
    let mut by_name: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, change) in changes.iter().enumerate() {
        groups.push(at);
        for name in change.names() {
            let earlier = *by_name.entry(name).or_insert(at);
            let (from, to) = (groups[earlier], groups[at]);
            groups.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
        }
    }
    groups
}

impl SimDisk {
    /// An empty disk without faults whose chances are those of `seed`.
    pub fn new(seed: u64) -> SimDisk {
        SimDisk(Arc::new(Mutex::new(World {
            entropy: SeededEntropy::new(seed),
            dirs: BTreeMap::new(),
            files: BTreeMap::new(),
            next_file: 1,
            locks: BTreeSet::new(),
            faults: Faults::default(),
            operations: 0,
            elapsed_ns: 0,
            trace: 0,
            off: false,
            boot: 0,
        })))
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().expect("the simulated disk does not panic")
    }

    /// Sets what goes wrong from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.world().faults = faults;
    }

    /// Operations so far that changed something, or tried to.
    pub fn operations(&self) -> u64 {
        self.world().operations
    }

    /// Time that syncs took so far.
    pub fn elapsed_ns(&self) -> u64 {
        self.world().elapsed_ns
    }

    /// A hash of all operations so far: the same seed and the same program give the same.
    pub fn trace(&self) -> u64 {
        self.world().trace
    }

    /// Whether the power failed; everything fails until [`SimDisk::lose_power`] or [`SimDisk::kill`].
    pub fn is_off(&self) -> bool {
        self.world().off
    }

    /// The machine loses power and starts again: what was not synced is there in part.
    pub fn lose_power(&self) {
        let world = &mut *self.world();
        world.restart();
        // A disk that wrote nothing back, one that wrote nearly all, and those between.
        let kept_of_16 = [0, 1, 8, 15, 16][(world.entropy.next_u64() % 5) as usize];
        for file in world.files.values_mut() {
            file.lose_power(&mut world.entropy, kept_of_16);
        }
        for dir in world.dirs.values_mut() {
            dir.lose_power(&mut world.entropy);
        }
        let named: BTreeSet<u64> = world.dirs.values().flat_map(|dir| dir.seen.values().copied()).collect();
        world.files.retain(|file, _| named.contains(file));
    }

    /// The process ends and another starts; what it wrote is still seen.
    pub fn kill(&self) {
        self.world().restart();
    }

    /// Turns one bit of a file over, on the disk and in what is seen. Says whether the file has such a bit.
    pub fn flip_bit(&self, path: &Path, offset: u64, bit: u8) -> bool {
        let world = &mut *self.world();
        let Some(file) = world.number(path).and_then(|number| world.files.get_mut(&number)) else {
            return false;
        };
        file.flip_bit(offset as usize, bit)
    }

    /// What is seen of a file.
    pub fn bytes(&self, path: &Path) -> Option<Vec<u8>> {
        let world = self.world();
        Some(world.files[&world.number(path)?].seen().to_vec())
    }

    /// Puts a durable file there, whole.
    pub fn put(&self, path: &Path, bytes: &[u8]) {
        let world = &mut *self.world();
        let number = world.next_file;
        world.next_file += 1;
        world.files.insert(number, Image::durable(bytes.to_vec()));
        let (dir, name) = split(path);
        let dir = world.dirs.entry(dir).or_default();
        dir.seen.insert(name.clone(), number);
        dir.durable.insert(name, number);
    }
}

impl World {
    fn restart(&mut self) {
        self.off = false;
        self.boot += 1;
        self.locks.clear();
        self.faults.power_at = None;
    }

    fn number(&self, path: &Path) -> Option<u64> {
        let (dir, name) = split(path);
        self.dirs.get(&dir)?.seen.get(&name).copied()
    }

    /// Counts an operation; `Err` when it must fail.
    fn operate(&mut self, what: u8, path: &Path, detail: u64) -> io::Result<()> {
        if self.off {
            return Err(off());
        }
        self.operations += 1;
        let words = path.as_os_str().as_encoded_bytes().iter().map(|byte| u64::from(*byte));
        for word in words.chain([u64::from(what), detail]) {
            self.trace = (self.trace ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
        }
        if self.faults.power_at == Some(self.operations) {
            self.off = true;
        }
        match self.faults.fail_at {
            Some((at, kind)) if at == self.operations => Err(io::Error::new(kind, "a simulated fault")),
            _ => Ok(()),
        }
    }

    /// The answer of an operation during which the power may have failed.
    fn done<T>(&self, value: T) -> io::Result<T> {
        if self.off { Err(off()) } else { Ok(value) }
    }

    fn chance(&mut self, of_1000: u16) -> bool {
        of_1000 > 0 && self.entropy.next_u64() % 1000 < u64::from(of_1000)
    }

    /// Whether `more` bytes still fit.
    fn has_room(&self, more: u64) -> bool {
        let named: BTreeSet<u64> = self.dirs.values().flat_map(|dir| dir.seen.values().copied()).collect();
        let used: u64 = named.iter().map(|number| self.files[number].claimed()).sum();
        self.faults.capacity.is_none_or(|capacity| used + more <= capacity)
    }
}

fn off() -> io::Error {
    io::Error::other("the power is off")
}

fn full() -> io::Error {
    io::Error::new(io::ErrorKind::StorageFull, "the simulated disk is full")
}

fn split(path: &Path) -> (PathBuf, String) {
    let name = path.file_name().and_then(|name| name.to_str()).expect("files have names");
    (path.parent().unwrap_or(Path::new("")).to_owned(), name.to_owned())
}

fn missing(path: &Path, what: &'static str) -> io::Error {
    fault(io::ErrorKind::NotFound.into(), path, what, None)
}

impl SimDisk {
    fn handle(&self, world: &World, number: u64, path: &Path) -> Arc<dyn File> {
        Arc::new(SimFile { disk: self.clone(), number, boot: world.boot, path: path.to_owned() })
    }
}

impl Disk for SimDisk {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let world = &mut *self.world();
        world.operate(b'c', path, 0).map_err(|error| fault(error, path, "create", None))?;
        let number = match world.number(path) {
            Some(number) => {
                world.files.get_mut(&number).expect("named files exist").truncate(0);
                number
            }
            None => {
                let number = world.next_file;
                world.next_file += 1;
                world.files.insert(number, Image::default());
                let (dir, name) = split(path);
                let dir = world.dirs.get_mut(&dir).ok_or_else(|| missing(path, "create"))?;
                dir.change(Change::Set(name, number));
                number
            }
        };
        world.done(self.handle(world, number, path))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let world = self.world();
        let number = world.number(path).ok_or_else(|| missing(path, "open"))?;
        world.done(self.handle(&world, number, path))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let world = self.world();
        let found = world.dirs.get(dir).ok_or_else(|| missing(dir, "list"))?;
        world.done(found.seen.keys().cloned().collect())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let world = &mut *self.world();
        world.operate(b'r', from, 0).map_err(|error| fault(error, from, "rename", None))?;
        let ((dir, old), (other, new)) = (split(from), split(to));
        assert_eq!(dir, other, "a rename stays in its folder");
        world.number(from).ok_or_else(|| missing(from, "rename"))?;
        world.dirs.get_mut(&dir).expect("it has files").change(Change::Rename(old, new));
        world.done(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let world = &mut *self.world();
        world.operate(b'd', path, 0).map_err(|error| fault(error, path, "remove", None))?;
        world.number(path).ok_or_else(|| missing(path, "remove"))?;
        let (dir, name) = split(path);
        world.dirs.get_mut(&dir).expect("it has files").change(Change::Remove(name));
        world.done(())
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        let world = &mut *self.world();
        world.dirs.entry(dir.to_owned()).or_default();
        world.done(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let world = &mut *self.world();
        world.operate(b'D', dir, 0).map_err(|error| fault(error, dir, "sync the folder", None))?;
        if world.off {
            return Err(off());
        }
        let fails = world.faults.failing_syncs;
        if world.chance(fails) {
            return Err(fault(io::Error::other("a simulated fault"), dir, "sync the folder", None));
        }
        let dir = world.dirs.get_mut(dir).ok_or_else(|| missing(dir, "sync the folder"))?;
        dir.durable = dir.seen.clone();
        dir.changes.clear();
        Ok(())
    }

    fn lock_dir(&self, dir: &Path) -> io::Result<Box<dyn Lock>> {
        let world = &mut *self.world();
        if !world.locks.insert(dir.to_owned()) {
            return Err(fault(io::ErrorKind::ResourceBusy.into(), dir, "lock", None));
        }
        world.done(Box::new(SimLock { disk: self.clone(), boot: world.boot, dir: dir.to_owned() }))
    }

    fn free_bytes(&self, _dir: &Path) -> io::Result<u64> {
        let world = self.world();
        let used: u64 = world.files.values().map(Image::claimed).sum();
        world.done(world.faults.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(used)))
    }
}

#[derive(Debug)]
struct SimLock {
    disk: SimDisk,
    boot: u64,
    dir: PathBuf,
}

impl Lock for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut world = self.disk.world();
        if world.boot == self.boot {
            world.locks.remove(&self.dir);
        }
    }
}

#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    number: u64,
    boot: u64,
    path: PathBuf,
}

impl SimFile {
    /// Does `work` on the file of a process that is still alive.
    fn with<T>(
        &self,
        what: &'static str,
        offset: Option<u64>,
        work: impl FnOnce(&mut World) -> io::Result<T>,
    ) -> io::Result<T> {
        let world = &mut *self.disk.world();
        let done = if world.off || world.boot != self.boot { Err(off()) } else { work(world) };
        done.map_err(|error| fault(error, &self.path, what, offset))
    }
}

impl File for SimFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.with("read", Some(offset), |world| {
            let seen = world.files[&self.number].seen();
            let found = seen.get(offset as usize..offset as usize + bytes.len());
            bytes.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        })
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.with("write", Some(offset), |world| {
            let refused = world.operate(b'w', &self.path, offset << 20 ^ bytes.len() as u64).err();
            let refused = refused.or_else(|| {
                let fails = world.faults.failing_writes;
                world.chance(fails).then(|| io::Error::other("a simulated fault"))
            });
            let end = offset + bytes.len() as u64;
            let more = end.saturating_sub(world.files[&self.number].claimed());
            if more > 0 && !world.has_room(more) {
                return Err(full());
            }
            let written = match &refused {
                Some(_) => world.entropy.next_u64() as usize % (bytes.len() + 1),
                None => bytes.len(),
            };
            world
                .files
                .get_mut(&self.number)
                .expect("open files exist")
                .write(offset as usize, &bytes[..written]);
            refused.map_or_else(|| world.done(()), Err)
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.with("sync", None, |world| {
            let refused = world.operate(b's', &self.path, 0).err();
            if world.off {
                return Err(off());
            }
            let slow =
                if world.entropy.next_u64().is_multiple_of(16) { world.entropy.next_u64() % 100 } else { 1 };
            world.elapsed_ns += world.faults.sync_ns * slow.max(1);
            let fails = world.faults.failing_syncs;
            let refused =
                refused.or_else(|| world.chance(fails).then(|| io::Error::other("a simulated fault")));
            let file = world.files.get_mut(&self.number).expect("open files exist");
            match refused {
                None => file.sync(),
                Some(error) => {
                    file.fail_sync(&mut world.entropy);
                    return Err(error);
                }
            }
            Ok(())
        })
    }

    fn reserve(&self, len: u64) -> io::Result<()> {
        self.with("reserve space", None, |world| {
            world.operate(b'a', &self.path, len)?;
            let more = len.saturating_sub(world.files[&self.number].claimed());
            if more > 0 && !world.has_room(more) {
                return Err(full());
            }
            let file = world.files.get_mut(&self.number).expect("open files exist");
            if (file.seen().len() as u64) < len {
                file.truncate(len as usize);
            }
            world.done(())
        })
    }

    fn len(&self) -> io::Result<u64> {
        self.with("ask for the length", None, |world| Ok(world.files[&self.number].seen().len() as u64))
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.with("change the length", None, |world| {
            world.operate(b't', &self.path, len)?;
            world.files.get_mut(&self.number).expect("open files exist").truncate(len as usize);
            world.done(())
        })
    }
}

const _: () = assert!(SECTOR.is_power_of_two());

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(seed: u64) -> (SimDisk, PathBuf) {
        let disk = SimDisk::new(seed);
        disk.create_dir(Path::new("d")).unwrap();
        (disk, PathBuf::from("d/f"))
    }

    #[test]
    fn what_is_synced_outlives_power_loss_and_the_rest_does_not_always() {
        let mut lost = 0;
        for seed in 0..50 {
            let (disk, path) = disk(seed);
            let file = disk.create(&path).unwrap();
            file.write_at(&[1; 2048], 0).unwrap();
            file.sync_data().unwrap();
            disk.sync_dir(Path::new("d")).unwrap();
            file.write_at(&[2; 1024], 512).unwrap();
            disk.lose_power();
            assert!(file.read_at(&mut [0], 0).is_err(), "the old process is gone");
            let bytes = disk.bytes(&path).unwrap();
            assert_eq!(bytes.len(), 2048);
            assert!(bytes[..512].iter().chain(&bytes[1536..]).all(|byte| *byte == 1));
            for sector in bytes[512..1536].chunks(SECTOR) {
                assert!(sector.iter().all(|byte| *byte == sector[0]), "a sector is whole");
                lost += usize::from(sector[0] == 1);
            }
        }
        assert!(lost > 20 && lost < 80, "{lost}");
    }

    #[test]
    fn names_need_a_sync_of_their_folder() {
        let kept = (0..50).filter(|&seed| {
            let (disk, path) = disk(seed);
            disk.create(&path).unwrap().sync_data().unwrap();
            disk.lose_power();
            disk.bytes(&path).is_some()
        });
        assert!((10..40).contains(&kept.count()));
    }

    #[test]
    fn after_a_failed_sync_a_good_one_does_not_bring_it_back() {
        let lost = (0..50).filter(|&seed| {
            let (disk, path) = disk(seed);
            let file = disk.create(&path).unwrap();
            disk.sync_dir(Path::new("d")).unwrap();
            file.write_at(&[1; 512], 0).unwrap();
            disk.set_faults(Faults {
                fail_at: Some((disk.operations() + 1, io::ErrorKind::Other)),
                ..Faults::default()
            });
            file.sync_data().unwrap_err();
            file.sync_data().unwrap();
            assert_eq!(disk.bytes(&path).unwrap(), [1; 512]);
            disk.lose_power();
            disk.bytes(&path).unwrap() != [1; 512]
        });
        assert!((10..45).contains(&lost.count()));
    }

    #[test]
    fn a_full_disk_refuses_and_a_seed_repeats_itself() {
        let run = |seed| {
            let (disk, path) = disk(seed);
            disk.set_faults(Faults { capacity: Some(4096), ..Faults::default() });
            let file = disk.create(&path).unwrap();
            file.allocate(4096).unwrap();
            assert_eq!(file.write_at(&[0], 4096).unwrap_err().kind(), io::ErrorKind::StorageFull);
            file.write_at(&[seed as u8], 9).unwrap();
            disk.lose_power();
            (disk.trace(), disk.bytes(&path))
        };
        assert_eq!(run(3), run(3));
    }
}
