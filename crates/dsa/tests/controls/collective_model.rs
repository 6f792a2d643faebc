//! Collections of entries (RFC 3671 section 1.1) by random subtree specifications (RFC 3672 section 2.1), against a naive model: a map of names, in which each
//! question is answered by a look at all entries. The tree, the subentries and what entries exclude change in between.

use super::clients;
use crate::common::{Client, Given};
use model::ResultCode::{CompareFalse, CompareTrue, NoSuchAttribute, Success};
use model::Scope;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proto::op::ModifyKind::Replace;
use std::collections::{BTreeMap, BTreeSet};

const CLASSES: [&str; 3] = ["organizationalUnit", "inetOrgPerson", "device"];
/// Of refinements, 2.5.6.6 is person.
const ITEMS: [&str; 5] = ["organizationalUnit", "inetOrgPerson", "device", "top", "2.5.6.6"];
const NAMES: [&str; 3] = ["ou=a", "ou=b", "ou=c"];
const ATTRIBUTES: [&str; 2] = ["c-l", "c-o"];
const VALUES: [&str; 4] = ["Paris", "PARIS", "Rome", "Oslo"];
const SUBENTRIES: &str = "collectiveAttributeSubentries";

/// RDNs from the root downwards.
type Path = Vec<String>;

#[derive(Clone, Debug)]
enum Refinement {
    Item(&'static str),
    Not(Box<Refinement>),
    And(Vec<Refinement>),
    Or(Vec<Refinement>),
}

#[derive(Clone, Debug)]
struct Specification {
    base: Path,
    before: Vec<Path>,
    after: Vec<Path>,
    minimum: usize,
    maximum: Option<usize>,
    refinement: Option<Refinement>,
    /// Is it sent as a filter of LDAP?
    is_filter: bool,
}

#[derive(Clone, Debug)]
struct Subentry {
    superior: Path,
    specification: Specification,
    values: BTreeMap<&'static str, Vec<&'static str>>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    class: usize,
    excluded: Vec<&'static str>,
    begins_area: bool,
}

#[derive(Clone, Debug)]
enum Op {
    Add(Index, &'static str, usize),
    Delete(Index),
    Move(Index, &'static str, Option<Index>),
    Exclude(Index, Vec<&'static str>),
    Area(Index, bool),
    Put(Index, Specification, Values),
    Change(Index, Specification, Values),
    Remove(Index),
}

type Values = [Vec<&'static str>; 2];

#[derive(Default)]
struct Model {
    entries: BTreeMap<Path, Node>,
    subentries: BTreeMap<String, Subentry>,
    made: usize,
}

fn dn(path: &[String]) -> String {
    path.iter().rev().cloned().collect::<Vec<_>>().join(",")
}

impl Refinement {
    fn is_true(&self, class: &str) -> bool {
        match self {
            // Classes of an entry have their superclasses.
            Refinement::Item(item) => {
                *item == class || *item == "top" || (*item == "2.5.6.6" && class == "inetOrgPerson")
            }
            Refinement::Not(one) => !one.is_true(class),
            Refinement::And(all) => all.iter().all(|one| one.is_true(class)),
            Refinement::Or(all) => all.iter().any(|one| one.is_true(class)),
        }
    }

    fn text(&self) -> String {
        let all = |all: &[Refinement]| all.iter().map(Refinement::text).collect::<Vec<_>>().join(", ");
        match self {
            Refinement::Item(item) => format!("item:{item}"),
            Refinement::Not(one) => format!("not:{}", one.text()),
            Refinement::And(parts) => format!("and:{{ {} }}", all(parts)),
            Refinement::Or(parts) => format!("or:{{ {} }}", all(parts)),
        }
    }

    fn filter(&self) -> String {
        let all = |all: &[Refinement]| all.iter().map(Refinement::filter).collect::<String>();
        match self {
            Refinement::Item(item) => format!("(objectClass={item})"),
            Refinement::Not(one) => format!("(!{})", one.filter()),
            Refinement::And(parts) => format!("(&{})", all(parts)),
            Refinement::Or(parts) => format!("(|{})", all(parts)),
        }
    }
}

impl Specification {
    fn text(&self) -> String {
        let mut parts = Vec::new();
        if !self.base.is_empty() {
            parts.push(format!("base \"{}\"", dn(&self.base)));
        }
        let chop = |kind: &'static str| move |path: &Path| format!("{kind}:\"{}\"", dn(path));
        let cut: Vec<String> = self
            .before
            .iter()
            .map(chop("chopBefore"))
            .chain(self.after.iter().map(chop("chopAfter")))
            .collect();
        if !cut.is_empty() {
            parts.push(format!("specificExclusions {{ {} }}", cut.join(", ")));
        }
        if self.minimum > 0 {
            parts.push(format!("minimum {}", self.minimum));
        }
        parts.extend(self.maximum.map(|maximum| format!("maximum {maximum}")));
        parts.extend(self.refinement.as_ref().map(|refinement| match self.is_filter {
            true => format!("specificationFilter \"{}\"", refinement.filter()),
            false => format!("specificationFilter {}", refinement.text()),
        }));
        format!("{{ {} }}", parts.join(", "))
    }
}

impl Model {
    fn has(&self, subentry: &Subentry, path: &Path) -> bool {
        let Specification { base, before, after, minimum, maximum, refinement, .. } = &subentry.specification;
        let Some(local) = path.strip_prefix(&subentry.superior[..]) else { return false };
        let others = (subentry.superior.len() + 1..=path.len()).map(|len| &self.entries[&path[..len]]);
        let Some(below) = local.strip_prefix(&base[..]) else { return false };
        !others.into_iter().any(|entry| entry.begins_area)
            && !before.iter().any(|cut| below.starts_with(cut))
            && !after.iter().any(|cut| below.starts_with(cut) && below.len() > cut.len())
            && below.len() >= *minimum
            && maximum.is_none_or(|maximum| below.len() <= maximum)
            && refinement.as_ref().is_none_or(|one| one.is_true(CLASSES[self.entries[path].class]))
    }

    /// In lower case: of two spellings of a value either may be shown.
    fn values(&self, path: &Path, attribute: &str) -> BTreeSet<String> {
        let excluded = &self.entries[path].excluded;
        if excluded.contains(&"excludeAllCollectiveAttributes") || excluded.contains(&attribute) {
            return BTreeSet::new();
        }
        let all = self.subentries.values().filter(|subentry| self.has(subentry, path));
        all.flat_map(|subentry| subentry.values.get(attribute).into_iter().flatten())
            .map(|value| value.to_lowercase())
            .collect()
    }

    fn at(&self, index: &Index) -> Path {
        index.get(&self.entries.keys().collect::<Vec<_>>()).to_vec()
    }

    /// Does it in the directory and in the model, if it is possible.
    fn run(&mut self, client: &mut Client, op: &Op) {
        match op {
            Op::Add(above, name, class) => {
                let path = [self.at(above), vec![(*name).to_owned()]].concat();
                if path.len() > 5 || self.entries.contains_key(&path) {
                    return;
                }
                let attributes: [Given<'_>; 3] = [
                    &[("objectClass", &["organizationalUnit"])],
                    &[("objectClass", &["inetOrgPerson"]), ("cn", &["x"]), ("sn", &["x"])],
                    &[("objectClass", &["device"]), ("cn", &["x"])],
                ];
                client.must_add(&dn(&path), attributes[*class]);
                self.entries.insert(path, Node { class: *class, ..Node::default() });
            }
            Op::Delete(at) => {
                let path = self.at(at);
                let is_above = |other: &Path| other.len() > path.len() && other.starts_with(&path);
                let is_free = path.len() > 1
                    && !self.entries.keys().any(is_above)
                    && !self.subentries.values().any(|subentry| subentry.superior == path);
                if is_free {
                    assert_eq!(client.delete(&dn(&path)).code, Success);
                    self.entries.remove(&path);
                }
            }
            Op::Move(at, name, to) => {
                let path = self.at(at);
                if path.len() < 2 {
                    return;
                }
                let above = to.as_ref().map_or(path[..path.len() - 1].to_vec(), |to| self.at(to));
                let new = [above.clone(), vec![(*name).to_owned()]].concat();
                if above.starts_with(&path) || self.entries.contains_key(&new) {
                    return;
                }
                let end = client.rename(&dn(&path), name, true, to.as_ref().map(|_| dn(&above)).as_deref());
                assert_eq!(end.code, Success, "{path:?} to {new:?}: {}", end.text);
                let moved = |of: &Path| match of.strip_prefix(&path[..]) {
                    Some(rest) => [&new[..], rest].concat(),
                    None => of.clone(),
                };
                let entries = std::mem::take(&mut self.entries);
                self.entries = entries.into_iter().map(|(of, node)| (moved(&of), node)).collect();
                self.subentries.values_mut().for_each(|one| one.superior = moved(&one.superior));
            }
            Op::Exclude(at, excluded) => {
                let path = self.at(at);
                assert_eq!(
                    client.modify(&dn(&path), &[(Replace, "collectiveExclusions", excluded)]).code,
                    Success
                );
                self.entries.get_mut(&path).expect("it is there").excluded.clone_from(excluded);
            }
            Op::Area(at, begins) => {
                let path = self.at(at);
                let roles: &[&str] = if *begins { &["collectiveAttributeSpecificArea"] } else { &[] };
                assert_eq!(
                    client.modify(&dn(&path), &[(Replace, "administrativeRole", roles)]).code,
                    Success
                );
                self.entries.get_mut(&path).expect("it is there").begins_area = *begins;
            }
            Op::Put(at, specification, values) => {
                let (name, superior) = (format!("cn=s{}", self.made), self.at(at));
                self.made += 1;
                let text = specification.text();
                let text = &*text;
                let mut attributes = vec![
                    ("objectClass", &["subentry", "collectiveAttributeSubentry"][..]),
                    ("subtreeSpecification", std::slice::from_ref(&text)),
                ];
                let given = ATTRIBUTES.into_iter().zip(values).filter(|(_, values)| !values.is_empty());
                attributes.extend(given.map(|(name, values)| (name, &values[..])));
                client.must_add(&format!("{name},{}", dn(&superior)), &attributes);
                let values = ATTRIBUTES.into_iter().zip(values.iter().cloned()).collect();
                self.subentries
                    .insert(name, Subentry { superior, specification: specification.clone(), values });
            }
            Op::Change(at, specification, values) => {
                let Some((name, subentry)) = self.subentries.iter_mut().nth(at.index(4)) else { return };
                let end = client.modify(
                    &format!("{name},{}", dn(&subentry.superior)),
                    &[
                        (Replace, "subtreeSpecification", &[&specification.text()]),
                        (Replace, ATTRIBUTES[0], &values[0]),
                        (Replace, ATTRIBUTES[1], &values[1]),
                    ],
                );
                assert_eq!(end.code, Success, "{}", end.text);
                subentry.specification = specification.clone();
                subentry.values = ATTRIBUTES.into_iter().zip(values.iter().cloned()).collect();
            }
            Op::Remove(at) => {
                let Some(name) = self.subentries.keys().nth(at.index(4)).cloned() else { return };
                let subentry = self.subentries.remove(&name).expect("it was just found");
                assert_eq!(client.delete(&format!("{name},{}", dn(&subentry.superior))).code, Success);
            }
        }
    }

    /// Asks everything.
    fn check(&self, client: &mut Client) {
        let lower = |values: Option<Vec<String>>| -> BTreeSet<String> {
            values.into_iter().flatten().map(|value| value.to_lowercase()).collect()
        };
        for path in self.entries.keys() {
            let name = dn(path);
            let found = client.read(&name, &["*", "+"]);
            for attribute in ATTRIBUTES {
                let shown = found.values(attribute);
                let (count, expected) = (shown.as_ref().map_or(0, Vec::len), self.values(path, attribute));
                assert_eq!(
                    (lower(shown), count),
                    (expected.clone(), expected.len()),
                    "{attribute} of {name}"
                );
                let code = match (expected.contains("rome"), expected.is_empty()) {
                    (true, _) => CompareTrue,
                    (false, false) => CompareFalse,
                    (false, true) => NoSuchAttribute,
                };
                assert_eq!(client.compare(&name, attribute, "ROME").code, code, "{attribute} of {name}");
            }
            let above = self.subentries.iter().filter(|(_, subentry)| self.has(subentry, path));
            let above: BTreeSet<String> =
                above.map(|(name, subentry)| format!("{name},{}", dn(&subentry.superior))).collect();
            assert_eq!(lower(found.values(SUBENTRIES)), above, "{name}");
        }
        let has = |path: &Path, attribute: &str, value: &str| self.values(path, attribute).contains(value);
        type Wished<'a> = (&'a str, &'a dyn Fn(&Path) -> bool);
        let asked: [Wished<'_>; 9] = [
            ("(c-l=paris)", &|path| has(path, "c-l", "paris")),
            ("(l=rome)", &|path| has(path, "c-l", "rome")),
            ("(c-l=*)", &|path| !self.values(path, "c-l").is_empty()),
            ("(!(c-l=rome))", &|path| !has(path, "c-l", "rome")),
            ("(c-l=p*s)", &|path| has(path, "c-l", "paris")),
            ("(&(objectClass=device)(c-o=oslo))", &|path| {
                self.entries[path].class == 2 && has(path, "c-o", "oslo")
            }),
            ("(|(c-l=oslo)(c-o=oslo))", &|path| has(path, "c-l", "oslo") || has(path, "c-o", "oslo")),
            ("(&(c-l=*)(!(c-o=*)))", &|path| {
                !self.values(path, "c-l").is_empty() && self.values(path, "c-o").is_empty()
            }),
            ("(collectiveAttributeSubentries=*)", &|path| {
                self.subentries.values().any(|one| self.has(one, path))
            }),
        ];
        for (filter, is_true) in asked {
            let found = client.search("ou=root,dc=example", Scope::Subtree, filter, &["1.1"]);
            assert_eq!(found.end.code, Success, "{filter}: {}", found.end.text);
            let mut expected: Vec<String> =
                self.entries.keys().filter(|path| is_true(path)).map(|path| dn(path)).collect();
            expected.sort();
            assert_eq!(found.dns(), expected, "{filter}");
        }
    }
}

fn path(max: usize) -> impl Strategy<Value = Path> {
    vec(select(&NAMES[..]).prop_map(str::to_owned), 0..=max)
}

fn refinement() -> impl Strategy<Value = Refinement> {
    select(&ITEMS[..]).prop_map(Refinement::Item).boxed().prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|one| Refinement::Not(Box::new(one))),
            vec(inner.clone(), 0..3).prop_map(Refinement::And),
            vec(inner, 0..3).prop_map(Refinement::Or),
        ]
    })
}

fn specification() -> impl Strategy<Value = Specification> {
    let cut = || vec(path(2).prop_filter("a name", |path| !path.is_empty()), 0..2);
    let levels = (0..3_usize, proptest::option::of(0..4_usize));
    let filter = (proptest::option::of(refinement()), any::<bool>());
    (path(2), cut(), cut(), levels, filter).prop_map(|(base, before, after, (minimum, maximum), filter)| {
        let (refinement, is_filter) = filter;
        Specification { base, before, after, minimum, maximum, refinement, is_filter }
    })
}

fn values() -> impl Strategy<Value = Values> {
    let some = || {
        vec(select(&VALUES[..]), 0..3).prop_map(|mut values| {
            // Two spellings of one value are one value twice.
            values.sort_by_key(|value| value.to_lowercase());
            values.dedup_by_key(|value| value.to_lowercase());
            values
        })
    };
    [some(), some()]
}

fn op() -> impl Strategy<Value = Op> {
    let any = any::<Index>;
    let excluded = select(&["c-l", "c-o", "excludeAllCollectiveAttributes"][..]);
    prop_oneof![
        6 => (any(), select(&NAMES[..]), 0..3_usize).prop_map(|(above, name, class)| Op::Add(above, name, class)),
        1 => any().prop_map(Op::Delete),
        2 => (any(), select(&NAMES[..]), proptest::option::of(any())).prop_map(|(at, name, to)| Op::Move(at, name, to)),
        1 => (any(), vec(excluded, 0..2)).prop_map(|(at, excluded)| Op::Exclude(at, excluded)),
        1 => (any(), proptest::bool::weighted(0.7)).prop_map(|(at, begins)| Op::Area(at, begins)),
        3 => (any(), specification(), values()).prop_map(|(at, of, values)| Op::Put(at, of, values)),
        2 => (any(), specification(), values()).prop_map(|(at, of, values)| Op::Change(at, of, values)),
        1 => any().prop_map(Op::Remove),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn collections_are_those_of_the_model(ops in vec(op(), 5..40), is_logged in any::<bool>()) {
        let [plain, logged] = clients();
        let mut client = if is_logged { logged } else { plain };
        client.must_add("ou=root,dc=example", &[("objectClass", &["organizationalUnit"])]);
        // The topmost RDN of the model is the whole name of its root.
        let mut model = Model::default();
        model.entries.insert(vec!["ou=root,dc=example".to_owned()], Node::default());
        for op in &ops {
            model.run(&mut client, op);
            model.check(&mut client);
        }
    }
}
