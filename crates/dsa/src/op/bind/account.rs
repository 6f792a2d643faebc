//! An account whose password is verified: its policy and the right to be verified, around that, whatever the mechanism.

use crate::access::{Action, Requester};
use crate::context::Reading;
use crate::identity::Identity;
use crate::password::Later;
use crate::policy;
use ::access::{Operation, Right};
use model::Description;
use store::EntryRef;

/// Who an entry is, if `verify` finds the password right, the account is admitted, and it may be verified at all. `is_root`: it has the name of the
/// root DN, which is never locked, for it is what unlocks others.
///
/// The password is verified also where it cannot succeed, for the time that it takes, and the right is asked last: the answer tells no more than
/// that of a wrong password. `None` too if the verification is lacking; then the bind is run again. `verify` also gets whether the bind succeeds if
/// the password is right, as far as it is known: only then may a verification be left out that was made before. Else the time of an answer would
/// say of a locked account which password is right.
pub(super) fn identified<'r>(
    reading: &mut Reading<'r>,
    anonymous: Requester,
    entry: &EntryRef<'r>,
    is_root: bool,
    verify: impl FnOnce(&mut Reading<'r>, bool) -> Result<bool, Later>,
) -> Option<Identity> {
    let policy = (!is_root).then(|| policy::policy_of(reading, Some(entry)));
    let admitted = policy.as_ref().map(|policy| policy::admit(reading, entry, policy));
    let is_admitted = admitted.as_ref().is_none_or(|(is_admitted, _)| *is_admitted);
    let may_recall = reading.dsa.policies.verified.is_on()
        && is_admitted
        && (is_root || may_be_verified(reading, anonymous, entry));
    let is_right = verify(reading, may_recall).ok()?;
    if let (true, false, Some(policy)) = (is_admitted, is_right, &policy) {
        policy::wrong(reading, entry, policy);
    } else if let (false, Some(policy)) = (is_admitted, &policy) {
        policy::not_admitted(reading, entry, policy);
    }
    let passes = is_admitted
        && is_right
        && (is_root || may_be_verified(reading, anonymous, entry))
        && policy
            .zip(admitted)
            .is_none_or(|(policy, (_, account))| policy::passed(reading, entry, &policy, &account));
    passes.then(|| reading.dsa.identity_of(reading.read_point, entry, &mut reading.scratch.evaluator.cache))
}

/// May somebody who is not known yet have the password of an entry verified?
fn may_be_verified(reading: &mut Reading<'_>, anonymous: Requester, entry: &EntryRef<'_>) -> bool {
    let view = reading.scratch.view(anonymous, Action::of(Operation::Bind), entry, reading.read_point);
    let schema = reading.dsa.shard.schema();
    let user_password = Description::plain(schema.well_known().user_password);
    reading.scratch.views.on_attribute(view, user_password, schema).every.has(Right::Auth)
}
