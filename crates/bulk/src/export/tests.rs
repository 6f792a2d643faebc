use super::*;
use crate::{Callbacks, Import, Input};
use std::io::Cursor;
use std::sync::atomic::AtomicBool;
use store::{ModifyDn, Settings, Stamp};

fn shard(operational_attributes: bool) -> Arc<Shard> {
    let schema = schema::Builder::new().standard().build().expect("the standard schema is sound");
    let settings = Settings {
        suffixes: vec!["dc=com".to_owned(), "o=other".to_owned()],
        indexes: Vec::new(),
        memory_bytes_max: 512 << 20,
        removals_max: store::REMOVALS_MAX,
        operational_attributes,
        schema_check: true,
        initial_owner: "cn=owner".to_owned(),
        key: [1, 2, 3, 4],
        site: 0,
    };
    Shard::create(settings, Arc::new(schema)).expect("address space is plenty")
}

fn loaded(text: &str) -> Arc<Shard> {
    let shard = shard(true);
    let import = Import {
        shard: &shard,
        stamp_ms: 1_800_000_000_000,
        operational: Operational::Keep,
        passwords: crate::Passwords::Keep,
        threads: 2,
        streams: 1,
    };
    let callbacks = Callbacks { on_progress: &mut |_| {}, on_reject: None, is_over: &AtomicBool::new(false) };
    crate::import(import, &mut [Input::Seekable(&mut Cursor::new(text))], callbacks).expect("it is valid");
    shard
}

fn text_of(shard: &Arc<Shard>, what: &Export) -> String {
    let mut out = Vec::new();
    let mut reported = Vec::new();
    let done = export(shard, what, &mut out, &mut |at| reported.push(at)).expect("nothing fails");
    assert_eq!(done.bytes, out.len() as u64);
    assert_eq!(done.entries as usize, out.windows(5).filter(|w| w == b"\ndn: ").count() + 1);
    assert!(reported.iter().all(|at| at.seen <= shard.entries()));
    String::from_utf8(out).expect("LDIF is text")
}

fn dns(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("dn: ")).collect()
}

const TOP: &str = "dn: dc=com\nobjectClass: domain\ndc: com\n\n";
const PEOPLE: &str = "\
dn: ou=b,dc=com
objectClass: organizationalUnit
ou: b

dn: cn=a,ou=b,dc=com
objectClass: inetOrgPerson
cn: a
cn;lang-de: A
sn:: w6Q=
jpegPhoto:: AAH/
userPassword: secret
description: two
description: one
entryUUID: 597ae2f6-16a6-1027-98f4-d28b5365dc14
createTimestamp: 20200102030405Z

dn: o=other
objectClass: organization
o: other

";

#[test]
fn what_is_exported_can_be_imported_and_is_the_same_again() {
    let members: String = (0..20_000).map(|n| format!("member: cn=p{n},dc=com\n")).collect();
    let group = format!("dn: cn=g,dc=com\nobjectClass: groupOfNames\ncn: g\n{members}\n");
    let people: String = (0..3000)
        .map(|n| {
            format!("dn: cn=p{n},ou=b,dc=com\nobjectClass: person\ncn: p{n}\nsn: {}\n\n", "s".repeat(200))
        })
        .collect();
    let first = loaded(&(TOP.to_owned() + PEOPLE + &people + &group));
    let text = text_of(&first, &Export::default());
    assert_eq!(text.matches("member: ").count(), 20_000);
    assert!(text.contains("createTimestamp: 20200102030405Z\n") && text.contains("cn;lang-de: A\n"));
    assert!(text.contains("entryUUID: 597ae2f6-16a6-1027-98f4-d28b5365dc14\n"));
    assert_eq!(dns(&text).len() as u64, first.entries());
    let second = loaded(&text);
    assert_eq!(second.entries(), first.entries());
    assert_eq!(text_of(&second, &Export::default()), text);
}

#[test]
fn superiors_come_first_wherever_they_were_made() {
    let shard =
        loaded(&(TOP.to_owned() + PEOPLE + "dn: ou=z,dc=com\nobjectClass: organizationalUnit\nou: z\n\n"));
    let mut writer = shard.writer();
    let stamp = Stamp { csn: writer.stamp(1_800_000_000_001), actor: 0 };
    let moved = ModifyDn {
        dn: b"ou=b,dc=com",
        new_rdn: b"ou=b",
        delete_old_rdn: false,
        new_superior: Some(b"ou=z,dc=com"),
    };
    writer.modify_dn(moved, stamp).expect("nothing is in its way");
    writer.publish();
    let text = text_of(&shard, &Export::default());
    let wanted = ["dc=com", "ou=z,dc=com", "ou=b,ou=z,dc=com", "cn=a,ou=b,ou=z,dc=com", "o=other"];
    assert_eq!(dns(&text), wanted);
    assert_eq!(text_of(&loaded(&text), &Export::default()), text);
}

#[test]
fn a_part_can_be_chosen() {
    let shard = loaded(&(TOP.to_owned() + PEOPLE));
    let of = |base: Option<&str>, text: Option<&str>| {
        let filter = text.map(|text| filter(text).expect("it is a filter"));
        text_of(
            &shard,
            &Export {
                base: base.map(str::to_owned),
                is_alone: false,
                filter,
                operational: Operational::Keep,
            },
        )
    };
    assert_eq!(dns(&of(Some("OU=B, dc=com"), None)), ["ou=b,dc=com", "cn=a,ou=b,dc=com"]);
    assert_eq!(dns(&of(None, Some("(|(cn=A)(o=*))"))), ["cn=a,ou=b,dc=com", "o=other"]);
    assert!(filter("(cn=").is_err());
    let nowhere = Export { base: Some("ou=x,dc=com".to_owned()), ..Export::default() };
    let refused = export(&shard, &nowhere, &mut Vec::new(), &mut |_| {});
    assert_eq!(refused.unwrap_err().to_string(), "there is no entry ou=x,dc=com");
}

#[test]
fn bookkeeping_can_be_left_out() {
    let shard = loaded(&(TOP.to_owned() + PEOPLE));
    let text = text_of(&shard, &Export { operational: Operational::Strip, ..Export::default() });
    let first = "dn: dc=com\nobjectClass: domain\nobjectClass: top\ndc: com\n\ndn: ou=b,dc=com\n";
    assert!(text.starts_with(first), "{text}");
    for name in ["entryUUID", "Timestamp", "entryCSN", "sName"] {
        assert!(!text.contains(name), "{name}");
    }
    assert!(text.contains("userPassword: secret\n"));
}

#[test]
fn a_writer_that_fails_ends_it() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let failed = export(&loaded(TOP), &Export::default(), &mut Full, &mut |_| {});
    assert!(matches!(failed, Err(ExportError::Io(error)) if error.kind() == io::ErrorKind::StorageFull));
}

/// A name that is spelled otherwise than the value it has goes out and comes in as it is, also into a shape that is known.
#[test]
fn names_are_spelled_as_they_came() {
    let person =
        |n: u32| format!("dn: CN=Person  {n},dc=COM\nobjectClass: person\ncn: person {n}\nsn: s\n\n");
    let alike = |n: u32| format!("dn: CN=Alike{n},dc=COM\nobjectClass: person\ncn: Alike{n}\nsn: s\n\n");
    let both: String = (0..200).map(|n| person(n) + &alike(n)).collect();
    let shard = loaded(&(TOP.replace("dn: dc=com", "dn: DC=Com") + &both));
    let what = Export { operational: Operational::Keep, ..Export::default() };
    let text = text_of(&shard, &what);
    let mut names = dns(&text);
    names.sort_unstable();
    let mut expected: Vec<String> =
        (0..200).flat_map(|n| [format!("cn=Person  {n},dc=Com"), format!("cn=Alike{n},dc=Com")]).collect();
    expected.push("dc=Com".to_owned());
    expected.sort_unstable();
    assert_eq!(names, expected);
    assert_eq!(text_of(&loaded(&text), &what), text);
}
