//! What entries say of policies: the values of an attribute, and the numbers of the policy that an entry is.

use crate::access::each_value;
use crate::password::policies::{Policy, Quality};
use ::password::quality::{CLASSES_MAX, SCORE_MAX};
use model::limits::PASSWORD_HISTORY_MAX;
use store::{EntryRef, ReadPoint};

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
