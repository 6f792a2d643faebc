//! Who may do what, by rules: `docs/access.md`. The rules of the configuration are made ready once ([`Access`]); each thread works the
//! rights of requesters on entries out of them and remembers these ([`Views`]).
//!
//! A decision is made at the read point of its request, before the log. What was logged is applied whatever the rules are by then.
//!
//! ```text
//! in_force            the rules: built in, of entries, and of the configuration
//! of_entries          those of entries, as they are read
//! rules               the rule set: names are looked up, questions are numbered
//! requester, groups   what a bind decides of a requester: its class; candidate is somebody of whom it is asked
//! bounds              and what it may take of the server
//! class               the rules that are left for a class, and the decision
//! places, facts       what is true of an entry, as far as a class asks
//! group_terms         the types and classes that make a group of an entry
//! member_urls         groups of what searches find
//! memberships         which groups an entry is in, and who is in a group, as far as one may know of it
//! views               the rights of a class on entries of which the same is true, remembered
//! ```

mod bounds;
mod candidate;
mod class;
mod facts;
mod group_terms;
mod groups;
mod in_force;
mod member_urls;
mod memberships;
mod of_entries;
mod places;
mod requester;
mod rules;
mod views;

pub(crate) use self::bounds::{Bounds, tighter};
pub(crate) use self::candidate::{asks_for, each_value};
pub(crate) use self::class::on_values::{OnValues, Own, OwnName};
pub(crate) use self::class::{Action, Item, Searchable};
pub(crate) use self::facts::put_answer;
pub(crate) use self::in_force::Access;
pub(crate) use self::member_urls::{scope, urls};
pub(crate) use self::memberships::{ENTRY_WORK_MAX, Memberships, compile as compile_with_members};
pub(crate) use self::of_entries::{
    ATTRIBUTE as RULES_OF_ENTRIES, checked as checked_rule_of_entry, may_be_access_rule,
};
pub use self::requester::ClassId;
pub(crate) use self::requester::{Connection, Proof, Requester};
pub(crate) use self::rules::{Question, is_shown};
pub(crate) use self::views::on_values::{Tester, ValueJudge};
pub(crate) use self::views::{Reader, ViewId, Views};

#[cfg(test)]
mod cost_tests;
#[cfg(test)]
pub(crate) mod model_tests;
