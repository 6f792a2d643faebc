//! What a policy says of a new password, and what of the state of the account changes with it. Password administrators may set any: who has the
//! right to manage the attribute, and the root DN. What is kept of it is kept for them, too.

use super::account::Account;
use super::choice::{policy_of, policy_of_new};
use super::entry::values;
use super::login::has_failures;
use super::quality::{self, Fault, Names};
use crate::access::Action;
use crate::account_times::{AccountTime, Field};
use crate::context::Reading;
use crate::events::{Event, EventKind};
use crate::generalized_time::write as time_text;
use crate::identity::Identity;
use crate::outcome::FixedRefusal;
use crate::password::policies::{Changed, Policy, Verdict};
use crate::password::{self, LATER};
use ::access::{Operation, Right};
use ::password::one_time::OneTime;
use model::limits::{PASSWORD_HISTORY_MAX, PASSWORD_VALUES_MAX};
use model::{Description, ResultCode};
use proto::control::password_policy::PolicyError;
use proto::op::ModifyKind;
use store::EntryRef;

/// Syntax of former passwords.
const SYNTAX: &str = "1.3.6.1.4.1.1466.115.121.1.40";

/// A new password.
#[derive(Clone, Copy, Debug)]
pub(crate) enum New<'a> {
    /// In the clear.
    Word(&'a [u8]),
    /// A hash of one.
    Hash,
    /// One that the server has made.
    Generated,
}

impl<'a> New<'a> {
    /// A value of userPassword as a client sends it.
    pub(crate) fn of(value: &'a [u8]) -> New<'a> {
        password::word(value).map_or(New::Hash, New::Word)
    }
}

/// Whose password it is.
#[derive(Clone, Copy)]
pub(crate) enum Place<'e, 'r> {
    Entry(&'e EntryRef<'r>),
    /// Of an entry that is to be added.
    New {
        /// Its name.
        dn: &'e [u8],
        /// The name of its policy, if it says one.
        policy: Option<&'e [u8]>,
        /// What its user is called ([`super::NAMES`]).
        names: &'e [&'e [u8]],
    },
}

impl<'e, 'r> Place<'e, 'r> {
    fn entry(self) -> Option<&'e EntryRef<'r>> {
        match self {
            Place::Entry(entry) => Some(entry),
            Place::New { .. } => None,
        }
    }

    fn names(self) -> Names<'e, 'r> {
        match self {
            Place::Entry(entry) => Names::Of(entry),
            Place::New { names, .. } => Names::Given(names),
        }
    }
}

/// How a hash is refused where a password must come in the clear.
pub(crate) const LOOKS_HASHED: FixedRefusal = (
    ResultCode::ConstraintViolation,
    "the new password looks like a hash: send it in clear text, the server hashes it",
);

/// A hash of anything would pass: nobody can say how long the word is.
const HASHED: Fault = (LOOKS_HASHED.0, LOOKS_HASHED.1, Some(PolicyError::Quality));
/// A second password would have no age, and would not be in the history.
const SEVERAL: Fault =
    (ResultCode::ConstraintViolation, "an entry with a password policy has one password", None);
/// Passwords that come from elsewhere, or of accounts of machines.
const NOT_ALLOWED: Fault = (
    ResultCode::InsufficientAccessRights,
    "the password policy does not let users change their passwords",
    Some(PolicyError::NotAllowed),
);
const ONE_TIME: Fault = (
    ResultCode::InsufficientAccessRights,
    "a password with a one-time code is changed by an administrator of passwords only",
    Some(PolicyError::NotAllowed),
);
/// A session that was left open must not be enough to take an account over.
const NEEDS_OLD: Fault = (
    ResultCode::InsufficientAccessRights,
    "the password policy asks for the old password with the new one",
    Some(PolicyError::NeedsOld),
);
/// Else a user could go through the history in a minute, and have the old one again.
const TOO_YOUNG: Fault = (
    ResultCode::ConstraintViolation,
    "the password was changed too short a time ago to be changed again",
    Some(PolicyError::TooYoung),
);
const TOO_SHORT: Fault =
    (ResultCode::ConstraintViolation, "the new password is too short", Some(PolicyError::TooShort));
const TOO_LONG: Fault =
    (ResultCode::ConstraintViolation, "the new password is too long", Some(PolicyError::TooLong));
/// It says no more than that: not when, nor of which entry.
const IN_HISTORY: Fault = (
    ResultCode::ConstraintViolation,
    "the new password was used before; choose another one",
    Some(PolicyError::InHistory),
);

/// Judges new passwords of an account, and works out what else changes. `proves`: the old password came with them.
///
/// # Errors
/// Why they are refused; [`LATER`] if a verification is lacking.
pub(crate) fn judge(
    reading: &mut Reading<'_>,
    identity: &Identity,
    place: Place<'_, '_>,
    new: &[New<'_>],
    proves: bool,
) -> Result<Vec<Changed>, FixedRefusal> {
    let entry = place.entry();
    let policy = match place {
        Place::Entry(entry) => policy_of(reading, Some(entry)),
        Place::New { dn, policy, .. } => policy_of_new(reading, dn, policy),
    };
    // Rights first: what an administrator sets is not judged at all, but its state is kept.
    let is_administrator = is_administrator(reading, identity, entry);
    if is_administrator && !identity.is_root {
        note_managed(reading, identity, place);
    }
    let now_ms = reading.now.wall_ms;
    if !is_administrator {
        if let Some(fault) = fault(reading, &policy, entry, new, proves) {
            return Err(refused(reading, fault));
        }
        let words = new.iter().filter_map(|new| match new {
            New::Word(word) => Some(*word),
            New::Hash | New::Generated => None,
        });
        let words: Vec<&[u8]> = words.collect();
        // Several are refused but by the built-in policy, which asks for no history.
        let word = words.first().copied();
        // It is one job with what the history has to verify, so what is lacking is looked at behind that.
        let poor = quality::fault(reading, &policy, place.names(), &words);
        if let Ok(Some(fault)) = poor {
            return Err(refused(reading, fault));
        }
        // It takes verifications, so it comes last.
        if let (Some(entry), Some(word)) = (entry, word)
            && was_used(reading, &policy, entry, word)?
        {
            return Err(refused(reading, IN_HISTORY));
        }
        poor?;
    }
    // Those that wait to be written would come back after the change.
    if let Some(entry) = entry
        && has_failures(reading, entry)
    {
        reading.dsa.account_times.note(AccountTime::of(entry, Field::NoFailures, now_ms));
    }
    // Without a policy there is no age and no history, but what another policy has left is cleared.
    if policy.is_built_in {
        return Ok(entry.map_or(Vec::new(), |entry| cleared(reading, entry, is_administrator)));
    }
    let replace = |name: &str, values: Vec<Vec<u8>>| (ModifyKind::Replace, name.as_bytes().to_vec(), values);
    let mut changes = vec![replace("pwdChangedTime", vec![time_text(now_ms)])];
    if let Some(entry) = entry {
        changes.extend(cleared(reading, entry, is_administrator));
        changes.extend(history(reading, &policy, entry, now_ms).map(|kept| replace("pwdHistory", kept)));
        // Who sets its own password knows it already.
        let is_own = identity.own_entry(reading.read_point).is_some_and(|own| own.id == entry.id);
        if policy.must_change && is_administrator && !is_own {
            changes.retain(|(_, name, _)| name != b"pwdReset");
            changes.push(replace("pwdReset", vec![b"TRUE".to_vec()]));
        }
    }
    Ok(changes)
}

/// The refusal, with what the control says of it.
fn refused(reading: &mut Reading<'_>, (code, text, error): Fault) -> FixedRefusal {
    if let Some(error) = error {
        reading.scratch.passwords.verdict = Verdict::of(error);
    }
    (code, text)
}

/// Is somebody an administrator of the passwords of an entry, or of one that is to be added?
fn is_administrator(reading: &mut Reading<'_>, identity: &Identity, entry: Option<&EntryRef<'_>>) -> bool {
    if identity.is_root {
        return true;
    }
    let who = identity.requester();
    let Some(entry) = entry else {
        return reading.scratch.views.may_somewhere(who.class, Right::Manage, false);
    };
    let schema = reading.dsa.shard.schema();
    let password = Description::plain(schema.well_known().user_password);
    let view = reading.scratch.view(who, Action::of(Operation::Modify), entry, reading.read_point);
    reading.scratch.views.on_attribute(view, password, schema).every.has(Right::Manage)
}

/// Notes that an administrator of passwords sets one of somebody else.
/// It is noted when it is judged, before the log: what is refused later, for another reason, was tried all the same.
fn note_managed(reading: &mut Reading<'_>, identity: &Identity, place: Place<'_, '_>) {
    let is_own =
        |entry: &EntryRef<'_>| identity.own_entry(reading.read_point).is_some_and(|own| own.id == entry.id);
    if !place.entry().is_some_and(is_own) {
        let name = match place {
            Place::Entry(entry) => reading.read_point.dn(entry, &mut reading.scratch.evaluator.cache),
            Place::New { dn, .. } => dn.to_vec(),
        };
        reading.dsa.events.note_use(reading.now.monotonic_ns, || Event {
            peer: reading.security.client(),
            via: reading.security.via(),
            who: identity.dn.clone(),
            name,
            ..Event::of(EventKind::Manage, "passwords".to_owned())
        });
    }
}

/// What is wrong with new passwords, as far as nothing has to be verified for it.
/// The order is that of what a client can do about it: who may change it at all, when, and which one.
fn fault(
    reading: &Reading<'_>,
    policy: &Policy,
    entry: Option<&EntryRef<'_>>,
    new: &[New<'_>],
    proves: bool,
) -> Option<Fault> {
    if let Some(entry) = entry {
        let account = Account::of(reading, entry);
        let min_ms = policy.min_age.saturating_mul(1000);
        let is_young = account.changed_ms.is_some_and(|ms| reading.now.wall_ms < ms.saturating_add(min_ms));
        if !policy.allow_user_change {
            return Some(NOT_ALLOWED);
        }
        // With a new password of its own a user would take the one-time code away.
        if stored(reading, entry).iter().any(|value| OneTime::of(value).is_some()) {
            return Some(ONE_TIME);
        }
        if policy.safe_modify && !proves {
            return Some(NEEDS_OLD);
        }
        if is_young && !account.is_reset {
            return Some(TOO_YOUNG);
        }
    }
    if new.len() > 1 && !policy.is_built_in {
        return Some(SEVERAL);
    }
    new.iter().find_map(|asked| match asked {
        New::Hash => Some(HASHED),
        New::Generated => None,
        New::Word(word) => {
            // Characters, and octets of what is no text.
            let length = std::str::from_utf8(word).map_or(word.len(), |text| text.chars().count());
            match length {
                length if length < policy.min_length => Some(TOO_SHORT),
                length if policy.max_length > 0 && length > policy.max_length => Some(TOO_LONG),
                _ => None,
            }
        }
    })
}

/// Is a password the one that an account has, or one that it had?
/// All of them are asked for at once, so that they are one job of the pool: with slow schemes each takes milliseconds.
///
/// # Errors
/// [`LATER`] if a verification is lacking.
fn was_used(
    reading: &mut Reading<'_>,
    policy: &Policy,
    entry: &EntryRef<'_>,
    word: &[u8],
) -> Result<bool, FixedRefusal> {
    if policy.in_history == 0 {
        return Ok(false);
    }
    let mut all = stored(reading, entry);
    let former = values(entry, "pwdHistory", reading.read_point);
    all.extend(former.iter().filter_map(|value| former_value(value)).map(<[u8]>::to_vec));
    let mut is_later = false;
    for value in all.iter().take(PASSWORD_VALUES_MAX + PASSWORD_HISTORY_MAX) {
        match reading.scratch.passwords.verify(value, word) {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(_) => is_later = true,
        }
    }
    if is_later { Err(LATER) } else { Ok(false) }
}

/// The stored values of an entry, those without options: others are no passwords.
/// An entry that was imported may have several different ones.
fn stored(reading: &Reading<'_>, entry: &EntryRef<'_>) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    password::first(reading.read_point, entry, |value| {
        all.push(value.to_vec());
        all.len() >= PASSWORD_VALUES_MAX
    });
    all
}

/// The stored value of a former password: what stands behind the third mark.
/// Time, syntax and length come before it. The length is not needed: the value is the last part.
fn former_value(value: &[u8]) -> Option<&[u8]> {
    value.splitn(4, |byte| *byte == b'#').nth(3)
}

/// The former passwords that are kept when another one comes: the present one with them, the newest first.
fn history(
    reading: &Reading<'_>,
    policy: &Policy,
    entry: &EntryRef<'_>,
    now_ms: u64,
) -> Option<Vec<Vec<u8>>> {
    let mut kept = values(entry, "pwdHistory", reading.read_point);
    if policy.in_history == 0 && kept.is_empty() {
        return None;
    }
    // They begin with their time, so their order is that of their text.
    kept.sort_unstable_by(|one, other| other.cmp(one));
    let time = String::from_utf8(time_text(now_ms)).expect("digits");
    // It is one password, whatever schemes it is stored by.
    let now = stored(reading, entry)
        .into_iter()
        .take(1)
        .map(|value| [format!("{time}#{SYNTAX}#{}#", value.len()).as_bytes(), &value].concat());
    let mut all: Vec<Vec<u8>> = now.collect();
    all.extend(kept);
    all.truncate(policy.in_history);
    Some(all)
}

/// What of the state goes when a password is changed. A user's change ends what an administrator asked for; an administrator's unlocks.
/// Only what is there is named, so that most changes are short in the log.
fn cleared(reading: &Reading<'_>, entry: &EntryRef<'_>, is_administrator: bool) -> Vec<Changed> {
    let at = reading.read_point;
    let names = [
        ("pwdReset", true),
        ("pwdGraceUseTime", true),
        ("pwdAccountTmpLockoutEnd", true),
        ("pwdAccountLockedTime", is_administrator),
    ];
    let there = names.into_iter().filter(|(name, goes)| *goes && !values(entry, name, at).is_empty());
    there.map(|(name, _)| (ModifyKind::Replace, name.as_bytes().to_vec(), Vec::new())).collect()
}
