//! SASL binds (RFC 4511 section 4.2, RFC 4513 section 5.2): EXTERNAL over Unix sockets, PLAIN, and what comes between steps.

use super::scram::Scram;
use crate::common::*;
use dsa::config::{MappedTo, PeerMapping, Peers, Security};
use dsa::{Config, Session, State};
use env::net::{Credentials, PeerAddress};
use model::ResultCode::*;
use model::{ResultCode, Scope};
use proto::control::proxied_authorization;
use proto::op::{Authentication, Bind, Extended, ModifyKind};
use proto::sasl::plain::Plain;
use proto::{Request, tag};
use store::{IndexKind, IndexSettings};

const GRACE: &str = "uid=grace,ou=people,dc=example";
const UNIX: &str = "uid=unix,ou=people,dc=example";

fn sasl(client: &mut Client, mechanism: &str, credentials: Option<&[u8]>) -> Outcome {
    let authentication = Authentication::Sasl { mechanism: mechanism.as_bytes(), credentials };
    // The name has no meaning.
    client.end(&Request::Bind(Bind { version: 3, name: b"cn=nobody", authentication }))
}

fn plain(client: &mut Client, authorization_id: &str, name: &str, password: &str) -> Outcome {
    let mut message = Vec::new();
    Plain {
        authorization_id: authorization_id.as_bytes(),
        authentication_id: name.as_bytes(),
        password: password.as_bytes(),
    }
    .encode(&mut message);
    sasl(client, "PLAIN", Some(&message))
}

fn external(client: &mut Client, authorization_id: &str) -> Outcome {
    sasl(client, "EXTERNAL", Some(authorization_id.as_bytes()))
}

/// The session of a process of this user and group.
fn connect(client: &mut Client, uid: u32, gid: u32) {
    let address = PeerAddress::Unix(Credentials { uid, gid, pid: 7 });
    client.session =
        Session::connect(&mut client.worker, Some(address), Default::default()).expect("it has no bound");
}

fn by_filter(filter: &str, base: Option<&str>) -> MappedTo {
    MappedTo::Filter { base: base.map(str::to_owned), filter: filter.to_owned() }
}

fn mapping(uid: Option<u32>, gid: Option<u32>, to: MappedTo) -> PeerMapping {
    PeerMapping { uid, gid, to }
}

/// A directory where user 1000 is ada by her number, and the server runs as user 77.
fn mapped(mappings: Vec<PeerMapping>) -> Client {
    mapped_with(config(), mappings)
}

fn mapped_with(config: Config, mappings: Vec<PeerMapping>) -> Client {
    let mut config = chosen(Config { peers: Peers { mappings, own_uid: Some(77) }, ..config }, |c| {
        c.standing.proxies = vec![GRACE.to_owned()];
    });
    config.store.indexes.push(IndexSettings::of("uidNumber", [IndexKind::Equality]));
    let mut client = Client::with(config);
    client.must_add(
        "uid=unix,ou=people,dc=example",
        &[
            ("objectClass", &["account", "posixAccount"]),
            ("cn", &["unix"]),
            ("uidNumber", &["1000"]),
            ("gidNumber", &["100"]),
            ("homeDirectory", &["/"]),
        ],
    );
    assert_eq!(client.modify(GRACE, &[(ModifyKind::Replace, "userPassword", &["hop"])]).code, Success);
    client
}

fn posix() -> Client {
    mapped(vec![mapping(None, None, by_filter("(&(uidNumber={uid})(objectClass=posixAccount))", None))])
}

/// T10: the superuser and the server's own user are the root DN; others are mapped, or nobody.
#[test]
fn t10_who_the_clients_of_sockets_are() {
    let mut client = posix();
    for (uid, who) in
        [(0, Some(ROOT_DN)), (77, Some(ROOT_DN)), (1000, Some("uid=unix,ou=people,dc=example")), (1001, None)]
    {
        connect(&mut client, uid, 5);
        let end = external(&mut client, "");
        assert_eq!(end.code, if who.is_some() { Success } else { InvalidCredentials }, "{uid}");
        assert!(!end.server_credentials);
        assert_eq!(client.who_am_i(), who.map(|dn| format!("dn:{dn}")).unwrap_or_default());
    }
    connect(&mut client, 0, 0);
    assert_eq!(external(&mut client, "").code, Success);
    assert_eq!(client.delete("ou=groups,dc=example").code, Success, "it may do everything");
}

/// T10: without a root DN the superuser has its rights under OpenLDAP's name.
#[test]
fn t10_without_a_root_dn() {
    let mut client = Client::empty(Config { root_dn: None, root_password: None, ..config() });
    connect(&mut client, 0, 3);
    assert_eq!(external(&mut client, "").code, Success);
    assert_eq!(client.who_am_i(), "dn:gidNumber=3+uidNumber=0,cn=peercred,cn=external,cn=auth");
    let top: Given<'_> = &[("objectClass", &["domain"]), ("dc", &["example"])];
    client.must_add("dc=example", top);
    let read = client.read("dc=example", &["creatorsName"]);
    let name = "gidNumber=3+uidNumber=0,cn=peercred,cn=external,cn=auth".to_owned();
    assert_eq!(read.values("creatorsName"), Some(vec![name]));
}

/// S5: mappings one by one, in their order; one that names a user is the last for it; two matches and none are nobody.
#[test]
fn s5_mappings_of_users_and_groups() {
    let dn = |dn: &str| MappedTo::Dn(dn.to_owned());
    let mut client = mapped(vec![
        mapping(Some(1), Some(9), dn(GRACE)),
        mapping(Some(2), None, dn("UID=Ada,ou=people,dc=example")),
        mapping(Some(3), None, dn("uid=nobody,dc=example")),
        mapping(Some(4), None, dn("CN=Admin,dc=example")),
        mapping(None, Some(8), by_filter("(uid=ada)", Some("ou=people,dc=example"))),
        mapping(None, Some(7), by_filter("(uid=ada)", Some("ou=groups,dc=example"))),
        mapping(None, Some(6), by_filter("(sn=Lovelace)", None)),
        mapping(None, Some(5), by_filter("(|(uid=ada)(uid=grace))", None)),
        mapping(None, None, by_filter("(&(objectClass=posixAccount)(uidNumber={uid}))", None)),
    ]);
    for (uid, gid, who) in [
        (1, 9, Some(GRACE)),
        (1, 8, Some(ADA)),
        (2, 0, Some(ADA)),
        (3, 8, None),
        (4, 0, Some(ROOT_DN)),
        (50, 8, Some(ADA)),
        (50, 7, None),
        (1000, 7, Some("uid=unix,ou=people,dc=example")),
        // No index answers these.
        (50, 6, None),
        (50, 5, None),
        (0, 7, Some(ROOT_DN)),
    ] {
        connect(&mut client, uid, gid);
        let expected = who.map(|dn| format!("dn:{dn}"));
        let code = external(&mut client, "").code;
        assert_eq!((code == Success).then(|| client.who_am_i()), expected, "{uid} {gid}");
    }
    connect(&mut client, 0, 0);
    external(&mut client, "");
    let other: Given<'_> = &[("objectClass", &["account"])];
    client.must_add(
        "uid=ada,ou=people,dc=example,".trim_end_matches(',').replace("people", "groups").as_str(),
        other,
    );
    let anywhere = mapped(vec![mapping(None, None, by_filter("(uid=ada)", None))]);
    let mut client = anywhere;
    client.must_add("uid=ada,ou=groups,dc=example", other);
    connect(&mut client, 50, 50);
    assert_eq!(external(&mut client, "").code, InvalidCredentials, "two have the name");
}

/// S5: without a lower layer that knows the client (48); absent credentials are no empty ones.
#[test]
fn s5_external_needs_a_client_that_is_known() {
    let mut client = posix();
    client.session = Session::new(&mut client.worker);
    for credentials in [None, Some(&b""[..])] {
        assert_eq!(sasl(&mut client, "EXTERNAL", credentials).code, InappropriateAuthentication);
    }
    connect(&mut client, 1000, 5);
    let end = sasl(&mut client, "EXTERNAL", None);
    assert_eq!((end.code, end.server_credentials), (SaslBindInProgress, true));
    assert_eq!(external(&mut client, "").code, Success);
    for malformed in [&b"dn:cn=\0"[..], b"dn:\xff", b"cn=x", b"x:y"] {
        assert_eq!(sasl(&mut client, "EXTERNAL", Some(malformed)).code, InvalidCredentials, "{malformed:?}");
        assert_eq!(client.who_am_i(), "");
    }
}

/// S1: PLAIN with a name of each form, with and without an authorization identity.
#[test]
fn s1_plain() {
    let mut client = mapped(Vec::new());
    for (authorization_id, name, password, who) in [
        ("", "ada", "lace", Some(ADA)),
        ("", "u:ADA", "lace", Some(ADA)),
        ("", "dn:UID=ada,OU=people,DC=example", "lace", Some(ADA)),
        ("u:ada", "ada", "lace", Some(ADA)),
        (&format!("dn:{ADA}"), "ada", "lace", Some(ADA)),
        ("", &format!("dn:{ROOT_DN}"), PASSWORD, Some(ROOT_DN)),
        ("u:ada", &format!("dn:{ROOT_DN}"), PASSWORD, Some(ADA)),
        ("u:ada", "grace", "hop", Some(ADA)),
        (&format!("dn:{ROOT_DN}"), "grace", "hop", None),
        ("u:grace", "ada", "lace", None),
        ("dn:", "ada", "lace", None),
        ("ada", "ada", "lace", None),
        ("u:nobody", "grace", "hop", None),
        ("", "ada", "wrong", None),
        ("", "nobody", "lace", None),
        ("", "dn:", "lace", None),
        ("", ADA, "lace", Some(ADA)),
        ("", "cn=x", "lace", None),
    ] {
        let end = plain(&mut client, authorization_id, name, password);
        assert_eq!(
            end.code,
            if who.is_some() { Success } else { InvalidCredentials },
            "{authorization_id} {name}"
        );
        assert!(who.is_some() || end.text.is_empty(), "which of them is wrong is not said: {}", end.text);
        assert_eq!(client.who_am_i(), who.map(|dn| format!("dn:{dn}")).unwrap_or_default());
    }
}

/// S1: where a password needs a protected connection PLAIN is neither listed nor taken.
#[test]
fn s1_plain_is_not_offered_in_the_clear() {
    let listed =
        |client: &mut Client| client.read("", &["supportedSASLMechanisms"]).values("supportedSASLMechanisms");
    let security = Security { password_strength: Some(100), ..Default::default() };
    let mut client = Client::empty(chosen(config(), |c| c.security = security));
    assert_eq!(plain(&mut client, "", "ada", "lace").code, AuthMethodNotSupported);
    assert_eq!(listed(&mut client), None);
    connect(&mut client, 0, 0);
    assert_eq!(listed(&mut client), Some(vec!["EXTERNAL".to_owned()]));
    client.session = Session::new(&mut client.worker);
    client.session.secured(128, None, Default::default());
    assert_eq!(listed(&mut client), Some(vec!["PLAIN".to_owned()]));
    assert_eq!(plain(&mut client, "", &format!("dn:{ROOT_DN}"), PASSWORD).code, Success);
}

/// Identities that clients ask for: users and names of entries in all forms, also such as mean nothing.
fn asked() -> Vec<String> {
    let users = ["ada", "ADA", "grace", "unix", "nobody", "admin", "*", "ada)(uid=*", "", " ada"];
    let names = [
        ADA,
        GRACE,
        UNIX,
        ROOT_DN,
        "CN=Admin, DC=example",
        "uid=nobody,ou=people,dc=example",
        "dc=example",
        "cn=monitor",
        "cn=config",
        "nonsense",
        "",
    ];
    let of_users =
        users.iter().flat_map(|user| [format!("u:{user}"), format!("U:{user}"), (*user).to_owned()]);
    let of_names = names
        .iter()
        .flat_map(|dn| [format!("dn:{dn}"), format!("dn:{}", dn.to_uppercase()), format!("x:{dn}")]);
    of_users.chain(of_names).collect()
}

/// S6: the identity that is asked for by PLAIN, by EXTERNAL, by SCRAM and by the control has one verdict, for each of 200 pairs.
#[test]
fn s6_one_verdict_for_all_ways_to_ask_for_another_identity() {
    let dn = |dn: &str| MappedTo::Dn(dn.to_owned());
    let mappings = [(1, ADA), (2, GRACE), (3, UNIX)].map(|(uid, name)| mapping(Some(uid), None, dn(name)));
    let (scram, mut config) = (Scram::new(PASSWORD), config());
    config.root_password = Some(scram.stored().into_bytes());
    config.settings.configured.passwords.schemes.push(dsa::config::Scheme::ScramSha256);
    config.settings.configured.passwords.renew = false;
    let mut client = mapped_with(config, mappings.to_vec());
    for name in [ADA, GRACE, UNIX] {
        let stored: &[&str] = &[&scram.stored()];
        assert_eq!(client.modify(name, &[(ModifyKind::Replace, "userPassword", stored)]).code, Success);
    }
    let (asked, mut pairs, mut granted) = (asked(), 0, 0);
    for (uid, name) in [(1, "ada"), (2, "grace"), (3, "unix"), (0, "dn:cn=admin,dc=example")] {
        for authorization_id in &asked {
            client.session = Session::new(&mut client.worker);
            let mut verdicts = Vec::new();
            let end = plain(&mut client, authorization_id, name, PASSWORD);
            verdicts.push((end.code == Success).then(|| client.who_am_i()));
            verdicts.push(scram.binds(&mut client, name, authorization_id).then(|| client.who_am_i()));
            connect(&mut client, uid, 5);
            let end = external(&mut client, authorization_id);
            verdicts.push((end.code == Success).then(|| client.who_am_i()));
            assert_eq!(external(&mut client, "").code, Success);
            verdicts.push(by_control(&mut client, authorization_id));
            assert!(
                verdicts.windows(2).all(|two| two[0] == two[1]),
                "{name} as {authorization_id:?}: {verdicts:?}"
            );
            // Who may do everything is nobody's to assume but its own.
            let is_root = verdicts[0].as_deref() == Some(&format!("dn:{ROOT_DN}"));
            assert!(!is_root || uid == 0, "{name} as {authorization_id:?}");
            pairs += 1;
            granted += usize::from(verdicts[0].is_some());
        }
    }
    assert!(pairs > 200 && granted > 20 && granted < 100, "{granted} of {pairs}");
}

/// Whom the control makes a client, if it may be that.
fn by_control(client: &mut Client, authorization_id: &str) -> Option<String> {
    // An empty identity is that of nobody to the control, and that of oneself in SASL.
    if authorization_id.is_empty() {
        return Some(client.who_am_i());
    }
    let who_am_i = Request::Extended(Extended { oid: proto::ext::who_am_i::OID, value: None });
    let end = client.ask(&who_am_i, &[proxied_authorization::control(authorization_id.as_bytes())]).end;
    let text = |value: Option<Vec<u8>>| String::from_utf8(value.expect("there is one")).expect("UTF-8");
    (end.code == Success).then(|| text(end.value))
}

/// S9, T2: between the steps of a bind all other requests are refused, in the same bundle and in later ones; a bind of another kind drops it.
#[test]
fn s9_between_steps() {
    let mut client = posix();
    connect(&mut client, 1000, 5);
    let begin = |client: &mut Client| {
        assert_eq!(sasl(client, "EXTERNAL", None).code, SaslBindInProgress);
    };
    begin(&mut client);
    let who_am_i = || Request::Extended(Extended { oid: proto::ext::who_am_i::OID, value: None });
    let start_tls = || Request::Extended(Extended { oid: proto::ext::start_tls::OID, value: None });
    assert_eq!(client.end(&who_am_i()).code, OperationsError);
    assert_eq!(client.end(&start_tls()).code, OperationsError);
    assert_eq!(client.read("", &["*"]).end.code, OperationsError);
    assert_eq!(client.delete(ADA).code, OperationsError);
    assert_eq!(external(&mut client, "").code, Success, "the exchange is still there");
    // In one bundle: the step, what is between, the next step, and what comes after it.
    let step = |credentials| {
        let authentication = Authentication::Sasl { mechanism: b"EXTERNAL", credentials };
        Request::Bind(Bind { version: 3, name: b"", authentication })
    };
    let requests = [step(None), who_am_i(), start_tls(), Request::Abandon(1), step(Some(b"")), who_am_i()];
    let bytes: Vec<u8> = requests.iter().flat_map(|request| client.encode(request, &[]).1).collect();
    let (all, state) = client.raw(&bytes);
    assert_eq!(codes(&all), [SaslBindInProgress, OperationsError, OperationsError, Success, Success]);
    assert_eq!(state, State::Idle);
    // Dropped by a simple bind, by another mechanism, by none, and by one that fails.
    begin(&mut client);
    assert_eq!(client.bind(ADA, "lace").code, Success);
    assert_eq!(client.who_am_i(), format!("dn:{ADA}"));
    begin(&mut client);
    assert_eq!(plain(&mut client, "", "ada", "wrong").code, InvalidCredentials);
    assert_eq!(client.who_am_i(), "");
    begin(&mut client);
    assert_eq!(sasl(&mut client, "", None).code, AuthMethodNotSupported);
    assert_eq!(client.who_am_i(), "");
    begin(&mut client);
    assert_eq!(client.bind(ADA, "wrong").code, InvalidCredentials);
    assert_eq!(client.who_am_i(), "");
    // Malformed, it is dropped, too.
    begin(&mut client);
    let no_version = message(99, &[&tlv(tag::BIND, &[&[2, 1, 0, 4, 0], &tlv(0x80, b"")[..]].concat())]);
    client.raw(&no_version);
    assert_eq!(client.who_am_i(), "");
    // A client may leave at any time.
    begin(&mut client);
    let unbind = client.encode(&Request::Unbind, &[]).1;
    assert_eq!(client.raw(&unbind), (Vec::new(), State::Close));
}

/// S9: a session that bound before is nobody between the steps, and its search and transaction are gone.
#[test]
fn s9_nobody_is_bound_between_steps() {
    let mut client = posix();
    connect(&mut client, 1000, 5);
    assert_eq!(client.bind(ROOT_DN, PASSWORD).code, Success);
    assert!(client.session.is_bound());
    assert_eq!(sasl(&mut client, "EXTERNAL", None).code, SaslBindInProgress);
    assert!(!client.session.is_bound());
    let found = client.search_all("dc=example", Scope::Subtree);
    assert_eq!(found, OperationsError);
}

trait Searches {
    fn search_all(&mut self, base: &str, scope: Scope) -> ResultCode;
}

impl Searches for Client {
    fn search_all(&mut self, base: &str, scope: Scope) -> ResultCode {
        let filter = proto::filter_string::parse(b"(objectClass=*)").expect("a filter");
        let none = selection(&["1.1"]);
        self.ask(&Request::Search(search_for(base, scope, filter.filter(), &none)), &[]).end.code
    }
}

/// S6: for rules about how a client has proved who it is, that stays so when it acts as somebody else.
#[test]
fn s6_who_acts_as_another_has_proved_itself_as_before() {
    let mut config = config();
    let rules = ["not: all attrs=sn; auth=PLAIN; deny=see rank=10".to_owned()];
    config.settings.configured.access.rules = access::parse_all(&rules).expect("the rule is sound");
    let mut client = mapped_with(config, Vec::new());
    let sees = |client: &mut Client| client.read(ADA, &["sn"]).values("sn").is_some();
    assert_eq!(client.bind(ADA, "lace").code, Success);
    assert!(sees(&mut client));
    for (authorization_id, name, password) in
        [("", "ada", "lace"), ("u:ada", "ada", "lace"), ("u:ada", "grace", "hop")]
    {
        assert_eq!(plain(&mut client, authorization_id, name, password).code, Success);
        assert_eq!(client.who_am_i(), format!("dn:{ADA}"));
        assert!(!sees(&mut client), "{authorization_id} {name}");
    }
}
