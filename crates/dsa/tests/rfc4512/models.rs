//! RFC 4512: the information models. A test for each sentence that binds a server, besides those about content rules, name forms and structure rules,
//! which have files of their own.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 1.4, 2.5 | treats a type that it does not know, and what is no option, as unrecognised | `s2_5_what_is_not_recognized` |
//! | 2.2, 2.5 | knows a description by any case, by its OID, and with its options in any order | `s2_5_equivalent_descriptions` |
//! | 2.2 | lets no attribute have two values that are equivalent, and a single-valued one two | `s2_2_values_of_an_attribute` |
//! | 2.3.1 | lets an RDN name one of the siblings, however it is written, by values that the entry has | `s2_3_1_rdns` |
//! | 2.4.1 | takes no entry that belongs to an abstract class alone | `s2_4_1_abstract_classes` |
//! | 2.4, 4.1.1 | lets no class derive from one of a kind that it cannot derive from | `s2_4_superclasses` |
//! | 2.4.2 | wants one chain of structural classes, and keeps its last | `s2_4_2_one_structural_class` |
//! | 2.4.3 | lets auxiliary classes come and go | `s2_4_3_auxiliary_classes` |
//! | 2.5.1 | names nothing by a type without an equality rule, gives it no equivalent values, and asserts nothing of it | `s2_5_1_without_equality` |
//! | 2.5.1, 4.1.2 | takes no definition of a type that the text excludes | `s2_5_1_definitions_of_types` |
//! | 2.5.2 | takes a description for unrecognised whose option does not go with its type | `s2_5_2_options_and_types` |
//! | 2.5.2.1, 2.5.3 | finds and returns values by more general descriptions, each under its own | `s2_5_3_general_descriptions` |
//! | 2.5.3 | keeps the descriptions of a hierarchy apart in updates | `s2_5_3_updates` |
//! | 2.5.3 | meets MUST and MAY by the type itself with any options, not by subtypes | `s2_5_3_required_and_allowed` |
//! | 2.6 | has no entries below an alias, which needs an attribute that may name it | `s2_6_aliases` |
//! | 3.3 | adds superclasses, keeps those of what remains, the structural class, and the attribute | `s3_3_object_class` |
//! | 3.4 | returns operational attributes by name only, and lets nobody change those it maintains | `s3_4_operational_attributes` |
//! | 3.4.1-3.4.5 | says by whom and when an entry was added and modified, and its structural class | `s3_4_what_is_maintained` |
//! | 3.2, 4.2 | has a subschema subentry with all that the text lists, named by `cn` | `s4_2_the_subschema` |
//! | 4.1 | publishes definitions in the grammar, with what they inherit left out or the same | `s4_1_published_definitions` |
//! | 4.3 | lets extensibleObject have any user attribute, and still wants what other classes require | `s4_3_extensible_object` |
//! | 4.4 | says in each entry where its subschema is, which is found by `(objectClass=subschema)` | `s4_4_discovery` |
//! | 5.1 | has a root DSE, whose attributes are returned by name, and which no subtree has | `s5_1_root_dse` |
//! | 6.1 | returns the values of users as they were sent | `s6_1_preserved` |
//! | 6.2 | takes one short name for elements of different kinds | `s6_2_one_name_two_kinds` |
//! | 7.1 | knows all types and classes that the text defines | `s7_1_names_of_this_document` |
//!
//! Where it deviates:
//!
//! | section | the text | the server, and why | test |
//! |---|---|---|---|
//! | 2.4.3 | an entry whose structural class has no content rule has no auxiliary classes | allows all of them: no server in use holds to that, and no standard schema has the rules for it | `s2_4_3_auxiliary_classes` |
//! | 2.5.1 | values of a type without an equality rule are not added or deleted one by one | finds them byte by byte, as a client that sends back what it was sent expects | `s2_5_1_values_are_found_by_their_bytes` |
//! | 2.5.1, 4.1.2 | the syntax of a subtype refines that of its supertype | takes any: published schemas have such | `s2_5_1_a_subtype_of_another_syntax` |
//! | 2.5.2.1 | an option that is not recognised makes a description unrecognised | takes all options that the grammar has for tags | `s2_5_2_1_every_option_is_a_tag` |
//! | 5.1 | attributes of the root DSE are returned to those who name them | returns the user attributes with `*`, too, as its readers expect | `s5_1_the_root_dse_with_an_asterisk` |
//!
//! Section 6.3 is about copies of other servers' entries: a node of a cluster judges rights itself.

use super::with;
use crate::common::{ADA, Client, Given, START, check_table};
use dsa::SUBSCHEMA_DN;
use model::ResultCode::{self, *};
use model::Scope;
use proto::op::ModifyKind::{Add, Delete, Replace};
use schema::Builder;

const X: &str = "cn=x,dc=example";
const ROLE: (&str, &[&str]) = ("objectClass", &["organizationalRole"]);
const ANY: (&str, &[&str]) = ("objectClass", &["organizationalRole", "extensibleObject"]);
const DIRECTORY_STRING: &str = "1.3.6.1.4.1.1466.115.121.1.15";

#[test]
fn the_table_is_complete() {
    check_table(include_str!("models.rs"));
}

/// Names that a search of the whole tree finds.
fn found(client: &mut Client, filter: &str) -> Vec<String> {
    let found = client.search("dc=example", Scope::Subtree, filter, &["1.1"]);
    assert_eq!(found.end.code, Success, "{filter}");
    found.dns().into_iter().map(str::to_owned).collect()
}

#[test]
fn s2_5_what_is_not_recognized() {
    let mut client = Client::new();
    for description in ["noSuchType", "1.3.6.1.4.1.99999.1"] {
        assert_eq!(
            client.add(X, &[ANY, (description, &["x"])]).code,
            UndefinedAttributeType,
            "{description}"
        );
        let modified = client.modify(ADA, &[(Add, description, &["x"])]);
        assert_eq!(modified.code, UndefinedAttributeType, "{description}");
        assert_eq!(client.compare(ADA, description, "x").code, UndefinedAttributeType, "{description}");
        // Undefined, so neither it nor its negation is true.
        for filter in [format!("({description}=*)"), format!("(!({description}=x))")] {
            assert!(found(&mut client, &filter).is_empty(), "{filter}");
        }
        assert!(client.read(ADA, &[description]).names().is_empty(), "{description}");
    }
    for description in ["cn;no_option", "cn;", "cn;;lang-de"] {
        assert_ne!(client.add(X, &[ANY, (description, &["x"])]).code, Success, "{description}");
        assert!(client.read(ADA, &[description]).names().is_empty(), "{description}");
    }
}

#[test]
fn s2_5_equivalent_descriptions() {
    let mut client = Client::new();
    client.must_add(X, &[ROLE, ("description;lang-de;lang-en", &["a"])]);
    let second: Given<'_> = &[ROLE, ("cn;lang-de;lang-en", &["y"]), ("2.5.4.3;LANG-en;LANG-de", &["z"])];
    assert_eq!(client.add("cn=y,dc=example", second).code, AttributeOrValueExists);
    for description in
        ["DESCRIPTION;Lang-EN;lang-de", "2.5.4.13;lang-de;lang-en", "description;lang-de;lang-en;lang-de"]
    {
        assert_eq!(client.compare(X, description, "A").code, CompareTrue, "{description}");
        assert_eq!(
            client.modify(X, &[(Add, description, &["a"])]).code,
            AttributeOrValueExists,
            "{description}"
        );
    }
}

#[test]
fn s2_2_values_of_an_attribute() {
    let mut client = Client::new();
    let equivalent: Given<'_> = &[ROLE, ("description", &["Two  Words", "two words"])];
    assert_eq!(client.add(X, equivalent).code, AttributeOrValueExists);
    client.must_add(X, &[ROLE, ("description", &["Two  Words"])]);
    assert_eq!(client.modify(X, &[(Add, "description", &["two words"])]).code, AttributeOrValueExists);
    assert_eq!(client.modify(X, &[(Replace, "description", &["a", "A"])]).code, AttributeOrValueExists);
    let two = client.modify(ADA, &[(Add, "employeeNumber", &["37"])]);
    assert_eq!(two.code, ConstraintViolation, "{}", two.text);
    // Only the result of a modify counts.
    assert_eq!(
        client.modify(ADA, &[(Add, "employeeNumber", &["37"]), (Delete, "employeeNumber", &["36"])]).code,
        Success
    );
}

#[test]
fn s2_3_1_rdns() {
    let mut client = Client::new();
    client.must_add("cn=Two Words+l=x,dc=example", &[ROLE]);
    for written in ["l=X+cn=two  words,dc=example", "2.5.4.7=x+CN=TWO\\20WORDS,DC=Example"] {
        assert_eq!(client.add(written, &[ROLE]).code, EntryAlreadyExists, "{written}");
        assert_eq!(client.read(written, &["1.1"]).dns(), ["cn=Two Words+l=x,dc=example"]);
    }
    client.must_add("cn=Two Words,dc=example", &[ROLE]);
    assert_eq!(
        client.rename("cn=Two Words,dc=example", "l=x+cn=two words", false, None).code,
        EntryAlreadyExists
    );
    // Each of its assertions has a type of its own.
    assert_eq!(client.add("cn=a+cn=b,dc=example", &[ROLE]).code, NamingViolation);
    // What names an entry is a value of it, and stays so.
    assert_eq!(client.read("cn=two words+l=x,dc=example", &["l"]).values("l"), Some(vec!["x".to_owned()]));
    let gone = client.modify("cn=two words+l=x,dc=example", &[(Delete, "l", &["x"])]);
    assert_eq!(gone.code, NotAllowedOnRdn);
}

#[test]
fn s2_4_1_abstract_classes() {
    let mut client = with(
        "objectclass ( 1.3.6.1.4.1.99999.9.1 NAME 'shape' SUP top ABSTRACT MAY description )\n\
         objectclass ( 1.3.6.1.4.1.99999.9.2 NAME 'circle' SUP ( shape $ device ) STRUCTURAL )\n\
         objectclass ( 1.3.6.1.4.1.99999.9.3 NAME 'painted' SUP shape AUXILIARY )\n",
    );
    for classes in [&["top"][..], &["shape"], &["organizationalRole", "shape"]] {
        assert_eq!(
            client.add(X, &[("objectClass", classes), ("cn", &["x"])]).code,
            ObjectClassViolation,
            "{classes:?}"
        );
    }
    client.must_add(X, &[("objectClass", &["circle"])]);
    client.must_add("cn=y,dc=example", &[("objectClass", &["organizationalRole", "painted"])]);
    for dn in [X, "cn=y,dc=example"] {
        assert_eq!(client.compare(dn, "objectClass", "shape").code, CompareTrue, "{dn}");
    }
    assert_eq!(client.modify(ADA, &[(Add, "objectClass", &["shape"])]).code, ObjectClassViolation);
}

#[test]
fn s2_4_superclasses() {
    let class = |sup: &str, kind: &str| {
        let text = format!("objectclass ( 1.3.6.1.4.1.99999.9.1 NAME 'ours' SUP {sup} {kind} )\n");
        Builder::new().standard().file("test", &text).build().is_ok()
    };
    for (sup, kind, is_sound) in [
        ("top", "ABSTRACT", true),
        ("device", "ABSTRACT", false),
        ("uidObject", "ABSTRACT", false),
        ("device", "STRUCTURAL", true),
        ("uidObject", "STRUCTURAL", false),
        ("uidObject", "AUXILIARY", true),
        ("device", "AUXILIARY", false),
        ("( device $ organizationalRole )", "STRUCTURAL", true),
        ("noSuchClass", "AUXILIARY", false),
    ] {
        assert_eq!(class(sup, kind), is_sound, "SUP {sup} {kind}");
    }
}

#[test]
fn s2_4_2_one_structural_class() {
    let mut client = Client::new();
    for classes in [&["uidObject"][..], &["organizationalRole", "device"], &["person", "device"]] {
        let entry: Given<'_> = &[("objectClass", classes), ("cn", &["x"]), ("sn", &["x"]), ("uid", &["x"])];
        assert_eq!(client.add(X, entry).code, ObjectClassViolation, "{classes:?}");
    }
    let entry: Given<'_> = &[("objectClass", &["person", "organizationalPerson"]), ("sn", &["x"])];
    client.must_add(X, entry);
    assert_eq!(
        client.read(X, &["structuralObjectClass"]).values("structuralObjectClass").unwrap(),
        ["organizationalPerson"]
    );
    for change in [
        (Add, "inetOrgPerson"),
        (Add, "device"),
        (Delete, "organizationalPerson"),
        (Replace, "person"),
        (Replace, "device"),
    ] {
        let end = client.modify(X, &[(change.0, "objectClass", &[change.1])]);
        let codes: &[ResultCode] = &[ObjectClassModsProhibited, ObjectClassViolation];
        assert!(codes.contains(&end.code), "{change:?}: {:?} {}", end.code, end.text);
    }
}

#[test]
fn s2_4_3_auxiliary_classes() {
    let mut client = Client::new();
    client.must_add(X, &[ROLE]);
    assert_eq!(client.modify(X, &[(Add, "uid", &["u"])]).code, ObjectClassViolation);
    assert_eq!(client.modify(X, &[(Add, "objectClass", &["uidObject"]), (Add, "uid", &["u"])]).code, Success);
    assert_eq!(client.modify(X, &[(Delete, "objectClass", &["uidObject"])]).code, ObjectClassViolation);
    assert_eq!(
        client.modify(X, &[(Delete, "objectClass", &["uidObject"]), (Delete, "uid", &[])]).code,
        Success
    );
}

#[test]
fn s2_5_1_without_equality() {
    let mut client =
        with(&format!("attributetype ( 1.3.6.1.4.1.99999.9.1 NAME 'plain' SYNTAX {DIRECTORY_STRING} )\n"));
    client.must_add(X, &[ANY, ("plain", &["a", "b"])]);
    assert_eq!(client.add("plain=x,dc=example", &[ANY, ("cn", &["x"])]).code, NamingViolation);
    assert_eq!(client.add("cn=y,dc=example", &[ANY, ("plain", &["a", "a"])]).code, AttributeOrValueExists);
    assert_eq!(client.modify(X, &[(Add, "plain", &["a"])]).code, AttributeOrValueExists);
    assert_eq!(client.compare(X, "plain", "a").code, InappropriateMatching);
    assert!(found(&mut client, "(plain=a)").is_empty() && found(&mut client, "(!(plain=c))").is_empty());
    assert_eq!(found(&mut client, "(plain=*)"), [X]);
    assert_eq!(client.modify(X, &[(Replace, "plain", &["c", "c"])]).code, AttributeOrValueExists);
    assert_eq!(client.modify(X, &[(Replace, "plain", &["c"])]).code, Success);
    assert_eq!(client.modify(X, &[(Delete, "plain", &[])]).code, Success);
}

/// Deviation of section 2.5.1: such a value is the one that has the same bytes.
#[test]
fn s2_5_1_values_are_found_by_their_bytes() {
    let mut client =
        with(&format!("attributetype ( 1.3.6.1.4.1.99999.9.1 NAME 'plain' SYNTAX {DIRECTORY_STRING} )\n"));
    client.must_add(X, &[ANY, ("plain", &["a", "b"])]);
    assert_eq!(client.modify(X, &[(Add, "plain", &["A"])]).code, Success, "another value");
    assert_eq!(client.modify(X, &[(Delete, "plain", &["B"])]).code, NoSuchAttribute);
    assert_eq!(client.modify(X, &[(Delete, "plain", &["b"])]).code, Success);
    assert_eq!(client.read(X, &["plain"]).values("plain").unwrap(), ["A", "a"]);
}

/// Deviation of section 2.5.1. The values are of the syntax that the subtype has.
#[test]
fn s2_5_1_a_subtype_of_another_syntax() {
    let mut client = with(
        "attributetype ( 1.3.6.1.4.1.99999.9.1 NAME 'count' SUP name EQUALITY integerMatch \
         SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )\n",
    );
    client.must_add(X, &[ANY, ("count", &["7"])]);
    assert_eq!(client.modify(X, &[(Replace, "count", &["seven"])]).code, InvalidAttributeSyntax);
    assert_eq!(found(&mut client, "(count=7)"), [X]);
    assert_eq!(client.read(X, &["name"]).names(), ["cn", "count"], "it is a subtype");
}

#[test]
fn s2_5_1_definitions_of_types() {
    let is_sound = |rest: &str| {
        let text = format!("attributetype ( 1.3.6.1.4.1.99999.9.1 NAME 'ours' {rest} )\n");
        Builder::new().standard().file("test", &text).build().is_ok()
    };
    for rest in [
        "SUP name",
        "SUP name SINGLE-VALUE",
        &format!("SYNTAX {DIRECTORY_STRING}"),
        &format!("SYNTAX {DIRECTORY_STRING}{{64}} COLLECTIVE"),
        "SUP name COLLECTIVE",
    ] {
        assert!(is_sound(rest), "{rest}");
    }
    for rest in [
        // Neither SUP nor SYNTAX.
        "EQUALITY caseIgnoreMatch",
        // Another usage than that of the supertype.
        "SUP name USAGE directoryOperation",
        "SUP modifiersName",
        // Not collective, as its supertype is.
        "SUP c-l",
        &format!("SYNTAX {DIRECTORY_STRING} COLLECTIVE USAGE directoryOperation"),
        &format!("SYNTAX {DIRECTORY_STRING} NO-USER-MODIFICATION"),
        "SUP ours",
        "SUP noSuchType",
    ] {
        assert!(!is_sound(rest), "{rest}");
    }
}

#[test]
fn s2_5_2_options_and_types() {
    let mut client = Client::new();
    // Languages are of text; the binary form is of certificates and the like.
    for description in ["cn;binary", "dn;lang-de"] {
        assert_eq!(
            client.add(X, &[ANY, (description, &["x"])]).code,
            UndefinedAttributeType,
            "{description}"
        );
        assert!(found(&mut client, &format!("({description}=*)")).is_empty(), "{description}");
    }
}

/// Deviation of section 2.5.2.1: an option that nothing defines makes a subtype of its own, as a language does.
#[test]
fn s2_5_2_1_every_option_is_a_tag() {
    let mut client = Client::new();
    client.must_add(X, &[ROLE, ("description;no-such-option", &["tagged"])]);
    assert_eq!(client.read(X, &["description"]).names(), ["description;no-such-option"]);
    assert_eq!(found(&mut client, "(description=tagged)"), [X]);
    assert_eq!(found(&mut client, "(description;no-such-option=tagged)"), [X]);
    assert!(found(&mut client, "(description;another=tagged)").is_empty());
    assert_eq!(client.compare(X, "description;NO-SUCH-option", "tagged").code, CompareTrue);
    assert_eq!(client.modify(X, &[(Delete, "description", &[])]).code, NoSuchAttribute);
    assert_eq!(client.modify(X, &[(Delete, "description;no-such-option", &["tagged"])]).code, Success);
}

#[test]
fn s2_5_3_general_descriptions() {
    let mut client = Client::new();
    let entry: Given<'_> =
        &[ANY, ("cn;lang-de;lang-en", &["both"]), ("sn", &["Surname"]), ("name", &["Name"])];
    client.must_add(X, entry);
    for filter in [
        "(cn=both)",
        "(cn;lang-de=both)",
        "(cn;lang-en=both)",
        "(name=both)",
        "(name;lang-en;lang-de=both)",
        "(name=surname)",
    ] {
        assert_eq!(found(&mut client, filter), [X], "{filter}");
    }
    for filter in ["(cn;lang-fr=both)", "(sn=both)", "(sn=name)", "(cn;lang-de=x)"] {
        assert!(found(&mut client, filter).is_empty(), "{filter}");
    }
    // A value is returned under its own description.
    assert_eq!(client.read(X, &["name"]).names(), ["cn", "cn;lang-de;lang-en", "name", "sn"]);
    assert_eq!(client.read(X, &["cn;lang-en"]).names(), ["cn;lang-de;lang-en"]);
    assert_eq!(client.read(X, &["sn"]).names(), ["sn"]);
}

#[test]
fn s2_5_3_updates() {
    let mut client = Client::new();
    client.must_add(X, &[ANY, ("cn;lang-de", &["x"]), ("name", &["x"]), ("sn", &["x"])]);
    assert_eq!(client.modify(X, &[(Replace, "name", &["y"])]).code, Success);
    assert_eq!(client.modify(X, &[(Delete, "cn;lang-en", &[])]).code, NoSuchAttribute);
    assert_eq!(client.read(X, &["name"]).names(), ["cn", "cn;lang-de", "name", "sn"]);
    assert_eq!(client.modify(X, &[(Delete, "name", &[])]).code, Success);
    assert_eq!(client.read(X, &["name"]).names(), ["cn", "cn;lang-de", "sn"]);
}

#[test]
fn s2_5_3_required_and_allowed() {
    let mut client = with(
        "objectclass ( 1.3.6.1.4.1.99999.9.1 NAME 'named' SUP top AUXILIARY MUST name )\n\
         objectclass ( 1.3.6.1.4.1.99999.9.2 NAME 'labeled' SUP top AUXILIARY MAY name )\n",
    );
    let named: (&str, &[&str]) = ("objectClass", &["organizationalRole", "named"]);
    assert_eq!(client.add(X, &[named, ("cn;lang-de", &["x"])]).code, ObjectClassViolation);
    client.must_add(X, &[named, ("name;lang-de", &["x"])]);
    let labeled: (&str, &[&str]) = ("objectClass", &["organizationalRole", "labeled"]);
    assert_eq!(client.add("cn=y,dc=example", &[labeled, ("sn", &["x"])]).code, ObjectClassViolation);
    client.must_add("cn=y,dc=example", &[labeled, ("name;lang-en", &["x"])]);
}

#[test]
fn s2_6_aliases() {
    let mut client = Client::new();
    let nameless: Given<'_> = &[("objectClass", &["alias"]), ("aliasedObjectName", &[ADA])];
    assert_eq!(client.add("cn=a,dc=example", nameless).code, ObjectClassViolation);
    let alias = |to: &'static [&'static str]| {
        [("objectClass", &["alias", "extensibleObject"][..]), ("aliasedObjectName", to)]
    };
    client.must_add("cn=a,dc=example", &alias(&["ou=people,dc=example"]));
    client.must_add("cn=b,dc=example", &alias(&["cn=a,dc=example"]));
    // It need not be the name of an entry.
    client.must_add("cn=c,dc=example", &alias(&["cn=nobody,dc=elsewhere"]));
    assert_eq!(client.add("cn=x,cn=a,dc=example", &[ROLE]).code, AliasProblem);
    let moved = client.rename(ADA, "uid=ada", false, Some("cn=c,dc=example"));
    assert_eq!(moved.code, AliasProblem, "{}", moved.text);
    let found = client.search_with(
        "uid=ada,cn=b,dc=example",
        Scope::Base,
        "(objectClass=*)",
        &["1.1"],
        |search| search.deref_aliases = model::DerefAliases::Always,
        &[],
    );
    assert_eq!(found.dns(), [ADA], "more than one alias may stand in a name");
}

#[test]
fn s3_3_object_class() {
    let mut client = with(
        "objectclass ( 1.3.6.1.4.1.99999.9.1 NAME 'x-b' SUP top AUXILIARY )\n\
         objectclass ( 1.3.6.1.4.1.99999.9.2 NAME 'x-a' SUP x-b AUXILIARY )\n",
    );
    client.must_add(X, &[("objectClass", &["inetOrgPerson", "x-a"]), ("sn", &["x"])]);
    let classes = |client: &mut Client| client.read(X, &["objectClass"]).values("objectClass").unwrap();
    assert_eq!(
        classes(&mut client),
        ["inetOrgPerson", "organizationalPerson", "person", "top", "x-a", "x-b"]
    );
    for class in ["x-b", "person", "inetOrgPerson"] {
        let end = client.modify(X, &[(Delete, "objectClass", &[class])]);
        assert!(
            [ObjectClassViolation, ObjectClassModsProhibited].contains(&end.code),
            "{class}: {:?}",
            end.code
        );
    }
    assert_eq!(client.modify(X, &[(Delete, "objectClass", &["x-a", "x-b"])]).code, Success);
    assert_eq!(client.modify(X, &[(Add, "objectClass", &["x-a"])]).code, Success);
    assert_eq!(
        classes(&mut client),
        ["inetOrgPerson", "organizationalPerson", "person", "top", "x-a", "x-b"]
    );
    for (kind, values) in [(Delete, &[][..]), (Replace, &[]), (Replace, &["country"])] {
        let end = client.modify(X, &[(kind, "objectClass", values)]);
        assert!(
            [ObjectClassViolation, ObjectClassModsProhibited].contains(&end.code),
            "{kind:?} {values:?}: {:?}",
            end.code
        );
    }
    assert_eq!(client.modify(X, &[(Add, "objectClass", &["noSuchClass"])]).code, ObjectClassViolation);
}

#[test]
fn s3_4_operational_attributes() {
    let mut client = Client::new();
    client.must_add(X, &[ROLE]);
    assert_eq!(client.read(X, &["*"]).names(), ["cn", "objectClass"]);
    let shown =
        ["createTimestamp", "creatorsName", "modifiersName", "modifyTimestamp", "structuralObjectClass"];
    assert_eq!(client.read(X, &shown).names(), shown);
    for attribute in shown {
        for kind in [Add, Delete, Replace] {
            let end = client.modify(X, &[(kind, attribute, &["cn"])]);
            assert!(
                [ConstraintViolation, InvalidAttributeSyntax].contains(&end.code),
                "{attribute}: {:?}",
                end.code
            );
        }
    }
    let given: Given<'_> = &[ROLE, ("createTimestamp", &["20200101000000Z"])];
    assert_eq!(client.add("cn=y,dc=example", given).code, ConstraintViolation);
}

#[test]
fn s3_4_what_is_maintained() {
    let mut client = Client::new();
    client.must_add(X, &[ROLE]);
    let one = |client: &mut Client, attribute: &str| {
        client.read(X, &[attribute]).values(attribute).unwrap().remove(0)
    };
    let created = one(&mut client, "createTimestamp");
    assert_eq!(one(&mut client, "modifyTimestamp"), created);
    assert_eq!(one(&mut client, "creatorsName"), crate::common::ROOT_DN);
    assert_eq!(one(&mut client, "structuralObjectClass"), "organizationalRole");
    let mut later = START;
    (later.wall_ms, later.monotonic_ns) = (later.wall_ms + 5_000, later.monotonic_ns + 5_000_000_000);
    client.at(later);
    assert_eq!(client.modify(X, &[(Add, "description", &["d"])]).code, Success);
    assert_eq!(one(&mut client, "createTimestamp"), created);
    assert!(one(&mut client, "modifyTimestamp") > created);
    assert_eq!(one(&mut client, "modifiersName"), crate::common::ROOT_DN);
}

#[test]
fn s4_2_the_subschema() {
    let mut client = Client::new();
    let lists = ["attributeTypes", "ldapSyntaxes", "matchingRuleUse", "matchingRules", "objectClasses"];
    let found = client.read(
        SUBSCHEMA_DN,
        &[
            "cn",
            "objectClass",
            "createTimestamp",
            "modifyTimestamp",
            "attributeTypes",
            "ldapSyntaxes",
            "matchingRuleUse",
            "matchingRules",
            "objectClasses",
        ],
    );
    for list in lists {
        assert!(found.values(list).is_some_and(|values| values.len() > 10), "{list}");
    }
    for time in ["createTimestamp", "modifyTimestamp"] {
        assert_eq!(found.values(time).map(|values| values.len()), Some(1), "{time}");
    }
    assert!(found.values("objectClass").unwrap().contains(&"subschema".to_owned()));
    assert_eq!(format!("cn={}", found.values("cn").unwrap()[0]), SUBSCHEMA_DN);
    // They are operational.
    assert!(client.read(SUBSCHEMA_DN, &["*"]).values("attributeTypes").is_none());
}

#[test]
fn s4_1_published_definitions() {
    let mut client = Client::new();
    let found = client.read(
        SUBSCHEMA_DN,
        &["attributeTypes", "objectClasses", "matchingRules", "ldapSyntaxes", "matchingRuleUse"],
    );
    for list in ["attributeTypes", "objectClasses", "matchingRules", "ldapSyntaxes", "matchingRuleUse"] {
        for definition in found.values(list).unwrap() {
            let inner = definition.strip_prefix("( ").and_then(|rest| rest.strip_suffix(" )"));
            let inner = inner.unwrap_or_else(|| panic!("{definition}"));
            let oid = inner.split(' ').next().unwrap();
            assert!(
                oid.split('.').count() > 1 && oid.split('.').all(|arc| arc.parse::<u32>().is_ok()),
                "{definition}"
            );
        }
    }
    let types = found.values("attributeTypes").unwrap();
    let cn = types.iter().find(|text| text.starts_with("( 2.5.4.3 ")).unwrap();
    assert!(cn.contains("NAME ( 'cn' 'commonName' )") && cn.contains(" SUP name"), "{cn}");
    for text in &types {
        assert!(text.contains(" SUP ") || text.contains(" SYNTAX "), "{text}");
        let is_operational = text.contains(" USAGE ") && !text.contains(" USAGE userApplications");
        assert!(is_operational || !text.contains(" NO-USER-MODIFICATION"), "{text}");
        assert!(!is_operational || !text.contains(" COLLECTIVE"), "{text}");
    }
}

#[test]
fn s4_3_extensible_object() {
    let mut client = Client::new();
    client.must_add(X, &[ANY, ("sn", &["x"]), ("jpegPhoto", &["x"]), ("c", &["DE"])]);
    let needs: Given<'_> = &[("objectClass", &["person", "extensibleObject"])];
    assert_eq!(client.add("cn=y,dc=example", needs).code, ObjectClassViolation, "sn is still required");
}

#[test]
fn s4_4_discovery() {
    let mut client = Client::new();
    for dn in [ADA, "dc=example", "", SUBSCHEMA_DN] {
        assert_eq!(
            client.read(dn, &["subschemaSubentry"]).values("subschemaSubentry").unwrap(),
            [SUBSCHEMA_DN],
            "{dn}"
        );
    }
    let found = client.search(SUBSCHEMA_DN, Scope::Base, "(objectClass=subschema)", &["objectClasses"]);
    assert_eq!(found.dns(), [SUBSCHEMA_DN]);
    assert_eq!(found.names(), ["objectClasses"]);
    assert!(client.search(SUBSCHEMA_DN, Scope::Base, "(objectClass=person)", &["1.1"]).dns().is_empty());
}

#[test]
fn s5_1_root_dse() {
    let mut client = Client::new();
    let named = [
        "namingContexts",
        "supportedControl",
        "supportedExtension",
        "supportedFeatures",
        "supportedLDAPVersion",
        "supportedSASLMechanisms",
    ];
    let found = client.read("", &named);
    for attribute in named {
        if attribute != "supportedSASLMechanisms" {
            assert!(found.values(attribute).is_some(), "{attribute}");
        }
    }
    assert_eq!(found.values("namingContexts").unwrap(), ["dc=example"]);
    assert_eq!(found.values("supportedLDAPVersion").unwrap(), ["3"]);
    for scope in [Scope::Subtree, Scope::One] {
        let found = client.search("", scope, "(objectClass=*)", &["1.1"]);
        assert!(!found.dns().contains(&""), "{scope:?}");
    }
    assert_eq!(client.compare("", "supportedLDAPVersion", "3").code, CompareTrue);
}

/// Deviation of section 5.1.
#[test]
fn s5_1_the_root_dse_with_an_asterisk() {
    let mut client = Client::new();
    for selection in [&["*"][..], &[]] {
        let found = client.read("", selection);
        assert_eq!(found.values("namingContexts").unwrap(), ["dc=example"], "{selection:?}");
        assert!(found.values("objectClass").is_some(), "{selection:?}");
    }
    assert!(client.read("", &["1.1"]).names().is_empty());
    assert_eq!(client.read("", &["namingContexts"]).names(), ["namingContexts"]);
}

#[test]
fn s6_1_preserved() {
    let mut client = Client::new();
    let values = ["  Two   Words ", "gr\u{fc}n", "e\u{301}"];
    client.must_add(
        X,
        &[ROLE, ("description", &values), ("roleOccupant", &["UID = Ada , OU=People,dc=example"])],
    );
    let mut sent = values.map(str::to_owned);
    sent.sort();
    assert_eq!(client.read(X, &["description"]).values("description").unwrap(), sent);
    let name = client.read(X, &["roleOccupant"]).values("roleOccupant").unwrap();
    assert_eq!(name, ["UID = Ada , OU=People,dc=example"]);
}

#[test]
fn s6_2_one_name_two_kinds() {
    let mut client = with(&format!(
        "attributetype ( 1.3.6.1.4.1.99999.9.1 NAME 'x-fubar' EQUALITY caseIgnoreMatch SYNTAX {DIRECTORY_STRING} )\n\
         objectclass ( 1.3.6.1.4.1.99999.9.2 NAME 'x-fubar' SUP top AUXILIARY MUST x-fubar )\n"
    ));
    let class: (&str, &[&str]) = ("objectClass", &["organizationalRole", "x-fubar"]);
    assert_eq!(client.add(X, &[class]).code, ObjectClassViolation);
    client.must_add(X, &[class, ("x-fubar", &["x"])]);
    assert_eq!(found(&mut client, "(&(x-fubar=x)(objectClass=x-fubar))"), [X]);
}

#[test]
fn s7_1_names_of_this_document() {
    let schema = crate::common::standard_schema();
    for (name, oid) in [
        ("aliasedObjectName", "2.5.4.1"),
        ("objectClass", "2.5.4.0"),
        ("creatorsName", "2.5.18.3"),
        ("createTimestamp", "2.5.18.1"),
        ("modifiersName", "2.5.18.4"),
        ("modifyTimestamp", "2.5.18.2"),
        ("structuralObjectClass", "2.5.21.9"),
        ("governingStructureRule", "2.5.21.10"),
        ("subschemaSubentry", "2.5.18.10"),
        ("objectClasses", "2.5.21.6"),
        ("attributeTypes", "2.5.21.5"),
        ("matchingRules", "2.5.21.4"),
        ("matchingRuleUse", "2.5.21.8"),
        ("ldapSyntaxes", "1.3.6.1.4.1.1466.101.120.16"),
        ("dITContentRules", "2.5.21.2"),
        ("dITStructureRules", "2.5.21.1"),
        ("nameForms", "2.5.21.7"),
        ("altServer", "1.3.6.1.4.1.1466.101.120.6"),
        ("namingContexts", "1.3.6.1.4.1.1466.101.120.5"),
        ("supportedControl", "1.3.6.1.4.1.1466.101.120.13"),
        ("supportedExtension", "1.3.6.1.4.1.1466.101.120.7"),
        ("supportedFeatures", "1.3.6.1.4.1.4203.1.3.5"),
        ("supportedLDAPVersion", "1.3.6.1.4.1.1466.101.120.15"),
        ("supportedSASLMechanisms", "1.3.6.1.4.1.1466.101.120.14"),
    ] {
        let by_name = schema.find_type(name.as_bytes());
        assert!(by_name.is_some() && by_name == schema.find_type(oid.as_bytes()), "{name}");
    }
    for (name, oid) in [
        ("top", "2.5.6.0"),
        ("alias", "2.5.6.1"),
        ("subschema", "2.5.20.1"),
        ("extensibleObject", "1.3.6.1.4.1.1466.101.120.111"),
    ] {
        let by_name = schema.find_class(name.as_bytes());
        assert!(by_name.is_some() && by_name == schema.find_class(oid.as_bytes()), "{name}");
    }
}
