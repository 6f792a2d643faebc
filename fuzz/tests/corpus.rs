//! Runs every target over its committed corpus and over small changes of it, on stable Rust.

use pando_fuzz::TARGETS;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Changed copies tried of each file.
const CHANGES: u32 = 1000;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn names(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(here(folder)).expect("the folder is there");
    entries
        .map(|entry| {
            let path = entry.expect("it can be read").path();
            path.file_stem().expect("it has a name").to_string_lossy().into_owned()
        })
        .collect()
}

#[test]
fn every_target_is_registered() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(names("corpus"), targets);
    assert_eq!(names("fuzz_targets"), targets);
    let manifest = fs::read_to_string(here("Cargo.toml")).expect("the manifest is there");
    for name in targets {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} has no binary");
        assert!(!names(&format!("corpus/{name}")).is_empty(), "{name} has no corpus");
    }
}

#[test]
fn corpus() {
    let files: Vec<(fn(&[u8]), PathBuf)> = TARGETS
        .iter()
        .flat_map(|(name, check)| {
            let files = fs::read_dir(here("corpus").join(name)).expect("the folder is there");
            files.map(|file| (*check, file.expect("it can be read").path()))
        })
        .collect();
    let next = AtomicUsize::new(0);
    // A thread takes the next file that no other has taken.
    let work = || {
        while let Some((check, file)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            run_changed(*check, file);
        }
    };
    std::thread::scope(|scope| {
        (0..std::thread::available_parallelism().map_or(1, usize::from))
            .for_each(|_| drop(scope.spawn(work)));
    });
}

/// Runs a target on a file, and on small changes of it.
fn run_changed(check: fn(&[u8]), file: &Path) {
    let bytes = fs::read(file).expect("it can be read");
    run(check, &bytes, file);
    let mut random = Random(bytes.len() as u64 + 1);
    for _ in 0..CHANGES {
        let mut changed = bytes.clone();
        change(&mut changed, &mut random);
        run(check, &changed, file);
    }
}

fn run(check: fn(&[u8]), bytes: &[u8], file: &Path) {
    if std::panic::catch_unwind(|| check(bytes)).is_err() {
        let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        panic!("{} or a change of it: {hex}", file.display());
    }
}

/// The same numbers on every run (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(3) {
        let at = random.below(bytes.len());
        match random.below(5) {
            0 if !bytes.is_empty() => bytes[at] = random.below(256) as u8,
            1 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            2 => bytes.insert(at, random.below(256) as u8),
            3 if !bytes.is_empty() => drop(bytes.remove(at)),
            _ => bytes.truncate(at.max(1)),
        }
    }
}
