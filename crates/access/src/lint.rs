//! What is suspicious of rules that are no faults: each can be evaluated, but some mean nothing, or more than they should.

use crate::decide::{Placed, selects};
use crate::right::{Right, Rights};
use crate::rule::{AttributeSelector, Condition, Items, Operation, Place, Reach, Rule, Subject, Target};
use schema::Schema;

/// A remark about a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The rule's number.
    pub rule: usize,
    /// What is to be said of it.
    pub text: String,
}

/// Rights on an entry.
const OF_ENTRY: Rights = Rights::of(&[
    Right::Disclose,
    Right::Search,
    Right::Read,
    Right::Create,
    Right::Remove,
    Right::Rename,
    Right::MoveOut,
    Right::MoveIn,
    Right::Manage,
    Right::Proxy,
]);
/// Rights on attributes and their values.
const OF_ATTRIBUTE: Rights = Rights::of(&[
    Right::Search,
    Right::Compare,
    Right::Read,
    Right::Auth,
    Right::Add,
    Right::Delete,
    Right::Increment,
    Right::Manage,
]);

/// All remarks about rules, in their order. The built-in ones are looked at as what others may make superfluous, and not remarked on.
pub fn remarks(rules: &[Placed], schema: &Schema) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for (number, placed) in rules.iter().enumerate().filter(|(_, placed)| placed.is_written()) {
        let rule = &placed.rule;
        let mut say = |text: String| remarks.push(Remark { rule: number, text });
        rights_without_target(rule).into_iter().for_each(&mut say);
        rule.subjects
            .iter()
            .enumerate()
            .filter_map(|(at, subject)| never_fits(at, subject))
            .for_each(&mut say);
        secrets_given_away(rule, schema).into_iter().for_each(&mut say);
        let mut others = rules.iter().enumerate().filter(|(other, _)| *other != number);
        if let Some((_, above)) = others.find(|(other, above)| hides(above, placed, *other < number)) {
            say(format!("it never decides: rule `{}` covers it", above.rule.name));
        }
    }
    remarks
}

/// Entries that a rule names, with what each is. Names that depend on the entry in question are left out.
pub fn names(rule: &Rule) -> Vec<(&'static str, String)> {
    let mut names = Vec::new();
    if let Place::At(_, pattern) = &rule.target.place {
        names.push(("entry", pattern.dn.clone()));
    }
    for test in rule.subjects.iter().flat_map(|subject| &subject.0) {
        let condition = match &test.condition {
            Condition::Real(inner) => inner,
            other => other,
        };
        match condition {
            Condition::Dn(_, dn) if !dn.contains("$1") => names.push(("entry", dn.clone())),
            Condition::Group { dn, .. } if !dn.contains("$1") => names.push(("group", dn.clone())),
            _ => {}
        }
    }
    names
}

/// Rights that what a rule is about does not have.
fn rights_without_target(rule: &Rule) -> Option<String> {
    let possible = match &rule.target.items {
        Items::Controls(_) | Items::Extended(_) => Rights::of(&[Right::Use]),
        Items::Attributes(selectors) => {
            let of_entry = selectors.contains(&AttributeSelector::Entry);
            let of_attributes = selectors.iter().any(|selector| *selector != AttributeSelector::Entry);
            let none = Rights::NONE;
            (if of_entry { OF_ENTRY } else { none }) | (if of_attributes { OF_ATTRIBUTE } else { none })
        }
    };
    let named = rule.allow | rule.deny;
    let spare = named.without(possible);
    // A word for several rights may have one too many.
    let is_short =
        |right: Right| Rights::SHORT.iter().any(|(_, short)| short.has(right) && named.and(*short) == *short);
    let single: Vec<Right> =
        Right::ALL.into_iter().filter(|right| spare.has(*right) && !is_short(*right)).collect();
    if named.and(possible).is_empty() {
        return Some(format!("it names no right that its target has: {named}"));
    }
    let words: Vec<&str> = single.iter().map(|right| right.word()).collect();
    (!single.is_empty()).then(|| format!("its target does not have the right {}", words.join(", ")))
}

/// A subject that nobody can be.
fn never_fits(at: usize, subject: &Subject) -> Option<String> {
    let has = |wanted: &Condition, negated: bool| {
        subject.0.iter().any(|test| test.condition == *wanted && test.negated == negated)
    };
    let needs_name = subject.0.iter().any(|test| !test.negated && names_someone(&test.condition));
    let is_nobody = has(&Condition::Anonymous, false) || has(&Condition::Users, true);
    let contradicts = subject.0.iter().any(|test| has(&test.condition, !test.negated));
    let is_never = has(&Condition::Anyone, true) || (is_nobody && needs_name) || contradicts;
    is_never.then(|| format!("subject {} never fits: {subject}", at + 1))
}

/// Does a condition hold of those alone who bound?
fn names_someone(condition: &Condition) -> bool {
    match condition {
        Condition::Users
        | Condition::Dn(..)
        | Condition::UserFilter(_)
        | Condition::Group { .. }
        | Condition::Requester
        | Condition::Parent(_)
        | Condition::DnAttribute(_)
        | Condition::GroupAttribute(_)
        | Condition::Same(_) => true,
        Condition::Anyone
        | Condition::Anonymous
        | Condition::Auth(_)
        | Condition::Strength(_)
        | Condition::Tls(_)
        | Condition::Peer(_)
        | Condition::Listener(_)
        | Condition::Real(_) => false,
    }
}

/// Secrets that others than their owners may see.
fn secrets_given_away(rule: &Rule, schema: &Schema) -> Option<String> {
    let seen = rule.allow.and(Rights::of(&[Right::Read, Right::Search, Right::Compare]));
    let Items::Attributes(selectors) = &rule.target.items else { return None };
    let of_owner = |subject: &Subject| {
        subject.0.iter().any(|test| test.condition == Condition::Requester && !test.negated)
    };
    if seen.is_empty() || rule.subjects.iter().all(of_owner) {
        return None;
    }
    let secrets = schema.attribute_types().filter(|(id, _)| schema.is_secret(*id));
    let names: Vec<&str> =
        secrets.map(|(_, kind)| kind.name()).filter(|name| selects(schema, selectors, name)).collect();
    (!names.is_empty()).then(|| format!("it allows {seen} of secrets: {}", names.join(", ")))
}

/// Does a rule always decide where another fits? By what can be seen without a directory: what is not seen is not reported.
fn hides(above: &Placed, below: &Placed, is_earlier: bool) -> bool {
    let (over, under) = (&above.rule, &below.rule);
    let named = under.allow | under.deny;
    let is_higher = above.rank() > below.rank() && (over.allow | over.deny).and(named) == named;
    let denies =
        above.rank() == below.rank() && over.deny.and(under.allow) == under.allow && under.deny.is_empty();
    let is_twin =
        is_earlier && over.deny == under.deny && over.allow == under.allow && above.rank() == below.rank();
    // What is undefined counts in a deny and not in an allow, so a deny is hidden only by what never is.
    (is_higher || denies || is_twin)
        && covers(&over.target, &under.target)
        && under.subjects.iter().all(|subject| over.subjects.iter().any(|other| includes(other, subject)))
        && (under.deny.is_empty() || is_certain(over))
}

/// Is there no condition in a rule that may be undefined?
fn is_certain(rule: &Rule) -> bool {
    let is_anyone = |subject: &Subject| subject.0.iter().all(|test| test.condition == Condition::Anyone);
    rule.target.filter.is_none() && rule.target.values.is_none() && rule.subjects.iter().any(is_anyone)
}

/// Does a subject fit wherever another fits?
fn includes(general: &Subject, special: &Subject) -> bool {
    general.0.iter().all(|test| {
        special.0.contains(test)
            || (test.condition == Condition::Anyone && !test.negated)
            || (test.condition == Condition::Users
                && !test.negated
                && special.0.iter().any(|other| !other.negated && names_someone(&other.condition)))
    })
}

fn covers(general: &Target, special: &Target) -> bool {
    let is_wide = matches!(&general.items, Items::Attributes(all) if all.contains(&AttributeSelector::Every) && all.contains(&AttributeSelector::Entry) && all.len() == 2);
    let of_entries = matches!(special.items, Items::Attributes(_));
    let items = general.items == special.items || (is_wide && of_entries);
    let place = match (&general.place, &special.place) {
        (Place::All, _) => true,
        (Place::At(Reach::Subtree, general), Place::At(_, special)) => {
            !general.each_below && is_below(&special.dn, &general.dn)
        }
        (general, special) => general == special,
    };
    let is_op =
        |operation: Operation| !special.operations.has(operation) || general.operations.has(operation);
    items
        && place
        && (general.filter.is_none() || general.filter == special.filter)
        && (general.values.is_none() || general.values == special.values)
        && Operation::WORDS.iter().all(|(_, operation)| is_op(*operation))
}

/// Does a DN end with another, as it is written?
fn is_below(dn: &str, superior: &str) -> bool {
    let plain = |dn: &str| dn.to_ascii_lowercase().replace(", ", ",");
    let (dn, superior) = (plain(dn), plain(superior));
    superior.is_empty() || dn == superior || dn.ends_with(&format!(",{superior}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::Origin;
    use crate::parse;

    fn found(texts: &[&str]) -> Vec<String> {
        let schema = schema::Builder::new().standard().build().expect("it is sound");
        let placed = |text: &&str| Placed { rule: parse(text).expect(text), origin: Origin::Configured };
        let rules: Vec<Placed> = texts.iter().map(placed).collect();
        let line = |remark: Remark| format!("{}: {}", rules[remark.rule].rule.name, remark.text);
        remarks(&rules, &schema).into_iter().map(line).collect()
    }

    #[test]
    fn a10_planted_faults_are_found_and_good_rules_are_not_reported() {
        for (rules, fault) in [
            (&["a: all; users; allow=use"][..], "a: it names no right"),
            (&["a: all attrs=cn; users; allow=read,create"], "a: its target does not have the right create"),
            (&["a: control=*; users; allow=read"], "a: it names no right"),
            (&["a: all; anonymous self; allow=read"], "a: subject 1 never fits: anonymous self"),
            (&["a: all; users | anyone=false; allow=read"], "a: subject 2 never fits"),
            (&["a: all; tls=128 tls=!128; allow=read"], "a: subject 1 never fits"),
            (
                &["a: all attrs=**; users; allow=see"],
                "a: it allows search,compare,read of secrets: userPassword",
            ),
            (
                &["a: all attrs=@person; users; allow=compare"],
                "a: it allows compare of secrets: userPassword",
            ),
            (
                &["a: all; users; allow=read", "b: all; anyone; allow=see rank=1"],
                "a: it never decides: rule `b` covers it",
            ),
            (
                &[
                    "a: base=\"ou=x,dc=x\" attrs=cn; self; allow=read",
                    "b: subtree=\"dc=x\" attrs=entry,**; users; deny=all",
                ],
                "a: it never decides",
            ),
            (&["a: all; users; allow=read", "b: all; users; allow=read"], "b: it never decides: rule `a`"),
        ] {
            let found = found(rules);
            assert!(found.iter().any(|line| line.starts_with(fault)), "{rules:?}: {found:?}");
        }
        for rules in [
            &["a: subtree=\"dc=x\"; users; allow=see"][..],
            &["a: all attrs=userPassword; self; allow=all", "b: all attrs=userPassword; anyone; allow=auth"],
            &[
                "a: all; users; allow=read",
                "b: all; self; allow=see rank=1",
                "c: one=\"dc=x\"; anyone; allow=see rank=2",
            ],
            &["a: all; users; deny=read", "b: all; users; allow=read rank=1 "][..0],
            &["a: all attrs=**,!userPassword,!@sambaSamAccount; users; allow=write"][..0],
        ] {
            assert_eq!(found(rules), [""; 0], "{rules:?}");
        }
    }

    #[test]
    fn names_in_rules() {
        let rule = parse(
            "a: one=\"*,dc=x\"; group=\"cn=g,dc=x\" real-dn=\"!uid=a\" | group=\"cn=a,$1,dc=x\"; allow=read",
        );
        let names = names(&rule.unwrap());
        let expected = [("entry", "dc=x"), ("group", "cn=g,dc=x"), ("entry", "uid=a")];
        assert_eq!(names, expected.map(|(what, dn)| (what, dn.to_owned())));
    }
}
