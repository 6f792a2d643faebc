//! The built-in rules, as rules: what holds where an administrator says nothing.

use crate::decide::{Origin, Placed};
use crate::right::{Right, Rights};
use crate::rule::{
    AttributeSelector, Condition, Items, Operations, Pattern, Place, Reach, Rule, Subject, Target, Test,
};
use schema::Schema;

/// What the built-in rules depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    /// DNs of the naming contexts.
    pub suffixes: Vec<String>,
    /// DN of the subschema.
    pub subschema: String,
    /// DN of the monitor.
    pub monitor: String,
    /// `anonymous = "read"`: clients that did not bind have the rights of users.
    pub anonymous_read: bool,
    /// `write-dn`: names that may change all entries.
    pub writers: Vec<String>,
    /// `proxy-dn`: names that may act as others.
    pub proxies: Vec<String>,
}

/// Attributes that a password may be verified against.
const PASSWORDS: [&str; 2] = ["userPassword", "authPassword"];
/// State of a password that its owner may see.
const STATE: [&str; 8] = [
    "pwdChangedTime",
    "pwdAccountLockedTime",
    "pwdFailureTime",
    "pwdGraceUseTime",
    "pwdReset",
    "pwdPolicySubentry",
    "pwdLastSuccess",
    "authTimestamp",
];

/// The built-in rules. Attributes that the schema does not have are left out.
pub fn rules(keys: &Keys, schema: &Schema) -> Vec<Placed> {
    let mut rules = public(keys);
    rules.extend(users(keys));
    rules.extend(of_passwords(schema));
    let any = || vec!["*".to_owned()];
    rules.push(feature("use-controls", Items::Controls(any())));
    rules.push(feature("use-extended", Items::Extended(any())));
    rules.extend(of_names(keys));
    rules.into_iter().map(|rule| Placed { rule, origin: Origin::BuiltIn }).collect()
}

/// The root DSE and the subschema are for anyone.
fn public(keys: &Keys) -> Vec<Rule> {
    let base = |name: &str, dn: &str| rule(name, at(Reach::Base, dn), plain(), anyone(), Rights::SEE);
    vec![base("public", ""), base("public-schema", &keys.subschema)]
}

/// Users see all entries without secrets, and the monitor.
fn users(keys: &Keys) -> Vec<Rule> {
    let who = || if keys.anonymous_read { anyone() } else { subject(Condition::Users) };
    let mut rules = Vec::new();
    for (number, suffix) in keys.suffixes.iter().enumerate() {
        rules.push(rule(&numbered("users", number), at(Reach::Subtree, suffix), plain(), who(), Rights::SEE));
    }
    rules.push(rule("monitor", at(Reach::Subtree, &keys.monitor), plain(), who(), Rights::SEE));
    rules
}

/// Anyone may try a password; users change their own, and see its state.
fn of_passwords(schema: &Schema) -> Vec<Rule> {
    let auth = Rights::of(&[Right::Auth]);
    let read = Rights::of(&[Right::Read]);
    let rules = [
        ("log-in", named(schema, &PASSWORDS), anyone(), auth),
        ("oneself", named(schema, &PASSWORDS[..1]), subject(Condition::Requester), Rights::WRITE),
        ("password-state", named(schema, &STATE), subject(Condition::Requester), read),
    ];
    let some = rules.into_iter().filter(|(_, selectors, ..)| !selectors.is_empty());
    some.map(|(name, selectors, who, rights)| rule(name, Place::All, selectors, who, rights)).collect()
}

/// The keys `write-dn` and `proxy-dn`.
fn of_names(keys: &Keys) -> Vec<Rule> {
    let named = |names: &[String]| -> Vec<Subject> {
        let one = |dn: &String| Subject(vec![test(Condition::Dn(Reach::Base, dn.clone()))]);
        names.iter().map(one).collect()
    };
    let every = || vec![AttributeSelector::Every];
    let mut rules = Vec::new();
    for (number, suffix) in keys.suffixes.iter().enumerate() {
        let mut add = |name: &str, selectors, names: &[String], rights| {
            if !names.is_empty() {
                rules.push(rule(
                    &numbered(name, number),
                    at(Reach::Subtree, suffix),
                    selectors,
                    named(names),
                    rights,
                ));
            }
        };
        // Secrets can be written, and not seen.
        add("write-dn", plain(), &keys.writers, Rights::SEE | Rights::EDIT);
        add("write-dn-values", every(), &keys.writers, Rights::WRITE);
        add("proxy-dn", vec![AttributeSelector::Entry], &keys.proxies, Rights::of(&[Right::Proxy]));
    }
    rules
}

/// `name`, `name-2`, `name-3`: one for each naming context.
fn numbered(name: &str, number: usize) -> String {
    if number == 0 { name.to_owned() } else { format!("{name}-{}", number + 1) }
}

fn at(reach: Reach, dn: &str) -> Place {
    Place::At(reach, Pattern { each_below: false, dn: dn.to_owned() })
}

fn plain() -> Vec<AttributeSelector> {
    vec![AttributeSelector::Entry, AttributeSelector::User, AttributeSelector::Operational]
}

fn named(schema: &Schema, names: &[&str]) -> Vec<AttributeSelector> {
    let known = names.iter().filter(|name| schema.find_type(name.as_bytes()).is_some());
    let selector =
        |name: &&str| AttributeSelector::Named { description: (*name).to_owned(), excluded: false };
    known.map(selector).collect()
}

fn test(condition: Condition) -> Test {
    Test { condition, negated: false }
}

fn subject(condition: Condition) -> Vec<Subject> {
    vec![Subject(vec![test(condition)])]
}

fn anyone() -> Vec<Subject> {
    subject(Condition::Anyone)
}

fn rule(
    name: &str,
    place: Place,
    selectors: Vec<AttributeSelector>,
    subjects: Vec<Subject>,
    allow: Rights,
) -> Rule {
    let items = Items::Attributes(selectors);
    let target = Target { place, filter: None, items, values: None, operations: Operations::ANY };
    Rule { name: name.to_owned(), target, subjects, allow, deny: Rights::NONE, rank: 0 }
}

fn feature(name: &str, items: Items) -> Rule {
    let target = Target { place: Place::All, filter: None, items, values: None, operations: Operations::ANY };
    let allow = Rights::of(&[Right::Use]);
    Rule { name: name.to_owned(), target, subjects: anyone(), allow, deny: Rights::NONE, rank: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check, parse};

    #[test]
    fn built_in_rules_are_rules_with_names_of_their_own() {
        let schema = schema::Builder::new().standard().build().expect("it is sound");
        let keys = Keys {
            suffixes: vec!["dc=a".into(), "dc=b".into()],
            subschema: "cn=subschema".into(),
            monitor: "cn=Monitor".into(),
            anonymous_read: true,
            writers: vec!["cn=w,dc=a".into()],
            proxies: vec!["cn=p,dc=a".into(), "cn=q,dc=a".into()],
        };
        let rules = rules(&keys, &schema);
        let mut names: Vec<&str> = rules.iter().map(|placed| placed.rule.name.as_str()).collect();
        for Placed { rule, .. } in &rules {
            assert_eq!(parse(&rule.to_string()).as_ref(), Ok(rule));
            assert_eq!(check(rule, &schema), Ok(()));
        }
        assert!(names.contains(&"users-2") && names.contains(&"proxy-dn-2") && names.contains(&"log-in"));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), rules.len());
    }
}
