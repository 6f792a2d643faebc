//! Checks of an entry that passed before and was then changed: only what the change touched is looked at again.

use super::{CheckOptions, Checked, Violation};
use crate::class_set::ClassSet;
use crate::element::Traits;
use crate::{Schema, scratch};
use model::entry::{Entry, Raw};
use model::{ClassId, Description};

/// What is known of a changed entry besides its content.
#[derive(Clone, Copy, Debug)]
pub struct Changed<'c> {
    /// Attributes that the change named.
    pub touched: &'c [Description],
    /// Attributes that the entry has although they are not listed in it: their many values are kept elsewhere.
    pub elsewhere: &'c [Description],
    /// The structural class it had.
    pub structural: Option<ClassId>,
}

impl Schema {
    /// Adds the superclasses of the object classes that an entry names (RFC 4512 section 3.3: they are implicitly
    /// there). Unknown classes are left for the check to refuse.
    pub fn add_superclasses(&self, entry: &mut Entry<Raw>) {
        let description = Description::plain(self.well_known.object_class);
        let Some(at) = entry.position(description) else { return };
        let missing = self.with_classes(entry.values(at), |_, set| {
            if set.ids.len() == entry.value_count(at) {
                return Vec::new();
            }
            let named =
                |class: &ClassId| entry.values(at).any(|value| self.find_class(value) == Some(*class));
            set.ids.iter().copied().filter(|class| !named(class)).collect()
        });
        if let Ok(missing) = missing
            && !missing.is_empty()
        {
            entry.extend(description, missing.iter().map(|class| self.class(*class).name().as_bytes()));
        }
    }

    /// Checks a changed entry; gives it back with the first rule that the change breaks.
    pub fn recheck(
        &self,
        entry: Entry<Raw>,
        changed: Changed<'_>,
        options: CheckOptions,
    ) -> Result<Entry<Checked>, (Violation, Entry<Raw>)> {
        match self.reexamine(&entry, changed, options) {
            Ok(proof) => Ok(entry.into_state(proof)),
            Err(violation) => Err((violation, entry)),
        }
    }

    fn reexamine(
        &self,
        entry: &Entry<Raw>,
        changed: Changed<'_>,
        options: CheckOptions,
    ) -> Result<Checked, Violation> {
        let class_type = Description::plain(self.well_known.object_class);
        let at = entry.position(class_type).ok_or(Violation::NoObjectClass)?;
        self.with_classes(entry.values(at), |buffer, set| {
            if let Some(before) = changed.structural {
                self.check_structural_change(before, set.structural)?;
            }
            let must_look_at_all = changed.touched.contains(&class_type);
            if must_look_at_all {
                self.examine_auxiliary(set)?;
            }
            for position in (0..entry.len()).filter(|position| *position != at) {
                let description = entry.description(position);
                if !changed.touched.contains(&description) && !must_look_at_all {
                    continue;
                }
                self.examine_allowed(description, set)?;
                if changed.touched.contains(&description) {
                    self.examine_values(description, entry.values(position), options, buffer)?;
                }
            }
            if must_look_at_all {
                changed
                    .elsewhere
                    .iter()
                    .try_for_each(|description| self.examine_allowed(*description, set))?;
            }
            self.examine_must(entry, changed, set, must_look_at_all)?;
            Ok(Checked { structural: Some(set.structural) })
        })?
    }

    /// "An entry may only belong to auxiliary object classes listed in the governing content rule" (RFC 4512 section 4.1.6).
    pub(super) fn examine_auxiliary(&self, set: &ClassSet) -> Result<(), Violation> {
        let name = |class: ClassId| self.class(class).name().to_owned();
        set.barred.map_or(Ok(()), |auxiliary| {
            Err(Violation::AuxiliaryNotAllowed { auxiliary: name(auxiliary), class: name(set.structural) })
        })
    }

    #[inline]
    pub(super) fn examine_allowed(&self, description: Description, set: &ClassSet) -> Result<(), Violation> {
        let id = description.attribute_type;
        match set.allows(id) || (self.traits_of(id).has(Traits::OPERATIONAL) && !set.precludes(id)) {
            true => Ok(()),
            false => Err(self.not_allowed(description, set)),
        }
    }

    pub(super) fn examine_must(
        &self,
        entry: &Entry<Raw>,
        changed: Changed<'_>,
        set: &ClassSet,
        must_look_at_all: bool,
    ) -> Result<(), Violation> {
        let may_be_gone = |id| must_look_at_all || changed.touched.iter().any(|d| d.attribute_type == id);
        let is_there = |id| {
            entry.descriptions().chain(changed.elsewhere.iter().copied()).any(|d| d.attribute_type == id)
        };
        match set.must.iter().find(|id| may_be_gone(**id) && !is_there(**id)) {
            None => Ok(()),
            Some(id) => Err(self.missing(*id, set)),
        }
    }

    /// Checks values that are to join an attribute whose other values are kept elsewhere and known to differ:
    /// syntax, and that the attribute may have several.
    pub fn check_joining_values<'v>(
        &self,
        description: Description,
        mut values: impl Iterator<Item = &'v [u8]>,
        options: CheckOptions,
    ) -> Result<(), Violation> {
        scratch::with(|buffer| {
            values.try_for_each(|value| {
                self.examine_values(description, std::iter::once(value), options, buffer)
            })
        })
    }
}
