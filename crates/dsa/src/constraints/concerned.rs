//! The types that constraints are about, worked out once when they come into force.
//!
//! Most updates change attributes that no constraint is about, and are to pay one load to know
//! that. When definitions are added to the schema meanwhile, a type may be a subtype of another
//! one: then each question goes through the rules, until constraints come into force anew.

use model::TypeId;
use schema::Schema;

/// What constraints have to do with values of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Concern {
    /// They are judged.
    pub(super) is_judged: bool,
    /// They are looked for in other entries.
    pub(super) is_looked_up: bool,
}

/// One [`Concern`] for each type of a schema, as the schema was at one generation of it.
#[derive(Debug, Default)]
pub(super) struct Concerned {
    generation: u64,
    of_types: Box<[Concern]>,
}

impl Concerned {
    /// All types of a schema.
    pub(super) fn of(schema: &Schema, of_type: impl Fn(TypeId) -> Concern) -> Concerned {
        // Before the types: what is added from here on makes it another one.
        let generation = schema.generation();
        Concerned { generation, of_types: schema.attribute_types().map(|(id, _)| of_type(id)).collect() }
    }

    /// That of a type; `None` if the schema is another one by now.
    #[inline]
    pub(super) fn of_type(&self, schema: &Schema, id: TypeId) -> Option<Concern> {
        let known = self.of_types.get(usize::from(id.0)).copied();
        known.filter(|_| self.generation == schema.generation())
    }
}
