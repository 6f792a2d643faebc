//! Files of the folder `cluster` in a data directory. Each is for its owner alone, and replaced whole: a crash leaves the one or the other.

use env::disk::{Disk, replace_file};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use std::io;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Bytes of a file of this folder at most.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// The folder in a data directory.
pub fn folder(data: &Path) -> PathBuf {
    data.join("cluster")
}

/// A file of the cluster could not be read, written or understood.
#[derive(Debug)]
pub enum FileError {
    /// What the disk says.
    Disk(io::Error),
    /// What is wrong with what the file says.
    Content(PathBuf, String),
}

impl FileError {
    /// The file says something that is wrong.
    pub(crate) fn content(dir: &Path, name: &str, what: impl ToString) -> FileError {
        FileError::Content(dir.join(name), what.to_string())
    }
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> FileError {
        FileError::Disk(error)
    }
}

impl std::fmt::Display for FileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FileError::Disk(error) => error.fmt(f),
            FileError::Content(path, what) => write!(f, "{}: {what}", path.display()),
        }
    }
}

impl std::error::Error for FileError {}

/// Replaces a file; durable when it returns.
pub(crate) fn write(disk: &dyn Disk, dir: &Path, name: &str, bytes: &[u8]) -> Result<(), FileError> {
    assert!(bytes.len() as u64 <= FILE_BYTES_MAX, "what is written can be read");
    disk.create_dir(dir)?;
    replace_file(disk, dir, name, bytes)?;
    Ok(disk.sync_dir(dir)?)
}

/// The text of a file. It may be a secret.
pub(crate) fn read(disk: &dyn Disk, dir: &Path, name: &str) -> Result<Zeroizing<String>, FileError> {
    let file = disk.open(&dir.join(name))?;
    let len = file.len()?;
    if len > FILE_BYTES_MAX {
        return Err(FileError::content(dir, name, "it is longer than Pando writes it"));
    }
    let mut bytes = Zeroizing::new(vec![0; len as usize]);
    file.read_at(&mut bytes, 0)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| FileError::content(dir, name, "it is no text"))?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// The one certificate of a file.
pub(crate) fn read_certificate(
    disk: &dyn Disk,
    dir: &Path,
    name: &str,
) -> Result<CertificateDer<'static>, FileError> {
    let text = read(disk, dir, name)?;
    let mut all = CertificateDer::pem_slice_iter(text.as_bytes());
    match (all.next(), all.next()) {
        (Some(Ok(one)), None) => Ok(one),
        _ => Err(FileError::content(dir, name, "it is not one certificate in PEM")),
    }
}

/// A certificate as text.
pub(crate) fn certificate_text(certificate: &CertificateDer<'_>) -> String {
    text_of("CERTIFICATE", certificate)
}

/// Bytes as PEM (RFC 7468).
pub(crate) fn text_of(label: &str, der: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in der.chunks(48) {
        for three in line.chunks(3) {
            let at = |index: usize| u32::from(three.get(index).copied().unwrap_or(0));
            let bits = at(0) << 16 | at(1) << 8 | at(2);
            for digit in 0..4 {
                let is_there = digit <= three.len();
                let code = DIGITS[(bits >> (18 - 6 * digit)) as usize & 63];
                text.push(if is_there { char::from(code) } else { '=' });
            }
        }
        text.push('\n');
    }
    text + &format!("-----END {label}-----\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back() {
        for len in [0, 1, 2, 3, 47, 48, 49, 500] {
            let bytes: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let text = text_of("CERTIFICATE", &bytes);
            let read = CertificateDer::from_pem_slice(text.as_bytes()).expect("it is PEM");
            assert_eq!(read.as_ref(), bytes);
        }
    }
}
