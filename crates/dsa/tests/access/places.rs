//! Which entries a rule is about, by their place; and ranks.

use super::*;
use ResultCode::{InsufficientAccessRights, Success};
use model::Scope;
use proto::op::ModifyKind::Replace;

/// The entries that ada may see under a rule about a place, of all that there are.
fn seen(place: &str) -> Vec<String> {
    let rule = format!("see: {place}; users; allow=see");
    let all = std::cell::RefCell::new(Vec::new());
    each(&bare(&[&rule]), |mut client| {
        client.must_bind(ADA, "lace");
        let dns = ["dc=example", "ou=people,dc=example", ADA, BOB, GRACE, "ou=groups,dc=example"];
        let seen: Vec<String> = dns
            .iter()
            .filter(|dn| client.read(dn, &["1.1"]).entries.len() == 1)
            .map(|dn| (*dn).to_owned())
            .collect();
        let former = all.replace(seen.clone());
        assert!(former.is_empty() || former == seen, "with a log and without");
    });
    all.into_inner()
}

#[test]
fn places_reach_as_far_as_they_say() {
    let people = "ou=people,dc=example";
    assert_eq!(seen("base=\"OU=People, dc=EXAMPLE\""), [people]);
    assert_eq!(seen("one=\"ou=people,dc=example\""), [ADA, BOB, GRACE]);
    assert_eq!(seen("subtree=\"ou=people,dc=example\""), [people, ADA, BOB, GRACE]);
    assert_eq!(seen("children=\"ou=people,dc=example\""), [ADA, BOB, GRACE]);
    assert_eq!(seen("base=\"*,dc=example\""), [people, "ou=groups,dc=example"]);
    assert_eq!(seen("subtree=\"*,dc=example\""), [people, ADA, BOB, GRACE, "ou=groups,dc=example"]);
    assert_eq!(seen("one=\"*,dc=example\""), [ADA, BOB, GRACE]);
    assert_eq!(seen("subtree=\"ou=nowhere,dc=example\""), [""; 0]);
    assert_eq!(seen("all").len(), 6);
}

#[test]
fn the_highest_rank_decides_and_a_deny_wins_in_it() {
    let rules = [
        "low: all attrs=mail; users; deny=read rank=1",
        "high: subtree=\"ou=people,dc=example\" attrs=mail; users; allow=read rank=2",
        "more: base=\"uid=bob,ou=people,dc=example\" attrs=mail; users; deny=read rank=2",
    ];
    as_ada(&rules, |mut client| {
        assert!(client.read(GRACE, &["mail"]).values("mail").is_some());
        assert!(client.read(BOB, &["mail"]).values("mail").is_none());
    });
}

#[test]
fn names_change_and_rules_follow_places() {
    let rules = ["see: subtree=\"ou=people,dc=example\"; users; allow=see"];
    each(&bare(&rules), |mut client| {
        client.must_bind(ADA, "lace");
        let mut root = client.root();
        assert_eq!(client.read(BOB, &["1.1"]).entries.len(), 1);
        let moved = "uid=bob,ou=groups,dc=example";
        assert_eq!(root.rename(BOB, "uid=bob", true, Some("ou=groups,dc=example")).code, Success);
        assert_eq!(client.read(moved, &["1.1"]).entries.len(), 0);
        assert_eq!(root.rename(moved, "uid=bob", true, Some("ou=people,dc=example")).code, Success);
        assert_eq!(client.read(BOB, &["1.1"]).entries.len(), 1);
        // A DN that a rule names may be that of an entry that is not there yet.
        assert_eq!(root.rename("ou=people,dc=example", "ou=staff", true, None).code, Success);
        assert_eq!(
            client.search("ou=staff,dc=example", Scope::Subtree, "(uid=*)", &["1.1"]).entries.len(),
            0
        );
        root.must_add("ou=people,dc=example", &[("objectClass", &["organizationalUnit"])]);
        root.must_add("uid=new,ou=people,dc=example", &[("objectClass", &["account"])]);
        let found = client.search("ou=people,dc=example", Scope::Subtree, "(objectClass=*)", &["1.1"]);
        assert_eq!(found.entries.len(), 2);
    });
}

#[test]
fn a4_a_rule_holds_for_open_sessions_at_once() {
    as_ada(&[], |mut client| {
        let mut root = client.root();
        let phone = [(Replace, "telephoneNumber", &["1"][..])];
        assert_eq!(client.modify(GRACE, &phone).code, InsufficientAccessRights);
        let rule = "phone: subtree=\"ou=people,dc=example\" attrs=telephoneNumber; users; allow=write";
        root.must_modify("cn=config", &[(proto::op::ModifyKind::Add, "pandoAccessRule", &[rule])]);
        assert_eq!(client.modify(GRACE, &phone).code, Success);
        let again = [(Replace, "telephoneNumber", &["2"][..])];
        root.must_modify("cn=config", &[(proto::op::ModifyKind::Delete, "pandoAccessRule", &[rule])]);
        assert_eq!(client.modify(GRACE, &again).code, InsufficientAccessRights);
        // With `bind` a session keeps what it bound with.
        root.must_modify("cn=config", &[(Replace, "pandoAccessRefresh", &["bind"])]);
        assert_eq!(client.bind(ADA, "lace").code, Success);
        root.must_modify("cn=config", &[(proto::op::ModifyKind::Add, "pandoAccessRule", &[rule])]);
        assert_eq!(client.modify(GRACE, &again).code, InsufficientAccessRights);
        assert_eq!(client.bind(ADA, "lace").code, Success);
        assert_eq!(client.modify(GRACE, &again).code, Success);
        // A rule that the schema does not fit is refused, and nothing changes.
        let bad = "bad: all attrs=nonsense; users; allow=read";
        let end = root.modify("cn=config", &[(proto::op::ModifyKind::Add, "pandoAccessRule", &[bad])]);
        assert!(end.code != Success && end.text.contains("nonsense"), "{}", end.text);
        assert_eq!(client.modify(GRACE, &[(Replace, "telephoneNumber", &["3"])]).code, Success);
    });
}

#[test]
fn rules_are_for_those_they_name() {
    let rules = [
        "below: subtree=\"ou=groups,dc=example\" attrs=description; dn-one=\"ou=people,dc=example\" auth=simple; allow=write",
        "not-bob: all attrs=mail; dn=!\"uid=bob,ou=people,dc=example\"; deny=read",
        "far: all attrs=sn; peer=10.0.0.0/8; deny=read",
        "weak: all attrs=cn; tls=!128; deny=read rank=1",
    ];
    as_ada(&rules, |mut client| {
        assert_eq!(client.modify("ou=groups,dc=example", &[(Replace, "description", &["x"])]).code, Success);
        let found = client.read(GRACE, &[]);
        assert_eq!((found.values("mail"), found.values("cn")), (None, None));
        assert!(found.values("sn").is_some(), "no address is no address of that network");
        assert_eq!(client.bind(BOB, "tail").code, Success);
        assert!(client.read(GRACE, &[]).values("mail").is_some());
    });
}

#[test]
fn operations_limit_a_rule() {
    let rules = ["only-compare: all attrs=mail op=search; users; deny=read,search"];
    as_ada(&rules, |mut client| {
        assert!(client.search("dc=example", Scope::Subtree, "(mail=g@h)", &[]).entries.is_empty());
        assert!(client.read(GRACE, &["mail"]).values("mail").is_none());
        assert_eq!(client.compare(GRACE, "mail", "g@h").code, ResultCode::CompareTrue);
    });
}
