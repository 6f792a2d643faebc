//! What is true of an entry, as far as rules ask: where it lies, and the answers to their questions.
//!
//! A question that cannot be answered is undefined. That counts against the requester: it is not true for what a rule allows, and true for
//! what a rule denies.
//!
//! What is answered here is remembered as bits of a view's key, and never longer than the look at one entry: the next entry is
//! asked again. So a change of an entry takes effect with the next look at it, and nothing has to be invalidated. What is kept
//! between entries is only what makes asking cheap: filters that are compiled, and places of superiors.
//!
//! The same questions are asked of three kinds of read points: of the directory, of the server's own entries, and of the view or
//! overlay of a transaction. The last has copies of a few entries only. An entry that is missing there may well exist, so "not
//! found" must never come out as "no" where a rule denies by it.

use super::candidate::each_value;
use super::class::{Action, Class, Facts};
use super::groups::Groups;
use super::places::Places;
use super::requester::{Requester, lies};
use super::rules::{Question, RuleSet};
use crate::own_entry::OwnEntry;
use ::access::{Condition, with_rdn};
use model::dn::split_first;
use model::filter::Assertion;
use model::{Csn, Description, EntryId, Filter};
use std::sync::Arc;
use store::search::Compiled;
use store::search::evaluate::{Evaluator, Truth};
use store::{DnCache, EntryRef, ReadPoint};

/// What a question came to that is made of the requester's own entry: that entry with the time of its last change, and the
/// filter: none if the entry has no value to ask for. Last, the commit sequence at which it was made: an entry gets another name with its
/// superior, and is not changed by that.
type OwnFilter = (OwnEntry, Option<Csn>, Option<Compiled>, u64);

/// Finds out what is true of entries. It remembers places, and filters that are ready.
/// It belongs to a thread. None of what it keeps is right for another rule set, hence [`Finder::turn_to`].
#[derive(Default)]
pub(super) struct Finder {
    /// Of the directory, and of the server's own entries.
    places: [Places; 2],
    /// Address of the directory's shard. What a transaction has made is kept in others, of which no place is remembered.
    directory: usize,
    /// The rule set that all of this is of.
    set: Option<Arc<RuleSet>>,
    /// The filters among its questions.
    filters: Vec<Option<Compiled>>,
    /// By question: those that are made of the requester's own entry. A search asks them of each entry for the same requester.
    own: Vec<Option<OwnFilter>>,
}

impl Finder {
    /// The directory is that of this read point.
    #[inline]
    pub(super) fn at(&mut self, read_point: ReadPoint<'_>) {
        self.directory = address(read_point);
    }

    /// The generation of the places of an entry of the directory, if those of its siblings are the same.
    pub(super) fn generation_of(&self, entry: &EntryRef<'_>, read_point: ReadPoint<'_>) -> Option<u64> {
        let [places, _] = &self.places;
        (self.is_about(read_point) && !places.may_be_base(entry.id)).then(|| places.generation())
    }

    /// Are the places of an entry those that entries of its superior had in a generation?
    #[inline]
    pub(super) fn holds(
        &self,
        set: &Arc<RuleSet>,
        generation: u64,
        id: EntryId,
        read_point: ReadPoint<'_>,
    ) -> bool {
        let [places, _] = &self.places;
        places.holds(generation, read_point.sequence())
            && !places.may_be_base(id)
            && self.is_about(read_point)
            && self.set.as_ref().is_some_and(|own| Arc::ptr_eq(own, set))
    }

    /// Is a read point one of the directory?
    pub(super) fn is_about(&self, read_point: ReadPoint<'_>) -> bool {
        self.directory == address(read_point)
    }

    /// Is about a rule set from here on. It is mostly the one that it was about before.
    /// Two rule sets alternate only while sessions keep the classes that they bound with (`access.refresh = "bind"`), or
    /// while the committer reads for an answer that was decided under former rules. Then all of this is made anew at each turn:
    /// some microseconds, and only by then.
    fn turn_to(&mut self, set: &Arc<RuleSet>, read_point: ReadPoint<'_>) {
        if self.set.as_ref().is_some_and(|own| Arc::ptr_eq(own, set)) {
            return;
        }
        self.places.iter_mut().for_each(Places::forget);
        self.own.clear();
        self.own.resize_with(set.questions.len(), || None);
        let ready = |question: &Question| match question {
            // No rule is about what a filter of another rule may see.
            Question::Filter(filter) => Some(Compiled::new(&filter.filter(), read_point.shard(), &|_| true)),
            _ => None,
        };
        self.filters = set.questions.iter().map(ready).collect();
        self.set = Some(Arc::clone(set));
    }

    /// What is true of an entry, for a class of the rule set.
    pub(super) fn facts(
        &mut self,
        class: &Class,
        (who, action, groups): (Requester, Action, &mut Groups),
        entry: &EntryRef<'_>,
        read_point: ReadPoint<'_>,
        evaluator: &mut Evaluator,
    ) -> Facts {
        let place = (entry.id, entry.parent());
        let mut facts = self.place_facts(class, action, place, read_point, &mut evaluator.cache);
        for (at, question) in class.questions.iter().enumerate() {
            let truth = match action.is_system {
                // No rule asks more of the server's own entries than where they are.
                true => Truth::Undefined,
                false => self.answer(&class.set, *question, (who, groups), entry, read_point, evaluator),
            };
            put_answer(class, &mut facts, at, truth);
        }
        facts
    }

    /// What is true of an entry in this place, without an answer to any question.
    pub(super) fn place_facts(
        &mut self,
        class: &Class,
        action: Action,
        place: (EntryId, EntryId),
        read_point: ReadPoint<'_>,
        cache: &mut DnCache,
    ) -> Facts {
        self.turn_to(&class.set, read_point);
        let mut facts: Facts = std::iter::repeat_n(0, class.facts_len().div_ceil(64).max(1)).collect();
        if !class.places.is_empty() {
            let set = &class.set;
            let Finder { places, directory, .. } = self;
            // The overlay of a transaction has the directory's ids, but other superiors, so its places are not mixed with those.
            let is_passing = !action.is_system && address(read_point) != *directory;
            let mut passing = Places::default();
            let places = match is_passing {
                true => &mut passing,
                false => &mut places[usize::from(action.is_system)],
            };
            let levels = places.levels(&set.bases, place, read_point, cache);
            for (bit, place) in class.places.iter().enumerate() {
                let place = &set.places[*place];
                if place.has(levels[place.base]) {
                    facts[bit / 64] |= 1 << (bit % 64);
                }
            }
        }
        facts
    }

    /// The answer to a question. *False* needs proof that it is so; what could be asked of the directory and cannot be asked here is undefined.
    /// The cost is one evaluation of a filter at most, but for groups that the entry names, which have bounds of their own.
    fn answer(
        &mut self,
        set: &RuleSet,
        question: usize,
        (who, groups): (Requester, &mut Groups),
        entry: &EntryRef<'_>,
        read_point: ReadPoint<'_>,
        evaluator: &mut Evaluator,
    ) -> Truth {
        let truth = |is_so| if is_so { Truth::True } else { Truth::False };
        match &set.questions[question] {
            Question::Own => truth(who.own.is_some_and(|own| own.is(entry))),
            Question::Parent(levels) => {
                let above = std::iter::successors(Some(entry.parent()), |id| {
                    read_point.entry(*id).map(|entry| entry.parent())
                });
                let superior = above.take_while(|id| id.0 != 0).nth(usize::from(*levels).saturating_sub(1));
                let superior = superior.and_then(|id| read_point.entry(id));
                truth(superior.is_some_and(|superior| who.own.is_some_and(|own| own.is(&superior))))
            }
            // A rule's own filter sees all of the entry, whatever the requester may see.
            Question::Filter(_) => match &self.filters[question] {
                Some(filter) => evaluator.evaluate(filter, entry, read_point),
                None => Truth::Undefined,
            },
            Question::Names(_) | Question::Shares(_) => {
                // Somebody whose entry is gone, or is not in this view of the directory, may be the one that is meant.
                if who.own.is_some_and(|own| own.find(read_point).is_none()) {
                    return Truth::Undefined;
                }
                match self.ask_by_own(set, question, who, read_point, &mut evaluator.cache) {
                    Some(compiled) => evaluator.evaluate(compiled, entry, read_point),
                    None => Truth::False,
                }
            }
            // The entry says which groups count, so a member is asked for in each until one has it. One that cannot be judged is
            // outweighed by one that has the requester, and by nothing else.
            Question::NamesGroup(attribute_type) => {
                let Some(own) = who.own else { return Truth::False };
                let Some(own) = own.find(read_point) else { return Truth::Undefined };
                let dn = read_point.dn(&own, &mut evaluator.cache);
                let mut names = Vec::new();
                each_value(entry, *attribute_type, read_point, &mut |value| names.push(value.to_vec()));
                let mut found = Truth::False;
                for name in names {
                    let Ok(name) = String::from_utf8(name) else { continue };
                    match groups.is_member_of_named((&dn, Some(&own)), (&name, true), read_point, evaluator) {
                        Truth::True => return Truth::True,
                        Truth::Undefined => found = Truth::Undefined,
                        Truth::False => {}
                    }
                }
                found
            }
            Question::OfStar { base, condition, is_real } => {
                let somebody = if *is_real { who.real } else { who.own };
                let Some(own) = somebody else { return Truth::False };
                let Some(own) = own.find(read_point) else { return Truth::Undefined };
                let dn = read_point.dn(&own, &mut evaluator.cache);
                let below = self.below(set, *base, entry, read_point, &mut evaluator.cache);
                let Some(rdn) = below else { return Truth::Undefined };
                match condition {
                    Condition::Dn(reach, of) => {
                        lies(read_point.shard().schema(), &dn, *reach, &with_rdn(of, &rdn))
                    }
                    Condition::Group { dn: of, nested } => {
                        let group = (&with_rdn(of, &rdn)[..], *nested);
                        groups.is_member_of_named((&dn, Some(&own)), group, read_point, evaluator)
                    }
                    _ => Truth::Undefined,
                }
            }
        }
    }

    /// The RDN of the entry, or of its superior, that lies immediately below a base. `None` of the base itself, and of what lies elsewhere: the walk
    /// ends at the root, which has no entry.
    fn below(
        &self,
        set: &RuleSet,
        base: usize,
        entry: &EntryRef<'_>,
        read_point: ReadPoint<'_>,
        cache: &mut DnCache,
    ) -> Option<String> {
        let base = read_point.resolve(set.bases[base].dn.as_bytes(), cache).ok()?;
        let mut at = read_point.entry(entry.id)?;
        while at.parent() != base {
            at = read_point.entry(at.parent())?;
        }
        let dn = read_point.dn(&at, cache);
        String::from_utf8(split_first(&dn).0.to_vec()).ok()
    }

    /// A question as a filter on the entry, made of what the requester's own entry has. `None` if the requester has no entry, or its entry
    /// has no such value.
    /// A search asks it of each entry in turn, and the requester is the same: the filter is compiled for the first of them.
    fn ask_by_own(
        &mut self,
        set: &RuleSet,
        question: usize,
        who: Requester,
        read_point: ReadPoint<'_>,
        cache: &mut DnCache,
    ) -> Option<&Compiled> {
        let own = who.own?;
        let entry = own.find(read_point)?;
        // The filter is made of the entry's DN or of its values; both are known to be the same by the time stamps below.
        let modified = entry.stamps().modified.map(|(csn, _)| csn);
        let sequence = read_point.sequence();
        // Of a transaction's view nothing is kept: sequences there mean other states.
        let is_directory = self.is_about(read_point);
        let is_last = is_directory
            && self.own[question].as_ref().is_some_and(|last| {
                (last.0, last.1) == (own, modified)
                    && last.3 <= sequence
                    && read_point.names_hold_since(last.3)
            });
        if !is_last {
            let schema = read_point.shard().schema();
            let mut values = Vec::new();
            let attribute_type = match &set.questions[question] {
                Question::Names(attribute_type) => {
                    values.push(read_point.dn(&entry, cache));
                    *attribute_type
                }
                Question::Shares(attribute_type) => {
                    each_value(&entry, *attribute_type, read_point, &mut |value| values.push(value.to_vec()));
                    *attribute_type
                }
                _ => unreachable!("others need no entry of the requester's"),
            };
            let name = schema.describe(Description::plain(attribute_type)).into_owned();
            let attribute = name.as_bytes();
            let items = values.iter().map(|value| Filter::Equality(Assertion { attribute, value })).collect();
            let compiled = Compiled::new(&Filter::Or(items), read_point.shard(), &|_| true);
            // A view's sequence is below any of the directory, so what was made there does not hold here.
            let sequence = if is_directory { sequence } else { u64::MAX };
            self.own[question] = Some((own, modified, (!values.is_empty()).then_some(compiled), sequence));
        }
        self.own[question].as_ref().and_then(|last| last.2.as_ref())
    }
}

/// Shards live as long as the agent, so an address is as good as a name; a transaction's is another than the
/// directory's as long as the transaction is there.
fn address(read_point: ReadPoint<'_>) -> usize {
    std::ptr::from_ref(read_point.shard()) as usize
}

/// Notes the answer to a question.
/// Undefined sets the second bit alone: it may be true, and is not known to be.
pub(crate) fn put_answer(class: &Class, facts: &mut Facts, question: usize, truth: Truth) {
    let bit = class.places.len() + 2 * question;
    for (bit, is_set) in [(bit, truth == Truth::True), (bit + 1, truth != Truth::False)] {
        if is_set {
            facts[bit / 64] |= 1 << (bit % 64);
        }
    }
}
