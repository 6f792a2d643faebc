//! Giving an entry its RDN: the distinguished values must be among its attributes.

use crate::refused::Refused;
use crate::resolve::known_type;
use model::{Description, Entry, TypeId, dn};
use schema::Schema;

/// Puts the values of an RDN into an entry where they are missing, each in front of its attribute. Returns the
/// naming attributes.
pub(super) fn name_entry(
    schema: &Schema,
    entry: &mut Entry,
    rdn: &dn::Rdn<'_>,
) -> Result<Vec<TypeId>, Refused> {
    let mut naming = Vec::with_capacity(rdn.len());
    for ava in rdn {
        let attribute_type = known_type(schema, ava.attribute_type).map_err(Refused::InvalidDn)?;
        if naming.contains(&attribute_type) {
            let name = schema.attribute_type(attribute_type).name();
            return Err(Refused::NamingViolation(format!("the RDN names {name} twice")));
        }
        if schema.attribute_type(attribute_type).is_operational() {
            let name = schema.attribute_type(attribute_type).name();
            return Err(Refused::NamingViolation(format!(
                "the operational attribute {name} cannot name an entry"
            )));
        }
        let description = Description::plain(attribute_type);
        match find_value(schema, entry, description, &ava.value) {
            Some(at) => {
                let position = entry.position(description).expect("the attribute has the value");
                entry.move_to_front(position, at);
            }
            None => {
                entry.extend(description, [&ava.value[..]]);
                let position = entry.position(description).expect("just added");
                entry.move_to_front(position, entry.value_count(position) - 1);
            }
        }
        naming.push(attribute_type);
    }
    Ok(naming)
}

/// Where an attribute has a value that matches this one.
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

/// The normal form of a value, if it has one.
pub(super) fn normal(schema: &Schema, attribute_type: TypeId, value: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(value.len());
    schema.normalise_equality(attribute_type, value, &mut out).is_ok().then_some(out)
}
