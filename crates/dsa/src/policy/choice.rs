//! Which policy holds for an account: the one that its entry names, else that of the nearest subentry ([`super::subentry`]), else that of the first rule
//! of the settings that fits, else the default one of the settings, else the built-in one. A name that
//! leads to no policy is passed over, for an account that nobody can use would be worse than one with the next policy.

use super::subentry::policy_of_subentry;
use crate::access::each_value;
use crate::context::Reading;
use crate::password::policies::{Policy, PolicyRule, Quality};
use crate::worker::Scratch;
use ::password::quality::{CLASSES_MAX, SCORE_MAX};
use model::limits::PASSWORD_HISTORY_MAX;
use store::search::Compiled;
use store::search::evaluate::Truth;
use store::{EntryRef, ReadPoint, Unresolved};

/// The attribute by which an entry names its policy.
pub(crate) const SUBENTRY: &str = "pwdPolicySubentry";

/// The values of an attribute of an entry; none of one that the schema does not have.
/// It is found by its name each time: a hash, beside the verification of a password.
pub(super) fn values(entry: &EntryRef<'_>, name: &str, at: ReadPoint<'_>) -> Vec<Vec<u8>> {
    let mut values = Vec::new();
    if let Some(id) = at.shard().schema().find_type(name.as_bytes()) {
        each_value(entry, id, at, &mut |value| values.push(value.to_vec()));
    }
    values
}

/// The first value as text.
pub(super) fn text(entry: &EntryRef<'_>, name: &str, at: ReadPoint<'_>) -> Option<String> {
    values(entry, name, at).into_iter().next().and_then(|value| String::from_utf8(value).ok())
}

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

/// Whose policy is looked for. A name that nobody has is no subject: its bind fails whatever a policy says.
#[derive(Clone, Copy)]
pub(super) enum Subject<'s, 'r> {
    Entry(&'s EntryRef<'r>),
    /// It is to be added under this name.
    New(&'s [u8]),
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

/// Is a filter true of an account? It was read before, when the rule was set, and is short.
/// All attributes are looked at: the rule is the administrator's, and its outcome is no answer to anybody.
pub(super) fn is_true(reading: &mut Reading<'_>, entry: &EntryRef<'_>, filter: &str) -> bool {
    let Ok(parsed) = proto::filter_string::parse(filter.as_bytes()) else { return false };
    let compiled = Compiled::new(&parsed.filter(), reading.read_point.shard(), &|_| true);
    reading.scratch.evaluator.evaluate(&compiled, entry, reading.read_point) == Truth::True
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

/// The policy that an entry is, if it is one.
/// Any structural class will do, and a class below pwdPolicy as well.
pub(super) fn policy_of_entry(read_point: ReadPoint<'_>, entry: &EntryRef<'_>) -> Option<Policy> {
    let schema = read_point.shard().schema();
    let class = schema.find_class(b"pwdPolicy")?;
    let classes = entry.shape.class_values.iter().filter_map(|name| schema.find_class(name));
    classes.clone().find(|own| schema.is_subclass(*own, class))?;
    // What an earlier version may have stored, a negative number, is no bound.
    let number =
        |name: &str| text(entry, name, read_point).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    let is = |name: &str| text(entry, name, read_point).map(|text| text == "TRUE");
    let small = |name| usize::try_from(number(name)).unwrap_or(usize::MAX);
    let count = |name| u32::try_from(number(name)).unwrap_or(u32::MAX);
    Some(Policy {
        min_age: number("pwdMinAge"),
        max_age: number("pwdMaxAge"),
        in_history: small("pwdInHistory").min(PASSWORD_HISTORY_MAX),
        min_length: small("pwdMinLength"),
        max_length: small("pwdMaxLength"),
        expire_warning: number("pwdExpireWarning"),
        grace_limit: small("pwdGraceAuthNLimit"),
        grace_expiry: number("pwdGraceExpiry"),
        lockout: is("pwdLockout").unwrap_or(false),
        lockout_duration: number("pwdLockoutDuration"),
        max_failure: count("pwdMaxFailure"),
        failure_interval: number("pwdFailureCountInterval"),
        min_delay: number("pwdMinDelay"),
        max_delay: number("pwdMaxDelay"),
        max_recorded: count("pwdMaxRecordedFailure"),
        must_change: is("pwdMustChange").unwrap_or(false),
        allow_user_change: is("pwdAllowUserChange").unwrap_or(true),
        safe_modify: is("pwdSafeModify").unwrap_or(false),
        quality: quality_of(entry, read_point),
        max_idle: number("pwdMaxIdle"),
        is_built_in: false,
        tells_locked: false,
        last_success: 0,
    })
}

/// How good passwords must be under the policy that an entry is.
/// What is written there was looked at; a number that is too high all the same asks for all that can be asked for.
fn quality_of(entry: &EntryRef<'_>, at: ReadPoint<'_>) -> Quality {
    let number = |name: &str, max: u8| {
        let number = text(entry, name, at).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        u8::try_from(number).unwrap_or(max).min(max)
    };
    let is = |name: &str| text(entry, name, at).is_some_and(|text| text == "TRUE");
    Quality {
        min_classes: number("pandoPwdMinClasses", CLASSES_MAX),
        min_score: number("pandoPwdMinScore", SCORE_MAX),
        not_names: is("pandoPwdNotNames"),
        dictionary: is("pandoPwdDictionary"),
    }
}
