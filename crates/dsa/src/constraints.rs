//! Constraints: what must be true of entries besides the schema. They are settings of the
//! directory, and unlike all other settings they decide what updates come to. So those in force are
//! the ones of the last command of settings in the log, at a replay as well, and updates are judged
//! by them in the writer's role: what is found out of other entries is true until the update is
//! made.
//!
//! ```text
//! rule      a constraint as it is configured, from text and back
//! subtree   which entries a constraint is about; class: of which object class
//! in_force  the constraints by the numbers of the schema, shared by all threads
//! concerned the types that they are about, worked out once
//! directory what a judge looks at: the directory, or one with the overlay of a transaction over it
//! judge     judges what an update makes of an entry
//! values    what the values of attributes must be; judge_values: whether they are
//! references which values are names of entries; referring: those of entries that an update deletes or renames
//! renamed   renames of the base of a subtree, and to it
//! sequence  values and numbers that entries get when they are added
//! given     those that one entry got, from its judgement to the step of the counters
//! existing  whether all entries satisfy a constraint that is to come into force, or is
//! ```
//! The writes that skip the judge are those that cannot matter: prepared writes of attributes
//! without a constraint, the second pass of a transaction that was judged in its overlay, and
//! imports, which `docs/constraints.md` says.

mod class;
mod concerned;
mod directory;
mod existing;
mod given;
mod in_force;
mod judge;
mod judge_values;
mod references;
mod referring;
mod renamed;
mod rule;
mod sequence;
mod subtree;
mod values;

pub(crate) use existing::{check_all, each_fault};
pub(crate) use given::Given;
pub(crate) use in_force::{Constraints, InForce};
pub(crate) use judge::Judging;
pub(crate) use referring::{Reference, Referring};
pub use rule::{ConstraintKind, ConstraintRule, DefaultRule, ReferencesRule, SequenceRule, ValuesRule};

/// Does a schema know what constraints name?
///
/// # Errors
/// In words, what it does not know.
pub(crate) fn fit(rules: &[ConstraintRule], schema: &schema::Schema) -> Result<(), String> {
    InForce::new(rules, schema).map(drop).map_err(|(_, what)| format!("`{KEY}`: {what}"))
}

/// The key of the settings.
pub(crate) const KEY: &str = "constraints.rule";
