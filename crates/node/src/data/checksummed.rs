//! Files of facts end in a checksum of what stands before it, so that a changed byte is no other fact.

use std::fmt;

/// What the last line begins with.
const KEY: &str = "checksum";

/// Adds the checksum to lines of text.
pub(super) fn with_checksum(text: String) -> String {
    let line = line(&text);
    text + &line + "\n"
}

fn line(text: &str) -> String {
    format!("{KEY} = \"{:08x}\"", crc32c::crc32c(text.as_bytes()))
}

/// Has a text a checksum, right or wrong?
pub(super) fn is_checksummed(text: &str) -> bool {
    text.contains(&format!("\n{KEY}"))
}

/// The lines before the checksum. Files of versions that wrote none are taken as they are, so the one that reads them must
/// refuse keys that are not known: one could have been this.
///
/// # Errors
/// When the checksum is wrong.
pub(super) fn verified(text: &str) -> Result<&str, String> {
    let Some(at) = text.rfind(&format!("\n{KEY}")).map(|at| at + 1) else { return Ok(text) };
    let (lines, last) = text.split_at(at);
    match last.strip_suffix('\n') == Some(&line(lines)) {
        true => Ok(lines),
        false => Err("its checksum is wrong: it is not what was written".to_owned()),
    }
}

/// The table that the lines before the checksum are.
///
/// # Errors
/// In words, with the offset where the text is no TOML.
pub(super) fn table(text: &str) -> Result<toml::Table, String> {
    verified(text)?.parse().map_err(|error: toml::de::Error| {
        let offset = error.span().map_or(0, |span| span.start);
        format!("at offset {offset}: {}", error.message())
    })
}

/// Why a file of facts cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is not what was written.
    Damaged(String),
    /// A later version wrote it.
    OtherVersion(String),
}

impl From<String> for Unread {
    fn from(what: String) -> Unread {
        Unread::Damaged(what)
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unread::Damaged(what) => write!(f, "damaged: {what}. {}", wal::DAMAGE_ADVICE),
            Unread::OtherVersion(what) => f.write_str(what),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_ends_too_early_is_reported_with_its_offset() {
        let text = "# a\nb = \"long\"\nc = \"longer\"\n";
        let what = table(&text[..text.len() - 4]).expect_err("a string has no end");
        assert!(what.starts_with("at offset ") && !what.contains('\n'), "{what}");
        let said = Unread::from(what).to_string();
        assert!(said.starts_with("damaged: at offset ") && said.contains("restore a backup"), "{said}");
    }

    #[test]
    fn text_comes_back_and_a_change_shows() {
        let checksummed = with_checksum("# a\nb = 3\n".to_owned());
        assert_eq!(verified(&checksummed), Ok("# a\nb = 3\n"));
        assert!(verified(&checksummed.replace('3', "2")).is_err());
        assert!(verified(checksummed.trim_end()).is_err());
        assert_eq!(verified("b = 3\n"), Ok("b = 3\n"));
    }
}
