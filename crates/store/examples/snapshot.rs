//! How long a checkpoint and a restart take, without files: `cargo run --release -p pando-store --example snapshot --
//! [ENTRIES] [THREADS] [INDEXES]`. Entries are those of the DVTDS data set; indexes, up to three, are for equality.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use store::{Checkpoint, IndexKind, IndexSettings, Meta, Prepared, Restore, Settings, Shard, Stamp};

fn main() {
    let argument = |n: usize, or: usize| std::env::args().nth(n).and_then(|a| a.parse().ok()).unwrap_or(or);
    let (entries, count, indexes) = (argument(1, 1_000_000), argument(2, 2), argument(3, 3));
    let schema = schema::Builder::new().standard().builtin("dvtds").expect("it is built in").build();
    let schema = Arc::new(schema.expect("it is sound"));
    let shard = Shard::create(settings(indexes), Arc::clone(&schema)).expect("address space is plenty");
    let start = Instant::now();
    load(&shard, entries);
    println!("load        {:7} ms", start.elapsed().as_millis());
    let start = Instant::now();
    let checkpoint = shard.checkpoint().expect("a slot is free");
    println!("checkpoint  {:7} us with the writer's role", start.elapsed().as_micros());
    let start = Instant::now();
    let (meta, slots) = (checkpoint.meta(), slot_map(&checkpoint));
    let took = start.elapsed().as_millis();
    println!("slot map    {took:7} ms, {} bytes; meta {} bytes", slots.len(), meta.len());
    let meta = Meta::read(&meta).expect("it is whole");
    let wanted = settings(indexes);
    let settings = meta.settings(wanted.indexes, wanted.memory_bytes_max);
    let start = Instant::now();
    let mut restore = Restore::begin(meta, settings, schema).expect("it fits");
    let (segments, slots_at) = restore.memory();
    slots_at.copy_from_slice(&slots);
    let (mut bytes, len) = (0, segments.len());
    let mut places = segments.into_iter();
    let copied = checkpoint.into_segments().write_each(|_, segment| {
        let place = places.next().ok_or("more segments than places")?;
        place.bytes.copy_from_slice(segment);
        bytes += segment.len();
        Ok::<(), &str>(())
    });
    copied.expect("it is the same checkpoint");
    println!("copy        {:7} ms, {len} segments, {bytes} bytes", start.elapsed().as_millis());
    let start = Instant::now();
    let restored = restore.finish(&|jobs, job| threads(count, jobs, job)).expect("it is sound");
    println!("restore     {:7} ms, {} entries", start.elapsed().as_millis(), restored.entries());
}

fn settings(indexes: usize) -> Settings {
    let equality = |name: &&str| IndexSettings::of(name, [IndexKind::Equality]);
    Settings {
        suffixes: vec!["dc=com".to_owned()],
        indexes: ["uid", "carLicense", "objectClass"][..indexes].iter().map(equality).collect(),
        memory_bytes_max: 8 << 30,
        removals_max: store::REMOVALS_MAX,
        operational_attributes: true,
        schema_check: true,
        initial_owner: "cn=root".to_owned(),
        key: [1, 2, 3, 4],
        site: 0,
    }
}

fn load(shard: &Arc<Shard>, entries: usize) {
    let of = |name: &str| shard.schema().intern_description(name.as_bytes()).expect("a known type");
    let (class, uid, license) = (of("objectClass"), of("uid"), of("carLicense"));
    let mut writer = shard.writer();
    writer.load();
    let mut prepared = Prepared::default();
    for number in 0..=entries {
        prepared.clear();
        let (number, is_root) = (number.wrapping_sub(1), number == 0);
        let dn = if is_root { "dc=com".to_owned() } else { format!("uid={number},dc=com") };
        prepared.dn.extend_from_slice(dn.as_bytes());
        prepared.entry.push_attribute(class);
        prepared.entry.push_value(if is_root { b"domain" } else { b"inetOrgPerson" });
        if !is_root {
            prepared.entry.push_attribute(uid);
            prepared.entry.push_value(number.to_string().as_bytes());
            prepared.entry.push_attribute(license);
            prepared.entry.push_value(format!("{:08}", number * 7919 % 100_000_000).as_bytes());
        }
        shard.prepare(&mut prepared, false).expect("it is valid");
        let csn = writer.stamp(1_767_323_045_000);
        writer.add_prepared(&prepared, Stamp { csn, actor: 0 }).expect("it is new");
    }
    writer.finish_load().expect("memory is plenty");
    writer.publish();
}

fn slot_map(checkpoint: &Checkpoint) -> Vec<u8> {
    let (mut out, mut from) = (Vec::new(), 0);
    while from < checkpoint.slots() {
        checkpoint.push_slots(from, 1 << 16, &mut out);
        from += 1 << 16;
    }
    out
}

fn threads(count: usize, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..count {
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
