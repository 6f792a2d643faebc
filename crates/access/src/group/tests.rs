//! A5: groups of all kinds, in groups, in circles.

use super::*;
use crate::world::Tree;
use std::sync::Arc;

fn add(tree: &mut Tree, dn: &str, attributes: &[(&str, &[&str])]) {
    let values = |values: &[&str]| values.iter().map(|value| value.as_bytes().to_vec()).collect();
    let attributes = attributes.iter().map(|(name, of)| ((*name).to_owned(), values(of))).collect();
    let entry = Entry::new(tree.schema(), dn, attributes).expect("it is a DN");
    tree.insert(entry);
}

fn tree() -> Tree {
    let schema = schema::Builder::new().standard().build().expect("it is sound");
    let mut tree = Tree::new(Arc::new(schema));
    add(&mut tree, "uid=ann,dc=x", &[("objectClass", &["account"]), ("uid", &["ann"]), ("ou", &["a b"])]);
    add(&mut tree, "cn=direct,dc=x", &[("objectClass", &["groupOfNames"]), ("member", &["UID=Ann, DC=x"])]);
    add(
        &mut tree,
        "cn=outer,dc=x",
        &[("objectClass", &["groupOfNames"]), ("member", &["cn=inner,dc=x", "cn=none,dc=x"])],
    );
    add(
        &mut tree,
        "cn=inner,dc=x",
        &[
            ("objectClass", &["groupOfUniqueNames"]),
            ("uniqueMember", &["cn=outer,dc=x", "uid=ann,dc=x#'01'B"]),
        ],
    );
    add(&mut tree, "cn=posix,dc=x", &[("objectClass", &["posixGroup"]), ("memberUid", &["bob", "ann"])]);
    add(&mut tree, "cn=upper,dc=x", &[("objectClass", &["posixGroup"]), ("memberUid", &["ANN"])]);
    add(
        &mut tree,
        "cn=urls,dc=x",
        &[("objectClass", &["groupOfURLs"]), ("memberURL", &["LDAP:///dc=x??one?(ou=a%20b)"])],
    );
    add(
        &mut tree,
        "cn=other,dc=x",
        &[("objectClass", &["groupOfURLs"]), ("memberURL", &["ldap://host/dc=x??sub"])],
    );
    add(&mut tree, "cn=fake,dc=x", &[("objectClass", &["person"]), ("member", &["uid=ann,dc=x"])]);
    add(&mut tree, "cn=empty,dc=x", &[("objectClass", &["groupOfNames"]), ("member", &[""])]);
    tree
}

fn member(tree: &Tree, group: &str, is_nested: bool) -> Truth {
    let name = |dn: &str| Name::parse(tree.schema(), dn.as_bytes()).expect("it is a DN");
    let own = tree.entry(&name("uid=ann,dc=x"));
    let who = Candidate { name: &name("uid=ann,dc=x"), entry: own.as_deref() };
    is_member(tree, &name(group), is_nested, &who)
}

#[test]
fn a5_members_of_groups_of_all_kinds() {
    let tree = tree();
    for (group, is_nested, truth) in [
        ("cn=direct,dc=x", false, Truth::True),
        ("cn=outer,dc=x", true, Truth::True),
        ("cn=outer,dc=x", false, Truth::False),
        ("cn=inner,dc=x", false, Truth::True),
        ("cn=posix,dc=x", false, Truth::True),
        ("cn=upper,dc=x", false, Truth::False),
        ("cn=urls,dc=x", false, Truth::True),
        ("cn=other,dc=x", true, Truth::Undefined),
        ("cn=fake,dc=x", true, Truth::Undefined),
        ("cn=none,dc=x", true, Truth::Undefined),
        ("cn=empty,dc=x", true, Truth::False),
    ] {
        assert_eq!(member(&tree, group, is_nested), truth, "{group} {is_nested}");
    }
}

#[test]
fn a5_groups_in_groups_are_looked_at_as_deep_as_is_said() {
    let mut tree = tree();
    let below = |n: usize| if n == 0 { "uid=ann,dc=x".to_owned() } else { format!("cn=g{n},dc=x") };
    for n in 1..=DEPTH_MAX + 2 {
        add(&mut tree, &below(n), &[("objectClass", &["groupOfNames"]), ("member", &[&below(n - 1)])]);
    }
    assert_eq!(member(&tree, &below(DEPTH_MAX + 1), true), Truth::True);
    assert_eq!(member(&tree, &below(DEPTH_MAX + 2), true), Truth::False);
}
