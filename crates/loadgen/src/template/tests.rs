use super::*;
use crate::generate::{self, Format, Job};
use crate::order::{Order, Part};

fn options<'a>(defines: &'a [(&'a str, &'a str)]) -> Options<'a> {
    Options {
        defines,
        load: &|name| match name {
            "colours.txt" => Ok(b"red\ngreen\n\nblue\n".to_vec()),
            "more.template" => Ok(b"define from=include\n".to_vec()),
            _ => Err(io::ErrorKind::NotFound.into()),
        },
    }
}

fn ldif(text: &str, defines: &[(&str, &str)], order: Order, groups: (u64, u64)) -> String {
    let template = Template::parse(text, &options(defines)).unwrap();
    let suffix = template.branches()[0].dn.clone();
    let job = Job {
        template: &template,
        seed: 7,
        order,
        format: Format::Ldif { wrap: 0 },
        part: Part::WHOLE,
        branches: true,
        groups: groups.0,
        members: groups.1,
        suffix: &suffix,
    };
    let mut out = Vec::new();
    let made = generate::run(&job, &mut out).unwrap();
    assert_eq!(made.bytes, out.len() as u64);
    assert_eq!(made.entries, template.count() + groups.0 + u64::from(groups.0 > 0));
    String::from_utf8(out).unwrap()
}

fn error(text: &str) -> (usize, &'static str) {
    let error = Template::parse(text, &options(&[])).unwrap_err();
    (error.line, error.reason)
}

#[test]
fn dvtds_is_what_the_report_says() {
    let text = ldif(built_in("dvtds").unwrap(), &[("count", "2")], Order::Sorted, (0, 0));
    let expected = "version: 1\n\n\
        dn: dc=com\nobjectClass: top\nobjectClass: domain\ndc: com\n\n\
        dn: uid=0,dc=com\nobjectClass: inetOrgPerson\nuid: 0\ncarLicense: AA-00000\n\n\
        dn: uid=1,dc=com\nobjectClass: inetOrgPerson\nuid: 1\ncarLicense: AA-00000\n\n";
    assert_eq!(text, expected);
}

#[test]
fn mvault_values_have_the_lengths_of_the_report() {
    let template = Template::parse(built_in("mvault").unwrap(), &options(&[("count", "10")])).unwrap();
    let mut entry = Entry::default();
    let parent = b"dc=example,dc=com";
    template.entry(Place { template: 0, number: 3, serial: 3, parent }, 1, &mut entry);
    assert_eq!(entry.dn, b"cn=user000000000003,dc=example,dc=com");
    let lens: Vec<_> = entry.values().skip(4).map(|(_, value)| value.len()).collect();
    assert_eq!(lens, [16, 8, 26, 46]);
    assert!(entry.values().any(|(_, value)| value.starts_with(b"{SSHA}")));
}

#[test]
fn slamd_entries_have_26_attributes_and_3_kb() {
    let template = Template::parse(built_in("slamd").unwrap(), &options(&[("count", "10")])).unwrap();
    let mut entry = Entry::default();
    let mut bytes = 0;
    for number in 0..10 {
        template.entry(Place { template: 0, number, serial: number, parent: b"ou=People" }, 1, &mut entry);
        let mut names: Vec<NameId> = entry.values().map(|(name, _)| name).collect();
        bytes +=
            entry.values().map(|(name, v)| v.len() + template.names()[name.0 as usize].len()).sum::<usize>();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 26);
    }
    assert_eq!(entry.dn, b"uid=user.9,ou=People");
    assert!((2_700..3_300).contains(&(bytes / 10)), "{bytes}");
}

#[test]
fn order_does_not_change_what_an_entry_is() {
    let text = built_in("mvault").unwrap();
    let records = |order| {
        let text = ldif(text, &[("count", "50")], order, (0, 0));
        let mut records: Vec<String> = text.split("\n\n").map(str::to_owned).collect();
        records[2..].sort();
        records
    };
    assert_eq!(records(Order::Sorted), records(Order::Random));
    assert_eq!(records(Order::Sorted), records(Order::Subdivided));
}

#[test]
fn the_language_at_large() {
    let text = "\
# comment
include more.template
define suffix=dc=x
define name=[from]

branch: [suffix]
description: [name] \\[x] \\<y> \\{z}
subordinateTemplate: unit:2

template: unit
rdnAttr: ou
objectClass: organizationalUnit
ou: Unit, <sequential:1>
subordinateTemplate: person:2

template: base
rdnAttr: uid
objectClass: account
uid: u<sequential:5:false>

template: person
extends: base
description: <dn> <rdn> <_dn> <parentdn>
l: <file:colours.txt:sequential>
seeAlso: <ifpresent:l:red>{l:2}
info: <ifabsent:l:red>{l}
host: <presence:0>never
host: <presence:100>always<static: >{UID}
";
    let expected = "version: 1\n\n\
dn: dc=x\nobjectClass: top\nobjectClass: domain\ndc: x\ndescription: include [x] <y> {z}\n\n\
dn: ou=Unit\\, 1,dc=x\nobjectClass: organizationalUnit\nou: Unit, 1\n\n\
dn: uid=u5,ou=Unit\\, 1,dc=x\nobjectClass: account\nuid: u5\n\
description: uid=u5,ou=Unit\\, 1,dc=x uid=u5 uid=u5_ou=Unit\\_ 1_dc=x ou=Unit\\, 1,dc=x\nl: red\nseeAlso: re\n\
host: always u5\n\n\
dn: uid=u6,ou=Unit\\, 1,dc=x\nobjectClass: account\nuid: u6\n\
description: uid=u6,ou=Unit\\, 1,dc=x uid=u6 uid=u6_ou=Unit\\_ 1_dc=x ou=Unit\\, 1,dc=x\nl: green\ninfo: green\n\
host: always u6\n\n\
dn: ou=Unit\\, 2,dc=x\nobjectClass: organizationalUnit\nou: Unit, 2\n\n\
dn: uid=u7,ou=Unit\\, 2,dc=x\nobjectClass: account\nuid: u7\n\
description: uid=u7,ou=Unit\\, 2,dc=x uid=u7 uid=u7_ou=Unit\\_ 2_dc=x ou=Unit\\, 2,dc=x\nl: blue\ninfo: blue\n\
host: always u7\n\n\
dn: uid=u8,ou=Unit\\, 2,dc=x\nobjectClass: account\nuid: u8\n\
description: uid=u8,ou=Unit\\, 2,dc=x uid=u8 uid=u8_ou=Unit\\_ 2_dc=x ou=Unit\\, 2,dc=x\nl: red\nseeAlso: re\n\
host: always u8\n\n";
    assert_eq!(ldif(text, &[], Order::Sorted, (0, 0)), expected);
}

#[test]
fn random_tags_keep_their_shapes() {
    let text = "branch: dc=x\nsubordinateTemplate: t:1\n\ntemplate: t\nrdnAttr: cn\ncn: a\n\
        a: <random:alpha:5>\nb: <random:numeric:3:3:4>\nc: <random:chars:xy:2:4>\nd: <random:hex:6>\n\
        e: <guid>\nf: <random:month:3>\ng: <list:p;0:q;1>\nh: <random:telephone>\ni: <random:base64:6>\n\
        j: <padded:4:9>\nk: <text:40>\nl: <first> <last>\nm: <random:alphanumeric:7>\n";
    let text = ldif(text, &[], Order::Sorted, (0, 0));
    let value = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(&format!("{name}: "))).unwrap();
        line[name.len() + 2..].to_owned()
    };
    assert_eq!(value("a").len(), 5);
    assert_eq!(value("b"), "0003");
    assert!((2..=4).contains(&value("c").len()));
    assert!(value("d").chars().all(|c| c.is_ascii_hexdigit()));
    let guid = value("e");
    assert_eq!((guid.len(), &guid[14..15]), (36, "4"));
    assert_eq!(value("f").len(), 3);
    assert_eq!(value("g"), "q");
    assert_eq!(value("i").len(), 8);
    assert_eq!(value("j"), "0009");
    assert_eq!(value("k").len(), 40);
}

#[test]
fn faults_have_lines() {
    assert_eq!(error(""), (0, "the template has no branch"));
    assert_eq!(error("nonsense"), (1, "expected branch: or template:"));
    assert_eq!(error("branch: dc=x\nsubordinateTemplate: y:1"), (2, "no such template"));
    assert_eq!(error("branch: [x]"), (1, "no such definition"));
    assert_eq!(error("branch: dc"), (1, "expected attribute=value"));
    let inside = |line: &str| error(&format!("branch: dc=x\n\ntemplate: t\nrdnAttr: cn\n{line}"));
    assert_eq!(inside("sn: a"), (3, "the rdnAttr has no line of its own"));
    assert_eq!(inside("cn: <nosuch>"), (5, "no such tag"));
    assert_eq!(inside("cn: <random:numeric:5:4>"), (5, "the first number is above the second"));
    assert_eq!(inside("cn: <random:numeric:x>"), (5, "not a number"));
    assert_eq!(inside("cn: <presence:101>"), (5, "a percentage is from 0 to 100"));
    assert_eq!(inside("cn: <dn>"), (3, "<dn> and <rdn> must stand below the line of the rdnAttr"));
    assert_eq!(inside("cn: <file:nowhere>"), (5, "no such file or built-in list"));
    assert!(inside("cn: <first").1.starts_with("no end of this tag"));
    let inside = error("branch: dc=x\n\ntemplate: t\nrdnAttr: cn\ncn: a\nsubordinateTemplate: t:1");
    assert!(inside.1.contains("below itself"));
}

#[test]
fn groups_have_the_members_asked_for() {
    let text = ldif(built_in("slamd").unwrap(), &[("count", "5"), ("suffix", "dc=x")], Order::Random, (2, 3));
    let groups = text.split_once("dn: ou=Groups").unwrap().1;
    let expected = ",dc=x\nobjectClass: top\nobjectClass: organizationalUnit\nou: Groups\n\n\
        dn: cn=group.0,ou=Groups,dc=x\nobjectClass: top\nobjectClass: groupOfNames\ncn: group.0\n\
        member: uid=user.0,ou=People,dc=x\nmember: uid=user.1,ou=People,dc=x\nmember: uid=user.2,ou=People,dc=x\n\n\
        dn: cn=group.1,ou=Groups,dc=x\nobjectClass: top\nobjectClass: groupOfNames\ncn: group.1\n\
        member: uid=user.3,ou=People,dc=x\nmember: uid=user.4,ou=People,dc=x\nmember: uid=user.0,ou=People,dc=x\n\n";
    assert_eq!(groups, expected);
}
