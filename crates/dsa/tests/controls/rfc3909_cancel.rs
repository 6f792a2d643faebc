//! RFC 3909: cancel.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 2.1, 3 | answers protocolError to a value that is absent or none, which has no impact on an operation | `s2_1_the_value_is_a_message_id` |
//! | 2.2 | answers without a name and without a value | `s2_2_the_response_has_neither_name_nor_value` |
//! | 2.3 | knows the additional codes | `s3_a_search_is_canceled`, `s3_unknown_operations`, `s4_operations_of_another_user` |
//! | 3 | ends the operation with canceled, and answers success | `s3_a_search_is_canceled`, `s3_a_search_that_follows_changes_is_canceled` |
//! | 3 | answers noSuchOperation to an operation that it does not know, which has no impact on others | `s3_unknown_operations` |
//! | 3 | cancels no abandon, bind, unbind, StartTLS or cancel | `s3_what_is_not_cancelable` |
//! | 3 | lets nobody abandon a cancel | `s3_a_cancel_is_not_abandoned` |
//! | 3 | publishes the operation | `s3_it_is_published` |
//! | 4 | lets no user cancel an operation of another one: cannotCancel | `s4_operations_of_another_user` |
//!
//! Not here, and why:
//!
//! | section | sentence | reason |
//! |---|---|---|
//! | 3 | an update that is too late to be canceled is answered tooLate | an update is answered before the next request of its connection is run, so by then it is unknown: noSuchOperation, in `s3_unknown_operations` |
//! | 3 | a bind or a cancel is answered cannotCancel | these are answered first as well; noSuchOperation says so, in `s3_what_is_not_cancelable` |

use super::{check_table, clients};
use crate::common::consumer::{Consumer, Wish};
use crate::common::*;
use dsa::State;
use model::ResultCode::*;
use model::Scope;
use proto::control::Control;
use proto::control::proxied_authorization;
use proto::ext::cancel;
use proto::op::{Extended, Modify, ModifyKind};
use proto::{Request, tag};

const GRACE: &str = "uid=grace,ou=people,dc=example";

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc3909_cancel.rs"));
}

/// Begins a search for more than fits in one slice; its id. What it writes is appended.
fn begin(client: &mut Client, controls: &[Control<'_>], out: &mut Vec<u8>) -> i32 {
    let filter = proto::filter_string::parse(b"(objectClass=*)").expect("a filter");
    let search = Request::Search(search_for("dc=example", Scope::Subtree, filter.filter(), &[]));
    let (id, bytes) = client.encode(&search, controls);
    assert_eq!(client.session.feed(&mut client.worker, &bytes, out).state, State::Busy);
    id
}

/// A cancel in bytes, with its message id.
fn cancel_of(client: &mut Client, target: i32, controls: &[Control<'_>]) -> (i32, Vec<u8>) {
    let value = cancel::encode(target);
    client.encode(&Request::Extended(Extended { oid: cancel::OID, value: Some(&value) }), controls)
}

/// The ends among some answers, with the ids of their requests.
fn ends(answers: &[Answer]) -> Vec<(i32, model::ResultCode)> {
    let end = |answer: &Answer| match &answer.what {
        What::End(end) => Some((answer.id, end.code)),
        _ => None,
    };
    answers.iter().filter_map(end).collect()
}

/// A client with more people than fit in one slice.
fn crowded(mut client: Client) -> Client {
    add_people(&mut client, 3000);
    client
}

/// "The protocolError resultCode is returned if the server is unable to parse the requestValue or the requestValue is absent".
#[test]
fn s2_1_the_value_is_a_message_id() {
    let mut client = crowded(Client::new());
    for value in [None, Some(&b""[..]), Some(&[2, 1, 5]), Some(&[0x30, 0]), Some(&[0x30, 3, 2, 1, 0xff])] {
        let mut out = Vec::new();
        let search = begin(&mut client, &[], &mut out);
        let (id, bytes) = client.encode(&Request::Extended(Extended { oid: cancel::OID, value }), &[]);
        let (rest, state) = client.exchange(&bytes);
        out.extend(rest);
        let all = answers(&out);
        assert_eq!(ends(&all), [(id, ProtocolError), (search, Success)], "{value:?}");
        assert_eq!((all.len(), state), (3005 + 2, State::Idle), "the search went on");
    }
}

/// "A Cancel response is an ExtendedResponse where the responseName and response fields are absent."
#[test]
fn s2_2_the_response_has_neither_name_nor_value() {
    let mut client = crowded(Client::new());
    let mut out = Vec::new();
    let search = begin(&mut client, &[], &mut out);
    for target in [search + 1000, search] {
        let (id, bytes) = cancel_of(&mut client, target, &[]);
        client.session.feed(&mut client.worker, &bytes, &mut out);
        let all = answers(&out);
        let answer = all.iter().find(|answer| answer.id == id).expect("there is an answer");
        let What::End(end) = &answer.what else { panic!("{answer:?}") };
        assert_eq!((end.tag, &end.oid, &end.value), (tag::EXTENDED_RESPONSE, &None, &None));
    }
}

/// "the server SHALL return a Cancel Response with a success resultCode, and the canceled operation SHALL fail with canceled resultCode."
#[test]
fn s3_a_search_is_canceled() {
    for mut client in clients().map(crowded) {
        let mut out = Vec::new();
        let (first, second) = (begin(&mut client, &[], &mut out), begin(&mut client, &[], &mut out));
        let (id, bytes) = cancel_of(&mut client, first, &[]);
        out.extend(client.exchange(&bytes).0);
        let all = answers(&out);
        assert_eq!(ends(&all), [(first, Canceled), (id, Success), (second, Success)]);
        assert!(all.iter().filter(|answer| answer.id == first).count() < 3005, "nothing follows");
        assert_eq!(all.iter().filter(|answer| answer.id == second).count(), 3006, "another search goes on");
        let (again, bytes) = cancel_of(&mut client, first, &[]);
        assert_eq!(ends(&client.raw(&bytes).0), [(again, NoSuchOperation)], "it has ended");
    }
}

/// RFC 4533 section 3.7 relies on it.
#[test]
fn s3_a_search_that_follows_changes_is_canceled() {
    let mut client = Client::new();
    let mut consumer = Consumer::default();
    let wish = Wish { base: "dc=example", filter: "(objectClass=*)", persists: true, reload_hint: false };
    let search = client.begin_sync(&wish, &mut consumer);
    assert_eq!(consumer.code(), None);
    let (id, bytes) = cancel_of(&mut client, search, &[]);
    let (all, _) = client.raw(&bytes);
    assert_eq!(ends(&all), [(search, Canceled), (id, Success)]);
    client.must_add("ou=more,dc=example", &[("objectClass", &["organizationalUnit"])]);
    assert!(client.followed().is_empty());
}

/// "Otherwise the Cancel Response SHALL have a non-success resultCode and SHALL NOT have an impact upon the outstanding operation (if it
/// exists)." An update before it is answered, and stays.
#[test]
fn s3_unknown_operations() {
    for mut client in clients() {
        let done = client.last_id();
        for target in [done, 4711, i32::MAX, 0] {
            let (id, bytes) = cancel_of(&mut client, target, &[]);
            assert_eq!(ends(&client.raw(&bytes).0), [(id, NoSuchOperation)], "{target}");
        }
        let changes = changes_of(&[(ModifyKind::Replace, "sn", &["King"])]);
        let changes = proto::op::Changes::parse(&changes).expect("just encoded");
        let modify = Request::Modify(Modify { dn: ADA.as_bytes(), changes });
        let (update, mut bytes) = client.encode(&modify, &[]);
        let (id, cancel) = cancel_of(&mut client, update, &[]);
        bytes.extend(cancel);
        assert_eq!(ends(&client.raw(&bytes).0), [(update, Success), (id, NoSuchOperation)]);
        assert_eq!(client.read(ADA, &["sn"]).values("sn"), Some(vec!["King".to_owned()]));
    }
}

/// "Specifically, the Abandon, Bind, Start TLS [RFC2830], Unbind, and Cancel operations are not cancelable."
#[test]
fn s3_what_is_not_cancelable() {
    for mut client in clients() {
        let (bind, mut bytes) = client.encode(&bind(ADA, "lace"), &[]);
        let (first, cancel) = cancel_of(&mut client, bind, &[]);
        bytes.extend(cancel);
        // Its own id, and that of an abandon and of a cancel.
        let own = client.last_id() + 1;
        let (second, cancel) = cancel_of(&mut client, own, &[]);
        assert_eq!(second, own);
        bytes.extend(cancel);
        let (abandon, more) = client.encode(&Request::Abandon(4711), &[]);
        bytes.extend(more);
        let (third, cancel) = cancel_of(&mut client, abandon, &[]);
        bytes.extend(cancel);
        let (fourth, cancel) = cancel_of(&mut client, second, &[]);
        bytes.extend(cancel);
        let refused = [first, second, third, fourth].map(|id| (id, NoSuchOperation));
        assert_eq!(ends(&client.raw(&bytes).0), [&[(bind, Success)][..], &refused].concat());
        assert_eq!(client.who_am_i(), format!("dn:{ADA}"), "the bind holds");
    }
}

/// "The Cancel operation cannot be abandoned."
#[test]
fn s3_a_cancel_is_not_abandoned() {
    let mut client = crowded(Client::new());
    let mut out = Vec::new();
    let search = begin(&mut client, &[], &mut out);
    let (id, mut bytes) = cancel_of(&mut client, search, &[]);
    bytes.extend(client.encode(&Request::Abandon(id), &[]).1);
    out.extend(client.exchange(&bytes).0);
    assert_eq!(ends(&answers(&out)), [(search, Canceled), (id, Success)]);
}

#[test]
fn s3_it_is_published() {
    assert!(is_published("supportedExtension", cancel::OID));
}

/// "when the Proxy Authorization Control is in use, different outstanding operations may be processed under different LDAP associations.
/// Servers MUST NOT allow a user to cancel an operation belonging to another user."
#[test]
fn s4_operations_of_another_user() {
    let mut client = Client::with(chosen(config(), |c| c.standing.proxies = vec![GRACE.to_owned()]));
    assert_eq!(client.modify(GRACE, &[(ModifyKind::Replace, "userPassword", &["hop"])]).code, Success);
    let mut client = crowded(client);
    assert_eq!(client.bind(GRACE, "hop").code, Success);
    let as_ada = [proxied_authorization::control(b"u:ada")];
    let as_nobody = [proxied_authorization::control(b"")];
    let as_unknown = [proxied_authorization::control(b"u:unknown")];
    for (begins, cancels, code) in [
        (&[][..], &[][..], Success),
        (&[], &as_ada, CannotCancel),
        (&as_ada, &as_ada, Success),
        (&as_ada, &[], CannotCancel),
        (&as_ada, &as_nobody, CannotCancel),
        (&as_ada, &as_unknown, AuthorizationDenied),
    ] {
        let mut out = Vec::new();
        let search = begin(&mut client, begins, &mut out);
        let (id, bytes) = cancel_of(&mut client, search, cancels);
        out.extend(client.exchange(&bytes).0);
        let expected = match code {
            Success => [(search, Canceled), (id, Success)],
            code => [(id, code), (search, Success)],
        };
        assert_eq!(ends(&answers(&out)), expected, "{begins:?} {cancels:?}");
    }
}
