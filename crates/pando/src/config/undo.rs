//! `pando config undo`.

use super::change::Change;
use super::place::Place;
use super::running::{self, Running, Whose};
use crate::failed::Failed;
use crate::output::{note, print};
use client::SettingStep;
use server::config::{Key, known};

/// Takes back the last change, or the one with a number.
pub(super) fn run(
    place: &Place,
    whose: Whose,
    number: Option<u64>,
    is_checked_only: bool,
) -> Result<(), Failed> {
    let mut settings = place.open()?;
    let before = running::read(place, &mut settings, whose)?;
    let last = before.changes.last().map(|change| change.number);
    let number = number.or(last).ok_or_else(|| Failed::of("no change is kept"))?;
    let of_number: Vec<&Change> = before.changes.iter().filter(|change| change.number == number).collect();
    if of_number.is_empty() {
        return Err(Failed::usage(format!(
            "{number}: there is no such change; `pando config history` lists them"
        )));
    }
    let (mut after, mut steps, mut faults) = (before.texts.clone(), Vec::new(), Vec::new());
    for change in of_number {
        match known(&change.key).and_then(|key| fits(key, change, &before).map(|()| key)) {
            Ok(key) => {
                steps.extend(steps_back(key, change));
                after.remove(key.name);
                running::put(&mut after, key, change.before.clone());
            }
            Err(fault) => faults.push(fault),
        }
    }
    Failed::all(faults).if_any()?;
    let changed = settings.change(&steps, is_checked_only);
    changed.map_err(|error| Failed::at(&place.url, error))?;
    if !is_checked_only {
        after = running::read(place, &mut settings, whose)?.texts;
    }
    print(running::differences(&before.texts, &after))?;
    if is_checked_only {
        note!("the server would take this change; nothing was changed");
    }
    Ok(())
}

/// Can the change of a key be taken back? Not if it has another value by now.
fn fits(key: Key, change: &Change, running: &Running) -> Result<(), String> {
    let name = key.name;
    if name == "index" {
        return Err(format!("`{name}`: `pando index` builds and drops indexes"));
    }
    match running.texts.get(name).map_or(&[][..], Vec::as_slice) == change.after {
        true => Ok(()),
        false => Err(format!("`{name}` was changed since; `pando config set` gives it another value")),
    }
}

/// The steps are refused if the key has other values when the server makes them.
fn steps_back(key: Key, change: &Change) -> Vec<SettingStep> {
    let Change { before, after, was_set, .. } = change;
    let step =
        |of: fn(String, Vec<String>) -> SettingStep, values: &[String]| of(key.attribute(), values.to_vec());
    let leaves = (!after.is_empty()).then(|| step(SettingStep::delete, after));
    let comes = match *was_set && !before.is_empty() {
        true => step(SettingStep::add, before),
        false => step(SettingStep::delete, &[]),
    };
    leaves.into_iter().chain([comes]).collect()
}
