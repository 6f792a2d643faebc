//! A directory, what its clients ask, and what they are answered.
//!
//! `dc=example` has as many units below it as a test wants: `ou=0`, `ou=1` and so on, each with a description.

pub(crate) mod journal;

use dsa::limits::Choices;
use dsa::settings::Start;
use dsa::{Anonymous, Config, Dsa, Session, State, Worker};
use env::clock::Now;
use model::{ResultCode, Scope};
use proto::ext::{notice_of_disconnection, who_am_i};
use proto::list::{Attributes, Octets, attribute_list, octet_list};
use proto::op::extended::ExtendedResponse;
use proto::op::modify::{Changes, change_list};
use proto::op::{Add, Authentication, Bind, Extended, Modify, ModifyKind, Search};
use proto::result::encode_done;
use proto::{Frame, LdapResult, Request, filter_string, frame, tag};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use store::Settings;

const ROOT_DN: &str = "cn=admin,dc=example";
const PASSWORD: &[u8] = b"secret";
pub(crate) const SUFFIX: &str = "dc=example";
/// When the directory is filled, and how its entries say that.
const FILLED: Now = Now { wall_ms: 1_600_000_000_000, monotonic_ns: 0 };
pub(crate) const FILLED_TEXT: &str = "20200913122640Z";

/// A directory with `units` below its suffix, each with a description. Who has not bound may read it, the root DN may change it.
pub(crate) fn directory(limits: Choices, units: usize, description: &str) -> Arc<Dsa> {
    let config = Config {
        store: Settings {
            suffixes: vec![SUFFIX.to_owned()],
            indexes: Vec::new(),
            memory_bytes_max: 256 << 20,
            removals_max: store::REMOVALS_MAX,
            operational_attributes: true,
            schema_check: true,
            initial_owner: ROOT_DN.to_owned(),
            key: [1, 2, 3, 4],
            site: 0,
        },
        root_dn: Some(ROOT_DN.to_owned()),
        root_password: Some(PASSWORD.to_vec()),
        offers_tls: false,
        peers: Default::default(),
        tokens: None,
        principals: None,
        queue_length_oid: None,
        settings: chosen(limits),
        version: "1.2.3".to_owned(),
        started_ms: FILLED.wall_ms,
        schema_since_ms: FILLED.wall_ms,
    };
    let dsa = Dsa::new(config, standard_schema()).unwrap();
    let mut client = Client::of(&dsa);
    assert_eq!(client.ask(&bind(1)), bound(1));
    client.add(SUFFIX, &[("objectClass", "domain"), ("dc", "example")]);
    for number in 0..units {
        client.add(&unit(number), &[("objectClass", "organizationalUnit"), ("description", description)]);
    }
    client.close();
    dsa
}

/// A start with these limits.
fn chosen(mut limits: Choices) -> Start {
    limits.clients.memory_bytes_max.get_or_insert(256 << 20);
    let mut start = Start::default();
    start.configured.limits = limits;
    start.configured.passwords.schemes = vec![dsa::config::Scheme::SaltedSha1];
    start.configured.standing.anonymous = Anonymous::Read;
    start
}

/// The standard schema, read once.
fn standard_schema() -> Arc<schema::Schema> {
    static SCHEMA: OnceLock<Arc<schema::Schema>> = OnceLock::new();
    let build = || Arc::new(schema::Builder::new().standard().build().unwrap());
    Arc::clone(SCHEMA.get_or_init(build))
}

/// DN of a unit.
pub(crate) fn unit(number: usize) -> String {
    format!("ou={number},{SUFFIX}")
}

/// What a client that has not bound is answered to these messages, without a connection between.
pub(crate) fn answers(dsa: &Arc<Dsa>, messages: &[u8]) -> Vec<u8> {
    let mut client = Client::of(dsa);
    let answers = client.ask(messages);
    client.close();
    answers
}

/// A session without a connection.
struct Client {
    worker: Worker,
    session: Session,
}

impl Client {
    fn of(dsa: &Arc<Dsa>) -> Client {
        let mut worker = Worker::new(dsa).unwrap();
        worker.tick(FILLED);
        Client { session: Session::new(&mut worker), worker }
    }

    /// The answers to whole messages, which leave nothing to wait for.
    fn ask(&mut self, mut messages: &[u8]) -> Vec<u8> {
        let (mut out, mut all) = (Vec::new(), Vec::new());
        loop {
            let feed = self.session.feed(&mut self.worker, messages, &mut out);
            messages = &messages[feed.consumed..];
            match feed.state {
                State::Busy => drop(self.session.step(&mut self.worker, &mut out)),
                State::Idle => assert!(feed.consumed > 0 || messages.is_empty(), "they are whole messages"),
                State::Waiting | State::Secure | State::Close => panic!("it neither waits nor ends"),
            }
            // A search pauses until what it wrote is sent.
            all.append(&mut out);
            if feed.state == State::Idle && messages.is_empty() {
                return all;
            }
        }
    }

    fn add(&mut self, dn: &str, attributes: &[(&str, &str)]) {
        let list = attributes.iter().map(|(name, value)| (name.as_bytes(), [value.as_bytes()]));
        let list = attribute_list(list);
        let attributes = Attributes::parse(&list).unwrap();
        let message = encoded(&Request::Add(Add { dn: dn.as_bytes(), attributes }), 1);
        assert_eq!(self.ask(&message), done(1, tag::ADD_RESPONSE), "{dn}");
    }

    fn close(mut self) {
        self.session.close(&mut self.worker);
    }
}

fn encoded(request: &Request<'_>, id: i32) -> Vec<u8> {
    let mut message = Vec::new();
    request.encode(&mut message, id, &[]);
    message
}

/// A bind as the root DN.
pub(crate) fn bind(id: i32) -> Vec<u8> {
    let authentication = Authentication::Simple(PASSWORD);
    encoded(&Request::Bind(Bind { version: 3, name: ROOT_DN.as_bytes(), authentication }), id)
}

pub(crate) fn unbind(id: i32) -> Vec<u8> {
    encoded(&Request::Unbind, id)
}

/// The shortest request that has an answer.
pub(crate) fn who_am_i(id: i32) -> Vec<u8> {
    encoded(&Request::Extended(Extended { oid: who_am_i::OID, value: None }), id)
}

/// A modify: the unit has this description and no other.
pub(crate) fn describe(id: i32, number: usize, description: &str) -> Vec<u8> {
    let change = (ModifyKind::Replace, &b"description"[..], [description.as_bytes()]);
    let list = change_list([change]);
    let changes = Changes::parse(&list).unwrap();
    encoded(&Request::Modify(Modify { dn: unit(number).as_bytes(), changes }), id)
}

/// A search for an entry, with the time of its last change.
pub(crate) fn read(id: i32, dn: &str) -> Vec<u8> {
    search(id, dn, Scope::Base, "(objectClass=*)")
}

/// A search for all that there is below the suffix.
pub(crate) fn list(id: i32) -> Vec<u8> {
    search(id, SUFFIX, Scope::One, "(objectClass=*)")
}

/// A search below the suffix that none of the entries matches. Each item makes the normal form of each description once more.
pub(crate) fn search_for_nothing(id: i32, items: usize) -> Vec<u8> {
    let items = (0..items).map(|n| format!("(description={n})")).collect::<String>();
    search(id, SUFFIX, Scope::One, &format!("(|{items})"))
}

fn search(id: i32, base: &str, scope: Scope, filter: &str) -> Vec<u8> {
    let filter = filter_string::parse(filter.as_bytes()).unwrap();
    let selection = octet_list([&b"*"[..], b"modifyTimestamp"]);
    let selection = Octets::parse(&selection).unwrap();
    let search = Search::unlimited(base.as_bytes(), scope, filter.filter(), selection);
    encoded(&Request::Search(search), id)
}

/// The answer to a bind that succeeded.
pub(crate) fn bound(id: i32) -> Vec<u8> {
    done(id, tag::BIND_RESPONSE)
}

/// The answer to a modify that succeeded.
pub(crate) fn described(id: i32) -> Vec<u8> {
    done(id, tag::MODIFY_RESPONSE)
}

fn done(id: i32, op_tag: u8) -> Vec<u8> {
    let mut answer = Vec::new();
    encode_done(&mut answer, id, op_tag, ResultCode::Success);
    answer
}

/// The answer to [`who_am_i`] of a client that has not bound.
pub(crate) fn nobody(id: i32) -> Vec<u8> {
    let (mut answer, result) = (Vec::new(), LdapResult::new(ResultCode::Success));
    ExtendedResponse { result, oid: None, value: Some(b"") }.encode(&mut answer, id, &[]);
    answer
}

/// The Notice of Disconnection.
pub(crate) fn bye() -> Vec<u8> {
    let mut notice = Vec::new();
    notice_of_disconnection::encode(&mut notice, ResultCode::Unavailable, "the server is shutting down");
    notice
}

/// The messages that these bytes are.
pub(crate) fn messages(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let Ok(Frame::Complete { len }) = frame(bytes) else { panic!("they are whole messages") };
        let (message, rest) = bytes.split_at(len);
        all.push(message);
        bytes = rest;
    }
    all
}

/// Waits for something that happens soon.
pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::yield_now();
    }
}
