//! Rights on values, as views remember them, and filters that are about some values of an attribute.
//!
//! Where a view has a right on all values of an attribute, or on none, nothing here is asked: that is known of the attribute. Only where
//! rules on values leave it open are the steps of [`OnValues`] made, at the first value, and kept with the view. They go with it, so no
//! change of rules has to look for them.
//!
//! A filter is restricted first, for a view and a shape, and then judged: the evaluation in the store knows no rights, and asks back for a
//! value that passes. A value that may not be tested is passed over there, as if the entry did not have it. So the outcome is the
//! same whether or not it has it, also below a negation.

use super::{ViewId, Views};
use crate::access::class::on_values::{OnValues, Own, OwnName};
use crate::access::requester::Requester;
use ::access::Right;
use model::Description;
use schema::Schema;
use std::cell::RefCell;
use std::sync::Arc;
use store::search::evaluate::{Evaluator, Truth};
use store::search::{Compiled, Paused, Testable};
use store::shape::Shape;
use store::{DnCache, EntryRef, ReadPoint, Shard};

/// Attributes and rights of which a view remembers the rules on values. With one more all are forgotten: attributes with options have no bound.
const REMEMBERED_MAX: usize = 32;

impl Views {
    /// The rights of a view on the values of an attribute.
    /// Nothing is remembered of values: there is no bound on how many there are. What is remembered is what is asked of each.
    /// It is shared with templates of entries and with filters of searches, which may outlive the view: both are of this view alone,
    /// and are not asked again when it is forgotten.
    pub(crate) fn on_values(
        &mut self,
        view: ViewId,
        description: Description,
        right: Right,
        shard: &Shard,
    ) -> Arc<OnValues> {
        let at = view.0.checked_sub(self.first_view).map(|at| at as usize);
        let Some((at, kept)) = at.and_then(|at| Some((at, self.views.get(at)?))) else {
            return Arc::new(OnValues::of_each(view == ViewId::ROOT));
        };
        let known = kept.by_value.iter().find(|(of, by, _)| (*of, *by) == (description, right));
        if let Some((_, _, known)) = known {
            return Arc::clone(known);
        }
        let class = &self.kept(kept.class).expect("a view is forgotten with its class").class;
        let made = Arc::new(class.on_values(shard, (&kept.facts, kept.action), description, right));
        let by_value = &mut self.views[at].by_value;
        if by_value.len() >= REMEMBERED_MAX {
            by_value.clear();
        }
        by_value.push((description, right, Arc::clone(&made)));
        made
    }

    /// Whose values are a requester's own: of the name that its entry has now, and not the one that it bound by: it is compared with what entries have now. It is that of
    /// the last time, unless names have changed.
    pub(crate) fn own_name(&mut self, who: Requester, read_point: ReadPoint<'_>, cache: &mut DnCache) -> Own {
        let Some(own) = who.own else { return Own::Nobody };
        let Some(own) = own.find(read_point) else { return Own::Unknown };
        let sequence = read_point.sequence();
        // Of a transaction's view nothing is kept: sequences there mean other states.
        let is_directory = self.finder.is_about(read_point);
        if let Some((last, since, name)) = &self.own_name
            && is_directory
            && last.own == who.own
            && *since <= sequence
            && read_point.names_hold_since(*since)
        {
            return Own::Name(Arc::clone(name));
        }
        let name = OwnName::new(read_point.shard().schema(), read_point.dn(&own, cache));
        let Some(name) = name.map(Arc::new) else { return Own::Unknown };
        if is_directory {
            self.own_name = Some((who, sequence, Arc::clone(&name)));
        }
        Own::Name(name)
    }
}

/// Says of a value whether it may be tested, as the evaluation of a filter asks ([`store::search::evaluate::Judge`]).
/// It is made with the filter, for a view and a shape, and kept with it by searches that go on.
///
/// Which values of the attributes of an entry a requester has a right on, of those attributes of which it has none on all.
#[derive(Debug, Default)]
pub(crate) struct ValueJudge {
    of: Vec<(Description, Arc<OnValues>)>,
    own: Own,
    form: RefCell<Vec<u8>>,
}

/// Who asks: a requester by its view, and the right that is needed.
pub(crate) struct Tester<'v> {
    pub(crate) views: &'v mut Views,
    pub(crate) who: Requester,
    pub(crate) view: ViewId,
    pub(crate) right: Right,
}

impl ValueJudge {
    /// A filter as it is for a requester on entries of a shape, and what judges values for it: what may not be tested is undefined, and values
    /// that may not be tested are not there.
    pub(crate) fn restrict(
        filter: &Compiled,
        shape: &Shape,
        tester: Tester<'_>,
        read_point: ReadPoint<'_>,
        cache: &mut DnCache,
    ) -> (Compiled, ValueJudge) {
        let Tester { views, who, view, right } = tester;
        let shard = read_point.shard();
        let asked = RefCell::new((views, Vec::new()));
        let restricted = filter.restricted(shard, shape, &|description| {
            let (views, of) = &mut *asked.borrow_mut();
            let on = views.on_attribute(view, description, shard.schema());
            match (on.every.has(right), on.some.has(right)) {
                (true, _) => Testable::Always,
                (false, false) => Testable::Never,
                (false, true) => {
                    // The list is as long as there are attributes in rules on values.
                    if of.iter().all(|(other, _)| *other != description) {
                        of.push((description, views.on_values(view, description, right, shard)));
                    }
                    Testable::ByValue
                }
            }
        });
        let (views, of) = asked.into_inner();
        let needs_own = of.iter().any(|(_, on): &(_, Arc<OnValues>)| on.asks_for_own());
        let own = if needs_own { views.own_name(who, read_point, cache) } else { Own::Nobody };
        (restricted, ValueJudge { of, own, form: RefCell::default() })
    }

    /// May a value be tested? Not one of an attribute that it was not made for: the evaluation asks of none.
    pub(crate) fn may(&self, schema: &Schema, description: Description, value: &[u8]) -> bool {
        let on = self.of.iter().find(|(of, _)| *of == description);
        let form = &mut *self.form.borrow_mut();
        on.is_some_and(|(_, on)| on.may(&self.own, schema, description, value, form))
    }

    /// Evaluates a filter that was made with it, as [`Evaluator::go_on`] does.
    pub(crate) fn go_on(
        &self,
        evaluator: &mut Evaluator,
        filter: &Compiled,
        (entry, read_point): (&EntryRef<'_>, ReadPoint<'_>),
        paused: &mut Paused,
        work: &mut u64,
    ) -> Option<Truth> {
        let schema = read_point.shard().schema();
        let judge = |description: Description, value: &[u8]| self.may(schema, description, value);
        evaluator.go_on_judging((filter, &judge), entry, read_point, paused, work)
    }
}
