//! Access rules: their language, and how a decision follows from them. No entries, no sessions: the agent compiles rules to what it asks
//! for each request.

mod check;
mod near;
mod parse;
mod print;
mod right;
mod rule;
mod set;
mod settings;

pub use check::{check, check_all};
pub use parse::{Error, check_name, parse};
pub use print::quoted;
pub use right::{Right, Rights};
pub use rule::{
    AttributeSelector, AuthMethod, Condition, Items, Network, Operation, Operations, Pattern, Peer, Place,
    Reach, Rule, Subject, SubjectDn, Target, Test, ValueTest,
};
pub use set::parse_all;
pub use settings::{Refresh, Settings};
