//! What is logged, and where.

use logs::journal::Access;
use std::path::PathBuf;

/// What is logged, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Which operations have a line.
    pub access: Access,
    /// Where these lines go; none: standard error.
    pub access_file: Option<PathBuf>,
    /// Where events of the security log go; none: they are not written.
    pub security_file: Option<PathBuf>,
}
