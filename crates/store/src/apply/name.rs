//! Giving an entry its RDN: the distinguished values must be among its attributes (RFC 4512 section 2.3). They are put
//! there if a request lacks them (RFC 4511 section 4.7 lets a client leave them out), and each comes first among the values
//! of its attribute: a record has no other mark for the value that names it.

use crate::record::push_value;
use crate::refused::Refused;
use crate::resolve::known_type;
use model::{Description, Entry, TypeId, dn};
use schema::Schema;
use smallvec::SmallVec;

/// What an entry is named by.
/// A record has the order of the RDN and which values come first; the spelling only where it is another than the values'.
#[derive(Clone, Debug, Default)]
pub(super) struct Naming {
    /// The attributes of the RDN, in its order.
    pub(super) types: SmallVec<[TypeId; 2]>,
    /// Their values as they were sent, as a record has them; empty if the entry's values are spelled so.
    pub(super) spelling: Vec<u8>,
}

impl Naming {
    /// Notes how the RDN was spelled, if the values of the entry are spelled otherwise.
    pub(super) fn note_spelling<'v>(&mut self, is_other: bool, values: impl Iterator<Item = &'v [u8]>) {
        if is_other {
            values.for_each(|value| push_value(&mut self.spelling, value));
        }
    }

    pub(super) fn clear(&mut self) {
        self.types.clear();
        self.spelling.clear();
    }
}

/// Puts the values of an RDN into an entry where they are missing, each in front of its attribute.
/// # Errors
/// What in the RDN no entry can be named by: an unknown type, one twice, an operational attribute, objectClass.
pub(super) fn name_entry(schema: &Schema, entry: &mut Entry, rdn: &dn::Rdn<'_>) -> Result<Naming, Refused> {
    let (mut naming, mut is_other) = (Naming::default(), false);
    for ava in rdn {
        let attribute_type = known_type(schema, ava.attribute_type).map_err(Refused::InvalidDn)?;
        if naming.types.contains(&attribute_type) {
            let name = schema.attribute_type(attribute_type).name();
            return Err(Refused::NamingViolation(format!("the RDN names {name} twice")));
        }
        // A record has no object classes, its shape has them: there is no first value of them to name the entry by.
        if attribute_type == schema.well_known().object_class {
            return Err(Refused::NamingViolation("objectClass cannot name an entry".to_owned()));
        }
        if schema.attribute_type(attribute_type).is_operational() {
            let name = schema.attribute_type(attribute_type).name();
            return Err(Refused::NamingViolation(format!(
                "the operational attribute {name} cannot name an entry"
            )));
        }
        let description = Description::plain(attribute_type);
        match find_value(schema, entry, description, &ava.value) {
            // The value of the attribute stays as it is spelled there; the spelling of the RDN is kept beside it.
            Some(at) => {
                let position = entry.position(description).expect("the attribute has the value");
                entry.move_to_front(position, at);
                is_other |= entry.values(position).next() != Some(&ava.value[..]);
            }
            // In front of values that the request has: the first one is what the record takes for the name.
            None => {
                entry.extend(description, [&ava.value[..]]);
                let position = entry.position(description).expect("just added");
                entry.move_to_front(position, entry.value_count(position) - 1);
            }
        }
        naming.types.push(attribute_type);
    }
    naming.note_spelling(is_other, rdn.iter().map(|ava| &ava.value[..]));
    Ok(naming)
}

/// Where an attribute has a value that matches this one by its equality rule. Values that are equal byte by byte match
/// without it: it is the common case, and the only way for types that have no such rule.
pub(super) fn find_value(
    schema: &Schema,
    entry: &Entry,
    description: Description,
    value: &[u8],
) -> Option<usize> {
    let position = entry.position(description)?;
    if let Some(at) = entry.values(position).position(|v| v == value) {
        return Some(at);
    }
    // Only now: most names are spelled as their values are.
    let wanted = normal(schema, description.attribute_type, value);
    let mut other = Vec::new();
    entry.values(position).position(|v| {
        other.clear();
        match &wanted {
            Some(wanted) => {
                schema.normalise_equality(description.attribute_type, v, &mut other).is_ok()
                    && other == *wanted
            }
            None => false,
        }
    })
}

/// Takes the value away that [`find_value`] finds. `false` if there is none.
pub(super) fn remove_value(
    schema: &Schema,
    entry: &mut Entry,
    description: Description,
    value: &[u8],
) -> bool {
    let found = find_value(schema, entry, description, value);
    let mut places = 0..;
    entry.retain(description, |_| places.next() != found);
    found.is_some()
}

/// The normal form of a value, if it has one: not if its type has no equality rule, or the value is not of its syntax.
pub(super) fn normal(schema: &Schema, attribute_type: TypeId, value: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(value.len());
    schema.normalise_equality(attribute_type, value, &mut out).is_ok().then_some(out)
}
