use super::*;
use crate::context::{Reading, Writing};
use crate::control::Requested;
use crate::effective::Effective;
use crate::engine::Dsa;
use crate::identity::Identity;
use crate::monitor_entries;
use crate::op;
use crate::outcome;
use crate::session::security::Security;
use crate::worker::Worker;
use model::ResultCode;
use model::filter::Assertion;
use proto::list::{Attributes, attribute_list};
use proto::message::Reply;
use proto::op::bind::{Authentication, Bind};
use proto::op::compare::Compare;
use proto::tag::MODIFY_RESPONSE;
use schema::DefinitionKind;
use store::Values;

/// An agent over `dc=com`, one thread's worker, and a session that the root DN has bound.
pub(crate) struct Fixture {
    pub(crate) dsa: Arc<Dsa>,
    pub(crate) worker: Worker,
    pub(crate) identity: Identity,
    pub(crate) out: Vec<u8>,
}

/// An answer, owned.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) code: ResultCode,
    pub(crate) matched: String,
    pub(crate) text: String,
}

pub(crate) const ROOT_DN: &str = "cn=admin,dc=com";
pub(crate) const NOW: Now = Now { wall_ms: 1_760_000_100_000, monotonic_ns: 5_000_000_000 };
const STARTED_MS: u64 = 1_760_000_000_000;
const SCHEMA_SINCE_MS: u64 = 1_700_000_000_000;

/// A start by whose settings a password takes no time.
fn fast_passwords() -> crate::settings::Start {
    let mut start = crate::settings::Start::default();
    start.configured.passwords.schemes = vec![crate::config::Scheme::SaltedSha1];
    start
}

pub(crate) fn config() -> Config {
    Config {
        store: Settings {
            suffixes: vec!["dc=com".to_owned()],
            indexes: vec![],
            memory_bytes_max: 64 << 20,
            removals_max: store::REMOVALS_MAX,
            operational_attributes: true,
            schema_check: true,
            initial_owner: ROOT_DN.to_owned(),
            key: [1, 2, 3, 4],
            site: 0,
        },
        root_dn: Some(ROOT_DN.to_owned()),
        root_password: Some(b"{SSHA}gVK8WC9YyFT1gMsQHTGCgT3sSv5zYWx0".to_vec()),
        offers_tls: false,
        peers: Default::default(),
        tokens: None,
        principals: None,
        queue_length_oid: None,
        settings: fast_passwords(),
        version: "1.2.3".to_owned(),
        started_ms: STARTED_MS,
        schema_since_ms: SCHEMA_SINCE_MS,
    }
}

pub(crate) fn standard_schema() -> Arc<Schema> {
    let settings = crate::settings::online().map(|key| (key.attribute(), key.many()));
    Arc::new(
        schema::Builder::new().standard().settings(settings).build().expect("the standard schema is sound"),
    )
}

impl Fixture {
    /// With `dc=com` and below it the person `uid=ann`, whose password is `secret`.
    pub(crate) fn new() -> Fixture {
        let mut fixture = Fixture::empty_as_root();
        let top = [("objectClass", &["dcObject", "organization"][..]), ("o", &["Com"]), ("dc", &["com"])];
        assert_eq!(fixture.add("dc=com", &top).code, ResultCode::Success);
        let ann = [
            ("objectClass", &["inetOrgPerson"][..]),
            ("cn", &["Ann Other", "A. Other"]),
            ("cn;lang-de", &["Anna"]),
            ("sn", &["Other"]),
            ("employeeNumber", &["7"]),
            ("userPassword", &["secret", "{SSHA}gVK8WC9YyFT1gMsQHTGCgT3sSv5zYWx0"]),
        ];
        assert_eq!(fixture.add("uid=ann,dc=com", &ann).code, ResultCode::Success);
        fixture
    }

    pub(crate) fn empty_as_root() -> Fixture {
        let mut fixture = Fixture::empty();
        fixture.bind(ROOT_DN, "secret");
        fixture
    }

    /// With no entries and nobody bound.
    pub(crate) fn empty() -> Fixture {
        let dsa = Dsa::new(config(), standard_schema()).expect("memory is plenty");
        let worker = Worker::new(&dsa).expect("there are few readers");
        let identity = Identity::anonymous();
        Fixture { dsa, worker, identity, out: Vec::new() }
    }

    pub(crate) fn answer(&mut self) -> Answer {
        let reply = Reply::decode(&self.out).expect("one whole message");
        assert_eq!(reply.id, 7);
        let result = reply.result().expect("an end of an operation");
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
        let code = result.result_code().expect("a known code");
        let answer = Answer { code, matched: text(result.matched_dn), text: text(result.diagnostic) };
        self.out.clear();
        answer
    }

    pub(crate) fn looking<T>(
        &mut self,
        run: impl FnOnce(&mut Reading<'_>, &mut Identity, &mut Vec<u8>) -> T,
    ) -> T {
        let Worker { dsa, reader, scratch, .. } = &mut self.worker;
        let pin = reader.pin();
        let read_point = pin.read_point();
        scratch.evaluator.cache.refresh(read_point);
        let mut reading = Reading { dsa, read_point, scratch, now: NOW, security: Security::INTERNAL };
        reading.keep_up(&mut self.identity, Security::INTERNAL);
        run(&mut reading, &mut self.identity, &mut self.out)
    }

    pub(crate) fn changing(&mut self, run: impl FnOnce(&mut Writing<'_, '_>, &mut Vec<u8>)) -> Answer {
        let Worker { dsa, scratch, .. } = &mut self.worker;
        if !scratch.views.writes_all(self.identity.requester().class) {
            let text = "this identity may not change everything";
            outcome::say(&mut self.out, 7, MODIFY_RESPONSE, ResultCode::InsufficientAccessRights, text);
            return self.answer();
        }
        let effective = Effective::authorized(&self.identity);
        let mut writer = dsa.shard.writer();
        let actor = writer.name(&self.identity.dn).expect("there are few names");
        let mut writing = Writing {
            dsa,
            writer: &mut writer,
            scratch,
            now: NOW,
            effective,
            actor,
            spare: None,
            known: None,
            judging: None,
        };
        run(&mut writing, &mut self.out);
        writer.publish();
        self.answer()
    }

    pub(crate) fn bind(&mut self, name: &str, password: &str) -> Answer {
        self.authenticate(3, name, Authentication::Simple(password.as_bytes()))
    }

    pub(crate) fn authenticate(
        &mut self,
        version: u8,
        name: &str,
        authentication: Authentication<'_>,
    ) -> Answer {
        let request = Bind { version, name: name.as_bytes(), authentication };
        self.looking(|reading, identity, out| {
            let binding = op::bind::Binding {
                asks_policy: false,
                identity,
                exchange: &mut None,
                known: op::bind::Known { address: None, certificate: None, bindings: None },
            };
            op::bind::run(reading, binding, 7, &request, out)
        });
        self.answer()
    }

    pub(crate) fn add(&mut self, dn: &str, attributes: &[(&str, &[&str])]) -> Answer {
        let list =
            attributes.iter().map(|(name, values)| (name.as_bytes(), values.iter().map(|v| v.as_bytes())));
        let list = attribute_list(list);
        let attributes = Attributes::parse(&list).expect("just encoded");
        let request = proto::op::Add { dn: dn.as_bytes(), attributes };
        self.changing(|writing, out| {
            op::add::run(writing, 7, &request, None, out);
        })
    }

    pub(crate) fn compare(&mut self, dn: &str, attribute: &str, value: &str) -> Answer {
        let assertion = Assertion { attribute: attribute.as_bytes(), value: value.as_bytes() };
        let request = Compare { dn: dn.as_bytes(), assertion };
        self.looking(|reading, identity, out| {
            op::compare::run(reading, identity, 7, &request, &Requested::default(), out)
        });
        self.answer()
    }

    /// Values of an attribute of an entry of the server's own; `None` if it has no such entry.
    fn system_values(&mut self, dn: &str, attribute: &str) -> Option<Vec<String>> {
        let pin = self.worker.system_reader.pin();
        let read_point = pin.read_point();
        let cache = &mut self.worker.scratch.system_evaluator.cache;
        let entry = read_point.entry(read_point.resolve(dn.as_bytes(), cache).ok()?)?;
        let wanted = Description::plain(self.dsa.shard.schema().find_type(attribute.as_bytes())?);
        let mut found = Vec::new();
        for (slot, values) in entry.shape.slots.iter().zip(entry.slots()) {
            let mut take = |value: &[u8]| found.push(String::from_utf8_lossy(value).into_owned());
            match values {
                _ if slot.description != wanted => {}
                Values::Inline(values) => values.for_each(take),
                Values::Set(set) => {
                    let mut position = Default::default();
                    while read_point.set_values(&set, &mut position, &mut take) {}
                }
            }
        }
        Some(found)
    }

    fn monitored(&mut self, dn: &str, attribute: &str) -> String {
        self.system_values(dn, attribute).expect("an entry of the monitor").join(", ")
    }
}

#[test]
fn the_root_dse_says_what_is_so() {
    let mut fixture = Fixture::empty();
    let mut root = |attribute: &str| fixture.system_values(ROOT_DSE, attribute).expect("there is one");
    assert_eq!(root("namingContexts"), ["dc=com"]);
    assert_eq!(root("defaultNamingContext"), ["dc=com"]);
    assert_eq!(root("subschemaSubentry"), ["cn=Subschema"]);
    assert_eq!(root("monitorContext"), ["cn=Monitor"]);
    assert_eq!(root("supportedLDAPVersion"), ["3"]);
    assert_eq!(root("vendorVersion"), ["1.2.3"]);
    assert!(root("supportedControl").contains(&"1.2.840.113556.1.4.319".to_owned()));
    let extensions = [
        "1.3.6.1.4.1.4203.1.11.3",
        "1.3.6.1.1.8",
        "1.3.6.1.4.1.4203.1.11.1",
        "1.3.6.1.4.1.1466.101.119.1",
        "1.3.6.1.1.21.1",
        "1.3.6.1.1.21.3",
        "1.3.6.1.4.1.99999.1",
    ];
    assert_eq!(root("supportedExtension"), extensions);
    assert!(root("supportedSASLMechanisms").is_empty());
    for (offer, mechanisms) in [
        (Offer::PASSWORD, &["PLAIN"][..]),
        (Offer::IDENTITY, &["EXTERNAL"]),
        (Offer::START_TLS | Offer::PASSWORD | Offer::IDENTITY, &["EXTERNAL", "PLAIN"]),
    ] {
        let dn = ROOT_DSES[offer.number()];
        assert_eq!(fixture.system_values(dn, "supportedSASLMechanisms").expect("there is one"), mechanisms);
        let extensions = fixture.system_values(dn, "supportedExtension").expect("there is one");
        let has_start_tls = extensions.contains(&"1.3.6.1.4.1.1466.20037".to_owned());
        assert_eq!(has_start_tls, offer.has(Offer::START_TLS));
    }
}

#[test]
fn the_subschema_holds_every_definition() {
    let mut fixture = Fixture::empty();
    let schema = Arc::clone(fixture.dsa.shard.schema());
    let types = fixture.system_values("cn=subschema", "attributeTypes").expect("there is one");
    assert_eq!(types.len(), schema.attribute_types().count());
    let classes = fixture.system_values("cn=subschema", "objectClasses").expect("there is one");
    assert_eq!(classes.len(), schema.classes().count());
    assert!(classes.iter().any(|text| text.contains("'inetOrgPerson'")));
    for attribute in ["ldapSyntaxes", "matchingRules", "matchingRuleUse", "subtreeSpecification"] {
        assert!(
            !fixture.system_values("cn=subschema", attribute).expect("there is one").is_empty(),
            "{attribute}"
        );
    }
}

/// Strict readers ask for that, and no tree of values puts them into an order of its own.
#[test]
fn the_subschema_is_sent_in_its_order() {
    let mut fixture = Fixture::new();
    for (attribute, kind) in
        [("attributeTypes", DefinitionKind::AttributeTypes), ("objectClasses", DefinitionKind::ObjectClasses)]
    {
        let mut expected = Vec::new();
        standard_schema().write_definitions(kind, |text| expected.push(text.to_owned()));
        assert_eq!(fixture.system_values("cn=Subschema", attribute), Some(expected), "{attribute}");
    }
}

#[test]
fn the_subschema_tells_since_when_the_schema_holds() {
    let mut fixture = Fixture::new();
    for attribute in ["createTimestamp", "modifyTimestamp"] {
        assert_eq!(
            fixture.compare("cn=Subschema", attribute, "20231114221320Z").code,
            ResultCode::CompareTrue
        );
    }
}

#[test]
fn a_schema_without_monitor_classes_will_do() {
    let schema = Arc::new(schema::Builder::new().build().expect("the system schema is sound"));
    let config = Config { store: Settings { suffixes: vec![], ..config().store }, root_dn: None, ..config() };
    let dsa = Dsa::new(config, schema).expect("no attribute is needed");
    monitor_entries::refresh(&dsa, NOW);
}

#[test]
fn the_monitor_shows_certificates() {
    struct Fixed(crate::certificates::Metrics);
    impl crate::certificates::Certificates for Fixed {
        fn metrics(&self) -> crate::certificates::Metrics {
            self.0.clone()
        }
    }
    let shown = |metrics: Option<crate::certificates::Metrics>| {
        let fixture = Fixture::new();
        if let Some(metrics) = metrics {
            fixture.dsa.show_certificates(Arc::new(Fixed(metrics)));
        }
        monitor_entries::refresh(&fixture.dsa, NOW);
        fixture
    };
    let mut without = shown(None);
    assert_eq!(without.monitored("cn=Files,cn=TLS,cn=Monitor", "monitoredInfo"), "off");
    assert_eq!(without.monitored("cn=NotAfter,cn=TLS,cn=Monitor", "monitorCounter"), "0");
    let certificate = |not_after_s| crate::certificates::Certificate { names: "a b".to_owned(), not_after_s };
    let in_force = vec![certificate(1_800_000_000), certificate(1_700_000_000)];
    let metrics = crate::certificates::Metrics { in_force, since_s: 1_600_000_000, failed_s: None };
    let mut good = shown(Some(metrics.clone()));
    let lines = good.monitored("cn=Certificates,cn=TLS,cn=Monitor", "monitoredInfo");
    assert_eq!(lines, "1 until 20270115080000Z a b, 2 until 20231114221320Z a b");
    assert_eq!(good.monitored("cn=NotAfter,cn=TLS,cn=Monitor", "monitorCounter"), "1700000000");
    let files = good.monitored("cn=Files,cn=TLS,cn=Monitor", "monitoredInfo");
    assert_eq!(files, "in force since 20200913122640Z");
    let mut faulty = shown(Some(crate::certificates::Metrics { failed_s: Some(1_650_000_000), ..metrics }));
    let files = faulty.monitored("cn=Files,cn=TLS,cn=Monitor", "monitoredInfo");
    assert!(files.starts_with("faulty since 20220415052000Z: "), "{files}");
}

#[test]
fn the_monitor_counts() {
    let mut fixture = Fixture::empty();
    crate::monitor::count(&fixture.worker.counters.operations[2], 3);
    crate::monitor::count(&fixture.worker.counters.operations[1], 1);
    crate::monitor::count(&fixture.worker.counters.entries, 5);
    crate::monitor::count(&fixture.worker.counters.connections_opened, 4);
    crate::monitor::count(&fixture.worker.counters.connections_closed, 1);
    let dsa = Arc::clone(&fixture.dsa);
    monitor_entries::refresh(&dsa, NOW);
    assert_eq!(fixture.monitored("cn=Search,cn=Operations,cn=Monitor", "monitorOpCompleted"), "3");
    assert_eq!(fixture.monitored("cn=Operations,cn=Monitor", "monitorOpInitiated"), "4");
    assert_eq!(fixture.monitored("cn=PDU,cn=Statistics,cn=Monitor", "monitorCounter"), "8");
    assert_eq!(fixture.monitored("cn=Total,cn=Connections,cn=Monitor", "monitorCounter"), "4");
    assert_eq!(fixture.monitored("cn=Current,cn=Connections,cn=Monitor", "monitorCounter"), "3");
    fixture.worker.count_write_waiters(2);
    dsa.monitor.count_serving_thread();
    monitor_entries::refresh(&dsa, Now { monotonic_ns: NOW.monotonic_ns + 1_000_000_000, ..NOW });
    assert_eq!(fixture.monitored("cn=Write,cn=Waiters,cn=Monitor", "monitorCounter"), "2");
    assert_eq!(fixture.monitored("cn=Read,cn=Waiters,cn=Monitor", "monitorCounter"), "3");
    assert_eq!(fixture.monitored("cn=Max,cn=Threads,cn=Monitor", "monitoredInfo"), "1");
    let number = |text: String| text.parse::<u64>().expect("a number");
    assert!(number(fixture.monitored("cn=Open,cn=Threads,cn=Monitor", "monitoredInfo")) >= 1);
    let descriptors = "cn=Max File Descriptors,cn=Connections,cn=Monitor";
    assert!(number(fixture.monitored(descriptors, "monitorCounter")) >= 3);
    assert_eq!(fixture.monitored("cn=Uptime,cn=Time,cn=Monitor", "monitoredInfo"), "100");
    assert_eq!(fixture.monitored("cn=Start,cn=Time,cn=Monitor", "monitorTimestamp"), "20251009085320Z");
    assert_eq!(
        fixture.monitored("cn=Limit,cn=Memory,cn=Monitor", "monitorCounter"),
        (64u64 << 20).to_string()
    );
    assert_eq!(fixture.monitored("cn=Monitor", "monitoredInfo"), "Pando 1.2.3");
}

#[test]
fn a_small_directory_is_measured_too() {
    let mut fixture = Fixture::new();
    let dsa = Arc::clone(&fixture.dsa);
    monitor_entries::refresh(&dsa, NOW);
    for part in ["Total", "Segments", "Live", "Slots", "DN", "Children", "Shapes"] {
        let bytes = fixture.monitored(&format!("cn={part},cn=Memory,cn=Monitor"), "monitorCounter");
        assert!(bytes.parse::<u64>().expect("a number") > 0, "{part}");
    }
}

#[test]
fn the_monitor_is_measured_at_most_every_tenth_of_a_second() {
    let mut fixture = Fixture::empty();
    let dsa = Arc::clone(&fixture.dsa);
    let search = "cn=Search,cn=Operations,cn=Monitor";
    let later = |ms: u64| Now { monotonic_ns: NOW.monotonic_ns + ms * 1_000_000, ..NOW };
    monitor_entries::refresh(&dsa, NOW);
    crate::monitor::count(&fixture.worker.counters.operations[2], 1);
    monitor_entries::refresh(&dsa, later(99));
    assert_eq!(fixture.monitored(search, "monitorOpCompleted"), "0");
    monitor_entries::refresh(&dsa, later(100));
    assert_eq!(fixture.monitored(search, "monitorOpCompleted"), "1");
}

#[test]
fn names_of_the_servers_own_entries() {
    let fixture = Fixture::empty();
    let system = &fixture.dsa.system;
    for dn in [
        "",
        " ",
        "cn=Subschema",
        "CN=subschema",
        "cn=monitor",
        "cn=Time, cn=Monitor",
        "cn=nothing,cn=Monitor",
    ] {
        assert!(system.holds(dn.as_bytes()), "{dn:?}");
    }
    for dn in ["dc=com", "cn=Monitor,dc=com", "cn=other", "not a dn", "CN=root DSE"] {
        assert!(!system.holds(dn.as_bytes()), "{dn:?}");
    }
    for offer in Offer::all() {
        assert_eq!(system.kept_as(b" ", offer), ROOT_DSES[offer.number()].as_bytes());
        for inner in [&b"cn=root dse"[..], b"CN=Root DSE 7"] {
            assert_eq!(system.kept_as(inner, offer), b"");
        }
    }
}

impl Fixture {
    /// Sends a base search through a session; the attributes of the entry found, each with its values.
    fn search(
        &mut self,
        session: &mut crate::Session,
        dn: &str,
        selectors: &[&str],
    ) -> Vec<(String, Vec<String>)> {
        let selection = proto::list::octet_list(selectors.iter().map(|s| s.as_bytes()));
        let search = proto::op::Search::unlimited(
            dn.as_bytes(),
            model::Scope::Base,
            model::Filter::Present(b"objectClass"),
            proto::Octets::parse(&selection).expect("just encoded"),
        );
        let (mut input, mut out) = (Vec::new(), Vec::new());
        proto::Request::Search(search).encode(&mut input, 7, &[]);
        self.worker.tick(NOW);
        session.feed(&mut self.worker, &input, &mut out);
        while session.step(&mut self.worker, &mut out) == crate::State::Busy {}
        let Ok(proto::Frame::Complete { len }) = proto::frame(&out) else { panic!("no whole message") };
        let reply = Reply::decode(&out[..len]).expect("a message");
        let proto::Response::SearchEntry(entry) = reply.response else { return Vec::new() };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(entry.dn.eq_ignore_ascii_case(dn.as_bytes()), "{}", text(entry.dn));
        entry.attributes.iter().map(|a| (text(a.description), a.values.iter().map(text).collect())).collect()
    }
}

#[test]
fn clients_find_the_servers_own_entries() {
    let mut fixture = Fixture::empty();
    let mut session = crate::Session::new(&mut fixture.worker);
    for selectors in [&["*"][..], &["+"], &["namingContexts"], &["*", "+"]] {
        let found = fixture.search(&mut session, "", selectors);
        let contexts = found.iter().find(|(name, _)| name == "namingContexts");
        assert_eq!(
            contexts.map(|(_, values)| &values[..]),
            Some(&["dc=com".to_owned()][..]),
            "{selectors:?}"
        );
    }
    let found = fixture.search(&mut session, "cn=Subschema", &["attributeTypes", "modifyTimestamp"]);
    let mut counts: Vec<(&str, usize)> =
        found.iter().map(|(name, values)| (&name[..], values.len())).collect();
    counts.sort_unstable();
    let types = fixture.dsa.shard.schema().attribute_types().count();
    assert_eq!(counts, [("attributeTypes", types), ("modifyTimestamp", 1)]);
    assert!(fixture.search(&mut session, "cn=Monitor", &[]).is_empty(), "only for those who may read");
}
