//! Random directories, rules, clients and questions, for tests of this crate and of others (feature `testing`). All of them speak of the
//! same few entries and attributes, so that rules fit often. Entries are valid under the standard schema.

use crate::decide::{Item, Query};
use crate::right::{Right, Rights};
use crate::rule::{
    AttributeSelector, AuthMethod, Condition, Items, Network, Operation, Operations, Pattern, Peer, Place,
    Reach, Rule, Subject, Target, Test, ValueTest,
};
use crate::world::{Address, Entry, Requester, Tree};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proto::filter_string::{self, FilterBuf};
use schema::Schema;
use std::net::IpAddr;
use std::sync::Arc;

/// The naming context.
pub const SUFFIX: &str = "dc=x";

/// Entries that there are always, superiors first.
const PLACES: [(&str, &str); 7] = [
    (SUFFIX, "domain"),
    ("ou=p,dc=x", "organizationalUnit"),
    ("ou=q,dc=x", "organizationalUnit"),
    ("ou=g,dc=x", "organizationalUnit"),
    ("ou=t,dc=x", "organizationalUnit"),
    ("ou=t1,ou=t,dc=x", "organizationalUnit"),
    ("ou=t2,ou=t,dc=x", "organizationalUnit"),
];
/// Entries that can bind; each may be there or not.
pub const USERS: [&str; 7] = [
    "uid=u0,ou=p,dc=x",
    "uid=u1,ou=p,dc=x",
    "uid=u2,ou=q,dc=x",
    "uid=u3,ou=q,dc=x",
    "uid=u4,uid=u0,ou=p,dc=x",
    "uid=v1,ou=t1,ou=t,dc=x",
    "uid=v2,ou=t2,ou=t,dc=x",
];
/// Groups; each may be there or not.
pub const GROUPS: [&str; 5] = [
    "cn=g0,ou=g,dc=x",
    "cn=g1,ou=g,dc=x",
    "cn=g2,ou=g,dc=x",
    "cn=adm,ou=t1,ou=t,dc=x",
    "cn=adm,ou=t2,ou=t,dc=x",
];
/// Attributes that rules and questions name.
pub const ATTRIBUTES: [&str; 9] =
    ["cn", "sn;lang-de", "ou", "description", "manager", "seeAlso", "member", "userPassword", "objectClass"];
/// Values of `ou` and `description`.
const WORDS: [&str; 4] = ["a", "B", "b c", "d"];

/// An entry of a random directory: its DN, and its attributes with their values.
pub type Plain = (String, Vec<(String, Vec<String>)>);

/// A directory: entries, superiors before their subordinates.
pub fn directory() -> impl Strategy<Value = Vec<Plain>> {
    let of_users = vec(user(), USERS.len());
    let of_groups = vec((any::<bool>(), members(), any::<bool>()), GROUPS.len());
    (of_users, of_groups).prop_map(|(users, groups)| {
        let place = |(dn, class): &(&str, &str)| plain(dn, class, Vec::new());
        let mut entries: Vec<Plain> = PLACES.iter().map(place).collect();
        for (dn, (is_there, attributes)) in USERS.iter().zip(users) {
            // An entry with a subordinate is there.
            if is_there || *dn == USERS[0] {
                entries.push(plain(dn, "inetOrgPerson", attributes));
            }
        }
        for (dn, (is_there, members, is_unique)) in GROUPS.iter().zip(groups) {
            let (class, attribute) =
                if is_unique { ("groupOfUniqueNames", "uniqueMember") } else { ("groupOfNames", "member") };
            if is_there {
                entries.push(plain(dn, class, vec![(attribute.to_owned(), members)]));
            }
        }
        entries
    })
}

fn plain(dn: &str, class: &str, mut attributes: Vec<(String, Vec<String>)>) -> Plain {
    let (rdn, _) = dn.split_once(',').unwrap_or((dn, ""));
    let (name, value) = rdn.split_once('=').unwrap_or((rdn, ""));
    match attributes.iter_mut().find(|(other, _)| other == name) {
        Some((_, values)) if values.iter().any(|other| other.eq_ignore_ascii_case(value)) => {}
        Some((_, values)) => values.push(value.to_owned()),
        None => attributes.push((name.to_owned(), vec![value.to_owned()])),
    }
    attributes.insert(0, ("objectClass".to_owned(), vec![class.to_owned()]));
    (dn.to_owned(), attributes)
}

/// Attributes of a user, and whether there is one.
fn user() -> impl Strategy<Value = (bool, Vec<(String, Vec<String>)>)> {
    let texts = |of: &'static [&'static str], most: usize| {
        subsequence(of.to_vec(), 0..=most)
            .prop_map(|words| words.into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    let optional = (texts(&WORDS, 3), texts(&WORDS, 2), texts(&USERS, 2), texts(&GROUPS, 2), any::<bool>());
    (proptest::bool::weighted(0.85), optional).prop_map(
        |(is_there, (ou, description, manager, see_also, password))| {
            let mut attributes = vec![
                ("cn".to_owned(), vec!["c".to_owned()]),
                ("sn".to_owned(), vec!["s".to_owned()]),
                ("sn;lang-de".to_owned(), vec!["t".to_owned()]),
            ];
            for (name, values) in
                [("ou", ou), ("description", description), ("manager", manager), ("seeAlso", see_also)]
            {
                if !values.is_empty() {
                    attributes.push((name.to_owned(), values));
                }
            }
            if password {
                attributes.push(("userPassword".to_owned(), vec!["secret".to_owned()]));
            }
            (is_there, attributes)
        },
    )
}

/// Members of a group, groups among them.
fn members() -> impl Strategy<Value = Vec<String>> {
    let all: Vec<&str> = USERS.into_iter().chain(GROUPS).collect();
    subsequence(all, 1..4).prop_map(|members| members.into_iter().map(str::to_owned).collect())
}

/// A random directory as plain decisions know it.
pub fn tree(schema: &Arc<Schema>, directory: &[Plain]) -> Tree {
    let mut tree = Tree::new(Arc::clone(schema));
    for (dn, attributes) in directory {
        let bytes = |values: &Vec<String>| values.iter().map(|value| value.clone().into_bytes()).collect();
        let attributes = attributes.iter().map(|(name, values)| (name.clone(), bytes(values))).collect();
        tree.insert(Entry::new(schema, dn, attributes).expect("names are of the standard schema"));
    }
    tree
}

fn dn() -> impl Strategy<Value = String> {
    let all: Vec<&str> =
        PLACES.iter().map(|(dn, _)| *dn).chain(USERS).chain(GROUPS).chain(["uid=none,dc=x"]).collect();
    select(all).prop_map(str::to_owned)
}

/// A filter about the attributes of the directory: true, false or undefined.
pub fn filter() -> impl Strategy<Value = FilterBuf> {
    let item = prop_oneof![
        Just("(objectClass=inetOrgPerson)".to_owned()),
        Just("(ou=*)".to_owned()),
        Just("(uidNumber=x)".to_owned()),
        Just("(sn;lang-de=T)".to_owned()),
        select(&WORDS[..]).prop_map(|word| format!("(ou={word})")),
        select(&WORDS[..]).prop_map(|word| format!("(description={word}*)")),
        select(&USERS[..]).prop_map(|dn| format!("(manager={dn})")),
    ];
    let nested = item.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|part| format!("(!{part})")),
            vec(inner.clone(), 0..3).prop_map(|parts| format!("(&{})", parts.concat())),
            vec(inner, 0..3).prop_map(|parts| format!("(|{})", parts.concat())),
        ]
    });
    nested.prop_map(|text| filter_string::parse(text.as_bytes()).expect("it is a filter"))
}

fn reach() -> impl Strategy<Value = Reach> {
    prop_oneof![1 => select(vec![Reach::Base, Reach::One, Reach::Children]), 2 => Just(Reach::Subtree)]
}

fn place() -> impl Strategy<Value = Place> {
    let pattern = prop_oneof![
        4 => dn().prop_map(|dn| Pattern { each_below: false, dn }),
        1 => select(vec!["ou=t,dc=x", "dc=x"]).prop_map(|dn| Pattern { each_below: true, dn: dn.to_owned() }),
    ];
    prop_oneof![3 => Just(Place::All), 4 => (reach(), pattern).prop_map(|(reach, pattern)| Place::At(reach, pattern))]
}

fn selector() -> impl Strategy<Value = AttributeSelector> {
    let named = (select(&ATTRIBUTES[..]), proptest::bool::weighted(0.2))
        .prop_map(|(name, excluded)| AttributeSelector::Named { description: name.to_owned(), excluded });
    let class = (select(vec!["person", "groupOfNames"]), proptest::bool::weighted(0.3))
        .prop_map(|(name, excluded)| AttributeSelector::Class { name: name.to_owned(), excluded });
    prop_oneof![
        3 => Just(AttributeSelector::Entry),
        3 => Just(AttributeSelector::User),
        1 => Just(AttributeSelector::Operational),
        1 => Just(AttributeSelector::Every),
        3 => named,
        1 => class,
    ]
}

fn operations() -> impl Strategy<Value = Operations> {
    let some = subsequence(Operation::WORDS.to_vec(), 1..4)
        .prop_map(|words| Operations::of(words.into_iter().map(|(_, operation)| operation)));
    prop_oneof![9 => Just(Operations::ANY), 1 => some]
}

fn target() -> impl Strategy<Value = Target> {
    let is_excluded = |selector: &AttributeSelector| {
        matches!(
            selector,
            AttributeSelector::Named { excluded: true, .. } | AttributeSelector::Class { excluded: true, .. }
        )
    };
    let any_items = vec(selector(), 1..4)
        .prop_filter("something is selected", move |list| !list.iter().all(is_excluded))
        .prop_map(|list| (Items::Attributes(list), None));
    let of_values = (select(vec!["member", "manager", "ou"]), any::<bool>(), select(&WORDS[..])).prop_map(
        |(name, is_self, word)| {
            let selector = AttributeSelector::Named { description: name.to_owned(), excluded: false };
            let text = if name == "ou" { format!("(ou={word})") } else { format!("({name}=*)") };
            let filter = filter_string::parse(text.as_bytes()).expect("it is a filter");
            let test = if is_self { ValueTest::Requester } else { ValueTest::Filter(filter) };
            (Items::Attributes(vec![selector]), Some(test))
        },
    );
    let items = prop_oneof![
        2 => Just((Items::Attributes(vec![AttributeSelector::Entry, AttributeSelector::User]), None)),
        4 => any_items,
        1 => of_values,
    ];
    (place(), proptest::option::weighted(0.2, filter()), items, operations()).prop_map(
        |(place, filter, (items, values), operations)| Target { place, filter, items, values, operations },
    )
}

fn subject_dn() -> impl Strategy<Value = String> {
    prop_oneof![3 => dn(), 1 => Just("cn=adm,$1,ou=t,dc=x".to_owned()), 1 => select(&GROUPS[..]).prop_map(str::to_owned)]
}

fn condition() -> impl Strategy<Value = Condition> {
    let identity = || {
        prop_oneof![
            (reach(), subject_dn()).prop_map(|(reach, dn)| Condition::Dn(reach, dn)),
            (subject_dn(), any::<bool>()).prop_map(|(dn, nested)| Condition::Group { dn, nested }),
        ]
    };
    let peers = vec(
        prop_oneof![
            Just(Peer::Ldapi),
            Just(Peer::Network(Network { address: IpAddr::from([10, 0, 0, 0]), prefix: 8 }))
        ],
        1..3,
    );
    prop_oneof![
        4 => Just(Condition::Anyone),
        1 => Just(Condition::Anonymous),
        6 => Just(Condition::Users),
        6 => identity(),
        1 => identity().prop_map(|inner| Condition::Real(Box::new(inner))),
        1 => filter().prop_map(Condition::UserFilter),
        1 => vec(method(), 1..3).prop_map(Condition::Auth),
        1 => select(vec![0, 71, 128]).prop_map(Condition::Strength),
        1 => select(vec![0, 128]).prop_map(Condition::Tls),
        1 => peers.prop_map(Condition::Peer),
        1 => Just(Condition::Listener("inside".to_owned())),
        3 => Just(Condition::Requester),
        1 => (1..3u16).prop_map(Condition::Parent),
        1 => Just(Condition::DnAttribute("manager".to_owned())),
        1 => Just(Condition::GroupAttribute("seeAlso".to_owned())),
        1 => Just(Condition::Same("ou".to_owned())),
    ]
}

fn method() -> impl Strategy<Value = AuthMethod> {
    select(vec![AuthMethod::None, AuthMethod::Simple, AuthMethod::Sasl("EXTERNAL".to_owned())])
}

fn rights() -> impl Strategy<Value = Rights> {
    let some = subsequence(Right::ALL.to_vec(), 1..4).prop_map(|rights| Rights::of(&rights));
    prop_oneof![1 => some, 3 => select(Rights::SHORT.to_vec()).prop_map(|(_, rights)| rights)]
}

/// A rule. Its name is to be given; ranks are few, so that rules meet at one.
pub fn rule() -> impl Strategy<Value = Rule> {
    let test = || {
        (condition(), proptest::bool::weighted(0.15))
            .prop_map(|(condition, negated)| Test { condition, negated })
    };
    let subjects = vec(prop_oneof![3 => vec(test(), 1), 1 => vec(test(), 2..4)].prop_map(Subject), 1..4);
    let effect = prop_oneof![
        3 => rights().prop_map(|allow| (allow, Rights::NONE)),
        1 => rights().prop_map(|deny| (Rights::NONE, deny)),
        1 => (rights(), rights()),
    ];
    (target(), subjects, effect, 0..3u32).prop_map(|(target, subjects, (allow, deny), rank)| Rule {
        name: "r".to_owned(),
        target,
        subjects,
        allow,
        deny,
        rank,
    })
}

/// A set of rules, each with a name of its own; a rule that the language has no text for is left out.
pub fn rules(most: usize) -> impl Strategy<Value = Vec<Rule>> {
    vec(rule(), 0..=most).prop_map(|rules| {
        let named = rules.into_iter().enumerate().map(|(at, rule)| Rule { name: format!("r{at}"), ..rule });
        named.filter(|rule| crate::parse(&rule.to_string()).as_ref() == Ok(rule)).collect()
    })
}

/// A client. It is nobody, a user, whether or not the entry is there, or acts as another.
pub fn requester() -> impl Strategy<Value = Requester> {
    let users = || proptest::option::weighted(0.85, select(&USERS[..]).prop_map(str::to_owned));
    let address = prop_oneof![
        Just(Address::Ldapi),
        Just(Address::Network(IpAddr::from([10, 1, 2, 3]))),
        Just(Address::Network(IpAddr::from([127, 0, 0, 1]))),
    ];
    let connection =
        (select(vec![(0, 0), (71, 0), (128, 128)]), address, select(vec!["inside", "outside"]), method());
    (users(), proptest::option::weighted(0.2, users()), connection).prop_map(
        |(dn, real, ((strength, tls), peer, listener, auth))| {
            let real = real.unwrap_or_else(|| dn.clone());
            let auth = if real.is_none() { AuthMethod::None } else { auth };
            Requester { dn, real, is_root: false, auth, strength, tls, peer, listener: listener.to_owned() }
        },
    )
}

/// A question about a directory.
#[derive(Clone, Debug)]
pub struct Question {
    /// In which operation.
    pub operation: Operation,
    /// About which entry, by its number in the directory modulo their count.
    pub entry: usize,
    /// About which attribute; none: the entry.
    pub attribute: Option<&'static str>,
    /// About a value of the attribute, or the attribute as a whole.
    pub value: Option<String>,
    /// About which right.
    pub right: Right,
}

impl Question {
    /// As decisions take it; `entry` is that of the directory.
    pub fn query<'q>(&'q self, entry: &'q Entry) -> Query<'q> {
        let item = match (self.attribute, &self.value) {
            (None, _) => Item::Entry,
            (Some(attribute), None) => Item::Attribute(attribute),
            (Some(attribute), Some(value)) => Item::Value(attribute, value.as_bytes()),
        };
        Query { operation: self.operation, entry, item, right: self.right }
    }
}

/// A question.
pub fn question() -> impl Strategy<Value = Question> {
    let operation = select(Operation::WORDS.to_vec()).prop_map(|(_, operation)| operation);
    let values: Vec<&str> = WORDS.into_iter().chain(USERS).collect();
    let value = proptest::option::of(select(values).prop_map(str::to_owned));
    let attribute = proptest::option::weighted(0.7, select(&ATTRIBUTES[..]));
    let right = prop_oneof![1 => select(&Right::ALL[..]), 3 => select(&Right::ALL[..7])];
    (operation, any::<usize>(), attribute, value, right).prop_map(
        |(operation, entry, attribute, value, right)| Question { operation, entry, attribute, value, right },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::{Decision, Finding, Origin, Placed, Reason, decide};
    use std::cell::Cell;

    fn ask(
        schema: &Arc<Schema>,
        directory: &[Plain],
        rules: &[Rule],
        who: &Requester,
        asked: &Question,
    ) -> Decision {
        let tree = tree(schema, directory);
        let placed = |rule: &Rule| Placed { rule: rule.clone(), origin: Origin::Configured };
        let rules: Vec<Placed> = rules.iter().map(placed).collect();
        let (dn, _) = &directory[asked.entry % directory.len()];
        let entry = tree.entries().find(|entry| entry.dn == *dn).expect("it is there");
        decide(&tree, &rules, who, &asked.query(entry))
    }

    /// What holds of every decision, whatever the rules are. Random rules fit often enough to mean something.
    #[test]
    fn a1_decisions_do_not_hang_on_order_and_have_one_reason() {
        let schema = Arc::new(schema::Builder::new().standard().build().expect("it is sound"));
        let (fitting, allowed, total) = (Cell::new(0), Cell::new(0), Cell::new(0));
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let inputs = (directory(), rules(8), requester(), vec(question(), 40));
        let run = |(directory, rules, who, questions): (Vec<Plain>, Vec<Rule>, Requester, Vec<Question>)| {
            let reversed: Vec<Rule> = rules.iter().rev().cloned().collect();
            for question in &questions {
                let decision = ask(&schema, &directory, &rules, &who, question);
                total.set(total.get() + 1);
                allowed.set(allowed.get() + usize::from(decision.allowed));
                prop_assert_eq!(
                    decision.allowed,
                    ask(&schema, &directory, &reversed, &who, question).allowed
                );
                let deciding =
                    decision.findings.iter().filter(|finding| **finding == Finding::Decides).count();
                match decision.reason {
                    Reason::Root => prop_assert!(false, "nobody is root"),
                    Reason::NoRule => {
                        prop_assert_eq!(deciding, 0);
                        prop_assert!(!decision.allowed);
                    }
                    Reason::Rule(by) => {
                        fitting.set(fitting.get() + 1);
                        prop_assert_eq!(deciding, 1);
                        let rule = &rules[by];
                        let effect = if decision.allowed { rule.allow } else { rule.deny };
                        prop_assert!(effect.has(question.right));
                        // Without the rule that decides, what it had outranked or overruled may decide; nothing of higher rank.
                        let others: Vec<Rule> =
                            rules.iter().filter(|other| other.name != rule.name).cloned().collect();
                        if let Reason::Rule(next) = ask(&schema, &directory, &others, &who, question).reason {
                            prop_assert!(others[next].rank <= rule.rank);
                        }
                    }
                }
            }
            Ok(())
        };
        runner.run(&inputs, run).expect("it holds");
        assert!(fitting.get() * 8 > total.get(), "{} of {} questions met a rule", fitting.get(), total.get());
        assert!(allowed.get() * 16 > total.get(), "{} of {} were allowed", allowed.get(), total.get());
    }

    #[test]
    fn directories_and_rules_are_of_the_standard_schema() {
        let schema = Arc::new(schema::Builder::new().standard().build().expect("it is sound"));
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let inputs = (directory(), rules(6));
        let run = |(directory, rules): (Vec<Plain>, Vec<Rule>)| {
            prop_assert!(tree(&schema, &directory).entries().count() >= PLACES.len());
            prop_assert_eq!(crate::check_all(&rules, &schema), Ok(()));
            Ok(())
        };
        runner.run(&inputs, run).expect("it holds");
    }
}
