//! Entries of one object class, if a constraint is not about those of all classes. Classes may
//! be added to the schema while it is in force.

use model::ClassId;
use schema::Schema;

/// The class with this name.
pub(super) fn class(schema: &Schema, name: Option<&str>) -> Result<Option<ClassId>, String> {
    let found = name.map(|name| {
        let found = schema.find_class(name.as_bytes());
        found.ok_or_else(|| format!("the schema has no class `{name}`"))
    });
    found.transpose()
}

/// Is one of these classes the wanted one, or a subclass? True if none is wanted.
pub(super) fn is_of_class<'c>(
    schema: &Schema,
    wanted: Option<ClassId>,
    mut classes: impl Iterator<Item = &'c [u8]>,
) -> bool {
    let Some(wanted) = wanted else { return true };
    classes.any(|class| schema.find_class(class).is_some_and(|class| schema.is_subclass(class, wanted)))
}
