//! Row A5: members of groups, nested and in circles; and that a change of a group holds for open sessions at once (row A4).

use super::*;
use ResultCode::{InsufficientAccessRights, Success};
use proto::op::ModifyKind::{Add, Delete, Replace};

const ADMINS: &str = "cn=admins,ou=groups,dc=example";
const STAFF: &str = "cn=staff,ou=groups,dc=example";
const RULE: &str = "desk: subtree=\"ou=people,dc=example\" attrs=description; group=\"cn=admins,ou=groups,dc=example\"; allow=write";

fn may(client: &mut Client) -> bool {
    let code = client.modify(GRACE, &[(Replace, "description", &["x"])]).code;
    assert!(code == Success || code == InsufficientAccessRights, "{code:?}");
    code == Success
}

#[test]
fn a5_members_and_members_of_members() {
    as_ada(&[RULE], |mut client| {
        let mut root = client.root();
        assert!(!may(&mut client), "there is no such group");
        root.must_add(ADMINS, &[("objectClass", &["groupOfNames"]), ("member", &[BOB])]);
        assert!(!may(&mut client));
        root.must_modify(ADMINS, &[(Add, "member", &["UID=Ada,OU=people,dc=example"])]);
        assert!(may(&mut client), "at once");
        root.must_modify(ADMINS, &[(Delete, "member", &[ADA])]);
        assert!(!may(&mut client));
        // A group in a group, which is in a circle.
        root.must_add(STAFF, &[("objectClass", &["groupOfUniqueNames"]), ("uniqueMember", &[ADA, ADMINS])]);
        assert!(!may(&mut client));
        root.must_modify(ADMINS, &[(Add, "member", &[STAFF])]);
        assert!(may(&mut client));
        root.must_modify(STAFF, &[(Delete, "uniqueMember", &[ADA])]);
        assert!(!may(&mut client), "a change of the inner group");
        root.must_modify(STAFF, &[(Add, "uniqueMember", &[ADA])]);
        assert!(may(&mut client));
        assert_eq!(root.delete(ADMINS).code, Success);
        assert!(!may(&mut client), "the group is gone");
    });
}

#[test]
fn a5_only_direct_members() {
    as_ada(&[&RULE.replace("; allow", " nested=false; allow")], |mut client| {
        let mut root = client.root();
        root.must_add(STAFF, &[("objectClass", &["groupOfNames"]), ("member", &[ADA])]);
        root.must_add(ADMINS, &[("objectClass", &["groupOfNames"]), ("member", &[STAFF])]);
        assert!(!may(&mut client));
        root.must_modify(ADMINS, &[(Add, "member", &[ADA])]);
        assert!(may(&mut client));
    });
}

#[test]
fn a5_posix_groups_have_members_by_uid() {
    as_ada(&[RULE], |mut client| {
        let mut root = client.root();
        let group: Given<'_> =
            &[("objectClass", &["posixGroup"]), ("gidNumber", &["7"]), ("memberUid", &["bob"])];
        root.must_add(ADMINS, group);
        assert!(!may(&mut client));
        root.must_modify(ADMINS, &[(Add, "memberUid", &["ada"])]);
        assert!(may(&mut client));
    });
}

#[test]
fn a5_dynamic_groups_have_those_that_a_search_finds() {
    as_ada(&[RULE], |mut client| {
        let mut root = client.root();
        let url = "ldap:///ou=people,dc=example??sub?(title=boss)";
        root.must_add(ADMINS, &[("objectClass", &["groupOfURLs"]), ("memberURL", &[url])]);
        assert!(!may(&mut client));
        root.must_modify(ADA, &[(Replace, "title", &["boss"])]);
        assert!(may(&mut client), "a change of the own entry");
        root.must_modify(
            ADMINS,
            &[(Replace, "memberURL", &["ldap:///ou=groups,dc=example??sub?(title=boss)"])],
        );
        assert!(!may(&mut client), "a change of the search");
    });
}

#[test]
fn a_group_that_is_gone_denies() {
    let rules = ["no: all attrs=mail; group=\"cn=gone,ou=groups,dc=example\"; deny=read"];
    as_ada(&rules, |mut client| {
        assert!(
            client.read(GRACE, &["mail"]).values("mail").is_none(),
            "what cannot be decided counts for a deny"
        );
    });
}

#[test]
fn a_filter_on_the_own_entry_follows_it() {
    let rules = ["bosses: all attrs=mail; user-filter=\"(title=boss)\"; allow=write"];
    as_ada(&rules, |mut client| {
        let mut root = client.root();
        let change = [(Replace, "mail", &["x@y"][..])];
        assert_eq!(client.modify(GRACE, &change).code, InsufficientAccessRights);
        root.must_modify(ADA, &[(Replace, "title", &["boss"])]);
        assert_eq!(client.modify(GRACE, &change).code, Success);
    });
}
