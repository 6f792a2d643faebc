//! What is copied, restored from or exported stays byte for byte what it is.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Files of a folder, with their bytes.
pub type Tree = BTreeMap<PathBuf, Vec<u8>>;

/// Compares a folder with what it was.
///
/// # Errors
/// In words: which file is another, gone or new.
pub fn check(before: &Tree, after: &Tree) -> Result<(), String> {
    let differs = |path: &&PathBuf| before.get(*path) != after.get(*path);
    match before.keys().chain(after.keys()).find(differs) {
        Some(path) => Err(format!("{} was changed, made or removed", path.display())),
        None => Ok(()),
    }
}
