//! `pando config get`.

use super::place::Place;
use super::running::{self, Whose};
use crate::failed::Failed;
use crate::output::print;
use server::config::{keys, known, line};

/// Prints all settings, or the values of one.
pub(super) fn run(place: &Place, key: Option<&str>) -> Result<(), Failed> {
    let key = key.map(known).transpose().map_err(Failed::usage)?;
    let texts = running::read(place, &mut place.open()?, Whose::Directory)?.texts;
    let text: String = match key {
        Some(key) => texts.get(key.name).into_iter().flatten().map(|value| format!("{value}\n")).collect(),
        None => keys()
            .filter_map(|key| texts.get(key.name).map(|values| format!("{}\n", line(key, values))))
            .collect(),
    };
    print(text)
}
