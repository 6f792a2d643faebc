//! The types that constraints are about, worked out once when they come into force.
//!
//! Most updates change attributes that no constraint is about, and are to pay one load to know
//! that. When definitions are added to the schema meanwhile, a type may be a subtype of another
//! one: then each question goes through the rules, until the table is made anew.

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
        // A type that was removed keeps its number, and no entry has it.
        let none = Concern { is_judged: false, is_looked_up: false };
        let mut of_types = vec![none; schema.type_count()];
        for (id, _) in schema.attribute_types() {
            if let Some(place) = of_types.get_mut(usize::from(id.0)) {
                *place = of_type(id);
            }
        }
        Concerned { generation, of_types: of_types.into() }
    }

    /// That of a type; `None` if the schema is another one by now.
    #[inline]
    pub(super) fn of_type(&self, schema: &Schema, id: TypeId) -> Option<Concern> {
        let known = self.of_types.get(usize::from(id.0)).copied();
        known.filter(|_| self.generation == schema.generation())
    }
}
