//! What the simulated disk is made of, and what happens to it.

use super::Faults;
use super::image::Image;
use super::names::Dir;
use env::disk::fault;
use env::entropy::{Entropy as _, SeededEntropy};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) entropy: SeededEntropy,
    pub(super) dirs: BTreeMap<PathBuf, Dir>,
    pub(super) files: BTreeMap<u64, Image>,
    pub(super) next_file: u64,
    pub(super) locks: BTreeSet<PathBuf>,
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

    pub(super) fn number(&self, path: &Path) -> Option<u64> {
        let (dir, name) = split(path);
        self.dirs.get(&dir)?.seen.get(&name).copied()
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
        let named: BTreeSet<u64> = self.dirs.values().flat_map(|dir| dir.seen.values().copied()).collect();
        let used: u64 = named.iter().map(|number| self.files[number].claimed()).sum();
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
