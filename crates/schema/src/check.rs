//! The checks that every write passes: RFC 4512 sections 2.3 to 2.5 and the syntaxes of RFC 4517. Only this
//! file makes an `Entry<Checked>`.

#![expect(
    clippy::result_large_err,
    reason = "a refused entry comes back by value, so that its memory is used again"
)]

mod recheck;
mod violation;

pub use recheck::Changed;
pub use violation::Violation;

use crate::class_set::ClassSet;
use crate::element::Traits;
use crate::{ClassKind, ObjectClass, Schema, scratch};
use model::entry::{Entry, Raw};
use model::{ClassId, Description, TypeId};

/// What a check lets pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckOptions {
    /// Attributes that only the server changes may be there: for imports and for the server itself.
    pub no_user_modification: bool,
    /// Obsolete types and classes may be there.
    pub obsolete: bool,
}

impl CheckOptions {
    /// For entries that the server has completed itself or that were exported from a directory.
    pub const COMPLETE: CheckOptions = CheckOptions { no_user_modification: true, obsolete: true };
}

/// The proof that an entry passed the subschema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    structural: Option<ClassId>,
}

impl Checked {
    /// The most specific structural class; `None` only if the check was off and the entry has none.
    pub fn structural(&self) -> Option<ClassId> {
        self.structural
    }
}

impl Schema {
    /// Checks an entry against every rule; gives it back with the first rule that it breaks.
    pub fn check(
        &self,
        entry: Entry<Raw>,
        options: CheckOptions,
    ) -> Result<Entry<Checked>, (Violation, Entry<Raw>)> {
        match self.examine(&entry, options) {
            Ok(proof) => Ok(entry.into_state(proof)),
            Err(violation) => Err((violation, entry)),
        }
    }

    /// Takes an entry as it is: for a server whose schema check is off. Unknown classes count for nothing.
    pub fn accept(&self, entry: Entry<Raw>) -> Entry<Checked> {
        let values = entry.values_of(Description::plain(self.well_known.object_class));
        let known = values.filter(|value| self.find_class(value).is_some());
        let structural = self.with_classes(known, |_, set| set.structural).ok();
        entry.into_state(Checked { structural })
    }

    fn examine(&self, entry: &Entry<Raw>, options: CheckOptions) -> Result<Checked, Violation> {
        let class_type = Description::plain(self.well_known.object_class);
        let at = entry.position(class_type).ok_or(Violation::NoObjectClass)?;
        self.with_classes(entry.values(at), |buffer, set| {
            self.examine_with(entry, set, options, buffer)?;
            Ok(Checked { structural: Some(set.structural) })
        })?
    }

    fn examine_with(
        &self,
        entry: &Entry<Raw>,
        set: &ClassSet,
        options: CheckOptions,
        buffer: &mut Vec<u8>,
    ) -> Result<(), Violation> {
        if let (Some(class), false) = (set.obsolete, options.obsolete) {
            return Err(Violation::Obsolete { name: self.class(class).name().to_owned() });
        }
        self.examine_auxiliary(set)?;
        for at in 0..entry.len() {
            let description = entry.description(at);
            if description.attribute_type == self.well_known.object_class {
                continue; // its values were looked up and distinguished with the set
            }
            self.examine_allowed(description, set)?;
            self.examine_values(description, entry.values(at), options, buffer)?;
        }
        self.examine_must(entry, Changed { touched: &[], elsewhere: &[], structural: None }, set, true)
    }

    /// Checks the values of one attribute by themselves: number, syntax, duplicates, who may change it.
    pub fn check_attribute_values<'v>(
        &self,
        description: Description,
        values: impl ExactSizeIterator<Item = &'v [u8]> + Clone,
        options: CheckOptions,
    ) -> Result<(), Violation> {
        scratch::with(|buffer| self.examine_values(description, values, options, buffer))
    }

    /// As [`Schema::check_attribute_values`], of one value: the syntaxes that most values have need no buffer.
    #[inline]
    pub fn check_attribute_value(
        &self,
        description: Description,
        value: &[u8],
        options: CheckOptions,
    ) -> Result<(), Violation> {
        let traits = self.traits_of(description.attribute_type);
        let is_open = !traits.has(Traits::NO_USER_MODIFICATION) && !traits.has(Traits::OBSOLETE);
        if is_open && traits.syntax.admits(value) {
            return Ok(());
        }
        self.check_attribute_values(description, std::iter::once(value), options)
    }

    /// Which rule of RFC 4512 section 2.4.2 forbids to turn an entry of class `from` into one of class `to`?
    pub fn check_structural_change(&self, from: ClassId, to: ClassId) -> Result<(), Violation> {
        if from == to {
            return Ok(());
        }
        let name = |c: ClassId| self.class(c).name().to_owned();
        Err(Violation::StructuralClassChanged { from: name(from), to: name(to) })
    }

    #[inline]
    fn examine_values<'v>(
        &self,
        description: Description,
        values: impl ExactSizeIterator<Item = &'v [u8]> + Clone,
        options: CheckOptions,
        buffer: &mut Vec<u8>,
    ) -> Result<(), Violation> {
        let traits = self.traits_of(description.attribute_type);
        let name = || self.describe(description).into_owned();
        let count = values.len();
        if traits.has(Traits::NO_USER_MODIFICATION) && !options.no_user_modification {
            return Err(Violation::NoUserModification { attribute: name() });
        }
        if traits.has(Traits::OBSOLETE) && !options.obsolete {
            return Err(Violation::Obsolete { name: name() });
        }
        if count == 0 {
            return Err(Violation::NoValues { attribute: name() });
        }
        if count > 1 && traits.has(Traits::SINGLE_VALUE) {
            return Err(Violation::SingleValue { attribute: name(), count });
        }
        let invalid = |index, invalid| Violation::InvalidValue {
            attribute: name(),
            index,
            syntax: traits.syntax.name(),
            invalid,
        };
        for (index, value) in values.clone().enumerate() {
            traits.syntax.check_in(value, self, buffer).map_err(|e| invalid(index, e))?;
        }
        if count == 1 {
            return Ok(());
        }
        match self.find_duplicate(description.attribute_type, values.clone(), buffer) {
            Ok(None) => Ok(()),
            Ok(Some(index)) => {
                let value = values.clone().nth(index).unwrap_or_default();
                let value = self.shown_value(description.attribute_type, value);
                Err(Violation::DuplicateValue { attribute: name(), value })
            }
            Err((index, e)) => Err(invalid(index, e)),
        }
    }

    /// Position of a value that an earlier one matches.
    fn find_duplicate<'v>(
        &self,
        id: TypeId,
        values: impl ExactSizeIterator<Item = &'v [u8]>,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<usize>, (usize, crate::Invalid)> {
        buffer.clear();
        let count = values.len();
        if count <= SMALL {
            let mut ends = [0; SMALL + 1];
            for (index, value) in values.enumerate() {
                self.append_equality(id, value, buffer).map_err(|e| (index, e))?;
                ends[index + 1] = buffer.len();
            }
            let form = |index: usize| &buffer[ends[index]..ends[index + 1]];
            return Ok((1..count).find(|later| (0..*later).any(|earlier| form(earlier) == form(*later))));
        }
        let mut spans = Vec::with_capacity(count);
        for (index, value) in values.enumerate() {
            let start = buffer.len();
            self.append_equality(id, value, buffer).map_err(|e| (index, e))?;
            spans.push((start, buffer.len(), index));
        }
        let form = |span: &(usize, usize, usize)| &buffer[span.0..span.1];
        spans.sort_unstable_by(|a, b| form(a).cmp(form(b)).then(a.2.cmp(&b.2)));
        Ok(spans.windows(2).find(|pair| form(&pair[0]) == form(&pair[1])).map(|pair| pair[1].2))
    }

    #[cold]
    fn not_allowed(&self, description: Description, set: &ClassSet) -> Violation {
        let id = description.attribute_type;
        let attribute = self.describe(description).into_owned();
        if set.precludes(id) {
            return Violation::Precluded { attribute, class: self.class(set.structural).name().to_owned() };
        }
        if self.attribute_type(id).is_collective() && self.keeps_collective_apart() {
            return Violation::CollectiveElsewhere { attribute };
        }
        let rules = self.dit.now();
        let rule = rules.content_rule(set.structural);
        let would = |(class, c): &(ClassId, &ObjectClass)| {
            let may_be_added = match c.definition.kind {
                ClassKind::Abstract => false,
                ClassKind::Structural => c.superiors.binary_search(&set.structural).is_ok(),
                ClassKind::Auxiliary => rule.is_none_or(|rule| rule.auxiliary.binary_search(class).is_ok()),
            };
            may_be_added && c.all_attributes().any(|a| a == id)
        };
        Violation::AttributeNotAllowed {
            attribute,
            classes: self.class_names_of(&set.ids),
            class: self.classes().find(would).map(|(_, c)| c.name().to_owned()),
        }
    }

    #[cold]
    fn missing(&self, id: TypeId, set: &ClassSet) -> Violation {
        let attribute = self.attribute_type(id).name().to_owned();
        match set.ids.iter().map(|c| self.class(*c)).find(|c| c.must.contains(&id)) {
            Some(class) => Violation::MissingAttribute { attribute, class: class.name().to_owned() },
            None => Violation::MissingByContentRule {
                attribute,
                class: self.class(set.structural).name().to_owned(),
            },
        }
    }
}

/// Up to so many values are compared each with each.
const SMALL: usize = 8;

#[cfg(test)]
mod tests;
