//! Directives of OpenLDAP as rules. The first directive and the first clause in it that fit decide there, so each clause gets a rank of its
//! own, the first the highest; behind the clauses of a directive comes a rule that denies.

use super::build::{anyone, at, test};
use super::openldap_what::What;
use super::openldap_who::{Clause, Directive};
use super::translation::Translation;
use crate::right::{Right, Rights};
use crate::rule::{
    AttributeSelector, Condition, Items, Operation, Operations, Place, Reach, Rule, Subject, Target, Test,
    ValueTest,
};

/// What a directive decides about attributes and the entry.
const DECIDED: Rights = Rights::of(&[
    Right::Disclose,
    Right::Search,
    Right::Compare,
    Right::Read,
    Right::Auth,
    Right::Add,
    Right::Delete,
    Right::Increment,
    Right::Manage,
]);
/// What needs `entry` and, of the superior, `children`.
const OF_CHILDREN: Rights = Rights::of(&[Right::Create, Right::Remove, Right::Rename, Right::MoveOut]);

/// Writes the rules of one database.
pub(super) fn emit(
    prefix: &str,
    suffixes: &[String],
    directives: &[Directive],
    allows_anonymous: bool,
    done: &mut Translation,
) {
    let spread = suffixes.len().max(1);
    let rules: usize = directives.iter().map(|directive| (directive.clauses.len() + 1) * spread).sum();
    // Two ranks for each: what is allowed of one's own DN is above what is denied of others.
    let top = 2 * rules as u32 + 2;
    let mut emitting = Emitting { prefix, rank: top, top, done };
    for (number, directive) in directives.iter().enumerate() {
        emitting.directive(number + 1, directive, suffixes, directives);
    }
    let Some(last) = directives.last() else { return };
    // `access to * by * none` is behind all others.
    let wide = What::everything();
    let is_open = |clause: &Clause| {
        clause.rights.and(Rights::WRITE) != Rights::NONE && !clause.tests.iter().any(is_of_users)
    };
    if !allows_anonymous && directives.iter().flat_map(|directive| &directive.clauses).any(is_open) {
        // slapd refuses updates of anonymous clients unless `allow update_anon` is set.
        emitting.rank = 3 * top;
        let anonymous = vec![Subject(vec![test(Condition::Anonymous)])];
        for what in places(&wide, suffixes) {
            let denied = (Rights::NONE, Rights::WRITE | Rights::EDIT);
            emitting.main(last.line, &format!("{prefix}-bind-first"), &what, anonymous.clone(), denied);
        }
    }
    emitting.rank = 1;
    for what in places(&wide, suffixes) {
        emitting.main(
            last.line,
            &format!("{prefix}-end"),
            &what,
            anyone(),
            (Rights::NONE, DECIDED | Rights::EDIT),
        );
    }
}

struct Emitting<'e> {
    prefix: &'e str,
    rank: u32,
    /// Above the ranks of all clauses.
    top: u32,
    done: &'e mut Translation,
}

impl Emitting<'_> {
    fn directive(&mut self, number: usize, directive: &Directive, suffixes: &[String], all: &[Directive]) {
        let Directive { line, what, clauses } = directive;
        let clauses = &apart(clauses);
        let grants = |clause: &Clause| clause.rights.has(Right::Read) || clause.rights.has(Right::Search);
        let is_restricted = || all.iter().take(number - 1).any(|other| names_passwords(&other.what));
        let is_single = matches!(&what.place, Place::At(Reach::Base, pattern) if !pattern.each_below);
        if what.is_wide && !is_single && clauses.iter().any(grants) && !is_restricted() {
            self.done.remark(*line, "it reaches userPassword and other secrets, as it did");
        }
        for what in places(what, suffixes) {
            for (at, clause) in clauses.iter().enumerate() {
                self.rank -= 2;
                let name = format!("{}-{number}-{}", self.prefix, at + 1);
                let behind =
                    clauses[at + 1..].iter().chain(all[number..].iter().flat_map(|other| &other.clauses));
                if clause.goes_on && behind.into_iter().any(|later| takes_away(later, clause)) {
                    let why = "a clause behind `break` or `continue` may take its rights away again; here they would stay";
                    self.done.leave(*line, &format!("clause {} of directive {number}", at + 1), why);
                    continue;
                }
                self.clause(*line, &name, &what, clause, all);
            }
            self.rank -= 2;
            match others(clauses) {
                Ok(None) => {}
                Ok(Some(others)) => {
                    self.close(*line, &format!("{}-{number}-end", self.prefix), &what, others)
                }
                Err(why) => {
                    self.done.leave(*line, &format!("directive {number}"), why);
                    self.close(*line, &format!("{}-{number}-end", self.prefix), &what, anyone());
                }
            }
        }
    }

    fn clause(&mut self, line: u64, name: &str, what: &What, clause: &Clause, all: &[Directive]) {
        let subjects = vec![Subject(clause.tests.clone())];
        let edits = edits(clause.rights);
        // `self` before a level: all of it is about values that are the requester's DN.
        let own = if clause.is_self_write { clause.rights.and(DECIDED) } else { Rights::NONE };
        let mut allow = clause.rights.without(own);
        let mut deny = DECIDED.without(allow);
        if what.entry {
            deny |= OF_CHILDREN.without(edits);
        }
        if what.children {
            let move_in = Rights::of(&[Right::MoveIn]);
            if clause.rights.has(Right::Add) { allow |= move_in } else { deny |= move_in }
        }
        if !clause.is_absolute || clause.goes_on {
            deny = Rights::NONE;
        }
        self.main(line, name, what, subjects.clone(), (allow, deny));
        if !own.is_empty() {
            let what =
                What { values: Some(ValueTest::Requester), entry: false, children: false, ..what.clone() };
            self.rank += 1;
            self.main(line, &format!("{name}-self"), &what, subjects, (own, Rights::NONE));
            self.rank -= 1;
        }
        if what.children && !clause.is_self_write {
            self.children(line, name, what, clause, all);
        }
    }

    /// What may be done with entries below: `children` of the superior together with `entry`.
    fn children(&mut self, line: u64, name: &str, what: &What, clause: &Clause, all: &[Directive]) {
        let edits = edits(clause.rights);
        let Some(place) = below(what) else {
            if !edits.is_empty() {
                let why =
                    "`children` of this place has no counterpart: a rule is about the entries themselves";
                self.done.leave(line, name, why);
            }
            return;
        };
        let is_covered = what.entry && !matches!(place, Place::At(Reach::One, _));
        let hangs_on_entry = clause.tests.iter().any(|test| test.condition.depends_on_entry());
        let shifted = shifted(&clause.tests);
        let deny =
            if clause.is_absolute && !clause.goes_on { OF_CHILDREN.without(edits) } else { Rights::NONE };
        if edits.is_empty() || hangs_on_entry {
            // The entries themselves are denied already, but to those who are known by their superior.
            return match shifted {
                Some(subject) if !is_covered || hangs_on_entry => {
                    self.below(line, name, &place, vec![subject], (Rights::NONE, deny))
                }
                None if !(edits.is_empty() && deny.is_empty()) => {
                    self.done.leave(
                        line,
                        name,
                        "`children` by an attribute of the superior has no counterpart",
                    );
                }
                _ => {}
            };
        }
        let own = shifted.map(|subject| vec![subject]).unwrap_or_default();
        let subjects = if is_covered { own } else { with_entry(&clause.tests, &place, all) };
        if subjects.is_empty() {
            return self.done.leave(line, name, "nobody has both `children` here and `entry` below it");
        }
        self.below(line, name, &place, subjects.clone(), (edits, deny));
        if edits.has(Right::Create) {
            // OpenLDAP looks at no attribute of an entry that is added.
            let items = Items::Attributes(vec![AttributeSelector::Every]);
            let operations = Operations::of([Operation::Add]);
            let target = Target { place, filter: None, items, values: None, operations };
            let (allow, deny) = (Rights::of(&[Right::Add]), Rights::NONE);
            let rank = self.top + self.rank;
            self.done
                .push(line, Rule { name: format!("{name}-content"), target, subjects, allow, deny, rank });
        }
    }

    /// A rule about the entries that are edited.
    fn below(
        &mut self,
        line: u64,
        name: &str,
        place: &Place,
        subjects: Vec<Subject>,
        (allow, deny): (Rights, Rights),
    ) {
        if (allow | deny).is_empty() {
            return;
        }
        let items = Items::Attributes(vec![AttributeSelector::Entry]);
        let target =
            Target { place: place.clone(), filter: None, items, values: None, operations: Operations::ANY };
        self.done.push(
            line,
            Rule { name: format!("{name}-below"), target, subjects, allow, deny, rank: self.rank },
        );
    }

    /// `by * none` behind the clauses of a directive.
    fn close(&mut self, line: u64, name: &str, what: &What, subjects: Vec<Subject>) {
        let of_entry = if what.entry { OF_CHILDREN } else { Rights::NONE };
        let of_children = if what.children { Rights::of(&[Right::MoveIn]) } else { Rights::NONE };
        self.main(line, name, what, subjects.clone(), (Rights::NONE, DECIDED | of_entry | of_children));
        let is_apart = |place: &Place| !what.entry || matches!(place, Place::At(Reach::One, _));
        if let Some(place) = below(what).filter(|place| what.children && is_apart(place)) {
            self.below(line, name, &place, subjects, (Rights::NONE, OF_CHILDREN));
        }
    }

    /// A rule about what a directive is about.
    fn main(
        &mut self,
        line: u64,
        name: &str,
        what: &What,
        subjects: Vec<Subject>,
        (allow, deny): (Rights, Rights),
    ) {
        let rights = if what.selectors.is_empty() && !what.entry {
            Rights::of(&[Right::MoveIn])
        } else {
            Rights::ALL | Rights::of(&[Right::Manage])
        };
        let (allow, deny) = (allow.and(rights), deny.and(rights));
        if (allow | deny).is_empty() {
            return;
        }
        let entry = (what.entry || what.children).then_some(AttributeSelector::Entry);
        let selectors = entry.into_iter().chain(what.selectors.iter().cloned()).collect();
        let items = Items::Attributes(selectors);
        let (filter, values) = (what.filter.clone(), what.values.clone());
        let target = Target { place: what.place.clone(), filter, items, values, operations: Operations::ANY };
        self.done.push(line, Rule { name: name.to_owned(), target, subjects, allow, deny, rank: self.rank });
    }
}

/// The clauses, those behind a `break` for others than whom it takes to the next directive.
fn apart(clauses: &[Clause]) -> Vec<Clause> {
    let (mut taken, mut apart) = (Vec::new(), Vec::new());
    for clause in clauses {
        let more = taken.iter().filter(|test| !clause.tests.contains(test)).cloned();
        let tests = clause.tests.iter().cloned().chain(more).collect();
        apart.push(Clause { tests, ..clause.clone() });
        match clause.tests.as_slice() {
            [one] if clause.breaks => taken.push(Test { negated: !one.negated, ..one.clone() }),
            // Nobody is known to be left.
            _ if clause.breaks => break,
            _ => {}
        }
    }
    apart
}

/// For whom a directive ends with `by * none`: all whom no `break` takes to the next. `None`: for nobody.
fn others(clauses: &[Clause]) -> Result<Option<Vec<Subject>>, &'static str> {
    let mut tests = Vec::new();
    for clause in clauses.iter().filter(|clause| clause.breaks) {
        match clause.tests.as_slice() {
            [one] if one.condition == Condition::Anyone => return Ok(None),
            [one] => tests.push(Test { negated: !one.negated, ..one.clone() }),
            _ => {
                return Err(
                    "`break` of a clause with several conditions is not carried over: what is behind it does not count",
                );
            }
        }
    }
    Ok(Some(if tests.is_empty() { anyone() } else { vec![Subject(tests)] }))
}

/// Does a condition hold of those alone who bound?
fn is_of_users(test: &Test) -> bool {
    !test.negated
        && (test.condition.depends_on_entry()
            || matches!(
                test.condition,
                Condition::Users | Condition::Dn(..) | Condition::Group { .. } | Condition::UserFilter(_)
            ))
}

/// May a later clause end up with less than one that goes on has given?
fn takes_away(later: &Clause, earlier: &Clause) -> bool {
    later.is_absolute && later.rights.and(earlier.rights) != earlier.rights
}

/// The places of a directive: of one that is about all entries, the naming contexts of its database.
fn places(what: &What, suffixes: &[String]) -> Vec<What> {
    match &what.place {
        Place::All if !suffixes.is_empty() => {
            suffixes.iter().map(|dn| What { place: at(Reach::Subtree, dn), ..what.clone() }).collect()
        }
        _ => vec![what.clone()],
    }
}

/// Where entries lie whose superior lies at a place. Below `one` and `children` no place is meant, and a filter is about the superior.
fn below(what: &What) -> Option<Place> {
    if what.filter.is_some() {
        return None;
    }
    match &what.place {
        Place::All => Some(Place::All),
        Place::At(Reach::Base, pattern) if !pattern.each_below => Some(at(Reach::One, &pattern.dn)),
        Place::At(Reach::Subtree, pattern) if !pattern.each_below => Some(at(Reach::Children, &pattern.dn)),
        Place::At(..) => None,
    }
}

/// What may be done with entries, by what may be done with `children`.
fn edits(rights: Rights) -> Rights {
    let of = |right: Right, given: &[Right]| if rights.has(right) { Rights::of(given) } else { Rights::NONE };
    let both = rights.has(Right::Add) && rights.has(Right::Delete);
    let all = of(Right::Add, &[Right::Create]) | of(Right::Delete, &[Right::Remove, Right::MoveOut]);
    if both { all | Rights::of(&[Right::Rename]) } else { all }
}

/// Who it is, seen from an entry below: oneself is its superior then. `None` if that cannot be said.
fn shifted(tests: &[Test]) -> Option<Subject> {
    let shift = |test: &Test| match test.condition {
        Condition::Requester => Some(Test { condition: Condition::Parent(1), ..test.clone() }),
        Condition::Parent(levels) => Some(Test { condition: Condition::Parent(levels + 1), ..test.clone() }),
        _ if test.condition.depends_on_entry() => None,
        _ => Some(test.clone()),
    };
    tests.iter().map(shift).collect::<Option<_>>().map(Subject)
}

/// Those of `children` who also may write `entry` of what lies below.
fn with_entry(tests: &[Test], place: &Place, all: &[Directive]) -> Vec<Subject> {
    let Some(own) = shifted(tests) else { return Vec::new() };
    let mut subjects = Vec::new();
    let covering = all.iter().filter(|other| other.what.entry && reaches(&other.what.place, place));
    for clause in covering.flat_map(|other| &other.clauses).filter(|clause| clause.rights.has(Right::Add)) {
        let more =
            clause.tests.iter().filter(|test| test.condition != Condition::Anyone && !own.0.contains(test));
        let subject = Subject(own.0.iter().cloned().chain(more.cloned()).collect());
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    subjects
}

/// Does a place have all entries of another in it?
fn reaches(general: &Place, special: &Place) -> bool {
    match (general, special) {
        (Place::All, _) => true,
        (Place::At(Reach::Subtree | Reach::Children, general), Place::At(_, special)) => {
            let plain = |dn: &str| dn.to_ascii_lowercase().replace(", ", ",");
            let (general, special) = (plain(&general.dn), plain(&special.dn));
            special == general || special.ends_with(&format!(",{general}"))
        }
        (general, special) => general == special,
    }
}

/// Does a directive decide about passwords?
fn names_passwords(what: &What) -> bool {
    let is_password = |selector: &AttributeSelector| matches!(selector, AttributeSelector::Named { description, .. } if description.eq_ignore_ascii_case("userPassword"));
    what.selectors.iter().any(is_password)
}
