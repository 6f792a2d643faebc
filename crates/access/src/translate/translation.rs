//! What became of a file of another server.

use super::build::{anyone, at};
use crate::parse::parse;
use crate::right::{Right, Rights};
use crate::rule::{AttributeSelector, Items, Operations, Place, Reach, Rule, Target};
use model::limits::ACCESS_RANK_MAX;
use std::collections::BTreeSet;

/// What became of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Translation {
    /// Rules, each with the line of the file that it comes from.
    pub rules: Vec<(u64, Rule)>,
    /// What is not carried over: line, what it is, and why not.
    pub left: Vec<(u64, String)>,
    /// What is carried over and deserves a look.
    pub remarks: Vec<(u64, String)>,
}

impl Translation {
    /// Takes a rule, if the language has a text for it.
    pub(super) fn push(&mut self, line: u64, mut rule: Rule) {
        let names: BTreeSet<&str> = self.rules.iter().map(|(_, rule)| rule.name.as_str()).collect();
        let base = rule.name.clone();
        let mut number = 2;
        while names.contains(rule.name.as_str()) {
            rule.name = format!("{base}-{number}");
            number += 1;
        }
        match parse(&rule.to_string()) {
            Ok(parsed) => self.rules.push((line, parsed)),
            Err(error) => self.leave(line, &rule.to_string(), &error.text),
        }
    }

    pub(super) fn leave(&mut self, line: u64, what: &str, why: &str) {
        self.left.push((line, format!("{}: {why}", crate::near::shown(what))));
    }

    pub(super) fn remark(&mut self, line: u64, text: impl Into<String>) {
        let remark = (line, text.into());
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    /// Other servers keep their own entries apart: a rule about all entries is not about `cn=config` here.
    pub(super) fn keep_own_entries(&mut self) {
        let is_wide = |rule: &Rule| {
            rule.target.place == Place::All && matches!(rule.target.items, Items::Attributes(_))
        };
        if self.rules.iter().any(|(_, rule)| is_wide(rule) && !rule.allow.is_empty()) {
            let items = Items::Attributes(vec![AttributeSelector::Entry, AttributeSelector::Every]);
            let place = at(Reach::Subtree, "cn=config");
            let target = Target { place, filter: None, items, values: None, operations: Operations::ANY };
            let deny = Rights::ALL.without(Rights::of(&[Right::Use])) | Rights::of(&[Right::Manage]);
            let (name, subjects, rank) = ("own-entries".to_owned(), anyone(), ACCESS_RANK_MAX);
            self.push(0, Rule { name, target, subjects, allow: Rights::NONE, deny, rank });
        }
    }
}
