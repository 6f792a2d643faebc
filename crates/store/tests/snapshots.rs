//! Checkpoints against the naive directory: taken at random points, written out in slices while operations go on and
//! the cleaner moves things, restored, compared with the directory as it was then, and gone on with. `PANDO_SEED`
//! runs one seed alone.

#[path = "model/mod.rs"]
#[allow(dead_code, reason = "only the shard and its operations are of use here")]
mod naive;

use naive::compare::{self, Differs};
use naive::directory::{ChangeKind, Directory, Op};
use naive::generate::{self, Choices, Random, Taste};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use store::search::evaluate::Evaluator;
use store::{Checkpoint, DnCache, Meta, Reader, Restore, RestoreError, Segment, Shard, Values};

const TASTE: Taste = Taste { names: 60, members: 200, long_one_in: 30 };

/// A checkpoint as it lies on a disk.
#[derive(Clone, Default)]
struct Files {
    meta: Vec<u8>,
    slots: Vec<u8>,
    segments: BTreeMap<Segment, Vec<u8>>,
}

/// Jobs one after the other.
fn alone(jobs: usize, job: &(dyn Fn(usize) + Sync)) {
    (0..jobs).for_each(job);
}

/// Jobs on three threads.
fn threads(jobs: usize, job: &(dyn Fn(usize) + Sync)) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    match next.fetch_add(1, Ordering::Relaxed) {
                        taken if taken < jobs => job(taken),
                        _ => break,
                    }
                }
            });
        }
    });
}

fn restore(files: &Files, indexed: bool, threaded: bool) -> Result<Arc<Shard>, RestoreError> {
    restore_with(files, compare::schema(), indexed, threaded)
}

fn restore_with(
    files: &Files,
    schema: Arc<schema::Schema>,
    indexed: bool,
    threaded: bool,
) -> Result<Arc<Shard>, RestoreError> {
    let meta = Meta::read(&files.meta)?;
    let wanted = compare::settings(indexed);
    let settings = meta.settings(wanted.indexes, 2 << 30);
    let mut restore = Restore::begin(meta, settings, schema)?;
    let (segments, slots) = restore.memory();
    for place in segments {
        match files.segments.get(&place.segment).filter(|bytes| bytes.len() == place.bytes.len()) {
            Some(bytes) => place.bytes.copy_from_slice(bytes),
            None => return Err(RestoreError::Lost { objects: 0 }),
        }
    }
    let len = slots.len().min(files.slots.len());
    slots[..len].copy_from_slice(&files.slots[..len]);
    restore.finish(if threaded { &threads } else { &alone })
}

/// Operations on both.
fn work(
    choices: &mut Random,
    shard: &Arc<Shard>,
    naive: &mut Directory,
    count: usize,
    entries: usize,
) -> Differs {
    let mut done = 0;
    while done < count {
        let mut writer = shard.writer();
        for _ in 0..1 + choices.below(3) {
            let op = if choices.one_in(12) { churn(choices, naive) } else { None };
            let op = op.unwrap_or_else(|| generate::op(choices, naive, &TASTE, entries));
            let real = compare::code(&compare::apply(&mut writer, shard, &op));
            let code = naive.apply(&op).err().unwrap_or(model::ResultCode::Success);
            if real != code {
                return Err(format!("the store says {real}, the model {code}: {op:?}"));
            }
            done += 1;
        }
        writer.publish();
    }
    Ok(())
}

/// A change that leaves so many dead bytes that the cleaner has to do.
fn churn(choices: &mut Random, naive: &Directory) -> Option<Op> {
    let name = generate::some_name(choices, naive);
    let is_person = naive.entries.get(&name)?.attributes.contains_key("sn");
    let dn = name.iter().rev().map(|rdn| {
        rdn.split('+')
            .filter_map(|ava| ava.split_once('='))
            .map(|(t, v)| (t.to_owned(), v.to_owned()))
            .collect()
    });
    let len = if choices.one_in(40) { 3 << 20 } else { 20_000 + choices.below(100_000) };
    let value = format!("{} {}", "x".repeat(len), choices.below(100));
    let changes = vec![(ChangeKind::Replace, "description".to_owned(), vec![value])];
    is_person.then(|| Op::Modify { dn: dn.collect(), changes, permissive: false })
}

/// Writes a checkpoint out, a slice at a time, with operations in between. Returns how many segments were new.
fn write_out(
    choices: &mut Random,
    checkpoint: Checkpoint,
    before: &Files,
    mut between: impl FnMut(&mut Random) -> Differs,
) -> Result<(Files, usize), String> {
    let mut files = Files { meta: checkpoint.meta(), ..Files::default() };
    let (mut slots, mut new, digest) = (0, 0, checkpoint.read_point().digest());
    while slots < checkpoint.slots() {
        between(choices)?;
        let max = 1 + choices.below(300);
        checkpoint.push_slots(slots, max, &mut files.slots);
        slots += max as u64;
    }
    if digest != checkpoint.read_point().digest() {
        return Err("what the checkpoint sees has changed".to_owned());
    }
    checkpoint.into_segments().write_each(|segment, bytes| -> Differs {
        let kept = before.segments.get(&segment).cloned();
        new += usize::from(kept.is_none());
        files.segments.insert(segment, kept.unwrap_or_else(|| bytes.to_vec()));
        if choices.one_in(2) { between(choices) } else { Ok(()) }
    })?;
    Ok((files, new))
}

fn sound(what: &str, shard: &Shard) -> Differs {
    let findings = shard.writer().check(10);
    let text: Vec<String> = findings.iter().map(ToString::to_string).collect();
    if text.is_empty() { Ok(()) } else { Err(format!("{what}: {}", text.join("; "))) }
}

fn same(shard: &Arc<Shard>, choices: &mut Random, naive: &Directory) -> Differs {
    let mut reader = Reader::register(shard).expect("a slot is free");
    let pin = reader.pin();
    compare::content(pin.read_point(), naive, &mut DnCache::default(), true)?;
    let mut evaluator = Evaluator::default();
    for _ in 0..20 {
        let (top, scope) = (generate::some_name(choices, naive), generate::scope(choices));
        let filter = generate::filter(choices, &TASTE, 2);
        compare::searches(pin.read_point(), naive, &mut evaluator, &top, scope, &filter)?;
    }
    Ok(())
}

/// What happened in a run, to see that it was what the test is for.
#[derive(Default)]
struct Seen {
    moved: u64,
    kept: usize,
}

fn run(seed: u64, rounds: usize, seen: &mut Seen) -> Differs {
    let choices = &mut Random::new(seed);
    let (mut shard, mut naive, mut files) = (compare::shard(true), Directory::default(), Files::default());
    let entries = if seed.is_multiple_of(2) { 60 } else { 400 };
    for round in 0..rounds {
        let count = choices.below(600);
        work(choices, &shard, &mut naive, count, entries)?;
        let checkpoint = shard.checkpoint().ok_or("too many readers")?;
        let (then, digest) = (naive.clone(), checkpoint.read_point().digest());
        let moved = shard.memory().moved;
        let (now, new) = write_out(choices, checkpoint, &files, |choices| {
            let count = choices.below(60);
            work(choices, &shard, &mut naive, count, entries)
        })?;
        seen.moved += shard.memory().moved - moved;
        seen.kept += now.segments.len() - new;
        files = now;
        sound("the shard", &shard)?;
        let restored = restore(&files, choices.below(3) > 0, choices.one_in(2));
        let restored = restored.map_err(|error| format!("round {round}: {error}"))?;
        sound("the restored shard", &restored)?;
        same(&restored, choices, &then)?;
        let mut reader = Reader::register(&restored).expect("a slot is free");
        if reader.pin().read_point().digest() != digest {
            return Err("the restored shard has another digest".to_owned());
        }
        // As after a crash: all since the checkpoint is gone.
        if choices.one_in(2) {
            (shard, naive) = (restored, then);
        }
    }
    work(choices, &shard, &mut naive, 200, entries)?;
    same(&shard, choices, &naive)?;
    sound("the shard", &shard)
}

#[test]
fn what_is_restored_is_what_was_there() {
    let from_environment = std::env::var("PANDO_SEED").ok().and_then(|text| text.parse().ok());
    let seeds = from_environment.map_or(1..9, |seed: u64| seed..seed + 1);
    let mut seen = Seen::default();
    for seed in seeds {
        let before = seen.moved;
        if let Err(text) = run(seed, 12, &mut seen) {
            let text: String = text.chars().take(4000).collect();
            panic!("PANDO_SEED={seed}: {text}");
        }
        println!("seed {seed}: the cleaner moved {} bytes while checkpoints lived", seen.moved - before);
    }
    // Of one seed alone it may be none: whether enough is dead just while there is a checkpoint is up to chance.
    if from_environment.is_some() {
        return;
    }
    assert!(seen.moved > 1 << 20, "the cleaner moved {} bytes while checkpoints lived", seen.moved);
    assert!(seen.kept > 0, "no segment was left as it was");
}

/// Another thread writes and cleans all the while: what is held is not used again before it was copied.
#[test]
fn what_is_restored_is_what_was_there_while_another_thread_writes() {
    let operations = std::env::var("PANDO_OPS").ok().and_then(|text| text.parse().ok());
    let rounds = operations.map_or(15, |operations: usize| operations / 1000 + 1);
    let (shard, done) = (compare::shard(true), AtomicBool::new(false));
    let (mut naive, choices) = (Directory::default(), &mut Random::new(5));
    work(choices, &shard, &mut naive, 400, 60).expect("store and model agree");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let choices = &mut Random::new(6);
            while !done.load(Ordering::Relaxed) {
                work(choices, &shard, &mut naive, 20, 60).expect("store and model agree");
            }
        });
        // Joined when this ends, also by a panic.
        let _stop = Stop(&done);
        let mut files = Files::default();
        for round in 0..rounds {
            let checkpoint = shard.checkpoint().expect("a slot is free");
            let digest = checkpoint.read_point().digest();
            let mut wanted = shard.memory().appended;
            let in_between = |_: &mut Random| {
                wanted += 1 << 20;
                while shard.memory().appended < wanted {
                    std::thread::yield_now();
                }
                Ok(())
            };
            files = write_out(choices, checkpoint, &files, in_between).expect("it sees what it saw").0;
            let restored =
                restore(&files, true, true).unwrap_or_else(|error| panic!("round {round}: {error}"));
            sound("the restored shard", &restored).expect("it is sound");
            let mut reader = Reader::register(&restored).expect("a slot is free");
            assert!(reader.pin().read_point().digest() == digest, "round {round}: another digest");
        }
    });
    sound("the shard", &shard).expect("it is sound");
}

/// Ends a loop when it is dropped.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A checkpoint of a directory that some operations made, written out at once.
fn some_files(choices: &mut Random, naive: &mut Directory) -> Files {
    let shard = compare::shard(true);
    for _ in 0..1500 {
        let mut writer = shard.writer();
        let op = generate::op(choices, naive, &TASTE, 80);
        let _ = naive.apply(&op);
        let _ = compare::apply(&mut writer, &shard, &op);
        writer.publish();
    }
    let checkpoint = shard.checkpoint().expect("a slot is free");
    write_out(choices, checkpoint, &Files::default(), |_| Ok(())).expect("nothing is compared").0
}

/// The files have checksums; the shard does not rely on them. Whatever a byte says, it is an error, or the shard can
/// be used: it may have other values then, and its check may say so, but it must not panic.
#[test]
fn wrong_bytes_are_no_panic() {
    let tries = std::env::var("PANDO_OPS").ok().and_then(|text| text.parse().ok()).unwrap_or(400);
    let (choices, mut naive) = (&mut Random::new(77), Directory::default());
    let whole = some_files(choices, &mut naive);
    let (mut refused, mut taken) = (0, 0);
    for _ in 0..tries {
        let mut files = whole.clone();
        for _ in 0..1 + choices.below(3) {
            let at = choices.below(files.segments.len());
            let bytes = match choices.below(4) {
                0 => &mut files.meta,
                1 => &mut files.slots,
                _ => files.segments.values_mut().nth(at).expect("there is one"),
            };
            let at = choices.below(bytes.len());
            bytes[at] ^= if choices.one_in(2) { 1 << choices.below(8) } else { choices.below(256) as u8 };
        }
        match restore(&files, true, false) {
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
            Ok(shard) => {
                let _ = shard.writer().check(5);
                Reader::register(&shard).expect("a slot is free").pin().read_point().digest();
                for _ in 0..30 {
                    let mut writer = shard.writer();
                    let op = generate::op(choices, &naive, &TASTE, 80);
                    let _ = compare::apply(&mut writer, &shard, &op);
                    writer.publish();
                }
                taken += 1;
            }
        }
    }
    assert!(refused > 0 && taken > 0, "{refused} refused, {taken} taken");
}

/// Whatever is cut off the end of the meta is missed.
#[test]
fn a_meta_that_is_cut_off_is_refused() {
    let files = some_files(&mut Random::new(5), &mut Directory::default());
    for len in 0..files.meta.len() {
        assert!(Meta::read(&files.meta[..len]).is_err(), "{len} bytes");
    }
    assert!(Meta::read(&files.meta).is_ok());
}

fn begin(files: &Files, change: impl FnOnce(&mut store::Settings)) -> Result<Restore, RestoreError> {
    let meta = Meta::read(&files.meta).expect("it is whole");
    let mut settings = meta.settings(vec![], 2 << 30);
    change(&mut settings);
    Restore::begin(meta, settings, compare::schema())
}

#[test]
fn settings_that_do_not_fit_are_refused() {
    let files = some_files(&mut Random::new(5), &mut Directory::default());
    assert!(begin(&files, |_| ()).is_ok());
    assert!(matches!(begin(&files, |s| s.key[2] = 7), Err(RestoreError::Settings(_))));
    assert!(matches!(begin(&files, |s| s.operational_attributes = false), Err(RestoreError::Settings(_))));
    assert!(matches!(begin(&files, |s| s.suffixes.clear()), Err(RestoreError::Settings(_))));
    assert!(begin(&files, |s| s.suffixes.push("dc=org".to_owned())).is_ok());
    let bare = schema::Builder::new().standard().build().expect("the standard schema is sound");
    let meta = Meta::read(&files.meta).expect("it is whole");
    let settings = meta.settings(vec![], 2 << 30);
    let restored = Restore::begin(meta, settings, Arc::new(bare)).and_then(|restore| restore.finish(&alone));
    assert!(matches!(restored, Err(RestoreError::Unknown { kind: "attribute", .. })));
}

/// Two naming contexts whose roots have the same RDN: only the meta tells which is which.
#[test]
fn roots_of_one_name_are_distinguished() {
    let mut settings = compare::settings(false);
    settings.suffixes = vec!["ou=a,dc=com".to_owned(), "ou=a,dc=org".to_owned()];
    let shard = Shard::create(settings, compare::schema()).expect("address space is plenty");
    let pair = |text: &str| {
        let (kind, value) = text.split_once('=').expect("type=value");
        vec![(kind.to_owned(), value.to_owned())]
    };
    let names = ["ou=a,dc=org", "ou=a,dc=com", "ou=b,ou=a,dc=com"];
    for dn in names {
        let dn = dn.split(',').map(pair).collect();
        let attributes = vec![("objectClass".to_owned(), vec!["organizationalUnit".to_owned()])];
        let mut writer = shard.writer();
        compare::apply(&mut writer, &shard, &Op::Add { dn, attributes }).expect("it is new");
        writer.publish();
    }
    let checkpoint = shard.checkpoint().expect("a slot is free");
    let files = write_out(&mut Random::new(1), checkpoint, &Files::default(), |_| Ok(())).unwrap().0;
    let restored = restore(&files, true, false).unwrap();
    sound("the restored shard", &restored).unwrap();
    let ids = |shard: &Arc<Shard>| {
        let mut reader = Reader::register(shard).expect("a slot is free");
        let pin = reader.pin();
        names.map(|dn| pin.read_point().resolve(dn.as_bytes(), &mut DnCache::default()).expect("it is there"))
    };
    assert_eq!(ids(&restored), ids(&shard));
}

/// A shape that comes while a checkpoint is written is of no entry in it, also if its number is one that was free: the schema of that moment need not
/// know its classes.
#[test]
fn a_shape_that_comes_into_a_gap_meanwhile_is_left_out() {
    let add = |shard: &Arc<Shard>, dn: &str, class: &str| {
        let dn = dn.split(',').map(|rdn| {
            let (kind, value) = rdn.split_once('=').expect("type=value");
            vec![(kind.to_owned(), value.to_owned())]
        });
        let attributes = vec![("objectClass".to_owned(), vec![class.to_owned()])];
        let mut writer = shard.writer();
        compare::apply(&mut writer, shard, &Op::Add { dn: dn.collect(), attributes }).expect("it is new");
        writer.publish();
    };
    let write = |shard: &Arc<Shard>, meanwhile: &dyn Fn()| {
        let checkpoint = shard.checkpoint().expect("a slot is free");
        meanwhile();
        write_out(&mut Random::new(1), checkpoint, &Files::default(), |_| Ok(())).expect("it is written").0
    };
    let shard = compare::shard(false);
    add(&shard, "dc=com", "domain");
    add(&shard, "ou=goes,dc=com", "organizationalUnit");
    add(&shard, "cn=stays,dc=com", "applicationProcess");
    let dn = ["ou=goes", "dc=com"].map(|rdn| {
        let (kind, value) = rdn.split_once('=').expect("type=value");
        vec![(kind.to_owned(), value.to_owned())]
    });
    let mut writer = shard.writer();
    compare::apply(&mut writer, &shard, &Op::Delete { dn: dn.to_vec() }).expect("it is there");
    writer.publish();
    let files = write(&shard, &|| ());
    let class = "objectclass ( 1.3.6.1.4.1.99999.2.900 NAME 'later' SUP top STRUCTURAL MUST cn )";
    let larger = schema::Builder::new().standard().file("test", naive::SCHEMA).file("later", class);
    let larger = Arc::new(larger.build().expect("the schema is sound"));
    let grown = restore_with(&files, larger, false, false).expect("it is restored");
    let files = write(&grown, &|| add(&grown, "cn=later,dc=com", "later"));
    let restored = restore(&files, false, false).expect("no entry of the checkpoint is of the class");
    sound("restored", &restored).expect("it is sound");
}

/// Aliases and referral objects are known again, whatever is indexed.
#[test]
fn aliases_and_referral_objects_are_restored() {
    let shard = compare::shard(false);
    let mut writer = shard.writer();
    for (dn, attributes) in [
        ("dc=com", &[("objectClass", &["domain"][..])][..]),
        (
            "ou=a,dc=com",
            &[("objectClass", &["alias", "extensibleObject"]), ("aliasedObjectName", &["dc=com"])],
        ),
        ("ou=r,dc=com", &[("objectClass", &["referral", "extensibleObject"]), ("ref", &["ldap://h"])]),
    ] {
        let mut entry = model::Entry::new();
        for (name, values) in attributes {
            entry.push_attribute(shard.schema().intern_description(name.as_bytes()).expect("known"));
            values.iter().for_each(|value| entry.push_value(value.as_bytes()));
        }
        let stamp = store::Stamp { csn: writer.stamp(1), actor: 0 };
        let add = store::Add { dn: dn.as_bytes(), entry: &mut entry, keep_operational: false };
        writer.add(add, stamp).expect("it can be added");
    }
    writer.publish();
    let checkpoint = shard.checkpoint().expect("a slot is free");
    let choices = &mut Random::new(1);
    let (files, _) = write_out(choices, checkpoint, &Files::default(), |_| Ok(())).expect("it is written");
    let restored = restore(&files, true, true).expect("it is restored");
    assert!(restored.has_aliases() && restored.has_referrals());
    sound("restored", &restored).expect("it is sound");
}

/// Attributes of an entry and their values.
type Attributes<'a> = &'a [(model::Description, &'a [&'a [u8]])];

/// Earlier versions kept `userCertificate;binary` apart from `userCertificate`: whatever entries have of the two is read, and
/// is one attribute when the entry is next changed.
#[test]
fn certificates_that_were_kept_apart_are_one_attribute() {
    let shard = compare::shard(false);
    let schema = Arc::clone(shard.schema());
    let mut held = schema::HeldDescriptions::new(&schema);
    let (plain, apart) = (held.describe(b"userCertificate"), held.describe_apart(b"userCertificate"));
    let (plain, apart) = (plain.expect("known"), apart.expect("known"));
    let all: Vec<[u8; 5]> = (0..140).map(|n| [b'0', 3, 2, 1, n]).collect();
    let all: Vec<&[u8]> = all.iter().map(|value| &value[..]).collect();
    let (one, other, many, more) = (all[5], all[6], &all[..70], &all[60..]);
    let cases: [(&str, Attributes<'_>); 9] = [
        ("dc=com", &[]),
        ("cn=apart,dc=com", &[(apart, &[one])]),
        ("cn=plain,dc=com", &[(plain, &[one])]),
        ("cn=both,dc=com", &[(apart, &[one]), (plain, &[one, other])]),
        ("cn=turned,dc=com", &[(plain, &[one, other]), (apart, &[one])]),
        ("cn=set,dc=com", &[(apart, many)]),
        ("cn=set and one,dc=com", &[(apart, many), (plain, &[one])]),
        ("cn=one and set,dc=com", &[(apart, &[one]), (plain, many)]),
        ("cn=sets,dc=com", &[(plain, more), (apart, many)]),
    ];
    let mut writer = shard.writer();
    for (dn, attributes) in cases {
        let mut entry = model::Entry::new();
        entry.push_attribute(schema.intern_description(b"objectClass").expect("known"));
        let class = if dn == "dc=com" { "domain" } else { "applicationProcess" };
        [class, "extensibleObject"].iter().for_each(|value| entry.push_value(value.as_bytes()));
        for (description, values) in attributes {
            entry.push_attribute(*description);
            values.iter().for_each(|value| entry.push_value(value));
        }
        let stamp = store::Stamp { csn: writer.stamp(1), actor: 0 };
        let add = store::Add { dn: dn.as_bytes(), entry: &mut entry, keep_operational: false };
        writer.add(add, stamp).expect("it can be added");
    }
    writer.publish();
    let checkpoint = shard.checkpoint().expect("a slot is free");
    let choices = &mut Random::new(1);
    let (files, _) = write_out(choices, checkpoint, &Files::default(), |_| Ok(())).expect("it is written");
    let restored = restore(&files, true, true).expect("it is restored");
    sound("restored", &restored).expect("it is sound");
    let schema = Arc::clone(restored.schema());
    for (dn, attributes) in &cases[1..] {
        let counts = || {
            let mut reader = Reader::register(&restored).expect("a slot is free");
            let pin = reader.pin();
            let point = pin.read_point();
            let id = point.resolve(dn.as_bytes(), &mut DnCache::default()).expect("it is there");
            let entry = point.entry(id).expect("it is there");
            let slots = entry.shape.slots.iter().zip(entry.slots());
            let certificates =
                slots.filter(|(slot, _)| schema.describe(slot.description) == "userCertificate;binary");
            let count = |values| match values {
                Values::Inline(values) => values.len(),
                Values::Set(set) => set.count as usize,
            };
            certificates.map(|(_, values)| count(values)).collect::<Vec<_>>()
        };
        let before: Vec<usize> = attributes.iter().map(|(_, values)| values.len()).collect();
        assert_eq!(counts().iter().sum::<usize>(), before.iter().sum::<usize>(), "{dn}");
        let mut writer = restored.writer();
        let mut change = |kind, attribute: &[u8], values: &[&[u8]]| {
            let description = schema.intern_description(attribute).expect("known");
            let changes = [store::Change { kind, description, values: values.iter().copied().collect() }];
            let stamp = store::Stamp { csn: writer.stamp(2), actor: 0 };
            let modify = store::Modify {
                dn: dn.as_bytes(),
                changes: &changes,
                keep_operational: false,
                is_permissive: false,
                is_relaxed: false,
                known: None,
            };
            writer.modify(modify, stamp).expect("it can be changed");
        };
        change(store::ChangeKind::Add, b"description", &[b"x"]);
        change(store::ChangeKind::Delete, b"userCertificate", &[one]);
        writer.publish();
        let union: BTreeSet<&[u8]> =
            attributes.iter().flat_map(|(_, values)| values.iter().copied()).collect();
        let left = union.len() - 1;
        assert_eq!(counts(), if left == 0 { vec![] } else { vec![left] }, "{dn}");
    }
    sound("changed", &restored).expect("it is sound");
}
