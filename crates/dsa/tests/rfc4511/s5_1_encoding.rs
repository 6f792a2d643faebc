//! Sections 4.13 and 5.1: what is sent, to the byte.

use crate::common::*;
use model::Scope;
use proto::control::sort::{self, SortKey};
use proto::control::virtual_list_view::{self, Target, VirtualListView};
use proto::control::{Control, paged_results, proxied_authorization, read_entry};
use proto::op::{Extended, Modify, ModifyKind};
use proto::{Request, tag};

/// Messages of all kinds that a server sends: entries, references, results with and without controls, values and names.
fn all_kinds() -> Vec<u8> {
    let mut client = Client::new();
    let away: Given<'_> =
        &[("objectClass", &["referral", "extensibleObject"]), ("ref", &["ldap://elsewhere/ou=away"])];
    client.must_add("ou=away,dc=example", away);
    let long = "x".repeat(70_000);
    assert_eq!(
        client.modify(ADA, &[(ModifyKind::Add, "description", &[&long])]).code,
        model::ResultCode::Success
    );
    let filter = proto::filter_string::parse(b"(objectClass=*)").expect("a filter");
    let (all, none) = (selection(&["*", "+"]), selection(&["1.1"]));
    let subtree = || Request::Search(search_for("dc=example", Scope::Subtree, filter.filter(), &all));
    let list = || Request::Search(search_for("ou=people,dc=example", Scope::One, filter.filter(), &none));
    let (mut page, order) =
        (Vec::new(), sort::encode(&[SortKey { attribute: b"sn", ordering_rule: None, reverse: false }]));
    paged_results::PagedResults { size: 1, cookie: b"" }.encode(&mut page);
    let target = Target::ByOffset { offset: 1, content_count: 0 };
    let view = VirtualListView { before_count: 0, after_count: 1, target, context_id: None }.encode();
    let (read, changes) = (wanted(&["*"]), changes_of(&[(ModifyKind::Replace, "sn", &["King"])]));
    let changes = proto::op::Changes::parse(&changes).expect("just encoded");
    let extended = |oid| Request::Extended(Extended { oid, value: None });
    let requests: [(Request<'_>, Vec<Control<'_>>); 12] = [
        (subtree(), vec![]),
        (Request::Search(search_for("", Scope::Base, filter.filter(), &all)), vec![]),
        (list(), vec![control(paged_results::OID, &page, true)]),
        (list(), vec![sort::control(&order, true), virtual_list_view::control(&view, true)]),
        (Request::Search(search_for("cn=x,ou=away,dc=example", Scope::Base, filter.filter(), &all)), vec![]),
        (Request::Search(search_for("dc=nowhere", Scope::Base, filter.filter(), &all)), vec![]),
        (
            Request::Modify(Modify { dn: ADA.as_bytes(), changes }),
            vec![control(read_entry::PRE_OID, &read, true), control(read_entry::POST_OID, &read, false)],
        ),
        (Request::Delete(b"dc=example"), vec![]),
        (extended(proto::ext::who_am_i::OID), vec![proxied_authorization::control(b"u:ada")]),
        (extended(proto::ext::start_transaction::OID), vec![]),
        (extended(b"1.2.3"), vec![]),
        (bind(ADA, "wrong"), vec![]),
    ];
    requests
        .iter()
        .flat_map(|(request, controls)| {
            let bytes = client.encode(request, controls).1;
            client.exchange(&bytes).0
        })
        .collect()
}

/// Elements of BER, each with its tag and its contents; panics at a length that is not definite.
fn elements(mut bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let mut all = Vec::new();
    while let [tag, first, rest @ ..] = bytes {
        assert_ne!(*first, 0x80, "only the definite form of length is used");
        let (len, rest) = match first {
            0..0x80 => (usize::from(*first), rest),
            _ => {
                let (octets, rest) = rest.split_at(usize::from(first & 0x7f));
                (octets.iter().fold(0, |len, octet| len << 8 | usize::from(*octet)), rest)
            }
        };
        let (contents, rest) = rest.split_at(len);
        all.push((*tag, contents));
        bytes = rest;
    }
    assert!(bytes.is_empty(), "{bytes:x?}");
    all
}

/// Looks at an element and all within it.
fn look_into((element, contents): (u8, &[u8]), count: &mut usize) {
    *count += 1;
    assert!(!matches!(element, 0x24 | 0x2c), "strings are primitive");
    match element {
        0x01 => assert_eq!(contents, [0xff], "TRUE is FF, and FALSE is nowhere but a default"),
        0x02 | 0x0a => assert!(
            !contents.is_empty()
                && (contents.len() == 1 || !matches!((contents[0], contents[1] >> 7), (0, 0) | (0xff, 1))),
            "numbers have no more octets than they need: {contents:x?}"
        ),
        _ if element & 0x20 != 0 => elements(contents).into_iter().for_each(|inner| look_into(inner, count)),
        _ => {}
    }
}

/// "Only the definite form of length encoding is used. OCTET STRING values are encoded in the primitive form only. If the value of a BOOLEAN type is
/// true, the encoding of the value octet is set to hex "FF". If a value of a type is its default value, it is absent."
#[test]
fn s5_1_what_is_sent() {
    let (sent, mut count) = (all_kinds(), 0);
    for message in elements(&sent) {
        assert_eq!(message.0, tag::SEQUENCE);
        look_into(message, &mut count);
        let parts = elements(message.1);
        assert!((2..=3).contains(&parts.len()) && parts[0].0 == tag::INTEGER, "id, operation, controls");
        for (_, control) in parts.get(2).iter().flat_map(|controls| elements(controls.1)) {
            // A type, and no criticality: those of answers are not critical, which is the default.
            let fields: Vec<u8> = elements(control).iter().map(|(tag, _)| *tag).collect();
            assert!(matches!(&fields[..], [4] | [4, 4]), "{fields:x?}");
        }
    }
    assert!(count > 300, "{count}");
    // Values of controls and of operations are BER as well.
    for answer in answers(&sent) {
        for (oid, value) in &answer.controls {
            if let Some(value) = value {
                elements(value).into_iter().for_each(|element| look_into(element, &mut count));
                assert!(!value.is_empty(), "{oid}");
            }
        }
    }
}

/// "IntermediateResponse messages SHALL NOT be returned to the client unless the client issues a request that specifically solicits their return."
#[test]
fn s4_13_nothing_unsolicited() {
    for (_, message) in elements(&all_kinds()) {
        let operation = elements(message)[1].0;
        assert_ne!(operation, tag::INTERMEDIATE);
    }
}
