//! What a filter cannot test in a search that follows changes: what is worked out from other entries, or from the clock. No change of the entry itself
//! says so, so entries would come into the content, or leave it, and nobody would know.
//!
//! ```text
//! memberOf, isMemberOf, the rule in chain     from groups
//! collective attributes                       from subentries
//! entryTtl                                    from the clock
//! governingStructureRule                      from superiors
//! hasSubordinates, numSubordinates,           from other entries. A synchronisation takes them as Undefined, as RFC 4533 section 3.2 asks;
//! contextCSN                                  a persistent search has no such rule, and is refused
//! ```
//! The schema and the filter alone decide, so a refusal tells nothing of what is stored. It is the same for all requesters.
//!
//! An item on a supertype (`l` of `c-l`), or on `member`, is not refused: it is followed as far as entries store its values.

use model::{Filter, TypeId};
use schema::Schema;
use store::derived::Derived;
use store::search::IN_CHAIN;

/// Who asks, as far as it matters.
#[derive(Clone, Copy)]
pub(super) struct FilterToFollow<'s> {
    pub(super) schema: &'s Schema,
    /// Is it a content synchronisation?
    pub(super) synchronises: bool,
    /// Are its entries subentries alone? Of those collective attributes are stored.
    pub(super) of_subentries: bool,
}

impl FilterToFollow<'_> {
    /// The text of the refusal of a filter, which names the first item that cannot be followed; `None` if all can.
    /// The depth of a filter is bounded where it is decoded.
    pub(super) fn refusal(self, filter: &Filter<'_>) -> Option<String> {
        let attribute = match filter {
            Filter::And(parts) | Filter::Or(parts) => {
                return parts.iter().find_map(|part| self.refusal(part));
            }
            Filter::Not(part) => return self.refusal(part),
            Filter::Extensible(extensible) if extensible.rule == Some(IN_CHAIN) => {
                let rule = String::from_utf8_lossy(IN_CHAIN);
                return Some(text(&format!("the matching rule {rule} is answered by other entries")));
            }
            // Without an attribute an item looks at what entries store.
            Filter::Extensible(extensible) => extensible.attribute?,
            Filter::Equality(assertion)
            | Filter::GreaterOrEqual(assertion)
            | Filter::LessOrEqual(assertion)
            | Filter::Approx(assertion) => assertion.attribute,
            Filter::Substrings(substrings) => substrings.attribute,
            Filter::Present(attribute) => attribute,
        };
        let (id, _) = self.schema.find_wanted(attribute)?;
        let name = self.schema.attribute_type(id).name();
        (!self.is_followed(id)).then(|| text(&format!("{name} changes without a change of its entry")))
    }

    /// Does each change of it come with a change of its entry, or is it Undefined?
    fn is_followed(self, id: TypeId) -> bool {
        let known = self.schema.well_known();
        let is_collective = self.schema.attribute_type(id).is_collective();
        if (is_collective && !self.of_subentries) || id == known.collective_attribute_subentries {
            return false;
        }
        match Derived::of(id, self.schema) {
            None => !self.schema.is_member_of(id),
            Some(Derived::EntryTtl | Derived::GoverningStructureRule) => false,
            Some(Derived::HasSubordinates | Derived::NumSubordinates | Derived::ContextCsn) => {
                self.synchronises
            }
            // A rename is a change of all that is below: it is looked at again.
            Some(_) => true,
        }
    }
}

/// The text of a refusal.
fn text(why: &str) -> String {
    format!("the filter cannot be followed: {why}")
}
