use super::*;
use proptest::prelude::*;
use proto::list::attribute_list;
use schema::{Builder, Schema};
use std::collections::BTreeMap;

type Entry = Vec<(&'static str, Vec<&'static str>)>;

/// A server that is a list, and what it becomes when somebody waits.
#[derive(Clone, Default)]
struct Listed {
    entries: Vec<(String, Entry)>,
    reads: usize,
}

fn encoded(entry: &Entry) -> Vec<u8> {
    attribute_list(entry.iter().map(|(name, values)| (name.as_bytes(), values.iter().map(|v| v.as_bytes()))))
}

impl Entries for Listed {
    fn each(
        &mut self,
        names_only: bool,
        each: &mut dyn FnMut(&[u8], Attributes<'_>),
    ) -> Result<bool, ClientError> {
        for (dn, entry) in &self.entries {
            let raw = if names_only { Vec::new() } else { encoded(entry) };
            each(dn.as_bytes(), Attributes::parse(&raw).expect("it is encoded above"));
        }
        Ok(!self.entries.is_empty())
    }

    fn read(&mut self, dn: &[u8]) -> Result<Option<Vec<u8>>, ClientError> {
        self.reads += 1;
        let rules = Rules::new(schema(), &[]);
        let form = rules.dn_form(dn);
        let found = self.entries.iter().find(|(other, _)| rules.dn_form(other.as_bytes()) == form);
        Ok(found.map(|(_, entry)| encoded(entry)))
    }
}

fn schema() -> &'static Schema {
    static SCHEMA: std::sync::OnceLock<Schema> = std::sync::OnceLock::new();
    SCHEMA.get_or_init(|| Builder::new().standard().build().expect("it is the standard schema"))
}

fn listed<const N: usize>(entries: [(&str, Entry); N]) -> Listed {
    Listed { entries: entries.map(|(dn, entry)| (dn.to_owned(), entry)).into(), reads: 0 }
}

/// Compares two lists; the differences in words.
fn compared(first: &Listed, second: &Listed, ignored: &[&str]) -> (Compared, Vec<String>) {
    let ignored: Vec<String> = ignored.iter().map(|name| (*name).to_owned()).collect();
    let mut lines = Vec::new();
    let found = compare(
        [&mut first.clone(), &mut second.clone()],
        &Rules::new(schema(), &ignored),
        &mut || {},
        &mut |difference| lines.push(words(difference)),
    );
    (found.expect("lists have bases"), lines)
}

fn words(difference: &Difference) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match difference {
        Difference::Only(side, dn) => format!("only in {side:?}: {}", text(dn)),
        Difference::Differs(dn, changes) => {
            let changes = changes.iter().map(|change| match change {
                Change::Only(Side::First, name, value) => format!(" -{}={}", text(name), text(value)),
                Change::Only(Side::Second, name, value) => format!(" +{}={}", text(name), text(value)),
                Change::Secret(name) => format!(" !{}", text(name)),
            });
            format!("differs: {}{}", text(dn), changes.collect::<String>())
        }
    }
}

#[test]
fn order_case_spelling_and_superclasses_are_no_difference() {
    let first = listed([
        ("dc=example,dc=com", vec![("objectClass", vec!["domain"])]),
        (
            "cn=a,dc=example,dc=com",
            vec![
                ("objectClass", vec!["inetOrgPerson"]),
                ("cn", vec!["a", "B  c"]),
                ("manager", vec!["uid=x, dc=example,dc=com"]),
                ("description;lang-de;x-a", vec!["Baum"]),
                ("userCertificate;binary", vec!["0"]),
            ],
        ),
    ]);
    let second = listed([
        (
            "CN=A, DC=example,dc=COM",
            vec![
                ("2.5.4.3", vec!["b C", "A"]),
                ("objectclass", vec!["top", "person", "organizationalPerson", "INETORGPERSON"]),
                ("manager", vec!["UID=X,dc=example,dc=com"]),
                ("description;x-a;lang-DE", vec!["baum"]),
                ("userCertificate", vec!["0"]),
            ],
        ),
        ("dc=example,dc=com", vec![("objectClass", vec!["domain", "top"])]),
    ]);
    let (found, lines) = compared(&first, &second, &[]);
    assert_eq!((found, lines), (Compared { entries: [2, 2], ..Compared::default() }, vec![]));
}

#[test]
fn what_differs_is_listed_by_attribute_and_secrets_are_hidden() {
    let first = listed([
        ("cn=a", vec![("cn", vec!["a"]), ("sn", vec!["1"]), ("userPassword", vec!["x", "y"])]),
        ("cn=b", vec![("unicodePwd", vec!["x"]), ("taste", vec!["sweet"])]),
        ("cn=c", vec![]),
    ]);
    let second = listed([
        (
            "cn=a",
            vec![("cn", vec!["a"]), ("surname", vec!["2"]), ("userPassword", vec!["z"]), ("mail", vec!["m"])],
        ),
        ("cn=b", vec![("unicodePwd", vec!["y"]), ("taste", vec!["Sweet"])]),
        ("cn=d", vec![]),
    ]);
    let (found, lines) = compared(&first, &second, &[]);
    assert_eq!(
        lines,
        [
            "differs: cn=a +mail=m -sn=1 +surname=2 !userPassword",
            "differs: cn=b -taste=sweet +taste=Sweet !unicodePwd",
            "only in Second: cn=d",
            "only in First: cn=c",
        ]
    );
    assert_eq!((found.only, found.differ, found.differences()), ([1, 1], 2, 4));
    let (_, lines) = compared(&first, &second, &["2.5.4.4", "MAIL", "userpassword", "unicodePwd"]);
    assert_eq!(lines[0], "differs: cn=b -taste=sweet +taste=Sweet");
}

#[test]
fn what_becomes_the_same_meanwhile_is_no_difference() {
    let old = listed([("cn=a", vec![("sn", vec!["1"])]), ("cn=b", vec![])]);
    let new = listed([("cn=a", vec![("sn", vec!["2"])])]);
    let late = std::cell::RefCell::new(old.clone());
    /// Reads what the list is at that moment.
    struct Late<'l>(&'l std::cell::RefCell<Listed>);
    impl Entries for Late<'_> {
        fn each(
            &mut self,
            names: bool,
            each: &mut dyn FnMut(&[u8], Attributes<'_>),
        ) -> Result<bool, ClientError> {
            self.0.borrow_mut().each(names, each)
        }
        fn read(&mut self, dn: &[u8]) -> Result<Option<Vec<u8>>, ClientError> {
            self.0.borrow_mut().read(dn)
        }
    }
    let mut pauses = 0;
    let found = compare(
        [&mut new.clone(), &mut Late(&late)],
        &Rules::new(schema(), &[]),
        &mut || {
            pauses += 1;
            *late.borrow_mut() = new.clone();
        },
        &mut |difference| panic!("{}", words(difference)),
    );
    let found = found.expect("there are entries");
    assert_eq!((found.differences(), found.settled, pauses), (0, 2, 1));
}

#[test]
fn an_entry_that_is_shown_twice_counts_once() {
    let twice = listed([("cn=a", vec![("sn", vec!["1"])]), ("cn=A", vec![("sn", vec!["1"])])]);
    let once = listed([("cn=a", vec![("sn", vec!["1"])])]);
    assert_eq!(compared(&twice, &once, &[]).0.entries, [1, 1]);
    assert_eq!(compared(&once, &twice, &[]).0.differences(), 0);
    let other = listed([("cn=b", vec![])]);
    assert_eq!(compared(&other, &twice, &[]).0.only, [1, 1]);
}

#[test]
fn two_servers_without_the_base_are_not_the_same() {
    let (mut first, mut second) = (Listed::default(), Listed::default());
    let error =
        compare([&mut first, &mut second], &Rules::new(schema(), &[]), &mut || {}, &mut |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "neither server has the base");
}

/// Names, attributes and values of which some are the same in other letters.
fn entries() -> impl Strategy<Value = BTreeMap<u8, BTreeMap<u8, BTreeMap<u8, bool>>>> {
    let values = prop::collection::btree_map(0..3_u8, any::<bool>(), 1..3);
    prop::collection::btree_map(0..6_u8, prop::collection::btree_map(0..3_u8, values, 0..3), 1..6)
}

const NAMES: [[&str; 2]; 6] = [
    ["cn=a", "CN=A"],
    ["cn=b", "commonName=b"],
    ["cn=c", "cn= c"],
    ["uid=a", "UID=a"],
    ["uid=a+cn=b", "cn=b+uid=a"],
    ["unknown=a", "UNKNOWN=A"],
];
const TYPES: [&str; 3] = ["sn", "description;lang-de", "member"];
const VALUES: [[[&str; 2]; 3]; 3] = [
    [["a", "A"], ["b", "B "], ["c  c", "C c"]],
    [["a", "A"], ["b", "B "], ["c  c", "C c"]],
    [["cn=a", "CN=A"], ["cn=b", "cn = b"], ["uid=a,cn=b", "uid=a, cn=B"]],
];

/// The entries as a server has them, in either order.
fn spelled(entries: &BTreeMap<u8, BTreeMap<u8, BTreeMap<u8, bool>>>, reversed: bool) -> Listed {
    let mut all: Vec<(String, Entry)> = Vec::new();
    for (name, attributes) in entries {
        let mut entry: Entry = Vec::new();
        for (kind, values) in attributes {
            let kind = usize::from(*kind);
            let value =
                |(value, spelling): (&u8, &bool)| VALUES[kind][usize::from(*value)][usize::from(*spelling)];
            let mut values: Vec<&'static str> = values.iter().map(value).collect();
            if reversed {
                values.reverse();
            }
            entry.push((TYPES[kind], values));
        }
        all.push((NAMES[usize::from(*name)][usize::from(reversed)].to_owned(), entry));
    }
    if reversed {
        all.reverse();
    }
    Listed { entries: all, reads: 0 }
}

proptest! {
    #[test]
    fn it_finds_what_a_naive_comparison_finds(first in entries(), second in entries()) {
        let bare = |entries: &BTreeMap<u8, BTreeMap<u8, BTreeMap<u8, bool>>>| -> BTreeMap<u8, Vec<(u8, u8)>> {
            let flat = |attributes: &BTreeMap<u8, BTreeMap<u8, bool>>| {
                let pairs = attributes.iter().flat_map(|(kind, values)| values.keys().map(|value| (*kind, *value)));
                pairs.collect::<Vec<_>>()
            };
            entries.iter().map(|(name, attributes)| (*name, flat(attributes))).collect()
        };
        let (one, two) = (bare(&first), bare(&second));
        let only = |a: &BTreeMap<u8, Vec<(u8, u8)>>, b: &BTreeMap<u8, Vec<(u8, u8)>>| {
            a.keys().filter(|name| !b.contains_key(name)).count() as u64
        };
        let differ = one.iter().filter(|(name, values)| two.get(name).is_some_and(|other| other != *values)).count();
        let changed: usize = one
            .iter()
            .filter_map(|(name, values)| two.get(name).map(|other| (values, other)))
            .map(|(a, b)| a.iter().filter(|v| !b.contains(v)).count() + b.iter().filter(|v| !a.contains(v)).count())
            .sum();
        let (found, lines) = compared(&spelled(&first, false), &spelled(&second, true), &[]);
        prop_assert_eq!(found.only, [only(&one, &two), only(&two, &one)]);
        prop_assert_eq!(found.differ, differ as u64);
        let values: usize = lines.iter().map(|line| line.matches(" -").count() + line.matches(" +").count()).sum();
        prop_assert_eq!(values, changed, "{:?}", lines);
    }
}
