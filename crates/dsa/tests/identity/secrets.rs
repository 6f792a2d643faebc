//! Who may not read secrets learns nothing of them by changing them, and none becomes a name.

use super::*;
use crate::common::*;
use model::ResultCode::*;
use proto::op::ModifyKind::{self, *};

type Changes<'c> = &'c [(ModifyKind, &'c str, &'c [&'c str])];

#[test]
fn a_guess_is_answered_the_same_right_or_wrong() {
    each_with(&with_tool(), |mut client| {
        client.must_bind(TOOL, "tool");
        for kind in [Add, Delete] {
            for attribute in ["userPassword", "2.5.4.35", "userPassword;x-a"] {
                let mut answers = ["lace", "wrong"].map(|guess| {
                    let mut end = client.modify(ADA, &[(kind, attribute, &[guess])]);
                    assert_eq!(
                        end.code, InsufficientAccessRights,
                        "{kind:?} {attribute}={guess}: {}",
                        end.text
                    );
                    end.value = None;
                    end
                });
                answers.sort_by_key(|end| end.text.clone());
                assert_eq!(answers[0], answers[1]);
                let txn = client.start();
                let end = client.modify_in(&txn, ADA, &[(kind, attribute, &["lace"])]);
                assert_eq!(end.code, InsufficientAccessRights, "in a transaction");
            }
        }
        let both: Changes<'_> = &[(Replace, "sn", &["x"]), (Delete, "userPassword", &["lace"])];
        assert_eq!(client.modify(ADA, both).code, InsufficientAccessRights);
        for allowed in [
            &[(Replace, "userPassword", &["one"][..])][..],
            &[(Replace, "userPassword", &["one"]), (Add, "userPassword", &["two"])],
            &[(Delete, "userPassword", &[]), (Add, "userPassword", &["three"])],
            &[(Replace, "userPassword", &["a"]), (Delete, "USERPASSWORD", &["a"])],
            &[(Replace, "userPassword", &[])],
        ] {
            let end = client.modify(ADA, allowed);
            assert_eq!(end.code, Success, "{allowed:?}: {}", end.text);
        }
        let person: Given<'_> = &[("objectClass", &["person"]), ("sn", &["x"]), ("userPassword", &["new"])];
        client.must_add("cn=x,dc=example", person);
        assert!(client.binds("cn=x,dc=example", "new"));
        client.bind_root();
        assert_eq!(client.modify(ADA, &[(Add, "userPassword", &["one"])]).code, Success);
        assert_eq!(client.modify(ADA, &[(Delete, "userPassword", &["two"])]).code, NoSuchAttribute);
    });
}

#[test]
fn a_secret_is_no_name() {
    each_with(&with_tool(), |mut client| {
        let person: Given<'_> = &[("objectClass", &["person"]), ("sn", &["x"]), ("cn", &["x"])];
        for name in [(TOOL, "tool"), (ROOT_DN, PASSWORD)] {
            client.must_bind(name.0, name.1);
            for rdn in ["userPassword=lace", "2.5.4.35=lace", "uid=ada+userPassword=lace"] {
                assert_eq!(client.rename(ADA, rdn, false, None).code, NamingViolation, "{rdn}");
                assert_eq!(client.add(&format!("{rdn},dc=example"), person).code, NamingViolation, "{rdn}");
            }
            let txn = client.start();
            assert_eq!(client.rename_in(&txn, ADA, "userPassword=lace", None).code, NamingViolation);
        }
        assert_eq!(client.read(ADA, &["uid"]).values("uid"), Some(vec!["ada".to_owned()]));
    });
}
