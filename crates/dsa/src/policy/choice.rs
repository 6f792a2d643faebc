//! Which policy holds for an account: the one that its entry names, else the default one of the settings, else the built-in one. A name that
//! leads to no policy is passed over, for an account that nobody can use would be worse than one with the next policy.

use crate::access::each_value;
use crate::context::Reading;
use crate::password::policies::Policy;
use model::limits::PASSWORD_HISTORY_MAX;
use store::{EntryRef, ReadPoint};

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
    named_or_default(reading, named.as_deref())
}

/// The policy of an entry that is to be added, which names it or does not.
pub(super) fn policy_of_new(reading: &mut Reading<'_>, named: Option<&[u8]>) -> Policy {
    match named.and_then(|named| std::str::from_utf8(named).ok()) {
        None => policy_of(reading, None),
        Some(named) => named_or_default(reading, Some(named)),
    }
}

fn named_or_default(reading: &mut Reading<'_>, named: Option<&str>) -> Policy {
    // Each is looked up when it is needed: a policy is one entry, and a change of it holds from the next request on.
    let choices = reading.dsa.policies.choices();
    let mut found = None;
    for dn in named.into_iter().chain(choices.default_policy.as_deref()) {
        found = found.or_else(|| policy_at(reading, dn));
    }
    let built_in = Policy { min_length: choices.min_length, ..Policy::BUILT_IN };
    Policy { tells_locked: choices.tell_locked, ..found.unwrap_or(built_in) }
}

/// The policy that an entry is, if it is one.
/// Any structural class will do, and a class below pwdPolicy as well.
fn policy_at(reading: &mut Reading<'_>, dn: &str) -> Option<Policy> {
    let read_point = reading.read_point;
    let id = read_point.resolve(dn.as_bytes(), &mut reading.scratch.evaluator.cache).ok()?;
    let entry = read_point.entry(id)?;
    let schema = read_point.shard().schema();
    let class = schema.find_class(b"pwdPolicy")?;
    let classes = entry.shape.class_values.iter().filter_map(|name| schema.find_class(name));
    classes.clone().find(|own| schema.is_subclass(*own, class))?;
    // What an earlier version may have stored, a negative number, is no bound.
    let number =
        |name: &str| text(&entry, name, read_point).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    let is = |name: &str| text(&entry, name, read_point).map(|text| text == "TRUE");
    let small = |name| usize::try_from(number(name)).unwrap_or(usize::MAX);
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
        max_failure: u32::try_from(number("pwdMaxFailure")).unwrap_or(u32::MAX),
        failure_interval: number("pwdFailureCountInterval"),
        must_change: is("pwdMustChange").unwrap_or(false),
        allow_user_change: is("pwdAllowUserChange").unwrap_or(true),
        safe_modify: is("pwdSafeModify").unwrap_or(false),
        is_built_in: false,
        tells_locked: false,
    })
}
