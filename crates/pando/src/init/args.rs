//! The command line of `pando init`.

use clap::Args as ClapArgs;
use std::path::PathBuf;

/// Make the first configuration of a server: pando.toml, a certificate, the root password, and the first entry.
///
/// On a terminal it asks for what no flag says: the suffix, the name of the host, and the root password. Otherwise the flags say it, and a root password
/// is made and printed. Nothing is replaced that is there.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
pub(crate) struct Args {
    /// Where the files are written; made if it is not there
    #[arg(default_value = ".")]
    pub(super) dir: PathBuf,
    /// Name of the directory's first entry, for example dc=example,dc=com
    #[arg(long, value_name = "DN")]
    pub(super) suffix: Option<String>,
    /// Name or address by which clients know the server; may be repeated [default: that of this machine]
    #[arg(long, value_name = "NAME")]
    pub(super) host: Vec<String>,
    /// Address to listen on; may be repeated [default: the ports of LDAP and a Unix socket in DIR]
    #[arg(long, value_name = "URL")]
    pub(super) listen: Vec<String>,
    /// A certificate that is there already, in PEM; without it one is made for 30 days
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(super) certificate: Option<PathBuf>,
    /// Its key
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub(super) key: Option<PathBuf>,
    /// Read the root password from the first line of standard input
    #[arg(long)]
    pub(super) password_stdin: bool,
}

const AFTER: &str = "\
EXAMPLES:
  pando init /etc/pando
  pando init --suffix dc=example,dc=com --host ldap.example.com /etc/pando
  pando serve --config /etc/pando/pando.toml

FILES:
  pando.toml      the configuration, with comments
  root.password   the hash of the root password; only its owner may read it
  server.crt      a certificate for 30 days: get a better one from your authority
  server.key      its key; only its owner may read it
  authority.crt   what clients need to trust it
  base.ldif       the first entry, for ldapadd

EXIT CODES:
  0  the files were written
  1  a file is there already, or cannot be written
  2  the command line or an answer is wrong";
