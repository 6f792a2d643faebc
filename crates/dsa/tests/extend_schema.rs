//! Definitions that are added to the schema by a modify of the subschema subentry (RFC 4512 section 4.4).

mod common;
mod rfc4512;

use common::journal::journaled;
use common::{Client, Given};
use dsa::SUBSCHEMA_DN;
use model::ResultCode::{self, *};
use model::Scope;
use proto::op::ModifyKind::{self, Add, Delete, Replace};

const BASE: &str = "dc=example";

fn definitions(client: &mut Client, attribute: &str) -> Vec<String> {
    client.read(SUBSCHEMA_DN, &[attribute]).values(attribute).unwrap_or_default()
}

/// Adds a type, a subtype and a class by one request, with numbers and names of their own.
fn extend(client: &mut Client, of: &str, number: u32) -> ResultCode {
    let arc = format!("1.3.6.1.4.1.99999.{number}");
    let kind = format!("( {arc}.1 NAME '{of}' SUP name )");
    let sub = format!("( {arc}.2 NAME '{of}Note' SUP {of} )");
    let class = format!("( {arc}.3 NAME '{of}Thing' SUP top STRUCTURAL MUST cn MAY ( {of} $ {of}Note ) )");
    // In an order in which no definition stands behind what it names.
    let changes: [(ModifyKind, &str, &[&str]); 2] =
        [(Add, "objectClasses", &[&class]), (Add, "attributeTypes", &[&sub, &kind])];
    client.modify(SUBSCHEMA_DN, &changes).code
}

/// What was added is there for a client that asked for it without effect before; in a directory with a log, and without one.
fn is_known_at_once(client: &mut Client, of: &str, number: u32) {
    let suffix: Given<'_> = &[("objectClass", &["domain"]), ("dc", &["example"])];
    client.bind_root();
    assert_eq!(client.add(BASE, suffix).code, Success);
    let (class, note) = (format!("{of}Thing"), format!("{of}Note"));
    let (dn, filter) = (format!("cn=x,{BASE}"), format!("({note}=sweet)"));
    let add = |client: &mut Client| {
        let entry: Given<'_> = &[("objectClass", &[&class]), ("cn", &["x"]), (&note, &["sweet"])];
        client.add(&dn, entry).code
    };
    let found = |client: &mut Client, filter: &str, wanted: &[&str]| {
        // The same requests come again and again: what a thread remembers of their forms must not hold.
        (0..3).map(|_| client.search(BASE, Scope::Subtree, filter, wanted).entries).next_back().unwrap()
    };
    assert_eq!(add(client), UndefinedAttributeType);
    assert!(found(client, &filter, &[&note]).is_empty());
    assert!(found(client, "(cn=x)", &[&note]).is_empty());
    let before = definitions(client, "matchingRuleUse");
    assert_eq!(extend(client, of, number), Success);
    assert_eq!(add(client), Success);
    for filter in [&filter[..], "(name=sweet)", &format!("({of}=sweet)"), "(cn=x)"] {
        let entries = found(client, filter, &[&note]);
        assert_eq!(entries.len(), 1, "{filter}");
        assert_eq!(entries[0].1.len(), 1, "{filter}");
    }
    assert_eq!(client.compare(&dn, &note, "SWEET").code, CompareTrue);
    assert!(definitions(client, "attributeTypes").iter().any(|text| text.contains(&note)));
    assert!(definitions(client, "objectClasses").iter().any(|text| text.contains(&class)));
    let after = definitions(client, "matchingRuleUse");
    assert!(before != after && after.iter().any(|text| text.contains(&note)));
    assert_eq!(extend(client, of, number), AttributeOrValueExists);
}

#[test]
fn what_was_added_is_known_at_once() {
    is_known_at_once(&mut Client::empty(common::config()), "taste", 1);
}

#[test]
fn what_was_added_through_the_log_is_known_at_once() {
    let (mut client, log) = journaled();
    is_known_at_once(&mut client, "smell", 2);
    let records = log.lock().expect("nobody panicked").len();
    // What is refused as things are takes no place in the log.
    assert_eq!(extend(&mut client, "smell", 2), AttributeOrValueExists);
    assert_eq!(log.lock().expect("nobody panicked").len(), records);
}

#[test]
fn an_index_holds_values_of_subtypes_that_come_later() {
    let mut config = common::config();
    let index = store::IndexSettings::of("name", [store::IndexKind::Equality, store::IndexKind::Substring]);
    config.store.indexes.push(index);
    let mut client = Client::empty(config);
    is_known_at_once(&mut client, "colour", 3);
    let found = client.search(BASE, Scope::Subtree, "(name=*wee*)", &["cn"]);
    assert_eq!(found.entries.len(), 1);
    assert!(client.dsa.shard().writer().check(10).is_empty());
    let gone = client.modify(&format!("cn=x,{BASE}"), &[(Replace, "colourNote", &["sour"])]);
    assert_eq!(gone.code, Success);
    assert!(client.search(BASE, Scope::Subtree, "(name=sweet)", &["cn"]).entries.is_empty());
    assert!(client.dsa.shard().writer().check(10).is_empty());
}

#[test]
fn what_is_no_addition_is_refused() {
    let mut client = Client::new();
    let cn = "( 2.5.4.3 NAME 'cn' SUP name )";
    let kind = "( 1.3.6.1.4.1.99999.4.1 NAME 'weight' SUP name )";
    let types = |kind, values: &'static [&'static str]| [(kind, "attributeTypes", values)];
    let mut refused = |changes: &[(ModifyKind, &str, &[&str])], code: ResultCode| {
        let outcome = client.modify(SUBSCHEMA_DN, changes);
        assert_eq!(outcome.code, code, "{changes:?}: {}", outcome.text);
        outcome.text
    };
    let text = refused(&types(Delete, &[]), UnwillingToPerform);
    assert!(text.contains("name the definitions"), "{text}");
    refused(&types(Replace, &["( 1.2.3.4 NAME 'a' SUP name )"]), UnwillingToPerform);
    refused(&[(Delete, "attributeTypes", &[cn]), (Add, "attributeTypes", &[cn])], UnwillingToPerform);
    refused(&[(Add, "ldapSyntaxes", &["( 1.2.3.4 DESC 'a' )"])], UnwillingToPerform);
    refused(&[(Add, "attributeTypes", &[kind]), (Add, "description", &["x"])], UnwillingToPerform);
    refused(&[(Add, "attributeTypes", &[kind]), (Add, "attributeTypes", &[kind])], AttributeOrValueExists);
    refused(&types(Add, &[]), ProtocolError);
    refused(&types(Add, &["no definition"]), InvalidAttributeSyntax);
    refused(&types(Add, &["( 1.2.3.4 NAME 'a' SUP nothing )"]), ConstraintViolation);
    refused(&types(Add, &["( 2.5.4.3 NAME 'cn' SUP name SINGLE-VALUE )"]), UnwillingToPerform);
    let class = "( 2.5.6.6 NAME 'person' SUP top STRUCTURAL MUST cn )";
    refused(&[(Add, "objectClasses", &[class])], ObjectClassModsProhibited);
    assert!(client.search("", Scope::Base, "(weight=x)", &["1.1"]).entries.is_empty());
    // Not by everybody, and not in a transaction.
    client.bind(common::ADA, "lace");
    assert_eq!(
        client.modify(SUBSCHEMA_DN, &[(Add, "attributeTypes", &[kind])]).code,
        InsufficientAccessRights
    );
    client.bind_root();
    assert_eq!(client.modify(SUBSCHEMA_DN, &[(Add, "attributeTypes", &[kind])]).code, Success);
}
