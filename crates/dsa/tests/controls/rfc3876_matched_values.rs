//! RFC 3876: returning matched values.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 2 | obeys the control on a search, critical or not | `s2_it_is_obeyed_whether_critical_or_not` |
//! | 2 | answers unavailableCriticalExtension to a critical one on another operation | `s2_other_operations` |
//! | 2 | ignores one that is not critical there | `s2_other_operations` |
//! | 2, 1 | finds the same entries as without it | `s2_1_it_finds_the_same_entries` |
//! | 2, 2 | typesOnly: as without it | `s2_2_types_only` |
//! | 2, 3 | the list `1.1`: as without it | `s2_3_no_attributes` |
//! | 2, 4 | applies it to every attribute that is listed: values that pass an item are returned | `s2_4_values_that_pass_any_item` |
//! | 2, 4 | others are not, also if the item is undefined; an attribute may be left without values | `s2_4_other_values_are_not_returned` |
//! | 2, note | applies it to all user attributes by an empty list or `*`, to operational ones by `+` | `s2_note_all_attributes` |
//! | 2 | a value that is no list of items is an error | `s2_what_is_no_list_of_items` |
//! | 4 | other controls bring no discarded value back | `s4_other_controls_bring_nothing_back` |
//! | 5 | the examples, but for that with certificateExactMatch, a rule that is not known here | `s5_*` |
//! | 6 | returns values only if the access rules allow it | `dsa: x1_*` |
//!
//! Not here: "SHOULD only be added to the Search operation", "SHOULD precede other controls" bind clients.

use super::check_table;
use crate::common::{ADA, Client, Found, Given, control, is_published};
use model::ResultCode::{AdminLimitExceeded, ProtocolError, Success, UnavailableCriticalExtension};
use model::Scope;
use model::limits::MATCHED_VALUES_ITEMS_MAX;
use proto::control::dereference::{self, DerefSpec};
use proto::control::matched_values::{OID, control as matched_values, encode};
use proto::control::{Control, domain_scope};
use proto::filter_string;
use proto::list::{Octets, octet_list};
use proto::op::ModifyKind;

const GROUP: &str = "cn=group,ou=groups,dc=example";
const BOB: &str = "uid=bob,ou=people,dc=example";

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc3876_matched_values.rs"));
}

/// The value of the control that asks for these items.
fn items(texts: &[&str]) -> Vec<u8> {
    let parsed: Vec<_> =
        texts.iter().map(|text| filter_string::parse(text.as_bytes()).expect("a filter")).collect();
    encode(&parsed.iter().map(|item| item.filter()).collect::<Vec<_>>())
}

fn read(client: &mut Client, dn: &str, attributes: &[&str], texts: &[&str]) -> Found {
    let value = items(texts);
    let controls = [matched_values(&value, true)];
    let found = client.search_with(dn, Scope::Base, "(objectClass=*)", attributes, |_| {}, &controls);
    assert_eq!(found.end.code, Success, "{}", found.end.text);
    found
}

fn some(values: &[&str]) -> Option<Vec<String>> {
    Some(values.iter().map(|value| (*value).to_owned()).collect())
}

fn with_group(members: &[&str]) -> Client {
    let mut client = Client::new();
    let group: Given<'_> =
        &[("objectClass", &["groupOfNames"]), ("member", members), ("description", &["one", "two"])];
    client.must_add(GROUP, group);
    client
}

#[test]
fn s2_it_is_obeyed_whether_critical_or_not() {
    assert!(is_published("supportedControl", OID));
    let mut client = Client::new();
    let value = items(&["(cn=ada king)"]);
    for critical in [true, false] {
        for (base, scope, filter) in [
            (ADA, Scope::Base, "(objectClass=*)"),
            ("dc=example", Scope::Subtree, "(sn=lovelace)"),
            ("dc=example", Scope::Subtree, "(uid=ada)"),
        ] {
            // Without it the form of the search is remembered, and asked for again.
            for _ in 0..3 {
                let all = client.search(base, scope, filter, &["cn"]);
                assert_eq!(all.values("cn"), some(&["Ada King", "Ada Lovelace"]));
                let controls = [matched_values(&value, critical)];
                let found = client.search_with(base, scope, filter, &["cn"], |_| {}, &controls);
                assert_eq!((found.end.code, found.values("cn")), (Success, some(&["Ada King"])), "{filter}");
            }
        }
    }
}

#[test]
fn s2_other_operations() {
    let mut client = Client::new();
    let value = items(&["(cn=*)"]);
    let (must, may) = ([matched_values(&value, true)], [matched_values(&value, false)]);
    let changes: &[(ModifyKind, &str, &[&str])] = &[(ModifyKind::Replace, "sn", &["King"])];
    assert_eq!(client.modify_with(ADA, changes, &must).end.code, UnavailableCriticalExtension);
    assert_eq!(client.compare_with(ADA, "sn", "King", &must).end.code, UnavailableCriticalExtension);
    assert_eq!(client.modify_with(ADA, changes, &may).end.code, Success);
    assert_eq!(client.delete_with(ADA, &must).end.code, UnavailableCriticalExtension);
    assert_eq!(client.delete_with(ADA, &may).end.code, Success);
}

#[test]
fn s2_1_it_finds_the_same_entries() {
    let mut client = with_group(&[ADA]);
    for filter in ["(objectClass=*)", "(objectClass=person)", "(!(cn=ada king))", "(sn=hopper)"] {
        let expected = client.search("dc=example", Scope::Subtree, filter, &["cn"]);
        let value = items(&["(cn=ada king)"]);
        let controls = [matched_values(&value, true)];
        let found = client.search_with("dc=example", Scope::Subtree, filter, &["cn"], |_| {}, &controls);
        assert_eq!(found.dns(), expected.dns(), "{filter}");
        assert_eq!(found.end.code, Success);
    }
}

#[test]
fn s2_2_types_only() {
    let mut client = Client::new();
    let expected =
        client.search_with(ADA, Scope::Base, "(cn=*)", &[], |search| search.types_only = true, &[]);
    let value = items(&["(cn=ada king)"]);
    let controls = [matched_values(&value, true)];
    let found =
        client.search_with(ADA, Scope::Base, "(cn=*)", &[], |search| search.types_only = true, &controls);
    assert_eq!(found.entries, expected.entries);
}

#[test]
fn s2_3_no_attributes() {
    let mut client = Client::new();
    assert_eq!(read(&mut client, ADA, &["1.1"], &["(cn=*)"]).names(), [""; 0]);
    // With others it stands for nothing, and these are asked for.
    assert_eq!(read(&mut client, ADA, &["1.1", "sn"], &["(cn=*)"]).values("sn"), some(&[]));
}

#[test]
fn s2_4_values_that_pass_any_item() {
    let mut client = with_group(&[ADA, BOB]);
    let mut values =
        |dn, attribute, texts: &[&str]| read(&mut client, dn, &[attribute], texts).values(attribute);
    for (texts, expected) in [
        (&["(cn=ADA  king)"][..], &["Ada King"][..]),
        (&["(cn=*king)"], &["Ada King"]),
        (&["(cn=*d*)"], &["Ada King", "Ada Lovelace"]),
        (&["(cn=*)"], &["Ada King", "Ada Lovelace"]),
        (&["(cn~=ada king)"], &["Ada King"]),
        (&["(cn:caseExactMatch:=Ada King)"], &["Ada King"]),
        (&["(cn:caseExactMatch:=ada king)"], &[]),
        (&["(:caseIgnoreMatch:=ada king)"], &["Ada King"]),
        (&["(name=ada king)"], &["Ada King"]),
        (&["(cn=ada king)", "(cn=ada lovelace)"], &["Ada King", "Ada Lovelace"]),
        (&["(cn=ada king)", "(cn=king)", "(cn=ADA KING)"], &["Ada King"]),
        (&["(sn=ada king)"], &[]),
        (&[], &[]),
    ] {
        assert_eq!(values(ADA, "cn", texts), some(expected), "{texts:?}");
    }
    let of_group = |value: &str| format!("(member={value})");
    assert_eq!(values(GROUP, "member", &[&of_group("UID=Ada, ou=people,dc=example")]), some(&[ADA]));
    for (texts, expected) in [
        (&["(objectClass=top)"][..], &["top"][..]),
        (&["(objectClass=inetOrgPerson)", "(objectClass=nonsense)"], &["inetOrgPerson"]),
        (&["(cn=top)"], &[]),
    ] {
        assert_eq!(values(ADA, "objectClass", texts), some(expected), "{texts:?}");
    }
    // Greater and less, by the ordering rule.
    client.must_add(
        "cn=numbers,dc=example",
        &[
            ("objectClass", &["device", "extensibleObject"]),
            ("uidNumber", &["5"]),
            ("serialNumber", &["aa", "bb", "cc"]),
        ],
    );
    let mut of =
        |attribute, text| read(&mut client, "cn=numbers,dc=example", &[attribute], &[text]).values(attribute);
    assert_eq!(of("uidNumber", "(uidNumber>=5)"), some(&["5"]));
    assert_eq!(of("uidNumber", "(uidNumber>=10)"), some(&[]));
    assert_eq!(of("uidNumber", "(uidNumber<=10)"), some(&["5"]));
}

/// With options: an item is about what a filter with it would be about.
#[test]
fn s2_4_other_values_are_not_returned() {
    let mut client = Client::new();
    let found = read(&mut client, ADA, &["cn", "sn", "userPassword"], &["(cn=adelaide)"]);
    assert_eq!(found.names(), ["cn", "cn;lang-fr", "sn", "userPassword"]);
    assert_eq!(found.values("cn"), some(&[]));
    assert_eq!(found.values("cn;lang-fr"), some(&["Adelaide"]));
    assert_eq!(found.values("sn"), some(&[]));
    let found = read(&mut client, ADA, &["cn"], &["(cn;lang-fr-=*)"]);
    assert_eq!((found.values("cn"), found.values("cn;lang-fr")), (some(&[]), some(&["Adelaide"])));
    // Undefined: no such type, no rule, no value of the syntax.
    for text in ["(nonsense=*)", "(cn>=a)", "(sn:nonsense:=x)", "(seeAlso=no DN)", "(jpegPhoto=x)"] {
        assert_eq!(read(&mut client, ADA, &["cn"], &[text]).values("cn"), some(&[]), "{text}");
    }
    // What is not there stays so.
    assert_eq!(read(&mut client, ADA, &["mail"], &["(mail=*)"]).names(), [""; 0]);
}

#[test]
fn s2_note_all_attributes() {
    let mut client = Client::new();
    for list in [&[][..], &["*"], &["*", "sn"]] {
        let found = read(&mut client, ADA, list, &["(sn=*)", "(objectClass=person)", "(createTimestamp=*)"]);
        assert_eq!(found.values("objectClass"), some(&["person"]), "{list:?}");
        assert_eq!(found.values("sn"), some(&["Lovelace"]));
        let all = found.names();
        assert!(
            all.iter().all(|name| ["sn", "objectClass"].contains(name) || found.values(name) == some(&[]))
        );
        assert!(all.contains(&"uid") && !all.contains(&"createTimestamp"));
    }
    let found = read(&mut client, ADA, &["+"], &["(entryDN=*)", "(sn=*)", "(hasSubordinates=TRUE)"]);
    assert_eq!(found.values("entryDN"), some(&[ADA]));
    assert_eq!(found.values("hasSubordinates"), some(&[]));
    assert_eq!(found.values("entryUUID"), some(&[]));
    assert_eq!(found.values("sn"), None);
    // Of the server's own entries, too.
    let root = read(&mut client, "", &["supportedControl"], &["(supportedControl=1.2.840.113556.1.4.319)"]);
    assert_eq!(root.values("supportedControl"), some(&["1.2.840.113556.1.4.319"]));
}

#[test]
fn s2_what_is_no_list_of_items() {
    let mut client = Client::new();
    let mut code = |controls: &[Control<'_>]| {
        client.search_with(ADA, Scope::Base, "(cn=*)", &["cn"], |_| {}, controls).end.code
    };
    for text in ["(&(cn=*))", "(|(cn=*))", "(!(cn=*))", "(cn:dn:=a)"] {
        let value = items(&[text]);
        for critical in [true, false] {
            assert_eq!(code(&[matched_values(&value, critical)]), ProtocolError, "{text}");
        }
    }
    assert_eq!(code(&[Control { oid: OID, critical: true, value: None }]), ProtocolError);
    assert_eq!(code(&[control(OID, b"\x30\x01", false)]), ProtocolError);
    let value = items(&["(cn=*)"]);
    assert_eq!(code(&[matched_values(&value, true), matched_values(&value, true)]), ProtocolError);
    let most = items(&vec!["(cn=*)"; MATCHED_VALUES_ITEMS_MAX as usize]);
    assert_eq!(code(&[matched_values(&most, true)]), Success);
    let more = items(&vec!["(cn=*)"; MATCHED_VALUES_ITEMS_MAX as usize + 1]);
    assert_eq!(code(&[matched_values(&more, true)]), AdminLimitExceeded);
}

/// "Once the attribute values have been discarded by this control, they MUST NOT be re-instated into the Search results by other controls."
#[test]
fn s4_other_controls_bring_nothing_back() {
    let mut client = with_group(&[ADA, "uid=grace,ou=people,dc=example"]);
    let value = items(&[&format!("(member={ADA})")]);
    let names = octet_list([&b"sn"[..]]);
    let attributes = Octets::parse(&names).expect("just encoded");
    let spec = dereference::encode(&[DerefSpec { attribute: b"member", attributes }]);
    let controls =
        [matched_values(&value, true), dereference::control(&spec, true), domain_scope::control(true)];
    let (entries, brought) = super::dereference::search(&mut client, GROUP, &["member"], &controls);
    assert_eq!(entries[0].1, [("member".to_owned(), vec![ADA.as_bytes().to_vec()])]);
    assert_eq!(brought, [vec![(ADA.to_owned(), vec!["sn: Lovelace".to_owned()])]]);
}

/// "set to ((mail=*hotmail.com)(telephoneNumber=*))"
#[test]
fn s5_first_example() {
    let mut client = Client::new();
    const DN: &str = "cn=Sean Mullan,ou=people,dc=example";
    client.must_add(
        DN,
        &[
            ("objectClass", &["inetOrgPerson"]),
            ("sn", &["Mullan"]),
            ("mail", &["sean.mullan@hotmail.com", "mullan@east.sun.com"]),
            ("telephoneNumber", &["+ 781 442 0926", "555-9999"]),
        ],
    );
    let value = items(&["(mail=*hotmail.com)", "(telephoneNumber=*)"]);
    for list in [&["mail", "telephoneNumber"][..], &["*"]] {
        let controls = [matched_values(&value, true)];
        let found = client.search_with("dc=example", Scope::Subtree, "(sn=mullan)", list, |_| {}, &controls);
        assert_eq!(found.dns(), [DN]);
        assert_eq!(found.values("mail"), some(&["sean.mullan@hotmail.com"]));
        assert_eq!(found.values("telephoneNumber"), some(&["+ 781 442 0926", "555-9999"]));
    }
}

/// "how one might retrieve a single attribute type subschema definition"
#[test]
fn s5_second_example() {
    let mut client = Client::new();
    let found = read(&mut client, "cn=Subschema", &["attributeTypes"], &["(attributeTypes=2.5.4.3)"]);
    let values = found.values("attributeTypes").expect("it is there");
    assert_eq!(values.len(), 1);
    assert!(values[0].starts_with("( 2.5.4.3 NAME ( 'cn' 'commonName' )"), "{values:?}");
}

/// A set that has its own tree is asked as one in the record is.
#[test]
fn s2_4_values_that_pass_any_item_of_a_large_set() {
    let names: Vec<String> = (0..3_000).map(|n| format!("uid=n{n},ou=people,dc=example")).collect();
    let members: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut client = with_group(&members);
    let mut values = |texts: &[&str]| read(&mut client, GROUP, &["member"], texts).values("member");
    assert_eq!(values(&["(member=UID=n7, ou=people,dc=example)"]), some(&[&names[7]]));
    assert_eq!(values(&["(member=uid=n7,ou=people,dc=example)", "(member=uid=x)"]), some(&[&names[7]]));
    assert_eq!(values(&["(member=uid=x)"]), some(&[]));
    assert_eq!(values(&["(cn=*)"]), some(&[]));
    assert_eq!(values(&["(member=*)"]).map(|values| values.len()), Some(3_000));
    let two = [
        "(member=uid=n7,ou=people,dc=example)",
        "(member:distinguishedNameMatch:=uid=n8,ou=people,dc=example)",
    ];
    assert_eq!(values(&two), some(&[&names[7], &names[8]]));
}
