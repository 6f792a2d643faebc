//! Updates of entries at or below a referral object: who may read the object is referred, whatever rights it has here; for others there is neither the
//! object nor what is below it.

use super::*;
use ResultCode::{AffectsMultipleDsas, EntryAlreadyExists, InsufficientAccessRights, NoSuchObject, Referral};
use proto::op::ModifyKind::Replace;

const AWAY: &str = "ou=away,dc=example";
const BELOW: &str = "cn=x,ou=away,dc=example";
const URL: &str = "ldap://secret.example/";
const DEVICE: Given<'_> = &[("objectClass", &["device"])];
/// A subject with this may write all there is.
const WRITE: &str = "write: all attrs=entry,**; users; \
    allow=create,remove,rename,move-in,move-out,add,delete,increment,manage";

fn add_object(client: &Client) {
    let entry: Given<'_> = &[("objectClass", &["referral", "extensibleObject"]), ("ref", &[URL])];
    client.root().must_add(AWAY, entry);
}

/// One of each update, of an entry by its name.
fn updates(client: &mut Client, dn: &str) -> Vec<Outcome> {
    let mut ends = vec![
        client.modify(dn, &[(Replace, "description", &["y"])]),
        client.delete(dn),
        client.rename(dn, "cn=z", true, None),
        client.rename(dn, "cn=z", false, Some("ou=people,dc=example")),
    ];
    if dn != AWAY {
        ends.push(client.add(dn, DEVICE));
    }
    ends
}

/// RFC 3296 section 5: the server that has the entry says who may change it.
#[test]
fn x6_updates_behind_a_referral_object_are_referred_for_all_who_may_read_it() {
    for rules in [&[][..], &[WRITE]] {
        as_ada(rules, |mut client| {
            add_object(&client);
            for (dn, url) in [(AWAY, "ou=away,dc=example"), (BELOW, "cn=x,ou=away,dc=example")] {
                for end in updates(&mut client, dn) {
                    assert_eq!((end.code, &end.matched[..]), (Referral, AWAY), "{rules:?} {dn}: {end:?}");
                    assert_eq!(end.referral, [format!("{URL}{url}")]);
                }
                let moved = client.rename(GRACE, "uid=grace", false, Some(dn));
                assert_eq!(moved.code, AffectsMultipleDsas, "{rules:?} {dn}: {moved:?}");
                let txn = client.begin(&[]);
                let end = client.modify_in(&txn, dn, &[(Replace, "description", &["y"])]);
                assert_eq!(end.code, AffectsMultipleDsas, "{rules:?} {dn}: {end:?}");
            }
            let taken = if rules.is_empty() { InsufficientAccessRights } else { EntryAlreadyExists };
            assert_eq!(client.add(AWAY, DEVICE).code, taken);
        });
    }
}

#[test]
fn x3_updates_behind_a_referral_object_that_may_not_be_read_are_of_absent_entries() {
    let unread = format!("no: base=\"{AWAY}\" attrs=entry,**; users; deny=read");
    let hidden = format!("no: base=\"{AWAY}\" attrs=entry,**; users; deny=disclose,read");
    for rules in [&[&unread[..]][..], &[&hidden], &[&unread, WRITE], &[&hidden, WRITE]] {
        as_ada(rules, |mut client| {
            add_object(&client);
            for dn in [AWAY, BELOW] {
                for end in updates(&mut client, dn) {
                    let answered = (end.code, &end.matched[..], end.referral.len());
                    assert_eq!(answered, (NoSuchObject, "dc=example", 0), "{rules:?} {dn}: {end:?}");
                }
            }
            // As if it were not there: the entry may not be renamed, or there is no such superior.
            let moved = client.rename(BOB, "uid=bob", false, Some(AWAY));
            let absent = client.rename(BOB, "uid=bob", false, Some("ou=none,dc=example"));
            assert_eq!((moved.code, moved.matched), (absent.code, absent.matched), "{rules:?}");
            let txn = client.begin(&[]);
            let end = client.modify_in(&txn, BELOW, &[(Replace, "description", &["y"])]);
            assert_eq!((end.code, &end.matched[..]), (NoSuchObject, "dc=example"), "{rules:?}: {end:?}");
        });
    }
}
