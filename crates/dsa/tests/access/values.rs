//! Row A6: rules on values. A requester joins and leaves a list, and neither brings nor takes others; what may not be read is not there.

use super::*;
use ResultCode::{InsufficientAccessRights, Success};
use proto::op::ModifyKind::{Add, Delete, Replace};

const LIST: &str = "cn=list,ou=groups,dc=example";

#[test]
fn a6_join_and_leave() {
    let rules = ["join: subtree=\"ou=groups,dc=example\" attrs=member values=self; users; allow=write"];
    as_ada(&rules, |mut client| {
        client.root().must_add(LIST, &[("objectClass", &["groupOfNames"]), ("member", &[BOB])]);
        assert_eq!(client.modify(LIST, &[(Add, "member", &["UID=ADA,ou=people,dc=example"])]).code, Success);
        for changes in [
            &[(Add, "member", &[GRACE][..])][..],
            &[(Add, "member", &[ADA, GRACE])],
            &[(Delete, "member", &[BOB])],
            &[(Delete, "member", &[])],
            &[(Replace, "member", &[ADA])],
        ] {
            assert_eq!(client.modify(LIST, changes).code, InsufficientAccessRights, "{changes:?}");
        }
        // A replace that brings or takes nothing but oneself is as good as an add or a delete.
        assert_eq!(client.modify(LIST, &[(Replace, "member", &[BOB])]).code, Success);
        assert_eq!(client.modify(LIST, &[(Replace, "member", &[BOB, ADA])]).code, Success);
        assert_eq!(client.modify(LIST, &[(Delete, "member", &[ADA])]).code, Success);
    });
}

#[test]
fn a6_values_that_may_not_be_read_are_not_there() {
    let rules = [
        "own: subtree=\"ou=groups,dc=example\" attrs=member values=self; users; allow=read,compare rank=2",
        "none: subtree=\"ou=groups,dc=example\" attrs=member; users; deny=read,compare,search rank=1",
        "mails: all attrs=mail values=\"(mail=*@example.com)\"; users; deny=read",
    ];
    as_ada(&rules, |mut client| {
        let mut root = client.root();
        root.must_add(LIST, &[("objectClass", &["groupOfNames"]), ("member", &[BOB, ADA, GRACE])]);
        assert_eq!(client.read(LIST, &["member"]).values("member"), Some(vec![ADA.to_owned()]));
        assert_eq!(client.compare(LIST, "member", ADA).code, ResultCode::CompareTrue);
        assert_eq!(client.compare(LIST, "member", BOB).code, InsufficientAccessRights);
        root.must_modify(LIST, &[(Delete, "member", &[ADA])]);
        assert_eq!(client.read(LIST, &["member"]).values("member"), None);
        assert_eq!(client.compare(LIST, "member", ADA).code, ResultCode::CompareFalse);
        root.must_modify(BOB, &[(Add, "mail", &["bob@home.net"])]);
        assert_eq!(client.read(BOB, &["mail"]).values("mail"), Some(vec!["bob@home.net".to_owned()]));
        assert_eq!(client.read(GRACE, &["mail"]).values("mail"), Some(vec!["g@h".to_owned()]));
    });
}

/// A list of more values than lie in an entry's record.
#[test]
fn a6_of_a_large_list_as_of_a_small_one() {
    let rules = [
        "own: subtree=\"ou=groups,dc=example\" attrs=member values=self; users; allow=read,write rank=2",
        "none: subtree=\"ou=groups,dc=example\" attrs=member; users; deny=read rank=1",
    ];
    as_ada(&rules, |mut client| {
        let names: Vec<String> = (0..3_000).map(|n| format!("uid=n{n},ou=people,dc=example")).collect();
        let members: Vec<&str> = names.iter().map(String::as_str).collect();
        client.root().must_add(LIST, &[("objectClass", &["groupOfNames"]), ("member", &members)]);
        assert_eq!(client.read(LIST, &["member"]).values("member"), None);
        assert_eq!(client.modify(LIST, &[(Add, "member", &[ADA])]).code, Success);
        assert_eq!(client.read(LIST, &["member"]).values("member"), Some(vec![ADA.to_owned()]));
        assert_eq!(
            client.modify(LIST, &[(Delete, "member", &["uid=n7,ou=people,dc=example"])]).code,
            InsufficientAccessRights
        );
    });
}
