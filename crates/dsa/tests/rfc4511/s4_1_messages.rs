//! Sections 4 and 4.1: what all messages have in common.

use crate::common::*;
use dsa::State;
use model::ResultCode::*;
use model::Scope;
use model::filter::Assertion;
use proto::control::{Control, manage_dsa_it, paged_results};
use proto::list::Attributes;
use proto::op::modify::Changes;
use proto::op::{Add, Compare, Extended, Modify, ModifyDn, ModifyKind};
use proto::{Request, ext, tag};

const UNKNOWN_OID: &[u8] = b"1.2.3.4.5";

fn unknown(critical: bool, value: Option<&[u8]>) -> Control<'_> {
    Control { oid: UNKNOWN_OID, critical, value }
}

fn who_am_i() -> Request<'static> {
    Request::Extended(Extended { oid: ext::who_am_i::OID, value: None })
}

/// Trailing components of a SEQUENCE whose tags are not known are ignored: of the message, and of the operation.
#[test]
fn s4_trailing_components_are_ignored() {
    let mut client = Client::new();
    let extra = tlv(0xa9, &tlv(tag::OCTET_STRING, b"from the future"));
    let request = [tlv(0x80, ext::who_am_i::OID), extra.clone()].concat();
    let (all, state) = client.raw(&message(5, &[&tlv(tag::EXTENDED, &request), &extra]));
    assert_eq!((found(5, all).end.code, state), (Success, State::Idle));
    let assertion = [tlv(tag::OCTET_STRING, b"uid"), tlv(tag::OCTET_STRING, b"ada"), extra.clone()].concat();
    let compare = [tlv(tag::OCTET_STRING, ADA.as_bytes()), tlv(tag::SEQUENCE, &assertion), extra].concat();
    let (all, _) = client.raw(&message(6, &[&tlv(tag::COMPARE, &compare)]));
    assert_eq!(found(6, all).end.code, CompareTrue);
}

/// A client that has sent no bind speaks version 3: the root DSE answers.
#[test]
fn s4_no_bind_means_version_3() {
    let mut client = Client::empty(config());
    let root = client.read("", &["supportedLDAPVersion"]);
    assert_eq!(root.values("supportedLDAPVersion"), Some(vec!["3".to_owned()]));
}

/// SEQUENCE tag, messageID, protocolOp tag, structure or lengths are wrong: protocolError in a Notice of
/// Disconnection, and the session ends at once, though requests follow.
#[test]
fn s4_1_1_broken_envelopes_end_the_session() {
    let mut valid = Vec::new();
    who_am_i().encode(&mut valid, 3, &[]);
    let op = tlv(tag::EXTENDED, &tlv(0x80, ext::who_am_i::OID));
    let broken: [(&str, Vec<u8>); 9] = [
        ("SEQUENCE tag", [&[0x31], &valid[1..]].concat()),
        ("indefinite length", [&[0x30, 0x80], &valid[2..]].concat()),
        ("length of five bytes", [&[0x30, 0x85, 0, 0, 0, 0, valid[1]], &valid[2..]].concat()),
        ("messageID is no INTEGER", tlv(tag::SEQUENCE, &[tlv(tag::OCTET_STRING, b"1"), op.clone()].concat())),
        ("messageID is negative", tlv(tag::SEQUENCE, &[tlv(tag::INTEGER, &[0xff]), op.clone()].concat())),
        (
            "messageID is too large",
            tlv(tag::SEQUENCE, &[tlv(tag::INTEGER, &[0, 0x80, 0, 0, 0]), op].concat()),
        ),
        ("a response is no request", message(3, &[&tlv(tag::BIND_RESPONSE, b"")])),
        ("an operation nobody knows", message(3, &[&tlv(0x7e, b"")])),
        ("an inner length that is too large", message(3, &[&[tag::DELETE, 9, b'x']])),
    ];
    for (what, bytes) in broken {
        let mut client = Client::new();
        let (all, state) = client.raw(&[bytes, valid.clone()].concat());
        assert_eq!((all.len(), state), (1, State::Close), "{what}: {all:?}");
        let What::End(notice) = &all[0].what else { panic!("{what}: not a notice") };
        assert_eq!((all[0].id, notice.code), (0, ProtocolError), "{what}");
        assert_eq!(notice.oid.as_deref(), Some("1.3.6.1.4.1.1466.20036"), "{what}");
    }
}

/// What is framed well but says something that may not be is answered with protocolError, and the session goes on.
#[test]
fn s4_1_1_unparsable_requests_are_protocol_errors() {
    let mut client = Client::new();
    let text = |bytes: &[u8]| tlv(tag::OCTET_STRING, bytes);
    let enumerated = |n: u8| tlv(tag::ENUMERATED, &[n]);
    let zero = tlv(tag::INTEGER, &[0]);
    let present = tlv(0x87, b"cn");
    let search = |scope: u8, deref: u8, size: &[u8], filter: &[u8]| {
        let parts = [
            &text(b"dc=example")[..],
            &enumerated(scope),
            &enumerated(deref),
            size,
            &zero,
            &[1, 1, 0],
            filter,
        ];
        tlv(tag::SEARCH, &[&parts.concat()[..], &[0x30, 0]].concat())
    };
    let change = [enumerated(9), tlv(tag::SEQUENCE, &[text(b"cn"), tlv(tag::SET, b"")].concat())].concat();
    let modify = [text(ADA.as_bytes()), tlv(tag::SEQUENCE, &tlv(tag::SEQUENCE, &change))].concat();
    let no_values = tlv(tag::SEQUENCE, &[text(b"cn"), tlv(tag::SET, b"")].concat());
    let cases = [
        ("scope", tag::SEARCH_DONE, search(9, 0, &zero, &present)),
        ("derefAliases", tag::SEARCH_DONE, search(0, 4, &zero, &present)),
        ("sizeLimit", tag::SEARCH_DONE, search(0, 0, &tlv(tag::INTEGER, &[0xff]), &present)),
        (
            "empty substrings",
            tag::SEARCH_DONE,
            search(0, 0, &zero, &tlv(0xa4, &[text(b"cn"), tlv(0x30, b"")].concat())),
        ),
        ("version", tag::BIND_RESPONSE, tlv(tag::BIND, &[zero.clone(), text(b""), tlv(0x80, b"")].concat())),
        ("kind of change", tag::MODIFY_RESPONSE, tlv(tag::MODIFY, &modify)),
        ("no UTF-8", tag::DELETE_RESPONSE, tlv(tag::DELETE, b"cn=\xff,dc=example")),
        (
            "no values",
            tag::ADD_RESPONSE,
            tlv(tag::ADD, &[text(b"dc=example"), tlv(0x30, &no_values)].concat()),
        ),
    ];
    for (what, response, op) in cases {
        let (all, state) = client.raw(&message(9, &[&op]));
        let end = found(9, all).end;
        assert_eq!((end.code, end.tag, state), (ProtocolError, response, State::Idle), "{what}");
    }
}

/// A request has a non-zero messageID; zero is for unsolicited notifications, so there is no answer to it but one.
#[test]
fn s4_1_1_1_zero_is_no_id_of_a_request() {
    let mut client = Client::new();
    let mut bytes = Vec::new();
    who_am_i().encode(&mut bytes, 0, &[]);
    let (all, state) = client.raw(&bytes);
    assert_eq!((all.len(), all[0].id, state), (1, 0, State::Close));
}

/// Every message of an answer carries the messageID of its request, from 1 to 2147483647.
#[test]
fn s4_1_1_1_answers_carry_the_id() {
    let mut client = Client::new();
    let ids = [1, 127, 128, 32767, 32768, 8388608, i32::MAX];
    let filter = proto::filter_string::parse(b"(objectClass=*)").expect("a filter");
    let mut bytes = Vec::new();
    for id in ids {
        let search = search_for("dc=example", Scope::Subtree, filter.filter(), &[]);
        Request::Search(search).encode(&mut bytes, id, &[]);
    }
    let (all, _) = client.raw(&bytes);
    for id in ids {
        let of: Vec<Answer> = all.iter().filter(|answer| answer.id == id).cloned().collect();
        assert_eq!(found(id, of).entries.len(), 5);
    }
    assert_eq!(all.len(), ids.len() * 6);
}

/// No two values of an attribute are equivalent, whichever way they come in.
#[test]
fn s4_1_7_no_two_equivalent_values() {
    let mut client = Client::new();
    let twice: Given<'_> =
        &[("objectClass", &["person"]), ("sn", &["x"]), ("description", &["Twice", "twice "])];
    assert_eq!(client.add("cn=x,dc=example", twice).code, AttributeOrValueExists);
    assert_eq!(
        client.modify(ADA, &[(ModifyKind::Add, "cn", &["ada  LOVELACE"])]).code,
        AttributeOrValueExists
    );
    assert_eq!(client.modify(ADA, &[(ModifyKind::Replace, "cn", &["a", "A"])]).code, AttributeOrValueExists);
    assert_eq!(client.read(ADA, &["cn"]).values("cn").map(|v| v.len()), Some(2));
}

/// diagnosticMessage and matchedDN are empty when there is nothing to say.
#[test]
fn s4_1_9_nothing_to_say_is_empty() {
    let mut client = Client::new();
    for end in
        [client.bind(ROOT_DN, PASSWORD), client.read(ADA, &["1.1"]).end, client.compare(ADA, "sn", "x")]
    {
        assert_eq!((&end.matched[..], &end.text[..]), ("", ""));
    }
}

/// matchedDN is the last entry found on the way to the target, for noSuchObject.
#[test]
fn s4_1_9_matched_dn_is_the_nearest_entry() {
    let mut client = Client::new();
    let below = format!("cn=x,cn=y,{ADA}");
    let person: Given<'_> = &[("objectClass", &["person"]), ("sn", &["x"])];
    for end in [
        client.read(&below, &[]).end,
        client.delete(&below),
        client.compare(&below, "cn", "x"),
        client.modify(&below, &[]),
        client.rename(&below, "cn=z", true, None),
        client.rename("uid=grace,ou=people,dc=example", "cn=z", false, Some(&below)),
        client.add(&below, person),
    ] {
        assert_eq!((end.code, &end.matched[..]), (NoSuchObject, ADA), "{end:?}");
    }
}

/// The referral field is absent with all other codes than referral.
#[test]
fn s4_1_10_no_referral_without_its_code() {
    let mut client = Client::new();
    for end in [client.read("dc=elsewhere", &[]).end, client.bind("x", "y"), client.delete("dc=example")] {
        assert!(end.code != Referral && end.referral.is_empty(), "{end:?}");
    }
}

/// The criticality of a control of unbind is ignored: the session ends, without an answer.
#[test]
fn s4_1_11_unbind_has_no_criticality() {
    let mut client = Client::new();
    let (_, bytes) = client.encode(&Request::Unbind, &[unknown(true, None)]);
    assert_eq!(client.exchange(&bytes), (vec![], State::Close));
}

/// Something of every operation that can be answered, harmless enough to be sent with a control.
fn each_request<T>(mut with: impl FnMut(&str, Request<'_>) -> T) {
    let filter = proto::filter_string::parse(b"(objectClass=*)").expect("a filter");
    let list = attributes_of(&[("objectClass", &["person"]), ("sn", &["x"])]);
    let changes = changes_of(&[(ModifyKind::Replace, "sn", &["Changed"])]);
    let grace = b"uid=grace,ou=people,dc=example";
    with("search", Request::Search(search_for(ADA, Scope::Base, filter.filter(), &[])));
    with(
        "compare",
        Request::Compare(Compare {
            dn: ADA.as_bytes(),
            assertion: Assertion { attribute: b"uid", value: b"x" },
        }),
    );
    with("who am I", who_am_i());
    let attributes = Attributes::parse(&list).expect("just encoded");
    with("add", Request::Add(Add { dn: b"cn=new,dc=example", attributes }));
    let changes = Changes::parse(&changes).expect("just encoded");
    with("modify", Request::Modify(Modify { dn: ADA.as_bytes(), changes }));
    let new_rdn = b"uid=renamed";
    with(
        "modifyDN",
        Request::ModifyDn(ModifyDn { dn: grace, new_rdn, delete_old_rdn: false, new_superior: None }),
    );
    with("delete", Request::Delete(b"ou=groups,dc=example"));
    with("bind", bind(ADA, "lace"));
}

/// A critical control of unknown type: the operation is not performed, and says unavailableCriticalExtension, to
/// whomever it is sent by.
#[test]
fn s4_1_11_unknown_critical_controls() {
    let mut client = Client::new();
    let before = client.search("dc=example", Scope::Subtree, "(objectClass=*)", &["*", "+"]);
    each_request(|what, request| {
        let end = client.ask(&request, &[unknown(true, None)]);
        assert_eq!((end.end.code, end.entries.len()), (UnavailableCriticalExtension, 0), "{what}");
    });
    client.bind_root();
    assert_eq!(client.search("dc=example", Scope::Subtree, "(objectClass=*)", &["*", "+"]), before);
    for (name, password) in [("", ""), (ADA, "lace")] {
        each_request(|what, request| {
            client.bind(name, password);
            assert_eq!(
                client.ask(&request, &[unknown(true, None)]).end.code,
                UnavailableCriticalExtension,
                "{what}"
            );
        });
    }
}

/// A critical control that is known but not appropriate for the operation.
#[test]
fn s4_1_11_unsuitable_critical_controls() {
    let mut client = Client::new();
    let mut value = Vec::new();
    paged_results::PagedResults { size: 5, cookie: b"" }.encode(&mut value);
    let paged = Control { oid: paged_results::OID, critical: true, value: Some(&value) };
    let end = client.ask(&Request::Delete(b"ou=groups,dc=example"), &[paged]).end;
    assert_eq!(end.code, UnavailableCriticalExtension);
    assert_eq!(
        client.ask(&who_am_i(), &[manage_dsa_it::control(true)]).end.code,
        UnavailableCriticalExtension
    );
    assert_eq!(client.read("ou=groups,dc=example", &["1.1"]).end.code, Success);
}

/// Controls that are not critical and not known, or not appropriate, are ignored.
#[test]
fn s4_1_11_other_controls_are_ignored() {
    let mut client = Client::new();
    each_request(|what, request| {
        let code =
            client.ask(&request, &[unknown(false, Some(b"x")), manage_dsa_it::control(false)]).end.code;
        assert!(matches!(code, Success | CompareFalse), "{what}: {code}");
    });
    assert_eq!(client.who_am_i(), format!("dn:{ADA}"));
}

/// controlValue has arbitrary contents, zero bytes included.
#[test]
fn s4_1_11_any_control_value() {
    let mut client = Client::new();
    for value in [&[][..], &[0], &[0xff; 300], b"\0\0\0", &[0x30, 0x80]] {
        assert_eq!(client.ask(&who_am_i(), &[unknown(false, Some(value))]).end.code, Success);
        let paged = Control { oid: paged_results::OID, critical: true, value: Some(value) };
        let end = client.search_with(ADA, Scope::Base, "(cn=*)", &[], |_| {}, &[paged]).end;
        assert_eq!(end.code, ProtocolError, "a value that cannot be understood: {value:?}");
    }
}

/// What a control says twice, be it the same or not, is not to be understood.
#[test]
fn s4_1_11_controls_are_there_once() {
    let mut client = Client::new();
    let mut length = Vec::new();
    proto::control::queue_length::encode(1, &mut length);
    let page = {
        let mut value = Vec::new();
        paged_results::PagedResults { size: 5, cookie: b"" }.encode(&mut value);
        value
    };
    let filter = assertion("(uid=ada)");
    let read = wanted(&["uid"]);
    let manage = Control { oid: manage_dsa_it::OID, critical: true, value: None };
    let paged = control(paged_results::OID, &page, false);
    let asserted = control(proto::control::assertion::OID, &filter, false);
    for twice in [manage, paged, asserted] {
        let once = client.read_with(ADA, &[twice]);
        assert_eq!(once.end.code, Success, "{twice:?}");
        let end = client.read_with(ADA, &[twice, unknown(false, None), twice]).end;
        assert_eq!(end.code, ProtocolError, "{twice:?}");
        assert!(end.text.ends_with("occurs more than once"), "{}", end.text);
    }
    for oid in [proto::control::read_entry::PRE_OID, proto::control::read_entry::POST_OID] {
        let twice = control(oid, &read, false);
        let end = client.modify_with(ADA, &[(ModifyKind::Replace, "mail", &[])], &[twice, twice]).end;
        assert_eq!(end.code, ProtocolError, "{twice:?}");
    }
    let twice = control(proto::control::queue_length::OID, &length, false);
    assert_eq!(client.read_with(ADA, &[twice]).end.code, Success);
    assert_eq!(client.read_with(ADA, &[twice, twice]).end.code, ProtocolError, "{twice:?}");
}
