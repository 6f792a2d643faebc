//! The protocols between the one writer and its readers, run by loom in every interleaving within the bounds that
//! `.ci/test loom` sets: five preemptions, for three are too few to pass a pin on between the writer's looks at two
//! slots. Under the cfg `pando_loom` tables are tiny, so that they split and move at once.
//!
//! That the models can fail was tried with planted faults: a pin that does not look again, extensions that are not
//! counted, a table or a cell that frees one sequence early, moves that are not counted, a set's length stored
//! without release; a revoked reader that looks all the same, a revocation that does not wait for a reader that looks, a
//! reader that is away or wanted and taken for an unpinned one. Each made a model fail.

use crate::cell::{Garbage, Held, Published};
use crate::hash::{Table, TableWriter};
use crate::idset::IdSet;
use crate::postings::{Context, Found, Postings, PostingsWriter};
use crate::readers::Readers;
use crate::sync::{AtomicU64, Ordering::Relaxed};
use loom::thread;
use std::sync::Arc;

/// The writer's publication of a batch, as the shard does it: what is swapped out later waits for the next.
fn publish(readers: &Readers, garbage: &mut Garbage, sequence: u64) {
    readers.publish(sequence);
    garbage.begin(sequence + 1);
    garbage.collect(readers);
}

/// A reader of its own: looks `times` times, pinned.
fn read<T: Send + Sync + 'static>(
    shared: &Arc<T>,
    times: usize,
    readers: fn(&T) -> &Readers,
    look: fn(&T, u64),
) -> thread::JoinHandle<()> {
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        let readers = readers(&shared);
        let slot = readers.register().expect("a slot is free");
        for _ in 0..times {
            let sequence = readers.pin(slot);
            look(&shared, sequence);
            readers.rest(slot);
        }
        readers.unregister(slot);
    })
}

const UNWRITTEN: u64 = 0;
const WRITTEN: u64 = 1;
const FREED: u64 = 2;

/// What each sequence needs, written before it is published and freed when `oldest` allows.
struct Versions {
    readers: Readers,
    states: Vec<AtomicU64>,
}

impl Versions {
    fn new(last: u64) -> Versions {
        let states: Vec<_> = (0..=last).map(|_| AtomicU64::new(UNWRITTEN)).collect();
        states[0].store(WRITTEN, Relaxed);
        Versions { readers: Readers::new(), states }
    }

    fn check(&self, sequence: u64) {
        assert_eq!(self.states[sequence as usize].load(Relaxed), WRITTEN);
    }

    fn write(&self) {
        (1..self.states.len()).for_each(|sequence| self.write_batch(sequence));
    }

    /// The batch of a sequence, which follows those before it.
    fn write_batch(&self, sequence: usize) {
        self.states[sequence].store(WRITTEN, Relaxed);
        self.readers.publish(sequence as u64);
        self.states[..self.readers.oldest() as usize].iter().for_each(|state| state.store(FREED, Relaxed));
    }
}

#[test]
fn loom_a_pinned_sequence_is_written_and_not_freed() {
    loom::model(|| {
        let shared = Arc::new(Versions::new(3));
        let reader = read(&shared, 2, |v| &v.readers, Versions::check);
        shared.write();
        reader.join().unwrap();
    });
}

/// A reader passes what it sees from slot `from` to the other one.
fn extends(from: u16) {
    let shared = Arc::new(Versions::new(2));
    let slots = [0, 1].map(|_| shared.readers.register().expect("a slot is free"));
    shared.readers.unregister(slots[1 - from as usize]);
    let reader = Arc::clone(&shared);
    let reader = thread::spawn(move || {
        let readers = &reader.readers;
        let sequence = readers.pin(from);
        let to = readers.register().expect("a slot is free");
        readers.pin_at(to, sequence);
        readers.rest(from);
        reader.check(sequence);
        readers.unregister(to);
    });
    shared.write();
    reader.join().unwrap();
}

#[test]
fn loom_a_pin_extended_to_a_later_slot_outlives_the_first() {
    loom::model(|| extends(0));
}

#[test]
fn loom_a_pin_extended_to_an_earlier_slot_outlives_the_first() {
    loom::model(|| extends(1));
}

#[test]
fn loom_a_pin_extended_to_a_new_slot_outlives_the_first() {
    loom::model(|| {
        let shared = Arc::new(Versions::new(2));
        let reader = read(
            &shared,
            1,
            |v| &v.readers,
            |v, sequence| {
                let second = v.readers.register().expect("a slot is free");
                v.readers.pin_at(second, sequence);
                v.readers.rest(1 - second);
                v.check(sequence);
                v.readers.unregister(second);
            },
        );
        shared.write();
        reader.join().unwrap();
    });
}

/// A reader that may be revoked looks twice, and is revoked by the writer meanwhile.
#[test]
fn loom_what_a_revoked_reader_sees_is_not_freed() {
    loom::model(|| {
        let shared = Arc::new(Versions::new(2));
        let slot = shared.readers.register().expect("a slot is free");
        shared.readers.pin_away_at(slot, 0);
        let reader = Arc::clone(&shared);
        let reader = thread::spawn(move || {
            for _ in 0..2 {
                if reader.readers.enter(slot, 0) {
                    reader.check(0);
                    reader.readers.leave(slot, 0);
                }
            }
            reader.readers.unregister(slot);
        });
        shared.readers.revoke(slot, 0);
        shared.write();
        reader.join().unwrap();
    });
}

/// A pin in slot `from` is passed on to the other slot, whose reader may be revoked, and is between two of the writer's batches.
fn extends_revocably(from: u16) {
    let shared = Arc::new(Versions::new(2));
    let slots = [0, 1].map(|_| shared.readers.register().expect("a slot is free"));
    let to = slots[1 - from as usize];
    let reader = Arc::clone(&shared);
    let reader = thread::spawn(move || {
        let readers = &reader.readers;
        let sequence = readers.pin(from);
        readers.pin_away_at(to, sequence);
        readers.rest(from);
        for _ in 0..2 {
            if readers.enter(to, sequence) {
                reader.check(sequence);
                readers.leave(to, sequence);
            }
        }
        readers.unregister(to);
    });
    shared.write_batch(1);
    shared.readers.revoke(to, 0);
    shared.write_batch(2);
    reader.join().unwrap();
}

#[test]
fn loom_a_pin_extended_to_a_later_revocable_slot_outlives_the_first() {
    loom::model(|| extends_revocably(0));
}

#[test]
fn loom_a_pin_extended_to_an_earlier_revocable_slot_outlives_the_first() {
    loom::model(|| extends_revocably(1));
}

/// A value whose early drop loom reports: it takes the drop for a write, which all reads have to happen before.
struct Watched {
    number: u64,
    used: AtomicU64,
}

impl Watched {
    fn new(number: u64) -> Watched {
        Watched { number, used: AtomicU64::new(0) }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.used.with_mut(|used| *used = u64::MAX);
    }
}

#[test]
fn loom_what_a_cell_held_outlives_its_readers() {
    loom::model(|| {
        let shared = Arc::new((Readers::new(), Published::new(Watched::new(0))));
        let reader = read(
            &shared,
            2,
            |s| &s.0,
            |(readers, cell), sequence| {
                let value = cell.load(Held::by(readers));
                assert_eq!(value.used.load(Relaxed), 0);
                // What a batch in progress swapped in may be seen, what was published must be.
                assert!(value.number >= sequence);
            },
        );
        let (readers, cell) = &*shared;
        let mut garbage = Garbage::default();
        garbage.begin(1);
        for sequence in 1..=2 {
            cell.swap(Watched::new(sequence), &mut garbage);
            publish(readers, &mut garbage, sequence);
        }
        reader.join().unwrap();
    });
}

struct Hashed {
    readers: Readers,
    table: Table,
}

/// The tag's first bits choose the segment.
const KEYS: [(u32, u32); 6] = [
    (0x1000_0000, 1),
    (0x9000_0001, 2),
    (0x5000_0000, 3),
    (0xd000_0001, 4),
    (0x3000_0000, 5),
    (0x2000_0001, 6),
];
/// With so many of them a segment of two units is full, and one of three.
const SMALL_FULL: usize = 3;
const LARGE_FULL: usize = 5;

impl Hashed {
    /// The first keys, published as 1: a full segment.
    fn new(keys: usize) -> (Arc<Hashed>, TableWriter) {
        let (table, writer) = Table::create(1, true).unwrap();
        let mut hashed = (Arc::new(Hashed { readers: Readers::new(), table }), writer);
        (0..keys).for_each(|at| hashed.0.put(&mut hashed.1, at));
        hashed.0.readers.publish(1);
        hashed
    }

    fn put(&self, writer: &mut TableWriter, at: usize) {
        let (tag, value) = KEYS[at];
        self.table.put(writer, &self.readers, tag, None, value).unwrap();
    }

    fn has(&self, at: usize) -> bool {
        let (tag, value) = KEYS[at];
        let found = self.table.find(tag, |_| true);
        assert!(found.is_none() || found == Some(value), "{found:?} instead of {value}");
        found.is_some()
    }
}

/// One more key comes to a full segment.
fn makes_room(keys: usize) {
    let (shared, mut writer) = Hashed::new(keys);
    let reader = read(
        &shared,
        2,
        |s| &s.readers,
        |hashed, sequence| {
            assert!(hashed.has(0) && hashed.has(1));
            assert!(hashed.has(3) || sequence < 2);
        },
    );
    shared.put(&mut writer, keys);
    shared.readers.publish(2);
    reader.join().unwrap();
}

#[test]
fn loom_a_segment_that_grows_hides_no_key() {
    loom::model(|| makes_room(SMALL_FULL));
}

#[test]
fn loom_a_split_hides_no_key() {
    loom::model(|| makes_room(LARGE_FULL));
}

#[test]
fn loom_units_used_again_hide_no_key() {
    loom::model(|| {
        let (shared, mut writer) = Hashed::new(SMALL_FULL);
        let reader = read(
            &shared,
            2,
            |s| &s.readers,
            |hashed, sequence| {
                assert!(hashed.has(0));
                assert!(hashed.has(5) || sequence < 3);
            },
        );
        shared.put(&mut writer, 3);
        shared.put(&mut writer, 4);
        shared.readers.publish(2);
        // The segment has grown and is full again, and without the removed key it is written anew: into the units
        // that it had first, if no reader pins them.
        shared.table.remove(KEYS[2].0, KEYS[2].1);
        shared.put(&mut writer, 5);
        shared.readers.publish(3);
        reader.join().unwrap();
    });
}

struct Listed {
    readers: Readers,
    postings: Postings,
}

const TAG: u32 = 0x1000_0000;
const OTHER_TAG: u32 = 0x1000_0002;

impl Listed {
    fn insert(&self, writer: &mut PostingsWriter, garbage: &mut Garbage, tag: u32, id: u32) {
        let mut context = Context { readers: &self.readers, view: Held::by(&self.readers), garbage };
        self.postings.insert(writer, &mut context, tag, id, |_| true).unwrap();
    }

    fn ids(&self) -> Vec<u32> {
        match self.postings.find(TAG) {
            Found::Few(few) => few.to_vec(),
            Found::Many(set) => {
                let mut ids = Vec::new();
                set.ids.push_from(0, 10, Held::by(&self.readers), &mut ids);
                ids
            }
        }
    }
}

#[test]
fn loom_ids_that_move_to_a_set_are_not_missed() {
    loom::model(|| {
        let (postings, mut writer) = Postings::create(1, true).unwrap();
        let shared = Arc::new(Listed { readers: Readers::new(), postings });
        let mut garbage = Garbage::default();
        shared.insert(&mut writer, &mut garbage, TAG, 1);
        shared.insert(&mut writer, &mut garbage, TAG, 2);
        publish(&shared.readers, &mut garbage, 1);
        let reader = read(
            &shared,
            2,
            |s| &s.readers,
            |listed, sequence| {
                let ids = listed.ids();
                assert!(ids.contains(&1) && ids.contains(&2), "{ids:?}");
                assert!(ids.contains(&3) || sequence < 2, "{ids:?}");
            },
        );
        shared.insert(&mut writer, &mut garbage, TAG, 3);
        // Takes the place in the table that an id has left.
        shared.insert(&mut writer, &mut garbage, OTHER_TAG, 9);
        publish(&shared.readers, &mut garbage, 2);
        reader.join().unwrap();
    });
}

#[test]
fn loom_a_set_grows_under_its_readers() {
    loom::model(|| {
        let shared = Arc::new((Readers::new(), IdSet::new()));
        let (readers, set) = &*shared;
        let (held, mut garbage) = (Held::by(readers), Garbage::default());
        [10, 20, 30].into_iter().for_each(|id| assert!(set.insert(id, held, &mut garbage)));
        publish(readers, &mut garbage, 1);
        let reader = read(
            &shared,
            1,
            |s| &s.0,
            |(readers, set), sequence| {
                let mut ids = Vec::new();
                set.push_from(0, 10, Held::by(readers), &mut ids);
                let all = [10, 20, 30, 40, 50];
                assert!(ids == all[..ids.len()] && ids.len() as u64 >= sequence + 2, "{ids:?} at {sequence}");
            },
        );
        for (id, sequence) in [(40, 2), (50, 3)] {
            // The first is appended in place; the second needs a larger chunk.
            assert!(set.insert(id, held, &mut garbage));
            publish(readers, &mut garbage, sequence);
        }
        reader.join().unwrap();
    });
}
