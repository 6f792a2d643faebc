//! Which policy holds for an account: the one that its entry names, else that of the nearest subentry ([`super::subentry`]), else that of the first rule
//! of the settings that fits, else the default one of the settings, else the built-in one. A name that
//! leads to no policy is passed over, for an account that nobody can use would be worse than one with the next policy.

use super::entry::{policy_of_entry, text};
use super::subentry::policy_of_subentry;
use super::subject::{Subject, is_true};
use crate::context::Reading;
use crate::password::policies::{Policy, PolicyRule};
use crate::worker::Scratch;
use store::search::evaluate::Truth;
use store::{EntryRef, Unresolved};

/// The attribute by which an entry names its policy.
pub(crate) const SUBENTRY: &str = "pwdPolicySubentry";

/// The policy of an account: of an entry, or of one that is to be added.
///
/// A transaction looks at copies of the entries that it has touched, among which no policy need be. There the policy holds that was
/// found before, in the directory ([`crate::password::Passwords::policy`]).
pub(crate) fn policy_of(reading: &mut Reading<'_>, entry: Option<&EntryRef<'_>>) -> Policy {
    if !std::ptr::eq(reading.read_point.shard(), &*reading.dsa.shard)
        && let Some(policy) = &reading.scratch.passwords.policy
    {
        return policy.clone();
    }
    let named = entry.and_then(|entry| text(entry, SUBENTRY, reading.read_point));
    chosen(reading, named.as_deref(), entry.map(Subject::Entry))
}

/// The policy of an entry that is to be added, which names it or does not.
pub(super) fn policy_of_new(reading: &mut Reading<'_>, dn: &[u8], named: Option<&[u8]>) -> Policy {
    let named = named.and_then(|named| std::str::from_utf8(named).ok());
    chosen(reading, named, Some(Subject::New(dn)))
}

/// The policy that is named, else that of a subentry, else that of the first rule that fits, else the default one. Each is looked up when it is needed: a policy is
/// one entry, and a change of it holds from the next request on.
fn chosen(reading: &mut Reading<'_>, named: Option<&str>, subject: Option<Subject<'_, '_>>) -> Policy {
    let choices = reading.dsa.policies.choices();
    let mut found = named.and_then(|dn| policy_at(reading, dn));
    if let (None, Some(subject)) = (&found, subject) {
        found = policy_of_subentry(reading, subject);
    }
    if let (None, Some(subject)) = (&found, subject) {
        let rule = choices.rules.iter().find(|rule| fits(reading, subject, rule));
        found = rule.and_then(|rule| policy_at(reading, &rule.policy));
    }
    let found = found.or_else(|| policy_at(reading, choices.default_policy.as_deref()?));
    let built_in = Policy { min_length: choices.min_length, ..Policy::BUILT_IN };
    let found = found.unwrap_or(built_in);
    Policy { tells_locked: choices.tell_locked, last_success: choices.last_success, ..found }
}

/// Is an account among those of a rule? One that is to be added belongs to no group yet, and no filter is asked of it.
fn fits(reading: &mut Reading<'_>, subject: Subject<'_, '_>, rule: &PolicyRule) -> bool {
    let is_there = rule.subtree.as_deref().is_none_or(|base| is_within(reading, subject, base));
    let entry = match subject {
        Subject::Entry(entry) => entry,
        Subject::New(_) => return is_there && rule.filter.is_none() && rule.group.is_none(),
    };
    is_there
        && rule.filter.as_deref().is_none_or(|filter| is_true(reading, entry, filter))
        && rule.group.as_deref().is_none_or(|group| is_member(reading, entry, group))
}

/// Is an account an entry, or below it? Names are looked up and not compared, so a subtree that is renamed is another one.
fn is_within(reading: &mut Reading<'_>, subject: Subject<'_, '_>, base: &str) -> bool {
    let (read_point, cache) = (reading.read_point, &mut reading.scratch.evaluator.cache);
    let Ok(base) = read_point.resolve(base.as_bytes(), cache) else { return false };
    match subject {
        Subject::Entry(entry) => read_point.is_within(entry.id, base),
        // Of its superiors the nearest that is there; if that is not its own, the add fails.
        Subject::New(dn) => match read_point.resolve(dn, cache) {
            Ok(id) | Err(Unresolved::NoSuchObject(Some(id))) => read_point.is_within(id, base),
            Err(_) => false,
        },
    }
}

/// Does an account belong to a group? A group that is gone has no members, so the next rule is asked.
fn is_member(reading: &mut Reading<'_>, entry: &EntryRef<'_>, group: &str) -> bool {
    let read_point = reading.read_point;
    let dn = read_point.dn(entry, &mut reading.scratch.evaluator.cache);
    let Scratch { views, evaluator, .. } = &mut *reading.scratch;
    let who = (&dn[..], Some(entry));
    views.groups().is_member_of_named(who, (group, true), read_point, evaluator) == Truth::True
}

/// The policy that the entry of this name is, if it is one.
fn policy_at(reading: &mut Reading<'_>, dn: &str) -> Option<Policy> {
    let read_point = reading.read_point;
    let id = read_point.resolve(dn.as_bytes(), &mut reading.scratch.evaluator.cache).ok()?;
    policy_of_entry(read_point, &read_point.entry(id)?)
}
