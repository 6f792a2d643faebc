//! Section 4.5.1.7: filters.

use crate::common::*;
use model::ResultCode::*;
use model::Scope;
use proto::{Request, tag};

const NOTHING: [&str; 0] = [];

/// Who is found under `ou=people`, by uid.
fn people(client: &mut Client, filter: &str) -> Vec<String> {
    let found = client.search("ou=people,dc=example", Scope::One, filter, &["1.1"]);
    assert_eq!(found.end.code, Success, "{filter}");
    let uid = |dn: &str| dn["uid=".len()..dn.find(',').expect("a DN of two RDNs")].to_owned();
    found.dns().into_iter().map(uid).collect()
}

/// Undefined filters find nothing, nor do their negations; with true ones "or" is true, with false ones "and" is
/// false.
#[test]
fn s4_5_1_7_three_values() {
    let mut client = Client::new();
    let both = ["ada", "grace"];
    for (filter, expected) in [
        ("(nonsense=x)", &NOTHING[..]),
        ("(!(nonsense=x))", &NOTHING),
        ("(!(objectClass=noSuchClass))", &NOTHING),
        ("(!(objectClass=1.2.3.4.5))", &both),
        ("(|(nonsense=x)(uid=ada))", &["ada"]),
        ("(!(|(nonsense=x)(uid=ada)))", &NOTHING),
        ("(&(nonsense=x)(uid=ada))", &NOTHING),
        ("(!(&(nonsense=x)(uid=ada)))", &["grace"]),
        ("(!(mail=*))", &["ada"]),
        ("(!(mail=g@h))", &["ada"]),
        ("(!(!(uid=ada)))", &["ada"]),
        ("(&)", &both),
        ("(|)", &NOTHING),
        ("(!(|))", &both),
    ] {
        assert_eq!(people(&mut client, filter), expected, "{filter}");
    }
}

/// Descriptions and rules that are not recognised, values that are invalid, syntaxes without the match: no errors,
/// but undefined.
#[test]
fn s4_5_1_7_undefined_filters_are_no_errors() {
    let mut client = Client::new();
    for item in [
        "nonsense=x",
        "nonsense=*",
        "nonsense>=x",
        "nonsense=*x*",
        "1.2.3.4.5=x",
        "createTimestamp=yesterday",
        "createTimestamp>=yesterday",
        "member=no DN",
        "cn:noSuchRule:=x",
        "cn:1.2.3.4:=x",
        "cn:integerMatch:=x",
        "cn:integerMatch:=1",
        "ou:dn:booleanMatch:=TRUE",
        ":noSuchRule:=x",
        "jpegPhoto>=x",
        "jpegPhoto=x",
        "jpegPhoto~=x",
        "objectClass>=person",
        "objectClass=noSuchClass",
        "objectClass:=noSuchClass",
        "createTimestamp=*2025*",
        "hasSubordinates=perhaps",
        "cn=\\ff\\fe",
    ] {
        for filter in [format!("({item})"), format!("(!({item}))")] {
            let found = client.search("dc=example", Scope::Subtree, &filter, &["1.1"]);
            let expected =
                if filter.contains("(!") && item.ends_with("=*") { found.entries.len() } else { 0 };
            assert_eq!((found.end.code, found.entries.len()), (Success, expected), "{filter}");
            assert_eq!(people(&mut client, &format!("(|{filter}(uid=ada))")), ["ada"], "{filter}");
        }
    }
}

/// An "initial" that is not the first and a "final" that is not the last, or more than one of them.
#[test]
fn s4_5_1_7_2_order_of_substrings() {
    let mut client = Client::new();
    let part = |n: u8| tlv(0x80 | n, b"a");
    for parts in [vec![1, 0], vec![2, 1], vec![0, 0], vec![2, 2], vec![2, 0]] {
        let parts = tlv(tag::SEQUENCE, &parts.into_iter().flat_map(part).collect::<Vec<u8>>());
        let filter = tlv(0xa4, &[tlv(tag::OCTET_STRING, b"cn"), parts].concat());
        let head: [&[u8]; 4] =
            [&tlv(tag::OCTET_STRING, b"dc=example"), &[10, 1, 2, 10, 1, 0], &[2, 1, 0, 2, 1, 0], &[1, 1, 0]];
        let search = tlv(tag::SEARCH, &[&head.concat()[..], &filter, &[0x30, 0]].concat());
        let (all, _) = client.raw(&message(77, &[&search]));
        assert_eq!(found(77, all).end.code, ProtocolError);
    }
    for (filter, expected) in [
        ("(cn=ada*)", &["ada"][..]),
        ("(cn=*HOPPER)", &["grace"]),
        ("(cn=a*l*ce)", &["ada"]),
        ("(cn=*ce*gr*)", &NOTHING),
    ] {
        assert_eq!(people(&mut client, filter), expected, "{filter}");
    }
}

/// Ordering and approximate matches.
#[test]
fn s4_5_1_7_3_ordering() {
    let mut client = Client::new();
    for (filter, expected) in [
        ("(createTimestamp>=20200101000000Z)", &["ada", "grace"][..]),
        ("(createTimestamp<=20200101000000Z)", &NOTHING),
        ("(employeeNumber=36)", &["ada"]),
        ("(cn~=grace hopper)", &["grace"]),
    ] {
        assert_eq!(people(&mut client, filter), expected, "{filter}");
    }
}

/// Without a rule the type must be there, and its equality rule is used; with a rule, that one.
#[test]
fn s4_5_1_7_7_extensible_matches() {
    let mut client = Client::new();
    for (filter, expected) in [
        ("(uid:=ADA)", &["ada"][..]),
        ("(cn:caseExactMatch:=ada lovelace)", &NOTHING),
        ("(cn:caseExactMatch:=Ada Lovelace)", &["ada"]),
        ("(ou:dn:=people)", &["ada", "grace"]),
        ("(ou:=people)", &NOTHING),
        ("(:caseExactMatch:=Hopper)", &["grace"]),
        ("(:dn:caseIgnoreMatch:=PEOPLE)", &["ada", "grace"]),
    ] {
        assert_eq!(people(&mut client, filter), expected, "{filter}");
    }
    // Neither rule nor type.
    let filter = tlv(0xa9, &tlv(0x83, b"x"));
    let head: [&[u8]; 4] =
        [&tlv(tag::OCTET_STRING, b"dc=example"), &[10, 1, 2, 10, 1, 0], &[2, 1, 0, 2, 1, 0], &[1, 1, 0]];
    let search = tlv(tag::SEARCH, &[&head.concat()[..], &filter, &[0x30, 0]].concat());
    let (all, _) = client.raw(&message(77, &[&search]));
    assert_eq!(found(77, all).end.code, ProtocolError);
}

/// A filter that is nested too deep or too long is refused, and the session goes on.
#[test]
fn s4_5_1_7_bounds() {
    let mut client = Client::new();
    let nested = |depth: usize| format!("{}(uid=ada){}", "(!".repeat(depth), ")".repeat(depth));
    let mut deep = tlv(0x87, b"cn");
    for _ in 0..model::limits::FILTER_DEPTH_MAX + 5 {
        deep = tlv(0xa2, &deep);
    }
    let head: [&[u8]; 4] =
        [&tlv(tag::OCTET_STRING, b"dc=example"), &[10, 1, 2, 10, 1, 0], &[2, 1, 0, 2, 1, 0], &[1, 1, 0]];
    let search = tlv(tag::SEARCH, &[&head.concat()[..], &deep, &[0x30, 0]].concat());
    let (all, _) = client.raw(&message(77, &[&search]));
    assert_eq!(found(77, all).end.code, AdminLimitExceeded);
    assert_eq!(people(&mut client, &nested(model::limits::FILTER_DEPTH_MAX - 2)), ["ada"]);
    for (item, count, code, found) in [
        ("(uid=ada)", 10_000, Success, 1),
        ("(cn=a*l*e)", 3_000, Success, 1),
        ("(uid=ada)", model::limits::FILTER_ITEMS_MAX + 1, AdminLimitExceeded, 0),
        (&format!("(cn={})", "x".repeat(1000)), 1100, AdminLimitExceeded, 0),
    ] {
        let item = proto::filter_string::parse(item.as_bytes()).expect("a filter");
        let wide = model::Filter::Or(vec![item.filter(); count]);
        let search = search_for("dc=example", Scope::Subtree, wide, &[]);
        let answer = client.ask(&Request::Search(search), &[]);
        assert_eq!((answer.end.code, answer.entries.len()), (code, found), "{count} items");
    }
}
