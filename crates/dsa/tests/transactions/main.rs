//! Transactions, rule by rule: RFC 5805, the extensions of it, and that what a transaction does is what its updates do.

#[path = "../common/mod.rs"]
mod common;

mod desk;
mod equivalence;
mod extensions;
mod limits;
mod passwords;
mod precedence;
mod rfc5805;
mod searches;
mod searches_model;
