//! The rules that are built in, and those that keys of the configuration stand for. They decide where no other rule does.

use super::class::EVERY_OID;
use crate::config::Anonymous;
use crate::config::Config;
use crate::system::MONITOR_DN;
use ::access::{
    AttributeSelector, Condition, Items, Operations, Pattern, Place, Reach, Right, Rights, Rule, Subject,
    Target, Test,
};
use store::derived::SUBSCHEMA_DN;

/// All of them, for a configuration.
pub(super) fn rules(config: &Config) -> Vec<Rule> {
    let users = if config.anonymous == Anonymous::Read { Condition::Anyone } else { Condition::Users };
    let shown = || vec![AttributeSelector::Entry, AttributeSelector::User, AttributeSelector::Operational];
    let named = |name: &str| AttributeSelector::Named { description: name.to_owned(), excluded: false };
    let at = |dn: &str, reach| Place::At(reach, Pattern { each_below: false, dn: dn.to_owned() });
    let attributes = Items::Attributes;
    let mut rules = vec![
        rule("public: root DSE", at("", Reach::Base), attributes(shown()), Condition::Anyone, Rights::SEE),
        rule(
            "public: subschema",
            at(SUBSCHEMA_DN, Reach::Base),
            attributes(shown()),
            Condition::Anyone,
            Rights::SEE,
        ),
        rule("users", Place::All, attributes(shown()), users, Rights::SEE),
        rule(
            "users: monitor",
            at(MONITOR_DN, Reach::Subtree),
            attributes(shown()),
            Condition::Users,
            Rights::SEE,
        ),
        rule(
            "log in",
            Place::All,
            attributes(vec![named("userPassword")]),
            Condition::Anyone,
            Rights::of(&[Right::Auth]),
        ),
        rule(
            "oneself: password",
            Place::All,
            attributes(vec![named("userPassword")]),
            Condition::Requester,
            Rights::WRITE,
        ),
    ];
    let every = || vec![EVERY_OID.to_owned()];
    for (name, items) in
        [("use: controls", Items::Controls(every())), ("use: operations", Items::Extended(every()))]
    {
        rules.push(rule(name, Place::All, items, Condition::Anyone, Rights::of(&[Right::Use])));
    }
    for writer in &config.writers {
        let entry = vec![AttributeSelector::Entry, AttributeSelector::Every];
        let is = || Condition::Dn(Reach::Base, writer.clone());
        rules.push(rule(
            &format!("write-dn: {writer}"),
            Place::All,
            attributes(entry),
            is(),
            Rights::EDIT | Rights::WRITE,
        ));
        rules.push(rule(
            &format!("write-dn, see: {writer}"),
            Place::All,
            attributes(shown()),
            is(),
            Rights::SEE,
        ));
    }
    for proxy in &config.proxies {
        let is = Condition::Dn(Reach::Base, proxy.clone());
        let entry = attributes(vec![AttributeSelector::Entry]);
        rules.push(rule(&format!("proxy-dn: {proxy}"), Place::All, entry, is, Rights::of(&[Right::Proxy])));
    }
    rules
}

/// One rule for one kind of requester.
fn rule(name: &str, place: Place, items: Items, condition: Condition, allow: Rights) -> Rule {
    Rule {
        name: name.to_owned(),
        target: Target { place, filter: None, items, values: None, operations: Operations::ANY },
        subjects: vec![Subject(vec![Test { condition, negated: false }])],
        allow,
        deny: Rights::NONE,
        rank: 0,
    }
}
