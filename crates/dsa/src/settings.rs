//! Settings that can be changed while the server runs: which there are, what was chosen, where it is written down.
//!
//! Why it is so: `docs/decisions/0027-cn-config.md`.

mod keys;
mod row;
pub mod value;

pub use keys::{ONLINE, find};
pub(crate) use row::INDEX;
pub use row::{About, Bad, Row, Scope, Values};

use crate::transaction;
use schema::Schema;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// All of them, as chosen. `Default` is what holds when nothing was said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// Of transactions.
    pub transactions: transaction::Choices,
}

/// Values of keys, by the key's name, in the text of the configuration file.
pub type Texts = BTreeMap<String, Vec<String>>;

/// What is recorded of the settings of a directory, beside its log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The values that hold.
    pub values: Texts,
    /// What the configuration file said when they were recorded. `None` before the first start that recorded anything: earlier
    /// versions wrote down no more than what was changed while they ran.
    pub file: Option<Texts>,
}

/// What a start has to go by.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// What file and flags say.
    pub configured: Choices,
    /// What is recorded; overrides what is configured.
    pub changed: Texts,
    /// What holds as long as the process, to be shown.
    pub fixed: Vec<Fixed>,
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

/// Writes changed settings down, so that they outlive the process.
pub trait Keeper: Send + Sync {
    /// Records the values of settings that change while the server runs: these, and no others. Durable when it returns.
    ///
    /// # Errors
    /// When it cannot be written. Then nothing is changed.
    fn keep(&self, changed: &Texts) -> io::Result<()>;
}

/// Why a setting is not changed. Nothing is then.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotChanged {
    /// The value is not what the key takes, and why.
    Bad(String),
    /// It cannot be written down.
    NotKept(String),
}

/// What was chosen, and where it is written down.
pub(crate) struct Chosen {
    state: Mutex<State>,
    keeper: OnceLock<Box<dyn Keeper>>,
}

struct State {
    configured: Choices,
    changed: Texts,
    now: Choices,
}

impl Chosen {
    /// What a start comes to.
    ///
    /// # Errors
    /// A change that cannot be made again.
    pub(crate) fn new(start: &Start) -> Result<Chosen, String> {
        let Start { configured, changed, .. } = start.clone();
        let now = applied(&configured, &changed)?;
        Ok(Chosen { state: Mutex::new(State { configured, changed, now }), keeper: OnceLock::new() })
    }

    /// Writes what changes down from now on.
    ///
    /// # Panics
    /// If it is written down already.
    pub(crate) fn keep_with(&self, keeper: Box<dyn Keeper>) {
        assert!(self.keeper.set(keeper).is_ok(), "changed settings are written down in one place");
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is replaced whole, so one who panicked left nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What holds now.
    pub(crate) fn now(&self) -> Choices {
        self.lock().now.clone()
    }

    /// Changes settings, all or none: `change` is given the values of a key and has new ones; none: back to what is
    /// configured. What is then chosen is put in force by `enforce`, before others may change anything.
    pub(crate) fn change(
        &self,
        keys: &[&'static Row<Choices>],
        mut change: impl FnMut(usize, &mut Vec<String>) -> Result<(), NotChanged>,
        enforce: impl FnOnce(&Choices) -> Result<(), String>,
        schema: &Schema,
    ) -> Result<(), NotChanged> {
        let mut state = self.lock();
        let (mut now, mut changed) = (state.now.clone(), state.changed.clone());
        for (at, key) in keys.iter().enumerate() {
            let mut values = key.show(&now);
            change(at, &mut values)?;
            let is_changed = !values.is_empty();
            if !is_changed {
                values = key.show(&state.configured);
            }
            key.set(&mut now, &values).map_err(|bad| NotChanged::Bad(first(bad)))?;
            match is_changed {
                true => _ = changed.insert(key.name.to_owned(), key.show(&now)),
                false => _ = changed.remove(key.name),
            }
        }
        transaction::Settings::new(&now.transactions, schema).map_err(NotChanged::Bad)?;
        if let Some(keeper) = self.keeper.get().filter(|_| changed != state.changed) {
            keeper.keep(&changed).map_err(|error| NotChanged::NotKept(error.to_string()))?;
        }
        enforce(&now).map_err(NotChanged::Bad)?;
        (state.now, state.changed) = (now, changed);
        Ok(())
    }
}

fn applied(configured: &Choices, changed: &Texts) -> Result<Choices, String> {
    let mut choices = configured.clone();
    for (name, values) in changed {
        let key = find(name).ok_or_else(|| format!("`{name}` cannot be changed while the server runs"))?;
        key.set(&mut choices, values).map_err(|bad| format!("`{name}`: {}", first(bad)))?;
    }
    Ok(choices)
}

fn first(bad: Vec<(usize, String)>) -> String {
    bad.into_iter().next().map(|(_, reason)| reason).unwrap_or_default()
}
