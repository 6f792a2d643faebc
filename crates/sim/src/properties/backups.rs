//! A backup that was reported is there, and every one that has its name is what the server held when it was begun.

use crate::disk::SimDisk;
use crate::operator::{BACKUPS, Operator, digest_of};
use crate::oracle::Held;
use env::disk::Disk;
use node::data::backup::{Backups, TakenBackup};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Is what was just reported all that there was?
///
/// # Errors
/// In words.
pub fn taken(taken: &TakenBackup, held: Held) -> Result<(), String> {
    match taken.generation.last.0 == held.last {
        true => Ok(()),
        false => Err(format!("it has records up to {}, of {}", taken.generation.last, held.last)),
    }
}

/// Looks at all of them. Returns where they are.
///
/// # Errors
/// In words: which is missing or another, and why.
pub fn check(disk: &SimDisk, operator: &Operator) -> Result<Vec<PathBuf>, String> {
    let dir = Path::new(BACKUPS);
    if operator.ever.is_empty() || disk.list(dir).is_err() {
        return operator
            .must
            .first()
            .map_or(Ok(Vec::new()), |lost| Err(format!("{} is not there", lost.display())));
    }
    let all = Backups::new(Arc::new(disk.clone()), dir).all().map_err(|error| error.to_string())?;
    if let Some(error) = all.1.first() {
        return Err(error.to_string());
    }
    let found: Vec<PathBuf> = all.0.into_iter().map(|generation| generation.dir).collect();
    if let Some(lost) = operator.must.iter().find(|dir| !found.contains(dir)) {
        return Err(format!("{} is not there", lost.display()));
    }
    for dir in &found {
        if digest_of(disk, dir)? != operator.ever.get(dir).map(|held| held.digest) {
            return Err(format!("{} is not what there was", dir.display()));
        }
    }
    Ok(found)
}
