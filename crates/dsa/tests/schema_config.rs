//! Definitions in the form of OpenLDAP: entries below `cn=schema,cn=config` are added and modified, and the subschema changes.

mod common;

use common::journal::journaled;
use common::schema_changes::{each, shown};
use common::{ADA, Client, Given, Outcome};
use dsa::SUBSCHEMA_DN;
use model::ResultCode::{self, *};
use model::Scope;
use proto::control::{Control, assertion, manage_dsa_it, no_op, read_entry, transaction_specification};
use proto::ext::start_transaction;
use proto::op::ModifyKind::{self, Add, Delete, Increment, Replace};
use proto::op::{Extended, ModifyDn};
use proto::{Request, tag};

const BASE: &str = "cn=schema,cn=config";
const WINES: &str = "cn=wines,cn=schema,cn=config";
const ROOT: &str = "wines 1.3.6.1.4.1.99999";
const TASTE: &str = "{0}( Wines:1.1 NAME 'taste' SUP name )";
const WINE: &str = "( wines:2.1 NAME 'wine' SUP top STRUCTURAL MUST cn MAY taste )";
const RED: &str = "cn=red,ou=groups,dc=example";

/// Adds an entry of the class with these attributes besides.
fn add(client: &mut Client, dn: &str, attributes: Given<'_>) -> Outcome {
    let class: Given<'_> = &[("objectClass", &["olcSchemaConfig"])];
    client.add(dn, &[class, attributes].concat())
}

fn wines(client: &mut Client) -> Outcome {
    let wines: Given<'_> = &[
        ("cn", &["wines"]),
        ("olcObjectClasses", &[WINE]),
        ("olcAttributeTypes", &[TASTE]),
        ("olcObjectIdentifier", &[ROOT]),
    ];
    add(client, WINES, wines)
}

fn is(outcome: &Outcome, code: ResultCode, text: &str) {
    assert_eq!(outcome.code, code, "{}", outcome.text);
    assert!(outcome.text.contains(text) && text.is_empty() == outcome.text.is_empty(), "{}", outcome.text);
}

#[test]
fn an_added_entry_is_an_addition_to_the_subschema() {
    each(|client| {
        let added = wines(client);
        is(&added, Success, "");
        assert_eq!(added.tag, tag::ADD_RESPONSE);
        client.must_add(RED, &[("objectClass", &["wine"]), ("cn", &["red"]), ("taste", &["dry"])]);
        assert_eq!(shown(client, "attributeTypes", "( 1.3.6.1.4.1.99999.1.1 NAME 'taste' SUP name )"), 1);
        assert_eq!(shown(client, "objectClasses", "( 1.3.6.1.4.1.99999.2.1 NAME 'wine'"), 1);
        // The entry itself is not kept. That above it is there.
        assert_eq!(client.read(WINES, &[]).end.code, NoSuchObject);
        for (scope, count) in [(Scope::Base, 1), (Scope::One, 0), (Scope::Subtree, 1)] {
            let found = client.search(BASE, scope, "(objectClass=*)", &["cn"]);
            assert_eq!((found.end.code, found.entries.len()), (Success, count), "{scope:?}");
        }
        assert_eq!(
            client.read("CN=Schema, cn=config", &["cn"]).values("cn"),
            Some(vec!["schema".to_owned()])
        );
        // What is there already is no fault, and nothing is changed.
        let since =
            |client: &mut Client| client.read(SUBSCHEMA_DN, &["modifyTimestamp"]).values("modifyTimestamp");
        let before = since(client);
        is(&wines(client), Success, "");
        let with_index: Given<'_> = &[
            ("CN", &["{12}WINES"]),
            ("OLCAttributeTypes", &["{0}( 1.3.6.1.4.1.99999.1.1 NAME 'Taste' DESC 'x' SUP name )"]),
        ];
        is(&add(client, "cn={12}wines, CN=Schema , cn=config", with_index), Success, "");
        assert_eq!(since(client), before);
        // Beside what is there, the rest is added.
        let more: Given<'_> = &[
            ("olcObjectIdentifier", &["{1}w v:4.1", "{0}v 1.3.6.1"]),
            (
                "olcAttributeTypes",
                &["{0}( w:99999.1.1 NAME 'taste' SUP name )", "{1}( w:99999.1.2 NAME 'smell' SUP taste )"],
            ),
            ("olcDitContentRules", &["( w:99999.2.1 NAME 'wineRule' NOT smell )"]),
            ("olcLdapSyntaxes", &["( 1.3.6.1.4.1.1466.115.121.1.15 DESC 'text' )"]),
        ];
        is(&add(client, "cn={13}more,cn=schema,cn=config", more), Success, "");
        assert_eq!(
            shown(client, "attributeTypes", "'smell'") + shown(client, "dITContentRules", "wineRule"),
            2
        );
        let smell = client.modify(RED, &[(Add, "smell", &["x"])]);
        assert_eq!(smell.code, ObjectClassViolation);
    });
}

#[test]
fn the_log_has_the_modify_of_the_subschema_alone() {
    let (mut client, log) = journaled();
    client.bind_root();
    let count = || log.lock().expect("nobody panicked").len();
    let before = count();
    is(&wines(&mut client), Success, "");
    let records = log.lock().expect("nobody panicked");
    let record = &records.last().expect("it was logged").0;
    let has = |text: &str| record.windows(text.len()).any(|bytes| bytes == text.as_bytes());
    assert!(has(SUBSCHEMA_DN) && has("1.3.6.1.4.1.99999.1.1") && !has("olc") && !has("cn=schema"));
    drop(records);
    // What is there takes no place in it, and no more does what is refused.
    is(&wines(&mut client), Success, "");
    let other: Given<'_> = &[("olcAttributeTypes", &["( 1.3.6.1.4.1.99999.1.1 NAME 'other' SUP name )"])];
    assert_eq!(add(&mut client, WINES, other).code, UnwillingToPerform);
    assert_eq!(count(), before + 1);
}

#[test]
fn all_of_an_entry_is_added_or_nothing() {
    each(|client| {
        let mut one = |attributes: Given<'_>, code: ResultCode, text: &str| {
            let outcome = add(client, WINES, attributes);
            assert_eq!(outcome.tag, tag::ADD_RESPONSE);
            is(&outcome, code, text);
        };
        let with = |other: &'static str| [TASTE, other];
        let macros: (&str, &[&str]) = ("olcObjectIdentifier", &[ROOT]);
        one(
            &[macros, ("olcAttributeTypes", &with("( wines:1.2 NAME 'smell' SUP nothing )"))],
            ConstraintViolation,
            "'nothing'",
        );
        one(
            &[macros, ("olcAttributeTypes", &with("( wines:1.1 NAME 'smell' SUP name )"))],
            AttributeOrValueExists,
            "twice",
        );
        one(
            &[macros, ("olcAttributeTypes", &with("( other:1 NAME 'smell' SUP name )"))],
            InvalidAttributeSyntax,
            "'other:1'",
        );
        one(&[macros, ("olcAttributeTypes", &with("smell"))], InvalidAttributeSyntax, "cannot be read");
        one(&[macros, ("olcAttributeTypes", &with("{4}"))], InvalidAttributeSyntax, "numbers in braces");
        one(
            &[("olcObjectIdentifier", &["wines"]), ("olcAttributeTypes", &[TASTE])],
            InvalidAttributeSyntax,
            "a name and an OID",
        );
        one(
            &[macros, ("olcAttributeTypes", &[TASTE]), ("olcLdapSyntaxes", &["( wines:3 DESC 'x' )"])],
            UnwillingToPerform,
            "syntaxes come with the program",
        );
        one(&[macros], UnwillingToPerform, "no definitions");
        one(&[("cn", &["wines"])], UnwillingToPerform, "no definitions");
        one(
            &[("cn", &["vines"]), macros, ("olcAttributeTypes", &[TASTE])],
            NamingViolation,
            "cn is another one",
        );
        one(
            &[("description", &["x"]), macros, ("olcAttributeTypes", &[TASTE])],
            ObjectClassViolation,
            "\"description\"",
        );
        one(
            &[("attributeTypes", &["( 1.2.3.4 NAME 'x' SUP name )"])],
            ObjectClassViolation,
            "\"attributeTypes\"",
        );
        let long = format!("( wines:1.3 NAME 'long' DESC '{}' SUP name )", "x".repeat(1 << 20));
        one(&[macros, ("olcAttributeTypes", &[&long])], AdminLimitExceeded, "bytes at most");
        let kinds: &[&str] = &["( 1.2.3.4 NAME 'smell' SUP name )"];
        let of = |client: &mut Client, classes: &[&str], dn: &str| {
            client.add(dn, &[("objectClass", classes), ("olcAttributeTypes", kinds)])
        };
        is(&of(client, &["top"], WINES), ObjectClassViolation, "olcSchemaConfig");
        is(&of(client, &["olcSchemaConfig", "person"], WINES), ObjectClassViolation, "\"person\"");
        is(
            &of(client, &["olcSchemaConfig"], "ou=wines,cn=schema,cn=config"),
            NamingViolation,
            "named by one cn",
        );
        is(
            &of(client, &["olcSchemaConfig"], "cn=a+sn=b,cn=schema,cn=config"),
            NamingViolation,
            "named by one cn",
        );
        is(&of(client, &["olcSchemaConfig"], BASE), EntryAlreadyExists, BASE);
        // Elsewhere below the configuration nothing is added.
        for dn in ["cn=x,cn=wines,cn=schema,cn=config", "cn=x,cn=config", "cn=schema,cn=x,cn=config"] {
            assert_eq!(of(client, &["olcSchemaConfig"], dn).code, UnwillingToPerform, "{dn}");
        }
        assert_eq!(
            shown(client, "attributeTypes", "'taste'") + shown(client, "attributeTypes", "'smell'"),
            0
        );
        // Classes that OpenLDAP's own entries have.
        is(&of(client, &["TOP", "olcConfig", "OLCSCHEMACONFIG"], WINES), Success, "");
    });
}

#[test]
fn what_the_standard_schema_defines_otherwise_stays_and_is_named() {
    each(|client| {
        let person: Given<'_> = &[
            (
                "olcObjectClasses",
                &["( 2.5.6.6 NAME 'person' DESC 'RFC2256: a person' SUP top STRUCTURAL MUST cn )"],
            ),
            ("olcAttributeTypes", &["( 2.5.4.4 NAME ( 'sn' 'surname' ) DESC 'RFC2256: last' SUP name )"]),
        ];
        let said = "the standard schema has other definitions of 'person' (2.5.6.6), which stay as they are";
        let outcome = add(client, WINES, person);
        assert_eq!((outcome.code, &outcome.text[..]), (Success, said));
        let taste: Given<'_> = &[("olcAttributeTypes", &["( 1.3.6.1.4.1.99999.1.1 NAME 'taste' SUP name )"])];
        let with_more = [person, taste].concat();
        let outcome = add(client, WINES, &with_more);
        assert_eq!((outcome.code, &outcome.text[..]), (Success, said));
        assert_eq!(shown(client, "attributeTypes", "'taste'"), 1);
        assert_eq!(shown(client, "objectClasses", "NAME 'person' SUP top STRUCTURAL MUST ( sn $ cn )"), 1);
        // What was added is no standard, and only a modify changes it.
        let other: Given<'_> =
            &[("olcAttributeTypes", &["( 1.3.6.1.4.1.99999.1.1 NAME 'taste' SUP name SINGLE-VALUE )"])];
        is(&add(client, WINES, other), UnwillingToPerform, "delete it and add it in one modify");
    });
}

#[test]
fn a_modify_of_an_entry_is_one_of_the_subschema() {
    each(|client| {
        is(&wines(client), Success, "");
        let changed = client.modify(
            WINES,
            &[
                (Delete, "olcAttributeTypes", &["{0}( wines:1.1 NAME 'taste' )"]),
                (Add, "olcAttributeTypes", &["{0}( wines:1.1 NAME ( 'taste' 'flavour' ) SUP name )"]),
                (Add, "olcObjectIdentifier", &[ROOT]),
            ],
        );
        is(&changed, Success, "");
        assert_eq!(changed.tag, tag::MODIFY_RESPONSE);
        assert_eq!(shown(client, "attributeTypes", "'flavour'"), 1);
        let smell = "( 1.3.6.1.4.1.99999.1.2 NAME 'smell' SUP name )";
        for (dn, code) in [("cn={0}any,cn=schema,cn=config", Success), (BASE, AttributeOrValueExists)] {
            assert_eq!(client.modify(dn, &[(Add, "olcAttributeTypes", &[smell])]).code, code);
        }
        is(&client.modify(BASE, &[(Delete, "olcAttributeTypes", &[smell])]), Success, "");
        let mut refused = |change: (ModifyKind, &str, &[&str]), code: ResultCode, text: &str| {
            is(&client.modify(WINES, &[change]), code, text);
        };
        refused((Delete, "olcAttributeTypes", &[smell]), NoSuchAttribute, "there is no attribute type");
        refused((Delete, "olcAttributeTypes", &[]), UnwillingToPerform, "name the definitions");
        refused((Delete, "olcAttributeTypes", &["{0}"]), InvalidAttributeSyntax, "numbers in braces");
        refused((Add, "olcAttributeTypes", &[]), ProtocolError, "no values");
        refused((Replace, "olcAttributeTypes", &[smell]), UnwillingToPerform, "one by one");
        refused((Increment, "olcAttributeTypes", &["1"]), UnwillingToPerform, "one by one");
        refused((Delete, "olcObjectIdentifier", &[ROOT]), UnwillingToPerform, "not kept");
        refused((Add, "olcObjectIdentifier", &[ROOT]), UnwillingToPerform, "no definitions");
        refused(
            (Delete, "olcLdapSyntaxes", &["( 1.2.3 )"]),
            UnwillingToPerform,
            "syntaxes come with the program",
        );
        refused((Replace, "cn", &["x"]), ObjectClassViolation, "\"cn\"");
        is(&client.modify(WINES, &[]), Success, "");
        // The entry cannot be deleted or renamed: it says what to do.
        for request in [
            Request::Delete(WINES.as_bytes()),
            Request::Delete(BASE.as_bytes()),
            Request::ModifyDn(ModifyDn {
                dn: WINES.as_bytes(),
                new_rdn: b"cn=x",
                delete_old_rdn: true,
                new_superior: None,
            }),
        ] {
            is(&client.end(&request), UnwillingToPerform, "delete definitions by a modify of cn=Subschema");
        }
        let gone = client.modify(
            WINES,
            &[
                (Delete, "olcAttributeTypes", &["( 1.3.6.1.4.1.99999.1.1 NAME 'taste' SUP name )"]),
                (Delete, "olcObjectClasses", &["( 1.3.6.1.4.1.99999.2.1 NAME 'wine' )"]),
            ],
        );
        is(&gone, Success, "");
        assert_eq!(shown(client, "attributeTypes", "'taste'") + shown(client, "objectClasses", "'wine'"), 0);
    });
}

#[test]
fn rights_are_those_on_the_subschema() {
    let mut config = common::config();
    let rules = [
        "types: base=\"cn=Subschema\" attrs=attributeTypes; dn=\"uid=ada,ou=people,dc=example\"; allow=add"
            .to_owned(),
        "config: subtree=\"cn=config\"; dn=\"uid=grace,ou=people,dc=example\"; allow=see".to_owned(),
    ];
    config.settings.configured.access.rules = access::parse_all(&rules).expect("it is sound");
    let mut client = Client::with(config);
    let grace = "uid=grace,ou=people,dc=example";
    assert_eq!(client.modify(grace, &[(Add, "userPassword", &["hopper"])]).code, Success);
    client.bind(ADA, "lace");
    let lacking = "insufficient rights";
    // The class is more than she may add. That is said before anything of what is there, and of the form.
    is(&wines(&mut client), InsufficientAccessRights, lacking);
    let class: Given<'_> = &[("olcObjectClasses", &["( 2.5.6.6 NAME 'person' )"])];
    is(&add(&mut client, WINES, class), InsufficientAccessRights, lacking);
    is(&add(&mut client, BASE, class), InsufficientAccessRights, lacking);
    let other: Given<'_> = &[("description", &["x"])];
    is(&add(&mut client, WINES, &[class, other].concat()), InsufficientAccessRights, lacking);
    let kind: Given<'_> = &[("olcAttributeTypes", &[TASTE]), ("olcObjectIdentifier", &[ROOT])];
    is(&add(&mut client, WINES, kind), Success, "");
    let gone = client.modify(WINES, &[(Delete, "olcAttributeTypes", &["( 1.3.6.1.4.1.99999.1.1 )"])]);
    is(&gone, InsufficientAccessRights, lacking);
    // She may not see the configuration, and change nothing else of it.
    assert_eq!(client.read(BASE, &[]).end.code, NoSuchObject);
    for dn in [WINES, BASE] {
        is(&client.delete(dn), InsufficientAccessRights, "only the root DN");
    }
    // Who may see it may not change it.
    client.bind(grace, "hopper");
    assert_eq!(client.read(BASE, &["cn"]).entries.len(), 1);
    is(&add(&mut client, WINES, kind), InsufficientAccessRights, lacking);
    client.bind("", "");
    is(&add(&mut client, WINES, kind), InsufficientAccessRights, "bind first");
    assert_eq!(client.read(BASE, &[]).end.code, NoSuchObject);
}

#[test]
fn who_may_not_see_the_subschema_is_answered_as_all_others_are() {
    let mut config = common::config();
    let rules = ["hidden: base=\"cn=Subschema\" attrs=entry,**; anyone; deny=see".to_owned()];
    config.settings.configured.access.rules = access::parse_all(&rules).expect("it is sound");
    let mut client = Client::with(config);
    client.bind(ADA, "lace");
    let outcome = wines(&mut client);
    is(&outcome, InsufficientAccessRights, "only the root DN may change the configuration");
    assert_eq!((outcome.tag, &outcome.matched[..]), (tag::ADD_RESPONSE, ""));
}

#[test]
fn controls_are_those_of_a_modify_of_the_subschema() {
    each(|client| {
        let attributes: Given<'_> = &[
            ("objectClass", &["olcSchemaConfig"]),
            ("olcAttributeTypes", &["( 1.3.6.1.4.1.99999.1.1 NAME 'taste' SUP name )"]),
        ];
        let filter = common::assertion("(objectClass=*)");
        let wanted = common::wanted(&["cn"]);
        let refused = [
            (no_op::OID, true, None),
            (no_op::OID, false, None),
            (assertion::OID, true, Some(&filter[..])),
            (read_entry::POST_OID, true, Some(&wanted[..])),
            (&b"1.2.3.4"[..], true, None),
        ];
        for (oid, critical, value) in refused {
            let end = client.add_with(WINES, attributes, &[Control { oid, critical, value }]).end;
            assert_eq!(end.code, UnavailableCriticalExtension, "{}", end.text);
        }
        let manage = Control { oid: manage_dsa_it::OID, critical: true, value: None };
        // Not in a transaction either.
        let begin = Extended { oid: start_transaction::OID, value: None };
        let txn = client.end(&Request::Extended(begin)).value.expect("there is an identifier");
        let end = client.add_with(WINES, attributes, &[transaction_specification::control(&txn)]).end;
        is(&end, UnwillingToPerform, "the schema cannot be changed in a transaction");
        assert_eq!(client.add_with(WINES, attributes, &[manage]).end.code, Success);
    });
}
