//! What happens to a log when its bytes are cut short, changed, or left over from an earlier use; when the disk is full,
//! and when a sync fails. Each case is made by hand.

use env::disk::Disk;
use env::entropy::SeededEntropy;
use sim::disk::{Faults, SimDisk};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wal::{FILE_HEADER_BYTES, Index, Kind, Mode, OpenError, Opened, Refused, Settings, Step};

const DIR: &str = "log";
const SETTINGS: Settings = Settings {
    mode: Mode::Always,
    file_bytes: 16 << 10,
    waiting_bytes_max: 8192,
    ready_files: 1,
    spare_files_max: 1,
};

fn path(number: u32) -> PathBuf {
    Path::new(DIR).join(format!("{number:08x}.log"))
}

fn try_open(disk: &SimDisk, mode: Mode, from: u64) -> Result<(Opened, Vec<Vec<u8>>), OpenError> {
    let mut found = Vec::new();
    let settings = Settings { mode, ..SETTINGS };
    let on_record = &mut |record: wal::Record<'_>| {
        found.push(record.payload.to_vec());
        Ok(())
    };
    let mut entropy = SeededEntropy::new(disk.operations());
    let dir = Path::new(DIR);
    let opened = wal::open(Arc::new(disk.clone()), dir, settings, &mut entropy, Index(from), on_record)?;
    Ok((opened, found))
}

fn open(disk: &SimDisk, from: u64) -> (Opened, Vec<Vec<u8>>) {
    try_open(disk, Mode::Always, from).unwrap()
}

/// Appends a record and makes it safe: a block of its own.
fn append(opened: &mut Opened, payload: &[u8]) {
    while let Some(preparation) = opened.log.wanted() {
        opened.log.prepared(preparation.run());
    }
    opened.log.append(Kind::Commands, |out| out.extend_from_slice(payload)).unwrap();
    assert_eq!(opened.writer.step(0), Ok(Step::Moved));
}

fn records(disk: &SimDisk) -> usize {
    let mut count = 0;
    wal::read(disk, Path::new(DIR), &mut |_| {
        count += 1;
        Ok(())
    })
    .unwrap();
    count
}

/// A log of three blocks: the records 1, 2 and 3, of 700 bytes each.
fn three_blocks() -> SimDisk {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk, 0).0;
    (1..=3).for_each(|n| append(&mut opened, &[n; 700]));
    disk.kill();
    disk
}

const BLOCK: usize = 1024;
/// Bytes of a block that mean something: header, record header, payload filled up to eight bytes.
const USED: usize = 56 + 8 + 704;

#[test]
fn a_tail_torn_at_any_byte_is_cut_and_the_log_goes_on() {
    let whole = three_blocks().bytes(&path(1)).unwrap();
    let last = FILE_HEADER_BYTES + 2 * BLOCK;
    for cut in last..last + USED {
        let disk = SimDisk::new(1);
        disk.create_dir(Path::new(DIR)).unwrap();
        let mut bytes = whole.clone();
        bytes[cut..].fill(0);
        let torn = bytes != whole;
        disk.put(&path(1), &bytes);
        let (mut opened, found) = open(&disk, 0);
        assert_eq!(found.len(), if torn { 2 } else { 3 }, "cut at {cut}");
        // Whether there was a block at all is seen once its place is there: 13 bytes that are not zero.
        assert_eq!(opened.cut.is_some(), torn && cut >= last + 13, "cut at {cut}");
        append(&mut opened, b"goes on");
        drop(opened);
        disk.lose_power();
        let (opened, again) = open(&disk, 0);
        assert_eq!(again[..found.len()], found);
        assert_eq!(again.len(), found.len() + 1, "cut at {cut}");
        assert_eq!(opened.cut, None, "what was cut is not found again");
    }
}

#[test]
fn a_flipped_bit_below_a_mark_is_damage_and_above_it_a_torn_tail() {
    let disk = three_blocks();
    let flip = |offset: usize| assert!(disk.flip_bit(&path(1), offset as u64, offset as u8));
    for offset in 0..FILE_HEADER_BYTES + 3 * BLOCK {
        flip(offset);
        // Reading changes nothing, so that one disk serves all cases.
        let mut found = 0;
        let read = wal::read(&disk, Path::new(DIR), &mut |_| {
            found += 1;
            Ok(())
        });
        flip(offset);
        let block = offset.checked_sub(FILE_HEADER_BYTES).map(|offset| (offset / BLOCK, offset % BLOCK));
        match (block, read) {
            (None, Err(OpenError::Damaged(damage))) => {
                assert!(offset < 64);
                assert_eq!((damage.path, damage.offset), (path(1), 0));
            }
            (None, Ok(_)) => assert!(offset >= 64 && found == 3, "offset {offset}"),
            (Some((_, within)), Ok(_)) if within >= USED => assert_eq!(found, 3, "offset {offset}"),
            (Some((2, _)), Ok(_)) => assert_eq!(found, 2, "offset {offset}"),
            (Some((block @ 0..2, _)), Err(OpenError::Damaged(damage))) => {
                let begin = (FILE_HEADER_BYTES + block * BLOCK) as u64;
                assert_eq!((damage.path, damage.offset), (path(1), begin), "offset {offset}");
            }
            (_, read) => panic!("offset {offset}: {read:?}"),
        }
    }
    assert_eq!(records(&disk), 3);
}

#[test]
fn after_a_clean_end_the_last_block_is_below_a_mark_too() {
    let disk = three_blocks();
    open(&disk, 0).0.writer.close().unwrap();
    assert!(disk.flip_bit(&path(1), (FILE_HEADER_BYTES + 2 * BLOCK + 100) as u64, 1));
    assert!(matches!(try_open(&disk, Mode::Always, 0), Err(OpenError::Damaged(_))));
}

#[test]
fn damage_leaves_the_files_as_they_are() {
    let disk = three_blocks();
    disk.flip_bit(&path(1), FILE_HEADER_BYTES as u64 + 70, 1);
    let (before, operations) = (disk.bytes(&path(1)), disk.operations());
    let error = try_open(&disk, Mode::Always, 0).unwrap_err();
    assert!(error.to_string().contains("00000001.log: damaged at offset 4096"), "{error}");
    assert_eq!((disk.bytes(&path(1)), disk.operations()), (before, operations));
}

#[test]
fn a_missing_file_is_noticed() {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk, 0).0;
    (0..60).for_each(|n| append(&mut opened, &[n; 700]));
    disk.kill();
    let bytes = disk.bytes(&path(3)).unwrap();
    disk.remove(&path(3)).unwrap();
    assert!(
        matches!(try_open(&disk, Mode::Always, 0), Err(OpenError::Damaged(damage)) if damage.path == path(3))
    );
    disk.put(&path(3), &bytes);
    assert_eq!(open(&disk, 0).1.len(), 60);
    disk.remove(&path(1)).unwrap();
    assert!(matches!(
        try_open(&disk, Mode::Always, 0),
        Err(OpenError::Missing { wanted: Index(1), first: Index(13), .. })
    ));
}

/// Why a log cannot be opened after a snapshot of record `from`; files that were changed for that are as they were before.
fn refused(disk: &SimDisk, from: u64) -> String {
    let copy = disk.copy();
    let error = try_open(&copy, Mode::Always, from).expect_err("files are missing");
    assert!(matches!(error, OpenError::Gone { .. } | OpenError::Missing { .. }), "{error}");
    error.to_string()
}

#[test]
fn files_that_are_gone_are_noticed_at_the_end_and_all_together() {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk, 0).0;
    (0..3).for_each(|n| append(&mut opened, &[n; 700]));
    let early = disk.copy();
    (3..30).for_each(|n| append(&mut opened, &[n; 700]));
    drop(opened);
    disk.kill();
    assert_eq!(disk.list(Path::new(DIR)).unwrap().len(), 5, "three with records, one ahead, and the note");
    let whole: Vec<Vec<u8>> = (1..=4).map(|n| disk.bytes(&path(n)).unwrap()).collect();
    for from in [0, 20, 30] {
        // The newest with records and all after it.
        for first_gone in 1..=4 {
            let copy = disk.copy();
            (first_gone..=4).for_each(|n| copy.remove(&path(n)).unwrap());
            assert!(refused(&copy, from).contains("Bring the files back"), "{from} {first_gone}");
        }
    }
    // Only the one ahead is left.
    (1..=3).for_each(|n| disk.remove(&path(n)).unwrap());
    for from in [0, 30] {
        assert!(refused(&disk, from).contains("no record") || refused(&disk, from).contains("has a record"));
    }
    (1..=4).for_each(|n| disk.put(&path(n), &whole[n as usize - 1]));
    assert_eq!(open(&disk, 0).1.len(), 30);
    // An old copy of the whole folder: the snapshot knows better.
    early.kill();
    assert!(refused(&early, 20).contains("ends with 3"));
    assert_eq!(open(&early, 2).1.len(), 1);
}

#[test]
fn a_log_without_files_or_blocks_is_none_after_a_snapshot() {
    let disk = SimDisk::new(1);
    assert!(refused(&disk, 5).contains("there is no log file"));
    let mut entropy = SeededEntropy::new(7);
    let create = |disk: &SimDisk, entropy: &mut SeededEntropy| {
        wal::create(Arc::new(disk.clone()), Path::new(DIR), SETTINGS, entropy, Index(5))
    };
    drop(create(&disk, &mut entropy).expect("it begins there"));
    disk.kill();
    let (mut opened, found) = open(&disk, 5);
    assert!(found.is_empty());
    append(&mut opened, &[1; 700]);
    drop(opened);
    disk.kill();
    assert_eq!(open(&disk, 5).1.len(), 1);
    let other = SimDisk::new(2);
    drop(open(&other, 0));
    assert!(refused(&other, 5).contains("no log file has a record"), "a new log beside an old snapshot");
}

#[test]
fn a_changed_bit_in_the_header_of_the_last_block_is_reported_as_a_torn_tail() {
    for bit in 0..56 * 8 {
        let disk = three_blocks();
        let at = FILE_HEADER_BYTES as u64 + 2 * BLOCK as u64;
        assert!(disk.flip_bit(&path(1), at + bit / 8, (bit % 8) as u8));
        let (opened, found) = open(&disk, 0);
        assert_eq!(found.len(), 2);
        assert!(opened.cut.is_some(), "bit {bit}");
        drop(opened);
        assert_eq!(open(&disk, 0).0.cut, None, "it is reported once");
    }
}

#[test]
fn what_an_earlier_use_left_in_a_file_is_not_read() {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk, 0).0;
    // Twelve blocks to a file. The third is ready when the first is released, so that becomes the fourth.
    (0..24).for_each(|n| append(&mut opened, &[n; 700]));
    assert_eq!(opened.log.release(Index(12), &mut |_| Ok(())).unwrap(), 1);
    (24..37).for_each(|n| append(&mut opened, &[n; 700]));
    drop(opened);
    disk.kill();
    assert_eq!(
        disk.list(Path::new(DIR)).unwrap(),
        ["00000002.log", "00000003.log", "00000004.log", "newest"]
    );
    assert!(disk.bytes(&path(4)).unwrap().windows(700).any(|bytes| bytes == [5; 700]), "it is still there");
    let (opened, found) = open(&disk, 12);
    assert_eq!(found.len(), 25);
    assert_eq!(opened.cut, None);
}

/// Opens in mode none, so that nothing is synced, and writes `payloads`, a block each.
fn write_unsynced(disk: &SimDisk, from: u64, payloads: &[&[u8]]) {
    let mut opened = try_open(disk, Mode::None, from).unwrap().0;
    payloads.iter().for_each(|payload| append(&mut opened, payload));
    disk.kill();
}

/// The end of a file and the beginning of the next are one place: a mark there must not make a tail that was torn at that
/// place look damaged.
#[test]
fn a_tail_torn_between_two_files_is_a_torn_tail_again() {
    for from in [0, 1] {
        let disk = SimDisk::new(1);
        write_unsynced(&disk, 0, &[&[1; 7000], &[2; 7000]]);
        // The second record stands at the beginning of the second file. It does not reach the disk whole.
        assert!(disk.flip_bit(&path(2), FILE_HEADER_BYTES as u64 + 500, 0));
        write_unsynced(&disk, from, &[&[3; 7000], &[4; 1000]]);
        assert_eq!(records(&disk), 3);
        assert!(disk.flip_bit(&path(2), FILE_HEADER_BYTES as u64 + 9, 0));
        let (opened, found) = try_open(&disk, Mode::Always, from).unwrap();
        assert_eq!(found.len() as u64, 1 - from);
        assert!(opened.cut.is_some());
    }
}

#[test]
fn a_full_disk_refuses_before_anything_is_taken_and_goes_on_when_there_is_room() {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk, 0).0;
    disk.set_faults(Faults { capacity: Some(20 << 10), ..Faults::default() });
    let preparation = opened.log.wanted().unwrap();
    opened.log.prepared(preparation.run());
    assert!(opened.log.no_space().is_some());
    let mut taken = 0;
    let refused = loop {
        match opened.log.append(Kind::Commands, |out| out.extend_from_slice(&[taken; 700])) {
            Ok(_) => taken += 1,
            Err(refused) => break refused,
        }
        opened.writer.step(0).unwrap();
    };
    assert!(matches!(refused, Refused::NoSpace(_)), "{refused}");
    assert_eq!(taken, 12, "the file that is there is used up");
    disk.set_faults(Faults::default());
    append(&mut opened, b"there is room again");
    assert_eq!(opened.log.safe(), Index(13));
    drop(opened);
    disk.lose_power();
    assert_eq!(open(&disk, 0).1.len(), 13);
}

#[test]
fn a_failed_write_or_sync_ends_the_log_for_ever() {
    for after in 1..=2 {
        let disk = SimDisk::new(1);
        let mut opened = open(&disk, 0).0;
        append(&mut opened, b"safe");
        opened.log.append(Kind::Commands, |out| out.extend_from_slice(b"lost, perhaps")).unwrap();
        let at = disk.operations() + after;
        disk.set_faults(Faults { fail_at: Some((at, io::ErrorKind::Other)), ..Faults::default() });
        let poisoned = opened.writer.step(0).unwrap_err();
        assert_eq!(opened.log.safe(), Index(1));
        let operations = disk.operations();
        assert_eq!(opened.writer.step(0), Err(poisoned.clone()), "nothing is tried again");
        assert_eq!(opened.writer.sync(), Err(poisoned.clone()), "nothing is called synced");
        assert!(opened.log.synced() < Index(2));
        assert_eq!(opened.log.append(Kind::Commands, |_| ()), Err(Refused::Poisoned(poisoned.clone())));
        assert_eq!(opened.writer.close(), Err(poisoned));
        assert_eq!(disk.operations(), operations);
    }
}

#[test]
fn what_was_read_after_a_failed_sync_is_durable_afterwards() {
    // The system shows what a failed sync did not write and believes it clean, so a sync alone would not help.
    let lost = (0..40).filter(|&seed| {
        let disk = SimDisk::new(seed);
        let mut opened = open(&disk, 0).0;
        opened.log.append(Kind::Commands, |out| out.extend_from_slice(&[7; 3000])).unwrap();
        let at = disk.operations() + 2;
        disk.set_faults(Faults { fail_at: Some((at, io::ErrorKind::Other)), ..Faults::default() });
        opened.writer.step(0).unwrap_err();
        drop(opened);
        disk.kill();
        assert_eq!(open(&disk, 0).1.len(), 1);
        disk.lose_power();
        open(&disk, 0).1.is_empty()
    });
    assert_eq!(lost.count(), 0);
}

/// A release whose new name is not durable must not give the file away: power loss would bring the old name back, with
/// the header of the new number.
#[test]
fn a_file_whose_release_is_not_durable_is_not_used_again() {
    for seed in 0..20 {
        let disk = SimDisk::new(seed);
        let mut opened = open(&disk, 0).0;
        (0..24).for_each(|n| append(&mut opened, &[n; 700]));
        let at = disk.operations() + 2;
        disk.set_faults(Faults { fail_at: Some((at, io::ErrorKind::Other)), ..Faults::default() });
        opened.log.release(Index(12), &mut |_| Ok(())).unwrap_err();
        append(&mut opened, &[24; 700]);
        let at = disk.operations() + 4;
        disk.set_faults(Faults { power_at: Some(at), ..Faults::default() });
        if let Some(preparation) = opened.log.wanted() {
            opened.log.prepared(preparation.run());
        }
        drop(opened);
        disk.lose_power();
        assert!(open(&disk, 12).1.len() >= 12);
    }
}
