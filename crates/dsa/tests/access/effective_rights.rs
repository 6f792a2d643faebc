//! Row A9: get effective rights. Everybody sees the own rights, holders of `manage` those of others, and nothing else is shown.

use super::*;
use ResultCode::{InsufficientAccessRights, ProtocolError, Success};
use proto::control::effective_rights::{EffectiveRights, OID};
use proto::list::{Octets, octet_list};

const LIST: &str = "cn=list,ou=groups,dc=example";

/// The value of the control, in the first of its forms.
fn asked(authorization_id: &str, attributes: &[&str]) -> Vec<u8> {
    let raw = octet_list(attributes.iter().map(|name| name.as_bytes()));
    let attributes = Octets::parse(&raw).expect("just encoded");
    EffectiveRights { authorization_id: authorization_id.as_bytes(), attributes }.encode()
}

/// A base search with the control, whose value is of any form.
fn of(client: &mut Client, dn: &str, attributes: &[&str], value: &[u8], critical: bool) -> Found {
    let controls = [control(OID, value, critical)];
    client.search_with(dn, model::Scope::Base, "(objectClass=*)", attributes, |_| {}, &controls)
}

/// Values of `entryLevelRights` and `attributeLevelRights`.
fn levels(found: &Found) -> (String, String) {
    let one = |name: &str| found.values(name).map_or(String::new(), |values| values.join("\n"));
    (one("entryLevelRights"), one("attributeLevelRights"))
}

fn code(found: &Found) -> u8 {
    let control = found.controls.iter().find(|(oid, _)| oid.as_bytes() == OID).expect("it is answered");
    *control.1.as_ref().and_then(|value| value.last()).expect("it has a code")
}

#[test]
fn test_a9_forms_and_oneself() {
    as_ada(&[], |mut client| {
        let plain = format!("dn:{ADA}");
        let octets = [&[4, plain.len() as u8], plain.as_bytes()].concat();
        let expected = ("v".to_owned(), "sn:rsc, userPassword:wo, mail:rsc".to_owned());
        for value in [asked(&plain, &["mail"]), asked(&format!("dn:{}", ADA.to_uppercase()), &["mail"])] {
            let found = of(&mut client, ADA, &["sn", "userPassword"], &value, true);
            let (entry, attributes) = levels(&found);
            assert_eq!(
                (entry, attributes),
                (expected.0.clone(), "mail:rsc, sn:rsc, userPassword:wo".to_owned())
            );
            assert_eq!((found.end.code, code(&found)), (Success, 0));
            assert_eq!(found.values("sn"), Some(vec!["Lovelace".to_owned()]), "attributes come as ever");
        }
        for value in [octets, plain.into_bytes(), b"u:ada".to_vec()] {
            let found = of(&mut client, ADA, &["sn", "userPassword", "mail"], &value, true);
            assert_eq!(levels(&found), expected);
        }
        for wrong in [&b"cn=x"[..], b"\x30\x03\x04\x05d", b"\x04\x00d"] {
            assert_eq!(of(&mut client, ADA, &[], wrong, true).end.code, ProtocolError);
        }
        // Without a value it is about the client itself.
        let none = Control { oid: OID, critical: true, value: None };
        let found = client.search_with(ADA, model::Scope::Base, "(objectClass=*)", &["sn"], |_| {}, &[none]);
        assert_eq!(levels(&found), ("v".to_owned(), "sn:rsc".to_owned()));
        assert!(is_published("supportedControl", OID));
    });
}

#[test]
fn test_a9_others_need_manage() {
    let rules = [
        "boss: base=\"uid=grace,ou=people,dc=example\"; dn=\"uid=ada,ou=people,dc=example\"; allow=manage",
        "bobs: all attrs=entry,mail; dn=\"uid=bob,ou=people,dc=example\"; allow=create,remove,rename,write,proxy",
        "none: all attrs=sn; dn=\"uid=bob,ou=people,dc=example\"; deny=search rank=1",
    ];
    as_ada(&rules, |mut client| {
        let bob = asked(&format!("dn:{BOB}"), &[]);
        let found = of(&mut client, ADA, &["sn"], &bob, false);
        assert_eq!((found.end.code, code(&found)), (Success, 50));
        assert_eq!(levels(&found), ("50".to_owned(), "*:50".to_owned()));
        assert_eq!(found.values("sn"), Some(vec!["Lovelace".to_owned()]));
        // One that does not exist, and nobody, have the same answer.
        for other in ["dn:uid=none,dc=example", "u:none", "dn:", &format!("dn:{ROOT_DN}")] {
            let other = asked(other, &[]);
            assert_eq!(of(&mut client, ADA, &["sn"], &other, false), Found { ..found.clone() }, "{other:?}");
        }
        let found = of(&mut client, ADA, &["sn"], &bob, true);
        assert_eq!((found.end.code, code(&found), found.entries.len()), (InsufficientAccessRights, 50, 0));
        let found = of(&mut client, GRACE, &["sn", "mail", "aclRights", "aclRightsInfo"], &bob, true);
        assert_eq!(levels(&found), ("vadn".to_owned(), "sn:rc, mail:rscwo".to_owned()));
        let value = |name: &str| found.values(name).expect("it was asked for").join("\n");
        assert_eq!(value("aclRights;entryLevel"), "add:1,delete:1,read:1,write:1,proxy:1");
        let flags = "search:0,read:1,compare:1,write:0,selfwrite_add:0,selfwrite_delete:0,proxy:1";
        assert_eq!(value("aclRights;attributeLevel;sn"), flags);
        let info = value("aclRightsInfo");
        assert!(info.contains("entry: disclose=allow(users) read=allow(users) create=allow(bobs)"), "{info}");
        assert!(
            info.contains("sn: read=allow(users) search=deny(none) compare=allow(users) add=none"),
            "{info}"
        );
        // Rules are named to administrators only.
        let found =
            of(&mut client, ADA, &["aclRights", "aclRightsInfo"], &asked(&format!("dn:{ADA}"), &[]), true);
        assert!(found.values("aclRights;entryLevel").is_some() && found.values("aclRightsInfo").is_none());
        let found = of(&mut client.root(), ADA, &["sn"], &asked(&format!("dn:{ROOT_DN}"), &[]), true);
        assert_eq!(levels(&found), ("vadn".to_owned(), "sn:rscwo".to_owned()));
        let found = of(&mut client.root(), ADA, &["sn"], &asked("dn:", &[]), true);
        assert_eq!(levels(&found), ("none".to_owned(), "sn:none".to_owned()));
    });
}

/// What is not there and what may not be read look the same; a hidden entry gives its subject no rights.
#[test]
fn test_a9_nothing_hidden_is_shown() {
    let rules = [
        "no: all attrs=employeeNumber; users; deny=see rank=1",
        "hide: base=\"uid=bob,ou=people,dc=example\" attrs=entry; dn=\"uid=grace,ou=people,dc=example\"; deny=disclose rank=1",
        "grace: all attrs=entry,**; dn=\"uid=grace,ou=people,dc=example\"; allow=edit,write",
        "join: subtree=\"ou=groups,dc=example\" attrs=member values=self; users; allow=write",
    ];
    as_ada(&rules, |mut client| {
        let own = asked(&format!("dn:{ADA}"), &["employeeNumber"]);
        let before = of(&mut client, ADA, &["*"], &own, true);
        client.root().must_modify(ADA, &[(proto::op::ModifyKind::Delete, "employeeNumber", &[])]);
        assert_eq!(of(&mut client, ADA, &["*"], &own, true), Found { ..before.clone() });
        assert!(levels(&before).1.starts_with("employeeNumber:none, "), "{before:?}");
        let own = asked(&format!("dn:{ADA}"), &[]);
        assert!(!levels(&of(&mut client, ADA, &["*"], &own, true)).1.contains("employeeNumber"));
        let graces = asked(&format!("dn:{GRACE}"), &["mail"]);
        let mut root = client.root();
        assert_eq!(
            levels(&of(&mut root, BOB, &["1.1"], &graces, true)),
            ("a".to_owned(), "mail:none".to_owned())
        );
        root.must_add(LIST, &[("objectClass", &["groupOfNames"]), ("member", &[BOB])]);
        let found = of(&mut client, LIST, &["member", "cn", "aclRights"], &own, true);
        assert_eq!(levels(&found).1, "member:rscWO, cn:rsc");
        let flags = "search:1,read:1,compare:1,write:0,selfwrite_add:1,selfwrite_delete:1,proxy:0";
        assert_eq!(found.values("aclRights;attributeLevel;member"), Some(vec![flags.to_owned()]));
    });
}

/// A search that goes on in slices and in pages shows rights on every entry, and the rules of now.
#[test]
fn test_a9_long_searches_show_rights_too() {
    as_ada(&[], |mut client| {
        let mut root = client.root();
        for number in 0..300 {
            root.must_add(
                &format!("ou=n{number},ou=groups,dc=example"),
                &[("objectClass", &["organizationalUnit"])],
            );
        }
        let value = asked(&format!("dn:{ADA}"), &["cn", "sn", "mail", "member", "description", "uid"]);
        for size in [0, 40] {
            let mut cookie = Vec::new();
            let mut entries = 0;
            loop {
                let paged = Client::paged(size, &cookie);
                let mut controls = vec![control(OID, &value, true)];
                if size > 0 {
                    controls.push(control(paged_results::OID, &paged, true));
                }
                let base = "ou=groups,dc=example";
                let found = client.search_with(base, model::Scope::One, "(ou=*)", &["*"], |_| {}, &controls);
                assert_eq!((found.end.code, code(&found)), (Success, 0));
                for (dn, attributes) in &found.entries {
                    let shown = attributes.iter().find(|(name, _)| name == "attributeLevelRights");
                    let all = "cn:rsc, sn:rsc, mail:rsc, member:rsc, description:rsc, uid:rsc, ou:rsc, objectClass:rsc";
                    assert_eq!(shown.map(|(_, values)| &values[0][..]), Some(all.as_bytes()), "{dn}");
                }
                entries += found.entries.len();
                cookie = found.cookie.unwrap_or_default();
                if cookie.is_empty() {
                    break;
                }
            }
            assert_eq!(entries, 300);
        }
    });
}

impl Client {
    fn paged(size: i32, cookie: &[u8]) -> Vec<u8> {
        let mut value = Vec::new();
        paged_results::PagedResults { size, cookie }.encode(&mut value);
        value
    }
}

#[test]
fn test_a9_bounds_and_transactions() {
    as_ada(&[], |mut client| {
        let many = vec!["cn"; 257];
        assert_eq!(
            of(&mut client, ADA, &["cn"], &asked("dn:", &many), true).end.code,
            ResultCode::AdminLimitExceeded
        );
        let choices = dsa::transaction::Choices { search: true, ..Default::default() };
        client.dsa.transactions().put(&choices, client.dsa.shard().schema()).expect("they are in order");
        let txn = client.extended(proto::ext::start_transaction::OID, None).value.expect("an identifier");
        let value = asked(&format!("dn:{ADA}"), &[]);
        let controls = [control(OID, &value, true), proto::control::transaction_specification::control(&txn)];
        let mut read = |controls| {
            client.search_with(ADA, model::Scope::Base, "(objectClass=*)", &["cn"], |_| {}, controls).end.code
        };
        assert_eq!((read(&controls), read(&controls[1..])), (ResultCode::UnwillingToPerform, Success));
    });
}
