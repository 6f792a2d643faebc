//! Histories: what concurrent clients asked for and were answered, and checks whether any order of it makes sense. The checks
//! are pure functions over a [`History`]; each says what is wrong in the words of the literature.
//!
//! | check | of | says yes if |
//! |---|---|---|
//! | [`registers`] | reads, writes, compare-and-swap of single values | the operations of each register are linearizable |
//! | [`lists`] | transactions that append to lists and read them | the transactions are strict serialisable, as far as reads tell |
//! | [`transfers`] | transfers between accounts, scans of all of them | each scan has the same sum; balances are what transfers make |
//!
//! The format of a recorded history is in [`history`].

pub mod history;
pub mod linearizable;
pub mod lists;
pub mod registers;
pub mod transfers;
pub mod verdict;

pub use history::{Event, History, Operation, Outcome, Step, What};
pub use verdict::{Anomaly, Finding, Verdict};
