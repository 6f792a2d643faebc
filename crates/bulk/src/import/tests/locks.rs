//! Accounts that another server keeps locked.

use super::*;

const TOP: &str = "dn: dc=com\nobjectClass: domain\ndc: com\n\n";
const LOCKED: [&str; 1] = ["000001010000Z"];

fn account(name: &str, rest: &str) -> String {
    format!("dn: cn={name},dc=com\nobjectClass: person\ncn: {name}\nsn: x\n{rest}\n")
}

fn loaded(shard: &Arc<Shard>, operational: Operational, text: &str) {
    let how = Import { operational, ..import(shard) };
    load(how, Input::Stream(&mut text.as_bytes()), &mut |_| {}).expect("all of it can be imported");
}

#[test]
fn locks_of_other_servers_lock_accounts() {
    let text = TOP.to_owned()
        + &account("a", "")
        + &account("b", "nsAccountLock: true\n")
        + &account("c", "nsAccountLock: false\n")
        + &account("d", "")
        // A lock that would have ended, and values that come apart.
        + &account("e", "pwdAccountLockedTime: 20200102030405Z\nnsaccountlock: TRUE\ncn: more\n")
        + &account("f", "nsAccountLock: true\n");
    for operational in [Operational::Map, Operational::Strip] {
        let shard = shard_with(true);
        loaded(&shard, operational, &text);
        for (name, expected) in
            [("a", &[][..]), ("b", &LOCKED), ("c", &[]), ("d", &[]), ("e", &LOCKED), ("f", &LOCKED)]
        {
            let dn = format!("cn={name},dc=com");
            assert_eq!(texts(&shard, &dn, "pwdAccountLockedTime"), expected, "{operational:?} {name}");
        }
    }
    let hint = "it is another server's own, which is left out or translated when those are mapped";
    assert_eq!(faults(&text)[0], format!("14: cn=b,dc=com: nsAccountLock: no such attribute type; {hint}"));
}

#[test]
fn a_schema_that_knows_the_attribute_makes_no_difference() {
    let definition = "attributetype ( 2.16.840.1.113730.3.1.610 NAME 'nsAccountLock' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE USAGE directoryOperation )";
    let shard = shard_of(true, definition);
    let text = TOP.to_owned()
        + &account("a", "nsAccountLock: false\n")
        + &account("b", "nsAccountLock: true\n")
        + &account("c", "nsAccountLock: false\n");
    loaded(&shard, Operational::Map, &text);
    let of = |name: &str, attribute: &str| texts(&shard, &format!("cn={name},dc=com"), attribute);
    assert!(of("a", "pwdAccountLockedTime").is_empty() && of("c", "pwdAccountLockedTime").is_empty());
    assert_eq!(of("b", "pwdAccountLockedTime"), LOCKED);
    assert!(of("b", "nsAccountLock").is_empty());
}

#[test]
fn ends_of_accounts_become_ours() {
    let shard = shard_with(true);
    let rest = "ds-pwp-account-expiration-time: 20240101000000.000Z\nds-pwp-account-disabled: true\n\
        ds-privilege-name: bypass-acl\nds-pwp-password-policy-dn: cn=x\n";
    loaded(&shard, Operational::Map, &(TOP.to_owned() + &account("a", rest) + &account("b", "")));
    assert_eq!(texts(&shard, "cn=a,dc=com", "pwdEndTime"), ["20240101000000.000Z"]);
    assert_eq!(texts(&shard, "cn=a,dc=com", "pwdAccountLockedTime"), LOCKED);
    assert!(texts(&shard, "cn=b,dc=com", "pwdEndTime").is_empty());
}
