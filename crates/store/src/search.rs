//! Search: a filter made ready, a plan of where candidates come from, and a cursor that yields entries.

pub mod cursor;
pub mod evaluate;
pub mod filter;
mod one_value;
mod plan;
mod scopes;
mod size;
mod substrings;
mod wanted;
pub mod work;

pub use cursor::{Cursor, EqualityHint, FewCandidates, Step};
pub use filter::{Compiled, Readable, Testable};
pub use one_value::ValueFilter;
pub use scopes::{Scopes, TooManyAliases};
pub use wanted::Wanted;
pub use work::Paused;
