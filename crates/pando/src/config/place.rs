//! The server whose settings are looked at or changed.

use crate::failed::Failed;
use crate::remote::Tls;
use clap::Args as ClapArgs;
use client::Settings;
use std::path::PathBuf;

/// Which server, and who asks.
#[derive(ClapArgs)]
pub(super) struct Place {
    /// A running server
    #[arg(long, value_name = "ldap[s]://HOST[:PORT]")]
    pub(super) url: String,

    /// Bind as this entry: the root DN
    #[arg(long, value_name = "DN", requires = "password_file")]
    bind_dn: Option<String>,

    /// A file whose first line is the password for --bind-dn
    #[arg(long, value_name = "FILE", requires = "bind_dn")]
    password_file: Option<PathBuf>,

    #[command(flatten)]
    tls: Tls,
}

impl Place {
    /// Connects and binds.
    ///
    /// # Errors
    /// What is wrong with the URL or the file of the password, or what the server says.
    pub(super) fn open(&self) -> Result<Settings, Failed> {
        let credentials = self.bind_dn.as_deref().zip(self.password_file.as_deref());
        let server = self.tls.only_server(&self.url, credentials)?;
        Settings::open(&server).map_err(|error| Failed::at(&self.url, error))
    }
}
