//! What a connection needs to be protected by: `security.read`, `security.write`, `security.any`.

use crate::common::*;
use dsa::config::{Listener, Security};
use dsa::{Session, State};
use model::ResultCode::*;
use model::{ResultCode, Scope};
use proto::op::{Extended, ModifyKind};
use proto::{Request, ext, tag};

/// The codes of: base search of the root DSE, search, compare, modify, password modify, who am I, StartTLS, bind.
fn all_codes(client: &mut Client) -> [ResultCode; 8] {
    let extended = |oid| Request::Extended(Extended { oid, value: None });
    let filter = proto::filter_string::parse(b"(objectClass=*)").expect("a filter");
    let none = selection(&["1.1"]);
    let search = |base, scope| Request::Search(search_for(base, scope, filter.filter(), &none));
    [
        client.ask(&search(" ", Scope::Base), &[]).end.code,
        client.ask(&search("dc=example", Scope::Base), &[]).end.code,
        client.compare(ADA, "sn", "lovelace").code,
        client.modify(ADA, &[(ModifyKind::Replace, "description", &["x"])]).code,
        client.end(&extended(ext::password_modify::OID)).code,
        client.end(&extended(ext::who_am_i::OID)).code,
        client.end(&Request::Extended(Extended { oid: ext::start_tls::OID, value: Some(b"") })).code,
        client.bind(ROOT_DN, PASSWORD).code,
    ]
}

/// A session is admitted to what its strength allows; TLS admits it to more. The StartTLS has a value, so it is refused for that alone.
#[test]
fn each_strength_is_needed_for_its_requests() {
    const NO: ResultCode = ConfidentialityRequired;
    let mut client = Client::new();
    let open = all_codes(&mut client);
    assert!(open.iter().all(|code| *code != NO), "{open:?}");
    let [root, search, compare, modify, password, who, start_tls, bind] = open;
    for (read, write, any, of_listener, expected) in [
        (64, 0, 0, 0, [root, NO, NO, modify, password, who, start_tls, bind]),
        (0, 64, 0, 0, [root, search, compare, NO, NO, who, start_tls, bind]),
        (0, 0, 64, 0, [root, NO, NO, NO, NO, NO, start_tls, bind]),
        (0, 0, 0, 1, [root, NO, NO, NO, NO, NO, start_tls, bind]),
    ] {
        let security =
            Security { read_strength: read, write_strength: write, any_strength: any, ..Default::default() };
        let mut client = Client::empty(chosen(config(), |c| c.security = security));
        let listener = Listener { any_strength: of_listener, ..Default::default() };
        client.session = Session::connect(&mut client.worker, None, listener).expect("it has no bound");
        client.session.secured(128, None, Default::default());
        client.plant();
        client.session = Session::connect(&mut client.worker, None, listener).expect("it has no bound");
        assert_eq!(client.bind(ROOT_DN, PASSWORD).code, Success);
        assert_eq!(all_codes(&mut client), expected, "{read} {write} {any} {of_listener}");
        client.session.secured(63, None, Default::default());
        assert_eq!(client.bind(ROOT_DN, PASSWORD).code, Success);
        let then = all_codes(&mut client);
        assert_eq!(then.contains(&NO), of_listener == 0, "{then:?}");
        client.session.secured(64, None, Default::default());
        assert_eq!(client.bind(ROOT_DN, PASSWORD).code, Success);
        assert!(!all_codes(&mut client).contains(&NO));
    }
}

/// In one bundle each request is judged, and the order of answers is that of the requests.
#[test]
fn a_bundle_is_judged_request_by_request() {
    let security = Security { read_strength: 1, ..Default::default() };
    let mut client = Client::with(chosen(config(), |c| c.security = security));
    let modify = |client: &mut Client, text: &str| {
        let list =
            proto::op::modify::change_list([(ModifyKind::Replace, &b"description"[..], [text.as_bytes()])]);
        let changes = proto::op::modify::Changes::parse(&list).expect("just encoded");
        client.encode(&Request::Modify(proto::op::Modify { dn: ADA.as_bytes(), changes }), &[]).1
    };
    let filter = proto::filter_string::parse(b"(objectClass=*)").expect("a filter");
    let none = selection(&["1.1"]);
    let search = Request::Search(search_for(ADA, Scope::Base, filter.filter(), &none));
    let mut bytes = modify(&mut client, "a");
    for text in ["b", "c", "d"] {
        bytes.extend(client.encode(&search, &[]).1);
        bytes.extend(modify(&mut client, text));
    }
    let cut = bytes.len() - 3;
    let (mut all, state) = client.raw(&bytes);
    assert_eq!(state, State::Idle);
    assert_eq!(
        codes(&all),
        [
            Success,
            ConfidentialityRequired,
            Success,
            ConfidentialityRequired,
            Success,
            ConfidentialityRequired,
            Success
        ]
    );
    all.clear();
    // What is not whole waits for its rest.
    let mut out = Vec::new();
    let feed = client.session.feed(&mut client.worker, &bytes[..cut], &mut out);
    assert_eq!(codes(&answers(&out)).len(), 6);
    assert!(feed.consumed < cut && feed.needed > cut - feed.consumed, "{feed:?}");
    assert!(answers(&out).iter().all(|answer| matches!(&answer.what, What::End(end) if end.tag != tag::SEARCH_DONE || end.code == ConfidentialityRequired)));
}
