//! The committed files of every format version so far are read; today's are written as they always were.
//!
//! `PANDO_GOLDEN=write cargo test -p pando-wal --test formats today` writes those of today's version anew. Files of an older
//! version are never written again.

use env::disk::{Disk, RealDisk};
use env::entropy::SeededEntropy;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wal::snapshot::{FileId, PIECE_BYTES, Snapshots};
use wal::{Index, Kind, Mode, Settings};

const RECORDS: [(Kind, &[u8]); 6] = [
    (Kind::Commands, b"one"),
    (Kind::Commands, b""),
    (Kind::Ingest, b"eight by"),
    (Kind::Checkpoint, b"nine byte"),
    (Kind::Commands, &[0xa5; 600]),
    // Of version 2.
    (Kind::Parcel, b"several"),
];
const FILE: FileId = FileId { kind: 1, number: 2, generation: 3 };

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Two blocks and the closing mark; a snapshot of one file with two pieces.
fn write(dir: &Path) {
    let settings = Settings {
        mode: Mode::Always,
        file_bytes: 8192,
        waiting_bytes_max: 4096,
        ready_files: 1,
        spare_files_max: 0,
    };
    let mut entropy = SeededEntropy::new(1);
    let log = dir.join("log");
    let mut opened =
        wal::open(Arc::new(RealDisk), &log, settings, &mut entropy, Index(0), &mut |_| Ok(())).unwrap();
    for records in [&RECORDS[..2], &RECORDS[2..]] {
        let mut batch = opened.log.batch();
        for (kind, payload) in records {
            batch.append(*kind, |out| out.extend_from_slice(payload)).unwrap();
        }
        drop(batch);
        opened.writer.step(0).unwrap();
    }
    opened.writer.close().unwrap();
    let mut snapshots = Snapshots::open(Arc::new(RealDisk), &dir.join("snapshot")).unwrap();
    let mut unfinished = snapshots.unfinished();
    let mut file = unfinished.create(FILE).unwrap();
    file.write(&content()).unwrap();
    unfinished.add(file.finish().unwrap());
    snapshots.commit(unfinished, Index(4), b"what only the caller understands".to_vec()).unwrap();
}

fn content() -> Vec<u8> {
    (0..PIECE_BYTES + 10).map(|n| (n / 1000) as u8).collect()
}

fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for folder in ["log", "snapshot"].into_iter().filter(|folder| dir.join(folder).exists()) {
        for name in RealDisk.list(&dir.join(folder)).unwrap() {
            let path = Path::new(folder).join(name);
            found.insert(path.clone(), std::fs::read(dir.join(path)).unwrap());
        }
    }
    found
}

#[test]
fn every_version_is_read() {
    for version in ["v1", "v2"] {
        let dir = fixtures().join(version);
        let mut found = Vec::new();
        let read = wal::read(&RealDisk, &dir.join("log"), &mut |record| {
            found.push((record.index, record.kind, record.payload.to_vec()));
            Ok(())
        });
        assert_eq!(read.unwrap().unwrap().torn, 0);
        let written = RECORDS.into_iter().filter(|(kind, _)| version != "v1" || *kind != Kind::Parcel);
        let expected = (1..).zip(written).map(|(index, (kind, bytes))| (Index(index), kind, bytes.to_vec()));
        assert_eq!(found, expected.collect::<Vec<_>>());
        // A copy, because opening makes names durable.
        let copy = tempfile::tempdir().unwrap();
        for (path, bytes) in files(&dir) {
            std::fs::create_dir_all(copy.path().join(&path).parent().unwrap()).unwrap();
            std::fs::write(copy.path().join(path), bytes).unwrap();
        }
        let snapshots = Snapshots::open(Arc::new(RealDisk), &copy.path().join("snapshot")).unwrap();
        let manifest = snapshots.latest().unwrap();
        assert_eq!((manifest.index, &*manifest.meta), (Index(4), &b"what only the caller understands"[..]));
        let mut bytes = vec![0; content().len()];
        snapshots.file(&manifest.files[0]).unwrap().read_all(&mut bytes).unwrap();
        assert!(bytes == content() && manifest.files[0].id == FILE);
    }
}

#[test]
fn today_is_written_as_ever() {
    let today = fixtures().join("v2");
    if std::env::var("PANDO_GOLDEN").as_deref() == Ok("write") {
        let _ = std::fs::remove_dir_all(&today);
        write(&today);
    }
    let dir = tempfile::tempdir().unwrap();
    write(dir.path());
    let newest = std::fs::read(dir.path().join("log/newest")).unwrap();
    assert_eq!(newest[..12], *b"PandoNew\x01\0\0\0");
    assert_eq!(newest[12..], crc32c::crc32c(&newest[..12]).to_le_bytes());
    // The fixtures have no such note.
    std::fs::remove_file(dir.path().join("log/newest")).unwrap();
    assert!(files(dir.path()) == files(&today), "a change of format needs a new version");
}

#[test]
fn a_log_of_an_earlier_version_goes_on_as_one_of_this() {
    let dir = tempfile::tempdir().unwrap();
    for (path, bytes) in files(&fixtures().join("v1")).iter().filter(|(path, _)| path.starts_with("log")) {
        std::fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
        std::fs::write(dir.path().join(path), bytes).unwrap();
    }
    let settings = Settings { file_bytes: 8192, waiting_bytes_max: 4096, ..Settings::default() };
    let (log, mut entropy) = (dir.path().join("log"), SeededEntropy::new(2));
    let mut opened =
        wal::open(Arc::new(RealDisk), &log, settings, &mut entropy, Index(0), &mut |_| Ok(())).unwrap();
    let index = opened.log.append(Kind::Parcel, |out| out.extend_from_slice(b"new")).unwrap();
    opened.writer.step(0).unwrap();
    opened.writer.close().unwrap();
    let mut last = None;
    wal::read(&RealDisk, &log, &mut |record| {
        last = Some((record.index, record.kind, record.payload.to_vec()));
        Ok(())
    })
    .unwrap();
    assert_eq!(last, Some((index, Kind::Parcel, b"new".to_vec())));
    let found = files(dir.path());
    let logs = found.iter().filter(|(path, _)| path.extension().is_some_and(|end| end == "log"));
    let versions: Vec<u8> = logs.map(|(_, bytes)| bytes[8]).collect();
    assert!(
        versions.iter().all(|version| *version == 2),
        "an earlier program refuses them all: {versions:?}"
    );
}
