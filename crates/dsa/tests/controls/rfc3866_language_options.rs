//! RFC 3866: language tags and ranges.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 2 | takes tags for strings, and any that BCP 47 allows | `s2_any_tag` |
//! | 2.1 | a tag is a tagging option: an attribute with it is a subtype, with values of its own | `s2_1_a_tag_makes_a_subtype` |
//! | 2.2 | a filter with tags matches what has all of them, and perhaps others | `s2_2_filters` |
//! | 2.3 | returns what has all tags that are asked for | `s2_3_requested_attributes` |
//! | 2.4 | compares as a filter would; noSuchAttribute if nothing has the tags | `s2_4_compare` |
//! | 2.5 | adds attributes of one type with different tags, with the same value too | `s2_5_add` |
//! | 2.6 | matches type and tags exactly in a modify | `s2_6_modify` |
//! | 3 | a range is no tagging option: an update with it fails as one with an unknown type | `s3_a_range_describes_no_values` |
//! | 3 | matches a tag that is the range, or that begins with it | `s3_1_filters_with_ranges` |
//! | 3.1 | a filter with a range matches what has a tag in it | `s3_1_filters_with_ranges` |
//! | 3.2 | returns what has a tag in the range | `s3_2_requested_attributes` |
//! | 3.3 | compares as a filter would | `s3_3_compare` |
//! | 4 | lists both features | `s4_features` |
//!
//! Not here: sentences about servers that do not store tags, and about clients.

use super::check_table;
use crate::common::{Client, Given, is_published};
use model::ResultCode::{
    AttributeOrValueExists, CompareFalse, CompareTrue, NoSuchAttribute, Success, UndefinedAttributeType,
};
use model::Scope;
use proto::op::ModifyKind::{Add, Delete, Replace};

const RAY: &str = "sn=Ray,dc=example";
const JOHANN: &str = "cn=Johann Sibelius,dc=example";

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc3866_language_options.rs"));
}

/// The entry of the examples of sections 2.2 and 3.1, with these attributes; `name` is one that is stored.
fn with_ray(attributes: Given<'_>) -> Client {
    let mut client = Client::new();
    let all = [&[("objectClass", &["person", "extensibleObject"][..])], attributes].concat();
    let _ = client.delete(RAY);
    client.must_add(RAY, &all);
    client
}

fn with_johann() -> Client {
    let mut client = Client::new();
    let johann: Given<'_> = &[
        ("objectClass", &["inetOrgPerson"]),
        ("givenName;lang-de-DE", &["Johann"]),
        ("cn", &["Johann Sibelius"]),
        ("sn", &["Sibelius"]),
    ];
    client.must_add(JOHANN, johann);
    client
}

#[test]
fn s2_any_tag() {
    for tag in [
        "lang-en",
        "lang-EN-us",
        "lang-x-klingon",
        "lang-i-klingon",
        "lang-de-1996",
        "lang-abcdefgh-12345678",
    ] {
        let name = format!("cn;{tag}");
        let mut client = with_ray(&[("cn", &["Ray"]), (&name, &["Billy"])]);
        // Strings without regard to case, and not interpreted: no tag stands for another.
        assert_eq!(client.read(RAY, &[&name.to_uppercase()]).values(&name), Some(vec!["Billy".to_owned()]));
        let longer = format!("(cn;{tag}-x=billy)");
        assert_eq!(client.search(RAY, Scope::Base, &longer, &["1.1"]).dns(), [""; 0], "{tag}");
    }
}

#[test]
fn s2_1_a_tag_makes_a_subtype() {
    let mut client =
        with_ray(&[("cn", &["Ray"]), ("cn;lang-ja", &["Rei"]), ("cn;lang-de;lang-gem-PFL", &["Strahl"])]);
    let found = client.read(RAY, &["cn"]);
    assert_eq!(found.names(), ["cn", "cn;lang-de;lang-gem-pfl", "cn;lang-ja"]);
    // In any order.
    assert_eq!(client.read(RAY, &["cn;lang-gem-PFL;lang-de"]).names(), ["cn;lang-de;lang-gem-pfl"]);
    assert_eq!(client.read(RAY, &["name;lang-ja"]).names(), ["cn;lang-ja"]);
}

/// Is the example's entry found if it has this attribute alone besides its name?
fn matches(filter: &str, attribute: &str, value: &str) -> bool {
    let mut client = match attribute {
        "cn" => with_ray(&[("cn", &["Ray", value])]),
        _ => with_ray(&[("cn", &["Ray"]), (attribute, &[value])]),
    };
    client.search("dc=example", Scope::Subtree, filter, &["1.1"]).dns() == [RAY]
}

#[test]
fn s2_2_filters() {
    for (attribute, value, with_tag, without) in [
        ("givenName;lang-en-US", "Billy Ray", true, true),
        ("givenName;lang-en-US", "Billy Bob", false, false),
        ("cn;lang-en-US", "Billy Ray", true, true),
        ("cn;lang-en-US;x-foobar", "Billy Ray", true, true),
        ("cn;lang-en;x-foobar", "Billy Ray", false, true),
        ("cn;x-foobar", "Billy Ray", false, true),
        ("cn", "Billy Ray", false, true),
        ("sn;lang-en-GB;lang-en-US", "Billy Ray", true, true),
        ("description;lang-en-US", "Billy Ray", false, false),
    ] {
        assert_eq!(
            matches("(name;lang-en-US=Billy Ray)", attribute, value),
            with_tag,
            "{attribute}: {value}"
        );
        assert_eq!(matches("(name=Billy Ray)", attribute, value), without, "{attribute}: {value}");
    }
}

#[test]
fn s2_3_requested_attributes() {
    let mut client = with_ray(&[
        ("cn", &["Ray"]),
        ("givenName;lang-en", &["a"]),
        ("cn;lang-en;lang-ja", &["b"]),
        ("title;lang-fr", &["c"]),
        ("description", &["d"]),
        ("description;lang-de", &["e"]),
    ]);
    assert_eq!(client.read(RAY, &["name;lang-en"]).names(), ["cn;lang-en;lang-ja", "givenName;lang-en"]);
    let both = client.read(RAY, &["name;lang-en", "name;lang-fr"]);
    assert_eq!(both.names(), ["cn;lang-en;lang-ja", "givenName;lang-en", "title;lang-fr"]);
    assert_eq!(client.read(RAY, &["description"]).names(), ["description", "description;lang-de"]);
    assert_eq!(client.read(RAY, &["description;lang-xx"]).names(), [""; 0]);
    assert_eq!(client.read(RAY, &[]).names().len(), 8);
}

#[test]
fn s2_4_compare() {
    let mut client = with_johann();
    assert_eq!(client.compare(JOHANN, "name", "Johann").code, CompareTrue);
    assert_eq!(client.compare(JOHANN, "name;lang-de-DE", "johann").code, CompareTrue);
    assert_eq!(client.compare(JOHANN, "name;lang-de-DE", "Jean").code, CompareFalse);
    assert_eq!(client.compare(JOHANN, "name;lang-de", "Johann").code, NoSuchAttribute);
}

#[test]
fn s2_5_add() {
    let mut client = with_ray(&[
        ("cn", &["Ray"]),
        ("cn;lang-en", &["Ray"]),
        ("street", &["1 University Street"]),
        ("street;lang-en-US", &["1 University Street"]),
        ("street;lang-fr", &["1 rue Universite"]),
    ]);
    assert_eq!(client.read(RAY, &["street"]).names().len(), 3);
    // One set of tags is one attribute, in whatever order they are.
    let twice: Given<'_> = &[
        ("objectClass", &["person"]),
        ("cn;lang-en;lang-ja", &["x"]),
        ("cn;lang-ja;lang-en", &["X"]),
        ("cn", &["x"]),
    ];
    assert_eq!(client.add("sn=x,dc=example", twice).code, AttributeOrValueExists);
}

#[test]
fn s2_6_modify() {
    let mut client = with_ray(&[("cn", &["Ray"]), ("title", &["x"]), ("title;lang-en", &["x"])]);
    assert_eq!(client.modify(RAY, &[(Delete, "title;lang-fr", &["x"])]).code, NoSuchAttribute);
    assert_eq!(client.modify(RAY, &[(Delete, "title;lang-en", &["x"])]).code, Success);
    assert_eq!(client.read(RAY, &["title"]).names(), ["title"]);
    assert_eq!(client.modify(RAY, &[(Delete, "title;lang-en", &["x"])]).code, NoSuchAttribute);
    assert_eq!(client.modify(RAY, &[(Replace, "title;lang-en", &["y"])]).code, Success);
    assert_eq!(client.read(RAY, &["title"]).names(), ["title", "title;lang-en"]);
    assert_eq!(client.modify(RAY, &[(Delete, "title", &[])]).code, Success);
    assert_eq!(client.read(RAY, &["title"]).names(), ["title;lang-en"]);
}

/// "Any attempt to add or update an attribute description with a language range option SHALL be treated as an undefined attribute type".
#[test]
fn s3_a_range_describes_no_values() {
    let mut client = with_ray(&[("cn", &["Ray"]), ("title;lang-en", &["x"])]);
    for range in ["title;lang-en-", "title;lang-", "title;x-a;lang-en-", "cn;lang-de-;lang-gem-"] {
        for kind in [Add, Delete, Replace] {
            assert_eq!(client.modify(RAY, &[(kind, range, &["x"])]).code, UndefinedAttributeType, "{range}");
        }
        let other: Given<'_> =
            &[("objectClass", &["person", "extensibleObject"]), ("cn", &["x"]), (range, &["x"])];
        assert_eq!(client.add("sn=x,dc=example", other).code, UndefinedAttributeType, "{range}");
    }
    assert_eq!(client.read(RAY, &["title"]).names(), ["title;lang-en"]);
}

#[test]
fn s3_1_filters_with_ranges() {
    for (attribute, value, in_range, in_any) in [
        ("givenName;lang-en-US", "Billy Ray", true, true),
        ("givenName;lang-en-US", "Billy Bob", false, false),
        ("cn;lang-en-US", "Billy Ray", true, true),
        ("cn;lang-en-US;x-foobar", "Billy Ray", true, true),
        ("cn;lang-en;x-foobar", "Billy Ray", true, true),
        ("cn;lang-eng", "Billy Ray", false, true),
        ("cn;lang-fr", "Billy Ray", false, true),
        ("cn;x-foobar", "Billy Ray", false, false),
        ("cn", "Billy Ray", false, false),
        ("sn;lang-en-GB;lang-en-US", "Billy Ray", true, true),
    ] {
        assert_eq!(matches("(name;lang-en-=Billy Ray)", attribute, value), in_range, "{attribute}: {value}");
        assert_eq!(matches("(name;lang-=Billy Ray)", attribute, value), in_any, "{attribute}: {value}");
        assert_eq!(matches("(name;LANG-EN-=Bill*)", attribute, value), in_range || value == "Billy Bob");
    }
    let mut client =
        with_ray(&[("cn", &["Ray"]), ("title;lang-de;lang-gem-PFL", &["x"]), ("o;lang-en;x-a", &["x"])]);
    for (filter, is_found) in [
        ("(title;lang-de-;lang-gem-=*)", true),
        ("(title;lang-gem-;lang-fr-=*)", false),
        ("(o;lang-;x-a=*)", true),
        ("(o;lang-;x-b=*)", false),
    ] {
        let found = client.search(RAY, Scope::Base, filter, &["1.1"]).dns().len();
        assert_eq!(found == 1, is_found, "{filter}");
    }
}

#[test]
fn s3_2_requested_attributes() {
    let mut client = with_ray(&[
        ("cn", &["Ray"]),
        ("givenName;lang-en-US", &["a"]),
        ("cn;lang-en;lang-ja", &["b"]),
        ("title;lang-fr", &["c"]),
    ]);
    assert_eq!(client.read(RAY, &["name;lang-en-"]).names(), ["cn;lang-en;lang-ja", "givenName;lang-en-us"]);
    let both = client.read(RAY, &["name;lang-en-", "name;lang-fr-"]);
    assert_eq!(both.names(), ["cn;lang-en;lang-ja", "givenName;lang-en-us", "title;lang-fr"]);
    assert_eq!(client.read(RAY, &["name;lang-"]).names().len(), 3);
}

#[test]
fn s3_3_compare() {
    let mut client = with_johann();
    assert_eq!(client.compare(JOHANN, "name;lang-", "Johann").code, CompareTrue);
    assert_eq!(client.compare(JOHANN, "name;lang-de-", "Johann").code, CompareTrue);
    assert_eq!(client.compare(JOHANN, "name;lang-fr-", "Johann").code, NoSuchAttribute);
    assert_eq!(client.compare(JOHANN, "name;lang-de", "Sibelius").code, NoSuchAttribute);
    assert_eq!(client.compare(JOHANN, "name;lang-", "Sibelius").code, CompareFalse);
}

#[test]
fn s4_features() {
    for oid in ["1.3.6.1.4.1.4203.1.5.4", "1.3.6.1.4.1.4203.1.5.5"] {
        assert!(is_published("supportedFeatures", oid.as_bytes()), "{oid}");
    }
}
