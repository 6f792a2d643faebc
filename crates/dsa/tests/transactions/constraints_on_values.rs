//! Constraints on values, and default values.

use crate::common::*;
use crate::constraints::*;
use model::ResultCode::*;
use model::Scope;
use proto::op::ModifyKind::{Add, Delete, Replace};

const FORM: &str = "name=form values=\"telephoneNumber,employeeNumber\" regex=\"^[+]?[0-9]+$\" min-count=1 max-count=2 max-size=8 \
                    class=inetOrgPerson subtree=\"ou=groups,dc=example\"";
const LIST: &str = "name=list values=l url=\"ldap:///ou=groups,dc=example?mail?one?(title=town)\"";
const TYPE: &str =
    "name=type default=employeeType value=\"not known\" class=inetOrgPerson subtree=\"ou=people,dc=example\"";

fn with<'g>(more: &[(&'g str, &'g [&'g str])]) -> Vec<(&'g str, &'g [&'g str])> {
    [&[("objectClass", &["inetOrgPerson"][..]), ("cn", &["x"]), ("sn", &["x"])], more].concat()
}

/// Text of a refusal.
fn violated(outcome: &Outcome) -> &str {
    assert_eq!(outcome.code, ConstraintViolation, "{}", outcome.text);
    &outcome.text
}

const BOTH: [(&str, &[&str]); 2] = [("telephoneNumber", &["+49"]), ("employeeNumber", &["1"])];

#[test]
fn values_have_a_form_a_size_and_a_number() {
    each_with(&[FORM], |mut client| {
        let dn = format!("uid=x,{GROUPS}");
        for (phones, text) in [
            (&["+49", "+4x"][..], "constraint form: it does not allow a value of telephoneNumber"),
            (&["123456789"], "constraint form: more than 8 bytes in a value of telephoneNumber"),
            (&["1", "2", "3"], "constraint form: more than 2 values of telephoneNumber"),
        ] {
            let refused = client.add(&dn, &with(&[("telephoneNumber", phones), BOTH[1]]));
            assert_eq!(violated(&refused), text);
        }
        let few = "constraint form: fewer than 1 values of employeeNumber";
        assert_eq!(violated(&client.add(&dn, &with(&BOTH[..1]))), few);
        client.must_add(&dn, &with(&BOTH));
        // Others are not concerned: of another class, and elsewhere.
        client.must_add(
            &format!("cn=y,{GROUPS}"),
            &[("objectClass", &["person"]), ("sn", &["y"]), ("telephoneNumber", &["+4x"])],
        );
        client.must_add(&format!("uid=y,{PEOPLE}"), &with(&[("telephoneNumber", &["+4x"])]));
        let moved = client.rename(&format!("uid=y,{PEOPLE}"), "uid=y", false, Some(GROUPS));
        violated(&moved);
        assert!(!moved.text.contains("4x"), "its mover may not read it: {}", moved.text);
        // Values that were there stay as they are; their number is judged with each change.
        assert_eq!(
            client.modify(&dn, &[(Add, "telephoneNumber", &["5"]), (Replace, "l", &["x"])]).code,
            Success
        );
        violated(&client.modify(&dn, &[(Add, "telephoneNumber;lang-de", &["6"])]));
        assert_eq!(violated(&client.modify(&dn, &[(Delete, "employeeNumber", &[])])), few);
        let txn = client.start();
        assert_eq!(client.modify_in(&txn, &dn, &[(Replace, "telephoneNumber", &["7"])]).code, Success);
        violated(&client.modify_in(&txn, &dn, &[(Replace, "telephoneNumber", &["x"])]));
        client.settle(&txn, false);
        assert_eq!(client.value(&dn, "telephoneNumber").unwrap(), ["+49", "5"]);
    });
}

/// An entry that comes to be of the class is judged whole.
#[test]
fn a_new_class_brings_its_constraints() {
    each_with(&["name=short values=l max-size=4 class=posixAccount"], |mut client| {
        let dn = format!("uid=x,{PEOPLE}");
        client.must_add(&dn, &with(&[("l", &["paris"])]));
        let account = [
            (Add, "objectClass", &["posixAccount"][..]),
            (Add, "uidNumber", &["1"]),
            (Add, "gidNumber", &["1"]),
            (Add, "homeDirectory", &["/"]),
        ];
        let long = "constraint short: more than 4 bytes in a value of l";
        assert_eq!(violated(&client.modify(&dn, &account)), long);
        assert_eq!(client.modify(&dn, &[(Replace, "l", &["rome"])]).code, Success);
        assert_eq!(client.modify(&dn, &account).code, Success);
        assert_eq!(violated(&client.modify(&dn, &[(Replace, "l", &["paris"])])), long);
    });
}

#[test]
fn values_are_among_those_that_a_search_finds() {
    each_with(&[LIST], |mut client| {
        let dn = format!("uid=x,{PEOPLE}");
        let none = "constraint list: no entry of its list has this value of l";
        assert_eq!(violated(&client.add(&dn, &with(&[("l", &["rome"])]))), none);
        client.must_add(
            &format!("uid=t,{GROUPS}"),
            &with(&[("mail", &["Rome", "bonn"]), ("title", &["town"])]),
        );
        client.must_add(&format!("uid=u,{GROUPS}"), &with(&[("mail", &["paris"])]));
        client
            .must_add(&format!("uid=v,uid=t,{GROUPS}"), &with(&[("mail", &["oslo"]), ("title", &["town"])]));
        client.must_add(&dn, &with(&[("l", &["rome"])]));
        for town in ["paris", "oslo"] {
            assert_eq!(violated(&client.modify(&dn, &[(Replace, "l", &[town])])), none);
        }
        // In a transaction the list is the one that the updates before it have made.
        let txn = client.start();
        let list = format!("uid=t,{GROUPS}");
        assert_eq!(client.modify_in(&txn, &list, &[(Replace, "mail", &["kiev"])]).code, Success);
        assert_eq!(
            client.rename_in(&txn, &format!("uid=v,uid=t,{GROUPS}"), "uid=v", Some(GROUPS)).code,
            Success
        );
        for town in ["oslo", "kiev"] {
            let done = client.modify_in(&txn, &dn, &[(Replace, "l", &[town])]);
            assert_eq!(done.code, Success, "{}", done.text);
        }
        assert_eq!(client.commit(&txn).code, Success);
        // What has left the list stays where it is.
        assert_eq!(client.modify(&list, &[(Delete, "mail", &[])]).code, Success);
        assert_eq!(client.modify(&dn, &[(Replace, "description", &["x"])]).code, Success);
        violated(&client.modify(&dn, &[(Add, "l;lang-de", &["kiev"])]));
    });
}

#[test]
fn entries_are_added_with_default_values() {
    for is_logged in [false, true] {
        let (mut client, log) = constrained(is_logged, &[TYPE]);
        let kind = |client: &mut Client, dn: &str| client.value(dn, "employeeType");
        let dn = |n: u32| format!("uid=a{n},{PEOPLE}");
        client.must_add(&dn(1), &with(&[]));
        assert_eq!(kind(&mut client, &dn(1)).unwrap(), ["not known"]);
        client.must_add(&dn(2), &with(&[("employeeType;lang-de", &["x"])]));
        assert_eq!(kind(&mut client, &dn(2)).unwrap_or_default().len(), 0, "the client has given one");
        client.must_add(&format!("uid=a,{GROUPS}"), &with(&[]));
        assert!(kind(&mut client, &format!("uid=a,{GROUPS}")).is_none());
        // Only an add gives it, and in a transaction the later updates see it.
        assert_eq!(client.modify(&dn(1), &[(Delete, "employeeType", &[])]).code, Success);
        assert!(kind(&mut client, &dn(1)).is_none());
        let txn = client.start();
        assert_eq!(client.add_in(&txn, &dn(3), &with(&[])).code, Success);
        let change = [(Delete, "employeeType", &["Not Known"][..]), (Add, "employeeType", &["y"])];
        assert_eq!(client.modify_in(&txn, &dn(3), &change).code, Success);
        assert_eq!(client.add_in(&txn, &dn(4), &with(&[])).code, Success);
        assert_eq!(client.commit(&txn).code, Success);
        assert_eq!(kind(&mut client, &dn(3)).unwrap(), ["y"]);
        assert_eq!(kind(&mut client, &dn(4)).unwrap(), ["not known"]);
        if is_logged {
            let all = |client: &mut Client| {
                client.search("dc=example", Scope::Subtree, "(objectClass=*)", &["*", "+"]).entries
            };
            assert_eq!(all(&mut client), all(&mut again(&log, config(), &[TYPE])), "applied again");
        }
    }
}

#[test]
fn constraints_on_values_come_into_force_if_all_entries_are_so() {
    let (mut client, _) = constrained(false, &[]);
    client.must_add(&format!("uid=x,{PEOPLE}"), &with(&[("l", &["rome", "bonn"])]));
    for (rule, said) in [
        ("name=a values=l max-count=1", "constraint a: more than 1 values of l, \"uid=x,"),
        ("name=a values=l max-size=3", "more than 3 bytes in a value of l, \"uid=x,"),
        ("name=a values=l regex=^r", "it does not allow a value of l"),
        ("name=a values=l regex=(", "`regex`: unclosed group"),
        ("name=a values=l regex=[é]", "`regex`: "),
        (
            "name=a values=l url=ldap:///ou=groups,dc=example?mail?sub",
            "no entry of its list has this value of l",
        ),
        ("name=a values=l url=ldap:///ou=groups,dc=example?l?sub", "needs the index `l:eq`"),
        ("name=a values=l url=ldap://h/", "is no ldap:///base"),
        ("name=a values=userPassword max-count=1", "for the policies of passwords"),
        ("name=a default=gidNumber value=x", "gidNumber"),
        ("name=a default=nonsense value=x", "has no `nonsense`"),
    ] {
        let refused = client.modify("cn=config", &[(Replace, ATTRIBUTE, &[rule])]);
        assert!(violated(&refused).contains(said), "{rule}: {}", refused.text);
    }
    // The first ten are named.
    for n in 0..12 {
        client.must_add(&format!("uid=n{n},{PEOPLE}"), &with(&[("l", &["rome", "bonn"])]));
    }
    let refused = client.modify("cn=config", &[(Replace, ATTRIBUTE, &["name=a values=l max-count=1"])]);
    let named = violated(&refused).matches("constraint a: more than 1 values of l, ").count();
    assert!(
        named == 10 && refused.text.ends_with("mend these, and the same change names the next ones"),
        "{}",
        refused.text
    );
    let many = ["name=a values=l regex=\"^(rome|bonn)$\"", "name=b default=l value=rome"];
    assert_eq!(client.modify("cn=config", &[(Replace, ATTRIBUTE, &many)]).code, Success);
}

/// An entry that comes to be the base of the subtree is the first in it.
#[test]
fn the_base_of_a_subtree_is_judged_when_it_is_added() {
    let base = format!("uid=base,{GROUPS}");
    let of = |rule: &str| format!("{rule} subtree=\"{base}\"");
    let rules = [
        of("name=short values=l max-size=4"),
        of("name=default default=employeeType value=x class=inetOrgPerson"),
        of("name=refs references=manager absent=refuse"),
        of("name=mails unique=mail"),
    ];
    each_with(&rules.each_ref().map(String::as_str), |mut client| {
        client.must_add(&format!("uid=other,{GROUPS}"), &with(&[("mail", &["a@b"])]));
        let (long, absent) = (with(&[("l", &["paris"])]), with(&[("manager", &["cn=none,dc=example"])]));
        let txn = client.start();
        for entry in [&long, &absent] {
            violated(&client.add(&base, entry));
        }
        violated(&client.add_in(&txn, &base, &long));
        client.settle(&txn, false);
        // What lies outside does not count, nor what is spelled otherwise.
        let txn = client.start();
        let added = client.add_in(&txn, &base, &with(&[("l", &["rome"]), ("mail", &["a@b"])]));
        assert_eq!(added.code, Success, "{}", added.text);
        client.settle(&txn, false);
        violated(&client.add(&base.replace("uid=base", "UID=Base"), &long));
        client.must_add(&base, &with(&[("l", &["rome"]), ("mail", &["a@b"])]));
        assert_eq!(client.value(&base, "employeeType").unwrap(), ["x"]);
        violated(&client.add(&format!("uid=y,{base}"), &with(&[("mail", &["A@B"])])));
    });
}
