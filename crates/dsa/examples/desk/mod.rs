//! What the examples share: a directory of DVTDS entries in memory, and a session bound as its administrator.

use dsa::settings::Start;
use dsa::{Config, Dsa, Session, Worker};
use env::clock::{Clock, SystemClock};
use model::Entry;
use proto::message::Request;
use proto::op::bind::{Authentication, Bind};
use std::sync::Arc;
use store::{Add, IndexKind, IndexSettings, Settings, Stamp};

/// A worker and a session that may do everything.
pub(crate) fn bound_session(dsa: &Arc<Dsa>, clock: &SystemClock) -> (Worker, Session) {
    let mut worker = Worker::new(dsa).expect("a reader slot");
    worker.tick(clock.now());
    let session = bind(&mut worker, clock);
    (worker, session)
}

/// Another session of the worker that may do everything.
#[allow(dead_code, reason = "most examples have one session")]
pub(crate) fn bind(worker: &mut Worker, clock: &SystemClock) -> Session {
    worker.tick(clock.now());
    let mut session = Session::new(worker);
    let bind = Request::Bind(Bind {
        version: 3,
        name: b"cn=root",
        authentication: Authentication::Simple(b"secret"),
    });
    let (mut input, mut out) = (Vec::new(), Vec::new());
    bind.encode(&mut input, 1, &[]);
    session.feed(worker, &input, &mut out);
    session
}

/// A start by whose settings a password takes no time.
fn fast_passwords() -> Start {
    let mut start = Start::default();
    start.configured.passwords.schemes = vec![dsa::config::Scheme::SaltedSha1];
    start
}

/// `dc=com` with so many entries `uid=N` below it, uid and member indexed; and with ordering indexes on these attributes.
pub(crate) fn directory(entries: u64, ordered: &[&str]) -> Arc<Dsa> {
    let schema =
        schema::Builder::new().standard().builtin("dvtds").expect("built in").build().expect("sound");
    let index = |name: &str| IndexSettings::of(name, [IndexKind::Equality]);
    let ordered = ordered.iter().map(|name| IndexSettings::of(name, [IndexKind::Ordering]));
    let store = Settings {
        suffixes: vec!["dc=com".to_owned()],
        indexes: [index("uid"), index("member")].into_iter().chain(ordered).collect(),
        memory_bytes_max: 1 << 30,
        removals_max: store::REMOVALS_MAX,
        operational_attributes: true,
        schema_check: true,
        initial_owner: "cn=root".to_owned(),
        key: [1, 2, 3, 4],
        site: 0,
    };
    let config = Config {
        store,
        root_dn: Some("cn=root".to_owned()),
        root_password: Some(b"secret".to_vec()),
        offers_tls: false,
        peers: Default::default(),
        tokens: None,
        principals: None,
        queue_length_oid: None,
        settings: fast_passwords(),
        version: "bench".to_owned(),
        started_ms: 0,
        schema_since_ms: 0,
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
        writer
            .add(Add { dn: dn.as_bytes(), entry: &mut entry, keep_operational: false }, stamp)
            .expect("added");
        if n % 1000 == 0 {
            writer.publish();
            writer = shard.writer();
            writer.load();
        }
    }
    writer.finish_load().expect("memory");
    writer.publish();
    dsa
}
