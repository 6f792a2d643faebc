//! What a restart must keep, whatever indexes it has and whatever readers there were: which ids are free. And what it need not
//! keep: shapes that no entry has.

use proptest::prelude::*;
use std::sync::Arc;
use store::{Add, IndexKind, IndexSettings, Meta, Reader, Restore, Segment, Settings, Shard, Stamp, Writer};

const MS: u64 = 1_767_323_045_000;

fn settings(indexes: &[&str], removals_max: usize) -> Settings {
    let index = |name: &&str| IndexSettings::of(name, [IndexKind::Equality, IndexKind::Substring]);
    Settings {
        suffixes: vec!["dc=com".to_owned()],
        indexes: indexes.iter().map(index).collect(),
        memory_bytes_max: 64 << 20,
        removals_max,
        operational_attributes: true,
        schema_check: false,
        initial_owner: "cn=root".to_owned(),
        key: [1, 2, 3, 4],
        site: 0,
    }
}

fn schema() -> Arc<schema::Schema> {
    thread_local! {
        static SCHEMA: Arc<schema::Schema> = Arc::new(schema::Builder::new().standard().build().expect("it is sound"));
    }
    SCHEMA.with(Arc::clone)
}

fn create(settings: Settings) -> Arc<Shard> {
    let shard = Shard::create(settings, schema()).expect("address space is plenty");
    let mut writer = shard.writer();
    add(&mut writer, "dc=com", &["dc"]);
    writer.publish();
    shard
}

/// Adds an entry with one value of each of these attributes.
fn add(writer: &mut Writer<'_>, dn: &str, attributes: &[&str]) {
    let schema = Arc::clone(writer.view().shard().schema());
    let mut entry = model::Entry::new();
    let mut push = |name: &str, value: &str| {
        entry.push_attribute(schema.intern_description(name.as_bytes()).expect("known"));
        entry.push_value(value.as_bytes());
    };
    push("objectClass", "device");
    for name in attributes.iter().filter(|name| **name != "dc") {
        push(name, &format!("a long text of {dn}"));
    }
    let stamp = Stamp { csn: writer.stamp(MS), actor: 0 };
    let add = Add { dn: dn.as_bytes(), entry: &mut entry, keep_operational: false };
    writer.add(add, stamp).expect("it can be added");
}

/// A shard from a checkpoint of another, as after a restart; and the bytes of its meta.
fn restart(shard: &Arc<Shard>, settings: Settings) -> (Arc<Shard>, usize) {
    let checkpoint = shard.checkpoint().expect("a slot is free");
    let (meta, mut slots) = (checkpoint.meta(), Vec::new());
    checkpoint.push_slots(0, usize::MAX, &mut slots);
    let mut segments: Vec<(Segment, Vec<u8>)> = Vec::new();
    let written = checkpoint.into_segments().write_each(|segment, bytes| -> Result<(), ()> {
        segments.push((segment, bytes.to_vec()));
        Ok(())
    });
    written.expect("memory takes all");
    let read = Meta::read(&meta).expect("it was just written");
    let mut restore = Restore::begin(read, settings, schema()).expect("it fits");
    let (places, slot_map) = restore.memory();
    for (place, (segment, bytes)) in places.into_iter().zip(&segments) {
        assert_eq!(place.segment, *segment);
        place.bytes.copy_from_slice(bytes);
    }
    slot_map.copy_from_slice(&slots);
    let run = |jobs: usize, job: &(dyn Fn(usize) + Sync)| (0..jobs).for_each(job);
    (restore.finish(&run).expect("it is whole"), meta.len())
}

fn digest(shard: &Arc<Shard>) -> u128 {
    Reader::register(shard).expect("a slot is free").pin().read_point().digest()
}

/// One record of a log: what becomes free before it, what it deletes and adds, and ids for that.
#[derive(Clone, Debug)]
struct Record {
    index: u64,
    free_before: u64,
    deletes: Vec<u32>,
    adds: Vec<u32>,
    ids: Vec<u32>,
}

fn name(n: u32) -> String {
    format!("cn={n},dc=com")
}

fn apply(shard: &Shard, record: &Record) {
    let mut writer = shard.writer();
    writer.at_index(record.index);
    writer.free_before(record.free_before).expect("nobody looks at what becomes free");
    writer.give_ids(&record.ids).expect("no entry has them");
    for n in &record.deletes {
        writer.delete(name(*n).as_bytes()).expect("it is there");
    }
    record.adds.iter().for_each(|n| add(&mut writer, &name(*n), &["cn", "description"]));
    writer.publish();
    shard.writer().end_given_ids();
}

/// What a session wishes of a record, and what readers do meanwhile.
#[derive(Clone, Copy, Debug)]
struct Wish {
    deletes: usize,
    adds: usize,
    /// Ids that are reserved for it and not needed.
    spare: usize,
    looks: bool,
    looks_away: bool,
}

fn wish() -> impl Strategy<Value = Wish> {
    (0..6usize, 0..6usize, 0..3usize, prop::bool::weighted(0.1), prop::bool::weighted(0.1)).prop_map(
        |(deletes, adds, spare, looks, looks_away)| Wish { deletes, adds, spare, looks, looks_away },
    )
}

/// Carries wishes out as the one who writes the log; returns the log.
fn lead(shard: &Arc<Shard>, wishes: &[Wish]) -> Vec<Record> {
    let (mut log, mut there, mut next, mut looking) = (Vec::new(), Vec::new(), 0, None);
    for (at, wish) in wishes.iter().enumerate() {
        if wish.looks {
            let mut reader = Reader::register(shard).expect("a slot is free");
            let stays = reader.pin().look().extend();
            looking = stays;
        }
        if wish.looks_away {
            looking = None;
        }
        let deletes: Vec<u32> = there.drain(..wish.deletes.min(there.len())).collect();
        let adds: Vec<u32> = (next..next + wish.adds as u32).collect();
        next += wish.adds as u32;
        there.extend(&adds);
        let (mut ids, mut writer) = (Vec::new(), shard.writer());
        writer.reserve_ids(wish.adds + wish.spare, &mut ids).expect("there are enough");
        let free_before = writer.forgotten_up_to();
        drop(writer);
        let record = Record { index: at as u64 + 1, free_before, deletes, adds, ids };
        apply(shard, &record);
        log.push(record);
    }
    drop(looking);
    log
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// The same records make the same ids free, with other indexes, other housekeeping, readers or none, and a restart on the way.
    #[test]
    fn which_ids_are_free_follows_from_the_log(
        wishes in prop::collection::vec(wish(), 1..40),
        restart_at in 0..40usize,
        removals in prop_oneof![Just(1usize), Just(4), Just(20_000)],
    ) {
        let leader = create(settings(&[], removals));
        let log = lead(&leader, &wishes);
        let mut replica = create(settings(&["description", "cn"], 1));
        for (at, record) in log.iter().enumerate() {
            if at == restart_at {
                replica = restart(&replica, settings(&["cn"], 2)).0;
            }
            apply(&replica, record);
        }
        let (one, other) = (leader.writer(), replica.writer());
        prop_assert_eq!(one.free_ids(), other.free_ids());
        prop_assert_eq!(one.dead_ids_len(), other.dead_ids_len());
        prop_assert_eq!(one.index(), other.index());
        drop((one, other));
        prop_assert_eq!(digest(&leader), digest(&replica));
        // What comes next is given the same ids.
        let (mut ids, mut others) = (Vec::new(), Vec::new());
        leader.writer().reserve_ids(20, &mut ids).expect("there are enough");
        replica.writer().reserve_ids(20, &mut others).expect("there are enough");
        prop_assert_eq!(ids, others);
    }
}

/// An id is free when the log says so, not when the entry is forgotten; and not while somebody looks at it.
#[test]
fn ids_are_dead_until_the_log_frees_them() {
    let shard = create(settings(&["description"], 1));
    let record = |index, free_before, deletes: &[u32], adds: &[u32], ids: &[u32]| {
        let (deletes, adds, ids) = (deletes.to_vec(), adds.to_vec(), ids.to_vec());
        Record { index, free_before, deletes, adds, ids }
    };
    apply(&shard, &record(7, 0, &[], &[1, 2, 3], &[2, 3, 4]));
    let mut reader = Reader::register(&shard).expect("a slot is free");
    let looking = reader.pin().look().extend().expect("a slot is free");
    apply(&shard, &record(8, 0, &[1], &[], &[]));
    apply(&shard, &record(9, 0, &[2], &[], &[]));
    let mut writer = shard.writer();
    assert_eq!((writer.dead_ids_len(), writer.forgotten_up_to()), (2, 8));
    writer.at_index(10);
    assert_eq!(writer.free_before(9), Err(2), "somebody looks at it");
    assert_eq!(writer.give_ids(&[2]), Err(2));
    drop((writer, looking));
    shard.writer().publish();
    let mut writer = shard.writer();
    assert_eq!(writer.give_ids(&[2]), Err(2), "the log did not free it");
    assert_eq!(writer.free_before(9), Ok(()));
    assert_eq!((writer.free_ids(), writer.dead_ids_len()), (vec![2], 1));
    let mut ids = Vec::new();
    writer.reserve_ids(2, &mut ids).expect("there are enough");
    assert_eq!(ids, [2, 5], "the other is dead still");
    writer.return_ids(&ids);
    assert_eq!(writer.free_before(10), Ok(()));
    assert_eq!((writer.free_ids(), writer.forgotten_up_to()), (vec![2, 3], 11));
    drop(writer);
    let restarted = restart(&shard, settings(&[], 1)).0;
    assert_eq!(restarted.writer().free_ids(), [2, 3]);
    assert_eq!(restarted.writer().index(), Some(10));
}

/// The memory limit may be lowered: what a larger one has taken finds room all the same.
#[test]
fn ids_beyond_what_the_memory_limit_allows_can_be_given() {
    let shard = create(settings(&["cn"], 4));
    let mut writer = shard.writer();
    assert_eq!(writer.give_ids(&[3_000_000]), Ok(()));
    add(&mut writer, &name(1), &["cn"]);
    writer.publish();
    shard.writer().end_given_ids();
    let low = Settings { memory_bytes_max: 4 << 20, ..settings(&["cn"], 4) };
    assert_eq!(digest(&restart(&shard, low).0), digest(&shard));
}

/// Entries that have attributes as no others have are deleted: a restart drops what they had in common with none, its next checkpoint
/// has nothing of it, and the numbers are used again.
#[test]
fn shapes_that_no_entry_has_are_dropped_by_a_restart() {
    const TYPES: [&str; 9] =
        ["description", "street", "l", "st", "postalCode", "title", "initials", "mail", "sn"];
    let combine = |shard: &Shard, names: std::ops::Range<u32>, deletes: bool| {
        let mut writer = shard.writer();
        for n in names.clone() {
            let having: Vec<&str> = (0..9).filter(|bit| n >> bit & 1 == 1).map(|bit| TYPES[bit]).collect();
            add(&mut writer, &name(n), &having);
        }
        writer.publish();
        let mut writer = shard.writer();
        names
            .filter(|n| deletes && n % 50 > 0)
            .for_each(|n| _ = writer.delete(name(n).as_bytes()).expect("it is there"));
        writer.make_room(0);
    };
    let shard = create(settings(&[], 4));
    combine(&shard, 0..500, true);
    let before = shard.memory().shapes;
    let (restarted, meta_bytes) = restart(&shard, settings(&["description"], 4));
    restarted.writer().make_room(0);
    assert_eq!(digest(&shard), digest(&restarted));
    assert!(restarted.memory().shapes < before / 20, "{} of {before}", restarted.memory().shapes);
    combine(&restarted, 500..1000, false);
    let (again, _) = restart(&restarted, settings(&[], 4));
    assert_eq!(digest(&restarted), digest(&again));
    let (bare, bare_bytes) = restart(&restart(&shard, settings(&[], 4)).0, settings(&[], 4));
    assert_eq!(digest(&shard), digest(&bare));
    assert!(bare_bytes < meta_bytes / 10, "{bare_bytes} of {meta_bytes}");
    for shard in [&restarted, &again, &bare] {
        assert!(shard.writer().check(10).is_empty());
    }
}
