//! What keeps a change from being proposed. Where it is applied it is taken: earlier states of this program took it, and a command of the log comes to what it
//! came to.

use super::changes::{Changes, Element, Plan};
use super::judge::{self, Judged, NotAdded};
use crate::Schema;
use std::collections::BTreeSet;

impl Schema {
    /// What a change would come to that no log has yet, as [`Schema::plan`].
    ///
    /// # Errors
    /// Also names that are none (RFC 4512 section 1.4), and matching rules that cannot compare values of the syntax. What is there by now may have them, and
    /// may be described otherwise under its names.
    pub fn propose(&self, changes: &Changes<'_>) -> Result<Plan, NotAdded> {
        let plan = self.plan(changes)?;
        let mut removed = BTreeSet::new();
        for (element, value) in &changes.removed {
            removed.insert((*element, judge::read(*element, value)?.oid));
        }
        for (element, value) in &changes.added {
            let judged = judge::read(*element, value)?;
            let before = self
                .text_of(*element, &judged.oid)
                .filter(|_| removed.contains(&(*element, judged.oid.clone())));
            if before.as_deref() == Some(&*judged.definition.to_string()) {
                continue;
            }
            judge::judge_names(&judged, before.as_deref())?;
            if *element == Element::AttributeType {
                judge_rules(&judged, plan.outcome())?;
            }
        }
        Ok(plan)
    }
}

fn judge_rules(judged: &Judged, outcome: &Schema) -> Result<(), NotAdded> {
    let Some(id) = outcome.find_type(judged.oid.as_bytes()) else { return Ok(()) };
    match outcome.attribute_type(id).unfit() {
        None => Ok(()),
        Some(text) => Err(NotAdded::Unfit(text)),
    }
}
