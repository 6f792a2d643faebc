//! What an agent knows of password policies: the settings, the numbers of a policy, the failures of accounts, and what a policy said. What is decided by
//! them is [`crate::policy`]'s.

mod lockout;
mod quality;
mod rule;
mod schemes;
mod verdict;

pub(crate) use self::lockout::{Bounds, Lockouts, Try};
pub(crate) use self::quality::Quality;
pub use self::rule::PolicyRule;
pub(crate) use self::schemes::Schemes;
use self::schemes::SchemesInForce;
pub(crate) use self::verdict::{Changed, Purpose, Verdict, Write};
use super::dictionary::Dictionary;
use super::one_times::OneTimes;
use super::verified::Verified;
use crate::rate::{Allowed, Rate};
use ::password::Scheme;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// May an attribute be one of a password policy? Their names begin with `pwd` or `pandoPwd`, and a subentry has a `subtreeSpecification`; those that
/// are written as an OID are looked up later.
#[inline]
pub(crate) fn may_be_of_policy(description: &[u8]) -> bool {
    match description {
        [first, second, third, ..] if !first.is_ascii_digit() => {
            match (first | 0x20, second | 0x20, third | 0x20) {
                (b'p', b'w', b'd') => true,
                (b's', b'u', b'b') => description.eq_ignore_ascii_case(b"subtreeSpecification"),
                (b'p', b'a', b'n') => {
                    description.len() > 8 && description[..8].eq_ignore_ascii_case(b"pandoPwd")
                }
                _ => false,
            }
        }
        [first, ..] => first.is_ascii_digit(),
        [] => false,
    }
}

/// Settings of password policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    /// How passwords are stored that clients give the server to store: a value of each scheme.
    /// One at least, each once, and clear text alone. Values that are there stay as they are until their owner binds.
    pub schemes: Vec<Scheme>,
    /// The policy of accounts that name none: the DN of its entry.
    pub default_policy: Option<String>,
    /// Policies of some of them. The first whose accounts it is among counts.
    pub rules: Vec<PolicyRule>,
    /// Characters of a password that a user sets, at least, where no policy holds.
    pub min_length: usize,
    /// Whether a client learns that an account is locked.
    pub tell_locked: bool,
    /// Whether the answer to a bind says unasked that a password has expired or is about to.
    pub netscape: bool,
    /// Seconds within which the time of the last bind is kept; 0: it is not.
    pub last_success: u64,
    /// Whether a password that is stored otherwise than new ones are is stored anew at a bind.
    pub renew: bool,
    /// Seconds for which a password that was verified is remembered; 0: not at all.
    pub cache_seconds: u64,
}

impl Default for Choices {
    fn default() -> Choices {
        Choices {
            schemes: vec![Scheme::Argon2id],
            default_policy: None,
            rules: Vec::new(),
            min_length: 8,
            tell_locked: false,
            netscape: true,
            last_success: 0,
            renew: true,
            cache_seconds: 0,
        }
    }
}

impl Choices {
    /// May a policy hold for accounts that name none?
    fn have_policy(&self) -> bool {
        self.default_policy.is_some() || !self.rules.is_empty()
    }
}

/// What an agent knows of policies.
pub(crate) struct Policies {
    choices: RwLock<Arc<Choices>>,
    /// Whether there is a policy for accounts that name none, which every update wants to know.
    has_default: AtomicBool,
    renews: AtomicBool,
    schemes: SchemesInForce,
    /// Passwords that were stored anew.
    renewals: Rate,
    /// Passwords that were right.
    pub(crate) verified: Verified,
    /// One-time codes that were used.
    pub(crate) one_times: OneTimes,
    /// Failures in a row.
    pub(crate) lockouts: Arc<Lockouts>,
    /// Words that are no passwords, if the server has some.
    pub(crate) dictionary: OnceLock<Dictionary>,
}

/// Passwords that are stored anew in a second. Each takes the time of a bind, and a write.
const RENEWALS_PER_SECOND: u32 = 50;

impl Policies {
    pub(crate) fn new(choices: &Choices) -> Policies {
        let verified = Verified::default();
        verified.set(choices.cache_seconds);
        Policies {
            verified,
            one_times: OneTimes::default(),
            choices: RwLock::new(Arc::new(choices.clone())),
            has_default: AtomicBool::new(choices.have_policy()),
            renews: AtomicBool::new(choices.renew),
            schemes: SchemesInForce::new(&choices.schemes),
            renewals: Rate::default(),
            lockouts: Arc::default(),
            dictionary: OnceLock::new(),
        }
    }

    /// Puts settings in force.
    pub(crate) fn put(&self, choices: &Choices) {
        *self.choices.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(choices.clone());
        self.has_default.store(choices.have_policy(), Ordering::Relaxed);
        self.renews.store(choices.renew, Ordering::Relaxed);
        self.schemes.put(&choices.schemes);
        self.verified.set(choices.cache_seconds);
    }

    /// How new passwords are stored. They are no part of a policy entry: what is right for one account is for all.
    pub(crate) fn schemes(&self) -> Schemes {
        self.schemes.now()
    }

    /// Are passwords stored anew at binds?
    pub(crate) fn renew(&self) -> bool {
        self.renews.load(Ordering::Relaxed)
    }

    /// May another one be stored anew now? Then it is counted.
    /// One number for all threads; it is written only where a password is old.
    pub(crate) fn reserve_renewal(&self, now_ns: u64) -> bool {
        let allowed = Allowed::new(RENEWALS_PER_SECOND, 1).expect("it is not zero");
        self.renewals.reserve(allowed, 0, now_ns) == Some(0)
    }

    /// May a policy hold for accounts that name none?
    pub(crate) fn have_default(&self) -> bool {
        self.has_default.load(Ordering::Relaxed)
    }

    pub(crate) fn choices(&self) -> Arc<Choices> {
        // It is replaced whole.
        Arc::clone(&self.choices.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Precision of the time of the last bind that only policies want.
const LAST_SUCCESS_SECONDS: u64 = 3600;
/// It is a part of the time after which an account is idle.
const IDLE_PARTS: u64 = 10;

/// A policy. Times are seconds, and 0 means that there is no such bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    /// Between two changes by the user.
    pub(crate) min_age: u64,
    /// Until the password expires.
    pub(crate) max_age: u64,
    /// Former passwords that are not taken again.
    pub(crate) in_history: usize,
    /// Characters of a new password, at least.
    pub(crate) min_length: usize,
    /// And at most.
    pub(crate) max_length: usize,
    /// Before its end, from when on a client is warned.
    pub(crate) expire_warning: u64,
    /// Binds that are possible after the end.
    pub(crate) grace_limit: usize,
    /// Time in which they are possible.
    pub(crate) grace_expiry: u64,
    /// Do failures lock the account?
    pub(crate) lockout: bool,
    /// Until the lock ends by itself.
    pub(crate) lockout_duration: u64,
    /// Failures in a row that lock it.
    pub(crate) max_failure: u32,
    /// After the last failure, from when on none counts.
    pub(crate) failure_interval: u64,
    /// After the first failure, in which no try is verified.
    pub(crate) min_delay: u64,
    /// To which this grows.
    pub(crate) max_delay: u64,
    /// Failures with which it grows.
    pub(crate) max_recorded: u32,
    /// Must a password be changed that an administrator has set?
    pub(crate) must_change: bool,
    /// May users change their passwords?
    pub(crate) allow_user_change: bool,
    /// Do they need the old one for it?
    pub(crate) safe_modify: bool,
    /// How good a new password must be, besides its length.
    pub(crate) quality: Quality,
    /// Without a bind, after which the account is locked.
    pub(crate) max_idle: u64,
    /// Is it the built-in one? Then no state is kept for it.
    pub(crate) is_built_in: bool,
    /// Does a client learn that an account is locked? A setting of the server.
    pub(crate) tells_locked: bool,
    /// Precision of the time of the last bind in seconds, 0 if it is not kept. A setting of the server.
    pub(crate) last_success: u64,
}

impl Policy {
    /// The one that holds where there is no other, but for its least length, which is a setting.
    pub(crate) const BUILT_IN: Policy = Policy {
        min_age: 0,
        max_age: 0,
        in_history: 0,
        min_length: 0,
        max_length: 0,
        expire_warning: 0,
        grace_limit: 0,
        grace_expiry: 0,
        lockout: false,
        lockout_duration: 0,
        max_failure: 0,
        failure_interval: 0,
        min_delay: 0,
        max_delay: 0,
        max_recorded: 0,
        must_change: false,
        allow_user_change: true,
        safe_modify: false,
        quality: Quality::ANY,
        max_idle: 0,
        is_built_in: true,
        tells_locked: false,
        last_success: 0,
    };

    /// Do failures lock an account?
    pub(crate) fn locks(&self) -> bool {
        self.lockout && self.max_failure > 0
    }

    /// Seconds by which the time of the last bind may be behind; `None` if it is not kept.
    /// It is kept where it decides, too: there it is behind by a part of that time only, or an account in use would be locked.
    pub(crate) fn last_success_precision(&self) -> Option<u64> {
        match (self.last_success, self.max_idle) {
            (0, 0) => None,
            (precision, 0) => Some(precision),
            (0, idle) => Some(LAST_SUCCESS_SECONDS.min(idle / IDLE_PARTS)),
            (precision, idle) => Some(precision.min(idle / IDLE_PARTS)),
        }
    }

    /// What failures lead to; `None` if to nothing, and then none is counted.
    /// A policy has both delays or none; with an earlier one that has the least only nothing is delayed.
    pub(crate) fn failures(&self) -> Option<Bounds> {
        let delays = self.min_delay > 0 && self.max_delay > 0;
        (self.locks() || delays).then_some(Bounds {
            max: if self.locks() { self.max_failure } else { u32::MAX },
            interval: self.failure_interval,
            min_delay: if delays { self.min_delay } else { 0 },
            max_delay: self.max_delay,
            recorded: self.max_recorded,
        })
    }
}
