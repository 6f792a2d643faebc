//! What the simulated disk is made of, and what happens to it.

use super::Faults;
use super::image::Image;
use super::names::Dir;
use env::disk::fault;
use env::entropy::{Entropy as _, SeededEntropy};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};

/// Number of the folder that all others are in, be their paths relative or not.
pub(super) const ROOT: u64 = 0;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) entropy: SeededEntropy,
    /// By number: see [`ROOT`].
    pub(super) dirs: BTreeMap<u64, Dir>,
    /// By number, of which no folder has it.
    pub(super) files: BTreeMap<u64, Image>,
    pub(super) next: u64,
    /// Numbers of folders.
    pub(super) locks: BTreeSet<u64>,
    pub(super) faults: Faults,
    pub(super) operations: u64,
    pub(super) elapsed_ns: u64,
    pub(super) trace: u64,
    /// Power is off until the next start.
    pub(super) off: bool,
    /// Counts starts: what an earlier process held is of no use to a later one.
    pub(super) boot: u64,
}

impl World {
    pub(super) fn restart(&mut self) {
        self.off = false;
        self.boot += 1;
        self.locks.clear();
        self.faults.power_at = None;
    }

    /// Number of a file.
    pub(super) fn number(&self, path: &Path) -> Option<u64> {
        self.any(path).filter(|number| self.files.contains_key(number))
    }

    /// Number of a file or folder.
    pub(super) fn any(&self, path: &Path) -> Option<u64> {
        path.components().try_fold(ROOT, |at, component| match component {
            Component::Normal(name) => self.dirs.get(&at)?.seen.get(name.to_str()?).copied(),
            _ => Some(at),
        })
    }

    /// Number of a folder.
    pub(super) fn dir_number(&self, path: &Path) -> Option<u64> {
        self.any(path).filter(|number| self.dirs.contains_key(number))
    }

    /// A folder.
    pub(super) fn dir(&mut self, path: &Path) -> Option<&mut Dir> {
        let number = self.dir_number(path)?;
        self.dirs.get_mut(&number)
    }

    pub(super) fn new_number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Makes a folder, and those above it, durable.
    pub(super) fn make_dir(&mut self, path: &Path) {
        if self.dir_number(path).is_some() {
            return;
        }
        let (above, name) = split(path);
        self.make_dir(&above);
        let number = self.new_number();
        self.dirs.insert(number, Dir::default());
        self.dir(&above).expect("it was just made").make(name, number);
    }

    /// Numbers that names lead to.
    fn named(&self) -> BTreeSet<u64> {
        let mut named = BTreeSet::from([ROOT]);
        let mut next = vec![ROOT];
        while let Some(dir) = next.pop().and_then(|number| self.dirs.get(&number)) {
            next.extend(
                dir.seen.values().filter(|number| named.insert(**number) && self.dirs.contains_key(number)),
            );
        }
        named
    }

    /// Forgets what has no name, after a power loss: nothing leads to it any more.
    pub(super) fn forget_unnamed(&mut self) {
        let named = self.named();
        self.files.retain(|number, _| named.contains(number));
        self.dirs.retain(|number, _| named.contains(number));
    }

    /// Counts an operation; `Err` when it must fail.
    pub(super) fn operate(&mut self, what: u8, path: &Path, detail: u64) -> io::Result<()> {
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
    pub(super) fn done<T>(&self, value: T) -> io::Result<T> {
        if self.off { Err(off()) } else { Ok(value) }
    }

    pub(super) fn chance(&mut self, of_1000: u16) -> bool {
        of_1000 > 0 && self.entropy.next_u64() % 1000 < u64::from(of_1000)
    }

    /// Whether `more` bytes still fit.
    pub(super) fn has_room(&self, more: u64) -> bool {
        let used: u64 =
            self.named().iter().filter_map(|number| self.files.get(number)).map(Image::claimed).sum();
        self.faults.capacity.is_none_or(|capacity| used + more <= capacity)
    }
}

pub(super) fn off() -> io::Error {
    io::Error::other("the power is off")
}

pub(super) fn full() -> io::Error {
    io::Error::new(io::ErrorKind::StorageFull, "the simulated disk is full")
}

pub(super) fn split(path: &Path) -> (PathBuf, String) {
    let name = path.file_name().and_then(|name| name.to_str()).expect("files have names");
    (path.parent().unwrap_or(Path::new("")).to_owned(), name.to_owned())
}

pub(super) fn missing(path: &Path, what: &'static str) -> io::Error {
    fault(io::ErrorKind::NotFound.into(), path, what, None)
}
