//! Records that an import could not store, as LDIF that can be put right and imported again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Records that are reported where there is no file.
const REPORTED_MAX: usize = 20;

/// Where they go.
pub(super) enum Rejects {
    /// A file.
    File(BufWriter<File>),
    /// Nowhere: the first of them are reported.
    Reported(usize),
}

impl Rejects {
    /// Has the first ones reported in the server's log, and keeps none.
    pub(super) fn reported() -> Rejects {
        Rejects::Reported(0)
    }

    /// Begins the file, readable by its owner only; what was there is gone. None of the inputs may be it.
    pub(super) fn create(path: &Path, inputs: &[PathBuf]) -> io::Result<Rejects> {
        let same = |input: &&PathBuf| match (fs::canonicalize(input), fs::canonicalize(path)) {
            (Ok(input), Ok(path)) => input == path,
            _ => false,
        };
        if inputs.iter().any(|input| same(&input)) {
            return Err(io::Error::other(
                "it is one of the files to be imported; name another for what is rejected",
            ));
        }
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        Ok(Rejects::File(BufWriter::with_capacity(1 << 16, file)))
    }

    /// Adds a record below a comment that tells what is wrong with it.
    pub(super) fn write(&mut self, input: &Path, fault: &bulk::Fault, record: &[u8]) -> io::Result<()> {
        let behind = if fault.line == 0 { " " } else { "" };
        let text = format!("{}:{behind}{fault}", input.display());
        // One line, whatever stands in a DN.
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        match self {
            Rejects::File(out) => {
                writeln!(out, "# {text}")?;
                out.write_all(without_head(record).trim_ascii_end())?;
                out.write_all(b"\n\n")
            }
            Rejects::Reported(count) => {
                *count += 1;
                if *count <= REPORTED_MAX {
                    tracing::warn!("left out: {text}");
                }
                Ok(())
            }
        }
    }

    /// Ends the file; durable when it returns.
    pub(super) fn finish(self) -> io::Result<()> {
        let Rejects::File(out) = self else { return Ok(()) };
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        match file.sync_all() {
            // A pipe or a terminal.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            synced => synced,
        }
    }
}

/// A record without what comes before its first line: blank lines, comments (what an earlier import said of it among them)
/// and the version, which can stand at the top of a file only.
fn without_head(record: &[u8]) -> &[u8] {
    let (mut rest, mut in_head) = (record, false);
    loop {
        let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
        let line = &rest[..end];
        let is_version = line.get(..8).is_some_and(|start| start.eq_ignore_ascii_case(b"version:"));
        let is_head = line.trim_ascii().is_empty() || line[0] == b'#' || is_version;
        // A comment may go on in lines that begin with a space.
        in_head = is_head || (in_head && line[0] == b' ');
        if end == 0 || !in_head {
            return rest;
        }
        rest = &rest[end..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_begins_with_its_dn() {
        let text = |record: &'static str| std::str::from_utf8(without_head(record.as_bytes())).unwrap();
        assert_eq!(text("version: 1\n\n# one\n  two\n\r\ndn: a\ncn: b\n"), "dn: a\ncn: b\n");
        assert_eq!(text("dn: a\n# in between\n"), "dn: a\n# in between\n");
        assert_eq!(text(" stray\ndn: a\n"), " stray\ndn: a\n");
        assert_eq!((text(""), text("# only"), text("\n\n")), ("", "", ""));
    }

    #[test]
    fn an_input_is_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let input = dir.path().join("a.ldif");
        fs::write(&input, "dn: a\n").unwrap();
        let roundabout = dir.path().join(".").join("a.ldif");
        assert!(Rejects::create(&roundabout, std::slice::from_ref(&input)).is_err());
        assert_eq!(fs::read_to_string(&input).unwrap(), "dn: a\n");
    }
}
