//! The change log: entries below `cn=changelog`, as good-ldap-changelog-04 has them.
//!
//! | part of the text | the server | test |
//! |---|---|---|
//! | attribute types, object class | publishes the definitions | `changelog_s1_definitions` |
//! | changeNumber | gives each change a number that is larger than those before, and unique | `a_consumer_has_what_the_directory_has`, `the_oldest_go_first_and_the_root_dse_tells` |
//! | targetDN, changeType, changes | tells what was changed, as LDIF | `a_consumer_has_what_the_directory_has`, `changelog_s2_attributes_by_kind` |
//! | newRDN, deleteOldRDN, newSuperior | has these of a modrdn alone, and no `changes` of a delete or modrdn | `changelog_s2_attributes_by_kind` |
//! | discussion | a consumer that goes on from a number has what the directory has, or sees that the log does not reach back so far | `a_consumer_has_what_the_directory_has`, `the_oldest_go_first_and_the_root_dse_tells` |
//! | discussion | finds entries by number, scope and pages | `entries_are_found_by_scopes_filters_and_pages` |
//! | location | has the name of the container in the root DSE | `entries_are_found_by_scopes_filters_and_pages`, `it_is_switched_on_and_off`, `without_a_log_there_is_none` |
//! | security | does not let `changes` be read in general | `dsa: x10_the_change_log_is_for_those_who_may_read_everything`, `dsa: x10_the_change_log_has_no_passwords` |
//! | security | lets nobody write there | `changelog_s3_nobody_writes_there` |
//!
//! Not here: that LDAPv2 servers generate no newSuperior, for this is none. Two deviations: `changelog` has another number than in the text, which
//! thumbnailPhoto has in many schemas (`changelog_s1_definitions`); and who may not read everything finds nothing at all, not even names.

use super::Changes;
use crate::common::journal::journaled_with;
use crate::common::*;
use dsa::Config;
use model::ResultCode::{CompareTrue, NoSuchObject, Success};
use model::Scope;
use proto::ldif::{Body, Parser, Value};
use proto::op::ModifyKind;
use std::collections::BTreeMap;

const LOG: &str = "cn=changelog";

fn keeping(bytes: u64) -> Config {
    let mut config = config();
    config.settings.configured.change_log.bytes = bytes;
    config
}

/// The root DN of a directory with a log, which keeps so many bytes of changes.
fn with_changes(bytes: u64) -> Client {
    let mut client = journaled_with(keeping(bytes)).0;
    client.bind_root();
    client.must_add("dc=example", &[("objectClass", &["domain"])]);
    client
}

fn bound(client: &mut Client, name: &str) -> Option<u64> {
    Some(client.read("", &[name]).values(name)?[0].parse().expect("a number"))
}

type Entry = BTreeMap<String, Vec<u8>>;

/// The entries that a filter finds, by number.
fn changes(client: &mut Client, filter: &str) -> BTreeMap<u64, Entry> {
    let found = client.search(LOG, Scope::One, filter, &["*"]);
    assert_eq!(found.end.code, Success);
    let entries = found.entries.into_iter().map(|(dn, attributes)| {
        let entry: Entry = attributes
            .into_iter()
            .filter(|(name, _)| name != "objectClass")
            .map(|(name, mut values)| (name, values.pop().expect("it has one value")))
            .collect();
        let number = String::from_utf8_lossy(&entry["changeNumber"]).into_owned();
        assert_eq!(dn, format!("changeNumber={number},{LOG}"));
        (number.parse().expect("a number"), entry)
    });
    entries.collect()
}

fn text<'e>(entry: &'e Entry, name: &str) -> &'e str {
    entry.get(name).map_or("", |value| std::str::from_utf8(value).expect("it is text"))
}

/// Applies a change to another directory, as it stands in the change log.
fn apply(copy: &mut Client, entry: &Entry) {
    let (target, kind) = (text(entry, "targetDN"), text(entry, "changeType"));
    let done = match kind {
        "delete" => copy.delete(target),
        "modrdn" => {
            let superior = entry.contains_key("newSuperior").then(|| text(entry, "newSuperior"));
            copy.rename(target, text(entry, "newRDN"), text(entry, "deleteOldRDN") == "TRUE", superior)
        }
        _ => {
            let ldif = format!("dn: {target}\nchangetype: {kind}\n{}\n", text(entry, "changes"));
            let mut parser = Parser::new();
            let (record, _) = parser.next_record(ldif.as_bytes()).expect("there is one");
            let given = |value| match value {
                Value::Bytes(bytes) => String::from_utf8(bytes.to_vec()).expect("it is text"),
                Value::Url(_) => panic!("no value stands elsewhere"),
            };
            match record.expect("it is LDIF").body {
                Body::Add(lines) => {
                    let lines: Vec<(String, String)> = lines
                        .iter()
                        .map(|line| {
                            (String::from_utf8_lossy(line.description).into_owned(), given(line.value))
                        })
                        .collect();
                    let mut attributes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
                    lines.iter().for_each(|(name, value)| attributes.entry(name).or_default().push(value));
                    let attributes: Vec<(&str, &[&str])> =
                        attributes.iter().map(|(name, values)| (*name, &values[..])).collect();
                    copy.add(target, &attributes)
                }
                Body::Modify(modifications) => {
                    let changes: Vec<(ModifyKind, String, Vec<String>)> = modifications
                        .iter()
                        .map(|change| {
                            let name = String::from_utf8_lossy(change.description).into_owned();
                            (change.kind, name, change.values.iter().map(|line| given(line.value)).collect())
                        })
                        .collect();
                    let values: Vec<Vec<&str>> = changes
                        .iter()
                        .map(|(_, _, values)| values.iter().map(String::as_str).collect())
                        .collect();
                    let changes: Vec<(ModifyKind, &str, &[&str])> = changes
                        .iter()
                        .zip(&values)
                        .map(|((kind, name, _), values)| (*kind, &name[..], &values[..]))
                        .collect();
                    copy.modify(target, &changes)
                }
                other => panic!("{other:?} is no change of an entry"),
            }
        }
    };
    assert_eq!(done.code, Success, "{kind} {target}: {}", done.text);
}

/// All entries with their attributes.
fn all(client: &mut Client) -> Vec<(String, Vec<Attribute>)> {
    let mut found = client.search("dc=example", Scope::Subtree, "(objectClass=*)", &["*"]).entries;
    found.iter_mut().for_each(|(_, attributes)| {
        attributes.iter_mut().for_each(|(_, values)| values.sort());
        attributes.sort();
    });
    found.sort();
    found
}

/// Numbers below some others, in an order that looks random.
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % below
    }
}

/// An update that may fail: of few names, so that many succeed.
fn update(client: &mut Client, dice: &mut Dice, step: u64) {
    let place = |dice: &mut Dice| match dice.next(3) {
        0 => "dc=example".to_owned(),
        number => format!("ou={number},dc=example"),
    };
    let name = format!("cn={},{}", dice.next(6), place(dice));
    let text =
        format!("step {step}, with a value that is longer than a line of LDIF may be \u{e4}\u{f6}\u{fc}");
    match dice.next(8) {
        0 | 1 => {
            let ou = place(dice);
            _ = client.add(&ou, &[("objectClass", &["organizationalUnit"])]);
        }
        2 | 3 => {
            let attributes: Given<'_> =
                &[("objectClass", &["applicationProcess"]), ("description", &[&text, " x"])];
            _ = client.add(&name, attributes);
        }
        4 => _ = client.modify(&name, &[(ModifyKind::Replace, "description", &[&text])]),
        5 => {
            let more = step.to_string();
            let changes: Changes<'_> = &[
                (ModifyKind::Add, "description", &[&more]),
                (ModifyKind::Delete, "description", &[" x"]),
                (ModifyKind::Replace, "l", &[]),
            ];
            _ = client.modify(&name, changes);
        }
        6 => _ = client.delete(&name),
        _ => {
            let (rdn, superior) = (format!("cn={}", dice.next(6)), place(dice));
            _ = client.rename(&name, &rdn, dice.next(2) == 0, (dice.next(2) == 0).then_some(&superior[..]));
        }
    }
}

#[test]
fn a_consumer_has_what_the_directory_has() {
    for seed in 1..4 {
        let (mut client, mut dice) = (with_changes(1 << 20), Dice(seed));
        let mut copy = Client::empty(config());
        copy.bind_root();
        let mut seen = bound(&mut client, "firstChangeNumber").expect("there is a change log") - 1;
        for step in 0..300 {
            update(&mut client, &mut dice, step);
            if dice.next(20) > 0 {
                continue;
            }
            assert!(bound(&mut client, "firstChangeNumber").expect("there is a change log") <= seen + 1);
            for (number, entry) in changes(&mut client, &format!("(changeNumber>={})", seen + 1)) {
                assert!(number > seen);
                apply(&mut copy, &entry);
                seen = number;
            }
            assert_eq!(bound(&mut client, "lastChangeNumber"), Some(seen));
            assert_eq!(all(&mut copy), all(&mut client), "seed {seed}, step {step}");
        }
    }
}

#[test]
fn entries_are_found_by_scopes_filters_and_pages() {
    let mut client = with_changes(1 << 20);
    for number in 0..20 {
        client.must_add(&format!("cn={number},dc=example"), &[("objectClass", &["applicationProcess"])]);
    }
    assert_eq!(client.delete("cn=19,dc=example").code, Success);
    assert_eq!(client.delete("cn=19,dc=example").code, NoSuchObject);
    let all = changes(&mut client, "(objectClass=changeLogEntry)");
    assert_eq!(all.len(), 22, "what was refused is no change");
    let numbers: Vec<u64> = all.keys().copied().collect();
    let (first, last) = (numbers[0], numbers[21]);
    assert_eq!(
        (text(&all[&last], "changeType"), text(&all[&last], "targetDN")),
        ("delete", "cn=19,dc=example")
    );
    assert_eq!(text(&all[&last], "changeInitiatorsName"), ROOT_DN);
    assert_eq!(text(&all[&last], "targetEntryUUID").len(), 36);
    assert_eq!(text(&all[&last], "changeTime").len(), 15);
    let mut count = |filter: String| changes(&mut client, &filter).len();
    assert_eq!(count(format!("(changeNumber={last})")), 1);
    assert_eq!(count(format!("(changeNumber>={last})")), 1);
    assert_eq!(count(format!("(&(changeNumber>={first})(changeNumber<={}))", numbers[4])), 5);
    assert_eq!(count(format!("(changeNumber>={})", last + 1)), 0);
    assert_eq!(count("(changeType=delete)".to_owned()), 1);
    let of_log = client.search(LOG, Scope::Subtree, "(objectClass=*)", &["1.1"]);
    assert_eq!(of_log.entries.len(), 23);
    assert_eq!(client.read(LOG, &["cn"]).values("cn"), Some(vec!["changelog".to_owned()]));
    let dn = format!("changeNumber={last},{LOG}");
    assert_eq!(client.read(&dn, &["changeType"]).values("changeType"), Some(vec!["delete".to_owned()]));
    assert_eq!(client.compare(&dn, "changeType", "delete").code, CompareTrue);
    // By pages, while others change entries.
    let (mut paged, mut cookie) = (0, Vec::new());
    loop {
        let page = client.page(LOG, Scope::One, &format!("(changeNumber>={first})"), 5, &cookie);
        assert_eq!(page.end.code, Success);
        paged += page.entries.len();
        cookie = page.cookie.expect("a page has a cookie");
        if cookie.is_empty() {
            break;
        }
        assert_eq!(client.modify(&dn_of(paged), &[(ModifyKind::Replace, "l", &["x"])]).code, Success);
    }
    assert!(paged >= 22);
    assert_eq!(client.read("", &["changelog"]).values("changelog"), Some(vec![LOG.to_owned()]));
}

fn dn_of(number: usize) -> String {
    format!("cn={},dc=example", number % 19)
}

#[test]
fn the_oldest_go_first_and_the_root_dse_tells() {
    let mut client = with_changes(8 << 10);
    let mut numbers = Vec::new();
    for number in 0..100 {
        client.must_add(&format!("cn={number},dc=example"), &[("objectClass", &["applicationProcess"])]);
        numbers.extend(bound(&mut client, "lastChangeNumber"));
        let kept = changes(&mut client, "(objectClass=changeLogEntry)");
        let first = bound(&mut client, "firstChangeNumber").expect("there is one");
        assert!((5..20).contains(&kept.len()) || number < 20, "{} are kept", kept.len());
        assert_eq!(kept.keys().last(), numbers.last());
        // Behind the last that is gone, so that a consumer that has it misses nothing.
        assert!(first <= *kept.keys().next().expect("there are some"));
        let missing = numbers.iter().filter(|number| **number >= first && !kept.contains_key(number));
        assert_eq!(missing.count(), 0);
    }
    assert!(bound(&mut client, "firstChangeNumber") > Some(numbers[50]));
    // What is too old goes too, also if nothing is changed any more.
    let now = env::clock::Now { wall_ms: START.wall_ms + 8 * 86_400_000, ..START };
    client.at(now);
    assert_eq!(changes(&mut client, "(objectClass=changeLogEntry)").len(), 0);
    let last = numbers[99];
    assert_eq!(bound(&mut client, "firstChangeNumber"), Some(last + 1));
    assert_eq!(bound(&mut client, "lastChangeNumber"), Some(last));
}

#[test]
fn without_a_log_there_is_none() {
    let mut client = Client::with(keeping(1 << 20));
    for name in ["changelog", "firstChangeNumber"] {
        assert_eq!(client.read("", &[name]).values(name), None);
    }
    assert_eq!(client.read(LOG, &[]).end.code, NoSuchObject);
}

#[test]
fn it_is_switched_on_and_off() {
    let mut client = with_changes(0);
    let names = ["changelog", "firstChangeNumber", "lastChangeNumber"];
    let is_shown = |client: &mut Client| names.map(|name| client.read("", &[name]).values(name).is_some());
    assert_eq!(is_shown(&mut client), [false; 3]);
    assert_eq!(client.read(LOG, &[]).end.code, NoSuchObject);
    let keep = |client: &mut Client, bytes: &str| {
        let changes: Changes<'_> = &[(ModifyKind::Replace, "pandoChangelogKeep", &[bytes])];
        let end = client.modify("cn=config", changes);
        assert_eq!(end.code, Success, "{}", end.text);
    };
    for _ in 0..2 {
        keep(&mut client, "64KiB");
        assert_eq!(is_shown(&mut client), [true; 3]);
        assert_eq!(changes(&mut client, "(objectClass=changeLogEntry)").len(), 0);
        let before = bound(&mut client, "lastChangeNumber");
        assert_eq!(client.modify("dc=example", &[(ModifyKind::Replace, "l", &["x"])]).code, Success);
        assert_eq!(changes(&mut client, "(objectClass=changeLogEntry)").len(), 1);
        assert!(bound(&mut client, "lastChangeNumber") > before);
        keep(&mut client, "0");
        assert_eq!(is_shown(&mut client), [false; 3]);
        assert_eq!(client.read(LOG, &[]).end.code, NoSuchObject);
    }
}

#[test]
fn the_table_is_complete() {
    check_table(include_str!("change_log.rs"));
}

/// The names, numbers, syntaxes and rules of the text; `changelog`, of the root DSE, with another number.
#[test]
fn changelog_s1_definitions() {
    let mut client = with_changes(1 << 20);
    let found = client.read("cn=Subschema", &["attributeTypes", "objectClasses"]);
    let types = found.values("attributeTypes").expect("there are some");
    for (oid, name, parts) in [
        ("5", "changeNumber", &["integerMatch", "integerOrderingMatch", "115.121.1.27"][..]),
        ("6", "targetDN", &["distinguishedNameMatch", "115.121.1.12"]),
        ("7", "changeType", &["caseIgnoreMatch", "115.121.1.15"]),
        ("8", "changes", &["115.121.1.40"]),
        ("9", "newRDN", &["distinguishedNameMatch", "115.121.1.12"]),
        ("10", "deleteOldRDN", &["booleanMatch", "115.121.1.7"]),
        ("11", "newSuperior", &["distinguishedNameMatch", "115.121.1.12"]),
    ] {
        let begin = format!("( 2.16.840.1.113730.3.1.{oid} NAME ");
        let definition = types.iter().find(|text| text.starts_with(&begin));
        let definition = definition.unwrap_or_else(|| panic!("{name} is defined"));
        assert!(definition.to_lowercase().contains(&format!("'{}'", name.to_lowercase())), "{definition}");
        assert!(parts.iter().all(|part| definition.contains(part)), "{definition}");
    }
    let root = types.iter().find(|text| text.contains("'changelog'")).expect("it is defined");
    assert!(root.contains("distinguishedNameMatch") && root.contains("115.121.1.12"), "{root}");
    let classes = found.values("objectClasses").expect("there are some");
    let class = classes.iter().find(|text| text.starts_with("( 2.16.840.1.113730.3.2.1 NAME "));
    let class = class.expect("the class is defined");
    let (must, may) = class.split_once("MAY").expect("it may have some");
    for name in ["changeNumber", "targetDN", "changeType"] {
        assert!(must.contains(name), "{class}");
    }
    for name in ["changes", "newRDN", "deleteOldRDN", "newSuperior"] {
        assert!(may.contains(name), "{class}");
    }
    assert!(class.contains("'changeLogEntry'") && class.contains("STRUCTURAL"), "{class}");
}

/// "in the case of delete and modrdn operations, there is never a "changes" attribute"; "If the changeType attribute does not have the value "modrdn",
/// then there should be no values contained in the newRDN attribute."
#[test]
fn changelog_s2_attributes_by_kind() {
    let mut client = with_changes(1 << 20);
    let unit: Given<'_> = &[("objectClass", &["organizationalUnit"])];
    client.must_add("ou=a,dc=example", unit);
    client.must_add("ou=b,dc=example", unit);
    assert_eq!(client.modify("ou=a,dc=example", &[(ModifyKind::Replace, "l", &["x"])]).code, Success);
    assert_eq!(client.rename("ou=a,dc=example", "ou=c", false, None).code, Success);
    assert_eq!(client.rename("ou=c,dc=example", "ou=d", true, Some("ou=b,dc=example")).code, Success);
    assert_eq!(client.delete("ou=d,ou=b,dc=example").code, Success);
    let names = ["changes", "newRDN", "deleteOldRDN", "newSuperior"];
    let all: Vec<(String, [String; 4])> = changes(&mut client, "(!(targetDN=dc=example))")
        .values()
        .map(|entry| {
            let of_change = format!("{} {}", text(entry, "changeType"), text(entry, "targetDN"));
            (of_change, names.map(|name| text(entry, name).to_owned()))
        })
        .collect();
    let is_there = |what: &[String; 4]| what.each_ref().map(|value| !value.is_empty());
    let kinds: Vec<(&str, [bool; 4])> = all.iter().map(|(of, what)| (&of[..], is_there(what))).collect();
    assert_eq!(
        kinds,
        [
            ("add ou=a,dc=example", [true, false, false, false]),
            ("add ou=b,dc=example", [true, false, false, false]),
            ("modify ou=a,dc=example", [true, false, false, false]),
            ("modrdn ou=a,dc=example", [false, true, true, false]),
            ("modrdn ou=c,dc=example", [false, true, true, true]),
            ("delete ou=d,ou=b,dc=example", [false; 4]),
        ]
    );
    assert_eq!(all[3].1[1..], ["ou=c", "FALSE", ""]);
    assert_eq!(all[4].1[1..], ["ou=d", "TRUE", "ou=b,dc=example"]);
}

/// "Servers implementing this scheme should disallow write access to the changelog container object and all entries contained within."
#[test]
fn changelog_s3_nobody_writes_there() {
    let mut client = with_changes(1 << 20);
    client.must_add("ou=a,dc=example", &[("objectClass", &["organizationalUnit"])]);
    let before = changes(&mut client, "(objectClass=*)");
    let dn = format!("changeNumber={},{LOG}", before.keys().last().expect("there are some"));
    let one: Given<'_> = &[
        ("objectClass", &["changeLogEntry"]),
        ("changeNumber", &["1"]),
        ("targetDN", &["dc=example"]),
        ("changeType", &["delete"]),
    ];
    for end in [
        client.modify(&dn, &[(ModifyKind::Replace, "targetDN", &["dc=other"])]),
        client.modify(LOG, &[(ModifyKind::Replace, "description", &["x"])]),
        client.delete(&dn),
        client.delete(LOG),
        client.rename(&dn, "changeNumber=1", true, None),
        client.add(&format!("changeNumber=1,{LOG}"), one),
    ] {
        assert_ne!(end.code, Success, "{end:?}");
    }
    assert_eq!(changes(&mut client, "(objectClass=*)"), before);
}
