//! Access rules: their language, and how a decision follows from them. No entries, no sessions: the agent compiles rules to what it asks
//! for each request.

pub mod builtin;
mod check;
pub mod decide;
mod evaluate;
pub mod group;
pub mod ldif;
mod limit;
pub mod lint;
mod name;
mod near;
mod parse;
mod print;
mod right;
mod rule;
mod set;
mod settings;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod translate;
mod truth;
mod world;

pub use check::{check, check_all, check_limits, with_rdn};
pub use decide::{decide, is_withheld};
pub use evaluate::evaluate;
pub use limit::{LimitRule, Limits, Unindexed};
pub use name::Name;
pub use parse::limit::parse_limit;
pub use parse::{Error, check_name, parse, parse_of_entry};
pub use print::quoted;
pub use right::{Right, Rights};
pub use rule::{
    AttributeSelector, AuthMethod, Condition, Items, Network, Operation, Operations, Pattern, Peer, Place,
    Reach, Rule, Subject, SubjectDn, Target, Test, ValueTest,
};
pub use set::{parse_all, parse_limits};
pub use settings::{Refresh, Settings};
pub use truth::Truth;
pub use world::{Address, Entry, Requester, Tree, World};
