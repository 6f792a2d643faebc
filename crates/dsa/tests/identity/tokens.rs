//! OAUTHBEARER (S7): what a token that was signed must say, whose it is, how a client is refused, and when its session ends. Signatures are
//! verified by others: here a token is what it says.

use crate::common::*;
use dsa::config::{TokenRules, UserMapping};
use dsa::events::EventKind;
use dsa::tokens::{Claims, Tokens};
use dsa::{Config, Session, State};
use env::net::PeerAddress;
use env::task::PlainThread;
use model::ResultCode::*;
use model::Scope;
use proto::op::{Authentication, Bind};
use proto::sasl::oauth_bearer::{DUMMY, OauthBearer};
use proto::{Reply, Request};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Waker};
use store::{IndexKind, IndexSettings};

const GRACE: &str = "uid=grace,ou=people,dc=example";
const NOW_S: i64 = (START.wall_ms / 1000) as i64;

/// The text of hexadecimal digits.
fn of_hex(digits: &str) -> String {
    let octet = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("two digits");
    (0..digits.len()).step_by(2).map(|at| char::from(octet(at))).collect()
}

/// Reads tokens of the form `user_issuer_audience_exp_nbf`, times counted from now; a part that is empty is not there. A name may be
/// in hexadecimal digits behind a sign. Counts them.
#[derive(Default)]
struct Plain(AtomicU64);

impl Tokens for Plain {
    fn claims(&self, token: &[u8]) -> Option<Claims> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let parts: Vec<&str> = str::from_utf8(token).ok()?.split('_').collect();
        let [user, issuer, audience, expires, not_before] = parts[..] else { return None };
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let time = |text: &str| (!text.is_empty()).then(|| NOW_S + text.parse::<i64>().expect("a number"));
        Some(Claims {
            issuer: some(issuer),
            audiences: some(audience).into_iter().collect(),
            expires_s: time(expires),
            not_before_s: time(not_before),
            user: some(user).map(|user| user.strip_prefix('-').map_or(user.clone(), of_hex)),
        })
    }
}

fn with_tokens(user: UserMapping) -> Config {
    let tokens = Some(TokenRules { issuer: "issuer".to_owned(), audience: "ldap".to_owned() });
    let mut config = chosen(Config { tokens, ..config() }, |c| {
        (c.identities.user, c.standing.proxies) = (user, vec![GRACE.to_owned()]);
    });
    config.store.indexes.push(IndexSettings::of("mail", [IndexKind::Equality]));
    config
}

fn served() -> (Client, Arc<Plain>) {
    let (client, plain) = (Client::with(with_tokens(UserMapping::default())), Arc::<Plain>::default());
    client.dsa.verify_tokens_by(Arc::clone(&plain) as Arc<dyn Tokens>);
    (client, plain)
}

/// A step of the mechanism: the code, and what the server says in it.
fn step(client: &mut Client, credentials: Option<&[u8]>) -> (model::ResultCode, Option<Vec<u8>>) {
    let authentication = Authentication::Sasl { mechanism: b"OAUTHBEARER", credentials };
    let (_, bytes) = client.encode(&Request::Bind(Bind { version: 3, name: b"", authentication }), &[]);
    let (answer, _) = client.exchange(&bytes);
    let proto::Response::Bind(answer) = Reply::decode(&answer).expect("it decodes").response else {
        panic!()
    };
    let code = answer.result.result_code().expect("it is known");
    assert!(code != InvalidCredentials || answer.result.diagnostic.len() != 1);
    (code, answer.server_sasl_credentials.map(<[u8]>::to_vec))
}

fn bind(client: &mut Client, authorization_id: &str, token: &str) -> (model::ResultCode, Option<Vec<u8>>) {
    let authorization_id = authorization_id.as_bytes().to_vec();
    let mut message = Vec::new();
    OauthBearer { authorization_id, token: token.as_bytes() }.encode(&mut message);
    step(client, Some(&message))
}

/// Whom a token makes its client.
fn who(client: &mut Client, authorization_id: &str, token: &str) -> Option<String> {
    match bind(client, authorization_id, token) {
        (Success, None) => Some(client.who_am_i()),
        (SaslBindInProgress, Some(challenge)) => {
            assert_eq!(challenge, br#"{"status":"invalid_token"}"#);
            assert_eq!(client.delete(ADA).code, OperationsError, "nobody is bound between the steps");
            assert_eq!(step(client, Some(DUMMY)), (InvalidCredentials, None));
            assert_eq!(client.who_am_i(), "");
            None
        }
        other => panic!("{other:?}"),
    }
}

/// S7: issuer, audience and times must be right, and the owner be one entry; all else has one answer.
#[test]
fn s7_what_a_token_must_say() {
    let (mut client, _) = served();
    let ada = Some(format!("dn:{ADA}"));
    for token in ["ada_issuer_ldap_100_", "ADA_issuer_ldap_100_0", "ada_issuer_ldap_-59_60"] {
        assert_eq!(who(&mut client, "", token), ada, "{token}");
    }
    for token in [
        "ada_other_ldap_100_",
        "ada__ldap_100_",
        "ada_issuer_web_100_",
        "ada_issuer__100_",
        "ada_issuer_ldap__",
        "ada_issuer_ldap_-60_",
        "ada_issuer_ldap_100_61",
        "nobody_issuer_ldap_100_",
        "_issuer_ldap_100_",
        "unsigned",
    ] {
        assert_eq!(who(&mut client, "", token), None, "{token}");
    }
    // As somebody else, by the rules for all mechanisms.
    let grace = "grace_issuer_ldap_100_";
    assert_eq!(who(&mut client, "u:ada", grace), ada);
    assert_eq!(who(&mut client, &format!("dn:{ADA}"), grace), ada);
    for (authorization_id, token) in [
        ("u:grace", "ada_issuer_ldap_100_"),
        (&format!("dn:{ROOT_DN}"), grace),
        ("ada", grace),
        ("u:nobody", grace),
    ] {
        assert_eq!(who(&mut client, authorization_id, token), None, "{authorization_id}");
    }
    // What is no message has no challenge. A client that waits for one has an empty one.
    assert_eq!(step(&mut client, Some(b"n,,\x01auth=Basic x\x01\x01")), (InvalidCredentials, None));
    assert_eq!(step(&mut client, None), (SaslBindInProgress, Some(Vec::new())));
    assert_eq!(who(&mut client, "", "ada_issuer_ldap_100_"), ada);
}

/// S7: another filter, and a base, say whose name it is; a name is never a filter.
#[test]
fn s7_whose_entry_a_name_is() {
    let mapping = |base: Option<&str>, is_one_level, filter: &str| UserMapping {
        base: base.map(str::to_owned),
        is_one_level,
        filter: Some(filter.to_owned()),
    };
    for (mapping, user, is_found) in [
        (mapping(None, false, "(mail={})"), "g@h", true),
        (mapping(None, false, "(mail={})"), "*", false),
        (mapping(None, false, "(mail={})"), "x)(mail=*", false),
        (mapping(Some("ou=people,dc=example"), true, "(&(mail={})(objectClass=person))"), "g@h", true),
        (mapping(Some("dc=example"), true, "(mail={})"), "g@h", false),
        (mapping(Some("dc=example"), false, "(mail={})"), "g@h", true),
        (mapping(Some("ou=groups,dc=example"), false, "(mail={})"), "g@h", false),
        (mapping(None, false, "(sn={})"), "Hopper", false),
    ] {
        let mut client = Client::with(with_tokens(mapping.clone()));
        client.dsa.verify_tokens_by(Arc::<Plain>::default());
        let digits: String = user.bytes().map(|octet| format!("{octet:02x}")).collect();
        let found = who(&mut client, "", &format!("-{digits}_issuer_ldap_100_"));
        assert_eq!(found, is_found.then(|| format!("dn:{GRACE}")), "{mapping:?} {user}");
        // The same for all who name a user.
        let mut root = client.another_as(ROOT_DN, PASSWORD);
        let control = proto::control::proxied_authorization::control;
        let name = format!("u:{user}");
        let who_am_i = Request::Extended(proto::op::Extended { oid: proto::ext::who_am_i::OID, value: None });
        let code = root.ask(&who_am_i, &[control(name.as_bytes())]).end.code;
        assert_eq!(code, if is_found { Success } else { AuthorizationDenied });
    }
}

/// An account that is locked or has ended is nobody's, also by a token.
#[test]
fn s7_a_locked_account_is_not_bound() {
    let (mut client, _) = served();
    let token = "ada_issuer_ldap_100_";
    let mut root = client.another_as(ROOT_DN, PASSWORD);
    for (state, value) in [("pwdAccountLockedTime", "000001010000Z"), ("pwdEndTime", "20010101000000Z")] {
        let set = |root: &mut Client, values: &[&str]| {
            assert_eq!(root.modify(ADA, &[(proto::op::ModifyKind::Replace, state, values)]).code, Success);
        };
        set(&mut root, &[value]);
        assert_eq!(who(&mut client, "", token), None, "{state}");
        set(&mut root, &[]);
        assert_eq!(who(&mut client, "", token), Some(format!("dn:{ADA}")), "{state}");
    }
}

/// S7: it is offered where a password may pass, and an issuer is configured.
#[test]
fn s7_where_it_is_offered() {
    let listed = |client: &mut Client| {
        let listed = client.read("", &["supportedSASLMechanisms"]).values("supportedSASLMechanisms");
        listed.is_some_and(|listed| listed.contains(&"OAUTHBEARER".to_owned()))
    };
    let (mut client, plain) = served();
    assert!(listed(&mut client));
    let mut without = Client::new();
    assert!(!listed(&mut without));
    assert_eq!(bind(&mut without, "", "ada_issuer_ldap_100_"), (AuthMethodNotSupported, None));
    let address = PeerAddress::Tcp("10.0.0.1:7".parse().expect("an address"));
    client.session =
        Session::connect(&mut client.worker, Some(address), Default::default()).expect("no bound");
    assert!(!listed(&mut client));
    assert_eq!(bind(&mut client, "", "ada_issuer_ldap_100_"), (AuthMethodNotSupported, None));
    client.session.secured(128, None, Default::default());
    assert!(listed(&mut client));
    assert_eq!(plain.0.load(Ordering::Relaxed), 0, "nothing was looked at");
    assert_eq!(who(&mut client, "", "ada_issuer_ldap_100_"), Some(format!("dn:{ADA}")));
}

/// S7: the session ends when its token does: with the next request, in the middle of a search, and while it is idle. Another bind is another end.
#[test]
fn s7_a_session_ends_with_its_token() {
    let (mut client, _) = served();
    for number in 0..100 {
        client.must_add(&format!("uid=n{number},ou=people,dc=example"), &[("objectClass", &["account"])]);
    }
    let later = |seconds: u64| env::clock::Now { wall_ms: START.wall_ms + seconds * 1000, ..START };
    let is_notice = |answers: &[Answer]| match answers {
        [Answer { id: 0, what: What::End(end), .. }] => {
            end.code == StrongerAuthRequired && !end.text.is_empty()
        }
        other => panic!("{other:?}"),
    };
    let begin = |client: &mut Client, authorization_id: &str| {
        client.at(START);
        client.session = Session::new(&mut client.worker);
        assert_eq!(bind(client, authorization_id, "grace_issuer_ldap_10_").0, Success);
        assert!(client.session.expects_notices());
    };
    for authorization_id in ["", "u:ada"] {
        begin(&mut client, authorization_id);
        client.at(later(69));
        assert_ne!(client.who_am_i(), "");
        client.at(later(70));
        let (_, bytes) = client.encode(&Request::Delete(ADA.as_bytes()), &[]);
        let (answers, state) = client.raw(&bytes);
        assert!(is_notice(&answers) && state == State::Close);
    }
    // While it is idle.
    begin(&mut client, "");
    let mut out = Vec::new();
    let cx = &mut Context::from_waker(Waker::noop());
    client.at(later(69));
    assert_eq!((client.session.poll_notices(&client.worker, cx, &mut out), out.len()), (State::Idle, 0));
    client.at(later(70));
    assert_eq!(client.session.poll_notices(&client.worker, cx, &mut out), State::Close);
    assert!(is_notice(&answers(&out)));
    // Who binds anew has what the new bind says.
    begin(&mut client, "");
    assert_eq!(client.bind(ADA, "lace").code, Success);
    assert!(!client.session.expects_notices());
    client.at(later(1000));
    assert_eq!(client.who_am_i(), format!("dn:{ADA}"));
    begin(&mut client, "");
    assert_eq!(client.bind(ADA, "wrong").code, InvalidCredentials);
    client.at(later(1000));
    assert_eq!(client.read("", &["1.1"]).end.code, Success);
    begin(&mut client, "");
    assert_eq!(client.search("dc=example", Scope::Subtree, "(uid=n*)", &["uid"]).entries.len(), 100);
}

/// S7: a token that is refused is one failed bind, for the rate of its address and for the log; neither has the token.
#[test]
fn s7_failures_are_counted_once() {
    let mut config = with_tokens(UserMapping::default());
    config.settings.configured.limits.clients.failed_binds_per_second = 1;
    let mut client = Client::with(config);
    client.dsa.verify_tokens_by(Arc::<Plain>::default());
    client.dsa.events().open();
    client.dsa.events().take(0);
    let address = PeerAddress::Tcp("127.0.0.1:7".parse().expect("an address"));
    client.session =
        Session::connect(&mut client.worker, Some(address), Default::default()).expect("no bound");
    let mut failed = 0;
    while bind(&mut client, "", "secret_other_ldap_100_").0 == SaslBindInProgress {
        failed += 1;
        // Some say that they know, and others give it up.
        match failed % 2 {
            0 => assert_eq!(step(&mut client, Some(DUMMY)).0, InvalidCredentials),
            _ => assert_eq!(client.bind("", "").code, Success),
        }
        assert!(failed < 100);
    }
    assert_eq!(failed, 11, "the burst of a second, and the one that uses it up");
    let (events, _) = client.dsa.events().take(0);
    let of = |kind| events.iter().filter(|event| event.kind == kind).count();
    assert_eq!((of(EventKind::BindFailed), of(EventKind::BindRefused)), (11, 1));
    assert!(!format!("{events:?}").contains("secret"), "{events:?}");
}

/// S7: a signature is verified by the pool, once for a bind, and the requests behind the bind wait.
#[test]
fn s7_signatures_are_verified_by_the_pool() {
    let (mut client, plain) = served();
    let pool = Arc::clone(client.dsa.password_pool());
    pool.will_be_served();
    let serving = Arc::clone(&pool);
    let thread = PlainThread::spawn("password", move || serving.serve(|| 0)).expect("there is a thread");
    client.is_pooled = true;
    assert_eq!(who(&mut client, "", "ada_issuer_ldap_100_"), Some(format!("dn:{ADA}")));
    assert_eq!(who(&mut client, "", "ada_issuer_web_100_"), None);
    assert_eq!(who(&mut client, "u:ada", "grace_issuer_ldap_100_"), Some(format!("dn:{ADA}")));
    assert_eq!((plain.0.load(Ordering::Relaxed), pool.metrics().done), (3, 3));
    pool.end();
    thread.join().expect("it has ended");
    assert_eq!(bind(&mut client, "", "ada_issuer_ldap_100_"), (Busy, None));
}
