//! RFC 4519: the schema for user applications.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 1.1, 2 | has each attribute type as it is defined there | `s2_attribute_types`, `s2_number_of_definitions` |
//! | 1.1, 3 | has each object class as it is defined there | `s3_object_classes`, `s2_number_of_definitions` |
//! | 2 | knows the long names of X.520 as well | `s2_long_names` |
//! | 2.4 | takes labels of dc that are ASCII alone, as ToASCII makes them | `s2_4_labels_are_ascii` |
//! | 2.7, 2.18, RFC 4511 section 4.5.1 | finds the values of subtypes by `name` and `distinguishedName` | `s2_supertypes` |
//! | 2.41 | stores userPassword of any octets, and shows it to those who may read it alone | `dsa: s4_2_passwords_are_not_altered`, `dsa: x1_*` |
//! | 3 | wants what a class must have, and allows what it may have | `s3_entries_of_each_class` |
//!
//! It defines more: lengths that a server should take at least (RFC 2256), which bind nobody. `rfc4519_definitions.txt` has the definitions of
//! the text, one a line.
//!
//! Not here, and why:
//!
//! | section | sentence | reason |
//! |---|---|---|
//! | 2.4 | applications make labels of dc by ToASCII | binds applications |
//! | 2.7, 2.18 | clients do not rely on subtypes | binds clients |

use super::add_any;
use crate::common::*;
use dsa::SUBSCHEMA_DN;
use model::ResultCode::*;
use model::Scope;
use schema::definition::{
    AttributeTypeDefinition, ObjectClassDefinition, parse_attribute_type, parse_object_class,
};
use std::collections::BTreeSet;

const DEFINITIONS: &str = include_str!("rfc4519_definitions.txt");

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc4519_user_schema.rs"));
}

/// Definitions of the text: of classes, or of types.
fn defined(of_classes: bool) -> impl Iterator<Item = &'static str> {
    let is_class = |line: &str| line.contains(" STRUCTURAL ") || line.contains(" AUXILIARY ");
    DEFINITIONS.lines().filter(move |line| is_class(line) == of_classes)
}

/// What the server publishes.
fn published(attribute: &str) -> Vec<String> {
    Client::new().read(SUBSCHEMA_DN, &[attribute]).values(attribute).expect("there are some")
}

#[test]
fn s2_number_of_definitions() {
    assert_eq!((defined(false).count(), defined(true).count()), (43, 14));
}

#[test]
fn s2_attribute_types() {
    let published: Vec<AttributeTypeDefinition> = published("attributeTypes")
        .iter()
        .map(|text| parse_attribute_type(text).expect("it is one"))
        .collect();
    for line in defined(false) {
        let wanted = parse_attribute_type(line).expect("it is one");
        let own = published.iter().find(|own| own.oid == wanted.oid);
        let own = own.unwrap_or_else(|| panic!("{line} is there"));
        assert!(own.names.contains(&wanted.names[0]), "{line}: {:?}", own.names);
        let of = |definition: &AttributeTypeDefinition| {
            let rules = [&definition.equality, &definition.ordering, &definition.substring];
            (
                definition.sup.clone(),
                rules.map(|rule| rule.clone()),
                (definition.syntax.clone(), definition.single_value, definition.usage),
                [definition.obsolete, definition.collective, definition.no_user_modification],
            )
        };
        assert_eq!(of(own), of(&wanted), "{line}");
    }
}

#[test]
fn s3_object_classes() {
    let published: Vec<ObjectClassDefinition> =
        published("objectClasses").iter().map(|text| parse_object_class(text).expect("it is one")).collect();
    for line in defined(true) {
        let wanted = parse_object_class(line).expect("it is one");
        let own = published.iter().find(|own| own.oid == wanted.oid);
        let own = own.unwrap_or_else(|| panic!("{line} is there"));
        let set = |names: &[String]| {
            names.iter().map(|name| name.to_ascii_lowercase()).collect::<BTreeSet<String>>()
        };
        let of = |definition: &ObjectClassDefinition| {
            let [sup, must, mut may] =
                [&definition.sup, &definition.must, &definition.may].map(|names| set(names));
            // The text allows residentialPerson what it wants of it as well.
            may.retain(|name| !must.contains(name));
            let sets = [sup, must, may];
            (definition.names[0].clone(), definition.kind, definition.obsolete, sets)
        };
        assert_eq!(of(own), of(&wanted), "{line}");
    }
}

/// The names in X.520 and X.500 that the text has in parentheses.
#[test]
fn s2_long_names() {
    let mut client = Client::new();
    for (name, long) in [
        ("c", "countryName"),
        ("cn", "commonName"),
        ("dc", "domainComponent"),
        ("l", "localityName"),
        ("o", "organizationName"),
        ("ou", "organizationalUnitName"),
        ("sn", "surname"),
        ("st", "stateOrProvinceName"),
        ("street", "streetAddress"),
        ("uid", "userId"),
    ] {
        let value = if name == "c" { "GB" } else { "x" };
        let filter = format!("({long}={value})");
        assert!(super::is_found(&mut client, name, value, &filter), "{long}");
    }
}

#[test]
fn s2_supertypes() {
    let mut client = Client::new();
    for (attribute, filter) in
        [("cn", "(name=both)"), ("sn", "(name=both)"), ("title", "(name=*ot*)"), ("givenName", "(name=both)")]
    {
        assert!(super::is_found(&mut client, attribute, "Both", filter), "{attribute} {filter}");
    }
    for attribute in ["member", "owner", "roleOccupant", "seeAlso"] {
        assert!(
            super::is_found(&mut client, attribute, "cn=A,dc=x", "(distinguishedName=cn=a,dc=X)"),
            "{attribute}"
        );
    }
}

/// A value of each type that a class names.
fn value_of(name: &str) -> &'static str {
    match name {
        "c" => "GB",
        "member" | "owner" | "roleOccupant" | "seeAlso" | "uniqueMember" => "cn=a,dc=example",
        "preferredDeliveryMethod" => "any",
        "telexNumber" => "1$2$3",
        "searchGuide" => "person#sn$EQ",
        _ => "1",
    }
}

#[test]
fn s3_entries_of_each_class() {
    let mut client = Client::new();
    for line in defined(true) {
        let class = parse_object_class(line).expect("it is one");
        let (name, is_auxiliary) = (&class.names[0][..], line.contains(" AUXILIARY "));
        // What it needs, with that of its superior.
        let mut must: Vec<&str> = class.must.iter().map(String::as_str).collect();
        if class.sup == ["person"] {
            must.extend(["cn", "sn"]);
        }
        let classes: &[&str] = if is_auxiliary { &["locality", name] } else { &[name] };
        let naming = must.iter().copied().find(|name| *name == "cn").or(must.first().copied()).unwrap_or("l");
        let dn = match is_auxiliary {
            true => "street=1,dc=example".to_owned(),
            false => format!("{naming}={},dc=example", value_of(naming)),
        };
        let values: Vec<(&str, [&str; 1])> = must
            .iter()
            .copied()
            .chain(class.may.iter().map(String::as_str))
            .map(|name| (name, [value_of(name)]))
            .collect();
        let given = |without: Option<&str>, may: bool| {
            let mut all: Vec<(&str, &[&str])> = vec![("objectClass", classes)];
            let wanted = values.iter().take(if may { values.len() } else { must.len() });
            all.extend(
                wanted.filter(|(name, _)| Some(*name) != without).map(|(name, value)| (*name, &value[..])),
            );
            let mut seen = BTreeSet::new();
            all.retain(|(name, _)| seen.insert(name.to_ascii_lowercase()));
            all
        };
        for may in [false, true] {
            let end = client.add(&dn, &given(None, may));
            assert_eq!(end.code, Success, "{name}: {}", end.text);
            assert_eq!(client.delete(&dn).code, Success);
        }
        // Without one that it must have, if that is not the name, which brings it.
        for lacking in must.iter().filter(|lacking| is_auxiliary || **lacking != naming) {
            assert_eq!(
                client.add(&dn, &given(Some(lacking), true)).code,
                ObjectClassViolation,
                "{name} without {lacking}"
            );
        }
        let mut more = given(None, false);
        more.push(("gidNumber", &["1"]));
        assert_eq!(client.add(&dn, &more).code, ObjectClassViolation, "{name} with what it may not have");
    }
}

#[test]
fn s2_4_labels_are_ascii() {
    let mut client = Client::new();
    assert_eq!(add_any(&mut client, "cn=x,dc=example", &[("dc", &["xn--mnchen-3ya"])]), Success);
    assert_eq!(client.delete("cn=x,dc=example").code, Success);
    assert_eq!(add_any(&mut client, "cn=x,dc=example", &[("dc", &["m\u{fc}nchen"])]), InvalidAttributeSyntax);
    let found = client.search("dc=example", Scope::Base, "(dc=EXAMPLE)", &["1.1"]);
    assert_eq!(found.entries.len(), 1);
}
