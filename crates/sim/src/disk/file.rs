//! Open files of the simulated disk.

use super::SimDisk;
use super::world::{World, full, off};
use env::disk::{File, fault};
use env::entropy::Entropy as _;
use std::io;
use std::path::{Path, PathBuf};

/// An open file of one process.
#[derive(Debug)]
pub(super) struct SimFile {
    disk: SimDisk,
    number: u64,
    boot: u64,
    path: PathBuf,
}

impl SimFile {
    pub(super) fn new(disk: SimDisk, number: u64, boot: u64, path: &Path) -> SimFile {
        SimFile { disk, number, boot, path: path.to_owned() }
    }

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
                None => file.sync_all(),
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
