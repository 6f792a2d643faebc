//! What one request costs inside the agent, without sockets: feeds bundles to a session and times them.
//! `cargo run --release -p pando-dsa --example bundle -- [ENTRIES] [QUEUE] [ONLY] [ROUNDS]`

use dsa::config::SearchLimits;
use dsa::{Anonymous, Config, Dsa, Session, Worker};
use env::clock::{Clock, SystemClock};
use model::{DerefAliases, Entry, Filter, Scope};
use proto::list::{Octets, octet_list};
use proto::message::Request;
use proto::op::bind::{Authentication, Bind};
use proto::op::modify::{Changes, ModifyKind, change_list};
use proto::op::{Modify, Search};
use std::sync::Arc;
use store::{Add, IndexSettings, Settings, Stamp};

fn main() {
    let argument = |n: usize, or: u64| std::env::args().nth(n).and_then(|a| a.parse().ok()).unwrap_or(or);
    let (entries, queue) = (argument(1, 1_000_000), argument(2, 1000));
    let dsa = directory(entries);
    let mut worker = Worker::new(&dsa).expect("a reader slot");
    let clock = SystemClock::start();
    worker.tick(clock.now());
    let mut session = Session::new(&mut worker);
    let bind = Request::Bind(Bind { version: 3, name: b"cn=root", authentication: Authentication::Simple(b"secret") });
    let mut input = Vec::new();
    bind.encode(&mut input, 1, &[]);
    let mut out = Vec::new();
    session.feed(&mut worker, &input, &mut out);
    let rounds = argument(4, 8);
    let wanted = std::env::args().nth(3).unwrap_or_default();
    for name in ["base 1.1", "base all", "equality", "modify"].into_iter().filter(|name| name.contains(&wanted)) {
        let bundles: Vec<Vec<u8>> = (0..200).map(|n| bundle(name, entries, queue, n)).collect();
        let mut best = u64::MAX;
        for _ in 0..rounds {
            let start = clock.monotonic_ns();
            for input in &bundles {
                let mut at = 0;
                while at < input.len() {
                    out.clear();
                    let feed = session.feed(&mut worker, &input[at..], &mut out);
                    at += feed.consumed;
                }
            }
            best = best.min((clock.monotonic_ns() - start) / (200 * queue));
        }
        println!("{name:10} {best:5} ns/operation, {} bytes in the last answer", out.len());
    }
}

fn bundle(name: &str, entries: u64, queue: u64, seed: u64) -> Vec<u8> {
    let mut input = Vec::new();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let (none, all) = (octet_list([&b"1.1"[..]]), octet_list([]));
    for id in 0..queue {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let key = (state % entries).to_string();
        let dn = format!("uid={key},dc=com");
        let search = |base, scope, filter, raw| {
            let selection = Octets::parse(raw).expect("a list");
            let deref_aliases = DerefAliases::Never;
            Request::Search(Search { base, scope, deref_aliases, size_limit: 0, time_limit_s: 0, types_only: false, filter, selection })
        };
        let value = vec![b'x'; 8 + (state >> 40) as usize % 93];
        let changes = change_list([(ModifyKind::Replace, &b"carLicense"[..], [&value[..]])]);
        let equality = Filter::Equality(model::filter::Assertion { attribute: b"uid", value: key.as_bytes() });
        let request = match name {
            "base 1.1" => search(dn.as_bytes(), Scope::Base, Filter::Present(b"objectClass"), &none),
            "base all" => search(dn.as_bytes(), Scope::Base, Filter::Present(b"objectClass"), &all),
            "equality" => search(b"dc=com", Scope::Subtree, equality, &none),
            _ => Request::Modify(Modify { dn: dn.as_bytes(), changes: Changes::parse(&changes).expect("a list") }),
        };
        request.encode(&mut input, id as i32 + 1000, &[]);
    }
    input
}

fn directory(entries: u64) -> Arc<Dsa> {
    let schema = schema::Builder::new().standard().builtin("dvtds").expect("built in").build().expect("sound");
    let uid = IndexSettings { attribute: "uid".to_owned(), equality: true, ..IndexSettings::default() };
    let store = Settings {
        suffixes: vec!["dc=com".to_owned()],
        indexes: vec![uid],
        memory_bytes_max: 8 << 30,
        operational_attributes: true,
        schema_check: true,
        founder: "cn=root".to_owned(),
        key: [1, 2, 3, 4],
        site: 0,
    };
    let config = Config {
        store,
        root_dn: Some("cn=root".to_owned()),
        root_password: Some(b"secret".to_vec()),
        anonymous: Anonymous::None,
        limits: SearchLimits { size_max: 0, time_max_s: 0 },
        version: "bench".to_owned(),
        started_ms: 0,
    };
    let dsa = Dsa::new(config, Arc::new(schema)).expect("memory");
    let shard = dsa.shard();
    let mut writer = shard.writer();
    for n in 0..=entries {
        let mut entry = Entry::new();
        let mut put = |name: &str, value: &str| {
            entry.push_attribute(shard.schema().intern_description(name.as_bytes()).expect("known"));
            entry.push_value(value.as_bytes());
        };
        let dn = if n == 0 { "dc=com".to_owned() } else { format!("uid={},dc=com", n - 1) };
        if n == 0 {
            put("objectClass", "domain");
        } else {
            put("objectClass", "inetOrgPerson");
            put("carLicense", "AA-00000");
        }
        let stamp = Stamp { csn: writer.stamp(1_767_323_045_000), actor: 0 };
        writer.add(Add { dn: dn.as_bytes(), entry: &mut entry, keep_operational: false }, stamp).expect("added");
        if n % 1000 == 0 {
            writer.publish();
            writer = shard.writer();
            writer.load();
        }
    }
    writer.publish();
    dsa
}
