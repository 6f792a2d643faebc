//! The servers whose exports an import understands.

use clap::ValueEnum;

/// Another server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum From {
    /// OpenLDAP: what slapcat writes
    Openldap,
    /// 389 Directory Server: what dsconf or db2ldif writes
    #[value(name = "389ds")]
    Ns389,
    /// OpenDJ: what export-ldif writes
    Opendj,
    /// Active Directory: what ldifde writes, or ldapsearch. A new directory gets the schema `ad`
    Ad,
}
