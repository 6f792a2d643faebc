//! References: values that are names of entries. When an entry is deleted or gets another name
//! they follow it, in the same step of the writer.
//!
//! It is found by the equality index of each attribute, so a reference costs nothing until its
//! entry goes.

use super::directory::Directory;
use super::rule::ReferencesRule;
use super::subtree::Subtree;
use model::TypeId;
use schema::{Rule, Schema};
use store::{DnCache, Refused};

/// What is wrong with a value.
pub(super) const ABSENT: &str = "no entry has the name that is a value";

/// Values of these types are names of entries.
#[derive(Debug)]
pub(super) struct References {
    /// For texts.
    pub(super) name: String,
    /// Subtypes count too.
    pub(super) types: Vec<TypeId>,
    /// It is about values of these entries, whatever they refer to; of all without one.
    pub(super) subtree: Option<Subtree>,
    /// Must a value that is given be the name of an entry?
    pub(super) must_exist: bool,
    /// Entries and values that one update may look at.
    pub(super) limit: u32,
    /// What is put in the place of the last value of an entry.
    pub(super) nothing: Option<Vec<u8>>,
}

impl References {
    /// A rule of these types, in words what is wrong with it otherwise.
    pub(super) fn new(
        (name, types, subtree): (String, Vec<TypeId>, Option<Subtree>),
        rule: &ReferencesRule,
        schema: &Schema,
    ) -> Result<References, String> {
        let nothing = rule.nothing.as_ref().map(|dn| dn.clone().into_bytes());
        // A value that the schema does not know would be refused where it is given.
        nothing.iter().try_for_each(|dn| super::subtree::normal(schema, dn).map(drop))?;
        Ok(References { name, types, subtree, must_exist: rule.must_exist, limit: rule.limit, nothing })
    }

    /// Is a value of this type a name?
    pub(super) fn has(&self, schema: &Schema, attribute_type: TypeId) -> bool {
        self.types.iter().any(|of| schema.is_subtype(attribute_type, *of))
    }

    /// The update would look at more than it may.
    #[cold]
    pub(super) fn limit_reached(&self) -> Refused {
        let References { name, limit, .. } = self;
        Refused::ConstraintLimit(format!(
            "constraint {name}: more than {limit} entries refer to it or lie below it"
        ))
    }
}

/// Has an entry the name that a value is? Whether the one who asks may see the entry makes no
/// difference: a replica knows nobody who asks. So the right to write the attribute is the
/// right to ask.
pub(super) fn exists(
    schema: &Schema,
    (attribute_type, value): (TypeId, &[u8]),
    directory: Directory<'_>,
    cache: &mut DnCache,
) -> bool {
    let dn = match schema.attribute_type(attribute_type).equality {
        // Behind the name there may be a bit string: `cn=x#'01'B`.
        Some(Rule::UniqueMember) if value.ends_with(b"'B") => {
            let end = value.iter().rposition(|byte| *byte == b'#');
            &value[..end.unwrap_or(value.len())]
        }
        _ => value,
    };
    directory.resolve(dn, cache).is_some()
}
