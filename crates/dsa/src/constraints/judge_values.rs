//! Judges the values of an entry by a rule: each value that it gets, and how many it has then.
//!
//! An update that touches none of them is not judged, so what violated the rule when it came
//! into force stays until then.

use super::Judging;
use super::class::is_of_class;
use super::directory::Directory;
use super::values::ValueRule;
use store::{Made, Refused};

impl Judging<'_> {
    /// Judges the values that the entry did not have, or all if it was not one that the rule is
    /// about.
    pub(super) fn judge_values(
        &self,
        rule: &ValueRule,
        made: &Made<'_>,
        directory: Directory<'_>,
    ) -> Result<(), Refused> {
        let schema = self.schema();
        if !is_of_class(schema, rule.class, made.classes(schema)) {
            return Ok(());
        }
        let Some(place) = self.place((&rule.name, rule.subtree.as_ref()), made, directory)? else {
            return Ok(());
        };
        let was_of_class = made.old.is_some_and(|old| {
            is_of_class(schema, rule.class, old.shape.class_values.iter().map(|class| &**class))
        });
        let is_new = !place.was_in || !was_of_class;
        let concerns = |attribute_type| rule.has(schema, attribute_type);
        // Their number first: it costs nothing, and the form of many may cost much.
        for attribute_type in &rule.types {
            let concerns = |other| schema.is_subtype(other, *attribute_type);
            let is_judged = is_new || made.touches(&concerns);
            if is_judged && let Some(fault) = rule.count_fault(made.count(&concerns)) {
                return Err(self.violated((&rule.name, &fault), *attribute_type, None));
            }
        }
        let mut bytes = 0;
        made.new_values(is_new, &concerns, &mut |description, value| {
            bytes += value.len();
            let fault = match rule.is_too_much(bytes) {
                Some(fault) => Some(fault),
                None => self.evaluating(|evaluator| rule.fault(value, directory, evaluator)),
            };
            fault.map_or(Ok(()), |fault| {
                Err(self.violated((&rule.name, &fault), description.attribute_type, Some(value)))
            })
        })
    }
}
