//! A disk made of memory that keeps exactly the promises of [`env::disk`] and breaks every hope beyond them.
//!
//! Power loss keeps any subset of the sectors written since the last sync, and of the changes of names since the folder's
//! last sync a beginning, or one for each file. A sync that fails makes some of what waited durable and forgets that the rest ever was
//! written, while reads go on to show it. Everything that happens is decided by the seed.

mod file;
mod files;
mod image;
mod names;
mod rebuild;
mod world;

use crate::properties::Tree;
use env::entropy::{Entropy as _, SeededEntropy};
use image::Image;
use names::Dir;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use world::{ROOT, World, split};

/// Of 16 unsynced sectors, how many a power loss keeps: a disk that wrote nothing back, one that wrote nearly all, and
/// those between.
const SECTORS_KEPT: [u64; 5] = [0, 1, 8, 15, 16];

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
    /// Files cannot have two names, as on some file systems.
    pub no_links: bool,
    /// Nanoseconds that a sync takes; one in sixteen takes up to a hundred times that.
    pub sync_ns: u64,
}

/// The simulated disk. Clones are the same disk.
#[derive(Clone, Debug)]
pub struct SimDisk(Arc<Mutex<World>>);

impl SimDisk {
    /// An empty disk without faults whose chances are those of `seed`.
    pub fn new(seed: u64) -> SimDisk {
        SimDisk(Arc::new(Mutex::new(World {
            entropy: SeededEntropy::new(seed),
            dirs: BTreeMap::from([(ROOT, Dir::default())]),
            files: BTreeMap::new(),
            next: ROOT,
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

    /// May an operation fail?
    pub fn may_fail(&self) -> bool {
        let faults = &self.world().faults;
        let chances = faults.failing_syncs + faults.failing_writes;
        chances > 0 || faults.capacity.is_some() || faults.fail_at.is_some()
    }

    /// Can it get full?
    pub fn may_fill_up(&self) -> bool {
        self.world().faults.capacity.is_some()
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
        self.lose_power_keeping(&SECTORS_KEPT);
    }

    /// As [`SimDisk::lose_power`], with one of the shares of sectors kept, each of 16.
    pub fn lose_power_keeping(&self, shares: &[u64]) {
        let world = &mut *self.world();
        world.restart();
        let kept_of_16 = shares[world.entropy.next_u64() as usize % shares.len()];
        for file in world.files.values_mut() {
            file.lose_power(&mut world.entropy, kept_of_16);
        }
        for dir in world.dirs.values_mut() {
            dir.lose_power(&mut world.entropy);
        }
        world.forget_unnamed();
    }

    /// The process ends and another starts; what it wrote is still seen.
    pub fn kill(&self) {
        self.world().restart();
    }

    /// A disk of its own that is what this one is now.
    pub fn copy(&self) -> SimDisk {
        SimDisk(Arc::new(Mutex::new(self.world().clone())))
    }

    /// The files of a folder that is there, and their lengths as they are seen.
    pub fn files(&self, dir: &Path) -> Vec<(PathBuf, u64)> {
        let world = self.world();
        let found = world.dir_number(dir).and_then(|number| world.dirs.get(&number));
        let names = found.into_iter().flat_map(|found| &found.seen);
        let file = |(name, number): (&String, &u64)| {
            Some((dir.join(name), world.files.get(number)?.seen().len() as u64))
        };
        names.filter_map(file).collect()
    }

    /// The folders in a folder that is there.
    pub fn folders(&self, dir: &Path) -> Vec<PathBuf> {
        let world = self.world();
        let found = world.dir_number(dir).and_then(|number| world.dirs.get(&number));
        let names = found.into_iter().flat_map(|found| &found.seen);
        names.filter(|(_, number)| world.dirs.contains_key(number)).map(|(name, _)| dir.join(name)).collect()
    }

    /// The files of a folder and of those in it, with their bytes.
    pub fn tree(&self, dir: &Path) -> Tree {
        let mut all = Tree::new();
        for (path, _) in self.files(dir) {
            let bytes = self.bytes(&path).expect("it was listed");
            all.insert(path, bytes);
        }
        self.folders(dir).iter().for_each(|inner| all.append(&mut self.tree(inner)));
        all
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

    /// Takes a folder away, with all that is in it, as if it had never been.
    pub fn discard(&self, path: &Path) {
        let world = &mut *self.world();
        let (dir, name) = split(path);
        if let Some(dir) = world.dir(&dir) {
            // Whatever was to become of that name is done with.
            dir.make(name.clone(), ROOT);
            dir.seen.remove(&name);
            dir.durable.remove(&name);
        }
    }

    /// Bytes of all files in a folder and those below.
    pub fn used(&self, dir: &Path) -> u64 {
        let here: u64 = self.files(dir).iter().map(|(_, bytes)| bytes).sum();
        here + self.folders(dir).iter().map(|inner| self.used(inner)).sum::<u64>()
    }

    /// Puts a durable file there, whole.
    pub fn put(&self, path: &Path, bytes: &[u8]) {
        let world = &mut *self.world();
        let number = world.new_number();
        world.files.insert(number, Image::durable(bytes.to_vec()));
        let (dir, name) = split(path);
        world.make_dir(&dir);
        world.dir(&dir).expect("it was just made").make(name, number);
    }
}

#[cfg(test)]
mod tests;
