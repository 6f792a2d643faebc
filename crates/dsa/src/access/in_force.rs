//! The rules that are in force: those that are built in, those of entries, and those of the configuration.
//!
//! Threads learn of a change by a number: one load for each bundle, of a line that is written only when rules change. The lock is
//! taken by a thread once for each change, and never by a request. A set is made whole, and checked, before the number changes.
//!
//! Rules of entries are changed by updates of these. The store says at which commit sequence the last of them was; the first thread that begins a
//! bundle behind it reads all of them and makes the set anew, so a change holds for what begins after its answer.

use super::of_entries::{self, OfEntry};
use super::rules::{Origin, RuleSet};
use crate::config::Config;
use crate::limits::SearchLimits;
use crate::standing::{Anonymous, Standing};
use crate::system::MONITOR_DN;
use ::access::decide::Placed;
use ::access::{Refresh, Settings, builtin};
use schema::Schema;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::derived::SUBSCHEMA_DN;
use store::{DnCache, ReadPoint, Shard};

/// The rules that are in force.
#[derive(Debug)]
pub(crate) struct Access {
    /// Counts the changes: a thread that has another number takes the rules anew.
    version: AtomicU64,
    /// Commit sequence at which the rules of entries were read.
    read_at: AtomicU64,
    /// How many of them there are.
    of_entries: AtomicUsize,
    state: Mutex<State>,
    suffixes: Vec<String>,
}

/// What is chosen of rules, what a search may take where they say nothing, and who has rights besides those of rules.
pub(crate) type OfRules<'a> = (&'a Settings, SearchLimits, &'a Standing);

/// What the set is made of, and the set.
#[derive(Debug, Default)]
struct State {
    set: Arc<RuleSet>,
    settings: Settings,
    /// Kept for changes of the schema and of the rules of entries, which leave them as they are.
    builtin: Vec<Placed>,
    /// Of requesters for whom no rule says otherwise.
    limits: SearchLimits,
    of_entries: Vec<OfEntry>,
}

impl Access {
    /// The rules of a configuration, and the limits of those for whom it has none.
    ///
    /// # Errors
    /// What is wrong with a rule, with its name.
    pub(crate) fn new(config: &Config, of_rules: OfRules<'_>, schema: &Schema) -> Result<Access, String> {
        let access = Access {
            version: AtomicU64::new(0),
            read_at: AtomicU64::new(0),
            of_entries: AtomicUsize::new(0),
            state: Mutex::default(),
            suffixes: config.store.suffixes.clone(),
        };
        access.put(of_rules, schema).map(|_| access)
    }

    /// The built-in rules, where these have rights besides those of others.
    /// They are made anew with each change of settings, which is rare, rather than looked for what has changed.
    fn builtin(&self, standing: &Standing, schema: &Schema) -> Vec<Placed> {
        let keys = builtin::Keys {
            suffixes: self.suffixes.clone(),
            subschema: SUBSCHEMA_DN.to_owned(),
            monitor: MONITOR_DN.to_owned(),
            anonymous_read: standing.anonymous == Anonymous::Read,
            writers: standing.writers.clone(),
            proxies: standing.proxies.clone(),
        };
        builtin::rules(&keys, schema)
    }

    /// Puts other rules in force. Every request that comes after it is decided by them. `false` if they are those that were in force: then nobody
    /// has to take them anew.
    ///
    /// # Errors
    /// What is wrong with a rule, with its name: those that were in force stay.
    /// The set is put down first and counted then: a thread that sees the new number finds the new set, or a newer one. The
    /// other order would let it take the old set for the new one, and keep it.
    pub(crate) fn put(
        &self,
        (settings, limits, standing): OfRules<'_>,
        schema: &Schema,
    ) -> Result<bool, String> {
        let mut state = self.state();
        // Made under the lock: of two changes the later one is kept.
        let builtin = self.builtin(standing, schema);
        let is_first = self.version() == 0;
        if !is_first && state.limits == limits && state.settings == *settings && state.builtin == builtin {
            return Ok(false);
        }
        let set = self.set((settings, limits, &builtin), &state.of_entries, schema)?;
        (state.settings, state.limits, state.builtin) = (settings.clone(), limits, builtin);
        self.publish(&mut state, set);
        Ok(true)
    }

    /// Makes the rules anew, since definitions were added to the schema.
    ///
    /// # Errors
    /// As [`Access::put`].
    pub(crate) fn renew(&self, schema: &Schema) -> Result<(), String> {
        let mut state = self.state();
        let set = self.set((&state.settings, state.limits, &state.builtin), &state.of_entries, schema)?;
        self.publish(&mut state, set);
        // One that was none for want of a definition may be one now.
        self.read_at.store(0, Ordering::Release);
        Ok(())
    }

    /// The state, also behind a panic of another thread: it is changed by single stores, and each of them leaves it whole.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a set in force. Sessions see by the version that theirs is an earlier one.
    fn publish(&self, state: &mut State, set: RuleSet) {
        state.set = Arc::new(set);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// The set of rules of these settings and of the entries that have some. Err says in words which of them the schema does not take.
    fn set(
        &self,
        (settings, limits, builtin): (&Settings, SearchLimits, &[Placed]),
        of_entries: &[OfEntry],
        schema: &Schema,
    ) -> Result<RuleSet, String> {
        let builtin = if settings.defaults { builtin } else { &[] };
        // The order does not matter: ranks do, and the set sorts by them.
        let builtin = builtin.iter().map(|placed| (&placed.rule, Origin::BuiltIn));
        let of_entries = of_entries.iter().map(|of| (&of.rule, Origin::Entry(of.id, &of.dn)));
        let configured = settings.rules.iter().map(|rule| (rule, Origin::Configured));
        let mut set = RuleSet::new(schema, &self.suffixes, builtin.chain(of_entries).chain(configured))?;
        set.limit(schema, limits, &settings.limits)?;
        // No rule hangs on it. It goes with the set so that threads need not look for it elsewhere.
        set.follows_groups = settings.nested_groups;
        Ok(set)
    }

    /// Are the rules of entries those that a shard has now? One load of each.
    #[inline]
    pub(super) fn has_those_of_entries(&self, shard: &Shard) -> bool {
        shard.access_rules_changed() <= self.read_at.load(Ordering::Acquire)
    }

    /// Rules that entries have.
    pub(crate) fn of_entries(&self) -> usize {
        self.of_entries.load(Ordering::Relaxed)
    }

    /// Reads the rules of entries, if none has read them at this read point or a later one.
    /// The change may be in a batch that is not published yet: then they are read again by the next bundle.
    #[cold]
    pub(super) fn read_entries(&self, read_point: ReadPoint<'_>, cache: &mut DnCache) {
        let mut state = self.state();
        let sequence = read_point.sequence();
        if sequence <= self.read_at.load(Ordering::Acquire) {
            return;
        }
        let of_entries = of_entries::read(read_point, cache);
        let schema = read_point.shard().schema();
        let set = self
            .set((&state.settings, state.limits, &state.builtin), &of_entries, schema)
            .expect("each of its rules was checked");
        self.of_entries.store(of_entries.len(), Ordering::Relaxed);
        state.of_entries = of_entries;
        self.publish(&mut state, set);
        self.read_at.store(sequence, Ordering::Release);
    }

    #[inline]
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The rules, and their number: an older number than theirs at worst, so they are taken once more.
    pub(super) fn rules(&self) -> (u64, Arc<RuleSet>, Refresh) {
        let version = self.version();
        let state = self.state();
        (version, Arc::clone(&state.set), state.settings.refresh)
    }
}
