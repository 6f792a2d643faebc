//! What a view came from: the rules that decide its rights, and what was true of the entry.
//!
//! No decision is made here. Updates carry the answers along as conditions; administrators who ask for effective rights see the rules.

use super::{ViewId, Views};
use crate::access::class::Item;
use crate::access::rules::Question;
use ::access::Right;
use schema::Schema;

impl Views {
    /// For each of these rights of a view on an item the rule that decides it, and whether it allows. None for the root DN, whose rights come
    /// of no rule.
    pub(crate) fn reasons(
        &self,
        view: ViewId,
        item: Item<'_>,
        rights: &[Right],
        schema: &Schema,
    ) -> Vec<Option<(bool, &str)>> {
        let Some(kept) = self.kept_view(view) else { return vec![None; rights.len()] };
        let class = &self.kept(kept.class).expect("a view is forgotten with its class").class;
        class.reasons(schema, (&kept.facts, kept.action), item, rights)
    }

    /// Answers of a view to what can change while an entry keeps its name.
    /// They become the conditions of an update; reads have no use for them, as they are answered at once.
    pub(crate) fn answers(&self, view: ViewId) -> Vec<(Question, bool)> {
        let Some(kept) = self.kept_view(view) else { return Vec::new() };
        let class = &self.kept(kept.class).expect("a view is forgotten with its class").class;
        class.answers(&kept.facts).map(|(question, is_so)| (question.clone(), is_so)).collect()
    }
}
