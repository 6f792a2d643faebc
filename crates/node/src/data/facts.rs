//! The files of facts: short texts that a data directory and a backup have beside their log and snapshot.

use super::checksummed::Unread;
use super::error::DataError;
use env::disk::{Disk, replace_file};
use std::io;
use std::path::{Path, PathBuf};

/// Bytes that a file of facts may have. The longest is that of rules, which has all definitions of the schema.
pub(super) const FACTS_BYTES_MAX: u64 = 16 << 20;

/// A file of facts cannot be read.
pub(super) fn unread(path: PathBuf, what: impl Into<Unread>) -> DataError {
    DataError::Facts(path, what.into().to_string())
}

/// Reads a short file of text, if it is there.
pub(super) fn read_text(disk: &dyn Disk, dir: &Path, name: &str) -> Result<Option<String>, DataError> {
    if !disk.list(dir)?.iter().any(|other| other == name) {
        return Ok(None);
    }
    let path = dir.join(name);
    let file = disk.open(&path)?;
    let len = file.len()?;
    if len > FACTS_BYTES_MAX {
        return Err(DataError::Facts(path, "it is longer than Pando writes it".to_owned()));
    }
    let mut bytes = vec![0; len as usize];
    file.read_at(&mut bytes, 0)?;
    let text = String::from_utf8(bytes).map(Some);
    text.map_err(|error| unread(path, format!("at offset {}: no text", error.utf8_error().valid_up_to())))
}

/// Replaces a file of text; durable when it returns.
pub(super) fn write_text(disk: &dyn Disk, dir: &Path, name: &str, text: &str) -> io::Result<()> {
    replace_file(disk, dir, name, text.as_bytes())?;
    disk.sync_dir(dir)
}

/// A key that no version has written, or that a changed byte has made of another.
pub(super) fn unknown() -> String {
    "it has an unknown key".to_owned()
}

/// What is missing in, or wrong with, a file of facts.
pub(super) fn missing(name: &str) -> String {
    format!("`{name}` is missing or of another kind")
}
