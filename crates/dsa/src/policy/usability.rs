//! Whether the user of an account can bind, as the account usability control says it. It is worked out as a bind would find it, without a try and
//! without a change.

use super::account::{Account, Locked};
use super::choice::policy_of;
use super::login::{expires_ms, grace_left, is_blocked, is_delayed};
use crate::access::{Action, Requester};
use crate::context::Reading;
use crate::password;
use crate::password::policies::Policy;
use ::access::{Operation, Right};
use model::Description;
use proto::control::account_usability::Usability;
use store::EntryRef;

/// What the control says of an entry. `None` without a password, or if the requester may not compare it: who may not, learns nothing of the account.
pub(crate) fn usability(
    reading: &mut Reading<'_>,
    who: Requester,
    entry: &EntryRef<'_>,
) -> Option<Usability> {
    let schema = reading.dsa.shard.schema();
    let user_password = Description::plain(schema.well_known().user_password);
    let view = reading.scratch.view(who, Action::of(Operation::Compare), entry, reading.read_point);
    let may = reading.scratch.views.on_attribute(view, user_password, schema).every.has(Right::Compare);
    if !may || !password::is_there(reading.read_point, entry) {
        return None;
    }
    let policy = policy_of(reading, Some(entry));
    let account = Account::of(reading, entry);
    Some(of_account(&policy, &account, reading.now.wall_ms))
}

/// What the control of account usability says of an account at this moment.
fn of_account(policy: &Policy, account: &Account, now_ms: u64) -> Usability {
    let seconds = |ms: u64| u32::try_from(ms.div_ceil(1000)).unwrap_or(u32::MAX);
    let is_locked = account.is_locked(policy.lockout_duration, now_ms);
    let is_delayed = is_delayed(policy, account, now_ms);
    // Age counts as at a bind: not of a password that must be changed in any case.
    let end_ms = expires_ms(policy, account).filter(|_| !account.is_reset);
    let expired = end_ms.is_some_and(|end| now_ms >= end);
    let inactive = is_blocked(policy, account, now_ms);
    if !inactive && !expired && !account.is_reset {
        return Usability::Available(end_ms.map(|end| seconds(end - now_ms)));
    }
    let grace = end_ms.filter(|_| expired).map(|end| grace_left(policy, account, end, now_ms));
    let unlocked_ms = match (account.locked, account.delay_end_ms) {
        (Some(Locked::Since(since)), _) if is_locked && policy.lockout_duration > 0 => {
            Some(since.saturating_add(policy.lockout_duration.saturating_mul(1000)))
        }
        (_, end) if is_delayed && !is_locked => end,
        _ => None,
    };
    let unlock = unlocked_ms.map(|end| seconds(end.saturating_sub(now_ms)));
    Usability::NotAvailable { inactive, reset: account.is_reset, expired, grace, unlock }
}
