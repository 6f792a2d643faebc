//! Snapshots on a disk that fails: the last one that was reported is there, whole, or one that was being made after it.

use env::disk::Disk;
use env::entropy::{Entropy as _, SeededEntropy};
use sim::disk::{Faults, SimDisk};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use wal::Index;
use wal::snapshot::{FileId, PIECE_BYTES, SnapshotError, Snapshots};

const DIR: &str = "snapshot";
const SEEDS: u64 = 1_500;

/// A snapshot as it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Content {
    index: u64,
    meta: Vec<u8>,
    files: BTreeMap<FileId, Vec<u8>>,
}

fn read(snapshots: &Snapshots) -> Result<Option<Content>, SnapshotError> {
    let Some(manifest) = snapshots.latest() else { return Ok(None) };
    let mut files = BTreeMap::new();
    for record in &manifest.files {
        let mut bytes = vec![0; record.bytes as usize];
        snapshots.file(record)?.read_all(&mut bytes)?;
        files.insert(record.id, bytes);
    }
    Ok(Some(Content { index: manifest.index.0, meta: manifest.meta.clone(), files }))
}

/// The next snapshot: some files of the last one, some new ones.
fn next(random: &mut SeededEntropy, last: &Content, generation: &mut u64) -> Content {
    let mut files = last.files.clone();
    files.retain(|_, _| !random.next_u64().is_multiple_of(3));
    for _ in 0..random.next_u64() % 3 {
        *generation += 1;
        let id = FileId { kind: 1, number: random.next_u64() as u32 % 4, generation: *generation };
        let len =
            random.next_u64() as usize % (PIECE_BYTES / 20) + random.next_u64() as usize % 2 * PIECE_BYTES;
        files.insert(id, vec![*generation as u8; len]);
    }
    let mut meta = vec![0; random.next_u64() as usize % 50];
    random.fill(&mut meta);
    Content { index: last.index + 1, meta, files }
}

fn write(snapshots: &mut Snapshots, content: &Content) -> Result<(), SnapshotError> {
    let mut unfinished = snapshots.unfinished();
    for (id, bytes) in &content.files {
        if unfinished.keep(*id) {
            continue;
        }
        let mut file = unfinished.create(*id)?;
        let (first, second) = bytes.split_at(bytes.len() / 3);
        file.write(first)?;
        file.write(second)?;
        unfinished.add(file.finish()?);
    }
    snapshots.commit(unfinished, Index(content.index), content.meta.clone()).map(|_| ())
}

fn run(seed: u64) {
    let mut random = SeededEntropy::new(seed);
    let disk = SimDisk::new(random.next_u64());
    let mut generation = 0;
    let mut last = None::<Content>;
    for _ in 0..6 {
        // Also after a process that ended while it was not certain which snapshot is the last.
        let mut snapshots = Snapshots::open(Arc::new(disk.clone()), Path::new(DIR)).unwrap();
        let found = read(&snapshots).unwrap();
        assert_eq!(found, last, "PANDO_SEED={seed}");
        snapshots.remove_unnamed(&mut |_, _| ()).unwrap();
        // All that may be found after the next start.
        let mut possible = vec![last.clone()];
        let now = disk.operations();
        disk.set_faults(match random.next_u64() % 4 {
            0 | 1 => Faults { power_at: Some(now + 1 + random.next_u64() % 30), ..Faults::default() },
            2 => Faults { failing_syncs: 150, failing_writes: 100, ..Faults::default() },
            _ => Faults { capacity: Some(random.next_u64() % (6 * PIECE_BYTES as u64)), ..Faults::default() },
        });
        for _ in 0..1 + random.next_u64() % 3 {
            let content = next(&mut random, last.as_ref().unwrap_or(&Content::default()), &mut generation);
            match write(&mut snapshots, &content) {
                Ok(()) => {
                    last = Some(content);
                    possible = vec![last.clone()];
                }
                // Which one is the last may be open now.
                Err(SnapshotError::Io(_)) => possible.push(Some(content)),
                Err(error) => panic!("PANDO_SEED={seed}: {error}"),
            }
            if disk.is_off() {
                break;
            }
            let _ = snapshots.remove_unnamed(&mut |_, _| ());
        }
        if disk.is_off() || random.next_u64().is_multiple_of(2) {
            disk.lose_power();
        } else {
            disk.kill();
        }
        disk.set_faults(Faults::default());
        let again = Snapshots::open(Arc::new(disk.clone()), Path::new(DIR));
        let found = again
            .and_then(|snapshots| read(&snapshots))
            .unwrap_or_else(|error| panic!("{error}, PANDO_SEED={seed}"));
        assert!(possible.contains(&found), "PANDO_SEED={seed}");
        last = found;
    }
}

#[test]
fn the_last_snapshot_is_whole_whatever_happens() {
    let seed = std::env::var("PANDO_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = std::env::var("PANDO_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(SEEDS);
    seed.map_or(0..seeds, |seed| seed..seed + 1).for_each(run);
}

#[test]
fn a_flipped_bit_is_found_and_its_place_named() {
    let disk = SimDisk::new(9);
    let dir = Path::new(DIR);
    let mut snapshots = Snapshots::open(Arc::new(disk.clone()), dir).unwrap();
    let id = FileId { kind: 1, number: 7, generation: 1 };
    let content =
        Content { index: 3, meta: b"meta".to_vec(), files: [(id, vec![5; PIECE_BYTES + 100])].into() };
    write(&mut snapshots, &content).unwrap();
    snapshots.verify().unwrap();
    let path = dir.join(id.name());
    let damage = |path: &Path, offset: u64| {
        assert!(disk.flip_bit(path, offset, 3));
        let opened = Snapshots::open(Arc::new(disk.clone()), dir);
        let found = opened.and_then(|snapshots| snapshots.verify());
        assert!(disk.flip_bit(path, offset, 3));
        let Err(SnapshotError::Damaged(damage)) = found else { panic!("offset {offset}: {found:?}") };
        assert_eq!(damage.path, path);
        damage.offset
    };
    assert_eq!(damage(&path, 9), 0);
    assert_eq!(damage(&path, PIECE_BYTES as u64 + 99), PIECE_BYTES as u64);
    assert_eq!(damage(&path, PIECE_BYTES as u64 + 100), PIECE_BYTES as u64 + 100);
    let manifest = disk.bytes(&dir.join("manifest")).unwrap();
    for offset in 0..manifest.len() as u64 {
        damage(&dir.join("manifest"), offset);
    }
    disk.remove(&path).unwrap();
    assert!(matches!(
        Snapshots::open(Arc::new(disk.clone()), dir),
        Err(SnapshotError::Damaged(damage)) if damage.path == path
    ));
}
