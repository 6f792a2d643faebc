//! Nobody becomes the root DN by an entry of its name.

use super::*;
use crate::common::*;
use dsa::Dsa;
use model::ResultCode::*;
use proto::op::ModifyKind::*;
use std::sync::Arc;

const ROOT_ENTRY: Given<'static> =
    &[("objectClass", &["person"]), ("sn", &["x"]), ("userPassword", &["mine"])];
const UNIT: Given<'static> = &[("objectClass", &["organizationalUnit"])];

#[test]
fn only_the_root_dn_adds_an_entry_of_its_name() {
    each_with(&with_tool(), |mut client| {
        client.must_bind(TOOL, "tool");
        for dn in [
            ROOT_DN,
            "CN=Admin, DC=Example",
            "2.5.4.3=admin,dc=example",
            r"cn=\61dmin,dc=example",
            r"cn=adm\69n,0.9.2342.19200300.100.1.25=ex\61mple",
            "cn=\"admin\";dc=example",
        ] {
            let end = client.add(dn, ROOT_ENTRY);
            assert_eq!(end.code, InsufficientAccessRights, "{dn}: {}", end.text);
        }
        let txn = client.start();
        assert_eq!(client.add_in(&txn, ROOT_DN, ROOT_ENTRY).code, InsufficientAccessRights);
        client.must_add("cn=other,dc=example", ROOT_ENTRY);
        client.must_add("cn=a,ou=people,dc=example", ROOT_ENTRY);
        client.bind_root();
        client.must_add(ROOT_DN, ROOT_ENTRY);
    });
}

#[test]
fn only_the_root_dn_renames_an_entry_to_its_name() {
    let root_dn = "cn=admin,ou=a,dc=example";
    let config = Config { root_dn: Some(root_dn.to_owned()), ..with_tool() };
    let each = |test: &dyn Fn(&mut Client)| {
        for is_logged in [false, true] {
            let mut client = match is_logged {
                true => journaled_with(config.clone()).0,
                false => Client::empty(config.clone()),
            };
            client.must_bind(root_dn, PASSWORD);
            let top: Given<'_> = &[("objectClass", &["dcObject", "organization"]), ("o", &["x"])];
            client.must_add("dc=example", top);
            for (dn, entry) in [
                ("ou=people,dc=example", UNIT),
                ("ou=b,dc=example", UNIT),
                ("cn=admin,ou=b,dc=example", ROOT_ENTRY),
                ("cn=x,ou=b,dc=example", ROOT_ENTRY),
                (TOOL, &[("objectClass", &["account", "simpleSecurityObject"]), ("userPassword", &["tool"])]),
            ] {
                client.must_add(dn, entry);
            }
            client.must_bind(TOOL, "tool");
            test(&mut client);
            assert!(!client.binds(root_dn, "mine"));
        }
    };
    each(&|client| {
        let end = client.rename("ou=b,dc=example", "ou=a", true, None);
        assert_eq!(end.code, InsufficientAccessRights, "{}", end.text);
        let txn = client.start();
        assert_eq!(client.rename_in(&txn, "ou=b,dc=example", "OU=A", None).code, InsufficientAccessRights);
    });
    each(&|client| {
        client.must_add("ou=a,dc=example", UNIT);
        for (dn, rdn, superior) in [
            ("cn=admin,ou=b,dc=example", "cn=admin", Some("ou=a,dc=example")),
            ("cn=x,ou=b,dc=example", "CN=Admin", Some("OU=A, dc=example")),
        ] {
            assert_eq!(client.rename(dn, rdn, true, superior).code, InsufficientAccessRights, "{dn}");
        }
        assert_eq!(
            client.rename("cn=x,ou=b,dc=example", "cn=y", true, Some("ou=a,dc=example")).code,
            Success
        );
        assert_eq!(
            client.rename("cn=y,ou=a,dc=example", "cn=admin", true, None).code,
            InsufficientAccessRights
        );
        assert_eq!(client.rename("ou=b,dc=example", "ou=c", true, None).code, Success);
    });
}

/// Where there is a password in the configuration, no other binds as the root DN.
#[test]
fn the_configured_password_is_the_only_one() {
    each_with(&with_tool(), |mut client| {
        client.must_add(ROOT_DN, ROOT_ENTRY);
        assert!(!client.binds(ROOT_DN, "mine") && client.binds(ROOT_DN, PASSWORD));
        for user in [None, Some(ROOT_DN)] {
            assert_eq!(client.change_password(user, None, "new"), UnwillingToPerform, "{user:?}");
        }
        client.must_bind(TOOL, "tool");
        assert_eq!(client.change_password(Some(ROOT_DN), None, "new"), UnwillingToPerform);
        assert_eq!(client.modify(ROOT_DN, &[(Replace, "userPassword", &["new"])]).code, Success);
        assert!(!client.binds(ROOT_DN, "new") && client.binds(ROOT_DN, PASSWORD));
    });
}

/// Where there is none, its entry has the password, and nobody else gives it one.
#[test]
fn the_password_of_its_entry_is_its_own() {
    let mut first = Client::with(with_tool());
    first.must_add(ROOT_DN, ROOT_ENTRY);
    let tool: Given<'_> =
        &[("objectClass", &["account", "simpleSecurityObject"]), ("userPassword", &["tool"])];
    first.must_add(TOOL, tool);
    let config = Config { root_password: None, ..with_tool() };
    let dsa = Dsa::over(Arc::clone(first.dsa.shard()), config).expect("it fits");
    let mut client = Client::of(&dsa);
    client.must_bind(TOOL, "tool");
    for dn in [ROOT_DN, r"CN=\41dmin,dc=example"] {
        for changes in
            [(Replace, "userPassword", &["x"][..]), (Delete, "userPassword", &[]), (Replace, "sn", &["y"])]
        {
            assert_eq!(client.modify(dn, &[changes]).code, InsufficientAccessRights, "{dn} {changes:?}");
        }
        assert_eq!(client.change_password(Some(dn), None, "x"), InsufficientAccessRights, "{dn}");
    }
    let txn = client.start();
    let replace = [(Replace, "userPassword", &["x"][..])];
    assert_eq!(client.modify_in(&txn, ROOT_DN, &replace).code, InsufficientAccessRights);
    client.must_bind(ROOT_DN, "mine");
    assert_eq!(client.change_password(None, Some("mine"), "changed"), Success);
    assert!(client.binds(ROOT_DN, "changed"));
}
