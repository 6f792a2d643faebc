//! Rules of other servers as rules of this one. What cannot be carried over is listed with its reason, and nothing is allowed in its place.

mod aci;
mod aci_bind;
mod aci_emit;
mod aci_text;
mod build;
mod lines;
mod openldap;
mod openldap_emit;
mod openldap_what;
mod openldap_who;
mod pattern;
mod translation;

pub use translation::Translation;

/// Whose rules they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `access to` of slapd.conf, or `olcAccess` of LDIF.
    OpenLdap,
    /// `aci` of 389 Directory Server, in LDIF.
    Ns389,
    /// `aci` and `ds-cfg-global-aci` of OpenDJ, in LDIF.
    OpenDj,
}

/// Translates a file.
pub fn translate(dialect: Dialect, text: &str) -> Translation {
    let mut done = match dialect {
        Dialect::OpenLdap => openldap::translate(text),
        Dialect::Ns389 => aci::translate(text, false),
        Dialect::OpenDj => aci::translate(text, true),
    };
    done.keep_own_entries();
    done
}

#[cfg(test)]
mod tests;
