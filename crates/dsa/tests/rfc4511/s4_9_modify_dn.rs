//! Section 4.9: modify DN.

use crate::common::*;
use model::ResultCode::*;
use model::Scope;
use proto::op::ModifyKind;

const GRACE: &str = "uid=grace,ou=people,dc=example";

/// No alias is dereferenced in entry or newSuperior.
#[test]
fn s4_9_aliases_are_renamed_themselves() {
    let mut client = Client::new();
    client.must_add("uid=countess,dc=example", ALIAS_OF_ADA);
    client.rename(GRACE, "uid=grace", false, Some("uid=countess,dc=example"));
    assert_eq!(client.read(&format!("uid=grace,{ADA}"), &[]).end.code, NoSuchObject);
    let end = client.rename("uid=countess,dc=example", "uid=lady", true, None);
    assert!(matches!(end.code, Success | NotAllowedOnNonLeaf), "{end:?}");
    assert_eq!(client.read(ADA, &["1.1"]).end.code, Success);
}

/// deleteoldrdn: the old values go or stay; the new ones are added.
#[test]
fn s4_9_old_and_new_values() {
    let mut client = Client::new();
    assert_eq!(client.rename(ADA, "uid=lady", false, None).code, Success);
    let found = client.read("uid=lady,ou=people,dc=example", &["uid"]);
    assert_eq!(found.values("uid"), Some(vec!["ada".to_owned(), "lady".to_owned()]));
    assert_eq!(
        client.rename("uid=lady,ou=people,dc=example", "cn=Ada King+sn=lovelace", true, None).code,
        Success
    );
    let found = client.read("sn=Lovelace+cn=ada king,ou=people,dc=example", &["uid", "cn", "sn"]);
    assert_eq!(found.values("uid"), Some(vec!["ada".to_owned()]));
    assert_eq!(found.values("cn").map(|v| v.len()), Some(2), "it was there, and is not there twice");
}

/// The entry conforms to the schema afterwards, or the operation fails and nothing changes.
#[test]
fn s4_9_entries_conform() {
    let mut client = Client::new();
    let before = client.search("dc=example", Scope::Subtree, "(objectClass=*)", &["*", "+"]);
    for (dn, new_rdn, delete_old, code) in [
        (ADA, "dc=x", false, ObjectClassViolation),
        ("ou=groups,dc=example", "description=x", true, ObjectClassViolation),
        (ADA, "preferredLanguage=a+preferredLanguage=b", false, InvalidDnSyntax),
        (ADA, "nonsense=x", false, InvalidDnSyntax),
        (ADA, "uid=a,ou=b", false, InvalidDnSyntax),
        (ADA, "", false, InvalidDnSyntax),
        (ADA, "entryUUID=597ae2f6-16a6-1027-98f4-d28b5365dc14", false, ConstraintViolation),
    ] {
        let end = client.rename(dn, new_rdn, delete_old, None);
        let acceptable = [code, NamingViolation, ConstraintViolation];
        assert!(acceptable.contains(&end.code), "{dn} to {new_rdn}: {end:?}");
        let now = client.search("dc=example", Scope::Subtree, "(objectClass=*)", &["*", "+"]);
        assert_eq!(now, before, "{dn} to {new_rdn}");
    }
}

/// The object named in newSuperior exists; matchedDN is the nearest one that does.
#[test]
fn s4_9_the_new_superior_exists() {
    let mut client = Client::new();
    for (superior, matched) in [("ou=x,ou=groups,dc=example", "ou=groups,dc=example"), ("dc=elsewhere", "")] {
        let end = client.rename(ADA, "uid=ada", false, Some(superior));
        assert_eq!((end.code, &end.matched[..]), (NoSuchObject, matched), "{superior}");
    }
}

/// No other entry has the new name; an entry can be renamed to its own in another spelling.
#[test]
fn s4_9_the_new_name_is_free() {
    let mut client = Client::new();
    assert_eq!(client.rename(ADA, "uid=GRACE", false, None).code, EntryAlreadyExists);
    assert_eq!(client.rename(ADA, "uid=Ada", true, None).code, Success);
    assert_eq!(client.read(ADA, &["uid"]).entries[0].0, "uid=Ada,ou=people,dc=example");
}

/// A subtree moves with its root, and not below itself.
#[test]
fn s4_9_subtrees_move() {
    let mut client = Client::new();
    assert_eq!(
        client.rename("ou=people,dc=example", "ou=folk", true, Some("ou=groups,dc=example")).code,
        Success
    );
    let moved = "uid=ada,ou=folk,ou=groups,dc=example";
    assert_eq!(client.search("dc=example", Scope::Subtree, "(uid=ada)", &["1.1"]).dns(), [moved]);
    assert_eq!(client.read(ADA, &[]).end.code, NoSuchObject);
    for below in ["ou=groups,dc=example", "ou=folk,ou=groups,dc=example", moved] {
        let end = client.rename("ou=groups,dc=example", "ou=groups", false, Some(below));
        assert_eq!(end.code, UnwillingToPerform, "{below}: {}", end.text);
    }
}

/// An entry is called as it was named, whatever becomes of the spelling of its values, and so are the entries below it.
#[test]
fn s4_9_names_are_spelled_as_sent() {
    let mut client = Client::new();
    let room: Given<'_> = &[("objectClass", &["organizationalUnit"]), ("ou", &["rooms"])];
    client.must_add("OU=Rooms,DC=Example", room);
    let person: Given<'_> = &[("objectClass", &["person"]), ("cn", &["x", "foo"]), ("sn", &["bar"])];
    client.must_add("CN = Foo+sn=BAR ,ou=rooms,dc=example", person);
    let below = |client: &mut Client, names: [&str; 2], foo: &[&str]| {
        // Twice: the second time the search and the superior's name are remembered.
        for filter in ["(cn=foo)", "(cn=foo)", "(cn=FOO)", "(cn=Foo)"] {
            let found = client.search("ou=rooms,dc=example", Scope::Subtree, filter, &["cn", "entryDN"]);
            assert_eq!(found.dns(), [names[1]], "{filter}");
            assert_eq!(found.values("entryDN"), Some(vec![names[1].to_owned()]));
            assert_eq!(found.values("cn").expect("it is there"), foo);
        }
        for base in ["ou=rooms,dc=example", "ou=Rooms,dc=example", "OU=ROOMS,dc=example"] {
            assert_eq!(client.read(base, &["1.1"]).dns(), [names[0]]);
            assert_eq!(client.read(&format!("cn=nobody,{base}"), &["1.1"]).end.matched, names[0]);
        }
    };
    below(&mut client, ["ou=Rooms,dc=example", "cn=Foo+sn=BAR,ou=Rooms,dc=example"], &["foo", "x"]);
    let dn = "cn=foo+sn=bar,ou=rooms,dc=example";
    for (spelling, kept) in [("FOO", ["FOO", "y"]), ("Foo", ["Foo", "y"]), ("fOO", ["fOO", "y"])] {
        let end = client.modify(dn, &[(ModifyKind::Replace, "cn", &["y", spelling])]);
        assert_eq!(end.code, Success, "{end:?}");
        assert_eq!(client.modify(dn, &[(ModifyKind::Replace, "description", &[spelling])]).code, Success);
        below(&mut client, ["ou=Rooms,dc=example", "cn=Foo+sn=BAR,ou=Rooms,dc=example"], &kept);
    }
    assert_eq!(client.modify(dn, &[(ModifyKind::Replace, "cn", &["y"])]).code, NotAllowedOnRdn);
    // The value stays as it is spelled where the new name has the same, and the name is as it is sent.
    assert_eq!(client.rename("ou=rooms,dc=example", "ou=ROOMS", false, None).code, Success);
    assert_eq!(client.rename(dn, "sn=Bar+cn=foo", false, None).code, Success);
    below(&mut client, ["ou=ROOMS,dc=example", "sn=Bar+cn=foo,ou=ROOMS,dc=example"], &["fOO", "y"]);
    assert_eq!(client.read("ou=rooms,dc=example", &["ou"]).values("ou"), Some(vec!["rooms".to_owned()]));
    // The old value goes though the name had it otherwise.
    assert_eq!(client.rename(dn, "cn=foo", true, None).code, ObjectClassViolation);
    assert_eq!(client.rename(dn, "sn=bar+cn=Foo", true, None).code, Success);
    below(&mut client, ["ou=ROOMS,dc=example", "sn=bar+cn=Foo,ou=ROOMS,dc=example"], &["Foo", "y"]);
    assert_eq!(client.delete(dn).code, Success);
}
