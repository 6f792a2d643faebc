//! Transactions, rule by rule: RFC 5805, the extensions of it, and that what a transaction does is what its updates do.
//!
//! | rule of RFC 5805, row of the features | tests |
//! |---|---|
//! | 1 updates are answered at once, 2 all or nothing, 3 no nesting, bind and unbind, 5 controls inside, 6 one server | `rfc5805::rule_N_*` |
//! | 4 the server aborts, with a notice | `limits::rule_4_*`, `rfc5805::rule_4_*`, `precedence::d80_*` |
//! | D70 all of RFC 5805 | all of these |
//! | D73 results before the decision | `extensions::d73_*`, `passwords::d73_*` |
//! | D74, D75, D76 the two extensions and their switches | `extensions::d74_*`, `d75_*`, `d76_*` |
//! | D77 how fast they are | measured: `.ci/transactions` |
//! | D79, D80 precedence | `precedence::d79_*`, `d80_*`, `passwords::d79_*`, `d80_*` |
//! | D71, D72, D78 several servers | there is one so far |

#[path = "../common/mod.rs"]
mod common;

mod constraints;
mod constraints_model;
mod constraints_on_references;
mod constraints_on_values;
mod equivalence;
mod extensions;
mod fixture;
mod limits;
mod passwords;
mod precedence;
mod prepared_writes;
mod rfc5805;
mod searches;
mod searches_model;
mod writers;
