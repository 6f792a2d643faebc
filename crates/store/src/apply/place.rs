//! Where an entry may be and by what it may be named: name forms and DIT structure rules (RFC 4512 section 4.1.7). It is judged when the entry is
//! added, and when a change gives it another RDN, superior or structural class.
//!
//! Which rule governs an entry follows from its class, its RDN and the rule of its superior, so it is stored nowhere: it is worked out along the way
//! from the root of the naming context. A rename far above would change it without a look at the entry; so an entry whose rule would become another
//! one must have no subordinates.
//!
//! ```text
//! add      class + RDN -> a name form fits -> a rule of that form has the superior's rule
//! change   the same for the new class, RDN and superior; if the rule would be another one: are there subordinates?
//! import   as an add; there are no row batches, since each row would have to be judged by its superior
//! ```

use crate::record::EntryRef;
use crate::refused::Refused;
use crate::shard::{ReadPoint, Shard, Writer};
use model::limits::DN_RDNS_MAX;
use model::{ClassId, EntryId, TypeId};
use schema::Superior;
use smallvec::SmallVec;

impl Shard {
    /// Are names and places of entries judged at all? Mostly a schema has no name forms.
    #[inline]
    pub(super) fn judges_places(&self) -> bool {
        self.settings.schema_check && self.schema.judges_names()
    }
}

impl<'a> ReadPoint<'a> {
    /// The number of the structure rule that governs an entry, if one does.
    /// It costs a look at each superior, and reads no value: the shape of a record has the class and the attributes of the RDN.
    pub fn governing_rule(self, entry: &EntryRef<'_>) -> Option<u32> {
        self.rule_below(entry, self.superior_at(entry.parent()))
    }

    /// The same, where it is known what the superior is.
    /// An entry without a structural class was taken in without a check of the schema, and no rule is about it.
    fn rule_below(self, entry: &EntryRef<'_>, superior: Superior) -> Option<u32> {
        let naming = naming_types(entry);
        self.shard.schema.governing_rule(entry.shape.structural?, &naming, superior)
    }

    /// What the entry with this id is for an entry below it; 0 is the place of roots.
    /// The rule of an entry is known only when that of its superior is, so the way goes up first, and the rules come down.
    fn superior_at(self, id: EntryId) -> Superior {
        let mut way: SmallVec<[EntryRef<'a>; 8]> = SmallVec::new();
        let mut next = id;
        while next.0 != 0 {
            // A DN has no more parts, so neither has the way.
            let Some(entry) = self.entry(next).filter(|_| way.len() < DN_RDNS_MAX) else {
                return Superior::Ungoverned;
            };
            next = entry.parent();
            way.push(entry);
        }
        way.iter().rev().fold(Superior::None, |superior, entry| {
            self.rule_below(entry, superior).map_or(Superior::Ungoverned, Superior::GovernedBy)
        })
    }
}

impl Writer<'_> {
    /// May an entry of this structural class, with an RDN of these attributes, be below `parent`? Returns the rule that governs it there.
    #[cold]
    pub(super) fn judge_place(
        &self,
        structural: Option<ClassId>,
        naming: &[TypeId],
        parent: u32,
    ) -> Result<Option<u32>, Refused> {
        let schema = &self.shard.schema;
        // Every entry that passed the check of the schema has one.
        let Some(class) = structural else { return Ok(None) };
        schema.check_name(class, naming).map_err(Refused::Schema)?;
        if !schema.has_structure_rules() || schema.is_outside_structure(class) {
            return Ok(None);
        }
        // The writer's own view: commands before it in the batch may have made the superior, or moved it.
        let superior = self.view().superior_at(EntryId(parent));
        match schema.governing_rule(class, naming, superior) {
            Some(rule) => Ok(Some(rule)),
            None => Err(Refused::Schema(schema.no_structure_rule(class, naming))),
        }
    }

    /// The same of an entry that is there, and gets another class, RDN or superior by a change.
    #[cold]
    pub(super) fn judge_new_place(
        &self,
        old: &EntryRef<'_>,
        structural: Option<ClassId>,
        naming: &[TypeId],
        parent: u32,
    ) -> Result<(), Refused> {
        // Most changes are of none of the three, and end here. So an entry that was there before the rules can be changed.
        let former = naming_types(old);
        let has_same_types = former.len() == naming.len() && former.iter().all(|id| naming.contains(id));
        if has_same_types && structural == old.shape.structural && parent == old.parent().0 {
            return Ok(());
        }
        // From here on it is judged as if it were added there.
        let rule = self.judge_place(structural, naming, parent)?;
        let view = self.view();
        // An entry that no rule governed has subordinates that no rule governs: they lose nothing.
        match view.governing_rule(old) {
            Some(former) if rule != Some(former) && view.subordinates(old.id) > 0 => {
                Err(Refused::NamingViolation(format!(
                    "structure rule {former} governs the entry, whose subordinates are allowed by that, and would not govern it any more"
                )))
            }
            _ => Ok(()),
        }
    }
}

/// The attributes of an entry's RDN.
fn naming_types(entry: &EntryRef<'_>) -> SmallVec<[TypeId; 2]> {
    let types =
        entry.shape.naming.iter().map(|at| entry.shape.slots[usize::from(*at)].description.attribute_type);
    types.collect()
}
