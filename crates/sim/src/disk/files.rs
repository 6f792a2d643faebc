//! Folders and names of the simulated disk.

use super::SimDisk;
use super::file::SimFile;
use super::image::Image;
use super::names::Change;
use super::world::{World, missing, off, split};
use env::disk::{Disk, File, Lock, fault};
use std::io;
use std::path::Path;
use std::sync::Arc;

impl SimDisk {
    fn names(&self, dir: &Path, is_of_kind: fn(&World, u64) -> bool) -> io::Result<Vec<String>> {
        let world = self.world();
        let number = world.dir_number(dir).ok_or_else(|| missing(dir, "list"))?;
        let names = world.dirs[&number].seen.iter().filter(|(_, number)| is_of_kind(&world, **number));
        world.done(names.map(|(name, _)| name.clone()).collect())
    }

    fn handle(&self, world: &World, number: u64, path: &Path) -> Arc<dyn File> {
        Arc::new(SimFile::new(self.clone(), number, world.boot, path))
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
                let number = world.new_number();
                world.files.insert(number, Image::default());
                let (dir, name) = split(path);
                let dir = world.dir(&dir).ok_or_else(|| missing(path, "create"))?;
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
        self.names(dir, |world, number| world.files.contains_key(&number))
    }

    fn list_dirs(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.names(dir, |world, number| world.dirs.contains_key(&number))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let world = &mut *self.world();
        if world.faults.no_links {
            return Err(fault(io::ErrorKind::Unsupported.into(), from, "link", None));
        }
        world.operate(b'l', from, 0).map_err(|error| fault(error, from, "link", None))?;
        let number = world.number(from).ok_or_else(|| missing(from, "link"))?;
        if world.any(to).is_some() {
            return Err(fault(io::ErrorKind::AlreadyExists.into(), to, "link", None));
        }
        let (dir, name) = split(to);
        world.dir(&dir).ok_or_else(|| missing(to, "link"))?.change(Change::Set(name, number));
        world.done(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let world = &mut *self.world();
        world.operate(b'r', from, 0).map_err(|error| fault(error, from, "rename", None))?;
        let ((dir, old), (other, new)) = (split(from), split(to));
        assert_eq!(dir, other, "a rename stays in its folder");
        world.any(from).ok_or_else(|| missing(from, "rename"))?;
        if world.dir(to).is_some_and(|gone| !gone.seen.is_empty()) {
            return Err(fault(io::ErrorKind::DirectoryNotEmpty.into(), to, "rename", None));
        }
        world.dir(&dir).expect("it has files").change(Change::Rename(old, new));
        world.done(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let world = &mut *self.world();
        world.operate(b'd', path, 0).map_err(|error| fault(error, path, "remove", None))?;
        world.number(path).ok_or_else(|| missing(path, "remove"))?;
        let (dir, name) = split(path);
        world.dir(&dir).expect("it has files").change(Change::Remove(name));
        world.done(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let world = &mut *self.world();
        world.operate(b'x', path, 0).map_err(|error| fault(error, path, "remove the folder", None))?;
        if !world.dir(path).ok_or_else(|| missing(path, "remove the folder"))?.seen.is_empty() {
            return Err(fault(io::ErrorKind::DirectoryNotEmpty.into(), path, "remove the folder", None));
        }
        let (dir, name) = split(path);
        world.dir(&dir).expect("it has folders").change(Change::Remove(name));
        world.done(())
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        let world = &mut *self.world();
        if world.dir(dir).is_none() {
            world.operate(b'm', dir, 0).map_err(|error| fault(error, dir, "create the folder", None))?;
            world.make_dir(dir);
        }
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
        let dir = world.dir(dir).ok_or_else(|| missing(dir, "sync the folder"))?;
        dir.sync(dir.changes.len());
        Ok(())
    }

    fn lock_dir(&self, dir: &Path) -> io::Result<Box<dyn Lock>> {
        let world = &mut *self.world();
        let number = world.dir_number(dir).ok_or_else(|| missing(dir, "lock"))?;
        if !world.locks.insert(number) {
            return Err(fault(io::ErrorKind::ResourceBusy.into(), dir, "lock", None));
        }
        world.done(Box::new(SimLock { disk: self.clone(), boot: world.boot, dir: number }))
    }
}

impl SimDisk {
    /// Bytes that may still be written.
    pub fn free_bytes(&self) -> io::Result<u64> {
        let world = self.world();
        let used: u64 = world.files.values().map(Image::claimed).sum();
        world.done(world.faults.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(used)))
    }
}

#[derive(Debug)]
struct SimLock {
    disk: SimDisk,
    boot: u64,
    dir: u64,
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
