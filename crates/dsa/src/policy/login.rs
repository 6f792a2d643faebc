//! What a policy says of a bind: whether its password is verified, what a failure leads to, and what is in order about a password that is right.

use super::account::Account;
use super::choice::policy_of;
use super::entry::values;
use crate::account_times::{AccountTime, Field, stored_failures};
use crate::context::Reading;
use crate::generalized_time::write as time_text;
use crate::identity::Identity;
use crate::password::policies::{Policy, Purpose, Verdict, Write};
use model::{Csn, EntryId};
use proto::control::password_policy::{PolicyError, Warning};
use proto::op::ModifyKind;
use store::EntryRef;

/// The last time that a generalized time can say: the end of the year 9999.
const TIME_MS_MAX: u64 = 253_402_300_799_999;

/// Number of an account, for its failures: of this very entry, and not of one that gets its name or its id later.
fn number(reading: &Reading<'_>, entry: &EntryRef<'_>) -> u64 {
    let created = entry.stamps().created.0;
    reading.dsa.shard.value_hash(&[&entry.id.0.to_le_bytes()[..], &created.to_le_bytes()].concat())
}

/// May a bind succeed, whatever its password is? If failures lock or delay the account this is a try, which is counted. The password is verified in
/// either case, so the answer takes the same time. The account comes with it, for it is read once.
pub(crate) fn admit(reading: &mut Reading<'_>, entry: &EntryRef<'_>, policy: &Policy) -> (bool, Account) {
    let now_ms = reading.now.wall_ms;
    // The order of the specification: lock, begin and end come before the password, age and grace behind it.
    let account = Account::of(reading, entry);
    let is_admitted = !is_blocked(policy, &account, now_ms) && begin(reading, entry, policy, &account);
    if !is_admitted && policy.tells_locked {
        reading.scratch.passwords.verdict = Verdict::of(PolicyError::Locked);
    }
    (is_admitted, account)
}

/// Is an account such that no password is right for it?
pub(super) fn is_blocked(policy: &Policy, account: &Account, now_ms: u64) -> bool {
    is_shut(policy, account, now_ms)
        || account.is_idle(policy.max_idle, now_ms)
        || is_delayed(policy, account, now_ms)
}

/// When the password of an account expires, if it does, in Unix milliseconds.
pub(super) fn expires_ms(policy: &Policy, account: &Account) -> Option<u64> {
    let changed_ms = account.changed_ms.filter(|_| policy.max_age > 0);
    changed_ms.map(|changed| changed.saturating_add(policy.max_age.saturating_mul(1000)))
}

/// Grace logins that are left with a password that expired at `end_ms`.
pub(super) fn grace_left(policy: &Policy, account: &Account, end_ms: u64, now_ms: u64) -> u32 {
    let over_ms = end_ms.saturating_add(policy.grace_expiry.saturating_mul(1000));
    let is_over = policy.grace_expiry > 0 && now_ms >= over_ms;
    let left = if is_over { 0 } else { policy.grace_limit.saturating_sub(account.grace_uses) };
    u32::try_from(left).unwrap_or(u32::MAX)
}

/// Is an account locked, not begun or ended?
fn is_shut(policy: &Policy, account: &Account, now_ms: u64) -> bool {
    account.is_locked(policy.lockout_duration, now_ms)
        || account.start_ms.is_some_and(|start| now_ms < start)
        || account.end_ms.is_some_and(|end| now_ms >= end)
}

/// May somebody be the owner of an account by other proof than a password?
pub(crate) fn is_open(reading: &mut Reading<'_>, entry: &EntryRef<'_>) -> bool {
    let policy = policy_of(reading, Some(entry));
    let account = Account::of(reading, entry);
    !is_shut(&policy, &account, reading.now.wall_ms)
}

/// Is a delay in force that the entry has? It counts after a start, when the failures that led to it are forgotten.
/// A password that was changed since ends it. When it began is not kept, so a change within the longest delay before its end counts as one since.
pub(super) fn is_delayed(policy: &Policy, account: &Account, now_ms: u64) -> bool {
    let Some(bounds) = policy.failures().filter(|bounds| bounds.min_delay > 0) else { return false };
    let begin_ms = |end: u64| end.saturating_sub(bounds.max_delay.saturating_mul(1000));
    account
        .delay_end_ms
        .is_some_and(|end| now_ms < end && account.changed_ms.is_none_or(|changed| changed <= begin_ms(end)))
}

/// Begins a try of an account. False if there is none now.
/// One that is refused is no failure: else a stranger who goes on could keep the user out.
fn begin(reading: &mut Reading<'_>, entry: &EntryRef<'_>, policy: &Policy, account: &Account) -> bool {
    let Some(bounds) = policy.failures() else { return true };
    // It was begun when the bind ran first, before its password was verified.
    if reading.scratch.passwords.tried.is_some() {
        return true;
    }
    // Those of before a start are in the entry only. Some of them may not count any more, which is not written yet.
    let over_ms = reading.dsa.account_times.get(entry, Field::NoFailures);
    let count = account.failures_ms.iter().filter(|failed| over_ms.is_none_or(|over| **failed > over));
    let known = count.fold((0, 0), |(count, last), failed| (count + 1, failed.max(&last).to_owned()));
    let (number, now_ms) = (number(reading, entry), reading.now.wall_ms);
    let tried = reading.dsa.policies.lockouts.begin(number, &bounds, known, account.changed_ms, now_ms);
    reading.scratch.passwords.tried = tried;
    reading.scratch.passwords.tried.is_some()
}

/// The password of a bind that was admitted was wrong. The last failure that may be locks the account, which is in its entry before the client
/// is answered.
pub(crate) fn wrong(reading: &mut Reading<'_>, entry: &EntryRef<'_>, policy: &Policy) {
    let now_ms = reading.now.wall_ms;
    // Without a try nothing counts: the policy neither locks nor delays.
    let Some(tried) = reading.scratch.passwords.tried.take() else { return };
    let count = reading.dsa.policies.lockouts.failed(tried, now_ms);
    let note = |field, ms| reading.dsa.account_times.note(AccountTime::of(entry, field, ms));
    // The first in a row: those that are kept of before count no more.
    if count == 1 && has_failures(reading, entry) {
        note(Field::NoFailures, now_ms);
    }
    note(Field::Failure, now_ms);
    if let Some(delay) = policy.failures().map(|bounds| bounds.delay(count)).filter(|delay| *delay > 0) {
        let end_ms = now_ms.saturating_add(delay.saturating_mul(1000)).min(TIME_MS_MAX);
        note(Field::DelayEnd, end_ms);
    }
    if policy.locks() && count >= policy.max_failure {
        let dn = reading.read_point.dn(entry, &mut reading.scratch.evaluator.cache);
        let lock = (ModifyKind::Replace, b"pwdAccountLockedTime".to_vec(), vec![time_text(now_ms)]);
        let purpose = Purpose::Lock(number(reading, entry));
        reading.scratch.passwords.verdict.write =
            Some(Write { dn, changes: vec![lock], purpose, assertion: None });
    }
}

/// A bind that was not admitted has failed: nothing counts of it, and it takes the time of one that does. The counters are as many as those of
/// accounts, and nothing reads them.
pub(crate) fn not_admitted(reading: &mut Reading<'_>, entry: &EntryRef<'_>, policy: &Policy) {
    wrong_of_nobody(reading, entry, number(reading, entry), policy);
}

/// The same of a bind as nobody, by the number of its name. `entry`: what is read of it is not looked at.
pub(super) fn wrong_of_nobody(reading: &mut Reading<'_>, entry: &EntryRef<'_>, number: u64, policy: &Policy) {
    let Some(bounds) = policy.failures() else { return };
    let (dsa, now_ms) = (reading.dsa, reading.now.wall_ms);
    let nobody = &dsa.nobody;
    std::hint::black_box(dsa.account_times.get(entry, Field::NoFailures));
    if let Some(tried) = nobody.lockouts.begin(number, &bounds, (0, 0), None, now_ms) {
        nobody.lockouts.failed(tried, now_ms);
    }
    note_of_nobody(reading, entry, number, policy);
}

/// The time of a failure, where nothing reads it.
fn note_of_nobody(reading: &Reading<'_>, entry: &EntryRef<'_>, number: u64, policy: &Policy) {
    if policy.failures().is_none() {
        return;
    }
    let (nobody, now_ms) = (&reading.dsa.nobody, reading.now.wall_ms);
    std::hint::black_box(has_failures(reading, entry));
    let (entry, created) = (EntryId(number as u32), Csn(number));
    nobody.times.note(AccountTime { entry, created, field: Field::Failure, ms: now_ms });
    if nobody.times.is_due(reading.now.monotonic_ns) {
        nobody.times.forget();
    }
}

/// Are failures of an account kept, in its entry or to be written?
pub(super) fn has_failures(reading: &Reading<'_>, entry: &EntryRef<'_>) -> bool {
    reading.dsa.account_times.has_failure(entry) || !stored_failures(reading.read_point, entry).is_empty()
}

/// The password was right. False if it has expired and no grace is left. `account`: as it was admitted.
pub(crate) fn passed(
    reading: &mut Reading<'_>,
    entry: &EntryRef<'_>,
    policy: &Policy,
    account: &Account,
) -> bool {
    let now_ms = reading.now.wall_ms;
    if policy.failures().is_some() {
        reading.scratch.passwords.tried = None;
        reading.dsa.policies.lockouts.forget(number(reading, entry));
    }
    let mut verdict = Verdict { must_change: account.is_reset, ..Verdict::default() };
    // What the bind changes of the entry: most change nothing, and are answered at once.
    let mut changes = Vec::new();
    // The lock has ended by itself.
    if account.locked.is_some() {
        changes.push((ModifyKind::Replace, b"pwdAccountLockedTime".to_vec(), Vec::new()));
    }
    let mut assertion = None;
    match expires_ms(policy, account) {
        // An administrator has set it: it is changed now, however old it is.
        _ if account.is_reset => verdict.response.error = Some(PolicyError::MustChange),
        Some(end) if now_ms >= end => {
            let left = grace_left(policy, account, end, now_ms);
            if left == 0 {
                reading.scratch.passwords.verdict = Verdict::of(PolicyError::Expired);
                // Nor does its time tell that the password was right: its try ended above as that of a wrong one does.
                note_of_nobody(reading, entry, number(reading, entry), policy);
                return false;
            }
            verdict.response.warning = Some(Warning::Grace(left - 1));
            // Two of one millisecond are two.
            let used = values(entry, "pwdGraceUseTime", reading.read_point);
            let mut times = (now_ms..).map(time_text);
            let time = times.find(|time| !used.contains(time)).expect("there are more times than uses");
            changes.push((ModifyKind::Add, b"pwdGraceUseTime".to_vec(), vec![time]));
            // Of two at the same time one is counted first, and the other one finds less left.
            assertion = Some(crate::rights::unchanged(reading, entry));
        }
        Some(end) if end - now_ms <= policy.expire_warning.saturating_mul(1000) => {
            let seconds = (end - now_ms).div_ceil(1000);
            verdict.response.warning = Some(Warning::Expires(u32::try_from(seconds).unwrap_or(u32::MAX)));
        }
        _ => {}
    }
    if !changes.is_empty() {
        let dn = reading.read_point.dn(entry, &mut reading.scratch.evaluator.cache);
        verdict.write = Some(Write { dn, changes, purpose: Purpose::Admit, assertion });
    }
    reading.scratch.passwords.verdict = verdict;
    note_success(reading, entry, policy, account);
    true
}

/// Notes when somebody bound last, if that is wanted and the time that is noted is older than its precision; and that no failure counts and no delay
/// is in force.
fn note_success(reading: &Reading<'_>, entry: &EntryRef<'_>, policy: &Policy, account: &Account) {
    let (now_ms, times) = (reading.now.wall_ms, &reading.dsa.account_times);
    let is_old = |precision: u64| {
        let due = |last: u64| now_ms >= last.saturating_add(precision.saturating_mul(1000));
        account.last_success_ms.is_none_or(due)
    };
    if policy.last_success_precision().is_some_and(is_old) {
        times.note(AccountTime::of(entry, Field::LastSuccess, now_ms));
    }
    let has_failures = !account.failures_ms.is_empty() || times.has_failure(entry);
    if has_failures || account.delay_end_ms.is_some() {
        times.note(AccountTime::of(entry, Field::NoFailures, now_ms));
    }
}

/// Must somebody change the password still before anything else?
pub(crate) fn must_change(reading: &Reading<'_>, identity: &Identity) -> bool {
    identity.must_change
        && identity.own_entry(reading.read_point).is_some_and(|own| Account::of(reading, &own).is_reset)
}
