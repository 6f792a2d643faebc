//! Collective attributes (RFC 3671 section 4): the rights are those on the entry that shows them, and not those on the subentry. What may not be read shows by no filter,
//! compare, order nor list of rights.

use super::*;
use ResultCode::{
    CompareFalse, CompareTrue, InsufficientAccessRights, NoSuchAttribute, NoSuchObject, Success,
};
use model::Scope;
use proto::control::effective_rights::OID;
use proto::control::matched_values;
use proto::control::sort::{self, SortKey};

const AREA: &str = "cn=area,ou=people,dc=example";

/// All people are in Paris and Rome, and Grace's phone is collective.
fn plant(client: &Client) {
    let mut root = client.root();
    let area: Given<'_> = &[
        ("objectClass", &["subentry", "collectiveAttributeSubentry"]),
        ("subtreeSpecification", &["{ minimum 1 }"]),
        ("c-l", &["Paris", "Rome"]),
        ("c-o", &["Example"]),
    ];
    root.must_add(AREA, area);
}

fn found(client: &mut Client, filter: &str) -> Vec<String> {
    let found = client.search("ou=people,dc=example", Scope::One, filter, &["1.1"]);
    assert_eq!(found.end.code, Success, "{filter}: {}", found.end.text);
    found.dns().into_iter().map(str::to_owned).collect()
}

/// Names of entries in the order of an attribute.
fn ordered(client: &mut Client, by: &str, reverse: bool) -> Vec<String> {
    let value = sort::encode(&[SortKey { attribute: by.as_bytes(), ordering_rule: None, reverse }]);
    let controls = [sort::control(&value, true)];
    let found = client.search_with("ou=people,dc=example", Scope::One, "(sn=*)", &["1.1"], |_| {}, &controls);
    assert_eq!(found.end.code, Success, "{}", found.end.text);
    found.entries.iter().map(|(dn, _)| dn.clone()).collect()
}

fn rights(client: &mut Client, dn: &str) -> String {
    // Without a value it asks about oneself.
    let controls = [Control { oid: OID, critical: true, value: None }];
    let found = client.search_with(dn, Scope::Base, "(objectClass=*)", &["*"], |_| {}, &controls);
    found.values("attributeLevelRights").map_or(String::new(), |values| values.join("\n"))
}

#[test]
fn x1_collective_attributes_have_the_rights_of_the_entry() {
    // Of Grace it is hidden, however the subentry is read.
    let rules =
        ["grace: base=\"uid=grace,ou=people,dc=example\" attrs=c-l; users; deny=read,search,compare rank=5"];
    as_ada(&rules, |mut client| {
        plant(&client);
        for asked in ["c-l", "l", "name", "*"] {
            assert!(client.read(ADA, &[asked]).values("c-l").is_some(), "{asked}");
            assert_eq!(client.read(GRACE, &[asked]).values("c-l"), None, "{asked}");
            let types = client.search_with(
                GRACE,
                Scope::Base,
                "(objectClass=*)",
                &[asked],
                |s| s.types_only = true,
                &[],
            );
            assert_eq!(types.values("c-l"), None, "{asked}");
        }
        assert_eq!(client.read(GRACE, &["*"]).values("c-o"), Some(vec!["Example".to_owned()]));
        for filter in ["(c-l=paris)", "(l=paris)", "(c-l=*)", "(:caseIgnoreMatch:=paris)", "(c-l=p*)"] {
            assert_eq!(found(&mut client, filter), [ADA, BOB], "{filter}");
        }
        // Undefined, so the negation does not tell either.
        for filter in ["(!(c-l=paris))", "(!(c-l=oslo))", "(!(c-l=*))"] {
            assert!(!found(&mut client, filter).contains(&GRACE.to_owned()), "{filter}");
        }
        assert_eq!(found(&mut client, "(|(c-l=paris)(uid=grace))"), [ADA, BOB, GRACE]);
        assert_eq!(client.compare(ADA, "c-l", "paris").code, CompareTrue);
        for value in ["paris", "oslo"] {
            assert_eq!(client.compare(GRACE, "c-l", value).code, InsufficientAccessRights);
            assert_eq!(client.compare(GRACE, "l", value).code, NoSuchAttribute);
        }
        // An absent value comes last, and first in reverse order.
        assert_eq!(ordered(&mut client, "c-l", false), [ADA, BOB, GRACE]);
        assert_eq!(ordered(&mut client, "c-l", true), [GRACE, ADA, BOB]);
        assert!(rights(&mut client, ADA).contains("c-l:"), "{}", rights(&mut client, ADA));
        assert!(!rights(&mut client, GRACE).contains("c-l:") && rights(&mut client, GRACE).contains("c-o:"));
        let parsed = proto::filter_string::parse(b"(c-l=paris)").expect("a filter");
        let items = matched_values::encode(&[parsed.filter()]);
        let controls = [matched_values::control(&items, true)];
        let found = client.search_with(GRACE, Scope::Base, "(objectClass=*)", &["c-l"], |_| {}, &controls);
        assert_eq!(found.values("c-l"), None);
    });
}

#[test]
fn x1_values_that_may_not_be_read_are_not_there() {
    let rules = ["rome: all attrs=c-l values=\"(c-l=rome)\"; users; deny=read,search,compare rank=5"];
    as_ada(&rules, |mut client| {
        plant(&client);
        assert_eq!(client.read(GRACE, &["c-l"]).values("c-l"), Some(vec!["Paris".to_owned()]));
        assert_eq!(found(&mut client, "(c-l=paris)"), [ADA, BOB, GRACE]);
        assert_eq!(found(&mut client, "(c-l=rome)"), [""; 0]);
        assert_eq!(found(&mut client, "(c-l=r*)"), [""; 0]);
        assert_eq!(client.compare(GRACE, "c-l", "paris").code, CompareTrue);
        assert!(
            [CompareFalse, InsufficientAccessRights].contains(&client.compare(GRACE, "c-l", "rome").code)
        );
        // Of another entry alone the value is not hidden by the rule on this one; where none is left, there is no attribute.
        let end = client.root().modify(AREA, &[(proto::op::ModifyKind::Replace, "c-l", &["Rome"])]);
        assert_eq!(end.code, Success);
        assert_eq!(client.read(GRACE, &["*"]).values("c-l"), None);
        assert_eq!(found(&mut client, "(c-l=*)"), [""; 0]);
    });
}

/// The subentry is hidden, and the entries are not: they show what rules let them show.
#[test]
fn x1_a_hidden_subentry_hides_no_values() {
    let rules = [
        "area: base=\"cn=area,ou=people,dc=example\" attrs=entry,**; users; deny=all rank=5",
        "names: all attrs=collectiveAttributeSubentries; users; deny=read,search,compare rank=5",
    ];
    as_ada(&rules, |mut client| {
        plant(&client);
        assert_eq!(client.search(AREA, Scope::Base, "(objectClass=*)", &[]).end.code, NoSuchObject);
        assert_eq!(client.read(GRACE, &["c-o"]).values("c-o"), Some(vec!["Example".to_owned()]));
        assert_eq!(found(&mut client, "(c-o=example)"), [ADA, BOB, GRACE]);
        let name = "collectiveAttributeSubentries";
        assert_eq!(client.read(GRACE, &["+", name]).values(name), None);
        assert_eq!(found(&mut client, &format!("({name}={AREA})")), [""; 0]);
        assert_eq!(found(&mut client, &format!("({name}=*)")), [""; 0]);
        assert_eq!(client.compare(GRACE, name, AREA).code, InsufficientAccessRights);
    });
}
