//! Policies of parts of the tree: which accounts a subentry is about, and which of several holds.

use super::policy::*;
use super::*;
use crate::fixture::each;
use model::ResultCode::*;
use proto::op::ModifyKind::*;

/// Adds a policy for what is below `superior`, which asks for so many characters.
fn put(client: &Client, superior: &str, name: &str, specification: &str, length: &str) -> ResultCode {
    let entry: &[(&str, &[&str])] = &[
        ("objectClass", &["subentry", "pwdPolicy"]),
        ("cn", &[name]),
        ("subtreeSpecification", &[specification]),
        ("pwdAttribute", &["userPassword"]),
        ("pwdMinLength", &[length]),
    ];
    client.another().add(&format!("cn={name},{superior}"), entry).code
}

fn change(client: &Client, dn: &str, name: &str, value: &[&str]) {
    assert_eq!(client.another().modify(dn, &[(Replace, name, value)]).code, Success, "{dn} {name}");
}

/// How many characters a user's password has, at least, up to 12.
fn least(client: &Client, dn: &str) -> usize {
    let fits = |length: usize| {
        change(client, dn, "userPassword", &["given-word"]);
        let mut own = client.another();
        own.must_bind(dn, "given-word");
        let new = "k7#vTz0!xPw2"[..length].to_owned();
        let changes: Changes<'_> =
            &[(Delete, "userPassword", &["given-word"]), (Add, "userPassword", &[&new])];
        own.modify(dn, changes).code == Success
    };
    (1..=12).find(|length| fits(*length)).expect("twelve are enough")
}

const PEOPLE: &str = "ou=people,dc=example";
const TEAM: &str = "ou=team,ou=people,dc=example";
const BEN: &str = "uid=ben,ou=team,ou=people,dc=example";

fn with_team(test: impl Fn(Client)) {
    each(|client| {
        let mut root = client.another();
        root.must_add(TEAM, &[("objectClass", &["organizationalUnit"])]);
        let ben: &[(&str, &[&str])] = &[("objectClass", &["inetOrgPerson"]), ("cn", &["x"]), ("sn", &["x"])];
        root.must_add(BEN, ben);
        test(client);
    });
}

#[test]
fn test_y7_the_nearest_subentry_holds() {
    with_team(|client| {
        let both = |client: &Client| (least(client, ADA), least(client, BEN));
        change(&client, "cn=config", "pandoPasswordsMinLength", &["4"]);
        assert_eq!(both(&client), (4, 4));
        assert_eq!(put(&client, "dc=example", "all", "{}", "5"), Success);
        assert_eq!(both(&client), (5, 5));
        assert_eq!(put(&client, "dc=example", "team", "{ base \"ou=team,ou=people\" }", "6"), Success);
        assert_eq!(both(&client), (5, 6), "of the same superior the lower base");
        assert_eq!(put(&client, PEOPLE, "people", "{ }", "7"), Success);
        assert_eq!(both(&client), (7, 7), "the lower superior");
        // A change holds at once, as does a move of the account.
        change(&client, &format!("cn=people,{PEOPLE}"), "subtreeSpecification", &["{ maximum 1 }"]);
        assert_eq!(both(&client), (7, 6));
        change(&client, &format!("cn=people,{PEOPLE}"), "pwdMinLength", &["3"]);
        assert_eq!(both(&client), (3, 6));
        assert_eq!(client.another().rename(BEN, "uid=ben", false, Some(PEOPLE)).code, Success);
        assert_eq!(least(&client, &format!("uid=ben,{PEOPLE}")), 3);
        // Before it comes what the account names; behind it what the settings say.
        let (own, rule) = ("cn=own,dc=example", "cn=rule,dc=example");
        for (dn, length) in [(own, "8"), (rule, "9")] {
            let policy: &[(&str, &[&str])] = &[
                ("objectClass", &["device", "pwdPolicy"]),
                ("pwdAttribute", &["userPassword"]),
                ("pwdMinLength", &[length]),
            ];
            client.another().must_add(dn, policy);
        }
        change(
            &client,
            "cn=config",
            "pandoPasswordsPolicy",
            &[&format!("policy=\"{rule}\" subtree=\"{PEOPLE}\"")],
        );
        assert_eq!(least(&client, ADA), 3);
        change(&client, ADA, "pwdPolicySubentry", &[own]);
        assert_eq!(least(&client, ADA), 8);
        change(&client, ADA, "pwdPolicySubentry", &["cn=gone,dc=example"]);
        assert_eq!(least(&client, ADA), 3, "a name that leads nowhere is passed over");
        for dn in [format!("cn=people,{PEOPLE}"), "cn=all,dc=example".to_owned()] {
            assert_eq!(client.another().delete(&dn).code, Success);
        }
        assert_eq!(least(&client, ADA), 9);
    });
}

#[test]
fn test_y7_what_a_specification_says() {
    with_team(|client| {
        assert_eq!(put(&client, "dc=example", "p", "{}", "12"), Success);
        let about = |specification: &str| {
            change(&client, "cn=p,dc=example", "subtreeSpecification", &[specification]);
            [ADA, BEN].map(|dn| least(&client, dn) == 12)
        };
        for (specification, [ada, ben]) in [
            ("{ base \"ou=people\" }", [true, true]),
            ("{ base \"OU=Team, ou=people\" }", [false, true]),
            ("{ base \"ou=nowhere\" }", [false, false]),
            ("{ minimum 2 }", [true, true]),
            ("{ minimum 3 }", [false, true]),
            ("{ maximum 2 }", [true, false]),
            ("{ base \"ou=people\", minimum 2, maximum 2 }", [false, true]),
            ("{ specificExclusions { chopBefore:\"ou=team,ou=people\" } }", [true, false]),
            ("{ base \"ou=people\", specificExclusions { chopBefore:\"ou=team\" } }", [true, false]),
            ("{ base \"ou=people\", specificExclusions { chopAfter:\"uid=ben,ou=team\" } }", [true, true]),
            ("{ specificExclusions { chopAfter:\"ou=people\" } }", [false, false]),
            ("{ specificationFilter item:person }", [true, true]),
            ("{ specificationFilter not:item:2.5.6.6 }", [false, false]),
            ("{ specificationFilter or:{ item:device, and:{ item:person, item:top } } }", [true, true]),
            ("{ specificationFilter \"(uid=ada)\" }", [true, false]),
        ] {
            assert_eq!(about(specification), [ada, ben], "{specification}");
        }
        for wrong in ["{ base ou=people }", "{ minimum -1 }", "{ specificationFilter \"(uid=\" }", "{ x }"] {
            let changes: Changes<'_> = &[(Replace, "subtreeSpecification", &[wrong])];
            let end = client.another().modify("cn=p,dc=example", changes);
            assert_eq!(end.code, ConstraintViolation, "{wrong}");
            assert!(end.text.starts_with("subtreeSpecification: "), "{}", end.text);
            assert_eq!(put(&client, "dc=example", "q", wrong, "1"), ConstraintViolation, "{wrong}");
        }
    });
}

/// The first password of an account has the policy of its place, too.
#[test]
fn test_y7_accounts_that_are_added() {
    with_team(|client| {
        assert_eq!(put(&client, PEOPLE, "p", "{ maximum 1 }", "1"), Success);
        let add = |dn: &str, value: &str| {
            let entry: &[(&str, &[&str])] = &[
                ("objectClass", &["inetOrgPerson"]),
                ("cn", &["x"]),
                ("sn", &["x"]),
                ("userPassword", &[value]),
            ];
            let mut root = client.another();
            root.must_add(dn, entry);
            root.read(dn, &["pwdChangedTime"]).values("pwdChangedTime").is_some()
        };
        let hash = "{SSHA}gVK8WC9YyFT1gMsQHTGCgT3sSv5zYWx0";
        assert!(
            add("uid=new,ou=people,dc=example", "a-word") && add("uid=hashed,ou=people,dc=example", hash)
        );
        assert!(!add("uid=new,ou=team,ou=people,dc=example", "a-word"), "no policy, no age");
        // What failures lead to is the policy's, too.
        let changes: Changes<'_> = &[(Replace, "pwdLockout", &["TRUE"]), (Replace, "pwdMaxFailure", &["2"])];
        assert_eq!(client.another().modify(&format!("cn=p,{PEOPLE}"), changes).code, Success);
        let other = client.another();
        assert!(
            !other.binds("uid=new,ou=people,dc=example", "x")
                && !other.binds("uid=new,ou=people,dc=example", "x")
        );
        assert!(!other.binds("uid=new,ou=people,dc=example", "a-word"));
    });
}

#[test]
fn test_y7_so_many_subentries_and_no_more() {
    let client = Client::new();
    let mut root = client.another();
    for number in 0..model::limits::POLICY_SUBENTRIES_MAX {
        let dn = format!("cn={number},dc=example");
        root.must_add(&dn, &[("objectClass", &["subentry"]), ("subtreeSpecification", &["{}"])]);
    }
    assert_eq!(put(&client, "dc=example", "p", "{}", "5"), AdminLimitExceeded);
    assert_eq!(root.delete("cn=7,dc=example").code, Success);
}
