//! Records of Active Directory, and what becomes of them.

use super::*;
use proptest::prelude::*;
use std::io::Cursor;

fn schema() -> Schema {
    let builder = schema::Builder::new().standard().builtin("ad").expect("it is built in");
    builder.build().expect("it is sound")
}

/// The translated text, and the report.
fn translated(text: &str) -> (String, String) {
    let schema = schema();
    let mut cursor = Cursor::new(text.as_bytes().to_vec());
    let mut input = Input::Seekable(&mut cursor);
    let mut translation = Translation::new(&mut input, &schema);
    let mut out = String::new();
    translation.read_to_string(&mut out).expect("it can be read");
    let mut cursor = Cursor::new(text.as_bytes().to_vec());
    let surveyed = survey(&mut [Input::Seekable(&mut cursor)], &schema).expect("it can be read");
    assert_eq!(surveyed, translation.survey, "the report is of what is done");
    (out, surveyed.to_string())
}

/// The lines of a text with their numbers, without comments and blank lines.
fn numbered(text: &str) -> Vec<(usize, &str)> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).collect()
}

const ADA: &str = "\
dn: CN=Ada Lovelace,OU=People,DC=example,DC=com
changetype: add
objectClass: top
objectClass: person
objectClass: organizationalPerson
objectClass: user
cn: Ada Lovelace
distinguishedName: CN=Ada Lovelace,OU=People,
 DC=example,DC=com
instanceType: 4
whenCreated: 20200102030405.0Z
whenChanged: 20210102030405.0Z
memberOf: CN=staff,DC=example,DC=com
objectGUID:: ABEiM0RVZneImaq7zN3u/w==
objectSid:: AQUAAAAAAAUVAAAA
sAMAccountName: ada
userAccountControl: 514
primaryGroupID: 513
accountExpires: 132223104000000000
msExchThing: x
userPassword: {SSHA}W6ph5Mm5Pz8GgiULbPgzG37mj9gAAAAA
title: Countess
";

#[test]
fn a_user_keeps_lines_and_gets_standard_attributes() {
    let (out, report) = translated(ADA);
    let found: Vec<(usize, &str)> = numbered(&out);
    let expected = [
        (1, "dn: CN=Ada Lovelace,OU=People,DC=example,DC=com"),
        (3, "objectClass: top"),
        (4, "objectClass: person"),
        (5, "objectClass: organizationalPerson"),
        (6, "objectClass: user"),
        (7, "cn: Ada Lovelace"),
        (11, "createTimestamp: 20200102030405Z"),
        (12, "modifyTimestamp: 20210102030405Z"),
        (14, "objectGUID:: ABEiM0RVZneImaq7zN3u/w=="),
        (15, "entryUUID: 33221100-5544-7766-8899-aabbccddeeff"),
        (16, "objectSid:: AQUAAAAAAAUVAAAA"),
        (17, "sAMAccountName: ada"),
        (18, "userAccountControl: 514"),
        (19, "pwdAccountLockedTime: 000001010000Z"),
        (20, "primaryGroupID: 513"),
        (21, "pwdEndTime: 20200101000000Z"),
        (22, "userPassword: {SSHA}W6ph5Mm5Pz8GgiULbPgzG37mj9gAAAAA"),
        (23, "title: Countess"),
    ];
    assert_eq!(found, expected);
    let expected = "\
1 records
translated: accountExpires: 1: pwdEndTime
left out: distinguishedName: 1: the name of the entry has them
left out: instanceType: 1: what domain controllers keep for themselves
left out: memberOf: 1: they follow from values of other entries
left out: msExchThing: 1: the schema has no such attribute; --schema FILE adds one
translated: objectGUID: 1: entryUUID; they are kept as well
left out: passwords of accounts: 1: Active Directory exports none: these accounts need new ones
kept: primaryGroupID: 1: the group does not list members by it
translated: userAccountControl of disabled accounts: 1: pwdAccountLockedTime: nobody binds as them; the number is kept as well
kept: userPassword {SSHA}: 1
translated: whenChanged: 1: modifyTimestamp
translated: whenCreated: 1: createTimestamp
";
    assert_eq!(report, expected);
}

#[test]
fn entries_of_the_system_are_left_out_and_faults_are_passed_on() {
    let text = "\
version: 1

dn: CN=Policies,CN=System,DC=example,DC=com
objectClass: container

dn: CN=System,OU=People,DC=example,DC=com
objectClass: container
cn: System

dn: CN=a,DC=example,DC=com
changetype: modify
add: member
member: CN=b,DC=example,DC=com
-

dn: CN=staff,DC=example,DC=com
objectClass: group
member;range=0-1499: CN=b,DC=example,DC=com
";
    let (out, report) = translated(text);
    let found = numbered(&out);
    assert_eq!(found[0], (6, "dn: CN=System,OU=People,DC=example,DC=com"), "{out}");
    assert!(found.contains(&(10, "dn: CN=a,DC=example,DC=com")), "{out}");
    assert!(found.contains(&(16, "dn: CN=staff,DC=example,DC=com")), "{out}");
    // Values that are not all of them are for the import to refuse.
    assert!(found.contains(&(18, "member;range=0-1499: CN=b,DC=example,DC=com")), "{out}");
    assert!(report.starts_with("4 records\n"), "{report}");
    assert!(report.contains("left out: entries at and below CN=System: 1: "), "{report}");
}

#[test]
fn a_time_that_the_entry_has_is_not_given_twice() {
    let (out, _) = translated(
        "dn: CN=a\nobjectClass: user\nwhenCreated: 20200102030405.0Z\ncreateTimeStamp: 20200102030405.0Z\n",
    );
    assert!(!out.contains("createTimestamp") && out.contains("createTimeStamp"), "{out}");
}

#[test]
fn accounts_end_when_they_say() {
    assert_eq!((expiry(b"0"), expiry(b"9223372036854775807")), (None, None));
    assert_eq!(expiry(b"116444736000000000").as_deref(), Some(&b"19700101000000Z"[..]));
    assert_eq!(expiry(b"1").as_deref(), expiry(b"nonsense").as_deref());
    assert!(expiry(b"1").is_some());
    assert!(is_disabled(b"514") && is_disabled(b"x") && !is_disabled(b"512"));
    assert_eq!(entry_uuid(b"short"), None);
}

proptest! {
    /// Whatever an export has, lines that are kept are found at their numbers, but for those that a new line moves.
    #[test]
    fn lines_stay_where_they_are(records in proptest::collection::vec(proptest::collection::vec(0usize..5, 0..12), 1..12)) {
        const KINDS: [&str; 5] = ["cn: a", "uSNCreated: 1", "sn: folded\n  twice\n  over", "title: b", "#"];
        let mut text = String::new();
        for (at, record) in records.iter().enumerate() {
            text += &format!("\ndn: CN={at},DC=com\nobjectClass: user\n");
            record.iter().for_each(|kind| text += &format!("{}\n", KINDS[*kind]));
        }
        let (out, _) = translated(&text);
        let kept = |line: &(usize, &str)| ["dn", "cn", "title", "objectClass"].contains(&line.1.split(':').next().unwrap_or(""));
        let of = |text: &str| numbered(text).iter().filter(|line| kept(line)).map(|(at, line)| (*at, (*line).to_owned())).collect::<Vec<_>>();
        prop_assert_eq!(of(&out), of(&text));
    }
}
