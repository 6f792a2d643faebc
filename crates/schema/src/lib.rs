//! The subschema (RFC 4512): definitions, syntaxes and matching rules (RFC 4517), string preparation
//! (RFC 4518), normal forms of values and DNs, and the checks that make an `Entry<Raw>` an `Entry<Checked>`.
//!
//! A [`Schema`] is built once from files ([`Builder`]) and read by all threads without locks; only sets of
//! attribute options and of object classes that were never seen before are interned behind one. Definitions can be
//! added, changed and removed while it is read ([`Schema::plan`]).

mod additions;
mod builder;
mod builtin;
mod check;
mod class_set;
mod config_form;
mod current;
pub mod definition;
mod dit;
mod dn;
mod element;
mod extend;
mod form;
mod invalid;
mod macros;
mod names;
mod naming;
mod options;
mod order;
mod prep;
mod published;
mod rule;
mod schema;
mod scratch;
mod secret;
mod slots;
mod source;
mod subschema;
mod syntax;
mod time;
mod well_known;

pub use additions::{ADDED_BYTES_MAX, ADDED_FILE, Subtypes};
pub use builder::{BuildErrors, Builder, Fault, SchemaFile, UnknownBuiltin};
pub use builtin::BUILTIN_NAMES;
pub use check::{Changed, CheckOptions, Checked, Violation};
pub use config_form::{ConfigAttribute, Expansion};
pub use definition::{ClassKind, Usage};
pub use element::{AttributeType, BinaryTransfer, ContentRule, ObjectClass};
pub use extend::{Already, Changes, Effects, Element, NotAdded, Plan, Use};
pub use invalid::Invalid;
pub use naming::Superior;
pub use options::{DescriptionError, HeldDescriptions, OPTION_SETS_MAX, WantedOptions};
pub use prep::{Part, SHORT_MAX};
pub use rule::{Rule, RuleKind};
pub use schema::Schema;
pub use slots::ADDED_MAX;
pub use source::{additions_of, without_index};
pub use subschema::DefinitionKind;
pub use syntax::Syntax;
pub use well_known::WellKnown;
