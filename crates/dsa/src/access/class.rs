//! What is left of the rules for one requester: all that a bind decides is decided. Requesters of whom the same is left share a class, so a
//! directory has a handful of classes however many users it has.
//!
//! A decision has two halves. The half that is the same for all entries was made at the bind, and is the class: rules whose
//! subject does not match are not in it. The half that hangs on the entry is a few bits, the facts. [`Class::rights`] puts both
//! together, and depends on nothing else: equal facts of one class have equal rights. That is what makes a view of them possible,
//! and it must stay so: a decision that looked at the entry itself would be remembered for others.
//!
//! A right that cannot be settled is lost. So every question has two bits, "it is true" and "it may be true". What a rule allows
//! needs the first, what it denies is content with the second.

pub(in crate::access) mod on_values;
mod options;

use super::bounds::Bounds;
use super::rules::{Attributes, Covered, Question, Ready, RuleSet};
use crate::faults::holes;
use crate::system::is_root_dse;
use ::access::{Operation, Right, Rights};
use env::planted;
use model::{Description, TypeId};
use schema::Schema;
use smallvec::SmallVec;
use std::sync::Arc;
use store::ReadPoint;

/// What is true of an entry, as far as a class asks: a bit for each place, and two for each question. It is made for each entry that a class
/// of more than [`Class::is_simple`] looks at, so it lies in place for all rule sets but the largest.
pub(crate) type Facts = SmallVec<[u64; 4]>;

/// With a question, the facts of a class that has no more places are one word.
const PLACES_IN_WORD_MAX: usize = 62;

/// In a built-in rule: all controls, or all extended operations.
pub(super) const EVERY_OID: &str = "*";

/// A rule and one of its subjects that match a requester, as one number of a class's key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Match {
    pub(crate) rule: u32,
    pub(crate) subject: u32,
    /// It is known to match. What may match counts for what a rule denies, and not for what it allows.
    pub(crate) is_sure: bool,
}

impl Match {
    /// Distinct of distinct matches, so that a class is found by the numbers of its matches.
    /// The rule is in the upper half, so numbers are ordered as rules are.
    fn number(self) -> u64 {
        u64::from(self.rule) << 32 | u64::from(self.subject) << 1 | u64::from(self.is_sure)
    }
}

/// The rules that are left of a set, by falling rank.
#[derive(Debug)]
pub(crate) struct Class {
    pub(crate) key: Box<[u64]>,
    /// What they are left of.
    pub(crate) set: Arc<RuleSet>,
    /// What its requesters may take of the server.
    pub(crate) bounds: Bounds,
    members: Vec<Member>,
    /// Positions in the rule set.
    pub(crate) places: Vec<usize>,
    pub(crate) questions: Vec<usize>,
    /// Do rights differ from operation to operation?
    /// Then an action is part of a view's key. Else all operations share views, and a search finds those of an update.
    pub(crate) by_operation: bool,
    /// Is no more asked of an entry of the directory than whether it is the requester's?
    /// Nearly all classes are. Then a view is found without a walk up the tree, by a comparison of two words.
    pub(crate) is_simple: bool,
    /// Is no more asked of an entry than where it lies and whether it is the requester's, in one word?
    pub(crate) is_placed: bool,
    /// May every entry and every attribute be changed?
    /// It opens the door to updates that nothing else looks at ([`crate::bundle`]), so it may only be true where no
    /// right of any update could be missing: also none to disclose the entry.
    pub(crate) writes_all: bool,
    /// May every entry and every attribute be read but those that no star selects?
    /// Then the changes may be read too, which tell of entries whose rights cannot be asked any more.
    pub(crate) reads_all: bool,
    /// May every control and every extended operation be used?
    /// Then the controls of a message are not even counted. It is so where only the built-in rules are about them.
    pub(crate) uses_all: bool,
}

/// One rule of a class.
/// It keeps numbers, and not the rule: a hundred bytes for a rule that is left, whatever it names.
#[derive(Debug)]
struct Member {
    /// Position in the rule set.
    rule: usize,
    place: Option<usize>,
    within: Option<usize>,
    filter: Option<usize>,
    /// Any of these is enough for what it allows, or denies.
    allows: Vec<Alternative>,
    denies: Vec<Alternative>,
}

impl Member {
    /// Is it about every entry of the directory?
    fn is_everywhere(&self) -> bool {
        self.place.is_none() && self.within.is_none()
    }
}

/// Questions, and whether the opposite is asked. All of them.
type Alternative = SmallVec<[(usize, bool); 1]>;

/// How rules on values are taken, where no value is at hand. Where one is, it is asked by [`on_values`].
#[derive(Clone, Copy)]
pub(crate) enum OfValues {
    /// What holds for every value.
    Every,
    /// What may hold for one.
    Some,
}

/// Rights on an attribute.
/// Where both are the same, nothing hangs on values; then no value is ever looked at for its rights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OnAttribute {
    /// On all of its values.
    pub(crate) every: Rights,
    /// On some of them, perhaps.
    pub(crate) some: Rights,
}

/// May an attribute be tested in filters?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Searchable {
    Never,
    /// It depends on the entry.
    Sometimes,
    Always,
}

/// In which operation a right is asked, and of which entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Action {
    pub(crate) operation: Operation,
    /// Of the server's own entries.
    pub(crate) is_system: bool,
}

impl Action {
    /// Of entries of the directory.
    pub(crate) fn of(operation: Operation) -> Action {
        Action { operation, is_system: false }
    }
}

/// What a right is asked on.
#[derive(Clone, Copy)]
pub(crate) enum Item<'i> {
    Entry,
    Attribute(Description),
    Control(&'i str),
    Extended(&'i str),
}

impl Class {
    /// Its rules and what is left of them, as text. It is made for few requests.
    /// A later version of the program may have another text of the same rules: then cookies of the earlier one are refused, and nothing worse.
    pub(crate) fn fingerprint(&self) -> String {
        let RuleSet { rules, places, bases, questions, conditions, .. } = &*self.set;
        format!("{rules:?}{places:?}{bases:?}{questions:?}{conditions:?}{:?}", self.key)
    }

    /// Does any of its questions ask for groups or for the entry of the requester?
    pub(crate) fn hangs_on_own(&self) -> bool {
        self.questions.iter().any(|at| {
            let question = &self.set.questions[*at];
            matches!(question, Question::NamesGroup(_) | Question::Shares(_) | Question::OfStar { .. })
        })
    }

    pub(crate) fn new(set: &Arc<RuleSet>, schema: &Schema, matches: &[Match], limits: &[u64]) -> Class {
        let mut class = Class {
            key: Class::key(matches, limits),
            set: Arc::clone(set),
            bounds: Bounds::of(set, limits),
            members: Vec::new(),
            places: Vec::new(),
            questions: Vec::new(),
            by_operation: false,
            is_simple: false,
            is_placed: false,
            writes_all: false,
            reads_all: false,
            uses_all: false,
        };
        for found in matches {
            class.take(set, *found);
        }
        class.writes_all = class.may_write_all(schema);
        class.reads_all = class.may_read_all(schema);
        class.uses_all = class.may_use_all();
        let of_system = |place: &usize| set.bases[set.places[*place].base].is_system;
        class.is_placed = class.places.len() <= PLACES_IN_WORD_MAX
            && class.questions.iter().all(|question| set.questions[*question] == Question::Own);
        class.is_simple = class.is_placed && class.places.iter().all(of_system);
        class
    }

    /// What tells a class from others: the rules that are left, and what its limits come of.
    pub(crate) fn key(matches: &[Match], limits: &[u64]) -> Box<[u64]> {
        matches.iter().map(|found| found.number()).chain(limits.iter().copied()).collect()
    }

    /// Adds a rule with one of its subjects. Matches come in the order of the rule set, so the subjects of one rule come
    /// together and become the alternatives of one member.
    ///
    /// A subject that may match is put among those that deny, never among those that allow: a group that is gone takes
    /// rights away and gives none.
    fn take(&mut self, set: &RuleSet, found: Match) {
        let (at, rule) = (found.rule as usize, &set.rules[found.rule as usize]);
        if self.members.last().is_none_or(|last| last.rule != at) {
            self.by_operation |= rule.operations != ::access::Operations::ANY;
            let place = rule.place.map(|place| position_of(&mut self.places, place));
            let within = rule.within.map(|place| position_of(&mut self.places, place));
            let filter = rule.filter.map(|question| position_of(&mut self.questions, question));
            let (allows, denies) = (Vec::new(), Vec::new());
            self.members.push(Member { rule: at, place, within, filter, allows, denies });
        }
        let questions = rule.subjects[found.subject as usize].of_entry.iter();
        let alternative: Alternative = questions
            .map(|(question, negated)| (position_of(&mut self.questions, *question), *negated))
            .collect();
        let member = self.members.last_mut().expect("it was just put there");
        if found.is_sure && !rule.allow.is_empty() {
            member.allows.push(alternative.clone());
        }
        if !rule.deny.is_empty() {
            member.denies.push(alternative);
        }
    }

    /// Number of bits of its facts.
    pub(crate) fn facts_len(&self) -> usize {
        self.places.len() + 2 * self.questions.len()
    }

    /// A rule without a place is about the entries of the directory, not about the server's own.
    /// Without this the root DSE, `cn=config` and the monitor would be open to those who may read all of the directory.
    fn is_at(&self, member: &Member, (facts, action): (&Facts, Action)) -> bool {
        member.within.is_none_or(|place| !action.is_system && has(facts, place))
            && member.place.map_or(!action.is_system, |place| has(facts, place))
    }

    /// Was a question about the entry answered with yes?
    fn is_true(&self, facts: &Facts, question: usize) -> bool {
        has(facts, self.places.len() + 2 * question)
    }

    /// Was it answered with yes, or could it not be answered?
    /// A rule that denies counts then, and one that allows does not.
    fn may_be_true(&self, facts: &Facts, question: usize) -> bool {
        has(facts, self.places.len() + 2 * question + 1)
    }

    /// The rights on an item of entries of which these facts are true.
    pub(crate) fn rights(
        &self,
        schema: &Schema,
        facts: &Facts,
        action: Action,
        item: Item<'_>,
        values: OfValues,
    ) -> Rights {
        self.rights_noting(schema, (facts, action), item, values, |_, _, _| {})
    }

    /// For each of these rights the rule that decides it on all values of an item, and whether it allows; none of a right that no
    /// rule gives. Of several rules of one rank that deny, or else allow, it is the first.
    pub(crate) fn reasons(
        &self,
        schema: &Schema,
        (facts, action): (&Facts, Action),
        item: Item<'_>,
        rights: &[Right],
    ) -> Vec<Option<(bool, &str)>> {
        // The walk is that of a decision, so a reason cannot be another one than what decided.
        let mut found = vec![None; rights.len()];
        // Notes come by falling rank, and none of a right on which a higher rank has spoken.
        self.rights_noting(schema, (facts, action), item, OfValues::Every, |rule, allow, deny| {
            for (reason, right) in found.iter_mut().zip(rights) {
                match *reason {
                    None | Some((true, _)) if deny.has(*right) => *reason = Some((false, rule)),
                    None if allow.has(*right) => *reason = Some((true, rule)),
                    _ => {}
                }
            }
        });
        found
            .into_iter()
            .map(|reason| reason.map(|(allows, rule)| (allows, &*self.set.rules[rule].name)))
            .collect()
    }

    /// As [`Class::rights`]; `note` gets each rule that has a say: its position, and what it allows and denies.
    #[inline]
    fn rights_noting(
        &self,
        schema: &Schema,
        (facts, action): (&Facts, Action),
        item: Item<'_>,
        values: OfValues,
        note: impl FnMut(usize, Rights, Rights),
    ) -> Rights {
        let allows = |member: &Member| self.allows(member, (facts, action));
        let denies = |member: &Member| self.denies(member, (facts, action));
        let covers = |rule: &Ready| rule.operations.has(action.operation) && covers(rule, schema, item);
        self.decide(covers, allows, denies, values, note)
    }

    // The two differ in which of the two bits they ask for, and in nothing else. A change of one needs a look at the other: what is neither
    // surely true nor surely false must come out of both to the requester's disadvantage.

    /// Is what a rule allows allowed on entries of which these facts are true?
    fn allows(&self, member: &Member, (facts, action): (&Facts, Action)) -> bool {
        self.is_at(member, (facts, action))
            && member.filter.is_none_or(|question| self.is_true(facts, question))
            && member.allows.iter().any(|all| {
                all.iter().all(|(question, negated)| match negated {
                    false => self.is_true(facts, *question),
                    true => !self.may_be_true(facts, *question),
                })
            })
    }

    /// Is what a rule denies denied?
    fn denies(&self, member: &Member, (facts, action): (&Facts, Action)) -> bool {
        self.is_at(member, (facts, action))
            && member.filter.is_none_or(|question| self.may_be_true(facts, question))
            && member.denies.iter().any(|all| {
                all.iter().all(|(question, negated)| match negated {
                    false => self.may_be_true(facts, *question),
                    true => !self.is_true(facts, *question),
                })
            })
    }

    /// The rules of the highest rank decide; one of them that denies is enough. What no rule is about is denied.
    fn decide(
        &self,
        covers: impl Fn(&Ready) -> bool,
        allows: impl Fn(&Member) -> bool,
        denies: impl Fn(&Member) -> bool,
        values: OfValues,
        mut note: impl FnMut(usize, Rights, Rights),
    ) -> Rights {
        // `decided` has the rights on which a higher rank has spoken: lower ones have no say in these, be it to allow or to
        // deny. Each right is decided by itself, so one walk over the rules answers for all of them.
        let (mut allowed, mut decided) = (Rights::NONE, Rights::NONE);
        let mut members = &self.members[..];
        while let Some(first) = members.first() {
            let rank = self.set.rules[first.rule].rank;
            let equal = members.iter().take_while(|member| self.set.rules[member.rule].rank == rank).count();
            let (mut allow, mut deny) = (Rights::NONE, Rights::NONE);
            for member in &members[..equal] {
                let rule = &self.set.rules[member.rule];
                let open = (rule.allow | rule.deny).without(decided);
                if open.is_empty() || !covers(rule) {
                    continue;
                }
                // A rule on values speaks for the attribute as a whole only where that cannot give anything away: of every value it
                // can take rights and give none, of some value it can give them.
                let (may_allow, may_deny) = match (&rule.values, values) {
                    (None, _) => (true, true),
                    (Some(_), OfValues::Every) => (false, true),
                    (Some(_), OfValues::Some) => (true, false),
                };
                let own_allow = if may_allow && allows(member) { rule.allow } else { Rights::NONE };
                let own_deny = if may_deny && denies(member) { rule.deny } else { Rights::NONE };
                note(member.rule, own_allow.without(decided), own_deny.without(decided));
                allow |= own_allow;
                deny |= own_deny;
            }
            allowed |= allow.without(deny).without(decided);
            decided |= allow | deny;
            members = &members[equal..];
        }
        allowed
    }

    /// May an attribute be tested, on some entries or on all?
    /// The answer is the bracket of two extremes: rights where all that can deny denies, and where all that can allow
    /// allows. Only if both agree can a filter be compiled once for all entries. Everything in between is `Sometimes`: such a
    /// filter is judged once more for each entry that it finds, and is never kept as a query template.
    ///
    /// Rules about the server's own entries say nothing of those of the directory.
    pub(crate) fn searchable(&self, schema: &Schema, attribute_type: TypeId, is_system: bool) -> Searchable {
        let item = Item::Attribute(Description::plain(attribute_type));
        let is_elsewhere = |rule: &Ready| !is_system && self.is_of_system(rule);
        let about = |rule: &Ready| {
            rule.operations.has(Operation::Search) && covers(rule, schema, item) && !is_elsewhere(rule)
        };
        // Of one name that stands for attributes with different rights it is not known before the entry which it has.
        let splits = |member: &Member| {
            let rule = &self.set.rules[member.rule];
            (rule.allow | rule.deny).has(Right::Search)
                && !is_elsewhere(rule)
                && rule.operations.has(Operation::Search)
                && matches!(&rule.items, Covered::Attributes(all) if all.splits(schema, attribute_type))
        };
        if self.members.iter().any(splits) {
            return Searchable::Sometimes;
        }
        if self.worst(about).has(Right::Search) {
            return Searchable::Always;
        }
        let best = self.decide(
            about,
            |member| !member.allows.is_empty(),
            |member| is_settled(member, &member.denies),
            OfValues::Some,
            |_, _, _| {},
        );
        if planted::is(holes::FILTER_NOT_JUDGED) {
            return Searchable::Always;
        }
        if best.has(Right::Search) { Searchable::Sometimes } else { Searchable::Never }
    }

    /// Is every entry of the directory found and returned, and may every value of an attribute be read in it? Then nothing that a search shows tells of an
    /// entry or a value that is hidden, for there is none.
    pub(crate) fn reads_all(&self, schema: &Schema, attribute_type: TypeId) -> bool {
        let sees = |item: Item<'_>, needed: Rights| {
            let about = |rule: &Ready| {
                rule.operations.has(Operation::Search)
                    && covers(rule, schema, item)
                    && !self.is_of_system(rule)
            };
            needed.without(self.worst(about)).is_empty()
        };
        // A name without options stands for all of them, and for the subtypes.
        let types = schema.subtypes(attribute_type);
        let splits = self.members.iter().any(|member| match &self.set.rules[member.rule].items {
            Covered::Attributes(all) => types.iter().any(|of| all.splits(schema, *of)),
            Covered::Controls(_) | Covered::Extended(_) => false,
        });
        !splits
            && sees(Item::Entry, Rights::of(&[Right::Disclose, Right::Read]))
            && types.iter().all(|of| {
                sees(Item::Attribute(Description::plain(*of)), Rights::of(&[Right::Search, Right::Read]))
            })
    }

    /// The rights that are there on every entry: where all that can deny denies.
    fn worst(&self, about: impl Fn(&Ready) -> bool) -> Rights {
        self.decide(
            about,
            |member| is_settled(member, &member.allows),
            |member| !member.denies.is_empty(),
            OfValues::Every,
            |_, _, _| {},
        )
    }

    /// Is a rule about the server's own entries? Then it is about none of the directory.
    fn is_of_system(&self, rule: &Ready) -> bool {
        rule.place.is_some_and(|place| self.set.bases[self.set.places[place].base].is_system)
    }

    /// Is there nothing that an update could lack a right for? Only if one rule allows all changes of entries, one all changes of
    /// attributes, and none denies any of it.
    fn may_write_all(&self, schema: &Schema) -> bool {
        // Also who may change every entry does not learn of those that are hidden, nor changes them by chance.
        self.may_all(Rights::EDIT | Rights::of(&[Right::Disclose]), Rights::WRITE, &|attributes| {
            attributes.is_every(schema)
        })
    }

    /// Is there nothing that may not be read? As of [`Class::may_write_all`], by the rules for all entries alone.
    fn may_read_all(&self, schema: &Schema) -> bool {
        let read = Rights::of(&[Right::Read]);
        self.may_all(Rights::of(&[Right::Disclose, Right::Read]), read, &|attributes| {
            attributes.is_every_shown(schema)
        })
    }

    /// Does one rule allow something on all entries, and one something on attributes of all entries, and does none deny any of it on any?
    fn may_all(&self, on_entry: Rights, on_attributes: Rights, of: &dyn Fn(&Attributes) -> bool) -> bool {
        let needed = on_entry | on_attributes;
        let denies = self.members.iter().any(|member| {
            let rule = &self.set.rules[member.rule];
            !member.denies.is_empty() && !rule.deny.and(needed).is_empty() && !self.is_of_system(rule)
        });
        let always = |member: &Member| {
            let rule = &self.set.rules[member.rule];
            member.is_everywhere()
                && member.filter.is_none()
                && rule.values.is_none()
                && rule.operations == ::access::Operations::ANY
                && member.allows.iter().any(|all| all.is_empty())
        };
        let allows = |rights: Rights, covers: &dyn Fn(&Attributes) -> bool| {
            self.members.iter().filter(|member| always(member)).any(|member| {
                let rule = &self.set.rules[member.rule];
                let Covered::Attributes(attributes) = &rule.items else { return false };
                rights.without(rule.allow).is_empty() && covers(attributes)
            })
        };
        !denies && allows(on_entry, &|attributes| attributes.entry) && allows(on_attributes, of)
    }

    /// Are the built-in rules the only ones about controls and extended operations?
    /// A rule about one OID is enough to say no, also one that allows: which it is is found out when that OID is used.
    fn may_use_all(&self) -> bool {
        let every = |oids: &[String]| oids.len() == 1 && oids[0] == EVERY_OID;
        let (mut controls, mut extended) = (false, false);
        for member in &self.members {
            let rule = &self.set.rules[member.rule];
            match &rule.items {
                Covered::Attributes(_) => {}
                Covered::Controls(oids) if every(oids) && rule.deny.is_empty() => controls = true,
                Covered::Extended(oids) if every(oids) && rule.deny.is_empty() => extended = true,
                // One that is about some is looked at when these are used.
                Covered::Controls(_) | Covered::Extended(_) => return false,
            }
        }
        controls && extended
    }

    /// Is there a rule that allows a right, on whatever it is?
    /// Denials are not looked at, so it may say yes where in the end there is nothing. Where the answer guards something
    /// (who may be assumed by whom) that is the safe side.
    /// `by_entries`: do rules of entries count?
    pub(crate) fn is_given(&self, right: Right, by_entries: bool) -> bool {
        let counts = |member: &Member| by_entries || member.within.is_none();
        self.members.iter().any(|member| {
            counts(member) && !member.allows.is_empty() && self.set.rules[member.rule].allow.has(right)
        })
    }

    /// As [`Class::is_given`], on some of the server's own entries below a name. `is_in`: is a name that one, or below it?
    pub(crate) fn is_given_below(&self, right: Right, is_in: &dyn Fn(&[u8]) -> bool) -> bool {
        let givers = self.members.iter().filter(|member| !member.allows.is_empty());
        let rules = givers.map(|member| &self.set.rules[member.rule]).filter(|rule| rule.allow.has(right));
        rules.filter_map(|rule| rule.place).any(|place| {
            let place = self.set.places[place];
            let dn = self.set.bases[place.base].dn.as_bytes();
            is_in(dn) || (is_root_dse(dn) && place.levels.1 > 0)
        })
    }

    /// Of the questions that it asks, those whose answer can change while an entry keeps its name, with the answer of these facts:
    /// true, or certainly not true.
    pub(crate) fn answers<'c>(&'c self, facts: &'c Facts) -> impl Iterator<Item = (&'c Question, bool)> + 'c {
        self.questions.iter().enumerate().filter_map(move |(at, question)| {
            let question = &self.set.questions[*question];
            // An id and a place are given with the name that the command has; content is not.
            let can_change =
                !matches!(question, Question::Own | Question::Parent(_) | Question::OfStar { .. });
            // Undefined counts against the requester already.
            let is_known = self.is_true(facts, at) || !self.may_be_true(facts, at);
            (can_change && is_known).then(|| (question, self.is_true(facts, at)))
        })
    }
}

/// Does one of these alternatives of a rule hold on every entry?
fn is_settled(member: &Member, all: &[Alternative]) -> bool {
    member.is_everywhere() && member.filter.is_none() && all.iter().any(|all| all.is_empty())
}

/// Is a rule about an item?
/// An item of one kind is never covered by a rule on another: `attrs=*` gives no right to use controls.
fn covers(rule: &Ready, schema: &Schema, item: Item<'_>) -> bool {
    match (&rule.items, item) {
        (Covered::Attributes(attributes), Item::Entry) => attributes.entry,
        (Covered::Attributes(attributes), Item::Attribute(description)) => {
            attributes.has(schema, description)
        }
        (Covered::Controls(oids), Item::Control(oid)) | (Covered::Extended(oids), Item::Extended(oid)) => {
            oids.iter().any(|other| other == oid || other == EVERY_OID)
        }
        _ => false,
    }
}

/// Where a class is looked for. Keyed, for which rules match is to a part the choice of clients.
pub(super) fn hash(key: &[u64], read_point: ReadPoint<'_>) -> u64 {
    let bytes: Vec<u8> = key.iter().flat_map(|number| number.to_le_bytes()).collect();
    read_point.shard().keyed_hash(&bytes)
}

#[inline]
fn has(facts: &Facts, bit: usize) -> bool {
    facts.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
}

/// Lists are short, a few dozen at most, and are made once for a class: a map would be no faster.
fn position_of(list: &mut Vec<usize>, value: usize) -> usize {
    list.iter().position(|other| *other == value).unwrap_or_else(|| {
        list.push(value);
        list.len() - 1
    })
}
