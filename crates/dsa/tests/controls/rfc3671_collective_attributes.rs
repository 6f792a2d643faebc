//! RFC 3671: collective attributes in LDAP.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 1.1 | a collection consists of the object and alias entries within the scope of the subentry, and of no subentry | `s1_1_aliases_are_members_and_subentries_are_not` |
//! | 1.1 | an entry can belong to several collections | `s1_2_values_of_several_collections_are_combined` |
//! | 1.2 | values are visible but not updateable by way of the entries of a collection | `s1_2_values_are_not_updateable_by_an_entry` |
//! | 1.2 | values are updated by the subentry | `s1_2_values_are_updated_by_their_subentry` |
//! | 1.2 | values of several collections are combined; where they come from does not show | `s1_2_values_of_several_collections_are_combined` |
//! | 1.2 | an entry excludes an attribute by collectiveExclusions | `s2_3_exclusions` |
//! | 2 | "MUST act in accordance with the X.500 Directory Models": in what it is asked, a collective attribute is one of the entry's own | `s2_a_search_shows_them_as_the_entrys_own`, `s2_selections`, `s2_controls` |
//! | 2 | the same: collections follow entries that are added, renamed, moved and deleted | `s2_collections_follow_the_tree` |
//! | 2.1 | collective attributes are those of subentries with the class; elsewhere they are refused | `s2_1_they_are_stored_in_their_subentries_alone` |
//! | 2.1 | they are available for finding, searching and comparison at every entry within the scope | `s2_1_finding_and_comparison` |
//! | 2.1 | SHOULD: specific and inner areas | `s2_1_areas` |
//! | 2.2 | collectiveAttributeSubentries names the subentries; no client changes it | `s2_2_subentries_are_named` |
//! | 2.3 | collectiveExclusions may be in any entry, with several values; excludeAllCollectiveAttributes, or its OID, excludes all | `s2_3_exclusions` |
//! | 3 | SHALL NOT: a non-collective subtype; SINGLE-VALUE; in a class; operational | `s3_definitions_that_shall_not_be` |
//! | 3 | SHOULD: the attributes of the section | `s3_the_attributes_of_the_section` |
//! | 4 | access by an entry is governed by the rules for attributes of that entry | `dsa: x1_collective_attributes_have_the_rights_of_the_entry`, `dsa: x1_values_that_may_not_be_read_are_not_there`, `dsa: x1_a_hidden_subentry_hides_no_values` |
//!
//! Collections as such, by random subtree specifications, are those of a naive model in `collective_model.rs`.

use super::{check_table, clients};
use crate::common::{ADA, Client, Found, Given, control, standard_schema};
use model::ResultCode::{
    self, CompareFalse, CompareTrue, ConstraintViolation, NoSuchAttribute, ObjectClassViolation, Success,
};
use model::Scope;
use proto::control::matched_values;
use proto::control::paged_results;
use proto::control::sort::{self, SortKey};
use proto::op::ModifyKind::{Add, Delete, Replace};
use schema::Builder;

const PEOPLE: &str = "ou=people,dc=example";
const GRACE: &str = "uid=grace,ou=people,dc=example";
const AREA: &str = "cn=area,ou=people,dc=example";
const CLASSES: &[&str] = &["top", "subentry", "collectiveAttributeSubentry"];

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc3671_collective_attributes.rs"));
}

/// Adds a subentry of collective attributes.
fn must_add(client: &mut Client, dn: &str, specification: &str, attributes: Given<'_>) {
    let own: Given<'_> = &[("objectClass", CLASSES), ("subtreeSpecification", &[specification])];
    client.must_add(dn, &[own, attributes].concat());
}

/// The tree, in which all below `ou=people` is in Paris.
fn in_paris(client: &mut Client) {
    must_add(client, AREA, "{}", &[("c-l", &["Paris"]), ("c-TelephoneNumber", &["+33 1", "+33 2"])]);
}

fn some(values: &[&str]) -> Option<Vec<String>> {
    Some(values.iter().map(|value| (*value).to_owned()).collect())
}

/// Values of an attribute that a read of all shows, in the order of the alphabet.
fn values(client: &mut Client, dn: &str, attribute: &str) -> Option<Vec<String>> {
    let found = client.read(dn, &["*", "+"]);
    assert_eq!(found.end.code, Success, "{dn}: {}", found.end.text);
    let mut values = found.values(attribute);
    values.iter_mut().for_each(|values| values.sort());
    values
}

fn found(client: &mut Client, filter: &str) -> Vec<String> {
    let found = client.search("dc=example", Scope::Subtree, filter, &["1.1"]);
    assert_eq!(found.end.code, Success, "{filter}: {}", found.end.text);
    found.dns().into_iter().map(str::to_owned).collect()
}

#[test]
fn s1_1_aliases_are_members_and_subentries_are_not() {
    for mut client in clients() {
        in_paris(&mut client);
        let alias: Given<'_> =
            &[("objectClass", &["alias", "extensibleObject"]), ("cn", &["x"]), ("aliasedObjectName", &[ADA])];
        client.must_add("cn=x,ou=people,dc=example", alias);
        assert_eq!(values(&mut client, "cn=x,ou=people,dc=example", "c-l"), some(&["Paris"]));
        // Another subentry in its scope, and the subentry itself, which has the values as its own.
        must_add(&mut client, "cn=other,ou=people,dc=example", "{ minimum 9 }", &[]);
        assert_eq!(values(&mut client, "cn=other,ou=people,dc=example", "c-l"), None);
        assert_eq!(values(&mut client, AREA, "c-l"), some(&["Paris"]));
        assert_eq!(values(&mut client, AREA, "collectiveAttributeSubentries"), None);
    }
}

#[test]
fn s1_2_values_are_not_updateable_by_an_entry() {
    for mut client in clients() {
        in_paris(&mut client);
        for (kind, given, code) in [
            (Add, &["Rome"][..], ObjectClassViolation),
            (Replace, &["Rome"], ObjectClassViolation),
            (Delete, &["Paris"], NoSuchAttribute),
            (Delete, &[], NoSuchAttribute),
        ] {
            assert_eq!(client.modify(ADA, &[(kind, "c-l", given)]).code, code, "{kind:?}");
        }
        assert_eq!(values(&mut client, ADA, "c-l"), some(&["Paris"]));
    }
}

#[test]
fn s1_2_values_are_updated_by_their_subentry() {
    for mut client in clients() {
        in_paris(&mut client);
        let mut change = |changes: &[_], expected: Option<Vec<String>>| {
            assert_eq!(client.modify(AREA, changes).code, Success);
            assert_eq!(values(&mut client, ADA, "c-l"), expected);
            assert_eq!(client.read(ADA, &["c-l"]).values("c-l"), expected);
        };
        change(&[(Replace, "c-l", &["Rome"])], some(&["Rome"]));
        change(&[(Add, "c-l", &["Lyon"])], some(&["Lyon", "Rome"]));
        change(&[(Replace, "subtreeSpecification", &["{ minimum 2 }"])], None);
        change(&[(Replace, "subtreeSpecification", &["{ minimum 1 }"])], some(&["Lyon", "Rome"]));
        change(&[(Delete, "c-l", &[])], None);
        change(&[(Add, "c-l", &["Paris"])], some(&["Paris"]));
        // Without the class it is a subentry like others, which cannot have the attributes.
        let without = &[(Delete, "objectClass", &["collectiveAttributeSubentry"][..])];
        assert_eq!(client.modify(AREA, without).code, ObjectClassViolation);
        assert_eq!(client.delete(AREA).code, Success);
        assert_eq!((values(&mut client, ADA, "c-l"), found(&mut client, "(c-l=*)")), (None, vec![]));
    }
}

#[test]
fn s1_2_values_of_several_collections_are_combined() {
    for mut client in clients() {
        in_paris(&mut client);
        must_add(
            &mut client,
            "cn=all,dc=example",
            "{}",
            &[("c-l", &["PARIS", "Lyon"]), ("c-o", &["Example"])],
        );
        let all = values(&mut client, ADA, "c-l").expect("it has some");
        assert_eq!(all.len(), 2, "one value has two spellings: {all:?}");
        assert_eq!(values(&mut client, PEOPLE, "c-l").expect("it has some").len(), 2);
        assert_eq!(values(&mut client, "ou=groups,dc=example", "c-l"), some(&["Lyon", "PARIS"]));
        assert_eq!(found(&mut client, "(c-l=paris)").len(), 5);
        assert_eq!(values(&mut client, ADA, "c-o"), some(&["Example"]));
    }
}

/// All ways to ask: by name, by OID, by the supertype, by `*`, with types only, in each kind of search, twice, so that the second time is of a form that is known.
#[test]
fn s2_a_search_shows_them_as_the_entrys_own() {
    for mut client in clients() {
        for _ in 0..2 {
            // What is remembered of searches before there is such a subentry must not be used after.
            assert_eq!(
                client.search("dc=example", Scope::Subtree, "(uid=ada)", &["c-l"]).values("c-l"),
                None
            );
            assert_eq!(client.read(ADA, &["c-l"]).values("c-l"), None);
        }
        in_paris(&mut client);
        for asked in ["c-l", "C-L", "2.5.4.7.1", "l", "name", "*"] {
            for _ in 0..2 {
                for (base, scope, filter) in [
                    (ADA, Scope::Base, "(objectClass=*)"),
                    (ADA, Scope::Base, "(c-l=paris)"),
                    (PEOPLE, Scope::One, "(uid=ada)"),
                    ("dc=example", Scope::Subtree, "(uid=ada)"),
                    ("dc=example", Scope::Subtree, "(&(l=paris)(sn=lovelace))"),
                ] {
                    let found = client.search(base, scope, filter, &[asked]);
                    assert_eq!(found.dns(), [ADA], "{filter}");
                    assert_eq!(found.values("c-l"), some(&["Paris"]), "{asked} {filter}");
                    let types = client.search_with(
                        base,
                        scope,
                        filter,
                        &[asked],
                        |search| search.types_only = true,
                        &[],
                    );
                    assert_eq!(types.values("c-l"), some(&[]), "{asked} {filter}");
                }
            }
        }
        assert_eq!(
            client.read(ADA, &["c-TelephoneNumber"]).values("c-TelephoneNumber"),
            some(&["+33 1", "+33 2"])
        );
    }
}

#[test]
fn s2_selections() {
    for mut client in clients() {
        in_paris(&mut client);
        let shown = |client: &mut Client, asked: &[&str]| {
            let found = client.read(ADA, asked);
            ["c-l", "c-TelephoneNumber", "collectiveAttributeSubentries"]
                .map(|name| found.values(name).is_some())
        };
        assert_eq!(shown(&mut client, &[]), [true, true, false]);
        assert_eq!(shown(&mut client, &["*"]), [true, true, false]);
        assert_eq!(shown(&mut client, &["+"]), [false, false, true]);
        assert_eq!(shown(&mut client, &["telephoneNumber"]), [false, true, false]);
        assert_eq!(shown(&mut client, &["cn", "c-l"]), [true, false, false]);
        assert_eq!(shown(&mut client, &["1.1"]), [false; 3]);
        assert_eq!(shown(&mut client, &["c-st"]), [false; 3]);
        assert_eq!(shown(&mut client, &["collectiveAttributeSubentries"]), [false, false, true]);
        // An attribute that an entry has itself is another one.
        assert_eq!(client.modify(ADA, &[(Add, "telephoneNumber", &["+1"])]).code, Success);
        let found = client.read(ADA, &["telephoneNumber"]);
        assert_eq!(found.values("telephoneNumber"), some(&["+1"]));
        assert_eq!(found.values("c-TelephoneNumber"), some(&["+33 1", "+33 2"]));
    }
}

/// Sort, matched values and pages take them as the entry's own.
#[test]
fn s2_controls() {
    for mut client in clients() {
        in_paris(&mut client);
        must_add(
            &mut client,
            "cn=ada,ou=people,dc=example",
            "{ base \"uid=ada\" }",
            &[("c-l", &["Zagreb"]), ("c-ou", &["Work"])],
        );
        must_add(
            &mut client,
            "cn=rest,ou=people,dc=example",
            "{ specificExclusions { chopBefore:\"uid=ada\" } }",
            &[("c-ou", &["Home"])],
        );
        assert_eq!(values(&mut client, ADA, "c-ou"), some(&["Work"]));
        assert_eq!(values(&mut client, GRACE, "c-ou"), some(&["Home"]));
        let mut ordered = |by: &str, reverse| {
            let key = SortKey { attribute: by.as_bytes(), ordering_rule: None, reverse };
            let value = sort::encode(&[key]);
            let controls = [sort::control(&value, true)];
            let found =
                client.search_with(PEOPLE, Scope::One, "(objectClass=person)", &["1.1"], |_| {}, &controls);
            assert_eq!(found.end.code, Success, "{by}: {}", found.end.text);
            // As they came: `dns` puts them in order.
            found.entries.iter().map(|(dn, _)| dn.clone()).collect::<Vec<_>>()
        };
        for by in ["c-ou", "ou"] {
            assert_eq!(ordered(by, false), [GRACE, ADA], "{by}");
            assert_eq!(ordered(by, true), [ADA, GRACE], "{by}");
        }
        // The least value counts: Paris for both.
        assert_eq!(ordered("c-l", false), [ADA, GRACE]);
        let filter = proto::filter_string::parse(b"(c-l=z*)").expect("a filter");
        let items = matched_values::encode(&[filter.filter()]);
        let controls = [matched_values::control(&items, true)];
        let matched =
            client.search_with(ADA, Scope::Base, "(objectClass=*)", &["c-l", "c-ou"], |_| {}, &controls);
        assert_eq!((matched.values("c-l"), matched.values("c-ou")), (some(&["Zagreb"]), some(&[])));
        let (mut cookie, mut pages) = (Vec::new(), Vec::new());
        loop {
            let mut page = Vec::new();
            paged_results::PagedResults { size: 1, cookie: &cookie }.encode(&mut page);
            let controls = [control(paged_results::OID, &page, true)];
            let found =
                client.search_with("dc=example", Scope::Subtree, "(c-l=paris)", &["c-l"], |_| {}, &controls);
            assert_eq!(found.end.code, Success);
            pages.extend(found.dns().into_iter().map(str::to_owned));
            assert!(found.entries.is_empty() || found.values("c-l").is_some());
            cookie = found.cookie.expect("each page has one");
            if cookie.is_empty() {
                break;
            }
        }
        assert_eq!(pages, [PEOPLE, ADA, GRACE]);
    }
}

#[test]
fn s2_collections_follow_the_tree() {
    for mut client in clients() {
        let unit =
            |client: &mut Client, dn: &str| client.must_add(dn, &[("objectClass", &["organizationalUnit"])]);
        must_add(&mut client, AREA, "{ base \"ou=staff\" }", &[("c-l", &["Paris"])]);
        // There is no base yet.
        assert_eq!(found(&mut client, "(c-l=paris)"), [""; 0]);
        unit(&mut client, "ou=staff,ou=people,dc=example");
        unit(&mut client, "ou=a,ou=staff,ou=people,dc=example");
        assert_eq!(found(&mut client, "(c-l=paris)").len(), 2);
        // A subtree leaves the collection, and comes back.
        let moved =
            client.rename("ou=a,ou=staff,ou=people,dc=example", "ou=a", true, Some("ou=groups,dc=example"));
        assert_eq!(moved.code, Success);
        assert_eq!(found(&mut client, "(c-l=paris)"), ["ou=staff,ou=people,dc=example"]);
        let moved =
            client.rename("ou=a,ou=groups,dc=example", "ou=b", true, Some("ou=staff,ou=people,dc=example"));
        assert_eq!(moved.code, Success);
        assert_eq!(values(&mut client, "ou=b,ou=staff,ou=people,dc=example", "c-l"), some(&["Paris"]));
        // The base has another name; then another entry has the name.
        assert_eq!(client.rename("ou=staff,ou=people,dc=example", "ou=team", true, None).code, Success);
        assert_eq!(found(&mut client, "(c-l=paris)"), [""; 0]);
        unit(&mut client, "ou=staff,ou=people,dc=example");
        assert_eq!(found(&mut client, "(c-l=paris)"), ["ou=staff,ou=people,dc=example"]);
        // The area is another one: the base is a name below it.
        let moved = client.rename(AREA, "cn=area", true, Some("dc=example"));
        assert_eq!(moved.code, Success);
        assert_eq!(found(&mut client, "(c-l=paris)"), [""; 0]);
        unit(&mut client, "ou=staff,dc=example");
        assert_eq!(found(&mut client, "(c-l=paris)"), ["ou=staff,dc=example"]);
        assert_eq!(client.delete("ou=staff,dc=example").code, Success);
        assert_eq!(found(&mut client, "(c-l=paris)"), [""; 0]);
    }
}

#[test]
fn s2_1_they_are_stored_in_their_subentries_alone() {
    for mut client in clients() {
        let person: Given<'_> = &[("objectClass", &["inetOrgPerson"]), ("cn", &["x"]), ("sn", &["x"])];
        let city: Given<'_> = &[("c-l", &["Paris"])];
        let refused = |client: &mut Client, dn: &str, attributes: &[Given<'_>]| {
            let end = client.add(dn, &attributes.concat());
            assert_eq!(end.code, ObjectClassViolation, "{dn}");
            assert!(end.text.contains("collectiveAttributeSubentry"), "{}", end.text);
        };
        refused(&mut client, "uid=x,ou=people,dc=example", &[person, city]);
        let open: Given<'_> =
            &[("objectClass", &["inetOrgPerson", "extensibleObject"]), ("cn", &["x"]), ("sn", &["x"])];
        refused(&mut client, "uid=x,ou=people,dc=example", &[open, city]);
        let subentry: Given<'_> = &[("objectClass", &["subentry"]), ("subtreeSpecification", &["{}"])];
        refused(&mut client, AREA, &[subentry, city]);
        // The class alone makes no subentry.
        let aux: Given<'_> = &[
            ("objectClass", &["inetOrgPerson", "collectiveAttributeSubentry"]),
            ("cn", &["x"]),
            ("sn", &["x"]),
        ];
        refused(&mut client, "uid=x,ou=people,dc=example", &[aux, city]);
        // Nor by a name, nor by options.
        refused(&mut client, "c-l=Paris,ou=people,dc=example", &[open]);
        refused(&mut client, "uid=x,ou=people,dc=example", &[open, &[("c-l;lang-fr", &["Paris"])]]);
        client.must_add("uid=x,ou=people,dc=example", open);
        assert_eq!(
            client.modify("uid=x,ou=people,dc=example", &[(Add, "c-l", &["a"])]).code,
            ObjectClassViolation
        );
        let renamed = client.rename("uid=x,ou=people,dc=example", "c-l=Paris", false, None);
        assert_eq!(renamed.code, ObjectClassViolation);
        client.must_add(AREA, subentry);
        assert_eq!(client.modify(AREA, &[(Add, "c-l", &["a"])]).code, ObjectClassViolation);
        let both = &[(Add, "objectClass", &["collectiveAttributeSubentry"][..]), (Add, "c-l", &["Paris"])];
        assert_eq!(client.modify(AREA, both).code, Success);
        // "SHOULD contain at least one": it need not, and other attributes it cannot have.
        assert_eq!(client.modify(AREA, &[(Add, "l", &["Paris"])]).code, ObjectClassViolation);
        assert_eq!(values(&mut client, ADA, "c-l"), some(&["Paris"]));
    }
}

#[test]
fn s2_1_finding_and_comparison() {
    for mut client in clients() {
        in_paris(&mut client);
        for filter in [
            "(c-l=paris)",
            "(l=PARIS)",
            "(c-l=*)",
            "(c-l=p*)",
            "(c-l=*ari*)",
            "(c-l:=paris)",
            "(c-l~=paris)",
            "(c-l:caseExactMatch:=Paris)",
            "(|(c-l=paris)(uid=nobody))",
            "(&(objectClass=*)(c-l=paris))",
            "(c-TelephoneNumber=+332)",
            "(2.5.4.7.1=paris)",
            "(!(!(c-l=paris)))",
        ] {
            assert_eq!(found(&mut client, filter), [PEOPLE, ADA, GRACE], "{filter}");
        }
        for filter in ["(c-l=rome)", "(c-st=*)", "(c-l;lang-fr=paris)", "(&(c-l=paris)(c-l=rome))"] {
            assert_eq!(found(&mut client, filter), [""; 0], "{filter}");
        }
        // A rule alone asks of all attributes.
        assert!(found(&mut client, "(:caseIgnoreMatch:=paris)").contains(&ADA.to_owned()));
        assert_eq!(found(&mut client, "(&(objectClass=person)(!(c-l=paris)))"), [""; 0]);
        assert_eq!(found(&mut client, "(!(c-l=paris))"), ["dc=example", "ou=groups,dc=example"]);
        // An index on the attribute has the subentry's own values alone.
        let compare = |client: &mut Client, attribute, value| client.compare(ADA, attribute, value).code;
        let expected: [(&str, &str, ResultCode); 6] = [
            ("c-l", "PARIS", CompareTrue),
            ("l", "paris", CompareTrue),
            ("c-l", "Rome", CompareFalse),
            ("c-st", "Paris", NoSuchAttribute),
            ("c-l;lang-fr", "Paris", NoSuchAttribute),
            ("collectiveAttributeSubentries", "CN=area, ou=people,dc=example", CompareTrue),
        ];
        for (attribute, value, code) in expected {
            assert_eq!(compare(&mut client, attribute, value), code, "{attribute}={value}");
        }
        assert_eq!(client.compare("dc=example", "c-l", "Paris").code, NoSuchAttribute);
    }
}

#[test]
fn s2_1_areas() {
    for mut client in clients() {
        must_add(&mut client, "cn=all,dc=example", "{}", &[("c-l", &["Paris"])]);
        in_paris(&mut client);
        let role = |client: &mut Client, roles: &[&str]| {
            assert_eq!(client.modify(PEOPLE, &[(Replace, "administrativeRole", roles)]).code, Success);
            let subentries = values(client, ADA, "collectiveAttributeSubentries");
            (found(client, "(collectiveAttributeSubentries=cn=all,dc=example)"), subentries)
        };
        let (all, outer): (Vec<String>, _) = (
            ["dc=example", "ou=groups,dc=example", PEOPLE, ADA, GRACE].map(str::to_owned).into(),
            ["dc=example", "ou=groups,dc=example"].map(str::to_owned).to_vec(),
        );
        // An inner area is a part of the one around it.
        for roles in
            [&[][..], &["collectiveAttributeInnerArea"], &["2.5.23.6"], &["accessControlSpecificArea"]]
        {
            assert_eq!(
                role(&mut client, roles),
                (all.clone(), some(&["cn=all,dc=example", AREA])),
                "{roles:?}"
            );
        }
        // A specific one is not.
        for roles in [
            &["collectiveAttributeSpecificArea"][..],
            &["2.5.23.5"],
            &["autonomousArea"],
            &["2.5.23.1", "accessControlInnerArea"],
        ] {
            assert_eq!(role(&mut client, roles), (outer.clone(), some(&[AREA])), "{roles:?}");
        }
    }
}

#[test]
fn s2_2_subentries_are_named() {
    for mut client in clients() {
        in_paris(&mut client);
        must_add(&mut client, "cn=all,dc=example", "{ maximum 1 }", &[("c-o", &["Example"])]);
        let name = "collectiveAttributeSubentries";
        assert_eq!(values(&mut client, ADA, name), some(&[AREA]));
        assert_eq!(values(&mut client, PEOPLE, name), some(&["cn=all,dc=example", AREA]));
        assert_eq!(values(&mut client, "dc=example", name), some(&["cn=all,dc=example"]));
        assert_eq!(found(&mut client, &format!("({name}={AREA})")), [PEOPLE, ADA, GRACE]);
        assert_eq!(found(&mut client, &format!("({name}=*)")).len(), 5);
        // It has the name that the subentry has now.
        assert_eq!(client.rename(AREA, "cn=new", true, None).code, Success);
        assert_eq!(values(&mut client, ADA, name), some(&["cn=new,ou=people,dc=example"]));
        for kind in [Add, Replace] {
            assert_eq!(client.modify(ADA, &[(kind, name, &["cn=x,dc=example"])]).code, ConstraintViolation);
        }
    }
}

#[test]
fn s2_3_exclusions() {
    for mut client in clients() {
        in_paris(&mut client);
        let shown = |client: &mut Client, excluded: &[&str]| {
            let end = client.modify(ADA, &[(Replace, "collectiveExclusions", excluded)]);
            assert_eq!(end.code, Success, "{excluded:?}: {}", end.text);
            let has = |client: &mut Client, name: &str| {
                let is_shown = values(client, ADA, name).is_some();
                let is_found = found(client, &format!("(&(uid=ada)({name}=*))")) == [ADA];
                let is_compared = client.compare(ADA, name, "x").code == CompareFalse;
                assert_eq!((is_found, is_compared), (is_shown, is_shown), "{name} {excluded:?}");
                is_shown
            };
            [has(client, "c-l"), has(client, "c-TelephoneNumber")]
        };
        assert_eq!(shown(&mut client, &[]), [true, true]);
        assert_eq!(shown(&mut client, &["c-l"]), [false, true]);
        assert_eq!(shown(&mut client, &["2.5.4.7.1"]), [false, true]);
        assert_eq!(shown(&mut client, &["c-l", "C-TELEPHONENUMBER"]), [false, false]);
        // A value names the attribute itself.
        assert_eq!(shown(&mut client, &["l"]), [true, true]);
        assert_eq!(shown(&mut client, &["c-st"]), [true, true]);
        assert_eq!(shown(&mut client, &["excludeAllCollectiveAttributes"]), [false, false]);
        assert_eq!(shown(&mut client, &["2.5.18.0"]), [false, false]);
        assert_eq!(shown(&mut client, &["c-l", "excludeallcollectiveattributes"]), [false, false]);
        // Of others nothing changes, and it is an operational attribute.
        assert_eq!(found(&mut client, "(c-l=paris)"), [PEOPLE, GRACE]);
        assert_eq!(client.read(ADA, &["*"]).values("collectiveExclusions"), None);
        assert!(client.read(ADA, &["+"]).values("collectiveExclusions").is_some());
    }
}

#[test]
fn s3_definitions_that_shall_not_be() {
    let fault = |text: &str| {
        let faults = Builder::new().standard().file("x", text).build().expect_err(text).to_string();
        assert!(faults.contains("COLLECTIVE"), "{faults}");
    };
    fault("attributetype ( 1.2.3 NAME 'x' SUP c-l )");
    fault("attributetype ( 1.2.3 NAME 'x' SUP l SINGLE-VALUE COLLECTIVE )");
    fault("objectclass ( 1.2.3 NAME 'x' SUP top AUXILIARY MAY ( cn $ c-l ) )");
    fault("objectclass ( 1.2.3 NAME 'x' SUP top AUXILIARY MUST c-ou )");
    fault("attributetype ( 1.2.3 NAME 'x' SUP l COLLECTIVE USAGE directoryOperation )");
    let sound = "attributetype ( 1.2.3 NAME 'x' SUP c-l COLLECTIVE )\nattributetype ( 1.2.4 NAME 'y' SUP l )";
    Builder::new().standard().file("x", sound).build().expect("it is sound");
}

#[test]
fn s3_the_attributes_of_the_section() {
    let schema = standard_schema();
    let table = [
        ("2.5.4.7.1", "c-l", "l"),
        ("2.5.4.8.1", "c-st", "st"),
        ("2.5.4.9.1", "c-street", "street"),
        ("2.5.4.10.1", "c-o", "o"),
        ("2.5.4.11.1", "c-ou", "ou"),
        ("2.5.4.16.1", "c-PostalAddress", "postalAddress"),
        ("2.5.4.17.1", "c-PostalCode", "postalCode"),
        ("2.5.4.18.1", "c-PostOfficeBox", "postOfficeBox"),
        ("2.5.4.19.1", "c-PhysicalDeliveryOfficeName", "physicalDeliveryOfficeName"),
        ("2.5.4.20.1", "c-TelephoneNumber", "telephoneNumber"),
        ("2.5.4.21.1", "c-TelexNumber", "telexNumber"),
        ("2.5.4.23.1", "c-FacsimileTelephoneNumber", "facsimileTelephoneNumber"),
        ("2.5.4.25.1", "c-InternationalISDNNumber", "internationalISDNNumber"),
    ];
    for (oid, name, above) in table {
        let id = schema.find_type(name.as_bytes()).expect(name);
        let kind = schema.attribute_type(id);
        assert_eq!(
            (schema.find_type(oid.as_bytes()), kind.sup),
            (Some(id), schema.find_type(above.as_bytes()))
        );
        assert!(kind.is_collective() && !kind.is_operational(), "{name}");
    }
    let mut client = Client::new();
    let published: Found = client.read("cn=Subschema", &["attributeTypes", "objectClasses"]);
    let types = published.values("attributeTypes").expect("they are published");
    assert!(types.iter().any(|text| text.contains("'c-l'") && text.contains(" COLLECTIVE ")));
    let classes = published.values("objectClasses").expect("they are published");
    assert!(classes.iter().any(|text| text.contains("'collectiveAttributeSubentry'")));
}
