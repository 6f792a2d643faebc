//! A disk as the record of another says.

use super::SimDisk;
use super::image::Image;
use super::names::{Change, Dir};
use super::world::{World, split};
use crate::recorder::Event;
use env::disk::Disk;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// Numbers of files in the record are far from those that folders get here.
const FILES: u64 = 1 << 32;

/// What the record has counted as durable so far.
#[derive(Default)]
struct Covered {
    operations: BTreeMap<u64, usize>,
    /// By the number of the folder.
    changes: BTreeMap<u64, usize>,
}

impl SimDisk {
    /// The disk after `events`, none of it durable but what a sync has covered. Chances are those of `seed`.
    pub fn of_trace(seed: u64, events: &[Event]) -> SimDisk {
        let disk = SimDisk::new(seed);
        let mut covered = Covered::default();
        events.iter().for_each(|event| apply(&mut disk.world(), &mut covered, event));
        disk
    }

    /// Writes what is seen of every file below `from` to the folder `to` of another disk, which is empty.
    ///
    /// # Errors
    /// What the other disk says.
    pub fn write_to(&self, other: &dyn Disk, from: &Path, to: &Path) -> io::Result<()> {
        other.create_dir(to)?;
        for (path, _) in self.files(from) {
            let (_, name) = split(&path);
            let bytes = self.bytes(&path).expect("it was listed");
            other.create(&to.join(name))?.write_at(&bytes, 0)?;
        }
        for inner in self.folders(from) {
            let (_, name) = split(&inner);
            self.write_to(other, &inner, &to.join(name))?;
        }
        Ok(())
    }
}

fn apply(world: &mut World, covered: &mut Covered, event: &Event) {
    match event {
        Event::Folder(path) => world.make_dir(path),
        Event::Created(path, number) => {
            world.files.insert(number + FILES, Image::default());
            let (dir, name) = dir(world, path);
            dir.change(Change::Set(name, number + FILES));
        }
        Event::Written(number, offset, bytes) => image(world, *number).write(*offset as usize, bytes),
        Event::Resized(number, len) => image(world, *number).truncate(*len as usize),
        Event::Reserved(number, len) => {
            let image = image(world, *number);
            image.truncate(image.seen().len().max(*len as usize));
        }
        Event::Synced(number, count) => {
            let before = covered.operations.entry(*number).or_default();
            // Two syncs at a time may end in another order.
            image(world, *number).sync(count.saturating_sub(*before));
            *before = (*before).max(*count);
        }
        Event::Linked(from, to) => {
            let number = world.number(from).expect("what is linked is there");
            let (dir, name) = dir(world, to);
            dir.change(Change::Set(name, number));
        }
        Event::Renamed(from, to) => {
            let (_, new) = split(to);
            let (dir, old) = dir(world, from);
            dir.change(Change::Rename(old, new));
        }
        Event::Removed(path) => {
            let (dir, name) = dir(world, path);
            dir.change(Change::Remove(name));
        }
        Event::FolderSynced(path, count) => {
            let Some(number) = world.dir_number(path) else { return };
            let before = covered.changes.entry(number).or_default();
            let more = count.saturating_sub(*before);
            *before = (*before).max(*count);
            world.dirs.get_mut(&number).into_iter().for_each(|dir| dir.sync(more));
        }
        Event::Sent(..) | Event::Acknowledged(..) | Event::Refused(..) => {}
    }
}

fn image(world: &mut World, number: u64) -> &mut Image {
    world.files.get_mut(&(number + FILES)).expect("files are made before they are written")
}

/// The folder of a file, and the file's name in it.
fn dir<'w>(world: &'w mut World, path: &Path) -> (&'w mut Dir, String) {
    let (dir, name) = split(path);
    (world.dir(&dir).expect("folders are made before files"), name)
}
