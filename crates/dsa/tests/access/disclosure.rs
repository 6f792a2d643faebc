//! Row A8: an entry that may not be disclosed is answered as one that is absent, by every operation and to the octet.

use super::*;
use model::Scope;
use proto::op::ModifyKind::Replace;

const HIDDEN: &str = "uid=grace,ou=people,dc=example";
const ABSENT: &str = "uid=gracf,ou=people,dc=example";

#[test]
fn a8_hidden_is_absent() {
    let hides = format!("hide: subtree=\"{HIDDEN}\" attrs=entry,**; users; deny=all");
    let rules = ["all: all attrs=entry,**; users; allow=all", &hides];
    as_ada(&rules, |mut client| {
        let mut answers = |dn: &str| {
            let below = format!("cn=x,{dn}");
            let outcomes = vec![
                client.read(dn, &[]).end,
                client.search(&below, Scope::Base, "(objectClass=*)", &[]).end,
                client.compare(dn, "sn", "Hopper"),
                client.modify(dn, &[(Replace, "sn", &["x"])]),
                client.delete(dn),
                client.rename(dn, "uid=other", true, None),
                client.rename(ADA, "uid=ada", true, Some(dn)),
                client.add(&below, &[("objectClass", &["device"])]),
                client.extended(proto::ext::password_modify::OID, Some(&password_of(dn))),
            ];
            outcomes.into_iter().map(|end| (end.code, end.matched, end.text)).collect::<Vec<_>>()
        };
        assert_eq!(answers(HIDDEN), answers(ABSENT));
        let found = client.search("dc=example", Scope::Subtree, "(uid=*)", &["1.1"]);
        assert_eq!(found.dns(), [ADA, BOB]);
        // It counts in no limit.
        let limited = |search: &mut proto::op::Search<'_>| search.size_limit = 2;
        let found = client.search_with("dc=example", Scope::Subtree, "(uid=*)", &["1.1"], limited, &[]);
        assert_eq!((found.end.code, found.entries.len()), (ResultCode::Success, 2));
    });
}

fn password_of(dn: &str) -> Vec<u8> {
    use proto::ext::password_modify::PasswordModify;
    PasswordModify { user: Some(dn.as_bytes()), old: None, new: Some(b"x") }.encode()
}

#[test]
fn a8_the_nearest_superior_is_one_that_may_be_disclosed() {
    let rules = ["hide: subtree=\"ou=people,dc=example\" attrs=entry,**; users; deny=all"];
    as_ada(&rules, |mut client| {
        for dn in [GRACE, "cn=x,uid=grace,ou=people,dc=example", "ou=people,dc=example"] {
            let end = client.read(dn, &[]).end;
            assert_eq!((end.code, &end.matched[..]), (ResultCode::NoSuchObject, "dc=example"), "{dn}");
        }
    });
}

#[test]
fn without_rules_anonymous_clients_see_the_root_dse_and_the_schema() {
    each(&config(), |mut client| {
        assert_eq!(client.bind("", "").code, ResultCode::Success);
        assert_eq!(
            client.read("", &["namingContexts"]).values("namingContexts"),
            Some(vec!["dc=example".to_owned()])
        );
        assert_eq!(client.read("cn=subschema", &["cn"]).entries.len(), 1);
        for dn in ["dc=example", ADA, "cn=Monitor", "cn=config"] {
            assert_eq!(client.read(dn, &[]).end.code, ResultCode::NoSuchObject, "{dn}");
        }
    });
}

#[test]
fn the_servers_own_entries_obey_rules() {
    let rules = [
        "ops: subtree=\"cn=config\"; dn=\"uid=ada,ou=people,dc=example\"; allow=see",
        "no-monitor: subtree=\"cn=Monitor\" attrs=entry,**; users; deny=see",
    ];
    as_ada(&rules, |mut client| {
        assert_eq!(client.read("cn=config", &["cn"]).entries.len(), 1);
        assert_eq!(client.read("cn=Monitor", &["cn"]).end.code, ResultCode::NoSuchObject);
        // A rule about all entries is about those of the directory.
        assert_eq!(client.read("", &["vendorName"]).entries.len(), 1);
    });
}
