//! The log with its threads on the real disk.

use env::clock::SystemClock;
use env::disk::RealDisk;
use env::entropy::SystemEntropy;
use env::task::run_with_workers;
use std::path::Path;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use wal::{Index, Kind, Mode, Opened, Progress, Refused, Settings, Syncer};

fn settings(mode: Mode) -> Settings {
    Settings { mode, file_bytes: 256 << 10, waiting_bytes_max: 64 << 10, ready_files: 2, spare_files_max: 4 }
}

fn open(dir: &Path, mode: Mode, from: u64, found: &mut Vec<Vec<u8>>) -> Opened {
    let on_record = &mut |record: wal::Record<'_>| {
        found.push(record.payload.to_vec());
        Ok(())
    };
    wal::open(Arc::new(RealDisk), dir, settings(mode), &mut SystemEntropy, Index(from), on_record).unwrap()
}

/// Appends `count` records from each of four threads, waits until they are safe, and closes.
fn append_and_close(opened: Opened, count: u64) -> Vec<Vec<u8>> {
    let log = opened.log.clone();
    let (sender, receiver) = mpsc::channel();
    let syncer = Syncer::start(opened.writer, SystemClock::start(), move |progress| {
        sender.send(progress).expect("somebody listens until the end");
    })
    .unwrap();
    let appended = Mutex::new(Vec::new());
    let last = Mutex::new(Index(0));
    run_with_workers(
        4,
        |worker| {
            for n in 0..count {
                let payload = format!("record {n} of worker {worker}").into_bytes();
                let index = loop {
                    // Taken together, so that the list has the order of the log.
                    let mut list = appended.lock().unwrap();
                    match log.append(Kind::Commands, |out| out.extend_from_slice(&payload)) {
                        Ok(index) => {
                            list.push(payload);
                            break index;
                        }
                        Err(Refused::Full) => drop(list),
                        Err(refused) => panic!("{refused}"),
                    }
                };
                let mut last = last.lock().unwrap();
                *last = index.max(*last);
            }
        },
        || (),
    );
    let last = *last.lock().unwrap();
    while log.safe() < last {
        assert!(!matches!(receiver.recv().unwrap(), Progress::Poisoned(_)));
    }
    syncer.stop().unwrap();
    assert_eq!(log.synced(), last);
    assert_eq!(log.append(Kind::Commands, |_| ()), Err(Refused::Closed));
    appended.into_inner().unwrap()
}

#[test]
fn what_four_threads_append_comes_back_in_order() {
    for mode in [Mode::Always, Mode::Interval { ms: 5 }, Mode::None] {
        let dir = tempfile::tempdir().unwrap();
        let mut expected = append_and_close(open(dir.path(), mode, 0, &mut Vec::new()), 5_000);
        let mut found = Vec::new();
        let opened = open(dir.path(), mode, 0, &mut found);
        assert_eq!(found, expected);
        assert_eq!((opened.is_new, opened.cut.clone()), (false, None));
        expected.extend(append_and_close(opened, 300));
        let mut found = Vec::new();
        let end = wal::read(&RealDisk, dir.path(), &mut |record| {
            found.push(record.payload.to_vec());
            Ok(())
        });
        assert_eq!(found, expected);
        assert_eq!(end.unwrap().unwrap().indexes, Some((Index(1), Index(21_201))));
    }
}

#[test]
fn released_files_are_used_again_and_what_they_held_is_not_needed() {
    let dir = tempfile::tempdir().unwrap();
    append_and_close(open(dir.path(), Mode::None, 0, &mut Vec::new()), 10_000);
    let mut found = Vec::new();
    let opened = open(dir.path(), Mode::None, 40_000, &mut found);
    assert!(found.is_empty());
    let before = opened.log.live_bytes();
    assert!(opened.log.release(Index(40_000), &mut |_| Ok(())).unwrap() > 4);
    assert!(opened.log.live_bytes() < before);
    let names = || {
        let mut names: Vec<_> =
            std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names.into_iter().map(|name| name.into_string().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(names().iter().filter(|name| name.ends_with(".spare")).count(), 4);
    let expected = append_and_close(opened, 10_000);
    let mut found = Vec::new();
    open(dir.path(), Mode::None, 40_000, &mut found);
    assert_eq!(found, expected);
}

#[test]
fn a_snapshot_beyond_the_log_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    append_and_close(open(dir.path(), Mode::Always, 0, &mut Vec::new()), 10);
    let refused = wal::open(
        Arc::new(RealDisk),
        dir.path(),
        settings(Mode::Always),
        &mut SystemEntropy,
        Index(41),
        &mut |_| Ok(()),
    );
    assert!(matches!(refused, Err(wal::OpenError::Missing { wanted: Index(41), .. })));
}

#[test]
fn a_refusal_for_want_of_room_is_followed_by_a_notice() {
    let dir = tempfile::tempdir().unwrap();
    let opened = open(dir.path(), Mode::Always, 0, &mut Vec::new());
    let log = opened.log.clone();
    // Nobody prepares files yet, so the first one is used up.
    let mut writer = opened.writer;
    while log.append(Kind::Commands, |out| out.extend_from_slice(&[1; 9000])).is_ok() {
        writer.step(0).unwrap();
    }
    let (sender, receiver) = mpsc::channel();
    let syncer =
        Syncer::start(writer, SystemClock::start(), move |progress| drop(sender.send(progress))).unwrap();
    assert_eq!(receiver.recv(), Ok(Progress::Room));
    log.append(Kind::Commands, |out| out.extend_from_slice(&[1; 9000])).unwrap();
    syncer.stop().unwrap();
}
