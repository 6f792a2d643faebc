//! The record of settings that were changed at a node: each step that changes the disk fails, or is the last before the process or the power ends.
//! A change that was answered is there at the next start, and the record is always one that was to be written.

use ::node::data::{Data, DataError};
use dsa::settings::{Record, Texts};
use env::disk::Disk;
use sim::disk::{Faults, SimDisk};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

const DIR: &str = "data";
const KEY: &str = "log.keep-files";
/// Values that are recorded one after the other.
const VALUES: u64 = 3;

fn record(value: u64) -> Record {
    let values = Texts::from([(KEY.to_owned(), vec![value.to_string()])]);
    Record { values, file: Some(Texts::new()), ..Record::default() }
}

fn open(disk: &SimDisk) -> Result<Data, DataError> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Data::open(disk, Path::new(DIR))
}

/// The value that a start finds; 0 for none.
fn found(disk: &SimDisk) -> u64 {
    let data = open(disk).expect("the disk is whole");
    let found = data.node_settings().expect("no step leaves a damaged record").record();
    found.values.get(KEY).map_or(0, |values| values[0].parse().expect("it was a number"))
}

/// Records one value after the other, and tells which is safe.
fn write_all(disk: &SimDisk, safe: &mut u64) {
    let Ok(data) = open(disk) else { return };
    let Ok(file) = data.node_settings() else { return };
    for value in 1..=VALUES {
        // One that fails is answered so, and the next is tried.
        if file.write(record(value)).is_ok() {
            *safe = value;
        }
    }
}

#[test]
fn what_was_answered_is_there_after_each_step() {
    let made = SimDisk::new(7);
    drop(open(&made).expect("the disk is whole"));
    let all = made.copy();
    let (before, mut safe) = (all.operations(), 0);
    write_all(&all, &mut safe);
    assert_eq!((safe, found(&all)), (VALUES, VALUES));
    let steps = all.operations() - before;
    for step in 1..=steps {
        for end in 0..4 {
            let disk = made.copy();
            let at = disk.operations() + step;
            disk.set_faults(match end {
                0 | 3 => Faults { fail_at: Some((at, ErrorKind::Other)), ..Faults::default() },
                _ => Faults { power_at: Some(at), ..Faults::default() },
            });
            let mut safe = 0;
            write_all(&disk, &mut safe);
            match end {
                0 | 1 => disk.kill(),
                _ => disk.lose_power(),
            }
            disk.set_faults(Faults::default());
            let value = found(&disk);
            assert!(
                (safe..=safe + 1).contains(&value),
                "step {step} of {steps}, {end}: {value} is found, {safe} was answered"
            );
            // What one start has found the next one finds, whatever the power does.
            disk.lose_power();
            assert_eq!(found(&disk), value, "step {step} of {steps}, {end}");
        }
    }
}

/// The file may have the record that was refused. A client that asks for the one before must get it at the next start too.
#[test]
fn after_a_failed_write_the_next_one_writes() {
    let made = SimDisk::new(7);
    drop(open(&made).expect("the disk is whole"));
    let all = made.copy();
    let before = all.operations();
    write_all(&all, &mut 0);
    let steps = all.operations() - before;
    for step in 1..=steps {
        let disk = made.copy();
        let at = disk.operations() + step;
        let data = open(&disk).expect("the disk is whole");
        let file = data.node_settings().expect("it is whole");
        file.write(record(1)).expect("the disk is whole");
        disk.set_faults(Faults { fail_at: Some((at, ErrorKind::Other)), ..Faults::default() });
        let is_refused = file.write(record(2)).is_err();
        disk.set_faults(Faults::default());
        assert_eq!(file.is_certain(), !is_refused);
        file.write(record(1)).expect("the disk is whole");
        assert!(file.is_certain());
        disk.lose_power();
        assert_eq!(found(&disk), 1, "step {step} of {steps}");
    }
}
