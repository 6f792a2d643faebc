//! `pando config diff`.

use super::history;
use super::place::Place;
use super::running::{self, Texts, Whose};
use crate::failed::Failed;
use crate::output::print;
use server::config::{Config, keys, read_file};
use std::path::Path;

/// The exit code for what could not be compared, as of `pando compare`.
const TROUBLE: u8 = 2;

/// What the settings in force are compared with, or what else.
pub(super) enum Between<'a> {
    /// The defaults, and what is in force.
    Defaults,
    /// What a file says, and what is in force.
    File(&'a Path),
    /// The settings after one change and after another, or those that are in force.
    Changes(Whose, u64, Option<u64>),
}

/// Prints how two states of the settings differ.
pub(super) fn run(place: &Place, between: &Between<'_>) -> Result<(), Failed> {
    let found = found(place, between).map_err(|failed| Failed { code: TROUBLE, ..failed })?;
    print(&found)?;
    if found.is_empty() { Ok(()) } else { Err(Failed::printed()) }
}

fn found(place: &Place, between: &Between<'_>) -> Result<String, Failed> {
    let config = match between {
        Between::File(file) => {
            let read = read_file(file).map_err(Failed::configured_one)?;
            Failed::configured(&read.faults).if_any()?;
            read.config
        }
        Between::Defaults | Between::Changes(..) => Config::default(),
    };
    let whose = if let Between::Changes(whose, ..) = between { *whose } else { Whose::Directory };
    let running = running::read(place, &mut place.open()?, whose)?;
    match between {
        Between::Changes(_, from, to) => {
            let to = to.map_or_else(|| Ok(running.texts.clone()), |to| history::at(to, &running))?;
            Ok(running::differences(&history::at(*from, &running)?, &to))
        }
        Between::File(_) | Between::Defaults => Ok(running::differences(&texts(config), &running.texts)),
    }
}

fn texts(mut config: Config) -> Texts {
    // A start does the same before it shows what holds.
    config.settle_storage();
    let mut texts = Texts::new();
    keys().for_each(|key| running::put(&mut texts, key, key.show(&config)));
    texts
}
