//! An agent over `dc=example` and a client that talks to it in bytes, as through a socket that never waits.
#![allow(dead_code, unreachable_pub, unused_imports, reason = "each test binary uses its part")]

pub mod asks;
pub mod consumer;
mod controlled;
pub mod journal;
pub mod schema_changes;
mod tables;

pub use controlled::{assertion, control, wanted};
use dsa::settings::Choices;
use dsa::{Config, Dsa, Session, State, Worker};
use env::clock::Now;
use env::entropy::SeededEntropy;
use model::{ResultCode, Scope};
use proto::control::Control;
use proto::control::paged_results::{self, PagedResults};
use proto::list::{Attributes, Octets, attribute_list, octet_list};
use proto::message::{Frame, frame};
use proto::op::modify::{Changes, change_list};
use proto::op::{Add, Authentication, Bind, Compare, Extended, Modify, ModifyDn, ModifyKind, Search};
use proto::{Reply, Request, Response, filter_string};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};
use store::{IndexKind, IndexSettings, Settings};
pub use tables::{check_elsewhere, check_table};

pub const ROOT_DN: &str = "cn=admin,dc=example";
pub const PASSWORD: &str = "secret";
pub const ADA: &str = "uid=ada,ou=people,dc=example";
pub const START: Now = Now { wall_ms: 1_760_000_000_000, monotonic_ns: 1_000_000_000 };
/// Calls of feed and step that one exchange may take.
const STEPS_MAX: usize = 100_000;

/// Values of one attribute, with its description.
pub type Attribute = (String, Vec<Vec<u8>>);
/// Attributes as a test writes them down.
pub type Given<'g> = &'g [(&'g str, &'g [&'g str])];

/// The end of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub tag: u8,
    pub code: ResultCode,
    pub matched: String,
    pub text: String,
    pub referral: Vec<String>,
    pub server_credentials: bool,
    pub oid: Option<String>,
    pub value: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Entry(String, Vec<Attribute>),
    Reference(Vec<String>),
    End(Outcome),
}

/// One message of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub id: i32,
    pub what: What,
    pub controls: Vec<(String, Option<Vec<u8>>)>,
}

/// A finished operation: entries, then its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub entries: Vec<(String, Vec<Attribute>)>,
    pub references: Vec<Vec<String>>,
    pub end: Outcome,
    pub cookie: Option<Vec<u8>>,
    /// Controls of the end.
    pub controls: Vec<(String, Option<Vec<u8>>)>,
}

impl Found {
    pub fn dns(&self) -> Vec<&str> {
        let mut dns: Vec<&str> = self.entries.iter().map(|(dn, _)| dn.as_str()).collect();
        dns.sort_unstable();
        dns
    }

    /// Values of an attribute of the only entry, as text, sorted; `None` if it was not returned.
    pub fn values(&self, attribute: &str) -> Option<Vec<String>> {
        assert_eq!(self.entries.len(), 1, "one entry was asked for: {self:?}");
        let found = self.entries[0].1.iter().find(|(name, _)| name.eq_ignore_ascii_case(attribute))?;
        let mut values: Vec<String> =
            found.1.iter().map(|v| String::from_utf8_lossy(v).into_owned()).collect();
        values.sort();
        Some(values)
    }

    /// Descriptions of the only entry's attributes, sorted.
    pub fn names(&self) -> Vec<&str> {
        assert_eq!(self.entries.len(), 1, "one entry was asked for: {self:?}");
        let mut names: Vec<&str> = self.entries[0].1.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("answers are UTF-8")
}

/// Decodes whole messages; panics at what no server may send.
pub fn answers(mut bytes: &[u8]) -> Vec<Answer> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let Ok(Frame::Complete { len }) = frame(bytes) else {
            panic!("an answer is cut off: {:?}", &bytes[..bytes.len().min(100)])
        };
        all.push(answer(&Reply::decode(&bytes[..len]).expect("answers decode")));
        bytes = &bytes[len..];
    }
    all
}

/// The codes of operations that brought nothing but their ends.
pub fn codes(answers: &[Answer]) -> Vec<ResultCode> {
    let code = |answer: &Answer| match &answer.what {
        What::End(end) => end.code,
        other => panic!("{other:?}"),
    };
    answers.iter().map(code).collect()
}

/// Is an OID among the values of this attribute of the root DSE?
pub fn is_published(attribute: &str, oid: &[u8]) -> bool {
    let root = Client::new().read("", &[attribute]);
    root.values(attribute).expect("there are values").iter().any(|listed| listed.as_bytes() == oid)
}

fn answer(reply: &Reply<'_>) -> Answer {
    let what = match reply.response {
        Response::SearchEntry(entry) => {
            let attributes = entry.attributes.iter();
            let owned =
                attributes.map(|a| (text(a.description), a.values.iter().map(<[u8]>::to_vec).collect()));
            What::Entry(text(entry.dn), owned.collect())
        }
        Response::SearchReference(uris) => What::Reference(uris.iter().map(text).collect()),
        _ => What::End(outcome(reply)),
    };
    let controls = reply.controls.iter().map(|c| (text(c.oid), c.value.map(<[u8]>::to_vec))).collect();
    Answer { id: reply.id, what, controls }
}

fn outcome(reply: &Reply<'_>) -> Outcome {
    let result = reply.result().expect("intermediate responses are not expected");
    let mut outcome = Outcome {
        tag: 0,
        code: result.result_code().expect("a known code"),
        matched: text(result.matched_dn),
        text: text(result.diagnostic),
        referral: result.referral.iter().map(text).collect(),
        server_credentials: false,
        oid: None,
        value: None,
    };
    match reply.response {
        Response::Bind(bind) => {
            outcome.tag = proto::tag::BIND_RESPONSE;
            outcome.server_credentials = bind.server_sasl_credentials.is_some();
        }
        Response::Extended(extended) => {
            outcome.tag = proto::tag::EXTENDED_RESPONSE;
            outcome.oid = extended.oid.map(text);
            outcome.value = extended.value.map(<[u8]>::to_vec);
        }
        Response::Done(tag, _) => outcome.tag = tag,
        _ => unreachable!("it has a result"),
    }
    outcome
}

/// The standard schema, read once for each test: some add to it, which another one must not see.
pub fn standard_schema() -> Arc<schema::Schema> {
    thread_local! {
        static SCHEMA: Arc<schema::Schema> = {
            let settings = dsa::settings::online().map(|key| (key.attribute(), key.many()));
            let builder = schema::Builder::new().standard().settings(settings);
            Arc::new(builder.build().expect("the standard schema is sound"))
        };
    }
    SCHEMA.with(Arc::clone)
}

/// Settings with which a password may be short: most tests are not about that.
pub fn short_passwords() -> dsa::settings::Start {
    let mut settings = dsa::settings::Start::default();
    settings.configured.passwords.min_length = 0;
    settings.configured.limits.clients.memory_bytes_max = Some(256 << 20);
    settings.configured.passwords.schemes = vec![dsa::config::Scheme::SaltedSha1];
    settings
}

/// What the agent of the tests is configured with.
pub fn config() -> Config {
    let index = |attribute: &str| IndexSettings::of(attribute, [IndexKind::Equality]);
    Config {
        store: Settings {
            suffixes: vec!["dc=example".to_owned()],
            indexes: vec![index("uid"), index("member")],
            memory_bytes_max: 256 << 20,
            removals_max: store::REMOVALS_MAX,
            operational_attributes: true,
            schema_check: true,
            initial_owner: ROOT_DN.to_owned(),
            key: [1, 2, 3, 4],
            site: 0,
        },
        root_dn: Some(ROOT_DN.to_owned()),
        root_password: Some(PASSWORD.as_bytes().to_vec()),
        offers_tls: false,
        peers: Default::default(),
        tokens: None,
        principals: None,
        queue_length_oid: None,
        settings: short_passwords(),
        version: "1.2.3".to_owned(),
        started_ms: START.wall_ms,
        schema_since_ms: START.wall_ms,
    }
}

/// A configuration by which other settings hold.
pub fn chosen(mut config: Config, choose: impl FnOnce(&mut Choices)) -> Config {
    choose(&mut config.settings.configured);
    config
}

/// A thread's worker and one client's session.
pub struct Client {
    pub dsa: Arc<Dsa>,
    pub worker: Worker,
    pub session: Session,
    pub now: Now,
    /// Applies what sessions submitted to the journal, if there is one.
    pub commit: Option<Rc<RefCell<dyn FnMut()>>>,
    /// Where they handed it over.
    pub fixture: Option<Arc<journal::Fixture>>,
    /// A thread verifies and stores passwords.
    pub is_pooled: bool,
    next_id: i32,
}

impl Client {
    /// Over an empty directory, nobody bound.
    pub fn empty(config: Config) -> Client {
        let dsa = Dsa::new(config, standard_schema()).expect("memory is plenty");
        // Two directories that were made in the same way have the same salts.
        dsa.draw_from(SeededEntropy::new(7));
        Client::of(&dsa)
    }

    /// One more client of an agent.
    pub fn of(dsa: &Arc<Dsa>) -> Client {
        let mut worker = Worker::new(dsa).expect("there are few readers");
        worker.tick(START);
        let session = Session::new(&mut worker);
        Client {
            dsa: Arc::clone(dsa),
            worker,
            session,
            now: START,
            commit: None,
            fixture: None,
            is_pooled: false,
            next_id: 1,
        }
    }

    /// Bound as the root DN, over a small tree: `dc=example`, `ou=people`, `ou=groups`, and the people ada (password
    /// `lace`) and grace.
    pub fn new() -> Client {
        Client::with(config())
    }

    pub fn with(config: Config) -> Client {
        let mut client = Client::empty(config);
        client.plant();
        client
    }

    /// Binds as the root DN and adds the small tree.
    pub fn plant(&mut self) {
        let client = self;
        client.bind_root();
        let top: Given<'_> =
            &[("objectClass", &["dcObject", "organization"]), ("o", &["Example"]), ("dc", &["example"])];
        client.must_add("dc=example", top);
        for unit in ["people", "groups"] {
            client.must_add(&format!("ou={unit},dc=example"), &[("objectClass", &["organizationalUnit"])]);
        }
        let ada: Given<'_> = &[
            ("objectClass", &["inetOrgPerson"]),
            ("cn", &["Ada Lovelace", "Ada King"]),
            ("cn;lang-fr", &["Adelaide"]),
            ("sn", &["Lovelace"]),
            ("employeeNumber", &["36"]),
            ("userPassword", &["lace"]),
        ];
        client.must_add(ADA, ada);
        let grace: Given<'_> = &[
            ("objectClass", &["inetOrgPerson"]),
            ("cn", &["Grace Hopper"]),
            ("sn", &["Hopper"]),
            ("mail", &["g@h"]),
        ];
        client.must_add("uid=grace,ou=people,dc=example", grace);
    }

    /// From now on it is this time.
    pub fn at(&mut self, now: Now) {
        self.now = now;
        self.worker.tick(now);
    }

    pub fn bind_root(&mut self) {
        assert_eq!(self.bind(ROOT_DN, PASSWORD).code, ResultCode::Success);
    }

    /// Message id of the last request.
    pub fn last_id(&self) -> i32 {
        self.next_id
    }

    pub fn id(&mut self) -> i32 {
        self.next_id += 1;
        self.next_id
    }

    /// A request in bytes, with its message id.
    pub fn encode(&mut self, request: &Request<'_>, controls: &[Control<'_>]) -> (i32, Vec<u8>) {
        let (id, mut bytes) = (self.id(), Vec::new());
        request.encode(&mut bytes, id, controls);
        (id, bytes)
    }

    /// Offers bytes and goes on until the session wants more input or ends, taking away what was written after every
    /// call, as a connection does. What was answered, and the last state.
    pub fn exchange(&mut self, input: &[u8]) -> (Vec<u8>, State) {
        let (mut at, mut all, mut out) = (0, Vec::new(), Vec::new());
        for _ in 0..STEPS_MAX {
            let feed = self.session.feed(&mut self.worker, &input[at..], &mut out);
            at += feed.consumed;
            all.append(&mut out);
            let mut state = feed.state;
            if state == State::Busy {
                state = self.session.step(&mut self.worker, &mut out);
                all.append(&mut out);
            } else if state == State::Waiting {
                if let Some(commit) = &self.commit {
                    commit.borrow_mut()();
                }
                let cx = &mut Context::from_waker(Waker::noop());
                while self.session.poll_updates(&mut self.worker, cx, &mut out).is_pending() {
                    assert!(self.is_pooled, "what was submitted was answered");
                    std::hint::spin_loop();
                }
                all.append(&mut out);
            } else if feed.consumed == 0 || at == input.len() {
                return (all, state);
            }
            if state == State::Close {
                return (all, state);
            }
        }
        panic!("the session does not come to rest")
    }

    /// Sends bytes; the answers, all of them.
    pub fn raw(&mut self, input: &[u8]) -> (Vec<Answer>, State) {
        let (bytes, state) = self.exchange(input);
        (answers(&bytes), state)
    }

    /// Sends one request and takes its whole answer.
    pub fn ask(&mut self, request: &Request<'_>, controls: &[Control<'_>]) -> Found {
        let (id, bytes) = self.encode(request, controls);
        let (all, _) = self.raw(&bytes);
        found(id, all)
    }

    pub fn end(&mut self, request: &Request<'_>) -> Outcome {
        let found = self.ask(request, &[]);
        assert!(found.entries.is_empty() && found.references.is_empty());
        found.end
    }

    pub fn bind(&mut self, name: &str, password: &str) -> Outcome {
        self.end(&bind(name, password))
    }

    pub fn who_am_i(&mut self) -> String {
        let end = self.end(&Request::Extended(Extended { oid: proto::ext::who_am_i::OID, value: None }));
        String::from_utf8(end.value.expect("there is a value")).expect("UTF-8")
    }

    pub fn add(&mut self, dn: &str, attributes: Given<'_>) -> Outcome {
        let list = attributes_of(attributes);
        let attributes = Attributes::parse(&list).expect("just encoded");
        self.end(&Request::Add(Add { dn: dn.as_bytes(), attributes }))
    }

    pub fn must_add(&mut self, dn: &str, attributes: Given<'_>) {
        let end = self.add(dn, attributes);
        assert_eq!(end.code, ResultCode::Success, "{dn}: {}", end.text);
    }

    pub fn delete(&mut self, dn: &str) -> Outcome {
        self.end(&Request::Delete(dn.as_bytes()))
    }

    pub fn modify(&mut self, dn: &str, changes: &[(ModifyKind, &str, &[&str])]) -> Outcome {
        let list = changes_of(changes);
        let changes = Changes::parse(&list).expect("just encoded");
        self.end(&Request::Modify(Modify { dn: dn.as_bytes(), changes }))
    }

    pub fn rename(
        &mut self,
        dn: &str,
        new_rdn: &str,
        delete_old_rdn: bool,
        superior: Option<&str>,
    ) -> Outcome {
        self.end(&Request::ModifyDn(ModifyDn {
            dn: dn.as_bytes(),
            new_rdn: new_rdn.as_bytes(),
            delete_old_rdn,
            new_superior: superior.map(str::as_bytes),
        }))
    }

    pub fn compare(&mut self, dn: &str, attribute: &str, value: &str) -> Outcome {
        let assertion = model::filter::Assertion { attribute: attribute.as_bytes(), value: value.as_bytes() };
        self.end(&Request::Compare(Compare { dn: dn.as_bytes(), assertion }))
    }

    pub fn search(&mut self, base: &str, scope: Scope, filter: &str, attributes: &[&str]) -> Found {
        self.search_with(base, scope, filter, attributes, |_| {}, &[])
    }

    /// A base search for all that there is of one entry.
    pub fn read(&mut self, dn: &str, attributes: &[&str]) -> Found {
        self.search(dn, Scope::Base, "(objectClass=*)", attributes)
    }

    pub fn search_with(
        &mut self,
        base: &str,
        scope: Scope,
        filter: &str,
        attributes: &[&str],
        change: impl FnOnce(&mut Search<'_>),
        controls: &[Control<'_>],
    ) -> Found {
        let filter = filter_string::parse(filter.as_bytes()).expect("a filter");
        let selection = selection(attributes);
        let mut search = search_for(base, scope, filter.filter(), &selection);
        change(&mut search);
        self.ask(&Request::Search(search), controls)
    }

    /// One page of a search.
    pub fn page(&mut self, base: &str, scope: Scope, filter: &str, size: i32, cookie: &[u8]) -> Found {
        let mut value = Vec::new();
        PagedResults { size, cookie }.encode(&mut value);
        let control = Control { oid: paged_results::OID, critical: true, value: Some(&value) };
        self.search_with(base, scope, filter, &["1.1"], |_| {}, &[control])
    }
}

/// A simple bind.
pub fn bind<'a>(name: &'a str, password: &'a str) -> Request<'a> {
    let authentication = Authentication::Simple(password.as_bytes());
    Request::Bind(Bind { version: 3, name: name.as_bytes(), authentication })
}

/// A search without limits.
pub fn search_for<'a>(
    base: &'a str,
    scope: Scope,
    filter: model::Filter<'a>,
    selection: &'a [u8],
) -> Search<'a> {
    Search::unlimited(base.as_bytes(), scope, filter, Octets::parse(selection).expect("just encoded"))
}

/// Attribute selectors in BER.
pub fn selection(attributes: &[&str]) -> Vec<u8> {
    octet_list(attributes.iter().map(|a| a.as_bytes()))
}

/// An attribute list in BER.
pub fn attributes_of(attributes: Given<'_>) -> Vec<u8> {
    attribute_list(
        attributes.iter().map(|(name, values)| (name.as_bytes(), values.iter().map(|v| v.as_bytes()))),
    )
}

/// A list of changes in BER.
pub fn changes_of(changes: &[(ModifyKind, &str, &[&str])]) -> Vec<u8> {
    change_list(
        changes
            .iter()
            .map(|(kind, name, values)| (*kind, name.as_bytes(), values.iter().map(|v| v.as_bytes()))),
    )
}

/// The messages of one operation, put together; panics when they are not just that.
pub fn found(id: i32, all: Vec<Answer>) -> Found {
    let (mut entries, mut references) = (Vec::new(), Vec::new());
    let mut end = None;
    for answer in all {
        assert!(answer.id == id || answer.id == 0, "an answer to {}, not {id}", answer.id);
        assert!(end.is_none(), "nothing comes after the end of an operation");
        match answer.what {
            What::Entry(dn, attributes) => entries.push((dn, attributes)),
            What::Reference(uris) => references.push(uris),
            What::End(outcome) => end = Some((outcome, answer.controls)),
        }
    }
    let (end, controls) = end.expect("every operation with a response has an end");
    let paged = controls.iter().find(|(oid, _)| oid.as_bytes() == paged_results::OID);
    let cookie = paged.map(|(_, value)| {
        let value = value.as_deref().expect("the control has a value");
        PagedResults::decode(value).expect("the value decodes").cookie.to_vec()
    });
    Found { entries, references, end, cookie, controls }
}

/// An element of BER: tag, length, contents.
pub fn tlv(tag: u8, contents: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    proto::ber::put_tlv(&mut out, tag, contents);
    out
}

/// A message put together by hand: its id, then ready elements.
pub fn message(id: i32, elements: &[&[u8]]) -> Vec<u8> {
    let mut contents = Vec::new();
    proto::ber::put_integer(&mut contents, id.into());
    elements.iter().for_each(|element| contents.extend_from_slice(element));
    tlv(proto::tag::SEQUENCE, &contents)
}

/// An alias entry that points at ada.
pub const ALIAS_OF_ADA: Given<'static> =
    &[("objectClass", &["alias", "extensibleObject"]), ("aliasedObjectName", &[ADA])];

/// Adds people `uid=n0`, `uid=n1` and so on below `ou=people`.
pub fn add_people(client: &mut Client, count: usize) {
    let mut bytes = Vec::new();
    for n in 0..count {
        let list =
            attributes_of(&[("objectClass", &["person", "uidObject"]), ("cn", &["x"]), ("sn", &["Number"])]);
        let attributes = Attributes::parse(&list).expect("just encoded");
        let dn = format!("uid=n{n},ou=people,dc=example");
        bytes.extend(client.encode(&Request::Add(Add { dn: dn.as_bytes(), attributes }), &[]).1);
    }
    let (all, _) = client.raw(&bytes);
    assert_eq!(all.len(), count);
    assert!(
        all.iter().all(|a| matches!(&a.what, What::End(end) if end.code == ResultCode::Success)),
        "{:?}",
        all[0]
    );
}
