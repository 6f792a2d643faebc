//! One writer and two readers on real threads. What a reader sees must hang together: attributes that change together
//! are equal, entries that move are always in one place, indexes find what the entry says, and an old read point
//! never changes. `PANDO_OPS` sets the number of writes; `.ci/sanitize` runs this under sanitizers.

#[path = "model/mod.rs"]
#[allow(dead_code, reason = "only the shard and its operations are of use here")]
mod naive;

use model::Scope;
use model::filter::{Assertion, Filter};
use naive::compare::{apply, install, prepared_write, shard};
use naive::directory::{ChangeKind, Dn, Op};
use naive::generate::{Choices, Random};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::search::evaluate::Evaluator;
use store::search::{Compiled, Cursor, Scopes, Step};
use store::{DnCache, EntryRef, LongReadPoint, ReadPoint, Reader, Shard, Values};

const PEOPLE: usize = 60;
const UNITS: [&str; 2] = ["one", "two"];

fn dn(text: &str) -> Dn {
    let pair = |rdn: &str| rdn.split_once('=').map(|(kind, value)| vec![(kind.to_owned(), value.to_owned())]);
    text.split(',').map(|rdn| pair(rdn).expect("type=value")).collect()
}

fn write(shard: &Shard, op: &Op) {
    let mut writer = shard.writer();
    apply(&mut writer, shard, op).unwrap_or_else(|refused| panic!("{op:?}: {refused}"));
    writer.publish();
}

fn add(shard: &Shard, name: &str, class: &str, attributes: &[(&str, &[String])]) {
    let classes = vec![class.to_owned(), "extensibleObject".to_owned()];
    let mut all = vec![("objectClass".to_owned(), classes)];
    all.extend(attributes.iter().map(|(description, values)| (description.to_string(), values.to_vec())));
    write(shard, &Op::Add { dn: dn(name), attributes: all });
}

fn populated() -> Arc<Shard> {
    let shard = shard(true);
    add(&shard, "dc=com", "domain", &[]);
    UNITS.iter().for_each(|unit| add(&shard, &format!("ou={unit},dc=com"), "organizationalUnit", &[]));
    for n in 0..PEOPLE {
        let same = ["common start 0".to_owned()];
        let attributes = [("sn", &["x".to_owned()][..]), ("xText", &same), ("description", &same)];
        add(&shard, &format!("cn=p{n},ou=one,dc=com"), "inetOrgPerson", &attributes);
    }
    shard
}

/// Values of an attribute, sorted; sets too.
fn values(point: ReadPoint<'_>, entry: &EntryRef<'_>, name: &str) -> Vec<Vec<u8>> {
    let description = point.shard().schema().find_description(name.as_bytes()).expect("known");
    let mut out: Vec<Vec<u8>> = Vec::new();
    match entry.shape.position(description).map(|at| entry.slot(at)) {
        None => {}
        Some(Values::Inline(values)) => out.extend(values.map(<[u8]>::to_vec)),
        Some(Values::Set(set)) => {
            let mut position = store::values::SetPosition::default();
            while point.set_values(&set, &mut position, |value| out.push(value.to_vec())) {}
        }
    }
    out.sort();
    out
}

type Seen = BTreeMap<Vec<u8>, Vec<Vec<u8>>>;

fn find(point: ReadPoint<'_>, evaluator: &mut Evaluator, filter: &Filter<'_>) -> Seen {
    evaluator.cache.refresh(point);
    let base = point.resolve(b"dc=com", &mut evaluator.cache).expect("the root stays");
    let mut cursor = Cursor::open(
        point,
        Scopes::new(base, Scope::Subtree),
        Compiled::new(filter, point.shard(), &|_| true),
        None,
    );
    let mut seen = Seen::new();
    loop {
        match cursor.step(point, evaluator, &mut 100) {
            Step::Entry(entry) => {
                let mut dn = Vec::new();
                point.write_dn(&entry, &mut evaluator.cache, &mut dn);
                let texts = values(point, &entry, "xText");
                assert_eq!(texts, values(point, &entry, "description"), "they change together");
                assert!(seen.insert(dn, texts).is_none(), "an entry is found once");
            }
            Step::Pause => {}
            Step::End => return seen,
        }
    }
}

fn look(point: ReadPoint<'_>, evaluator: &mut Evaluator, random: &mut Random) -> Seen {
    let all = find(point, evaluator, &Filter::Present(b"objectClass"));
    assert_eq!(all.len(), PEOPLE + 3, "entries move and are never lost");
    let (dn, texts) = all.iter().nth(random.below(all.len())).expect("there are some");
    assert!(point.resolve(dn, &mut evaluator.cache).is_ok(), "what is found resolves");
    if let Some(text) = texts.first() {
        let assertion = Assertion { attribute: b"xText", value: text };
        for filter in [Filter::Equality(assertion), Filter::GreaterOrEqual(assertion)] {
            assert!(find(point, evaluator, &filter).contains_key(dn), "the index knows what the entry says");
        }
    }
    all
}

fn read(shard: &Arc<Shard>, done: &AtomicBool, seed: u64) {
    let mut reader = Reader::register(shard).expect("a slot is free");
    let (mut evaluator, mut random) = (Evaluator::default(), Random::new(seed));
    let mut old: Option<(LongReadPoint, Seen)> = None;
    while !done.load(Ordering::Acquire) {
        let pin = reader.pin();
        let seen = look(pin.read_point(), &mut evaluator, &mut random);
        match &old {
            Some((point, before)) if random.one_in(10) => {
                assert_eq!(
                    look(point.read_point(), &mut evaluator, &mut random),
                    *before,
                    "the past does not change"
                );
                old = None;
            }
            Some(_) => {}
            None => old = pin.look().extend().map(|point| (point, seen)),
        }
    }
}

fn change(random: &mut Random, homes: &mut [usize], shard: &Shard) {
    let n = random.below(PEOPLE);
    let at = format!("cn=p{n},ou={},dc=com", UNITS[homes[n]]);
    if random.one_in(4) {
        homes[n] = 1 - homes[n];
        let superior = Some(dn(&format!("ou={},dc=com", UNITS[homes[n]])));
        let rdn = vec![("cn".to_owned(), format!("p{n}"))];
        return write(shard, &Op::ModifyDn { dn: dn(&at), rdn, delete_old: true, superior });
    }
    let count = if random.one_in(16) { 60 + random.below(10) } else { 1 + random.below(3) };
    let start = random.below(50);
    let values: Vec<String> = (start..start + count).map(|n| format!("common start {n}")).collect();
    let changes = ["xText", "description"].map(|name| (ChangeKind::Replace, name.to_owned(), values.clone()));
    write(shard, &Op::Modify { dn: dn(&at), changes: changes.to_vec(), permissive: false });
}

#[test]
fn readers_see_what_hangs_together() {
    let ops = std::env::var("PANDO_OPS").ok().and_then(|text| text.parse().ok()).unwrap_or(10_000);
    let (shard, done) = (populated(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for seed in 1..3 {
            let (shard, done) = (&shard, &done);
            scope.spawn(move || read(shard, done, seed));
        }
        // Readers end when the writer does, even by a panic.
        struct Done<'d>(&'d AtomicBool);
        impl Drop for Done<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Release);
            }
        }
        let _done = Done(&done);
        let (mut random, mut homes) = (Random::new(7), [0; PEOPLE]);
        (0..ops).for_each(|_| change(&mut random, &mut homes, &shard));
    });
}

/// A writer of its own attribute of entries that another writer changes too. What it prepared writes is installed if it can be
/// and else done as if it had not been prepared. Returns how many were installed.
fn write_mine(shard: &Arc<Shard>, attribute: &str, rounds: usize) -> usize {
    let mut reader = Reader::register(shard).expect("a slot is free");
    let (mut cache, mut prepared_writes, mut installed) = (DnCache::default(), Vec::new(), 0);
    for round in 0..rounds {
        let ops: Vec<Op> = (0..4).map(|n| mine(attribute, n, round)).collect();
        prepared_writes.clear();
        let ready: Vec<_> = {
            let pin = reader.pin();
            cache.refresh(pin.read_point());
            ops.iter()
                .map(|op| prepared_write(pin.read_point(), op, &mut cache, &mut prepared_writes))
                .collect()
        };
        let mut writer = shard.writer();
        writer.reserve(prepared_writes.len()).expect("there is room");
        for (op, ready) in ops.iter().zip(ready) {
            if ready.is_some_and(|ready| install(&mut writer, &ready, &mut prepared_writes)) {
                installed += 1;
            } else {
                apply(&mut writer, shard, op).unwrap_or_else(|refused| panic!("{op:?}: {refused}"));
            }
        }
        writer.publish();
    }
    installed
}

fn mine(attribute: &str, n: usize, round: usize) -> Op {
    let value = format!("{round} {}", "x".repeat((round * 7919 + n) % 3000));
    let changes = vec![(ChangeKind::Replace, attribute.to_owned(), vec![value])];
    Op::Modify { dn: dn(&format!("cn=p{n},ou=one,dc=com")), changes, permissive: false }
}

/// Two writers change different attributes of the same entries: the one that installs what was prepared from an outdated
/// version undoes what the other did.
#[test]
fn writers_do_not_undo_each_other() {
    const ATTRIBUTES: [&str; 2] = ["description", "postalAddress"];
    let rounds = std::env::var("PANDO_OPS").ok().and_then(|text| text.parse().ok()).unwrap_or(10_000);
    let shard = shard(false);
    add(&shard, "dc=com", "domain", &[]);
    add(&shard, "ou=one,dc=com", "organizationalUnit", &[]);
    for n in 0..4 {
        let given = [
            ("sn", &["x".to_owned()][..]),
            (ATTRIBUTES[0], &["0".to_owned()]),
            (ATTRIBUTES[1], &["0".to_owned()]),
        ];
        add(&shard, &format!("cn=p{n},ou=one,dc=com"), "inetOrgPerson", &given);
    }
    let installed = std::thread::scope(|scope| {
        let writers = ATTRIBUTES.map(|attribute| {
            let shard = &shard;
            scope.spawn(move || write_mine(shard, attribute, rounds))
        });
        writers.map(|writer| writer.join().expect("no writer panics"))
    });
    assert!(installed.iter().all(|installed| *installed > 0), "prepared writes are installed: {installed:?}");
    let mut reader = Reader::register(&shard).expect("a slot is free");
    let (pin, mut cache) = (reader.pin(), DnCache::default());
    let point = pin.read_point();
    for n in 0..4 {
        let id = point.resolve(format!("cn=p{n},ou=one,dc=com").as_bytes(), &mut cache).expect("it is there");
        let entry = point.entry(id).expect("it is there");
        for attribute in ATTRIBUTES {
            let Op::Modify { changes, .. } = mine(attribute, n, rounds - 1) else { unreachable!() };
            assert_eq!(values(point, &entry, attribute), [changes[0].2[0].as_bytes()], "{attribute} of p{n}");
        }
    }
}
