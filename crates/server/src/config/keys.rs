//! All keys: one row for each, of which come the reader of the file, the flags of `pando serve`, what `cn=config` shows, the template and
//! the documentation.

use super::Config;
use super::table::ROWS;
use dsa::settings::{About, Bad, Choices, Fixed, ONLINE, Row};
use std::ops::Deref;

/// One configuration key.
#[derive(Clone, Copy)]
pub enum Key {
    /// One that holds as long as the process; or `index`.
    Start(&'static Row<Config>),
    /// One that changes while the server runs.
    Online(&'static Row<Choices>),
}

impl Deref for Key {
    type Target = About;

    fn deref(&self) -> &About {
        match self {
            Key::Start(row) => row,
            Key::Online(row) => row,
        }
    }
}

impl Key {
    /// Sets it from text.
    pub(super) fn set(&self, config: &mut Config, values: &[String]) -> Result<(), Bad> {
        match self {
            Key::Start(row) => row.set(config, values),
            Key::Online(row) => row.set(&mut config.settings, values),
        }
    }

    /// Its values, as text; none for a default that is not a value. Of secrets only where they lie.
    pub fn show(&self, config: &Config) -> Vec<String> {
        match self {
            Key::Start(row) => row.show(config),
            Key::Online(row) => row.show(&config.settings),
        }
    }

    /// Can it be changed while the server runs?
    pub fn is_online(&self) -> bool {
        matches!(self, Key::Online(_)) || self.name == "index"
    }

    /// The section of the file that it is in; empty for none. Only keys outside of sections are flags.
    pub fn section(&self) -> &'static str {
        self.name.split_once('.').map_or("", |(section, _)| section)
    }
}

/// Every key, in the order of the documentation: sections come last.
pub fn keys() -> impl Iterator<Item = Key> {
    let own = |is_in_section: bool| {
        ROWS.iter().map(Key::Start).filter(move |key| key.section().is_empty() != is_in_section)
    };
    own(false).chain(ONLINE.iter().map(Key::Online)).chain(own(true))
}

/// The key called `name`.
pub(super) fn find(name: &str) -> Option<Key> {
    keys().find(|key| key.name == name)
}

/// The keys that hold as long as the process, as they are in force.
pub(crate) fn fixed(config: &Config) -> Vec<Fixed> {
    let show = |key: Key| Fixed { key: key.name, attribute: key.attribute(), values: key.show(config) };
    keys().filter(|key| !key.is_online()).map(show).collect()
}

#[cfg(test)]
mod tests;
