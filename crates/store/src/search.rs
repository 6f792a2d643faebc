//! Search: a filter made ready, a plan of where candidates come from, and a cursor that yields entries.

mod collected;
pub mod cursor;
pub mod evaluate;
pub mod filter;
mod gathering;
mod hidden;
mod holders;
mod listed;
pub mod members;
mod one_value;
mod plan;
mod restricted;
mod scopes;
mod size;
mod substrings;
mod values_filter;
mod wanted;
mod whole;
pub mod work;

pub use crate::index::in_order::InOrder;
pub use cursor::{Candidates, Cursor, EqualityHint, Step};
pub use filter::{Compiled, FewCandidates, Readable, Testable};
pub use holders::Holding;
pub use listed::Listed;
pub use members::IN_CHAIN;
pub use one_value::ValueFilter;
pub use scopes::{Scopes, TooManyAliases};
pub use values_filter::{AnyOf, ValuesFilter};
pub use wanted::Wanted;
pub use whole::Whole;
pub use work::Paused;
