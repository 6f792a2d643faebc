//! GSSAPI (S8): what is offered where, what a client may answer, whose principal it is, and what is left of a context. Tickets are verified by
//! others: here a context is what the client says.

use super::hashed;
use crate::common::*;
use dsa::Config;
use dsa::Session;
use dsa::config::Principals;
use dsa::contexts::{Context, Contexts, OFFER, Step};
use env::net::PeerAddress;
use model::ResultCode::{self, *};
use proto::op::{Authentication, Bind};
use proto::{Reply, Request, Response};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const GRACE: &str = "uid=grace,ou=people,dc=example";
/// A client with a ticket, and what it says when the context stands.
const TICKET: &[u8] = b"ticket ";
const STANDS: &[u8] = b"";

/// Contexts that begin with `ticket PRINCIPAL`, and counts those that are there.
#[derive(Clone, Default)]
struct Plain(Arc<AtomicU64>);

struct Begun {
    principal: Option<String>,
    is_offered: bool,
    there: Arc<AtomicU64>,
}

impl Contexts for Plain {
    fn begin(&self) -> Box<dyn Context> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::new(Begun { principal: None, is_offered: false, there: Arc::clone(&self.0) })
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.there.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Context for Begun {
    fn step(&mut self, message: &[u8]) -> Step {
        match (&self.principal, message.strip_prefix(TICKET)) {
            (None, Some(principal)) => {
                self.principal = Some(String::from_utf8(principal.to_vec()).expect("it is a text"));
                Step::GoOn(b"reply".to_vec())
            }
            (Some(_), None) if !self.is_offered && message == STANDS => {
                self.is_offered = true;
                Step::GoOn(OFFER.to_vec())
            }
            (Some(principal), None) if self.is_offered => {
                Step::Answered { principal: principal.clone(), answer: message.to_vec() }
            }
            _ => Step::Failed,
        }
    }
}

fn with_principals(config: Config) -> Config {
    let principals = Some(Principals { realm: Some("EXAMPLE".to_owned()) });
    chosen(Config { principals, ..config }, |c| c.standing.proxies = vec![GRACE.to_owned()])
}

/// With a thread for what takes long, and without.
fn served(test: impl Fn(&mut Client, &Plain)) {
    let begin = |client: &mut Client| {
        let plain = Plain::default();
        client.dsa.begin_contexts_by(Arc::new(plain.clone()));
        test(client, &plain);
    };
    begin(&mut Client::with(with_principals(config())));
    hashed::pooled_with(with_principals(config()), |mut client| begin(&mut client));
}

/// A step of the mechanism: the code, and what the server says in it.
fn step(client: &mut Client, credentials: Option<&[u8]>) -> (ResultCode, Option<Vec<u8>>) {
    let authentication = Authentication::Sasl { mechanism: b"GSSAPI", credentials };
    let (_, bytes) = client.encode(&Request::Bind(Bind { version: 3, name: b"", authentication }), &[]);
    let (answer, _) = client.exchange(&bytes);
    let Response::Bind(answer) = Reply::decode(&answer).expect("it decodes").response else {
        panic!("no answer to a bind")
    };
    assert!(answer.result.result_code() != Some(InvalidCredentials) || answer.result.diagnostic.is_empty());
    let code = answer.result.result_code().expect("it is known");
    (code, answer.server_sasl_credentials.map(<[u8]>::to_vec))
}

/// The code of a bind by all steps.
fn bind(client: &mut Client, principal: &str, answer: &[u8]) -> ResultCode {
    let ticket = [TICKET, principal.as_bytes()].concat();
    assert_eq!(step(client, Some(&ticket)), (SaslBindInProgress, Some(b"reply".to_vec())));
    assert_eq!(client.delete(ADA).code, OperationsError, "nobody is bound between the steps");
    // Some clients send no credentials in the place of empty ones.
    let stands = [None, Some(STANDS)][principal.len() % 2];
    assert_eq!(step(client, stands), (SaslBindInProgress, Some(OFFER.to_vec())));
    let (code, said) = step(client, Some(answer));
    assert_eq!(said, None);
    code
}

/// S8: a principal of the realm is the user of its name; all else has one answer, and leaves nothing.
#[test]
fn s8_whose_tickets_are_taken() {
    served(|client, contexts| {
        for (principal, who) in [
            ("ada@EXAMPLE", Some(ADA)),
            ("ada@OTHER", None),
            ("nobody@EXAMPLE", None),
            ("*@EXAMPLE", None),
            ("ada)(uid=*@EXAMPLE", None),
            ("ada/admin@EXAMPLE", None),
        ] {
            let code = bind(client, principal, &OFFER);
            assert_eq!(code, if who.is_some() { Success } else { InvalidCredentials }, "{principal}");
            assert_eq!(client.who_am_i(), who.map(|dn| format!("dn:{dn}")).unwrap_or_default());
            assert_eq!(contexts.0.load(Ordering::Relaxed), 0, "no context is kept");
        }
        // Messages of a wrong kind, and a client that lets the server speak first.
        assert_eq!(step(client, None), (SaslBindInProgress, Some(Vec::new())));
        assert_eq!(step(client, Some(b"ticket ada@EXAMPLE")).0, SaslBindInProgress);
        assert_eq!(step(client, Some(b"x")), (InvalidCredentials, None));
        assert_eq!(step(client, Some(STANDS)), (InvalidCredentials, None));
        for answer in [&b""[..], b"\x01\0\0", b"\x01\0\0\0\xff"] {
            assert_eq!(bind(client, "ada@EXAMPLE", answer), InvalidCredentials);
        }
        // Another mechanism ends it.
        assert_eq!(step(client, Some(b"ticket ada@EXAMPLE")).0, SaslBindInProgress);
        assert_eq!(client.bind(ADA, "lace").code, Success);
        assert_eq!(contexts.0.load(Ordering::Relaxed), 0);
        assert_eq!(step(client, Some(STANDS)), (InvalidCredentials, None));
    });
}

/// S8: a client that asks for a layer is refused: it would take the connection for protected.
#[test]
fn s8_no_layer_is_given() {
    served(|client, _| {
        for layer in [0, 2, 3, 4, 6, 7, 255] {
            assert_eq!(bind(client, "ada@EXAMPLE", &[layer, 0, 0xff, 0xff]), InvalidCredentials, "{layer}");
            assert_eq!(client.who_am_i(), "");
        }
        assert_eq!(
            bind(client, "ada@EXAMPLE", b"\x01\x01\0\0"),
            Success,
            "what it would be bounded by has no meaning"
        );
    });
}

/// S8, S6: other identities by the right `proxy`, as with every mechanism.
#[test]
fn s8_other_identities() {
    served(|client, _| {
        let answer = |authorization_id: &str| [&OFFER[..], authorization_id.as_bytes()].concat();
        for (principal, wanted, who) in [
            ("ada@EXAMPLE", "u:ada", Some(ADA)),
            ("grace@EXAMPLE", "u:ada", Some(ADA)),
            ("ada@EXAMPLE", "u:grace", None),
            ("grace@EXAMPLE", "dn:cn=admin,dc=example", None),
            ("grace@EXAMPLE", "nonsense", None),
        ] {
            let code = bind(client, principal, &answer(wanted));
            assert_eq!(
                (code == Success).then(|| client.who_am_i()),
                who.map(|dn| format!("dn:{dn}")),
                "{wanted}"
            );
        }
    });
}

/// S8: as a password it needs a connection that is protected, and a keytab.
#[test]
fn s8_where_it_is_offered() {
    let mut without = Client::new();
    assert_eq!(step(&mut without, Some(STANDS)).0, AuthMethodNotSupported);
    let mut client = Client::with(Config { offers_tls: true, ..with_principals(config()) });
    client.dsa.begin_contexts_by(Arc::new(Plain::default()));
    let far = PeerAddress::Tcp("192.0.2.1:4000".parse().expect("it is an address"));
    client.session = Session::connect(&mut client.worker, Some(far), Default::default()).expect("no bound");
    let listed = |client: &mut Client| {
        let root = client.read("", &["supportedSASLMechanisms"]);
        root.values("supportedSASLMechanisms").unwrap_or_default().contains(&"GSSAPI".to_owned())
    };
    assert!(!listed(&mut client));
    assert_eq!(step(&mut client, Some(b"ticket ada@EXAMPLE")), (AuthMethodNotSupported, None));
    client.session.secured(256, None, Default::default());
    assert!(listed(&mut client));
    assert_eq!(bind(&mut client, "ada@EXAMPLE", &OFFER), Success);
    // An exchange has 30 seconds and 8 steps, whatever its mechanism.
    assert_eq!(step(&mut client, Some(b"ticket ada@EXAMPLE")).0, SaslBindInProgress);
    client.wait(31);
    assert_eq!(step(&mut client, Some(STANDS)).0, AdminLimitExceeded);
    assert_eq!(step(&mut client, Some(&[b'x'; (16 << 10) + 1])).0, AdminLimitExceeded);
}
