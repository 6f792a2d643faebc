//! Is a filter true of an entry? Three-valued (RFC 4511 section 4.5.1.7).
//!
//! A filter is evaluated on the record in place: values are normalised one by one into a buffer of the thread and compared with the assertion's normal
//! form, which was made once. An item is true if any value of any attribute that it looks at passes.
//!
//! An evaluation may be long: an entry may have a million values, and a filter thousands of items. So it can stop between two values, or within a
//! long one, and leaves in [`Paused`] where. It holds no borrow then; what goes on must bring the same filter, entry and read point.

use super::filter::{Compiled, Item, Node, Test};
use super::members::{MayTest, Members, Membership};
use super::substrings::{PartPosition, WINDOW, has_parts};
use super::work::{self, ITEM, ItemPosition, LONG_VALUE, LOOKUP, Paused, ValuePosition};
use crate::collective::Source;
use crate::dn_cache::DnCache;
use crate::record::{EntryRef, ValueSet, Values};
use crate::shard::ReadPoint;
use crate::tree::From;
use model::{Description, EntryId, TypeId};
use schema::{Rule, Schema};

/// True, false, or not to be known.
/// Undefined is not false: the negation of it is undefined too, so `(!(secret=x))` finds nothing (RFC 4511 section 4.5.1.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It is.
    True,
    /// It is not.
    False,
    /// Unknown attribute, no such rule, invalid assertion, or not for this reader.
    Undefined,
}

impl Truth {
    pub(super) fn of(is: bool) -> Truth {
        if is { Truth::True } else { Truth::False }
    }
}

/// Says of a value of an attribute whether the one who asks may test it. It is asked of the attributes alone of which that depends on the
/// value ([`super::Testable::ByValue`]), and of the values alone that pass: no other value makes a difference.
pub type Judge<'j> = &'j dyn Fn(Description, &[u8]) -> bool;

/// Buffers of one thread for evaluating filters.
/// It belongs to one thread. Nothing in it depends on the entry before, but `long` and what `cache` remembers of names.
#[derive(Default)]
pub struct Evaluator {
    normal: Vec<u8>,
    value: Vec<u8>,
    long: Option<Box<LongValue>>,
    /// What it remembers of DNs.
    pub cache: DnCache,
}

/// The long value that was looked at last.
/// Several items of a filter, or several slices of one search, look at the same long value: making its normal form each time would be the work of
/// the whole.
struct LongValue {
    rule: Rule,
    value: Vec<u8>,
    /// Its normal form, if it has one.
    normal: Option<Vec<u8>>,
}

impl Evaluator {
    /// Gives back the memory for long values: to be called when no search is likely to go on with one.
    pub fn forget_long(&mut self) {
        self.long = None;
    }

    /// Evaluates a filter on an entry, however long that takes.
    /// For what must not stop: updates in the writer's role, and one entry at a time.
    pub fn evaluate(&mut self, filter: &Compiled, entry: &EntryRef<'_>, read_point: ReadPoint<'_>) -> Truth {
        let (mut paused, mut work) = (Paused::default(), u64::MAX);
        self.go_on(filter, entry, read_point, &mut paused, &mut work)
            .expect("work without end is never used up")
    }

    /// As [`Evaluator::evaluate`], of a filter whose items are about some values of an attribute only.
    pub fn evaluate_judging(
        &mut self,
        filter: &Compiled,
        entry: &EntryRef<'_>,
        read_point: ReadPoint<'_>,
        judge: Judge<'_>,
    ) -> Truth {
        let (mut paused, mut work) = (Paused::default(), u64::MAX);
        self.go_on_judging((filter, judge), entry, read_point, &mut paused, &mut work)
            .expect("work without end is never used up")
    }

    /// Evaluates a filter on an entry until `work` is used up, which it takes from. `None` if it was paused: it goes on
    /// from `paused` with the same filter, entry and read point. If there is any work left, it comes on by a value at
    /// least.
    #[inline]
    pub fn go_on(
        &mut self,
        filter: &Compiled,
        entry: &EntryRef<'_>,
        read_point: ReadPoint<'_>,
        paused: &mut Paused,
        work: &mut u64,
    ) -> Option<Truth> {
        // Without a judge no value may be tested.
        self.go_on_judging((filter, &|_, _| false), entry, read_point, paused, work)
    }

    /// As [`Evaluator::go_on`], of a filter whose items are about some values of an attribute only.
    #[inline]
    pub fn go_on_judging(
        &mut self,
        (filter, judge): (&Compiled, Judge<'_>),
        entry: &EntryRef<'_>,
        read_point: ReadPoint<'_>,
        paused: &mut Paused,
        work: &mut u64,
    ) -> Option<Truth> {
        Evaluation { evaluator: self, entry, at: read_point, judge, paused, work }.node(&filter.0)
    }
}

/// One filter on one entry. What returns an option gives `None` when it was paused, and has left in `paused` where.
/// The way down to the place of a pause is walked again by [`Evaluation::fold`] and [`Evaluation::item`], each of which takes its part of
/// [`Paused`] back.
struct Evaluation<'e, 'a> {
    evaluator: &'e mut Evaluator,
    entry: &'e EntryRef<'e>,
    at: ReadPoint<'a>,
    judge: Judge<'e>,
    paused: &'e mut Paused,
    /// Units that are left.
    work: &'e mut u64,
}

impl Evaluation<'_, '_> {
    #[inline]
    fn pay(&mut self, units: u64) {
        *self.work = self.work.saturating_sub(units);
    }

    /// Filters have a bounded depth, which the decoder holds them to, so recursion is bounded too.
    fn node(&mut self, node: &Node) -> Option<Truth> {
        Some(match node {
            Node::True => Truth::True,
            Node::False => Truth::False,
            Node::Undefined => Truth::Undefined,
            Node::Not(part) => match self.node(part)? {
                Truth::True => Truth::False,
                Truth::False => Truth::True,
                Truth::Undefined => Truth::Undefined,
            },
            Node::And(parts) => self.fold(parts, Truth::True, Truth::False)?,
            Node::Or(parts) => self.fold(parts, Truth::False, Truth::True)?,
            Node::Kind(kind) => Truth::of(self.entry.shape.kind == *kind),
            Node::Member(membership) => Truth::of(self.is_member(membership)),
            Node::Within(base, scope) => {
                self.pay(ITEM);
                Truth::of(self.at.is_in_scope(self.entry, *base, *scope))
            }
            Node::Item(item) => Truth::of(self.item(item)?),
        })
    }

    /// A membership is decided by looks into sets, and not by values of the entry: there is no pause in it.
    #[cold]
    fn is_member(&mut self, membership: &Membership) -> bool {
        self.pay(ITEM);
        let members = &membership.members;
        let is_one = members.any.as_ref().is_some_and(|may| self.may_name(may.as_ref()))
            || members.ids.binary_search(&self.entry.id.0).is_ok()
            || (!members.sets.is_empty() && self.is_in_sets(members));
        is_one
            && (!membership.is_judged
                || (self.judge)(Description::plain(membership.attribute_type), &membership.value))
    }

    /// May the name of the entry be tested, as a value of a group whose members are found by searches?
    fn may_name(&mut self, may: Option<&MayTest>) -> bool {
        let Some(may) = may else { return true };
        self.pay(LOOKUP);
        let name = self.at.dn(self.entry, &mut self.evaluator.cache);
        may(&self.at.shard.schema, &name)
    }

    /// Is the entry named in the set of a large group, in a value that may be tested? It is looked up by the hash of its name.
    fn is_in_sets(&mut self, members: &Members) -> bool {
        let (entry, at) = (self.entry, self.at);
        let schema = &at.shard.schema;
        let Evaluator { normal, value: text, cache, .. } = &mut *self.evaluator;
        text.clear();
        normal.clear();
        at.write_dn(entry, cache, text);
        let units = work::of_value(text) + LOOKUP * members.sets.len() as u64;
        *self.work = self.work.saturating_sub(units);
        if schema.normalise_dn(text, normal).is_err() {
            return false;
        }
        members.sets.iter().any(|of| {
            let is_it = |value: &[u8]| {
                (value == &text[..] || is_name(schema, value, normal))
                    && of.may.as_ref().is_none_or(|may| may(schema, value))
            };
            at.find_in_set(&of.set, normal, is_it).is_some()
        })
    }

    /// `last` if any part is; else undefined if any part is; else `neutral`.
    fn fold(&mut self, parts: &[Node], neutral: Truth, last: Truth) -> Option<Truth> {
        // The innermost was pushed first, so the outermost is popped first: in the order in which nodes are entered again.
        let (first, mut sum) = self.paused.parts.pop().unwrap_or((0, neutral));
        for (number, part) in parts.iter().enumerate().skip(first as usize) {
            // Before a part, not after it: so each call looks at one value at least, which was paid by the caller.
            let truth = if *self.work == 0 { None } else { self.node(part) };
            match truth {
                None => {
                    self.paused.parts.push((number as u32, sum));
                    return None;
                }
                Some(truth) if truth == last => return Some(last),
                Some(Truth::Undefined) => sum = Truth::Undefined,
                Some(_) => {}
            }
        }
        Some(sum)
    }

    /// Object classes come first, for they are in the shape; then the slots of the record in their order; then what is derived.
    fn item(&mut self, item: &Item) -> Option<bool> {
        let (entry, at) = (self.entry, self.at);
        let from = match self.paused.item.take() {
            Some(from) => from,
            None => {
                // Each slot's description is compared, whether it is one that the item looks at or not.
                self.pay(ITEM + entry.shape.slots.len() as u64 / 2);
                if self.dn_matches(item) {
                    return Some(true);
                }
                ItemPosition { slot: 0, value: ValuePosition::default() }
            }
        };
        // Slots before the place of the pause were looked at and did not pass.
        let behind = |slot: usize| if from.slot == slot { from.value } else { ValuePosition::default() };
        // Slot number 0 of a pause stands for them.
        let class_type = at.shard.schema.well_known().object_class;
        let classes = Description::plain(class_type);
        if from.slot == 0 && looks_at(item, classes, &at.shard.schema) {
            let values = entry.shape.class_values.iter().map(|value| &**value);
            match self.any_passes((&item.test, judged(item, classes)), values, 0, from.value) {
                Some(false) => {}
                decided => return decided,
            }
        }
        for (number, (slot, values)) in entry.shape.slots.iter().zip(entry.slots()).enumerate() {
            if number + 1 >= from.slot && looks_at(item, slot.description, &at.shard.schema) {
                match self.slot_passes(item, slot.description, values, number + 1, behind(number + 1)) {
                    Some(false) => {}
                    decided => return decided,
                }
            }
        }
        Some(
            self.derived_passes(item)
                || item.collected.as_ref().is_some_and(|of| self.collected_passes(item, of)),
        )
    }

    /// Is the item true for a value of a collective attribute? Values were compared when the filter was made ready; here it is asked whether the entry shows them.
    /// There are few, so there is no pause in it.
    #[cold]
    fn collected_passes(&mut self, item: &Item, sources: &[Source]) -> bool {
        let (entry, at) = (self.entry, self.at);
        let exclusions = at.collective_exclusions(entry);
        let mut last: Option<(EntryId, bool)> = None;
        for source in sources {
            self.pay(LOOKUP);
            let description = source.description;
            let is_hidden = item.hidden.as_ref().is_some_and(|hidden| hidden.has(description));
            if is_hidden || !at.may_collect(entry, description, &exclusions) {
                continue;
            }
            // Attributes of one subentry stand together.
            let subentry = source.collection.subentry;
            let is_in = match last {
                Some((known, is_in)) if known == subentry => is_in,
                _ => {
                    self.pay(2 * LOOKUP);
                    at.is_in_collection(&source.collection, entry)
                }
            };
            last = Some((subentry, is_in));
            let passes = |description| source.values.iter().any(|value| (self.judge)(description, value));
            if is_in && judged(item, description).is_none_or(passes) {
                return true;
            }
        }
        false
    }

    /// Looks at the value of an attribute that is made up.
    /// A stored value of that name takes the place of the derived one.
    fn derived_passes(&mut self, item: &Item) -> bool {
        match (item.derived, item.attribute_type) {
            (Some(derived), Some(t)) if !self.at.has_stored(self.entry, t) => {
                self.pay(LOOKUP);
                let mut value = std::mem::take(&mut self.evaluator.value);
                value.clear();
                // It is not long enough for a pause.
                let test = (&item.test, judged(item, Description::plain(t)));
                let passes = self.at.derive(self.entry, derived, &mut self.evaluator.cache, &mut value)
                    && self.passes(test, &value, &mut PartPosition::default()) == Some(true);
                self.evaluator.value = value;
                passes
            }
            _ => false,
        }
    }

    /// Equality on a big set is a search in its tree by the hash of the value, where the set is ordered by the rule that the assertion has. Every
    /// other test walks through the set.
    fn slot_passes(
        &mut self,
        item: &Item,
        description: Description,
        values: Values<'_>,
        slot: usize,
        from: ValuePosition,
    ) -> Option<bool> {
        let at = self.at;
        let of_values = judged(item, description);
        match (values, &item.test) {
            (_, Test::Present) if of_values.is_none() => Some(true),
            (Values::Inline(values), test) => self.any_passes((test, of_values), values, slot, from),
            (Values::Set(set), test) => match own_form(test, description.attribute_type, at) {
                Some(normal) => {
                    self.pay(LOOKUP);
                    let hash = at.shard.value_hash(normal);
                    // Equality knows no pause.
                    let found = at.tree(set.root).find(hash, |value| {
                        self.passes((test, of_values), value, &mut PartPosition::default()) == Some(true)
                    });
                    Some(found.is_some())
                }
                None => self.any_of_set((test, of_values), set, slot, from),
            },
        }
    }

    /// Does one of the values pass that come after `from`?
    /// Values of a record have no keys: the pause counts them.
    fn any_passes<'v>(
        &mut self,
        test: (&Test, Option<Description>),
        values: impl Iterator<Item = &'v [u8]>,
        slot: usize,
        from: ValuePosition,
    ) -> Option<bool> {
        let mut within = from.within;
        for (number, value) in values.enumerate().skip(from.done as usize) {
            let passes = if *self.work == 0 { None } else { self.passes(test, value, &mut within) };
            match passes {
                Some(false) => within = PartPosition::default(),
                Some(true) => return Some(true),
                None => {
                    let value = ValuePosition { key: 0, done: number as u32, within };
                    self.paused.item = Some(ItemPosition { slot, value });
                    return None;
                }
            }
        }
        Some(false)
    }

    /// Does one of the values of a set pass that come after `from`?
    /// A pause remembers the key of the last value, and how many with that key were looked at: keys are hashes, and two values may have one.
    fn any_of_set(
        &mut self,
        test: (&Test, Option<Description>),
        set: ValueSet,
        slot: usize,
        from: ValuePosition,
    ) -> Option<bool> {
        let (at, mut position, mut skipped) = (self.at, from, 0);
        let (mut outcome, mut last) = (Some(false), None);
        loop {
            // From the key of the pause again; those with it that were looked at are skipped below.
            let begin = last.map_or(From::At((from.key, &[])), From::After);
            // A leaf at a time: nothing of the tree is borrowed between two leaves.
            let more = at.tree(set.root).next_leaf(begin, |(key, value)| {
                if outcome != Some(false) {
                    return;
                }
                last = Some((key, value));
                if key == from.key && skipped < from.done {
                    skipped += 1;
                    return;
                }
                outcome = match *self.work {
                    0 => None,
                    _ => self.passes(test, value, &mut position.within),
                };
                if outcome.is_some() {
                    let done = if key == position.key { position.done + 1 } else { 1 };
                    position = ValuePosition { key, done, within: PartPosition::default() };
                }
            });
            if outcome.is_none() {
                self.paused.item = Some(ItemPosition { slot, value: position });
            }
            if !more || outcome != Some(false) {
                return outcome;
            }
        }
    }

    /// Does a value pass that may be tested? It is tested first: whether it may is asked of few values then.
    #[inline]
    fn passes(
        &mut self,
        (test, judged): (&Test, Option<Description>),
        value: &[u8],
        within: &mut PartPosition,
    ) -> Option<bool> {
        match (self.value_passes(test, value, within), judged) {
            (Some(true), Some(description)) => {
                self.pay(work::of_value(value));
                Some((self.judge)(description, value))
            }
            (passes, _) => passes,
        }
    }

    /// Does a value pass? `within` says how far it was looked at before, and, after a pause, where to go on.
    #[inline]
    fn value_passes(&mut self, test: &Test, value: &[u8], within: &mut PartPosition) -> Option<bool> {
        let rule = match test {
            Test::Present => return Some(true),
            Test::Equal { rule: None, normal } => {
                self.pay(work::of_scan(value.len()));
                return Some(value == &normal[..]);
            }
            Test::Equal { rule: Some(rule), .. }
            | Test::AtLeast { rule, .. }
            | Test::AtMost { rule, .. }
            | Test::Matches { rule, .. }
            | Test::Substrings { rule, .. } => *rule,
        };
        // Beyond this the copy that is kept costs less than normalising it once more.
        if value.len() >= LONG_VALUE {
            return self.long_value_passes(rule, test, value, within);
        }
        self.pay(work::of_value(value));
        let normal = &mut self.evaluator.normal;
        normal.clear();
        match rule.normalise_value(&self.at.shard.schema, value, normal) {
            Ok(()) => form_passes(test, normal, within, self.work),
            Err(_) => Some(false),
        }
    }

    /// As [`Evaluation::value_passes`], of a value whose normal form is worth keeping.
    #[cold]
    fn long_value_passes(
        &mut self,
        rule: Rule,
        test: &Test,
        value: &[u8],
        within: &mut PartPosition,
    ) -> Option<bool> {
        // Compared in full: the same address may have another value by now.
        let kept = self.evaluator.long.take().filter(|long| long.rule == rule && long.value == value);
        self.pay(work::of_scan(value.len()));
        let long = kept.unwrap_or_else(|| {
            self.pay(work::of_value(value));
            let mut normal = Vec::new();
            let is_valid = rule.normalise_value(&self.at.shard.schema, value, &mut normal).is_ok();
            Box::new(LongValue { rule, value: value.to_vec(), normal: is_valid.then_some(normal) })
        });
        // Even if nothing is left, it comes on by a bit.
        let passes = match &long.normal {
            Some(normal) => form_passes(test, normal, within, self.work),
            None => Some(false),
        };
        // For the next look at the same value.
        self.evaluator.long = Some(long);
        passes
    }

    /// `:dn:` makes the attributes of the entry's DN count too.
    /// RFC 4511 section 4.5.1.7.7. The text is made and parsed again, for a DN is not stored as such; few searches ask for it.
    fn dn_matches(&mut self, item: &Item) -> bool {
        let Test::Matches { dn_attributes: true, rule, normal } = &item.test else { return false };
        let at = self.at;
        let schema = &at.shard.schema;
        let mut text = Vec::new();
        at.write_dn(self.entry, &mut self.evaluator.cache, &mut text);
        // Taken apart, and each part on its own.
        self.pay(LOOKUP + 4 * work::of_value(&text));
        let Ok(rdns) = model::dn::parse(&text) else { return false };
        rdns.iter().flatten().any(|ava| {
            let Some(attribute_type) = schema.find_type(ava.attribute_type) else { return false };
            let (mut own, description) = (Vec::new(), Description::plain(attribute_type));
            looks_at(item, description, schema)
                && rule.normalise_value(schema, &ava.value, &mut own).is_ok()
                && rule.matches(&own, normal)
                && judged(item, description).is_none_or(|description| (self.judge)(description, &ava.value))
        })
    }
}

/// Does a value pass that has this normal form?
#[inline]
pub(super) fn form_passes(
    test: &Test,
    form: &[u8],
    within: &mut PartPosition,
    work: &mut u64,
) -> Option<bool> {
    Some(match test {
        Test::Present => true,
        Test::Equal { normal, .. } => form == &normal[..],
        Test::AtLeast { key, .. } => form >= &key[..],
        Test::AtMost { key, .. } => form <= &key[..],
        Test::Matches { rule, normal, .. } => {
            if !rule.is_equality() {
                // Some take the assertion apart each time.
                *work = work.saturating_sub(work::of_bytes(normal.len()));
            }
            rule.matches(form, normal)
        }
        Test::Substrings { initial, any, last, .. } => {
            return has_parts(WINDOW, form, (initial.as_deref(), any, last.as_deref()), within, work);
        }
    })
}

/// Is a value this name, by normal forms?
fn is_name(schema: &Schema, value: &[u8], form: &[u8]) -> bool {
    let mut own = Vec::new();
    schema.normalise_dn(value, &mut own).is_ok() && own == form
}

/// The normal form that a test looks for, if it asks for a value that is equal by the attribute's own rule: by its hash
/// the values of a set are found.
pub(super) fn own_form<'t>(test: &'t Test, attribute_type: TypeId, at: ReadPoint<'_>) -> Option<&'t [u8]> {
    let own = at.shard.schema.attribute_type(attribute_type).equality;
    match test {
        Test::Equal { rule, normal } => (*rule == own).then_some(normal),
        Test::Matches { rule, normal, .. } => {
            (rule.is_equality() && own.is_some_and(|own| own.compares_like(*rule))).then_some(normal)
        }
        _ => None,
    }
}

/// The attribute, if an item is about some values of it only.
#[inline]
fn judged(item: &Item, description: Description) -> Option<Description> {
    item.hidden.as_ref().is_some_and(|hidden| hidden.judges(description)).then_some(description)
}

/// Does an item look at attributes of this description?
#[inline]
pub(super) fn looks_at(item: &Item, description: Description, schema: &Schema) -> bool {
    if item.hidden.as_ref().is_some_and(|hidden| hidden.has(description)) {
        return false;
    }
    match item.attribute_type {
        Some(wanted) => {
            (description.attribute_type == wanted || schema.is_subtype(description.attribute_type, wanted))
                && schema.includes_options(description.options, &item.options)
        }
        None => match &item.test {
            Test::Matches { rule, .. } => {
                schema.applies_to(*rule, schema.attribute_type(description.attribute_type))
            }
            _ => false,
        },
    }
}
