//! Copies of a log, an archive, and reading over several folders: what is read are the records of one history, in order,
//! or the error names what is missing.

use env::disk::{Disk, RealDisk};
use env::entropy::SeededEntropy;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wal::{ChainEnd, Flow, Index, Kind, OpenError, Refused, Settings, archive_file, copy_log, read_chain};

const SETTINGS: Settings = Settings {
    mode: wal::Mode::Always,
    file_bytes: 64 << 10,
    waiting_bytes_max: 8 << 10,
    ready_files: 1,
    spare_files_max: 4,
};

fn disk() -> Arc<dyn Disk> {
    Arc::new(RealDisk)
}

/// The payload of a record; `history` distinguishes histories with the same record numbers.
fn payload(history: u8, index: u64) -> Vec<u8> {
    let mut payload = vec![history; 1500];
    payload.extend_from_slice(&index.to_le_bytes());
    payload
}

/// Opens the log in `dir` after `from`, appends `count` records, and closes it. The files that a release up to `release`
/// frees are archived.
fn write(dir: &Path, history: u8, from: u64, count: u64, release: u64, archive: Option<&Path>) {
    let mut entropy = SeededEntropy::new(u64::from(history) * 1000 + from);
    let opened = wal::open(disk(), dir, SETTINGS, &mut entropy, Index(from), &mut |_| Ok(())).unwrap();
    let (log, mut writer) = (opened.log, opened.writer);
    let mut left = count;
    while left > 0 {
        let index = log.batch().next_index().0;
        match log.append(Kind::Commands, |out| out.extend_from_slice(&payload(history, index))) {
            Ok(_) => left -= 1,
            Err(Refused::Full) => {}
            Err(refused) => panic!("{refused}"),
        }
        writer.step(0).unwrap();
        while let Some(preparation) = log.wanted() {
            log.prepared(preparation.run());
        }
    }
    let mut before = |file: &Path| match archive {
        Some(archive) => archive_file(&RealDisk, file, archive).map(|_| ()).map_err(std::io::Error::other),
        None => Ok(()),
    };
    log.release(Index(release), &mut before).unwrap();
    writer.close().unwrap();
}

/// Reads on from `own`; the indexes that were handed out, up to `last`.
fn read(own: &Path, others: &[PathBuf], from: u64, last: u64) -> Result<(Vec<u64>, ChainEnd), OpenError> {
    let mut indexes = Vec::new();
    let end = read_chain(&RealDisk, own, others, Index(from), &mut |record| {
        if record.index.0 > last {
            return Ok(Flow::Enough);
        }
        assert_eq!(record.payload, payload(record.payload[0], record.index.0));
        indexes.push(record.index.0);
        Ok(Flow::On)
    })?;
    Ok((indexes, end))
}

fn copy(dir: &Path, from: u64, to: &Path, known: Option<&Path>) -> wal::Copied {
    fs::create_dir_all(to).unwrap();
    copy_log(&RealDisk, dir, Index(from), to, known).unwrap()
}

fn all(from: u64, last: u64) -> Vec<u64> {
    (from + 1..=last).collect()
}

#[test]
fn a_copy_is_a_log_and_shares_what_an_earlier_one_has() {
    let temp = tempfile::tempdir().unwrap();
    let [log, one, two, three] = ["log", "one", "two", "three"].map(|name| temp.path().join(name));
    write(&log, 1, 0, 100, 0, None);
    let first = copy(&log, 0, &one, None);
    assert_eq!((first.last, first.shared_bytes), (Index(100), 0));
    let mut count = 0;
    wal::read(&RealDisk, &one, &mut |_| {
        count += 1;
        Ok(())
    })
    .unwrap();
    assert_eq!(count, 100);
    // Nothing new: nothing is copied.
    assert_eq!(copy(&log, 0, &two, Some(&one)).bytes, 0);
    write(&log, 1, 100, 10, 0, None);
    let third = copy(&log, 0, &three, Some(&one));
    assert!(third.bytes <= 64 << 10 && third.shared_bytes >= 2 * (64 << 10), "{third:?}");
    assert_eq!(read(&three, &[], 0, 1000).unwrap().0, all(0, 110));
    // The earlier one is as it was.
    assert_eq!(read(&one, &[], 0, 1000).unwrap().0, all(0, 100));
    // A copy that has suffered is not shared.
    let path = one.join("00000001.log");
    let mut bytes = fs::read(&path).unwrap();
    bytes[5000] ^= 1;
    fs::write(&path, bytes).unwrap();
    let again = copy(&log, 0, &temp.path().join("four"), Some(&one));
    assert!(again.bytes >= 64 << 10);
}

#[test]
fn an_archive_joins_an_old_copy_and_the_log_that_is_left() {
    let temp = tempfile::tempdir().unwrap();
    let [log, old, archive] = ["log", "old", "archive"].map(|name| temp.path().join(name));
    write(&log, 1, 0, 10, 0, None);
    copy(&log, 0, &old, None);
    write(&log, 1, 10, 200, 150, Some(&archive));
    write(&log, 1, 210, 5, 0, None);
    let sources = [archive.clone(), log.clone()];
    let (indexes, end) = read(&old, &sources, 0, 1000).unwrap();
    assert_eq!((indexes, end.later), (all(0, 215), None));
    let (indexes, end) = read(&old, &sources, 7, 77).unwrap();
    assert_eq!((indexes, end.enough, end.next), (all(7, 77), true, Index(78)));
    // The archive alone ends where it ends.
    let (indexes, end) = read(&old, &sources[..1], 0, 1000).unwrap();
    assert!(indexes.len() > 10 && indexes.len() <= 150 && end.later.is_none());
    // A file that is not there is a gap, and what comes after it is reported.
    let mut names: Vec<PathBuf> =
        fs::read_dir(&archive).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let second = names[1].clone();
    let bytes = fs::read(&second).unwrap();
    fs::remove_file(&second).unwrap();
    let (indexes, end) = read(&old, &sources, 0, 1000).unwrap();
    let later = end.later.expect("there are more");
    assert_eq!((end.next.0, later.file), (indexes.len() as u64 + 1, 3));
    assert!(later.first > end.next && later.payload == payload(1, later.first.0));
    // One whose header is damaged is passed over and reported; a later block in it shows damage.
    let mut damaged = bytes.clone();
    damaged[20] ^= 1;
    fs::write(&second, &damaged).unwrap();
    assert_eq!(read(&old, &sources, 0, 1000).unwrap().1.unreadable.len(), 1);
    damaged = bytes.clone();
    let place = damaged.len() / 2 / 512 * 512;
    damaged[place..place + 4096].fill(7);
    fs::write(&second, &damaged).unwrap();
    assert!(matches!(read(&old, &sources, 0, 1000), Err(OpenError::Damaged(d)) if d.path == second));
    // So does the first block, which another file can stand for no more than the rest.
    damaged[place..place + 4096].copy_from_slice(&bytes[place..place + 4096]);
    damaged[4096 + 60] ^= 1;
    fs::write(&second, &damaged).unwrap();
    let error = read(&old, &sources, 0, 1000).unwrap_err();
    assert!(matches!(error, OpenError::Damaged(d) if d.path == second && d.offset == 4096));
    // Of another copy the rest is taken.
    assert!(read(&log, &sources, 215, 1000).unwrap().0.is_empty());
}

#[test]
fn what_is_there_already_is_not_archived_twice_and_nothing_is_written_over() {
    let temp = tempfile::tempdir().unwrap();
    let [log, archive] = ["log", "archive"].map(|name| temp.path().join(name));
    write(&log, 1, 0, 100, 0, None);
    let file = log.join("00000001.log");
    let (path, last) = archive_file(&RealDisk, &file, &archive).unwrap();
    assert_eq!(archive_file(&RealDisk, &file, &archive).unwrap(), (path.clone(), last));
    assert_eq!(fs::read(&path).unwrap(), fs::read(&file).unwrap());
    let mut other = fs::read(&path).unwrap();
    other[60_000] ^= 1;
    fs::write(&path, &other).unwrap();
    assert!(archive_file(&RealDisk, &file, &archive).unwrap_err().to_string().contains("other bytes"));
    assert_eq!(fs::read(&path).unwrap(), other);
    // What is damaged is not taken for whole.
    fs::remove_file(&path).unwrap();
    let mut bytes = fs::read(&file).unwrap();
    bytes[4096 + 100] ^= 1;
    fs::write(&file, &bytes).unwrap();
    assert!(matches!(archive_file(&RealDisk, &file, &archive), Err(OpenError::Damaged(_))));
    assert!(fs::read_dir(&archive).unwrap().next().is_none());
}

#[test]
fn histories_that_part_are_not_mixed() {
    let temp = tempfile::tempdir().unwrap();
    let [log, old, archive, copied] = ["log", "old", "archive", "copied"].map(|name| temp.path().join(name));
    write(&log, 1, 0, 60, 0, None);
    copy(&log, 0, &old, None);
    // The same files go on in two folders: as after a power failure in a mode that may lose something.
    fs::create_dir(&copied).unwrap();
    for entry in fs::read_dir(&log).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), copied.join(entry.file_name())).unwrap();
    }
    write(&log, 1, 60, 100, 0, None);
    write(&copied, 2, 60, 100, 0, None);
    for own in [&log, &copied] {
        let sources = [own.clone()];
        let mut histories = Vec::new();
        read_chain(&RealDisk, &old, &sources, Index(0), &mut |record| {
            histories.push(record.payload[0]);
            Ok(Flow::On)
        })
        .unwrap();
        assert_eq!(histories.len(), 160);
        assert!(histories[60..].iter().all(|history| *history == histories[60]), "they are of one history");
    }
    // Which one is taken depends on the order of the folders only.
    let mut last = 0;
    read_chain(&RealDisk, &old, &[copied, log], Index(0), &mut |record| {
        last = record.payload[0];
        Ok(Flow::On)
    })
    .unwrap();
    assert_eq!(last, 2);
    assert!(!archive.exists());
}
