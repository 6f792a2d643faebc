//! Access rules: their language, and how a decision follows from them. No entries, no sessions: the agent compiles rules to what it asks
//! for each request.

mod near;
mod parse;
mod print;
mod right;
mod rule;
mod set;

pub use parse::{Error, parse};
pub use right::{Right, Rights};
pub use rule::{
    AttributeSelector, AuthMethod, Condition, Items, Network, Operation, Operations, Pattern, Peer, Place,
    Reach, Rule, Subject, SubjectDn, Target, Test, ValueTest,
};
pub use set::parse_all;
