//! Settings that can be changed while the server runs: which there are, and what was chosen. A change goes through the log, as
//! an update does.
//!
//! Why it is so: `docs/decisions/0027-cn-config.md`, `docs/decisions/0039-settings-are-commands.md`.

mod history;
mod keys;
pub mod network;
mod row;
pub mod value;
pub mod words;

pub use history::{Author, Difference};
pub use keys::{Holds, MEMORY_BYTES_MAX, MEMORY_BYTES_MIN, MEMORY_MAX, find, online, put};
pub(crate) use row::INDEX;
pub use row::{Bad, Row, Scope, Values};

use crate::change_log::choices as change_log;
use crate::constraints::{self, ConstraintRule};
use crate::followers;
use crate::identities;
use crate::indexing::IndexChange;
use crate::lifetimes;
use crate::limits;
use crate::password::policies;
use crate::reads;
use crate::standing::Standing;
use crate::strengths::Security;
use crate::transaction;
use schema::Schema;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::{IndexName, IndexSettings};

/// All of them, as chosen. `Default` is what holds when nothing was said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// Of transactions.
    pub transactions: transaction::Choices,
    /// Of access control.
    pub access: access::Settings,
    /// Of password policies.
    pub passwords: policies::Choices,
    /// Of reads where several servers have the directory.
    pub reads: reads::Choices,
    /// Constraints on entries.
    pub constraints: Vec<ConstraintRule>,
    /// URLs of the servers that have the names which are in no naming context.
    pub default_referral: Vec<String>,
    /// Of dynamic entries.
    pub lifetimes: lifetimes::Choices,
    /// Of searches that follow changes.
    pub followers: followers::Choices,
    /// Of the change log.
    pub change_log: change_log::Choices,
    /// Limits that are the same for all clients, or nearly.
    pub limits: limits::Choices,
    /// Who has rights besides those of rules.
    pub standing: Standing,
    /// What connections need to be protected by.
    pub security: Security,
    /// How entries are found for those who are known otherwise.
    pub identities: identities::Choices,
    /// Bytes that the directory may occupy.
    pub memory_max: Option<u64>,
    /// What holds where nobody has chosen them: a share of the machine's. 0: what the store is made with.
    pub memory_of_machine: u64,
}

impl Choices {
    /// Bytes that the directory may occupy: limits that nobody has chosen are shares of it.
    pub fn memory_bytes_max(&self) -> u64 {
        self.memory_max.unwrap_or(self.memory_of_machine)
    }

    /// DNs of identities in them, each with the key that has it.
    /// Those of rules, of limits and of transactions are checked with what they stand in.
    pub fn names(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let proxies = self.standing.proxies.iter().map(|dn| ("proxy-dn", &dn[..]));
        let writers = self.standing.writers.iter().map(|dn| ("write-dn", &dn[..]));
        proxies.chain(writers).chain(self.identities.names())
    }
}

/// The key of configured indexes.
const INDEX_KEY: &str = "index";

/// Values of keys, by the key's name, in the text of the configuration file.
pub type Texts = BTreeMap<String, Vec<String>>;

/// What is recorded of the settings of a directory: the last command of settings in its log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The values that hold.
    pub values: Texts,
    /// What the configuration file said last. `None` before the first start that recorded anything: earlier versions wrote down no
    /// more than what was changed while they ran.
    pub file: Option<Texts>,
    /// What flags said last.
    pub flags: Texts,
    /// The last changes, the oldest first.
    pub history: Vec<String>,
}

impl Record {
    /// Notes who has changed these keys, and when. Keys with the values that they had are left out.
    pub fn note(&mut self, author: Author<'_>, differences: &[Difference]) {
        history::note(&mut self.history, author, differences);
    }

    /// The constraints that it has. What cannot be read of it no program has taken, so it is left out.
    pub(crate) fn constraints(&self) -> Vec<ConstraintRule> {
        let lines = self.values.get(constraints::KEY).into_iter().flatten();
        lines.filter_map(|line| ConstraintRule::parse(line).ok()).collect()
    }
}

/// What a start has to go by.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// What file and flags say.
    pub configured: Choices,
    /// What is recorded; overrides what is configured.
    pub record: Record,
    /// What holds as long as the process, to be shown.
    pub fixed: Vec<Fixed>,
    /// Indexes on attribute types that the log adds to the schema behind what the start begins with: they are made with the type.
    pub later_indexes: Vec<IndexSettings>,
}

/// A setting that can be looked at and not changed.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// Name in the configuration file.
    pub key: &'static str,
    /// The attribute of `cn=config`.
    pub attribute: String,
    /// Its values; none for a default that is not a value.
    pub values: Vec<String>,
}

/// Why a setting is not changed. Nothing is then.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotChanged {
    /// The value is not what the key takes, and why.
    Bad(String),
    /// Another change is on its way.
    Busy,
}

/// A change on its way. There is one at a time, for the next is made of what it comes to.
#[derive(Debug)]
pub(crate) struct SettingsChange {
    record: Record,
    /// What it was made of.
    base: Record,
    /// What is to become of indexes when it holds.
    indexes: Vec<IndexChange>,
    /// None as long as another server has it, whose client asked for the change.
    claim: Option<Claim>,
}

impl SettingsChange {
    /// One that another server has made of `base`.
    pub(crate) fn received(record: Record, base: Record) -> SettingsChange {
        SettingsChange { record, base, indexes: Vec::new(), claim: None }
    }

    /// What it was made of.
    pub(crate) fn base(&self) -> &Record {
        &self.base
    }

    /// What is to hold.
    pub(crate) fn record(&self) -> &Record {
        &self.record
    }

    /// What is to become of indexes when it holds.
    pub(crate) fn indexes(&self) -> &[IndexChange] {
        &self.indexes
    }
}

/// The right to change settings, until it is dropped.
#[derive(Debug)]
struct Claim(Arc<AtomicBool>);

impl Claim {
    /// `None` while somebody else has it: there is one change of settings at a time.
    /// It is given back by the drop.
    fn take(taken: &Arc<AtomicBool>) -> Option<Claim> {
        let was_free = taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok();
        was_free.then(|| Claim(Arc::clone(taken)))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// What was chosen.
pub(crate) struct Chosen {
    state: Mutex<State>,
    /// Whether a change is on its way.
    claimed: Arc<AtomicBool>,
}

struct State {
    configured: Choices,
    record: Record,
    now: Choices,
}

impl Chosen {
    /// What a start comes to.
    ///
    /// # Errors
    /// In words, what in the record no key takes, or what the schema does not know of it.
    pub(crate) fn new(start: &Start, schema: &Schema) -> Result<Chosen, String> {
        let Start { configured, record, .. } = start.clone();
        let now = applied(&configured, &record.values)?;
        fits(&now, schema)?;
        Ok(Chosen { state: Mutex::new(State { configured, record, now }), claimed: Arc::default() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is replaced whole, so one who panicked left nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What holds now.
    pub(crate) fn now(&self) -> Choices {
        self.lock().now.clone()
    }

    /// Would another schema know what is named in settings?
    ///
    /// # Errors
    /// In words, which setting it does not know.
    pub(crate) fn fit(&self, schema: &Schema) -> Result<(), String> {
        fits(&self.now(), schema)
    }

    /// The last changes.
    pub(crate) fn history(&self) -> Vec<String> {
        self.lock().record.history.clone()
    }

    /// Works out a change of settings, of all or none: `change` is given the values of a key and has new ones; none: back to what is
    /// configured. Nothing is in force by that. `None` if all is as it was.
    pub(crate) fn change<E: From<NotChanged>>(
        &self,
        author: Author<'_>,
        keys: &[&'static Row<Choices>],
        mut change: impl FnMut(usize, &mut Vec<String>) -> Result<(), E>,
        schema: &Schema,
    ) -> Result<Option<SettingsChange>, E> {
        let claim = Claim::take(&self.claimed).ok_or(NotChanged::Busy)?;
        let state = self.lock();
        let (mut now, mut record) = (state.now.clone(), state.record.clone());
        let mut differences = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            let before = key.show(&now);
            let mut values = before.clone();
            change(at, &mut values)?;
            let name = key.name.to_owned();
            if values.is_empty() && key.name == constraints::KEY {
                // What updates come to depends on it, so a log has it whatever the files of its servers say.
                values = key.show(&state.configured);
            }
            // Nothing recorded is what makes it follow the file again.
            let recorded = if values.is_empty() && key.name != constraints::KEY {
                let recorded = record.values.remove(key.name);
                // A default that is no value can be had in no other way.
                now = applied(&state.configured, &record.values).map_err(NotChanged::Bad)?;
                recorded
            } else {
                key.set(&mut now, &values).map_err(|bad| NotChanged::Bad(first(bad)))?;
                record.values.insert(name.clone(), key.show(&now))
            };
            let after = key.show(&now);
            differences.push(Difference { key: name, before, after, was_recorded: recorded.is_some() });
        }
        fits(&now, schema).map_err(NotChanged::Bad)?;
        let is_change = record != state.record;
        record.note(author, &differences);
        let (base, claim) = (state.record.clone(), Some(claim));
        Ok(is_change.then_some(SettingsChange { record, base, indexes: Vec::new(), claim }))
    }

    /// Works out that indexes which are dropped are configured no more; `indexes` is all that was asked for with that. `None` if none of
    /// them is configured.
    pub(crate) fn drop_indexes(
        &self,
        author: Author<'_>,
        dropped: &BTreeSet<IndexName>,
        indexes: &[IndexChange],
        schema: &Schema,
    ) -> Result<Option<SettingsChange>, NotChanged> {
        let state = self.lock();
        let Some(configured) = state.record.values.get(INDEX_KEY) else { return Ok(None) };
        let kept: Vec<String> = configured.iter().filter_map(|text| without(text, dropped, schema)).collect();
        if kept == *configured {
            return Ok(None);
        }
        let claim = Claim::take(&self.claimed).ok_or(NotChanged::Busy)?;
        let mut record = state.record.clone();
        let (before, after) = (configured.clone(), kept.clone());
        record.values.insert(INDEX_KEY.to_owned(), kept);
        let key = INDEX_KEY.to_owned();
        record.note(author, &[Difference { key, before, after, was_recorded: true }]);
        let (base, claim) = (state.record.clone(), Some(claim));
        Ok(Some(SettingsChange { record, base, indexes: indexes.to_vec(), claim }))
    }

    /// Looks whether a change may be proposed: it is made of the settings that are in force, it is the only one on its way here, and the schema still knows
    /// what it names.
    ///
    /// # Errors
    /// [`NotChanged::Busy`]: another server has changed settings meanwhile, or a session here is about to. [`NotChanged::Bad`]: a definition was removed.
    pub(crate) fn admit(&self, change: &mut SettingsChange, schema: &Schema) -> Result<(), NotChanged> {
        if change.claim.is_none() {
            change.claim = Some(Claim::take(&self.claimed).ok_or(NotChanged::Busy)?);
        }
        let state = self.lock();
        if state.record != change.base {
            return Err(NotChanged::Busy);
        }
        let choices = applied(&state.configured, &change.record.values);
        choices.and_then(|choices| fits(&choices, schema)).map_err(NotChanged::Bad)
    }

    /// Takes a record; returns what is chosen by it.
    ///
    /// # Errors
    /// In words, what in it no key takes. Nothing is changed.
    pub(crate) fn put(&self, record: Record) -> Result<Choices, String> {
        let mut state = self.lock();
        let now = applied(&state.configured, &record.values)?;
        (state.now, state.record) = (now.clone(), record);
        Ok(now)
    }
}

/// A configured index without the kinds that are dropped; `None` if it has no other.
fn without(text: &str, dropped: &BTreeSet<IndexName>, schema: &Schema) -> Option<String> {
    let Ok(mut index) = text.parse::<IndexSettings>() else { return Some(text.to_owned()) };
    let Ok(attribute_type) = index.attribute_type(schema) else { return Some(text.to_owned()) };
    for name in dropped.iter().filter(|name| name.attribute_type == attribute_type) {
        index.kinds.remove(&name.kind);
    }
    (!index.kinds.is_empty()).then(|| index.to_string())
}

/// What is chosen where a record overrides what is configured. Keys of it that hold as long as the process are not looked at.
fn applied(configured: &Choices, values: &Texts) -> Result<Choices, String> {
    let mut choices = configured.clone();
    for (key, values) in values.iter().filter_map(|(name, values)| Some((find(name)?, values))) {
        key.set(&mut choices, values).map_err(|bad| format!("`{}`: {}", key.name, first(bad)))?;
    }
    Ok(choices)
}

/// Does the schema know what is named in settings?
fn fits(choices: &Choices, schema: &Schema) -> Result<(), String> {
    transaction::Settings::new(&choices.transactions, schema)?;
    access::check_all(&choices.access.rules, schema)
        .map_err(|bad| format!("`access.rule`: {}", first(bad)))?;
    access::check_limits(&choices.access.limits, schema)
        .map_err(|bad| format!("`limits.rule`: {}", first(bad)))?;
    fits_names(choices, schema)?;
    constraints::fit(&choices.constraints, schema)
}

/// Does the schema know the names of those who have rights besides those of rules, and what entries are found by?
/// A definition that one of them needs cannot be removed for that: the schema without it is asked the same.
fn fits_names(choices: &Choices, schema: &Schema) -> Result<(), String> {
    for (key, dn) in choices.names() {
        let known = schema.normalise_dn(dn.as_bytes(), &mut Vec::new());
        known.map_err(|invalid| format!("`{key}`: `{dn}`: {invalid}"))?;
    }
    let is_unknown = |attribute: &&str| schema.find_type(attribute.as_bytes()).is_none();
    match choices.identities.fingerprints().find(is_unknown) {
        Some(attribute) => Err(format!("`identity.certificate`: the schema has no attribute `{attribute}`")),
        None => Ok(()),
    }
}

/// The reason of the first that is wrong. A change of several settings is refused with one of them, which is enough to look for.
fn first(bad: Vec<(usize, String)>) -> String {
    bad.into_iter().next().map(|(_, reason)| reason).unwrap_or_default()
}
