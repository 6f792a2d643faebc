//! RFC 3672: subentries.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 1 | subentries SHALL NOT be considered in one-level and subtree searches without the control | `s1_without_the_control` |
//! | 1 | "for all other operations, including base scope search operations, subentries SHALL be considered" | `s1_other_operations` |
//! | 2.1 | reads the syntax; what is none of it is refused | `s2_1_specifications` |
//! | 2.1.1 to 2.1.4 | base, specificExclusions, minimum, maximum, specificationFilter | `s2_1_each_component`, `dsa: collections_are_those_of_the_model` |
//! | 2.2 | administrativeRole, and the areas of collective attributes that begin with it | `dsa: s2_1_areas` |
//! | 2.3 | subtreeSpecification has one value, and is in all subentries | `s2_3_one_specification_each` |
//! | 2.4 | the class | `s2_3_one_specification_each` |
//! | 3 | TRUE: subentries and no other entries are visible; FALSE: the reverse | `s3_one_kind_is_visible`, `s3_where_there_are_none`, `s3_in_pages` |
//! | 3 | the value SHALL NOT be absent; it is a BOOLEAN; the control is of searches | `s3_the_value_is_a_boolean` |
//! | 3 | it is published | `s3_the_root_dse_lists_it` |
//!
//! Where it deviates:
//!
//! | section | the text | the server, and why | test |
//! |---|---|---|---|
//! | 2.2 | a subentry not of a class permitted by the administrativeRole attribute cannot be subordinate to the administrative entry | takes every subentry, as other servers do: the role says where an area begins, and directories that come from servers without roles have subentries all the same | `s2_2_a_role_refuses_no_subentry` |
//!
//! Not here: "should be protected from unauthorized access" (section 4) is what access rules are for.

use super::check_table;
use crate::common::{ADA, Client, Given, control, is_published};
use model::ResultCode::{
    CompareTrue, ConstraintViolation, ObjectClassViolation, ProtocolError, Success,
    UnavailableCriticalExtension,
};
use model::Scope;
use proto::control::subentries::{OID, Visible, control as subentries};
use proto::control::{Control, paged_results};
use proto::op::ModifyKind::Replace;

const PEOPLE: &str = "ou=people,dc=example";
const AREA: &str = "cn=area,ou=people,dc=example";

fn with_subentry() -> Client {
    let mut client = Client::new();
    let subentry: Given<'_> = &[("objectClass", &["subentry"]), ("subtreeSpecification", &["{}"])];
    client.must_add(AREA, subentry);
    client
}

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc3672_subentries.rs"));
}

#[test]
fn s1_without_the_control() {
    let mut client = with_subentry();
    for (scope, filter) in [
        (Scope::One, "(objectClass=*)"),
        (Scope::Subtree, "(cn=area)"),
        (Scope::Subordinates, "(objectClass=subentry)"),
    ] {
        for _ in 0..2 {
            let found = client.search(PEOPLE, scope, filter, &["1.1"]);
            assert!(found.end.code == Success && !found.dns().contains(&AREA), "{scope:?} {filter}");
        }
    }
    // The base of a search is considered, whatever the scope; entries below it would not be.
    assert_eq!(client.search(AREA, Scope::Subtree, "(objectClass=*)", &["1.1"]).dns(), [AREA]);
}

#[test]
fn s1_other_operations() {
    let mut client = with_subentry();
    assert_eq!(client.read(AREA, &["cn"]).values("cn"), Some(vec!["area".to_owned()]));
    assert_eq!(client.compare(AREA, "cn", "area").code, CompareTrue);
    assert_eq!(client.modify(AREA, &[(Replace, "subtreeSpecification", &["{ minimum 1 }"])]).code, Success);
    assert_eq!(client.rename(AREA, "cn=other", true, None).code, Success);
    // With it its superior is no leaf.
    assert_eq!(client.delete(PEOPLE).code, model::ResultCode::NotAllowedOnNonLeaf);
    assert_eq!(client.delete("cn=other,ou=people,dc=example").code, Success);
}

#[test]
fn s2_1_specifications() {
    let mut client = with_subentry();
    let mut written = |text: &str| client.modify(AREA, &[(Replace, "subtreeSpecification", &[text])]).code;
    for text in [
        "{}",
        "{ }",
        "{base \"ou=a,ou=b\"}",
        "{ specificExclusions { chopBefore:\"ou=a\", chopAfter:\"ou=b\" }, minimum 1, maximum 3 }",
        "{ specificationFilter and:{ item:person, not:item:2.5.6.14, or:{} } }",
    ] {
        assert_eq!(written(text), Success, "{text}");
    }
    for text in
        ["", "{", "{ minimum -1 }", "{ maximum }", "{ specificationFilter item }", "{ depth 3 }", "{} x"]
    {
        assert!(
            [ConstraintViolation, model::ResultCode::InvalidAttributeSyntax].contains(&written(text)),
            "{text}"
        );
    }
}

/// Which entries each component leaves, by a collective attribute of the subentry.
#[test]
fn s2_1_each_component() {
    let mut client = Client::new();
    let unit: Given<'_> = &[("objectClass", &["organizationalUnit"])];
    let (team, inner) = ("ou=team,ou=people,dc=example", "ou=inner,ou=team,ou=people,dc=example");
    client.must_add(team, unit);
    client.must_add(inner, unit);
    let grace = "uid=grace,ou=people,dc=example";
    let subentry: Given<'_> = &[
        ("objectClass", &["subentry", "collectiveAttributeSubentry"]),
        ("subtreeSpecification", &["{}"]),
        ("c-l", &["Paris"]),
    ];
    client.must_add(AREA, subentry);
    let mut check = |text: &str, mut expected: Vec<&str>| {
        assert_eq!(
            client.modify(AREA, &[(Replace, "subtreeSpecification", &[text])]).code,
            Success,
            "{text}"
        );
        expected.sort_unstable();
        assert_eq!(
            client.search("dc=example", Scope::Subtree, "(c-l=paris)", &["1.1"]).dns(),
            expected,
            "{text}"
        );
    };
    check("{}", vec![PEOPLE, ADA, grace, team, inner]);
    check("{ base \"ou=team\" }", vec![team, inner]);
    check("{ base \"ou=inner, OU=Team\" }", vec![inner]);
    check("{ base \"ou=nowhere\" }", vec![]);
    check("{ specificExclusions { chopBefore:\"ou=team\" } }", vec![PEOPLE, ADA, grace]);
    check("{ specificExclusions { chopAfter:\"ou=team\" } }", vec![PEOPLE, ADA, grace, team]);
    check("{ base \"ou=team\", specificExclusions { chopBefore:\"ou=inner\" } }", vec![team]);
    check(
        "{ specificExclusions { chopBefore:\"uid=ada\", chopAfter:\"ou=team\" } }",
        vec![PEOPLE, grace, team],
    );
    check("{ minimum 1 }", vec![ADA, grace, team, inner]);
    check("{ maximum 1 }", vec![PEOPLE, ADA, grace, team]);
    check("{ minimum 2, maximum 2 }", vec![inner]);
    check("{ base \"ou=team\", minimum 1 }", vec![inner]);
    check("{ maximum 0 }", vec![PEOPLE]);
    check("{ specificationFilter item:organizationalUnit }", vec![PEOPLE, team, inner]);
    check("{ specificationFilter item:2.5.6.6 }", vec![ADA, grace]);
    check("{ specificationFilter not:item:person }", vec![PEOPLE, team, inner]);
    check("{ specificationFilter and:{} }", vec![PEOPLE, ADA, grace, team, inner]);
    check("{ specificationFilter or:{} }", vec![]);
    check("{ specificationFilter or:{ item:nosuch, and:{ item:person, item:top } } }", vec![ADA, grace]);
    check("{ minimum 1, specificationFilter item:organizationalUnit }", vec![team, inner]);
    // The other form, which is that of OpenDJ.
    check("{ specificationFilter \"(sn=hopper)\" }", vec![grace]);
}

/// Deviation of section 2.2: below an entry without a role, and below one with a role of another kind, there are subentries of any class, and
/// those of collective attributes have their effect. A role that would not permit one may be added, and one that does be deleted.
#[test]
fn s2_2_a_role_refuses_no_subentry() {
    let mut client = Client::new();
    let roles: [&[&str]; 4] = [
        &[],
        &["accessControlSpecificArea"],
        &["subschemaAdminSpecificArea"],
        &["collectiveAttributeSpecificArea"],
    ];
    let plain: Given<'_> = &[("objectClass", &["subentry"]), ("subtreeSpecification", &["{}"])];
    let collective: Given<'_> = &[
        ("objectClass", &["subentry", "collectiveAttributeSubentry"]),
        ("subtreeSpecification", &["{}"]),
        ("c-l", &["Paris"]),
    ];
    for role in roles {
        assert_eq!(client.modify(PEOPLE, &[(Replace, "administrativeRole", role)]).code, Success, "{role:?}");
        for subentry in [plain, collective] {
            client.must_add(AREA, subentry);
            let shown = client.read(ADA, &["c-l"]).values("c-l");
            let expected = (subentry == collective).then(|| vec!["Paris".to_owned()]);
            assert_eq!(shown, expected, "{role:?}");
            for other in roles {
                let changed = client.modify(PEOPLE, &[(Replace, "administrativeRole", other)]);
                assert_eq!(changed.code, Success, "{role:?} {other:?}");
                assert_eq!(client.read(ADA, &["c-l"]).values("c-l"), expected, "{role:?} {other:?}");
            }
            assert_eq!(client.modify(PEOPLE, &[(Replace, "administrativeRole", role)]).code, Success);
            assert_eq!(client.delete(AREA).code, Success);
        }
    }
}

#[test]
fn s2_3_one_specification_each() {
    let mut client = Client::new();
    let without: Given<'_> = &[("objectClass", &["subentry"])];
    assert_eq!(client.add(AREA, without).code, ObjectClassViolation);
    let two: Given<'_> =
        &[("objectClass", &["subentry"]), ("subtreeSpecification", &["{}", "{ minimum 1 }"])];
    assert_eq!(client.add(AREA, two).code, ConstraintViolation);
    // Its name is a cn.
    let unnamed: Given<'_> = &[("objectClass", &["subentry"]), ("subtreeSpecification", &["{}"])];
    assert_eq!(client.add("ou=area,ou=people,dc=example", unnamed).code, ObjectClassViolation);
}

/// "TRUE indicates that subentries are visible and normal entries are not. [...] FALSE indicates that normal entries are visible and subentries
/// are not."
#[test]
fn s3_one_kind_is_visible() {
    let mut client = with_subentry();
    let all = client.search(PEOPLE, Scope::Subtree, "(objectClass=*)", &["1.1"]).entries.len();
    for critical in [true, false] {
        let mut found = |base, scope, filter, visible: Visible| {
            let value = visible.encode();
            let controls = [subentries(&value, critical)];
            // The second time it would be of a form that is known.
            client.search_with(base, scope, filter, &["1.1"], |_| {}, &controls);
            let found = client.search_with(base, scope, filter, &["1.1"], |_| {}, &controls);
            assert_eq!(found.end.code, Success);
            found.dns().into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        for (base, scope) in [
            ("dc=example", Scope::Subtree),
            (PEOPLE, Scope::One),
            (PEOPLE, Scope::Subordinates),
            (AREA, Scope::Base),
            (AREA, Scope::Subtree),
        ] {
            for filter in ["(objectClass=*)", "(cn=area)", "(objectClass=subentry)"] {
                assert_eq!(
                    found(base, scope, filter, Visible::Subentries),
                    [AREA],
                    "{base} {scope:?} {filter}"
                );
                let others = found(base, scope, filter, Visible::Entries);
                assert!(!others.iter().any(|dn| dn == AREA), "{base} {scope:?} {filter}");
            }
        }
        assert_eq!(found(PEOPLE, Scope::Subtree, "(objectClass=*)", Visible::Entries).len(), all);
        assert_eq!(found(PEOPLE, Scope::Base, "(objectClass=*)", Visible::Subentries), [""; 0]);
        assert_eq!(found(PEOPLE, Scope::Base, "(objectClass=*)", Visible::Entries), [PEOPLE]);
    }
    // Without it they are seen by their bases alone.
    assert_eq!(client.search(AREA, Scope::Base, "(objectClass=*)", &["1.1"]).dns(), [AREA]);
    assert!(!client.search(PEOPLE, Scope::Subtree, "(objectClass=*)", &["1.1"]).dns().contains(&AREA));
}

/// In a directory without subentries there is nothing to see.
#[test]
fn s3_where_there_are_none() {
    let mut client = Client::new();
    let value = Visible::Subentries.encode();
    for scope in [Scope::Base, Scope::One, Scope::Subtree] {
        let found = client.search_with(
            PEOPLE,
            scope,
            "(objectClass=*)",
            &["1.1"],
            |_| {},
            &[subentries(&value, true)],
        );
        assert_eq!((found.end.code, found.dns()), (Success, vec![]));
    }
}

/// Pages count what is visible.
#[test]
fn s3_in_pages() {
    let mut client = with_subentry();
    for n in 0..4 {
        let dn = format!("cn=area{n},{PEOPLE}");
        client.must_add(&dn, &[("objectClass", &["subentry"]), ("subtreeSpecification", &["{}"])]);
    }
    let visible = Visible::Subentries.encode();
    let (mut cookie, mut sizes) = (Vec::new(), Vec::new());
    loop {
        let mut page = Vec::new();
        paged_results::PagedResults { size: 2, cookie: &cookie }.encode(&mut page);
        let controls = [subentries(&visible, true), control(paged_results::OID, &page, true)];
        let found =
            client.search_with("dc=example", Scope::Subtree, "(objectClass=*)", &["1.1"], |_| {}, &controls);
        assert_eq!(found.end.code, Success);
        sizes.push(found.entries.len());
        cookie = found.cookie.expect("each page has one");
        if cookie.is_empty() {
            break;
        }
    }
    assert_eq!(sizes, [2, 2, 1]);
}

/// "controlValue contains a BER-encoded BOOLEAN"; the control is of searches.
#[test]
fn s3_the_value_is_a_boolean() {
    let mut client = with_subentry();
    for value in [None, Some(&b""[..]), Some(&[1, 1]), Some(&[1, 1, 0xff, 0]), Some(&[2, 1, 1])] {
        for critical in [true, false] {
            let controls = [Control { oid: OID, critical, value }];
            let found = client.search_with(AREA, Scope::Base, "(cn=*)", &[], |_| {}, &controls);
            assert_eq!(found.end.code, ProtocolError, "{value:x?}");
        }
    }
    let value = Visible::Entries.encode();
    let twice = [subentries(&value, true), subentries(&value, true)];
    assert_eq!(client.search_with(AREA, Scope::Base, "(cn=*)", &[], |_| {}, &twice).end.code, ProtocolError);
    let deleted = client.delete_with(AREA, &[subentries(&value, true)]);
    assert_eq!(deleted.end.code, UnavailableCriticalExtension);
    assert_eq!(client.delete_with(AREA, &[subentries(&value, false)]).end.code, Success);
}

/// RFC 3672 section 3 and RFC 4512 section 5.1: it is published.
#[test]
fn s3_the_root_dse_lists_it() {
    assert!(is_published("supportedControl", OID));
}
