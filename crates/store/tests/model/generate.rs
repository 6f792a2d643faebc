//! Random operations and searches over a small universe, so that names and values collide often.

use super::directory::{ChangeKind, Directory, Dn, Name, Op, Rdn};
use super::filter::Filter;
use model::Scope;

/// Where choices come from.
pub(crate) trait Choices {
    /// A number below `bound` (0 if that is 0).
    fn below(&mut self, bound: usize) -> usize;

    /// Yes, once in so many times.
    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// The same numbers for the same seed (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
}

impl Choices for Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound.max(1) as u64) as usize
    }
}

/// What a run likes to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taste {
    /// Different values of a naming attribute.
    pub(crate) names: usize,
    /// Different members.
    pub(crate) members: usize,
    /// One value in so many is longer than 512 bytes, and one in 16 of those longer than 64 KiB.
    pub(crate) long_one_in: usize,
}

fn words(choices: &mut impl Choices, text: &str) -> String {
    match choices.below(4) {
        0 => text.to_uppercase(),
        1 => text.replace(' ', "  "),
        _ => text.to_owned(),
    }
}

fn rdn(choices: &mut impl Choices, taste: &Taste) -> Rdn {
    let n = choices.below(taste.names);
    let part = |choices: &mut _, kind: &str, text: String| (kind.to_owned(), words(choices, &text));
    match choices.below(12) {
        0..3 => vec![part(choices, "ou", format!("unit {}", n % 7))],
        3 => {
            let both =
                [part(choices, "cn", format!("person {n}")), part(choices, "uid", format!("u{}", n % 5))];
            if choices.one_in(2) { both.to_vec() } else { both.into_iter().rev().collect() }
        }
        4 => vec![part(choices, "uid", format!("u{n}"))],
        5 => vec![part(choices, "xText", format!("text {}", n % 9))],
        6 => vec![part(choices, "cn", format!("group {}", n % 8))],
        _ => vec![part(choices, "cn", format!("person {n}"))],
    }
}

/// The DN of an entry that exists, spelled anew.
fn dn_of(choices: &mut impl Choices, name: &Name) -> Dn {
    let parts = |rdn: &String| -> Rdn {
        let pairs = rdn.split('+').map(|part| part.split_once('=').expect("names are type=value"));
        pairs.map(|(kind, value)| (kind.to_owned(), value.to_owned())).collect()
    };
    let mut dn: Dn = name.iter().rev().map(parts).collect();
    for (_, value) in dn.iter_mut().flatten() {
        *value = words(choices, value);
    }
    dn
}

/// The name of some entry; the suffix if there is none.
pub(crate) fn some_name(choices: &mut impl Choices, directory: &Directory) -> Name {
    let at = choices.below(directory.entries.len());
    directory.entries.keys().nth(at).cloned().unwrap_or_else(|| vec![super::directory::SUFFIX.to_owned()])
}

fn some_unit(choices: &mut impl Choices, directory: &Directory) -> Name {
    let mut name = some_name(choices, directory);
    while name.len() > 1 && !(name[name.len() - 1].starts_with("ou=") && choices.below(8) > 0) {
        name.pop();
    }
    name
}

fn dn(choices: &mut impl Choices, directory: &Directory, taste: &Taste) -> Dn {
    match choices.below(16) {
        0 => dn_of(choices, &vec!["dc=com".to_owned()]),
        1 => vec![rdn(choices, taste), vec![("dc".to_owned(), "org".to_owned())]],
        2..5 => {
            let unit = some_unit(choices, directory);
            let mut dn = dn_of(choices, &unit);
            dn.insert(0, rdn(choices, taste));
            dn
        }
        _ => {
            let name = some_name(choices, directory);
            dn_of(choices, &name)
        }
    }
}

fn value(choices: &mut impl Choices, description: &str, taste: &Taste) -> String {
    let base = super::base(description);
    if base == "description" && choices.one_in(taste.long_one_in) {
        let len = if choices.one_in(16) { 65_530 + choices.below(40_000) } else { 500 + choices.below(600) };
        return format!("{}{}", "long ".repeat(len / 5), choices.below(3));
    }
    let text = match base {
        "uidNumber" => return (choices.below(40) as i64 * 25 - 100).to_string(),
        "xNumber" => return (choices.below(300) as i64 * 7 - 300).to_string(),
        "member" => format!("cn=member {},dc=com", choices.below(taste.members)),
        "xText" | "xSub" => match choices.below(3) {
            0 => format!("text {}", choices.below(9)),
            // More than eight bytes in common: one key of the ordering index.
            _ => format!("common start {}", choices.below(150)),
        },
        "uid" => format!("u{}", choices.below(taste.names)),
        "sn" | "cn" => format!("person {}", choices.below(taste.names)),
        "ou" => format!("unit {}", choices.below(7)),
        _ => format!("value {}", choices.below(20)),
    };
    if base == "member" && choices.below(8) > 0 { text } else { words(choices, &text) }
}

const DESCRIPTIONS: [&str; 14] = [
    "cn",
    "sn",
    "uid",
    "ou",
    "description",
    "member",
    "uidNumber",
    "xNumber",
    "xText",
    "xSub",
    "xText;lang-de",
    "cn;x-a",
    "member",
    "xText",
];

fn values(choices: &mut impl Choices, description: &str, taste: &Taste) -> Vec<String> {
    let many = matches!(super::base(description), "member" | "xText" | "xNumber" | "xSub" | "cn");
    let count = match choices.below(20) {
        0 if many => 60 + choices.below(30),
        1..4 if many => 2 + choices.below(12),
        4..8 if super::base(description) != "uidNumber" => 2,
        _ => 1,
    };
    let mut values: Vec<String> = (0..count).map(|_| value(choices, description, taste)).collect();
    if !choices.one_in(12) {
        let mut seen = std::collections::BTreeSet::new();
        values.retain(|v| seen.insert(super::normal(description, v)));
    }
    values
}

fn attributes(choices: &mut impl Choices, first: &Rdn, taste: &Taste) -> Vec<(String, Vec<String>)> {
    let class = match &first[0] {
        (kind, _) if kind == "dc" => "domain",
        (kind, _) if kind == "ou" => "organizationalUnit",
        (_, value) if value.to_ascii_lowercase().starts_with("group") => "groupOfNames",
        _ => "inetOrgPerson",
    };
    let mut classes = vec![class, "extensibleObject", "top"];
    if class == "inetOrgPerson" {
        classes.extend(["organizationalPerson", "person"]);
    }
    let mut out = vec![("objectClass".to_owned(), classes.into_iter().map(str::to_owned).collect())];
    let mut wanted: Vec<&str> = match class {
        "inetOrgPerson" => vec!["cn", "sn"],
        "groupOfNames" => vec!["member"],
        _ => vec![],
    };
    if choices.one_in(30) {
        wanted.pop();
    }
    for _ in 0..choices.below(4) {
        wanted.push(DESCRIPTIONS[choices.below(DESCRIPTIONS.len())]);
    }
    for description in wanted {
        if out.iter().all(|(d, _)| d != description) {
            out.push((description.to_owned(), values(choices, description, taste)));
        }
    }
    out
}

/// A modify that gives one or two attributes of an entry, mostly such as have one value, another one.
pub(crate) fn replacement(choices: &mut impl Choices, directory: &Directory, taste: &Taste) -> Op {
    let name = some_name(choices, directory);
    let dn = dn_of(choices, &name);
    let own: Vec<&String> = directory
        .entries
        .get(&name)
        .iter()
        .flat_map(|node| &node.attributes)
        .filter(|(description, values)| *description != "objectClass" && values.len() == 1)
        .map(|(description, _)| description)
        .collect();
    let changes = (0..1 + choices.below(2)).map(|_| {
        let description = match own.is_empty() || choices.one_in(10) {
            true => DESCRIPTIONS[choices.below(DESCRIPTIONS.len())].to_owned(),
            false => own[choices.below(own.len())].clone(),
        };
        let value = value(choices, &description, taste);
        (ChangeKind::Replace, description, vec![value])
    });
    Op::Modify { dn, changes: changes.collect(), permissive: false }
}

fn changes(
    choices: &mut impl Choices,
    directory: &Directory,
    dn: &Dn,
    taste: &Taste,
) -> Vec<(ChangeKind, String, Vec<String>)> {
    let node = directory.entries.get(&super::directory::name(dn));
    let count = 1 + choices.below(3);
    let mut out = Vec::new();
    for _ in 0..count {
        let own: Vec<&String> = node
            .iter()
            .flat_map(|n| n.attributes.keys())
            .filter(|d| *d != "objectClass" && *d != "dc")
            .collect();
        let description = if own.is_empty() || choices.one_in(3) {
            DESCRIPTIONS[choices.below(DESCRIPTIONS.len())].to_owned()
        } else {
            own[choices.below(own.len())].clone()
        };
        let there = node.and_then(|n| n.attributes.get(&description));
        let change = match choices.below(10) {
            0..4 => (ChangeKind::Add, values(choices, &description, taste)),
            4..7 => match there {
                Some(there) if choices.below(6) > 0 => {
                    let mut gone: Vec<String> = there.iter().filter(|_| choices.one_in(3)).cloned().collect();
                    gone.push(there[choices.below(there.len())].clone());
                    gone.dedup();
                    (ChangeKind::Delete, gone.iter().map(|v| words(choices, v)).collect())
                }
                Some(_) if choices.one_in(2) => (ChangeKind::Delete, vec![]),
                _ => (ChangeKind::Delete, vec![value(choices, &description, taste)]),
            },
            7..9 => match choices.below(8) {
                0 => (ChangeKind::Replace, vec![]),
                _ => (ChangeKind::Replace, values(choices, &description, taste)),
            },
            _ if super::kind(&description) == super::Kind::Number => {
                (ChangeKind::Increment, vec![(choices.below(20) as i64 - 10).to_string()])
            }
            _ => (ChangeKind::Add, values(choices, &description, taste)),
        };
        out.push((change.0, description, change.1));
    }
    out
}

/// An operation that writes.
pub(crate) fn op(
    choices: &mut impl Choices,
    directory: &Directory,
    taste: &Taste,
    entries_wanted: usize,
) -> Op {
    let adds = if directory.entries.len() < entries_wanted { 30 } else { 8 };
    match choices.below(adds + 50) {
        n if n < adds => {
            let unit = some_unit(choices, directory);
            let mut dn = dn_of(choices, &unit);
            if directory.entries.is_empty() || choices.one_in(50) {
                dn = vec![vec![("dc".to_owned(), "com".to_owned())]];
            } else if choices.one_in(20) {
                dn = self::dn(choices, directory, taste);
            } else {
                dn.insert(0, rdn(choices, taste));
            }
            let attributes = attributes(choices, &dn[0], taste);
            Op::Add { dn, attributes }
        }
        n if n < adds + 8 => Op::Delete { dn: dn(choices, directory, taste) },
        n if n < adds + 18 => {
            let dn = dn(choices, directory, taste);
            let mut rdn = if choices.one_in(5) { dn[0].clone() } else { rdn(choices, taste) };
            if rdn[0].0 == "dc" {
                rdn = self::rdn(choices, taste);
            }
            let superior = choices.one_in(2).then(|| {
                let unit = some_unit(choices, directory);
                if choices.one_in(10) { self::dn(choices, directory, taste) } else { dn_of(choices, &unit) }
            });
            Op::ModifyDn { dn, rdn, delete_old: choices.below(3) > 0, superior }
        }
        _ => {
            let dn = dn(choices, directory, taste);
            let changes = changes(choices, directory, &dn, taste);
            Op::Modify { dn, changes, permissive: choices.one_in(10) }
        }
    }
}

/// A filter.
pub(crate) fn filter(choices: &mut impl Choices, taste: &Taste, depth: usize) -> Filter {
    let parts = |choices: &mut _| -> Vec<Filter> {
        let count = Choices::below(choices, 4);
        (0..count).map(|_| filter(choices, taste, depth - 1)).collect()
    };
    match choices.below(if depth > 0 { 14 } else { 9 }) {
        9 | 10 => return Filter::And(parts(choices)),
        11 | 12 => return Filter::Or(parts(choices)),
        13 => return Filter::Not(Box::new(filter(choices, taste, depth - 1))),
        _ => {}
    }
    const ATTRIBUTES: [&str; 13] = [
        "cn",
        "sn",
        "uid",
        "ou",
        "description",
        "member",
        "uidNumber",
        "xNumber",
        "xText",
        "xSub",
        "xText;lang-de",
        "name",
        "unknownAttribute",
    ];
    let attribute = ATTRIBUTES[choices.below(ATTRIBUTES.len())].to_owned();
    let like = match &attribute[..] {
        "name" => "cn",
        other => other,
    };
    let value = value(choices, like, taste);
    match (choices.below(8), &attribute[..]) {
        (0, _) => Filter::Present(attribute),
        (1 | 2, "xText" | "xSub" | "xNumber" | "uidNumber" | "xText;lang-de") => {
            Filter::AtLeast(attribute, value)
        }
        (3 | 4, "xText" | "xSub" | "xNumber" | "uidNumber" | "xText;lang-de") => {
            Filter::AtMost(attribute, value)
        }
        (1..6, "cn" | "sn" | "ou" | "uid" | "xText" | "xSub" | "name" | "xText;lang-de") => {
            parts_of(choices, attribute, &value)
        }
        _ => Filter::Equal(attribute, value),
    }
}

/// A substring filter made of pieces without spaces of a value.
fn parts_of(choices: &mut impl Choices, attribute: String, value: &str) -> Filter {
    let words: Vec<&str> = value.split(' ').filter(|word| !word.is_empty()).collect();
    let piece = |choices: &mut _, word: &str| -> String {
        let len = 1 + Choices::below(choices, word.len());
        word[..len.min(word.len())].to_owned()
    };
    let initial = choices.one_in(2).then(|| piece(choices, words[0]));
    let any = if initial.is_none() || choices.one_in(3) {
        vec![piece(choices, words[words.len() / 2])]
    } else {
        vec![]
    };
    let last = choices.one_in(3).then(|| words[words.len() - 1].to_owned());
    Filter::Parts { attribute, initial, any, last }
}

/// A scope.
pub(crate) fn scope(choices: &mut impl Choices) -> Scope {
    [Scope::Base, Scope::One, Scope::Subtree, Scope::Subtree, Scope::Subordinates][choices.below(5)]
}
