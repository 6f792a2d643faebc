//! Is a rule for the one who asks?

use super::query::{Failure, Query};
use super::target::base_of;
use crate::check::with_rdn;
use crate::evaluate::{evaluate, normal};
use crate::group::{Candidate, dn_of, is_member};
use crate::name::Name;
use crate::rule::{Condition, Place, Rule, Test};
use crate::truth::Truth;
use crate::world::{Entry, Requester, World};
use std::sync::Arc;

/// Is a rule for the one who asks? With what does not fit, of each subject.
pub(super) fn is_for<W: World + ?Sized>(
    world: &W,
    rule: &Rule,
    who: &Requester,
    query: &Query<'_>,
) -> (Truth, Vec<Failure>) {
    let rdn = match &rule.target.place {
        Place::At(_, pattern) => base_of(world, pattern, query.entry).and_then(|(_, rdn)| rdn),
        Place::All => None,
    };
    let asking = Asking { world, who, query, rdn, own: identity(world, who.dn.as_deref()) };
    let (mut truths, mut failures) = (Vec::new(), Vec::new());
    for (number, subject) in rule.subjects.iter().enumerate() {
        let of_tests: Vec<Truth> = subject.0.iter().map(|test| asking.test(test)).collect();
        truths.push(Truth::all(of_tests.iter().copied()));
        for (test, truth) in subject.0.iter().zip(of_tests).filter(|(_, truth)| *truth != Truth::True) {
            let key = test.condition.key().into_owned();
            failures.push(Failure { key, subject: Some(number), undefined: truth == Truth::Undefined });
        }
    }
    (Truth::any(truths), failures)
}

/// Somebody who bound: the name, and the entry if there is one.
struct Identity {
    name: Name,
    entry: Option<Arc<Entry>>,
}

/// `None` for anonymous.
fn identity<W: World + ?Sized>(world: &W, dn: Option<&str>) -> Option<Identity> {
    let name = Name::parse(world.schema(), dn?.as_bytes())?;
    let entry = world.entry(&name);
    Some(Identity { name, entry })
}

/// A question, with what was found out of the one who asks.
struct Asking<'a, W: ?Sized> {
    world: &'a W,
    who: &'a Requester,
    query: &'a Query<'a>,
    /// What `$1` stands for.
    rdn: Option<String>,
    own: Option<Identity>,
}

impl<W: World + ?Sized> Asking<'_, W> {
    fn test(&self, test: &Test) -> Truth {
        let truth = match &test.condition {
            Condition::Real(inner) => {
                self.of_identity(inner, identity(self.world, self.who.real.as_deref()).as_ref())
            }
            Condition::Dn(..) | Condition::Group { .. } => {
                self.of_identity(&test.condition, self.own.as_ref())
            }
            other => self.condition(other),
        };
        if test.negated { truth.negated() } else { truth }
    }

    /// A condition on a name, be it the one as whom a request is made or the one who proved itself.
    fn of_identity(&self, condition: &Condition, who: Option<&Identity>) -> Truth {
        let Some(Identity { name, entry }) = who else { return Truth::False };
        let named = |dn: &str| {
            let dn = self.rdn.as_ref().map_or_else(|| dn.to_owned(), |rdn| with_rdn(dn, rdn));
            Name::parse(self.world.schema(), dn.as_bytes())
        };
        match condition {
            Condition::Dn(reach, dn) => Truth::of_option(named(dn).map(|dn| name.is_within(*reach, &dn))),
            Condition::Group { dn, nested } => {
                let who = Candidate { name, entry: entry.as_deref() };
                named(dn).map_or(Truth::Undefined, |dn| is_member(self.world, &dn, *nested, &who))
            }
            _ => Truth::Undefined,
        }
    }

    fn condition(&self, condition: &Condition) -> Truth {
        let who = self.who;
        match condition {
            Condition::Anyone => Truth::True,
            Condition::Anonymous => Truth::of(who.dn.is_none()),
            Condition::Users => Truth::of(who.dn.is_some()),
            Condition::Auth(methods) => Truth::of(methods.contains(&who.auth)),
            Condition::Strength(bits) => Truth::of(who.strength >= *bits),
            Condition::Tls(bits) => Truth::of(who.tls >= *bits),
            Condition::Peer(peers) => Truth::of(who.peer.is_one_of(peers)),
            Condition::Listener(name) => Truth::of(who.listener == *name),
            Condition::UserFilter(filter) => {
                self.of_own_entry(|own| evaluate(self.world.schema(), &filter.filter(), own))
            }
            Condition::Same(name) => self.of_own_entry(|own| Truth::of(self.have_in_common(name, own))),
            Condition::Requester => Truth::of(self.is_superior(0)),
            Condition::Parent(levels) => Truth::of(self.is_superior(usize::from(*levels))),
            Condition::DnAttribute(name) => Truth::of(self.is_named_by(name)),
            Condition::GroupAttribute(name) => self.is_member_of_any(name),
            Condition::Dn(..) | Condition::Group { .. } | Condition::Real(_) => Truth::Undefined,
        }
    }

    /// A question about the entry of the one who asks: anonymous has none, and of a name without an entry nothing is known.
    fn of_own_entry(&self, ask: impl FnOnce(&Entry) -> Truth) -> Truth {
        match &self.own {
            None => Truth::False,
            Some(own) => own.entry.as_ref().map_or(Truth::Undefined, |entry| ask(entry)),
        }
    }

    /// Is the entry so many levels above that of the one who asks?
    fn is_superior(&self, levels: usize) -> bool {
        let superior = self.query.entry.name.superior(levels);
        self.own.as_ref().is_some_and(|own| own.entry.is_some() && superior.as_ref() == Some(&own.name))
    }

    fn is_named_by(&self, attribute: &str) -> bool {
        let schema = self.world.schema();
        let mut names =
            self.query.entry.values(schema, attribute).map(|value| Name::parse(schema, dn_of(value)));
        self.own.as_ref().is_some_and(|own| names.any(|name| name.as_ref() == Some(&own.name)))
    }

    fn is_member_of_any(&self, attribute: &str) -> Truth {
        let schema = self.world.schema();
        let Some(own) = &self.own else { return Truth::False };
        let who = Candidate { name: &own.name, entry: own.entry.as_deref() };
        let groups =
            self.query.entry.values(schema, attribute).map(|value| Name::parse(schema, dn_of(value)));
        Truth::any(
            groups.map(|group| {
                group.map_or(Truth::Undefined, |group| is_member(self.world, &group, true, &who))
            }),
        )
    }

    /// Is a value of the attribute in both entries?
    fn have_in_common(&self, attribute: &str, own: &Entry) -> bool {
        let schema = self.world.schema();
        let name = model::attribute::split_options(attribute.as_bytes()).0;
        let rule = schema.find_type(name).and_then(|id| schema.attribute_type(id).equality);
        let form =
            |value: &[u8]| rule.map_or_else(|| Some(value.to_vec()), |rule| normal(schema, rule, value));
        let of_own: Vec<_> = own.values(schema, attribute).filter_map(form).collect();
        self.query.entry.values(schema, attribute).filter_map(form).any(|value| of_own.contains(&value))
    }
}
