//! A decision, and all that can be said of why it is so. Plain: every rule is looked at, and nothing is kept. The agent has a compiled form
//! for its requests, which is tested against this one.

mod query;
mod subject;
mod target;

pub use query::{Failure, Item, Query};
pub use target::is_withheld;
pub(crate) use target::selects;

use crate::name::Name;
use crate::rule::Rule;
use crate::truth::Truth;
use crate::world::{Requester, World};
use std::cmp::Reverse;

/// Where a rule was found. Rules of the configuration come before those of entries, and these before the built-in ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is built in.
    BuiltIn,
    /// A value of `pandoAccess` of an entry. It reaches that entry and what is below it.
    Entry(Name),
    /// The configuration.
    Configured,
}

impl Origin {
    fn layer(&self) -> u8 {
        match self {
            Origin::BuiltIn => 0,
            Origin::Entry(_) => 1,
            Origin::Configured => 2,
        }
    }
}

/// A rule with the place where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The rule.
    pub rule: Rule,
    /// Where it was found.
    pub origin: Origin,
}

impl Placed {
    /// Did somebody write it: is it not built in?
    pub fn is_written(&self) -> bool {
        self.origin != Origin::BuiltIn
    }

    /// What decides between rules, first the place, then the rank.
    pub(crate) fn rank(&self) -> (u8, u32) {
        (self.origin.layer(), self.rule.rank)
    }
}

/// A decision with its reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Is it allowed?
    pub allowed: bool,
    /// Why.
    pub reason: Reason,
    /// What became of each rule, in the order in which they were given. None for the root DN.
    pub findings: Vec<Finding>,
}

/// Why a decision is as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The root DN is allowed everything.
    Root,
    /// The rule with this number decides.
    Rule(usize),
    /// No rule allows it.
    NoRule,
}

/// What became of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It decides.
    Decides,
    /// It fits too, and says the same as the one that decides.
    Agrees,
    /// It fits and allows, but the one that decides denies at the same rank.
    Denied,
    /// It fits, but the one that decides is of higher rank, or in a place that comes first.
    Outranked,
    /// It does not fit.
    Fails(Vec<Failure>),
}

/// Decides.
pub fn decide<W: World + ?Sized>(
    world: &W,
    rules: &[Placed],
    who: &Requester,
    query: &Query<'_>,
) -> Decision {
    if who.is_root {
        return Decision { allowed: true, reason: Reason::Root, findings: Vec::new() };
    }
    let fits: Vec<Result<bool, Vec<Failure>>> =
        rules.iter().map(|placed| fit(world, placed, who, query)).collect();
    // The highest rank decides, and in it a rule that denies; of equals the first is named.
    let fitting = fits.iter().enumerate().filter_map(|(at, fit)| Some((at, *fit.as_ref().ok()?)));
    let best = fitting.min_by_key(|(at, allows)| (Reverse(rules[*at].rank()), *allows, *at));
    let Some((by, allowed)) = best else {
        let findings = fits.into_iter().map(|fit| Finding::Fails(fit.err().unwrap_or_default())).collect();
        return Decision { allowed: false, reason: Reason::NoRule, findings };
    };
    let finding = |(at, fit): (usize, Result<bool, Vec<Failure>>)| match fit {
        Err(failures) => Finding::Fails(failures),
        Ok(_) if at == by => Finding::Decides,
        Ok(_) if rules[at].rank() < rules[by].rank() => Finding::Outranked,
        Ok(allows) if allows == allowed => Finding::Agrees,
        Ok(_) => Finding::Denied,
    };
    Decision {
        allowed,
        reason: Reason::Rule(by),
        findings: fits.into_iter().enumerate().map(finding).collect(),
    }
}

/// Does a rule fit, and does it allow? A rule that both allows and denies a right denies it, if what it asks could be evaluated or not;
/// where that could not be, it does not allow.
fn fit<W: World + ?Sized>(
    world: &W,
    placed: &Placed,
    who: &Requester,
    query: &Query<'_>,
) -> Result<bool, Vec<Failure>> {
    let rule = &placed.rule;
    let is_there = match &placed.origin {
        Origin::Entry(at) => {
            // A rule of an entry is about entries.
            !matches!(query.item, Item::Control(_) | Item::Extended(_))
                && query.entry.name.levels_below(at).is_some()
        }
        Origin::BuiltIn | Origin::Configured => true,
    };
    if !is_there {
        return Err(vec![Failure::of_target("pandoAccess")]);
    }
    let covered = target::covers(world, &rule.target, who, query)?;
    let (allows, denies) = (rule.allow.has(query.right), rule.deny.has(query.right));
    if !allows && !denies {
        let key = if rule.allow.is_empty() { "deny" } else { "allow" };
        return Err(vec![Failure::of_target(key)]);
    }
    let (is_for, mut failures) = subject::is_for(world, rule, who, query);
    match Truth::all([covered, is_for]) {
        Truth::True => Ok(!denies),
        // What cannot be evaluated is true in a deny and false in an allow.
        Truth::Undefined if denies => Ok(false),
        Truth::Undefined if covered == Truth::Undefined => {
            let key = if rule.target.values.is_some() { "values" } else { "filter" };
            failures.push(Failure { undefined: true, ..Failure::of_target(key) });
            Err(failures)
        }
        Truth::Undefined | Truth::False => Err(failures),
    }
}

#[cfg(test)]
mod tests;
