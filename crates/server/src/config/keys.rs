//! All keys: one row for each, of which come the reader of the file, the flags of `pando serve`, what `cn=config` shows, the template and
//! the documentation.

use super::Config;
use super::table::ROWS;
use dsa::settings::{Choices, Fixed, Holds, Row};

/// Other names of keys in the file.
const ALIASES: [(&str, &str); 1] = [("passwords.schemes", "password-scheme")];

/// One configuration key. A default that is not a value is shown as none, and of secrets only where they lie.
pub type Key = &'static Row<Config>;

impl Holds for Config {
    fn choices(&self) -> &Choices {
        &self.settings
    }

    fn choices_mut(&mut self) -> &mut Choices {
        &mut self.settings
    }
}

/// Every key, in the order of the documentation: sections come last.
pub fn keys() -> impl Iterator<Item = Key> {
    let own = |is_in_section: bool| ROWS.iter().filter(move |key| key.section().is_empty() != is_in_section);
    own(false).chain(Row::ONLINE).chain(own(true))
}

/// The key called `name`.
pub(super) fn find(name: &str) -> Option<Key> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    keys().find(|key| key.name == name)
}

/// Is this the name of a section of the file?
pub(super) fn is_section(name: &str) -> bool {
    let is_in = |key: &str| key.split_once('.').is_some_and(|(section, _)| section == name);
    keys().any(|key| is_in(key.name)) || ALIASES.iter().any(|(alias, _)| is_in(alias))
}

/// The keys that hold as long as the process, as they are in force.
pub(crate) fn fixed(config: &Config) -> Vec<Fixed> {
    let show = |key: Key| Fixed { key: key.name, attribute: key.attribute(), values: key.show(config) };
    keys().filter(|key| !key.is_online()).map(show).collect()
}

#[cfg(test)]
mod tests;
