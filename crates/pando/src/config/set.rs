//! `pando config set`.

use super::place::Place;
use super::running::{self, Texts, Whose};
use crate::failed::Failed;
use crate::output::{note, print};
use client::SettingStep;
use server::config::{Config, known};

/// Replaces the values of a key; `None`: by what the server's file and flags say.
pub(super) fn run(
    place: &Place,
    name: &str,
    values: Option<&Vec<String>>,
    is_checked_only: bool,
) -> Result<(), Failed> {
    let key = known(name).map_err(Failed::usage)?;
    // To delete all indexes is to drop them, and not to go back to anything.
    if key.name == "index" && values.is_none() {
        return Err(Failed::usage("`index` has no value to go back to: name those that there are to be"));
    }
    // What a file would be refused for is refused in the same words.
    let mut scratch = Config::default();
    if let Some(values) = values {
        let of_key = |fault: String| format!("`{}`: {fault}", key.name);
        let checked = scratch.set(key.name, values);
        checked.map_err(|faults| Failed::configured(faults.into_iter().map(of_key)))?;
    }
    let mut settings = place.open()?;
    let before = running::read(place, &mut settings, Whose::Directory)?.texts;
    let step = match values {
        Some(values) => SettingStep::replace(key.attribute(), values.clone()),
        None => SettingStep::delete(key.attribute(), Vec::new()),
    };
    let changed = settings.change(&[step], is_checked_only);
    changed.map_err(|error| Failed::at(&place.url, error))?;
    let after = match (is_checked_only, values) {
        (false, _) => running::read(place, &mut settings, Whose::Directory)?.texts,
        (true, Some(_)) => {
            let mut after = before.clone();
            after.remove(key.name);
            running::put(&mut after, key, key.show(&scratch));
            after
        }
        // What file and flags of the server say is not known here.
        (true, None) => before.clone(),
    };
    let of_key = |texts: Texts| texts.into_iter().filter(|(name, _)| *name == key.name).collect();
    print(running::differences(&of_key(before), &of_key(after)))?;
    if is_checked_only {
        note!("the server would take this change; nothing was changed");
    }
    Ok(())
}
