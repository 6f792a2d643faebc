//! The rules that are in force: those that are built in, and those of the configuration.
//!
//! Threads learn of a change by a number: one load for each bundle, of a line that is written only when rules change. The lock is
//! taken by a thread once for each change, and never by a request. A set is made whole, and checked, before the number changes.

use super::rules::RuleSet;
use crate::config::{Anonymous, Config, SearchLimits};
use crate::system::MONITOR_DN;
use ::access::decide::Placed;
use ::access::{Refresh, Rule, Settings, builtin};
use schema::Schema;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use store::derived::SUBSCHEMA_DN;

/// What is added to the rank of rules of the file and of `cn=config`: they lie above those of entries, and these above those that are built
/// in.
const CONFIGURED: u64 = 1 << 32;

/// The rules that are in force.
#[derive(Debug)]
pub(crate) struct Access {
    /// Counts the changes: a thread that has another number takes the rules anew.
    version: AtomicU64,
    set: Mutex<(Arc<RuleSet>, Refresh)>,
    builtin: Vec<Placed>,
    suffixes: Vec<String>,
    /// Of requesters for whom no rule says otherwise.
    limits: SearchLimits,
}

impl Access {
    /// The rules of a configuration.
    ///
    /// # Errors
    /// What is wrong with a rule, with its name.
    pub(crate) fn new(config: &Config, settings: &Settings, schema: &Schema) -> Result<Access, String> {
        let suffixes = config.store.suffixes.clone();
        let keys = builtin::Keys {
            suffixes: suffixes.clone(),
            subschema: SUBSCHEMA_DN.to_owned(),
            monitor: MONITOR_DN.to_owned(),
            anonymous_read: config.anonymous == Anonymous::Read,
            writers: config.writers.clone(),
            proxies: config.proxies.clone(),
        };
        let builtin = builtin::rules(&keys, schema);
        let set = Mutex::new((Arc::default(), Refresh::AtOnce));
        let access = Access { version: AtomicU64::new(0), set, builtin, suffixes, limits: config.limits };
        access.put(settings, schema).map(|()| access)
    }

    /// Puts other rules in force. Every request that comes after it is decided by them.
    ///
    /// # Errors
    /// What is wrong with a rule, with its name: those that were in force stay.
    /// The set is put down first and counted then: a thread that sees the new number finds the new set, or a newer one. The
    /// other order would let it take the old set for the new one, and keep it.
    pub(crate) fn put(&self, settings: &Settings, schema: &Schema) -> Result<(), String> {
        let builtin = if settings.defaults { &self.builtin[..] } else { &[] };
        let mut set = RuleSet::new(schema, &self.suffixes, all(builtin, &settings.rules))?;
        set.limit(schema, self.limits, &settings.limits)?;
        *self.set.lock().unwrap_or_else(PoisonError::into_inner) = (Arc::new(set), settings.refresh);
        self.version.fetch_add(1, Ordering::Release);
        Ok(())
    }

    #[inline]
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The rules, and their number: an older number than theirs at worst, so they are taken once more.
    pub(super) fn rules(&self) -> (u64, Arc<RuleSet>, Refresh) {
        let version = self.version();
        let set = self.set.lock().unwrap_or_else(PoisonError::into_inner);
        (version, Arc::clone(&set.0), set.1)
    }
}

/// All rules, each with what is added to its rank.
/// The order does not matter: ranks do, and [`RuleSet::new`] sorts by them.
fn all<'r>(builtin: &'r [Placed], rules: &'r [Rule]) -> impl Iterator<Item = (&'r Rule, u64)> {
    builtin.iter().map(|placed| (&placed.rule, 0)).chain(rules.iter().map(|rule| (rule, CONFIGURED)))
}
